/* The velocities of rotations as users see them.
 *
 * Internally a rotation has four velocities, those of its quaternion p. Users see three, the
 * angular velocity w in body axes, R.w1 to R.w3:
 *     w = 2 (p0 u' - u p0' - u x u'),     p0' = -u.w/2,  u' = (p0 w + u x w)/2
 * with u = (p1, p2, p3). All public functions take and return what users see; functions and arrays
 * called `inner` have the internal velocities. In a system without rotations both are the same. */
#ifndef NH_SYSTEM_ATTITUDE_H
#define NH_SYSTEM_ATTITUDE_H

#include "system/system.h"

/* The inner velocities are `stride` apart, as is q in nh_show_velocities; other arrays are
 * contiguous. Accelerations are shown in the same way. */
void nh_show_velocities(const nh_system *system, const double *q, const double *inner, int stride,
                        double *shown);
void nh_inner_velocities(const nh_system *system, const double *q, const double *shown,
                         double *inner, int stride);

/* Changes of a state as users see them: of a rotation, three along its body axes, dR = R [d]x; of
 * its angular velocity. `first` coordinates come before the dummies of velocities without any.
 * Inner numbers are `stride` apart, those shown are contiguous; q and v are inner ones. */
void nh_show_change(const nh_system *system, const double *q, const double *v, const double *dq,
                    const double *dv, int stride, double *shown_q, double *shown_v);
void nh_inner_change(const nh_system *system, const double *q, const double *v,
                     const double *shown_q, const double *shown_v, double *dq, double *dv,
                     int stride);

/* The inner velocity that corresponds to a shown one: the first of a rotation. */
int nh_inner_index(const nh_system *system, int shown);

/* "R.0'" */
const char *nh_inner_velocity_name(const nh_system *system, int inner);

/* The inner velocities of a state. If they differ from those shown, they are in new memory, `own`,
 * to be freed by the caller. NULL, with a report, if out of memory. */
const double *nh_inner_copy(const nh_system *system, const double *q, const double *v, double **own,
                            nh_report *report);

#endif
