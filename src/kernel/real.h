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

/* A number that all lanes share, such as the time or the length of a step. */
typedef double scalar;
#define SAME(x) LANE(x, 0) /* a `real` that is the same in all lanes */

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

/* Combine two conditions. For one lane the second is not evaluated if the first decides. */
#define BOTH(a, b) ((a) && (b) ? -1LL : 0)
#define EITHER(a, b) ((a) || (b) ? -1LL : 0)

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

/* Four lanes are one AVX register, eight one of AVX-512; instructions are named explicitly where
 * the compiler would not find them by itself. */
#if defined(__AVX__) && LANES == 4
#define NH_QUAD 1
#elif defined(__AVX512F__) && LANES == 8
#define NH_OCTET 1
#define NH_AS_IT_IS 4 /* rounding: as the thread does */
#ifdef __clang__      /* which has other names for some instructions */
#define NH_TEST512(m) __builtin_reduce_or(m)
#define NH_SQRT512(x) __builtin_ia32_sqrtpd512(x, NH_AS_IT_IS)
#define NH_MAX512(a, b) __builtin_ia32_maxpd512(a, b, NH_AS_IT_IS)
#else
#define NH_TEST512(m) __builtin_ia32_ptestmq512(m, m, -1)
#define NH_SQRT512(x) __builtin_ia32_sqrtpd512_mask(x, x, -1, NH_AS_IT_IS)
#define NH_MAX512(a, b) __builtin_ia32_maxpd512_mask(a, b, a, -1, NH_AS_IT_IS)
#endif
#endif

static inline real broadcast(double x)
{
#ifdef NH_QUAD
    return (real){x, x, x, x};
#elif defined(NH_OCTET)
    return (real){x, x, x, x, x, x, x, x};
#else
    return x - (real){0};
#endif
}

static inline real fma_(real a, real b, real c)
{
#if NH_HAS_FMA && defined(NH_QUAD)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif NH_HAS_FMA && defined(NH_OCTET)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, NH_AS_IT_IS);
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
#elif defined(NH_OCTET)
    return NH_TEST512(m) != 0;
#else
    long long sum = 0;
    for (int l = 0; l < LANES; l++)
        sum |= m[l];
    return sum != 0;
#endif
}

#define BOTH(a, b) ((a) & (b))
#define EITHER(a, b) ((a) | (b))

static inline int all_less(real a, real b)
{
#ifdef NH_QUAD
    return __builtin_ia32_movmskpd256((real)less(a, b)) == 15;
#elif defined(NH_OCTET)
    return __builtin_ia32_cmppd512_mask(a, b, 1, -1, NH_AS_IT_IS) == 255;
#else
    return !any(~less(a, b));
#endif
}

static inline real sqrt_(real x)
{
#ifdef NH_QUAD
    return __builtin_ia32_sqrtpd256(x);
#elif defined(NH_OCTET)
    return NH_SQRT512(x);
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

/* Where kernels compute with derivatives (dual.h): the same number without them; and true, because
 * what is round-off in the values has derivatives all the same. */
#define frozen_(x) (x)
#define has_moves_() less(broadcast(0), broadcast(0))

/* b where a < b, else a (also where either is not a number). */
static inline real max_(real a, real b)
{
#if LANES > 1 && defined(NH_QUAD)
    return __builtin_ia32_maxpd256(b, a);
#elif LANES > 1 && defined(NH_OCTET)
    return NH_MAX512(b, a);
#else
    return select_(less(a, b), b, a);
#endif
}

/* A function of the C library, lane by lane; NH_UNIFORM_VALUES: all lanes hold the same number wherever
 * one is called. */
#ifdef NH_UNIFORM_VALUES
#define LANEWISE1(function, x) broadcast(function(LANE(x, 0)))
#define LANEWISE2(function, x, y) broadcast(function(LANE(x, 0), LANE(y, 0)))
#else
#define LANEWISE1(function, x)                                                                     \
    ({                                                                                             \
        real lanes_ = (x);                                                                         \
        for (int l_ = 0; l_ < LANES; l_++)                                                         \
            LANE(lanes_, l_) = function(LANE(lanes_, l_));                                         \
        lanes_;                                                                                    \
    })
#define LANEWISE2(function, x, y)                                                                  \
    ({                                                                                             \
        real lanes_ = (x), others_ = (y);                                                          \
        for (int l_ = 0; l_ < LANES; l_++)                                                         \
            LANE(lanes_, l_) = function(LANE(lanes_, l_), LANE(others_, l_));                      \
        lanes_;                                                                                    \
    })
#endif

#endif
