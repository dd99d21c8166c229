 *
 * The bits are those of 'nonholo run' on the machine that exported this, whatever the options of
 * the compiler (except those that change what floating-point arithmetic means, as -ffast-math
 * does). It is fastest with -O3 -DNONHOLO_UNROLL and, on x86,
 * -mavx2 -mfma. Compiled with -DNONHOLO_MAIN it is a
 * program that takes a number of steps and prints t, q and v. */
#include "PREFIX.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Products and sums are fused only where fma() is called. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && (defined(__FP_FAST_FMA) || defined(__FP_FAST_FMAF))
#if !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif
/* gcc 12 fuses them nevertheless where it computes two of them side by side. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#if defined(__GNUC__)
#define expect(condition, usual) __builtin_expect((condition), (usual))
/* The same form of functions serves many models, some of which do not need every argument. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#if defined(__clang__) /* which also warns about inline functions */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#else
#define expect(condition, usual) (condition)
#endif
/* gcc warns about loops that it cannot unroll. */
#ifdef NONHOLO_UNROLL
#define UNROLL(how) _Pragma(how)
#else
#define UNROLL(how)
#endif
/* For processors without fused operations: the bits of NONHOLO_LEVEL=basic. */
#ifdef NONHOLO_UNFUSED
#define multiply_add(a, b, c) ((a) * (b) + (c))
#else
#define multiply_add(a, b, c) @fma@(a, b, c)
#endif
#define inf() ((double)INFINITY)
