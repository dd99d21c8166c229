/* The fifth way to compile kernels and the interpreter: over numbers of quadruple precision
 * (base/precise.h). This header is included before everything else in such a unit, whose whole text
 * then means these numbers where it says `double`: states, steps, tables of coefficients and the
 * structures that hold them. So the units call only each other; method/precise_step.c is their
 * way out.
 *
 * A number in the text is still a double. Those that are no sums of powers of two are written with
 * NH_DECIMAL where all their digits matter. */
#ifndef NH_KERNEL_QUADRUPLE_H
#define NH_KERNEL_QUADRUPLE_H

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/precise.h"

#define NH_PRECISE 1
#define LANES 1
#define NH_DESCRIBE 1 /* for the tables of methods */

/* What of these libraries the sources use. */
#define fabs nh_precise_abs
#define __builtin_fabs nh_precise_abs
#define sqrt nh_quadmath.sqrtq
#define pow nh_quadmath.powq
#define __builtin_sqrt nh_quadmath.sqrtq
#define __builtin_sin nh_quadmath.sinq
#define __builtin_cos nh_quadmath.cosq
#define __builtin_tan nh_quadmath.tanq
#define __builtin_asin nh_quadmath.asinq
#define __builtin_acos nh_quadmath.acosq
#define __builtin_atan nh_quadmath.atanq
#define __builtin_sinh nh_quadmath.sinhq
#define __builtin_cosh nh_quadmath.coshq
#define __builtin_tanh nh_quadmath.tanhq
#define __builtin_exp nh_quadmath.expq
#define __builtin_log nh_quadmath.logq
#define __builtin_atan2 nh_quadmath.atan2q
#define __builtin_pow nh_quadmath.powq

static inline nh_precise nh_precise_max(nh_precise a, nh_precise b)
{
    return a > b || b != b ? a : b;
}

static inline nh_precise nh_precise_min(nh_precise a, nh_precise b)
{
    return a < b || b != b ? a : b;
}
#define fmax nh_precise_max
#define fmin nh_precise_min

/* They replace those of doubles (kernel/trig.h, kernel/rough.h). */
#define NH_KERNEL_TRIG_H
#define NH_KERNEL_ROUGH_H
#define TRIG_ROUND 0x1.8p112
#define sin_ nh_quadmath.sinq
#define cos_ nh_quadmath.cosq
#define sincos_ nh_quadmath.sincosq

static inline nh_precise rough_log2(nh_precise x)
{
    return log2((double)x);
}

static inline nh_precise rough_exp2(nh_precise x)
{
    return exp2((double)x);
}

/* Round-off, and what is judged by it. */
#define ROUND_OFF NH_PRECISE_UNIT
#define STALLED 1e-22
#define NEWTON_NEAR 1e-5
#define NEWTON_NOISE 1e-20
#define NEWTON_SHIFT 0x1p-56

/* Names of what is compiled twice. */
#define nh_dense_factor nh_precise_dense_factor
#define nh_dense_solve nh_precise_dense_solve
#define nh_dense_cholesky nh_precise_dense_cholesky
#define nh_dense_cholesky_solve nh_precise_dense_cholesky_solve
#define nh_gauss_nodes nh_precise_gauss_nodes
#define nh_lobatto_nodes nh_precise_lobatto_nodes
#define nh_legendre nh_precise_legendre
#define nh_collocation nh_precise_collocation
#define nh_lagrange_integrals nh_precise_lagrange_integrals
#define nh_gauss_table nh_precise_gauss_table
#define nh_lobatto_table nh_precise_lobatto_table
#define nh_lagrange nh_precise_lagrange

#define NH_METHOD(symbol) const nh_method nh_precise_method_##symbol
#define NH_DECIMAL(x) x##Q

#define double nh_precise

#endif
