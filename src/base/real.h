/* `real`: one number, or LANES numbers side by side.
 *
 * Kernels and the tape's interpreter are written over `real` and compiled for one lane and for
 * several; every operation here gives each lane the bits that one lane alone would get. That is why
 * the compiler may not contract multiplications and additions, and why fused ones are written out:
 * where the target has them, fma_ rounds once, elsewhere twice, but always the same way for one
 * lane and for many. This header is also part of every emitted kernel, so it includes nothing. */
#ifndef NH_BASE_REAL_H
#define NH_BASE_REAL_H

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

/* The compiler splits wide vectors into machine vectors for arithmetic, but takes comparisons,
 * built-in functions and broadcasts apart lane by lane. So those are written over quads, which AVX
 * has. */
#if defined(__AVX__) && LANES % 4 == 0
#define NH_QUADS 1
typedef double nh_quad __attribute__((vector_size(32), may_alias));
typedef long long nh_quad_mask __attribute__((vector_size(32), may_alias));
typedef union nh_quads {
    real whole;
    mask whole_mask;
    nh_quad part[LANES / 4];
    nh_quad_mask part_mask[LANES / 4];
} nh_quads;
#define EACH_QUAD(l) _Pragma("GCC unroll 4") for (int l = 0; l < LANES / 4; l++)
#endif

static inline real broadcast(double x)
{
#ifdef NH_QUADS
    nh_quads r;
    EACH_QUAD(l) r.part[l] = (nh_quad){x, x, x, x};
    return r.whole;
#else
    return x - (real){0};
#endif
}

static inline real fma_(real a, real b, real c)
{
#if NH_HAS_FMA && defined(NH_QUADS)
    nh_quads x = {a}, y = {b}, z = {c}, r;
    EACH_QUAD(l) r.part[l] = __builtin_ia32_vfmaddpd256(x.part[l], y.part[l], z.part[l]);
    return r.whole;
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
#ifdef NH_QUADS
    nh_quads x = {a}, y = {b}, r;
    EACH_QUAD(l) r.part_mask[l] = x.part[l] < y.part[l];
    return r.whole_mask;
#else
    return a < b;
#endif
}

static inline real select_(mask m, real a, real b)
{
    return (real)(((mask)a & m) | ((mask)b & ~m));
}

static inline int any(mask m)
{
#ifdef NH_QUADS
    nh_quads x = {.whole_mask = m};
    nh_quad_mask some = x.part_mask[0];
    for (int l = 1; l < LANES / 4; l++)
        some |= x.part_mask[l];
    return !__builtin_ia32_ptestz256(some, some);
#else
    long long sum = 0;
    for (int l = 0; l < LANES; l++)
        sum |= m[l];
    return sum != 0;
#endif
}

static inline real sqrt_(real x)
{
#ifdef NH_QUADS
    nh_quads y = {x}, r;
    EACH_QUAD(l) r.part[l] = __builtin_ia32_sqrtpd256(y.part[l]);
    return r.whole;
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

static inline real max_(real a, real b)
{
    return select_(less(a, b), b, a);
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
