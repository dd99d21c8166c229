/* What every `real` with derivatives does alike (dual.h, recording.h), and how functions are
 * differentiated. Before this file is included, `real` has its arithmetic with others of its kind;
 * along(value, rate, a), a value whose derivatives are `rate` times those of a, and the same for
 * two arguments; arithmetic with plain numbers, scaled_(a, by), divided_(a, by), shifted_(a, by);
 * still_(a) with the value 0; moves_(a), whether a has derivatives; and looked_at_(a), which is
 * told that something is decided by its value. */
#ifndef NH_KERNEL_RULES_H
#define NH_KERNEL_RULES_H

/* ---- arithmetic with plain numbers, which have no derivatives ---- */

#define NH_WITH_NUMBERS(number)                                                                    \
    static inline real operator*(real a, number b)                                                 \
    {                                                                                              \
        return scaled_(a, (double)b);                                                              \
    }                                                                                              \
    static inline real operator*(number a, real b)                                                 \
    {                                                                                              \
        return b * a;                                                                              \
    }                                                                                              \
    static inline real operator/(real a, number b)                                                 \
    {                                                                                              \
        return divided_(a, (double)b);                                                             \
    }                                                                                              \
    static inline real operator/(number a, real b)                                                 \
    {                                                                                              \
        return real((double)a) / b;                                                                \
    }                                                                                              \
    static inline real operator+(real a, number b)                                                 \
    {                                                                                              \
        return shifted_(a, (double)b);                                                             \
    }                                                                                              \
    static inline real operator+(number a, real b)                                                 \
    {                                                                                              \
        return b + a;                                                                              \
    }                                                                                              \
    static inline real operator-(real a, number b)                                                 \
    {                                                                                              \
        return shifted_(a, -(double)b);                                                            \
    }                                                                                              \
    static inline real operator-(number a, real b)                                                 \
    {                                                                                              \
        return -b + a;                                                                             \
    }
NH_WITH_NUMBERS(double)
NH_WITH_NUMBERS(int)
#undef NH_WITH_NUMBERS

static inline real &operator+=(real &a, real b)
{
    return a = a + b;
}

static inline real &operator-=(real &a, real b)
{
    return a = a - b;
}

static inline real broadcast(double x)
{
    return real(x);
}

static inline real broadcast(real x)
{
    return x;
}

/* ---- choices, which look at values only ---- */

static inline mask less(real a, real b)
{
    looked_at_(a), looked_at_(b);
    return plain::less(LANE(a, 0), LANE(b, 0));
}

static inline int all_less(real a, real b)
{
    looked_at_(a), looked_at_(b);
    return LANE(a, 0) < LANE(b, 0);
}

static inline real select_(mask m, real a, real b)
{
    return m ? a : b;
}

static inline int any(mask m)
{
    return m != 0;
}

static inline real abs_(real a)
{
    looked_at_(a);
    return LANE(a, 0) < 0 ? -a : a;
}

/* The same number without derivatives. */
static inline real frozen_(real a)
{
    looked_at_(a);
    return real(LANE(a, 0));
}

/* For rough functions of step lengths (rough.h), which are frozen. */
static inline mask trig_bits(real a)
{
    looked_at_(a);
    return plain::trig_bits(LANE(a, 0));
}

static inline real trig_flip(real a, mask sign)
{
    return real(plain::trig_flip(LANE(a, 0), sign));
}

/* ---- functions ---- */

/* At 0 the derivative does not exist: a root of zero stands still. */
static inline real sqrt_(real a)
{
    const double root = __builtin_sqrt(LANE(a, 0));
    return along(root, root > 0 ? 0.5 / root : 0, a);
}

static inline real sin_(real a)
{
    return along(plain::sin_(LANE(a, 0)), plain::cos_(LANE(a, 0)), a);
}

static inline real cos_(real a)
{
    return along(plain::cos_(LANE(a, 0)), -plain::sin_(LANE(a, 0)), a);
}

static inline void sincos_(real a, real *sine, real *cosine)
{
    double s, c;
    plain::sincos_(LANE(a, 0), &s, &c);
    *sine = along(s, c, a);
    *cosine = along(c, -s, a);
}

#define NH_RULE(name, rate)                                                                        \
    static inline real along_##name(real a)                                                        \
    {                                                                                              \
        const double x = LANE(a, 0), y = name(x);                                                  \
        (void)y;                                                                                   \
        return along(y, rate, a);                                                                  \
    }
NH_RULE(__builtin_tan, 1 + y * y)
NH_RULE(__builtin_asin, 1 / __builtin_sqrt((1 - x) * (1 + x)))
NH_RULE(__builtin_acos, -1 / __builtin_sqrt((1 - x) * (1 + x)))
NH_RULE(__builtin_atan, 1 / (1 + x * x))
NH_RULE(__builtin_sinh, __builtin_cosh(x))
NH_RULE(__builtin_cosh, __builtin_sinh(x))
NH_RULE(__builtin_tanh, (1 - y) * (1 + y))
NH_RULE(__builtin_exp, y)
NH_RULE(__builtin_log, 1 / x)
#undef NH_RULE

static inline real along___builtin_atan2(real a, real b)
{
    const double y = LANE(a, 0), x = LANE(b, 0), square = x * x + y * y;
    return along(__builtin_atan2(y, x), x / square, a, -y / square, b);
}

/* Where the exponent does not move, its derivative, which needs the logarithm of the base, is left
 * out: the base may be negative. */
static inline real along___builtin_pow(real a, real b)
{
    const double x = LANE(a, 0), y = LANE(b, 0), value = __builtin_pow(x, y);
    const double by_base = y == 0 ? 0 : y * __builtin_pow(x, y - 1);
    return x != 0 && moves_(b) ? along(value, by_base, a, value * __builtin_log(x), b)
                               : along(value, by_base, a);
}

#define LANEWISE1(function, a) along_##function(a)
#define LANEWISE2(function, a, b) along_##function(a, b)

#endif
