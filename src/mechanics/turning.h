/* Components of a vector equation that depend on each other or on other constraints (turning.c). */
#ifndef NH_MECHANICS_TURNING_H
#define NH_MECHANICS_TURNING_H

#include "mechanics/mechanics.h"

/* States that share . (the rows of the components) is a combination of other rows, observed at
 * several positions that satisfy all conditions. */
typedef struct nh_dependence {
    int first, components; /* constraints of the problem: two or three consecutive ones */
    int places;
    double *t, *q, *share; /* [places], [places][coordinates], [places][3] */
    const double *start;   /* positions and velocities at the start of the motion */
} nh_dependence;

/* Whether the share is the same at all places, so that a component can be left out permanently. */
bool nh_share_stays(const nh_dependence *d);

/* Replaces the first of the components by equivalent combinations, one fewer than there were. False
 * if none were found; nothing is then changed. */
bool nh_turn_rows(nh_problem *problem, const nh_dependence *d);

#endif
