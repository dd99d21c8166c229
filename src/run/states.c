/* The states of all members of a run at once. */
#include "run/run.h"

int nh_run_members(const nh_run *run)
{
    return run->members;
}

void nh_run_states(const nh_run *run, double *t, double *q, double *v)
{
    int coordinates = run->system->coordinates, velocities = run->system->user_velocities;
    for (int64_t i = 0; i < run->members; i++)
        nh_run_state(run, (int)i, t, q ? q + i * coordinates : NULL, v ? v + i * velocities : NULL);
}

nh_status nh_run_start_all(nh_run *run, double t, const double *q, const double *v,
                           nh_report *report)
{
    int coordinates = run->system->coordinates, velocities = run->system->user_velocities;
    nh_status status = NH_OK;
    for (int64_t i = 0; i < run->members && status == NH_OK; i++)
        status = nh_run_start(run, (int)i, t, q + i * coordinates, v + i * velocities, report);
    return status;
}
