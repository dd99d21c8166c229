/* Whether the caller wants a run to stop, asked within steps that take long (interrupt.c). */
#ifndef NH_RUN_INTERRUPT_H
#define NH_RUN_INTERRUPT_H

#include "run/run.h"

/* Asks `stop` of the options, for computations that consist of many short runs:
 * NH_CALLBACK_STOPPED if it says so. */
nh_status nh_ask_to_go_on(const nh_run_options *options, nh_report *report);

/* Own steps within one step of a run: so many do not end in a reasonable time. */
enum { NH_OWN_STEPS_MAX = 1000000 };

/* Asks `stop` of the run's options now and then; once it has said so, the present call of the loop
 * ends with NH_FAILED_INTERRUPTED, in the state before the leg. */
bool nh_run_is_interrupted(nh_run *run);

/* Room for the ends of own steps, so that the kernel returns once it is full and the run can ask;
 * NULL where that is not needed. */
nh_status nh_interrupt_prepare(nh_run *run, nh_report *report);
double *nh_interrupt_nodes(const nh_run *run, int64_t *most);

#endif
