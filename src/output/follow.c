/* Whole trajectories in one call, for callers to whom every call is dear (other languages). */
#include "output/record.h"

#include <stdlib.h>

/* Records where the run stands. */
static nh_status record_state(nh_record *record, const nh_run *run, int member, double *space,
                              nh_report *report)
{
    double t, *q = space, *v = q + record->coordinates, *wrapped_q = v + record->velocities;
    nh_run_state(run, member, &t, q, v);
    nh_run_wrapped_state(run, member, NULL, wrapped_q, NULL);
    return nh_record_add(record, t, q, v, wrapped_q, report);
}

static nh_status follow(nh_record *record, nh_run *run, int member, int64_t steps, int64_t every,
                        double *space, nh_report *report)
{
    nh_status status = NH_OK;
    if (record->rows == 0)
        status = record_state(record, run, member, space, report);
    int64_t begun = nh_run_steps(run), done = 0;
    while (done < steps && status == NH_OK) {
        int64_t left = steps - done;
        status = nh_run_advance(run, left < every ? left : every, report);
        int64_t now = nh_run_steps(run) - begun;
        if (now > done) { /* the report of a failure is not to be written over */
            nh_status recorded =
                record_state(record, run, member, space, status == NH_OK ? report : NULL);
            status = status == NH_OK ? recorded : status;
        }
        done = now;
    }
    return status;
}

nh_status nh_record_follow(nh_record *record, nh_run *run, int member, int64_t steps, int64_t every,
                           nh_report *report)
{
    if (every < 1 || steps < 0 || member < 0 || member >= nh_run_members(run))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "cannot record each %lld-th of %lld steps of member %d", (long long)every,
                       (long long)steps, member);
    size_t size = 2 * (size_t)record->coordinates + (size_t)record->velocities + 1;
    double *space = malloc(size * sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    nh_status status = follow(record, run, member, steps, every, space, report);
    free(space);
    return status;
}

const double *nh_record_table(const nh_record *record, int *stride)
{
    *stride = record->width;
    return record->keep ? record->table : NULL;
}

nh_status nh_record_multipliers(const nh_record *record, double *multipliers, nh_report *report)
{
    if (!record->keep)
        return nh_fail(report, NH_BAD_ARGUMENT, "the rows of this record were not kept");
    for (int64_t i = 0; i < record->rows; i++) {
        const double *row = record->table + i * record->width;
        const double *q = row + 1, *v = q + record->coordinates;
        nh_status status = nh_system_acceleration(record->system, row[0], q, v, NULL,
                                                  multipliers + i * record->constraints, report);
        if (status != NH_OK)
            return nh_fail(report, status, "t = %.10g: the multipliers could not be computed: %s",
                           row[0], nh_status_name(status));
    }
    return NH_OK;
}
