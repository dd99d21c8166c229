/* Times at which functions of the system change abruptly (switches.c). */
#ifndef NH_RUN_SWITCHES_H
#define NH_RUN_SWITCHES_H

#include "run/attach.h"

/* The next one, infinite if none is known; and whether there is one at time t, up to `near`. */
double nh_switches_next(const nh_run *run);
bool nh_switches_at(const nh_run *run, double t, double near);
/* By how much steps stay clear of a switch at time t: rounding errors do not cross it. */
double nh_switches_clear(const nh_clock *clock, double t);
/* The time that a method which chooses its own steps must not exceed; 0: none. */
double nh_switches_bound(const nh_run *run);
/* Whether a kink of the system is one of time alone, which is never inside a step. */
bool nh_switches_know(const nh_run *run, int kink);

#endif
