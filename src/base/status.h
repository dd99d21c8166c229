/* Status and reports: how a failure travels to the caller. */
#ifndef NH_BASE_STATUS_H
#define NH_BASE_STATUS_H

#include <nonholo.h>

/* Fills the report (when there is one) with a message and returns the status, so that a failing
 * function ends with: return nh_fail(report, NH_BAD_ARGUMENT, "...", ...); */
/* What follows a noun that is counted in a message: "" for one, else "s". */
static inline const char *nh_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

__attribute__((format(printf, 3, 4))) nh_status nh_fail(nh_report *report, nh_status status,
                                                        const char *format, ...);

/* Names the option that would help, after nh_fail; returns the report's status. */
nh_status nh_fail_about(nh_report *report, nh_status status, const char *option);

/* The usual message for a failed allocation. */
nh_status nh_fail_memory(nh_report *report);

#endif
