/* Random starts of ensembles: one at a time, for all systems (starts.c); or many at a time, where
 * that is possible, with the same choice of directions (start_lanes.h). */
#ifndef NH_SIMULATE_STARTS_H
#define NH_SIMULATE_STARTS_H

#include <nonholo.h>

/* A random state of a given energy that satisfies the constraints. Angles are uniformly
 * distributed, coordinates on which the energy does not depend normally about the centre with
 * deviation 1; the other coordinates and the velocities lie in a random direction from the centre
 * (coordinates `centre`, or the origin if it is NULL, at rest), at the distance where the state has
 * the given energy, or nearer if a mechanism at rest never reaches it in that direction. If
 * constraints are known to be holonomic, their integrals have the same values as at `centre`, or at
 * the model's start if `centre` is NULL. The same `seed` and `item` always give the same state.
 * Returns NH_BAD_START if no such state is found in a thousand directions. */
nh_status nh_random_start(const nh_system *system, double t, double energy, uint64_t seed,
                          uint64_t item, const double *centre, double *q, double *v,
                          nh_report *report);

/* As nh_random_start, with the position that determines the values of the integrals of holonomic
 * constraints. */
nh_status nh_random_start_from(const nh_system *system, double t, double energy, uint64_t seed,
                               uint64_t item, const double *centre, const double *start, double *q,
                               double *v, nh_report *report);

/* Which coordinates are angles, and which positions are not scaled: angles, and those on which the
 * energy does not depend. angle[coordinates], unscaled[coordinates]. */
nh_status nh_start_unscaled(const nh_system *system, double t, const double *start, bool *angle,
                            bool *unscaled, nh_report *report);

#endif
