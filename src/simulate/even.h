/* Rests and straight motions: nothing in them limits the steps that a method chooses by a
 * tolerance, but derivatives need steps that resolve perturbations. */
#ifndef NH_SIMULATE_EVEN_H
#define NH_SIMULATE_EVEN_H

#include <nonholo.h>

/* A step for dop853 if nothing accelerates in a state, at any time from t on for as long as `time`;
 * otherwise 0. */
nh_status nh_even_step(const nh_system *system, double t, double time, const double *q,
                       const double *v, double *step, nh_report *report);

#endif
