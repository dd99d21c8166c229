/* When the turns of an iteration for u = (q1 - q0)/h and w = v1 - v0 may end.
 *
 * Each turn brings new values; a lane takes them until they have settled to round-off and then
 * keeps what it has, whatever other lanes still need. The driver of a coupled system is watched on
 * its own: its passengers do not move it, and so not even the number of turns that they take leaves
 * a trace in its last bits. */
#ifndef NH_METHOD_SETTLE_H
#define NH_METHOD_SETTLE_H

#include "kernel/kernel.h"

enum { SETTLE_TURNS_MAX = 50 };

typedef struct settling {
    int own; /* the driver, or -1 */
    watch all, driver;
    mask lost; /* grows beyond all bounds, or is no number any more */
} settling;

/* `driver` is DRIVER, or -1 for methods in which all coordinates act on each other. */
static inline settling settle_begin(const kernel *k, int driver)
{
    settling s = {.own = driver, .all = watch_from(k), .driver = watch_begin()};
    s.lost = less(broadcast(0), broadcast(0));
    if (driver >= 0)
        s.driver.floor = position_noise(k, k->q + driver, 1);
    else
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

/* What a turn changed: the largest change and the largest value, and the sum of all changes, which,
 * unlike the largest, is no number when one of them is none. */
typedef struct movement {
    real change, scale, sum;
} movement;

static inline movement no_movement(void)
{
    return (movement){broadcast(0), broadcast(0), broadcast(0)};
}

/* Looks at one coordinate's new values, and takes them. */
static inline void take(movement *all, mask active, real v0, real u_new, real w_new, real *u,
                        real *w)
{
    const real du = abs_(u_new - *u), dw = abs_(w_new - *w);
    all->change = max_(all->change, max_(du, dw));
    all->scale = max_(all->scale, max_(abs_(u_new), abs_(v0 + w_new)));
    all->sum = all->sum + (du + dw);
    *u = select_(active, u_new, *u);
    *w = select_(active, w_new, *w);
}

/* The end of a turn. `strict` below 1 asks for more than a step's own round-off. */
static inline void settle(const kernel *k, settling *s, double strict, const real *v0,
                          const real *u_new, const real *w_new, real *u, real *w)
{
    (void)k;
    movement all = no_movement(), driver = no_movement();
    EACH(i, N)
    {
        if (i == s->own)
            take(&driver, s->driver.active, v0[i], u_new[i], w_new[i], u + i, w + i);
        else
            take(&all, s->all.active, v0[i], u_new[i], w_new[i], u + i, w + i);
    }
    s->lost = (~less(all.sum, broadcast(1e100)) & s->all.active) |
              (~less(driver.sum, broadcast(1e100)) & s->driver.active);
    watch_update(&s->all, all.change, all.scale * strict);
    if (s->own >= 0)
        watch_update(&s->driver, driver.change, driver.scale * strict);
}

#endif
