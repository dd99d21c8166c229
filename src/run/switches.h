/* Times at which functions of the system change abruptly (switches.c). */
#ifndef NH_RUN_SWITCHES_H
#define NH_RUN_SWITCHES_H

#include "run/attach.h"

/* The time that a method which chooses its own steps must not exceed; 0: none. */
double nh_switches_bound(const nh_run *run);
/* Whether a kink of the system is one of time alone, which is never inside a step. */
bool nh_switches_know(const nh_run *run, int kink);

#endif
