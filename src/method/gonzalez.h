/* Shared by the methods with Gonzalez's discrete gradient.
 *
 *     DH(z0, z1) = gradH(zm) + kappa dz,   kappa = (H(z1) - H(z0) - gradH(zm).dz) / |dz|^2
 *
 * satisfies DH.dz = H(z1) - H(z0), which is why they preserve the energy. The numerator is of third
 * order in dz and remains after energies cancel: evaluated as written, it adds noise of size eps
 * |H| / |dz| to the gradient, which is unbounded where the motion is slow. The same numerator is
 * the mean of (gradH - gradH(zm)).dz over the segment, which also cancels, but leaves no more than
 * eps |gradH| after the division. So short segments use the mean, with enough Gauss nodes to be
 * exact to round-off on any segment shorter than the lengths on which H varies (the error is 2e-16
 * |dz|^13 times the 13th derivative), and only long ones use the difference. */
#ifndef NH_METHOD_GONZALEZ_H
#define NH_METHOD_GONZALEZ_H

#include "kernel/kernel.h"

/* Below |dz| = 0.01 the mean is taken. Above, the noise of the difference is 100 eps |H| at most.
 */
#define SHORT_SQUARED 1e-4

enum { MEAN_NODES = 6, ITERATIONS_MAX = 50 };
#define MEAN_C (TABLE)
#define MEAN_B (TABLE + MEAN_NODES)

/* The error that the last iteration leaves has the same sign in every step, so that it accumulates
 * in the energy: these methods iterate until it is this much smaller than the round-off of one
 * step. */
#define STRICT 0.03125

/* Avoids division by zero where nothing moves: the numerator vanishes there as well. */
static inline real kappa_of(real numerator, real square)
{
    const real least = broadcast(1e-290);
    return numerator / select_(less(square, least), least, square);
}

static inline real dot(const kernel *k, const real *a, const real *b, int count)
{
    (void)k;
    real sum = broadcast(0);
    EACH(i, count) sum = fma_(a[i], b[i], sum);
    return sum;
}

#ifdef NH_DESCRIBE
#include "base/quadrature.h"

static size_t mean_table_size(const double *option)
{
    (void)option;
    return 2 * MEAN_NODES;
}

static void mean_table(const double *option, double *table)
{
    (void)option;
    nh_gauss_nodes(MEAN_NODES, table, table + MEAN_NODES);
}
#endif

#endif
