/* Traces: the kernel itself stores the states after each step. This is faster than calling it for
 * each step, because every call saves the state in case of failure, checks it, and is timed. */
#include "base/status.h"
#include "run/attach.h"

/* For systems with rotations or with velocities that belong to no coordinate, whose rows differ
 * from the kernel's, and for steps that follow the pace of the motion, which are not those of the
 * kernel. */
static nh_status trace_by_calls(nh_run *run, int64_t rows, int64_t every, double *table,
                                double *wrapped, int64_t *done, nh_report *report)
{
    int n = run->system->coordinates, k = run->system->user_velocities;
    nh_status status = NH_OK;
    while (*done < rows && status == NH_OK) {
        status = nh_run_advance(run, every, report);
        if (status != NH_OK)
            break;
        double *row = table + *done * (1 + n + k);
        nh_run_state(run, 0, row, row + 1, row + 1 + n);
        if (wrapped)
            nh_run_wrapped_state(run, 0, NULL, wrapped + *done * n, NULL);
        ++*done;
    }
    return status;
}

nh_status nh_run_trace(nh_run *run, int64_t rows, int64_t every, double *table, double *wrapped,
                       int64_t *done, nh_report *report)
{
    *done = 0;
    if (every < 1 || rows < 0 || rows > INT64_MAX / every)
        return nh_fail(report, NH_BAD_ARGUMENT, "cannot keep %lld states, one every %lld steps",
                       (long long)rows, (long long)every);
    if (run->members != 1)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "states can be traced for one trajectory only, not for %d", run->members);
    const nh_system *system = run->system;
    if (run->pace || system->coordinates != system->shape.n ||
        system->user_velocities != system->shape.n)
        return trace_by_calls(run, rows, every, table, wrapped, done, report);
    int64_t from = nh_run_steps(run);
    const nh_trace trace = {table, wrapped, from, every};
    nh_status status = nh_run_advance_rows(run, rows * every, &trace, report);
    *done = (nh_run_steps(run) - from) / every;
    return status;
}
