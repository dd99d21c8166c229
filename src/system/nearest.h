/* The nearest point on the constraints: the numerical part of a projection (project.c). The
 * unknowns are the velocities, or the positions that satisfy g(t, q) = 0; both are called v here,
 * their residuals k, and the derivatives K. */
#ifndef NH_SYSTEM_NEAREST_H
#define NH_SYSTEM_NEAREST_H

#include "system/start.h"

typedef struct nh_nearest {
    const nh_system *system;
    nh_level level;
    nh_instant at;
    const double *q;    /* for velocities: the positions */
    const double *rest; /* the other half of the given state: for positions, the velocities */
    nh_status status;   /* of the functions evaluated, with their report */
    nh_report report;
    int n, m, f; /* numbers of unknowns, constraints, unknowns that may change */
    int *free;   /* [f] which those are */
    int *place;  /* [n] index of an unknown among them, or -1 */
    int *first;  /* [m+1] entries of K, row by row, and the columns that they are in */
    const int *column;
    double reach; /* of what round-off of the constraints is a fraction: see nh_nearest_scale */
    double *v0;   /* [n] given */
    double *v;    /* [n] the present point; k and K belong to it after nh_linearise */
    double *best;
    double *L;       /* [f*f] lower: the metric is L L^T */
    double *inertia; /* [n] size of the metric's diagonal, kept velocities included */
    double *end;     /* what NH_FN_END returns, or n zeros and what NH_FN_SURFACE returns */
    double *J;       /* [m*f] normals of the constraints, of length 1, or 0 if nothing moves them */
    double *size;    /* [m] their original lengths */
    double *c;       /* [m] residuals divided by these lengths */
    double *Q, *R;   /* [m*f], [m*m] J in the order of pivots is R Q, with orthonormal Q */
    int *pivot, rank;
    double *step, *work; /* [f] */
    double *Z, *B, *y;   /* tangent space [(f-rank)*f], its Hessian, a step in it */
} nh_nearest;

/* `may_change` NULL: all. The caller fills in the metric. False if out of memory; call
 * nh_nearest_end in either case. */
bool nh_nearest_begin(nh_nearest *p, const nh_system *system, nh_level level,
                      const bool *may_change, nh_instant at, const double *q, const double *v);
void nh_nearest_end(nh_nearest *p);

/* v = from + length * L^-T step, for the velocities that may change. */
void nh_nearest_place(nh_nearest *p, const double *from, double length);
double nh_nearest_distance(nh_nearest *p); /* |L^T (v - v0)| */
/* What corrections are compared with: the size of v or, where v is near zero, the size that the
 * terms of the constraints have, as a distance. Coordinates that count from a linkage's start are
 * zero there, and round-off of its bars moves them all the same. */
double nh_nearest_scale(nh_nearest *p, const double *v);
/* The largest residual relative to its terms, at most 1; infinite if it is not available. */
double nh_nearest_offence(nh_nearest *p);
/* How much the velocities that may change affect a constraint. */
double nh_nearest_moves(const nh_nearest *p, int constraint);

/* Moves to the constraints by short steps from v; false on failure. */
bool nh_nearest_restore(nh_nearest *p);
/* Moves along them to the nearest point; false on failure. */
bool nh_nearest_improve(nh_nearest *p);

/* Removes from v what some constraints do not admit as a displacement; false if that fails. */
bool nh_nearest_displace(nh_nearest *p, const bool *constraint);

#endif
