/* When the turns of an iteration for u = (q1 - q0)/h and w = v1 - v0 may end.
 *
 * Each turn brings new values; a lane takes them until they have settled to round-off and then
 * keeps what it has, whatever other lanes still need. The driver of a coupled system is watched on
 * its own: its passengers do not move it, and so not even the number of turns that they take leaves
 * a trace in its last bits. */
#ifndef NH_METHOD_SETTLE_H
#define NH_METHOD_SETTLE_H

#include "method/kernel.h"

enum { SETTLE_TURNS_MAX = 50 };

typedef struct settling {
    int own; /* the driver, or -1 */
    watch all, driver;
    mask lost; /* grows beyond all bounds, or is no number any more */
} settling;

/* `driver` is DRIVER, or -1 for methods in which all coordinates act on each other. */
static inline settling settle_begin(int driver)
{
    settling s = {.own = driver, .all = watch_begin(), .driver = watch_begin()};
    s.lost = less(broadcast(0), broadcast(0));
    if (driver < 0)
        s.driver.active = s.lost;
    return s;
}

static inline int is_settled(const settling *s)
{
    return !any(s->all.active | s->driver.active);
}

static inline int is_lost(const settling *s)
{
    return s->all.iteration >= SETTLE_TURNS_MAX || any(s->lost);
}

/* Looks at one coordinate's new values, and takes them. */
static inline void take(mask active, real v0, real u_new, real w_new, real *u, real *w,
                        real *change, real *scale)
{
    *change = max_(*change, max_(abs_(u_new - *u), abs_(w_new - *w)));
    *scale = max_(*scale, max_(abs_(u_new), abs_(v0 + w_new)));
    *u = select_(active, u_new, *u);
    *w = select_(active, w_new, *w);
}

/* The end of a turn. `strict` below 1 asks for more than a step's own round-off. */
static inline void settle(const kernel *k, settling *s, double strict, const real *v0,
                          const real *u_new, const real *w_new, real *u, real *w)
{
    real change = broadcast(0), scale = change, driver_change = change, driver_scale = change;
    EACH(i, N)
    {
        if (i == s->own)
            take(s->driver.active, v0[i], u_new[i], w_new[i], u + i, w + i, &driver_change,
                 &driver_scale);
        else
            take(s->all.active, v0[i], u_new[i], w_new[i], u + i, w + i, &change, &scale);
    }
    s->lost = (~less(change, broadcast(1e100)) & s->all.active) |
              (~less(driver_change, broadcast(1e100)) & s->driver.active);
    watch_update(&s->all, change, scale * strict);
    if (s->own >= 0)
        watch_update(&s->driver, driver_change, driver_scale * strict);
}

#endif
