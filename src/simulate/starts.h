/* Random starts of ensembles. */
#ifndef NH_SIMULATE_STARTS_H
#define NH_SIMULATE_STARTS_H

#include <nonholo.h>

/* As nh_random_start, with the position that determines the values of the integrals of holonomic
 * constraints. */
nh_status nh_random_start_from(const nh_system *system, double t, double energy, uint64_t seed,
                               uint64_t item, const double *centre, const double *start, double *q,
                               double *v, nh_report *report);

#endif
