/* Positions that a motion can reach when some of its constraints are holonomic. */
#ifndef NH_RUN_LEAF_H
#define NH_RUN_LEAF_H

#include "system/system.h"

/* Where velocities obey holonomic constraints, positions stay on a surface (a leaf), on which the
 * integrals of these constraints keep their values. */
typedef struct nh_leaf {
    const nh_system *system;
    double t;
    bool *holonomic; /* [constraints]; NULL: none is known to be */
    double *space;
    bool out_of_memory;
} nh_leaf;

/* False without memory. nh_leaf_close in any case. */
bool nh_leaf_open(nh_leaf *leaf, const nh_system *system, double t);
void nh_leaf_close(nh_leaf *leaf);

/* Moves q along its leaf, everywhere in the admissible direction that is nearest to `direction`:
 * by `direction` itself where no constraint is holonomic. The integrals keep their values to about
 * 1e-13. False where that leads out of the model's domain. */
bool nh_leaf_walk(nh_leaf *leaf, const double *direction, double *q);

#endif
