/* The peers: other general solvers on the same problems, each in the form that suits it best.
 */
#ifndef PEERS_H
#define PEERS_H

#include <stdbool.h>

enum { PEER_SIZE = 12 }; /* coordinates at most */

/* q'' = -gradV + A^T l with one constraint A(q) v = 0. The multiplier of the exact solution is
 * l = (A gradV - A' v) / (A A^T). Or, where `rate` is given, only that: y' for y = q, v. */
typedef struct peer_problem {
    const char *name, *label, *setting; /* of the shipped model; setting may be NULL */
    int n;
    double T;
    void (*normal)(const double *q, double *A);
    void (*gradient)(const double *q, double *g);
    double (*drift)(const double *q, const double *v); /* A' v */
    /* The same without the velocity that the constraint gives: y = q, v without v[dropped]. */
    int dropped;
    double (*given)(const double *q, const double *v); /* v[dropped] out of the others */
    void (*reduced)(const double *y, double *dy);
    void (*rate)(const double *y, double *dy);
    double q[PEER_SIZE], v[PEER_SIZE]; /* the start */
} peer_problem;

/* Solves to T; false when the solver gives up. */
typedef struct peer {
    const char *label;
    bool (*solve)(const peer_problem *problem, double tolerance, double *q, double *v);
} peer;

extern const peer nh_peer_ida, nh_peer_cvode_adams, nh_peer_cvode_projected; /* peer_sundials.c */
extern const peer nh_peer_gsl;                                               /* peer_gsl.c */

/* y' of the equations with the multiplier eliminated; y = q, v. */
void peer_eliminated(const peer_problem *problem, const double *y, double *dy);
double peer_multiplier(const peer_problem *problem, const double *q, const double *v,
                       const double *A, const double *g);

/* peer_problems.c */
enum { PEER_PROBLEMS = 2 };
extern const peer_problem peer_problems[PEER_PROBLEMS];

#endif
