/* The passengers of a coupled system over one period of their driver, by Floquet's theory.
 *
 * u' = S(xi) u (latitude.c) rotates u; after a period, by R. For each eigenvalue e^(i angle) of R
 * there is a solution c(t) = e^(i angle t/T) (periodic in t), a mode; of two conjugate ones, that
 * with the positive angle stands for both. |c| = 1 at all times, and modes are orthogonal. They are
 * given at nodes that are equally spaced in the driver's phase. */
#ifndef NH_ANALYSIS_FLOQUET_H
#define NH_ANALYSIS_FLOQUET_H

#include <complex.h>

#include "analysis/latitude.h"

enum { NH_FLOQUET_NODES = 1024, NH_MODES_MAX = NH_PASSENGERS_MAX + 1 };

typedef struct nh_floquet {
    nh_latitude motion;
    int d, modes; /* d: passengers + 1 */
    double period;
    double angle[NH_MODES_MAX];  /* 0 to pi */
    bool pair[NH_MODES_MAX];     /* stands for two */
    double square[NH_MODES_MAX]; /* of the start's part in it (in both of them): sum |u|^2 */
    double xi[NH_FLOQUET_NODES], speed[NH_FLOQUET_NODES], rate[NH_FLOQUET_NODES]; /* rate: psi' */
    double complex *mode; /* [modes][nodes][d] */
} nh_floquet;

nh_status nh_floquet_find(nh_floquet *out, const nh_system *system, const double *q,
                          const double *v, nh_report *report);
void nh_floquet_free(nh_floquet *floquet); /* what it has allocated; also after a failure */

/* Replaces the values s[nodes] of a function of time by its derivatives. The function is
 * e^(i angle t/T) times a periodic one. */
void nh_floquet_derive(const nh_floquet *floquet, double angle, double complex *s);

/* The mean in time over a period of the values s[nodes] of a periodic function. */
double nh_floquet_mean(const nh_floquet *floquet, const double *s);

#endif
