/* What redundant.c works with: a search for positions that satisfy all conditions (landing.c), and
 * the rows of constraints there, some of which may follow from others (dependent.c). */
#ifndef NH_MECHANICS_REDUNDANT_H
#define NH_MECHANICS_REDUNDANT_H

#include "mechanics/mechanics.h"

enum { NH_PLACES = 3 }; /* how many are examined near the start */

typedef struct nh_landing {
    nh_problem *problem;
    int count, n;      /* conditions, coordinates */
    double t;          /* the time at which they must hold */
    bool far;          /* start from places far from the start instead of near it */
    nh_expr *g;        /* [count], then G[count * n] */
    double *value;     /* of all of them */
    double *spread;    /* [count] */
    double *q, *start; /* [n] */
    double *S, *y;     /* [count * count], [count] */
    double *ordered;   /* [count * n] G with the rows of rotations first */
} nh_landing;

/* The result at a position where all conditions hold, or nearly so. */
typedef struct nh_landed {
    bool satisfied;
    int rank, dependent; /* a condition that depends on others, or -1 */
    double residual;     /* of the dependent one */
} nh_landed;

/* False if out of memory; must be ended in either case. */
bool nh_landing_begin(nh_landing *s, nh_problem *problem);
void nh_landing_end(nh_landing *s);
/* Moves q from a place to where all conditions hold; false if the search fails. */
bool nh_land(nh_landing *s, int place, nh_landed *f);

/* The constraints as rows of K with their values at v = 0, in the order of the list, those on
 * positions last. Rows that are not affine in the velocities stay zero and are ignored. */
typedef struct nh_constraint_rows {
    int rows, columns; /* constraints; velocities and one more for the value */
    nh_expr *entry;    /* [rows][columns] */
    double *at;        /* [rows][columns] at a place */
    double *work;      /* [rows][columns] */
    double *rest;      /* [columns] zeros in place of velocities */
    double *size;      /* [rows] divisors of the last scaling */
    double *gram;      /* [rows][rows], then as many eigenvalues, and their vectors */
    bool *affine;      /* [rows] */
} nh_constraint_rows;

/* False if out of memory; must be ended in either case. */
bool nh_rows_begin(nh_constraint_rows *r, nh_problem *problem);
void nh_rows_end(nh_constraint_rows *r);
/* Evaluates the rows at a place where all conditions hold; false if there is none. */
bool nh_rows_evaluate(nh_constraint_rows *r, nh_landing *s, int place);
/* The coefficients of the rows, divided by `size`, in the combination that is closest to zero at
 * the place evaluated last; and how close the next one is. Rows outside `among`, if that is not
 * NULL, are excluded. */
const double *nh_least_combination(const nh_constraint_rows *r, const bool *among,
                                   double *closeness, double *next);
/* A constraint on velocities that follows from the others at all places (NH_YES), or contradicts
 * them at one of them (NH_NO). */
nh_answer nh_find_implied(nh_constraint_rows *r, nh_landing *s, int *index);

#endif
