/* Components of an equation between vectors that depend on each other or on other constraints
 * (turning.c). */
#ifndef NH_MECHANICS_TURNING_H
#define NH_MECHANICS_TURNING_H

#include "mechanics/mechanics.h"

/* That share . (the components' rows) is a combination of other rows, seen at several positions
 * that satisfy all conditions. */
typedef struct nh_dependence {
    int first, components; /* constraints of the problem: two or three, one behind the other */
    int places;
    double *t, *q, *share; /* [places], [places][coordinates], [places][3] */
    const double *start;   /* positions and velocities that the motion begins with */
} nh_dependence;

/* Whether the share is the same at all places: what is left out at one can be left out for good. */
bool nh_share_stays(const nh_dependence *d);

/* Puts combinations that say the same, one fewer, in place of the first of the components. False
 * where none were found; everything is as it was then. */
bool nh_turn_rows(nh_problem *problem, const nh_dependence *d);

#endif
