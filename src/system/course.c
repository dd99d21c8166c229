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
    return problem ? nh_problem_named_events(problem) : 0;
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

bool nh_system_event_acts(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    for (int i = 0; problem && i < problem->changes; i++)
        if (problem->change[i].event == index)
            return true;
    return false;
}
