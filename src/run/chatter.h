/* Motions that a jump of the forces holds where it is (chatter.c). */
#ifndef NH_RUN_CHATTER_H
#define NH_RUN_CHATTER_H

#include "run/attach.h"

/* Room for the ends of own steps; NULL where the run does not look for chattering. */
double *nh_chatter_nodes(const nh_run *run, int64_t *most);
/* Notes own steps of a trajectory; false, with the failure, if it chatters. `step` is that of the
 * run. */
bool nh_chatter_note(nh_run *run, const group *g, const double *node, int64_t count, double step,
                     nh_step_failure *f);

#endif
