/* The linearised motion about a steady motion, without its constraints and symmetries.
 *
 * In axes that move with the steady motion, a perturbation z of (q, v) satisfies z' = A z, with
 * A = Df - L. It stays in the tangent space of the constraints, and what it does to a shift along a
 * symmetry does not matter. Users' coordinates are functionals e_i(z); the position of a rotation
 * has three, in body axes. Some of them are chosen as the state x of the quotient; others, as many
 * as there are symmetries, are kept zero by shifting along these (`held`). */
#ifndef NH_ANALYSIS_REDUCED_H
#define NH_ANALYSIS_REDUCED_H

#include "analysis/steady.h"

typedef struct nh_reduced {
    const nh_steady *steady;
    const nh_local *s;
    int size;                   /* numbers in z: coordinates and inner velocities */
    int functionals, positions; /* users' coordinates; the first ones are positions */
    int order, orbit, tangent;  /* dimensions: of x, of the symmetries' orbit, of both */
    int *chosen, *held;         /* [order], [orbit] functionals */
    int *moving;                /* [orbit] generators that span the orbit */
    double *e;                  /* [functionals][size] */
    double *solved;             /* [n + m][u + given], as nh_local_solve */
    double *constraints;        /* [m + positions][size] */
    double *space;              /* [tangent][size] orthonormal: what the constraints admit */
    double *inverse;            /* LU of (held, chosen) on that space */
    int *pivot;
    double *Z;             /* [order][size] perturbations with x = unit vectors */
    double *orbit_field;   /* [orbit][size] */
    double *H;             /* [order][orbit] */
    double *A, *B, *C, *D; /* row-major */
    double *S;             /* [open][size] how z moves with an input */
} nh_reduced;

/* With `reduce` false, symmetries are not divided out. NH_FAILED: the constraints are dependent
 * there. */
nh_status nh_reduced_find(nh_reduced *out, nh_steady *steady, bool reduce, nh_report *report);
void nh_reduced_free(nh_reduced *r);

/* How A changes along a direction of points, with the rates' changes. */
nh_status nh_reduced_along(const nh_reduced *r, const double *direction, const double *rates,
                           double *change, nh_report *report);

/* The state x of a perturbation z. */
void nh_reduced_state(const nh_reduced *r, const double *z, double *x);

#endif
