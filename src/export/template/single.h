typedef PREFIX_real real;
typedef int mask; /* 0 or -1 */
#define BOTH(a, b) ((a) && (b) ? -1 : 0)
#define EITHER(a, b) ((a) || (b) ? -1 : 0)

/* The size of round-off, and of values near it. */
#define ROUND_OFF 0x1p-23
#define STALLED 1e-3
#define NEWTON_NEAR 1e-2
#define NEWTON_NOISE 1e-3
#define NEWTON_SHIFT 0x1p-11

static inline real sin_(real x)
{
    return sin(x);
}

static inline real cos_(real x)
{
    return cos(x);
}

static inline void sincos_(real x, real *sine, real *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}

/* 2 pi in two parts; multiples of the first are exact. */
#define TWO_PI_HIGH 0x1.920p+2
#define TWO_PI_LOW 0x1.fb54442d18000p-10

static inline void wrap_angle(real *q, real *low, real *revolutions, int compensated)
{
    const real full = fabs(*q) > 3.5 ? rint(*q / (TWO_PI_HIGH + TWO_PI_LOW)) : 0.0;
    const real high = *q - full * TWO_PI_HIGH;
    const real rest = (compensated ? *low : 0.0) - full * TWO_PI_LOW;
    *q = high + rest;
    *low = rest - (*q - high);
    *revolutions = *revolutions + full;
}
