/* How close a state is to one where the equations of motion are singular: the mass matrix, or the
 * matrix K of the constraints. */
#ifndef NH_RUN_CONDITION_H
#define NH_RUN_CONDITION_H

#include "run/run.h"

/* Measures below which a state counts as nearly singular. */
#define NH_NEAR 0.3

/* The larger and the smaller of two numbers, `a` if `b` is not a number. Calls of the C library
 * would take as long as all the rest of a check. */
static inline double larger(double a, double b)
{
    return b > a ? b : a;
}

static inline double smaller(double a, double b)
{
    return b < a ? b : a;
}

typedef struct nh_condition {
    const nh_system *system;
    int n, m;
    bool masses, ranks; /* which of the two can become singular; the other is not computed */
    engine engine;
    double *M, *K; /* as computed last, [n*n] and [m*n] */
    double *A, *S; /* scaled: see condition.c */
    double *pivots, *vector, *value, *root;
    const double *u; /* open inputs with which the matrices are computed */
} nh_condition;

/* The measures of a state: 1 where nothing is wrong, 0 where a matrix is singular. They do not
 * depend on units: every row is compared with its largest value so far. */
typedef struct nh_reading {
    double mass, rank;
    int negative;  /* number of negative eigenvalues of the mass matrix */
    bool directed; /* the rank measure is so small that the directions were computed: */
    double *left;  /* [m], of length 1: the combination of constraints that is smallest */
    double *right; /* [n], of length 1: that combination, in scaled velocities */
} nh_reading;

/* Dense matrices are allocated if a system has few velocities and something to check; otherwise
 * `engine` stays without calls. To be freed also after failures. */
nh_status nh_condition_create(nh_condition *c, const nh_system *system, nh_report *report);
void nh_condition_free(nh_condition *c);
bool nh_condition_has_matrices(const nh_condition *c);

/* Computes M and K at a state (q, v); false where they are not finite or the user's functions fail.
 */
bool nh_condition_matrices(nh_condition *c, double t, const double *state);

/* Measures a state. `scale` [n + m] holds the largest sizes so far, initially 0. */
bool nh_condition_look(nh_condition *c, double t, const double *state, double *scale,
                       nh_reading *look);

/* sqrt(x^T M x), with the matrix that was computed last. */
double nh_condition_length(const nh_condition *c, const double *x);

/* Writes the names of the coordinates that a nearly singular mass matrix cannot tell apart, or of
 * the constraints that nearly depend on each other, at a state: "phi, psi". */
void nh_condition_name(nh_condition *c, double t, const double *state, double *scale, bool ranks,
                       char *text, size_t size);

#endif
