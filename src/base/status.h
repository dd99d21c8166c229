/* Status codes and reports: how functions report failures to their callers. */
#ifndef NH_BASE_STATUS_H
#define NH_BASE_STATUS_H

#include <nonholo.h>

/* The plural ending of a counted noun in a message: "" for 1, otherwise "s". */
static inline const char *nh_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Fills the report (unless it is NULL) with a message and returns the status, so that a failing
 * function ends with: return nh_fail(report, NH_BAD_ARGUMENT, "...", ...); */
__attribute__((format(printf, 3, 4))) nh_status nh_fail(nh_report *report, nh_status status,
                                                        const char *format, ...);

/* Stores the name of the option to change, after nh_fail; returns the status. */
nh_status nh_fail_about(nh_report *report, nh_status status, const char *option);

/* Failures after which a search has nothing to try: elsewhere it would fail, too. */
static inline bool nh_ends_search(nh_status status)
{
    return status == NH_NO_MEMORY || status == NH_CALLBACK_STOPPED;
}

/* The usual message for a failed allocation. */
nh_status nh_fail_memory(nh_report *report);
/* ... and for numbers of quadruple precision where there are none (precise.h). */
nh_status nh_fail_precise(nh_report *report);

#endif
