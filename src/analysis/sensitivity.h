/* What a run is differentiated by, and in which directions its state begins. */
#ifndef NH_ANALYSIS_SENSITIVITY_H
#define NH_ANALYSIS_SENSITIVITY_H

#include "analysis/start_moves.h"

struct nh_sensitivity {
    const nh_system *system;
    int count, outputs;
    nh_varied *variable; /* [count] with names of their own */
    int room;
    char **output_name;
    int directions, velocities, parameters, open;
    bool by_parameters;
    double *q, *v, *parameter; /* [count][directions], [velocities], [parameters] */
    double *input;             /* [count][open]: numbers of open inputs */
};

/* Appends a variable, unless it is there already. */
nh_status nh_sensitivity_add(nh_sensitivity *s, const char *name, nh_varied_kind kind, int index,
                             int64_t point, double value, nh_report *report);

/* sensitivity_names.c: appends the variables that names mean. What a pattern means and cannot be
 * varied is left out. */
nh_status nh_sensitivity_read(nh_sensitivity *s, nh_start_moves *start, const char *names,
                              nh_report *report);

/* Gives a run, which is in the start state, a direction for each variable; before its first step.
 */
nh_status nh_sensitivity_begin(const nh_sensitivity *sensitivity, nh_run *run, int member,
                               nh_report *report);
/* The derivatives of the run's present state: values[outputs][variables]. The outputs are all
 * changes of positions, velocities, the energy, and observables. */
nh_status nh_sensitivity_values(const nh_sensitivity *sensitivity, const nh_run *run, int member,
                                double *values, nh_report *report);

#endif
