/* Sine and cosine inline, over lanes, with the same bits for one lane and many; also part of every
 * emitted kernel. Errors are about 1 unit in the last place, 2.5 at worst (beside the zeros).
 *
 * sin_ and cos_ alone reduce by pi to [-pi/2, pi/2] and need one polynomial and a sign. sincos_
 * reduces by pi/2 to [-pi/4, pi/4], evaluates two shorter ones and assigns them by quadrant. The
 * period is subtracted in three parts, the first two short enough that their multiples are exact;
 * beyond |x| = TRIG_WIDE they are not, and the C library is called. The coefficients are minimax
 * fits to (sin r/r - 1)/r^2 and (cos r - 1 + r^2/2)/r^4, with relative errors of 3e-19 on the wide
 * interval, 4e-18 and 6e-20 on the narrow one. */
#ifndef NH_KERNEL_TRIG_H
#define NH_KERNEL_TRIG_H

#include "kernel/real.h"

#define TRIG_WIDE 400000.0
#define TRIG_SIGN (-0x7fffffffffffffffLL - 1) /* the bit of the sign */
#define TRIG_ROUND                                                                                 \
    0x1.8p52 /* adding and subtracting it rounds to an integer, kept in the low bits */

static inline mask trig_bits(real x)
{
#if LANES == 1
    union {
        double d;
        long long i;
    } u = {x};
    return u.i;
#else
    return (mask)x;
#endif
}

/* Lane-wise x << by; signed shifts out of range are undefined for one lane. */
static inline mask trig_shift(mask x, int by)
{
#if LANES == 1
    return (mask)((unsigned long long)x << by);
#else
    return x << by;
#endif
}

static inline real trig_flip(real x, mask sign)
{
#if LANES == 1
    union {
        double d;
        long long i;
    } u = {x};
    u.i ^= sign;
    return u.d;
#else
    return (real)((mask)x ^ sign);
#endif
}

static inline int trig_is_wide(real x)
{
    return !all_less(abs_(x), broadcast(TRIG_WIDE)); /* true for not-a-numbers too */
}

/* sin r for |r| <= pi/2 */
static inline real trig_sin_half(real r)
{
    real z = r * r, z2 = z * z, z4 = z2 * z2;
    real a = fma_(broadcast(0x1.11111111110c1p-7), z, broadcast(-0x1.5555555555555p-3));
    real b = fma_(broadcast(0x1.71de3a5287080p-19), z, broadcast(-0x1.a01a01a0148a1p-13));
    real c = fma_(broadcast(0x1.6123cb11cadeep-33), z, broadcast(-0x1.ae6454cafd380p-26));
    real d = fma_(broadcast(0x1.8828f89095ba0p-49), z, broadcast(-0x1.ae431768fa963p-41));
    real low = fma_(b, z2, a), high = fma_(d, z2, c);
    return fma_(fma_(high, z4, low), z * r, r);
}

/* x - k pi */
static inline real trig_less_pi(real x, real k)
{
    x = fma_(k, broadcast(-0x1.921fb544p+1), x);
    x = fma_(k, broadcast(-0x1.0b4611a6p-33), x);
    return fma_(k, broadcast(-0x1.3198a2e037073p-68), x);
}

/* sin x, cos x and both, unless x is wide */
static inline real trig_narrow_sin(real x)
{
    real shifted = fma_(x, broadcast(0x1.45f306dc9c883p-2), broadcast(TRIG_ROUND));
    real k = shifted - TRIG_ROUND;
    return trig_flip(trig_sin_half(trig_less_pi(x, k)), trig_shift(trig_bits(shifted), 63));
}

/* cos x = -sin(x - (k + 1/2) pi) for even k, + for odd k */
static inline real trig_narrow_cos(real x)
{
    real shifted = fma_(x, broadcast(0x1.45f306dc9c883p-2), broadcast(-0.5)) + TRIG_ROUND;
    real k = (shifted - TRIG_ROUND) + 0.5;
    return trig_flip(trig_sin_half(trig_less_pi(x, k)), trig_shift(~trig_bits(shifted), 63));
}

static inline void trig_narrow_sincos(real x, real *sine, real *cosine)
{
    real shifted = fma_(x, broadcast(0x1.45f306dc9c883p-1), broadcast(TRIG_ROUND));
    real k = shifted - TRIG_ROUND;
    real r = fma_(k, broadcast(-0x1.921fb544p+0), x);
    r = fma_(k, broadcast(-0x1.0b4611a6p-34), r);
    r = fma_(k, broadcast(-0x1.3198a2e037073p-69), r);
    real z = r * r, z2 = z * z;
    real s0 = fma_(broadcast(0x1.111111110f7cap-7), z, broadcast(-0x1.5555555555548p-3));
    real s1 = fma_(broadcast(0x1.71de356712504p-19), z, broadcast(-0x1.a01a019bfd185p-13));
    real s2 = fma_(broadcast(0x1.5d8fa30a339cap-33), z, broadcast(-0x1.ae5e59f5664f0p-26));
    real c0 = fma_(broadcast(-0x1.6c16c16c14f8ap-10), z, broadcast(0x1.555555555554bp-5));
    real c1 = fma_(broadcast(-0x1.27e4f7ea3767fp-22), z, broadcast(0x1.a01a019c8390dp-16));
    real c2 = fma_(broadcast(-0x1.8fa465d517fccp-37), z, broadcast(0x1.1ee9d752684ffp-29));
    real s = fma_(fma_(fma_(s2, z2, s1), z2, s0), z * r, r);
    real c = fma_(fma_(fma_(c2, z2, c1), z2, c0), z2, fma_(z, broadcast(-0.5), broadcast(1)));
    mask bits = trig_bits(shifted), odd = -(bits & 1);
    *sine = trig_flip(select_(odd, c, s), trig_shift(bits, 62) & TRIG_SIGN);
    *cosine = trig_flip(select_(odd, s, c), trig_shift(bits + 1, 62) & TRIG_SIGN);
}

/* Wide lanes are computed by the C library; the others get the same bits as without such
 * neighbours. */
#if LANES == 1
#define TRIG_WIDE_LANES(function, x, narrow) function(x)
#else
#define TRIG_WIDE_LANES(function, x, narrow)                                                       \
    ({                                                                                             \
        real lanes_ = (narrow);                                                                    \
        for (int l_ = 0; l_ < LANES; l_++)                                                         \
            if (!(__builtin_fabs(LANE(x, l_)) < TRIG_WIDE))                                        \
                LANE(lanes_, l_) = function(LANE(x, l_));                                          \
        lanes_;                                                                                    \
    })
#endif

static inline real trig_wide_sin(real x)
{
    return TRIG_WIDE_LANES(__builtin_sin, x, trig_narrow_sin(x));
}

static inline real trig_wide_cos(real x)
{
    return TRIG_WIDE_LANES(__builtin_cos, x, trig_narrow_cos(x));
}

static inline real sin_(real x)
{
    if (__builtin_expect(trig_is_wide(x), 0))
        return trig_wide_sin(x);
    return trig_narrow_sin(x);
}

static inline real cos_(real x)
{
    if (__builtin_expect(trig_is_wide(x), 0))
        return trig_wide_cos(x);
    return trig_narrow_cos(x);
}

static inline void sincos_(real x, real *sine, real *cosine)
{
    if (__builtin_expect(trig_is_wide(x), 0)) {
        real s = broadcast(0), c = broadcast(0);
        trig_narrow_sincos(x, &s, &c);
        *sine = TRIG_WIDE_LANES(__builtin_sin, x, s);
        *cosine = TRIG_WIDE_LANES(__builtin_cos, x, c);
        return;
    }
    trig_narrow_sincos(x, sine, cosine);
}

#endif
