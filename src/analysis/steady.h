/* Steady motions: z' = X(z) with a constant combination X = sum_i rate[i] X_i of the symmetries
 * (generators.h). Positions, velocities and accelerations are then
 *
 *     q,    v = X(q),    a = L v
 *
 * and the equations of motion are conditions on q, the rates, the velocities without coordinates
 * and the multipliers. A rest has rates zero. */
#ifndef NH_ANALYSIS_STEADY_H
#define NH_ANALYSIS_STEADY_H

#include "analysis/generators.h"

typedef struct nh_steady {
    nh_local *s;
    const nh_generators *g;
    int unknowns, conditions;
    int rates, free, multipliers; /* where parts of the unknowns begin; they start with q */
    double *unknown, *first;      /* the present ones; those of the start */
    double *point;                /* [width] */
    double *jacobian;             /* [s->rows][width] of the equations at the point */
    double *residual, *matrix;    /* of the conditions, in units in which they are comparable */
    double *unit;                 /* [conditions] */
    double *work;
    double size;        /* of the terms of the conditions */
    bool kept;          /* the start was steady itself */
    double uncertainty; /* of the unknowns: the next step of Newton's method */
} nh_steady;

bool nh_steady_begin(nh_steady *w, nh_local *s, const nh_generators *g);
void nh_steady_end(nh_steady *w);

/* The steady motion nearest to the q and v of a point. NH_NOT_CONVERGED: none was found; the report
 * has the residuals, and w the state at which they are smallest. */
nh_status nh_steady_find(nh_steady *w, const double *start, nh_report *report);

/* The values of X, L x for the rates of a solution. */
void nh_steady_field(const nh_steady *w, const double *rate, const double *x, bool whole,
                     double *out);
const double *nh_steady_rates(const nh_steady *w);

/* How the point changes with a parameter, whose column the jacobian has: along the family of steady
 * motions as the start does, whose q and v change by `start`. False if out of memory. */
bool nh_steady_along(nh_steady *w, int parameter, const double *start, double *direction,
                     double *rates);

#endif
