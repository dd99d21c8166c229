/* Positions that a motion can reach when some of its constraints are holonomic. */
#ifndef NH_RUN_LEAF_H
#define NH_RUN_LEAF_H

#include "system/system.h"

/* Where velocities obey holonomic constraints, positions stay on a surface (a leaf), on which the
 * integrals of these constraints are constant. */
typedef struct nh_leaf {
    const nh_system *system;
    double t;
    bool *holonomic; /* [constraints]; NULL: none is known to be holonomic */
    double *space;
    int64_t left; /* evaluations of the direction after which a walk gives up; set by the caller */
    bool out_of_memory;
} nh_leaf;

/* False without memory. nh_leaf_close in any case. */
bool nh_leaf_open(nh_leaf *leaf, const nh_system *system, double t);
void nh_leaf_close(nh_leaf *leaf);

/* Moves q along its leaf, at every point in the admissible direction nearest to `direction`; by
 * `direction` itself if no constraint is holonomic. The integrals keep their values to about 1e-13.
 * False if the path leaves the model's domain, or is too long. */
bool nh_leaf_walk(nh_leaf *leaf, const double *direction, double *q);

#endif
