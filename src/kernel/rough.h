/* Logarithms and powers of two, accurate enough to choose a step size: the errors are 1.3e-5 and,
 * relatively, 2.7e-6. Unlike those of the C library they are the same everywhere, and short. */
#ifndef NH_KERNEL_ROUGH_H
#define NH_KERNEL_ROUGH_H

#include "kernel/trig.h"

#define ROUGH_BIAS 1023

static inline real rough_bits(mask bits)
{
    return trig_flip(broadcast(0), bits);
}

/* log2 x for x > 0: that of 1 + t with 0 <= t < 1, and the exponent. */
static inline real rough_log2(real x)
{
    const mask bits = trig_bits(x);
    const real t = rough_bits((bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL) - 1.0, t2 = t * t;
    const real exponent = rough_bits((bits >> 52) | 0x4330000000000000LL) - (0x1p52 + ROUGH_BIAS);
    const real a = fma_(t, broadcast(1.44168456), broadcast(1.25387446e-5));
    const real b = fma_(t, broadcast(0.413630120), broadcast(-0.707992651));
    const real c = fma_(t, broadcast(0.0448736103), broadcast(-0.192195636));
    return fma_(fma_(c, t2, b), t2, a) + exponent;
}

/* 2^x for -1022 < x < 1023 */
static inline real rough_exp2(real x)
{
    const real shifted = x + TRIG_ROUND, t = x - (shifted - TRIG_ROUND), t2 = t * t;
    const real scale = rough_bits(trig_shift(trig_bits(shifted + ROUGH_BIAS), 52));
    const real a = fma_(t, broadcast(0.69312104), broadcast(1.00000015));
    const real b = fma_(t, broadcast(0.05592203), broadcast(0.24021865));
    return fma_(fma_(broadcast(0.00968571), t2, b), t2, a) * scale;
}

#endif
