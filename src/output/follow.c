/* Records a whole trajectory in one call, for callers for which each call is expensive (other
 * languages). */
#include "output/record.h"

typedef struct follower {
    nh_record *record;
    int member;
    int64_t recorded; /* the step of the last row */
} follower;

static nh_status take_samples(void *user, const nh_samples *samples, nh_report *report)
{
    follower *f = user;
    if (samples->member != f->member)
        return NH_OK;
    f->recorded = samples->step + (samples->count - 1) * samples->every;
    return nh_record_samples(f->record, samples, report);
}

nh_status nh_record_follow(nh_record *record, nh_run *run, int member, int64_t steps, int64_t every,
                           nh_report *report)
{
    if (every < 1 || steps < 0 || member < 0 || member >= nh_run_members(run))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "cannot record every %lld-th of %lld steps of member %d", (long long)every,
                       (long long)steps, member);
    follower f = {.record = record, .member = member, .recorded = nh_run_steps(run)};
    nh_sample_options options = {.steps = steps,
                                 .every = every,
                                 .origin = nh_run_steps(run),
                                 .first = record->rows == 0,
                                 .user = &f,
                                 .samples = take_samples};
    nh_status status = nh_run_sample(run, &options, report);
    nh_sample_options here = {.first = true, .user = &f, .samples = take_samples};
    if (status != NH_OK && nh_run_steps(run) > f.recorded) /* record how far it got */
        nh_run_sample(run, &here, NULL);
    return status;
}

const double *nh_record_table(const nh_record *record, int *stride)
{
    *stride = record->width;
    return record->table;
}

nh_status nh_record_multipliers(const nh_record *record, double *multipliers, nh_report *report)
{
    for (int64_t i = 0; i < nh_record_kept(record); i++) {
        const double *row = record->table + i * record->width;
        const double *q = row + 1, *v = q + record->coordinates;
        nh_status status = nh_record_row_inputs(record, row, report);
        if (status == NH_OK)
            status = nh_system_acceleration_with(record->system, row[0], q, v, record->u, NULL,
                                                 multipliers + i * record->constraints, report);
        if (status != NH_OK)
            return nh_fail(report, status, "t = %.10g: the multipliers could not be computed: %s",
                           row[0], nh_status_name(status));
    }
    return NH_OK;
}
