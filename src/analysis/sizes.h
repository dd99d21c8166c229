/* How large the terms of a constraint can be. */
#ifndef NH_ANALYSIS_SIZES_H
#define NH_ANALYSIS_SIZES_H

#include <nonholo.h>

/* reach[constraints] = sum_j |K_ij| sqrt(2 T/M_jj): what the velocities could contribute to k with
 * the kinetic energy T; v as nh_inner_copy returns it. 0 where the matrices cannot be evaluated. */
nh_status nh_constraint_reach(const nh_system *system, double t, const double *q, const double *v,
                              double *reach, nh_report *report);

#endif
