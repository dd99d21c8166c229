/* What redundant.c is made of: positions that satisfy all conditions (landing.c), and constraints
 * as rows, of which some combination may vanish there (dependent.c). */
#ifndef NH_MECHANICS_REDUNDANT_H
#define NH_MECHANICS_REDUNDANT_H

#include "mechanics/mechanics.h"

enum { NH_PLACES = 3 }; /* near the start that are looked at */

typedef struct nh_landing {
    nh_problem *problem;
    int count, n;      /* conditions, coordinates */
    double t;          /* when they are to hold */
    bool far;          /* whether places are far from the start, or near it */
    nh_expr *g;        /* [count], then G[count * n] */
    double *value;     /* of all of them */
    double *spread;    /* [count] */
    double *q, *start; /* [n] */
    double *S, *y;     /* [count * count], [count] */
    double *ordered;   /* [count * n] G with the rows of rotations first */
} nh_landing;

/* What is found where all conditions hold, or nearly. */
typedef struct nh_landed {
    bool satisfied;
    int rank, dependent; /* a condition that depends on others, or -1 */
    double residual;     /* of the dependent one */
} nh_landed;

/* False without memory; to be ended in any case. */
bool nh_landing_begin(nh_landing *s, nh_problem *problem);
void nh_landing_end(nh_landing *s);
/* Moves q from a place to where all conditions hold; false where the search leads nowhere. */
bool nh_land(nh_landing *s, int place, nh_landed *f);

/* The constraints as rows of K and their value at v = 0, those on positions last, as they are
 * listed. Rows that are not affine in the velocities stay zero and are not looked at. */
typedef struct nh_constraint_rows {
    int rows, columns; /* constraints; velocities and one more for the value */
    nh_expr *entry;    /* [rows][columns] */
    double *at;        /* [rows][columns] at a place */
    double *work;      /* [rows][columns] */
    double *rest;      /* [columns] zeros in place of velocities */
    double *size;      /* [rows] by which rows were divided last */
    double *gram;      /* [rows][rows], then as many eigenvalues, and their vectors */
    bool *affine;      /* [rows] */
} nh_constraint_rows;

/* False without memory; to be ended in any case. */
bool nh_rows_begin(nh_constraint_rows *r, nh_problem *problem);
void nh_rows_end(nh_constraint_rows *r);
/* At a place where all conditions hold; false where there is none. */
bool nh_rows_evaluate(nh_constraint_rows *r, nh_landing *s, int place);
/* The shares of rows, divided by `size`, in the combination that is closest to zero at the place
 * that was evaluated last; and how close the next one is. Rows outside `among`, if that is not
 * NULL, have no share. */
const double *nh_least_combination(const nh_constraint_rows *r, const bool *among,
                                   double *closeness, double *next);
/* A constraint on velocities that follows from the others at all places (NH_YES), or contradicts
 * them at one (NH_NO). */
nh_answer nh_find_implied(nh_constraint_rows *r, nh_landing *s, int *index);

#endif
