/* Solutions: the motion of a run as a function of time. See solution.c. */
#ifndef NH_RUN_SOLUTION_H
#define NH_RUN_SOLUTION_H

#include "run/run.h"

/* The run is about to advance, or has advanced; does nothing for a run without a solution.
 * `lasting`: what comes next does not follow from the states before, because steps have another
 * length or inputs were changed from outside. */
void nh_solution_note(nh_run *run, bool lasting);
/* The run starts again, from another state. */
void nh_solution_restart(nh_run *run);
/* A function gave these values to the inputs, `count` of them, at time t. */
void nh_solution_note_inputs(nh_run *run, double t, const double *value, int count);

#endif
