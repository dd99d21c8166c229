/* Newton's method on a Jacobian by differences: for steps that fixed-point iteration does not
 * solve.
 *
 * Only the careful kernels (one lane, built into the library) have it: fast ones give such a step
 * back, and the run hands it to a careful one. Needs no derivatives from the system, so it serves
 * every method and every kind of system. */
#ifndef NH_KERNEL_NEWTON_H
#define NH_KERNEL_NEWTON_H

#include "kernel/kernel.h"

#if LANES == 1 && !defined(NH_EMITTED)
#define NH_CAREFUL 1

#include <math.h>

#include "base/dense.h"

enum { NEWTON_UNKNOWNS_MAX = 1000, NEWTON_ITERATIONS_MAX = 25 };

typedef int newton_residual(kernel *k, const double *x, double *r, double *work);

/* Doubles of workspace that newton_solve needs for d unknowns (0 when there are too many). */
static inline size_t newton_scratch(size_t d)
{
    return d <= NEWTON_UNKNOWNS_MAX ? d * d + 4 * d + 8 : 0;
}

static inline int newton_jacobian(kernel *k, newton_residual *residual, int d, double *x,
                                  const double *r, double *J, double *r_moved, double *work)
{
    const double least = 1e-3 * fmax(largest(k, x, d), 1); /* what is moved less might not show */
    for (int j = 0; j < d; j++) {
        double keep = x[j], dx = 0x1p-26 * fmax(fabs(keep), least);
        x[j] = keep + dx;
        dx = x[j] - keep;
        int status = residual(k, x, r_moved, work);
        x[j] = keep;
        if (status)
            return status;
        for (int i = 0; i < d; i++)
            J[i * d + j] = (r_moved[i] - r[i]) / dx;
    }
    return NH_KERNEL_OK;
}

/* Solves residual(x) = 0 for d unknowns, from x on. `space` holds newton_scratch(d) doubles. */
static inline int newton_solve(kernel *k, newton_residual *residual, int d, double *x,
                               double *space, double *work)
{
    double *J = space, *r = J + d * d, *r_moved = r + d;
    int *pivot = (int *)(r_moved + d);
    convergence c = convergence_of_velocities(k);
    if (d > NEWTON_UNKNOWNS_MAX)
        return NH_KERNEL_NOT_CONVERGED;
    while (c.iteration < NEWTON_ITERATIONS_MAX) {
        int status = residual(k, x, r, work);
        /* The first iterations renew the Jacobian; the last ones, which only polish, keep it as
         * long as that goes fast. */
        if (!status && (c.iteration < 8 || c.rate > 0.1)) {
            status = newton_jacobian(k, residual, d, x, r, J, r_moved, work);
            if (!status && !nh_dense_factor(d, J, pivot))
                return not_converged(k, &c);
        }
        if (status)
            return status;
        nh_dense_solve(d, J, pivot, r);
        for (int i = 0; i < d; i++)
            x[i] -= r[i];
        double change = largest(k, r, d), scale = largest(k, x, d);
        if (!isfinite(change))
            return not_converged(k, &c);
        convergence_update(&c, change, scale);
        if (!c.active)
            return NH_KERNEL_OK;
    }
    return not_converged(k, &c);
}

#endif

/* What follows where an iteration has failed: Newton's method where there is one. */
#ifdef NH_CAREFUL
#define BY_NEWTON(solution, failed) (solution)
#else
#define BY_NEWTON(solution, failed) not_converged(k, failed)
#endif

#endif
