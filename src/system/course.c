/* The public functions for what a model says about the course of a run: its natural length, its
 * events, and where it is not smooth. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "system/attitude.h"

static const nh_problem *problem_of(const nh_system *system)
{
    return system->mechanics ? system->mechanics->problem : NULL;
}

double nh_system_span(const nh_system *system)
{
    const nh_problem *problem = problem_of(system);
    return problem ? problem->span : 0;
}

int nh_system_events(const nh_system *system)
{
    const nh_problem *problem = problem_of(system);
    return problem ? problem->events : 0;
}

int nh_system_kinks(const nh_system *system)
{
    const nh_problem *problem = problem_of(system);
    return problem ? problem->kinks : 0;
}

int nh_system_kink_line(const nh_system *system, int index)
{
    return problem_of(system)->kink[index].place.line;
}

static const nh_problem_event *event_at(const nh_system *system, int index)
{
    bool is_there = index >= 0 && index < nh_system_events(system);
    return is_there ? &problem_of(system)->event[index] : NULL;
}

const char *nh_system_event_name(const nh_system *system, int index)
{
    const nh_problem_event *event = event_at(system, index);
    return event ? event->name : NULL;
}

int nh_system_event_direction(const nh_system *system, int index)
{
    const nh_problem_event *event = event_at(system, index);
    return event ? event->direction : 0;
}

bool nh_system_event_acts(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    for (int i = 0; problem && i < problem->changes; i++)
        if (problem->change[i].event == index)
            return true;
    return false;
}

nh_status nh_system_event_values(const nh_system *system, double t, const double *q,
                                 const double *v, double *values, nh_report *report)
{
    size_t events = (size_t)nh_system_events(system), n = (size_t)system->velocities;
    if (events == 0)
        return NH_OK;
    double *own = NULL,
           *both = calloc(2 * events + n, sizeof *both); /* no acceleration: no rates */
    const double *inner = both ? nh_inner_copy(system, q, v, &own, report) : NULL;
    nh_status status = !both    ? nh_fail_memory(report)
                       : !inner ? NH_NO_MEMORY
                                : nh_system_evaluate(system, NH_FN_EVENTS, t, q, inner,
                                                     both + 2 * events, both, report);
    if (status == NH_OK)
        memcpy(values, both, events * sizeof *values);
    free(own);
    free(both);
    return status;
}
