/* Linear-quadratic regulation of x+ = A x + B u: the gain K of u = -K x that minimises the sum of
 * x^T Q x + u^T R u, by the stabilising solution P of Riccati's equation. */
#ifndef NH_ANALYSIS_RICCATI_H
#define NH_ANALYSIS_RICCATI_H

#include <nonholo.h>

typedef struct nh_riccati {
    int n, inputs;
    double *K, *P; /* [inputs][n], [n][n] */
    int *left_out; /* [omitted]: states that no input moves and that neither grow nor decay */
    int omitted;
} nh_riccati;

/* NH_NOT_CONVERGED if the inputs cannot stabilise the system, with the number of a state that they
 * do not move enough in `culprit`, or -1. nh_riccati_free in either case. */
nh_status nh_riccati_solve(nh_riccati *out, int n, int inputs, const double *A, const double *B,
                           const double *Q, const double *R, int *culprit, nh_report *report);
void nh_riccati_free(nh_riccati *r);

#endif
