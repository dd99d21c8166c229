/* The number of steps, and which of them are recorded. */
#ifndef CLI_TIMING_H
#define CLI_TIMING_H

#include "subject.h"

/* What --tolerance, --absolute and the options about time mean for a single run, and the `lead` of
 * its simulation. Returns 0, or the exit code after printing an error. */
int choose_timing(const options *given, nh_run_options *wanted, double *lead);

/* --steps as given, or the whole number of steps nearest to --time. `who` is the command that needs
 * them. */
int count_steps(const char *who, const options *given, int64_t *steps);

/* The same; what is left open is chosen for the system: the step for `method`, and the model's time
 * span. */
int plan_common_step(const char *who, const options *given, const subject *s, const char *method,
                     double *step, int64_t *steps);

#endif
