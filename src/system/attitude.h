/* What users see of the velocities of rotations.
 *
 * Inside, a rotation has four velocities, those of its quaternion p. Users see three, the angular
 * velocity w in body axes, R.w1 to R.w3:
 *     w = 2 (p0 u' - u p0' - u x u'),     p0' = -u.w/2,  u' = (p0 w + u x w)/2
 * with u = (p1, p2, p3). All public functions take and return what users see; functions and arrays
 * called `inner` hold what is inside. In a system without rotations both are the same numbers. */
#ifndef NH_SYSTEM_ATTITUDE_H
#define NH_SYSTEM_ATTITUDE_H

#include "system/system.h"

/* The inner numbers are `stride` apart, and so are those of q in nh_show_velocities; the others are
 * dense. Accelerations are shown in the same way. */
void nh_show_velocities(const nh_system *system, const double *q, const double *inner, int stride,
                        double *shown);
void nh_inner_velocities(const nh_system *system, const double *q, const double *shown,
                         double *inner, int stride);

/* The inner velocity that stands for a shown one: the first of a rotation. */
int nh_inner_index(const nh_system *system, int shown);

/* "R.0'" */
const char *nh_inner_velocity_name(const nh_system *system, int inner);

/* The inner velocities of a state, in memory of their own if they differ from those shown: `own` is
 * to be freed. NULL without memory, with a report. */
const double *nh_inner_copy(const nh_system *system, const double *q, const double *v, double **own,
                            nh_report *report);

#endif
