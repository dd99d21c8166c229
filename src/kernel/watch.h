/* Sines whose arguments are checked after the step, for steps without other branches.
 *
 * A sine branches where its argument is wide (trig.h), and compilers schedule only what lies
 * between two branches. A step without branches is one stretch of code, and the steps of several
 * groups of lanes can become a single stretch in which their operations alternate (abreast.h).
 * There a sine assumes that its argument is narrow, and notes the widest; if that turns out to be
 * too wide, the step is discarded and repeated with sines that check their arguments themselves.
 * straight.h decides which steps are computed in this way. */
#ifndef NH_KERNEL_WATCH_H
#define NH_KERNEL_WATCH_H

#include "kernel/straight.h"
#include "kernel/trig.h"

#ifdef NH_ABREAST

/* `widest` is NULL where a sine has to check its argument itself. */
static inline void watch_argument(real *widest, real x)
{
    *widest = max_(*widest, abs_(x)); /* if x is not a number, neither is its sine */
}

static inline real watched_sin(real *widest, real x)
{
    if (!widest)
        return sin_(x);
    watch_argument(widest, x);
    return trig_narrow_sin(x);
}

static inline real watched_cos(real *widest, real x)
{
    if (!widest)
        return cos_(x);
    watch_argument(widest, x);
    return trig_narrow_cos(x);
}

static inline void watched_sincos(real *widest, real x, real *sine, real *cosine)
{
    if (!widest) {
        sincos_(x, sine, cosine);
        return;
    }
    watch_argument(widest, x);
    trig_narrow_sincos(x, sine, cosine);
}

#define WATCHED , real *widest
#define WATCH_OF(k) , (k)->widest
#define UNWATCHED(k) ((k)->widest = 0)
#else
#define WATCHED
#define WATCH_OF(k)
#define UNWATCHED(k) (void)0
#endif

#endif
