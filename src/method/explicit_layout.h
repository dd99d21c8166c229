/* The layout of an explicit method's table and memory: for its kernels (explicit_step.h) and for
 * its descriptor (explicit_table.h).
 *
 * A file that includes this one first defines
 *     STAGES        their number
 *     EXTRA         points that only the interpolation needs
 *     MORE_TERMS    terms of the interpolation beyond the third
 *     ESTIMATES     of the error: one or two
 *     ERROR_ORDER   the order of the error estimate in h
 *     DAMPING       of the step size control; 0.2 / ERROR_ORDER if not defined
 *     STABLE        the bound of |h lambda| for decaying motions; two thirds of the method's
 *                   interval of stability if not defined
 *     SPARE         how many of the last stages only the estimates need; 0 if not defined
 *     HERMITE_NODE  see explicit_between.h; not defined, or 0, for methods without it
 *
 * The table contains the nodes, then rows of the same length: a_ij of every point, where the row of
 * the new state is b; the estimates; the further terms. DAMPING, STABLE and HERMITE_NODE follow,
 * for the general kernel; after that come a number that tells whether there are scales, and the
 * scales of the components of a state. */
#ifndef NH_METHOD_EXPLICIT_LAYOUT_H
#define NH_METHOD_EXPLICIT_LAYOUT_H

#ifndef SPARE
#define SPARE 0
#endif
#define TABLE_POINTS (STAGES + 1 + EXTRA) /* the stages, the new state, and the points after it */
#define CONTROLS (TABLE_POINTS * (1 + TABLE_POINTS + ESTIMATES + MORE_TERMS))
#define OWN_TABLE (CONTROLS + 3)

#define SETTLE_ROOM(n, m, nb) (2 * (n) + (nb) + 2 * (m) + 2)

#ifdef HERMITE_NODE
#define HERMITE (HERMITE_NODE > 0)
#else
#define HERMITE 0
#endif
#define PAST(n) (HERMITE ? 3 * (n) : 0)

/* Memory: these numbers, then what `flow` (explicit_step.h) points to. */
enum {
    ACCEPTED, /* own steps, rejected attempts, and steps in which round-off hides the error */
    REJECTED,
    BLURRED,
    ENERGY_AT_START,
    KINETIC, /* kinetic energy at the end of the last own step, and at its start */
    KINETIC_BEFORE,
    BEGIN, /* start of that step, relative to the step of the run, and its length */
    LENGTH,
    NEXT,       /* the length to try next */
    LAST_ERROR, /* logarithm of the last own step's error; whether an attempt failed since */
    HELD,
    TRIED, /* the length of the last attempt, and its error */
    TRIED_ERROR,
    STEP_RATIO, /* the length of the previous step relative to the last one, if states in between
                 * are on a Hermite polynomial (explicit_between.h); else 0 */
    SCALARS
};

#endif
