/* The cost of a step in function evaluations, also for composed methods. */
#ifndef NH_ANALYSIS_COST_H
#define NH_ANALYSIS_COST_H

#include "base/status.h"

/* As nh_evaluations, of a run with these options: method, compose and step count. */
nh_status nh_count_evaluations(const nh_system *system, const nh_run_options *options, double t,
                               const double *q, const double *v, double *per_step,
                               nh_report *report);

#endif
