/* Filling in reports, and the names of the status codes. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"

nh_status nh_fail(nh_report *report, nh_status status, const char *format, ...)
{
    if (report) {
        memset(report, 0, sizeof *report);
        report->status = status;
        va_list args;
        va_start(args, format);
        nh_print_list(report->text, sizeof report->text, format, args);
        va_end(args);
        nh_make_printable(report->text);
    }
    return status;
}

nh_status nh_fail_about(nh_report *report, nh_status status, const char *option)
{
    if (report)
        report->option = option;
    return status;
}

nh_status nh_fail_memory(nh_report *report)
{
    return nh_fail(report, NH_NO_MEMORY, "out of memory");
}

nh_status nh_fail_precise(nh_report *report)
{
    return nh_fail(report, NH_NOT_APPLICABLE, "quadruple precision needs libquadmath, which %s",
#ifdef NH_HAVE_PRECISE
                   "could not be loaded; in Debian it is the package libquadmath0"
#else
                   "this build of nonholo does without"
#endif
    );
}

bool nh_status_is_usage(nh_status status)
{
    return status >= NH_BAD_ARGUMENT && status <= NH_TOO_LARGE;
}

const char *nh_status_name(nh_status status)
{
    static const char *const names[] = {
        [NH_OK] = "ok",
        [NH_BAD_ARGUMENT] = "bad argument",
        [NH_BAD_MODEL] = "bad model",
        [NH_NOT_APPLICABLE] = "method not applicable",
        [NH_BAD_START] = "inconsistent start",
        [NH_TOO_LARGE] = "too large",
        [NH_NO_MEMORY] = "out of memory",
        [NH_NOT_CONVERGED] = "not converged",
        [NH_NOT_FINITE] = "not finite",
        [NH_SINGULAR_MASS] = "singular mass matrix",
        [NH_DEPENDENT_CONSTRAINTS] = "dependent constraints",
        [NH_CALLBACK_STOPPED] = "stopped by the user's function",
        [NH_FILE_FAILED] = "file operation failed",
        [NH_NO_COMPILER] = "no working compiler",
        [NH_BROKEN_METHOD] = "broken method",
    };
    return status >= 0 && (size_t)status < sizeof names / sizeof names[0] ? names[status]
                                                                          : "unknown";
}
