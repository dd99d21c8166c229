/* Steps composed of steps of different methods. For every method there is a run of its own, which
 * never starts: it has the engines, the tables and a block in the layout of its kernel. A part of a
 * step copies the state there, starts the method afresh, takes a step and hands the state on, so
 * that a composed step is a function of the state alone. */
#ifndef NH_RUN_MIXED_H
#define NH_RUN_MIXED_H

#include "run/run.h"

/* Reads the list and checks that every method applies. */
nh_status nh_mixed_open(nh_mixed **out, nh_run *run, const char *list, nh_report *report);
void nh_mixed_free(nh_mixed *mixed);

/* Makes the runs, once the groups of this one are known. */
nh_status nh_mixed_prepare(nh_run *run, const nh_run_options *options, nh_report *report);

/* Whether carrying rounding errors is advised for one of the methods. */
bool nh_mixed_compensates(const nh_mixed *mixed);

/* In place of a kernel's advance; a step that fails leaves the state as it was. */
int nh_mixed_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps);

/* The run of a method, for index 0, 1, ...; NULL after the last. */
nh_run *nh_mixed_run(const nh_mixed *mixed, int index);

#endif
