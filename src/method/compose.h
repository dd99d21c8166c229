/* Compositions of symmetric methods. */
#ifndef NH_METHOD_COMPOSE_H
#define NH_METHOD_COMPOSE_H

#include <nonholo.h>

enum { NH_PARTS_MAX = 17 };

/* The parts of a composed step: their lengths in units of the step in part[0 .. parts-1], and where
 * they begin in part[parts .. 2 parts-1]. Fails as nh_composition_order does. */
nh_status nh_composition_parts(const char *name, const nh_choice *choice, double *part, int *parts,
                               nh_report *report);

#endif
