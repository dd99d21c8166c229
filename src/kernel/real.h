/* `real`: one number, or LANES numbers side by side.
 *
 * Kernels and the tape's interpreter are written over `real` and compiled for one lane and for
 * several; every operation here gives each lane the bits that one lane alone would get. That is why
 * the compiler may not contract multiplications and additions, and why fused ones are written out:
 * where the target has them, fma_ rounds once, elsewhere twice, but always the same way for one
 * lane and for many. This header is also part of every emitted kernel, so it includes nothing. */
#ifndef NH_KERNEL_REAL_H
#define NH_KERNEL_REAL_H

#ifndef LANES
#define LANES 1
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define NH_HAS_FMA 1
#else
#define NH_HAS_FMA 0
#endif

#if LANES == 1

typedef double real;
typedef long long mask; /* 0 or -1 */

#define LANE(x, l) (*((void)(l), &(x)))

static inline real broadcast(double x)
{
    return x;
}

static inline real fma_(real a, real b, real c)
{
#if NH_HAS_FMA
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

static inline mask less(real a, real b)
{
    return a < b ? -1 : 0;
}

static inline real select_(mask m, real a, real b)
{
    return m ? a : b;
}

static inline int any(mask m)
{
    return m != 0;
}

/* a < b in every lane. */
static inline int all_less(real a, real b)
{
    return a < b;
}

static inline real sqrt_(real x)
{
    return __builtin_sqrt(x);
}

static inline real abs_(real x)
{
    return __builtin_fabs(x);
}

#else

typedef double real __attribute__((vector_size(LANES * 8)));
typedef long long mask __attribute__((vector_size(LANES * 8)));

#define LANE(x, l) ((x)[l])

/* Four lanes are one AVX register, whose instructions are named where the compiler would not find
 * them by itself. */
#if defined(__AVX__) && LANES == 4
#define NH_QUAD 1
#endif

static inline real broadcast(double x)
{
#ifdef NH_QUAD
    return (real){x, x, x, x};
#else
    return x - (real){0};
#endif
}

static inline real fma_(real a, real b, real c)
{
#if NH_HAS_FMA && defined(NH_QUAD)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif NH_HAS_FMA
    real r;
    for (int l = 0; l < LANES; l++)
        r[l] = __builtin_fma(a[l], b[l], c[l]);
    return r;
#else
    return a * b + c;
#endif
}

static inline mask less(real a, real b)
{
    return a < b;
}

static inline real select_(mask m, real a, real b)
{
#ifdef NH_QUAD
    return __builtin_ia32_blendvpd256(b, a, (real)m);
#else
    return (real)(((mask)a & m) | ((mask)b & ~m));
#endif
}

static inline int any(mask m)
{
#ifdef NH_QUAD
    return !__builtin_ia32_ptestz256(m, m);
#else
    long long sum = 0;
    for (int l = 0; l < LANES; l++)
        sum |= m[l];
    return sum != 0;
#endif
}

static inline int all_less(real a, real b)
{
#ifdef NH_QUAD
    return __builtin_ia32_movmskpd256((real)less(a, b)) == 15;
#else
    return !any(~less(a, b));
#endif
}

static inline real sqrt_(real x)
{
#ifdef NH_QUAD
    return __builtin_ia32_sqrtpd256(x);
#else
    real r;
    for (int l = 0; l < LANES; l++)
        r[l] = __builtin_sqrt(x[l]);
    return r;
#endif
}

static inline real abs_(real x)
{
    return (real)((mask)x & 0x7fffffffffffffffLL);
}

#endif

/* b where a < b, else a (also where either is not a number). */
static inline real max_(real a, real b)
{
#if LANES > 1 && defined(NH_QUAD)
    return __builtin_ia32_maxpd256(b, a);
#else
    return select_(less(a, b), b, a);
#endif
}

/* A function of the C library, lane by lane. */
#define NH_LANEWISE1(name, function)                                                               \
    static inline real name(real x)                                                                \
    {                                                                                              \
        real r = x;                                                                                \
        for (int l = 0; l < LANES; l++)                                                            \
            LANE(r, l) = function(LANE(x, l));                                                     \
        return r;                                                                                  \
    }
#define NH_LANEWISE2(name, function)                                                               \
    static inline real name(real x, real y)                                                        \
    {                                                                                              \
        real r = x;                                                                                \
        for (int l = 0; l < LANES; l++)                                                            \
            LANE(r, l) = function(LANE(x, l), LANE(y, l));                                         \
        return r;                                                                                  \
    }
NH_LANEWISE1(tan_, __builtin_tan)
NH_LANEWISE1(asin_, __builtin_asin)
NH_LANEWISE1(acos_, __builtin_acos)
NH_LANEWISE1(atan_, __builtin_atan)
NH_LANEWISE1(sinh_, __builtin_sinh)
NH_LANEWISE1(cosh_, __builtin_cosh)
NH_LANEWISE1(tanh_, __builtin_tanh)
NH_LANEWISE1(exp_, __builtin_exp)
NH_LANEWISE1(log_, __builtin_log)
NH_LANEWISE2(atan2_, __builtin_atan2)
NH_LANEWISE2(pow_, __builtin_pow)

#endif
