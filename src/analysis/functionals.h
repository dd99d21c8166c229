/* Users' coordinates of a perturbation of (q, v), as functionals: small changes of coordinates,
 * then of velocities. A rotation R has three of position, R.1 to R.3, small turns about the axes of
 * the body, and the body rates R.w1 to R.w3. */
#ifndef NH_ANALYSIS_FUNCTIONALS_H
#define NH_ANALYSIS_FUNCTIONALS_H

#include "analysis/local.h"

/* e[functionals][coordinates + n], which is zero. */
void nh_functionals_fill(const nh_local *s, const double *point, double *e);

/* The perturbation z = (dq, dv inner) of a state (q, v as users see it) that belongs to a unit of
 * one functional: of a position if it is less than `positions`, else of a velocity. `room` has
 * place for 3 states. */
void nh_functional_direction(const nh_system *system, const double *q, const double *v,
                             int functional, int positions, double *room, double *z);

/* "x", "R.2", "x'", "R.w1" */
void nh_functional_name(const nh_system *system, int functional, char *out, size_t room);

#endif
