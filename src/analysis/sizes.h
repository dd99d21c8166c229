/* How large the terms of a constraint can be. */
#ifndef NH_ANALYSIS_SIZES_H
#define NH_ANALYSIS_SIZES_H

#include <nonholo.h>

/* reach[constraints] = sum_j |K_ij| sqrt(2 T/M_jj): what the velocities could contribute to k with
 * the kinetic energy T; v as nh_inner_copy returns it. 0 where the matrices cannot be evaluated. */
nh_status nh_constraint_reach(const nh_system *system, double t, const double *q, const double *v,
                              double *reach, nh_report *report);

/* Turns the extent of a motion into the scales by which errors of its states are measured. On entry
 * `scales` has the largest |q - q0| and |v| of a motion from (t, q0, v0), coordinates first. An
 * angle counts with at most one revolution and a rotation as a whole; components that hardly move
 * get their scale from the others, which masses make comparable. */
nh_status nh_system_motion_scales(const nh_system *system, double t, const double *q0,
                                  const double *v0, double *scales, nh_report *report);

#endif
