/* Random starts of many members at a time, in the lanes of a register. */
#ifndef NH_SIMULATE_START_LANES_H
#define NH_SIMULATE_START_LANES_H

#include "system/system.h"

typedef struct nh_start_lanes nh_start_lanes;

/* What determines the starts besides their numbers, as for nh_random_start_from; the arrays are
 * needed only during the creation. */
typedef struct nh_start_choice {
    double t, energy;
    uint64_t seed;
    const double *centre; /* NULL: the origin */
    const double *start;  /* of the model */
} nh_start_choice;

/* *out is NULL, without an error, if the system is not one for which this is possible: the energy
 * is T(q, v) + V(q), constraints are linear in the velocities and not holonomic. */
nh_status nh_start_lanes_create(nh_start_lanes **out, const nh_system *system,
                                const nh_start_choice *choice, nh_report *report);
void nh_start_lanes_free(nh_start_lanes *starts);

/* The starts of members item .. item + count - 1: q[count][coordinates], v[count][velocities], and
 * whether each was found. A member's start does not depend on the others. */
void nh_start_lanes_find(nh_start_lanes *starts, uint64_t item, int count, double *q, double *v,
                         bool *found);

#endif
