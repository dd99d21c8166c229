/* Sines whose arguments are looked at after the step, for steps that go straight on.
 *
 * A sine branches where its argument is wide (trig.h), and compilers schedule what lies between two
 * branches. A step without any is one stretch of code, and those of several groups of lanes become
 * one in which their operations alternate (abreast.h). There a sine takes its argument for narrow
 * and notes the widest; if that turns out to be too wide, the step is not kept but done again with
 * sines that look for themselves. straight.h tells which steps those are. */
#ifndef NH_KERNEL_WATCH_H
#define NH_KERNEL_WATCH_H

#include "kernel/straight.h"
#include "kernel/trig.h"

#ifdef NH_ABREAST

/* `widest` is NULL where a sine has to look for itself. */
static inline void watch_argument(real *widest, real x)
{
    *widest = max_(*widest, abs_(x)); /* one that is not a number gives none as its sine anyway */
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
