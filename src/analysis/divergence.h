/* How fast the flow changes volumes in the states that the constraints admit. */
#ifndef NH_ANALYSIS_DIVERGENCE_H
#define NH_ANALYSIS_DIVERGENCE_H

#include "analysis/local.h"

/* The divergence at a point with q, v, inputs and `room` of nh_divergence_room doubles, in terms of
 * the volume that the kinetic energy gives to positions and velocities. Fills the accelerations and
 * multipliers of the point and the jacobian[rows][width] there. `size` is that of its terms.
 * NH_NOT_CONVERGED where there are no accelerations. */
nh_status nh_divergence_at(nh_local *s, double *point, double *jacobian, double *room,
                           double *divergence, double *size, nh_report *report);
size_t nh_divergence_room(const nh_local *s);

#endif
