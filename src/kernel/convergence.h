/* Decides when an iteration within a step may end.
 *
 * Every lane decides for itself: it takes new values until they have converged to round-off and
 * then keeps them, whatever other lanes still need. So the bits of a trajectory do not depend on
 * its neighbours.
 *
 *     convergence          one criterion for all unknowns
 *     coupled_convergence  two: the driver of a coupled system (coupling.c) is judged by itself.
 *                          Its passengers do not move it, and so not even the number of iterations
 *                          that they take leaves a trace in its last bits. */
#ifndef NH_KERNEL_CONVERGENCE_H
#define NH_KERNEL_CONVERGENCE_H

#include "kernel/kernel.h"

/* ---- one criterion ---- */

/* The unit in the last place, and a relative size below which a correction that stalls may be
 * round-off. Exported programs in single precision have other values. */
#ifndef ROUND_OFF
#define ROUND_OFF 0x1p-52
#endif
#ifndef STALLED
#define STALLED 1e-10
#endif

/* A lane has converged when the correction is a few units in the last place of the scale, when the
 * contraction seen so far promises that for the next correction, or when the correction is some
 * tens of such units and no longer shrinks. A larger correction that fails to shrink once may
 * belong to an iteration that converges slowly, in waves, or that begins to diverge; it is accepted
 * as the end only if many later corrections do not fall below it either. */
typedef struct convergence {
    real previous, before, rate; /* the last two corrections, and their ratio */
    real least, idle;            /* the smallest late correction, and how many followed it */
    real floor;                  /* a correction that stagnates below this is round-off, too */
    mask active;                 /* lanes that have not converged */
    int iteration;               /* iterations judged so far */
#ifdef NH_DUAL
    derivative_turns dual; /* derivatives converge after their values */
#endif
} convergence;

static inline convergence convergence_begin(void)
{
    return (convergence){.previous = broadcast(1e300),
                         .before = broadcast(1e300),
                         .rate = broadcast(1),
                         .least = broadcast(1e300),
                         .idle = broadcast(0),
                         .floor = broadcast(0),
                         .active = ~less(broadcast(0), broadcast(0))};
}

/* Corrections have been seen that decrease again only after eleven iterations. */
enum { CONVERGENCE_LATE = 8, CONVERGENCE_IDLE_MAX = 16 };

/* Lanes whose corrections have been small for long without becoming smaller. */
static inline mask has_stalled(convergence *c, real change, real small)
{
    const mask lower = less(change, c->least * 0.5);
    c->idle = select_(lower, broadcast(0), c->idle + 1.0);
    c->least = select_(lower, change, c->least);
    return less(broadcast(CONVERGENCE_IDLE_MAX), c->idle) & less(change, small);
}

/* Lanes in which the correction `change` of something of size `scale` is round-off. `rate` is the
 * factor by which it has shrunk. */
static inline mask is_round_off(const convergence *c, real change, real rate, real scale,
                                double strict)
{
    const real tiny = scale * (ROUND_OFF * strict),
               small = max_(scale * (64 * ROUND_OFF), c->floor);
    /* The remaining error is the correction times the rate of convergence, for which the worse of
     * the last two rates is taken. */
    const mask little = EITHER(~less(tiny, change), /* change <= tiny */
                               less(change * max_(rate, c->rate), tiny * 0.0625));
    /* Where errors alternate in sign, every second correction may be larger than the one before
     * although all of them decrease: a correction well below the last but one is not the end. */
    return EITHER(little, BOTH(less(change, small),
                               BOTH(~less(change, c->previous), ~less(change, c->before * 0.25))));
}

/* Judges an iteration by its largest correction and the size of what it corrects. A factor `strict`
 * below 1 asks for more accuracy than round-off of a step, where that can be reached. */
static inline void convergence_judge(convergence *c, real change, real scale, double strict)
{
#ifdef NH_DUAL
    if (nh_dual_follows(&c->dual, &c->active, change, scale, c->floor))
        return;
#endif
    const int iteration = c->iteration++;
    if (LANES == 1 && !any(c->active))
        return;
    /* The first correction says nothing about the rate. */
    const real rate = iteration == 0 ? broadcast(1) : change / c->previous;
    mask done = is_round_off(c, change, rate, scale, strict);
    if (__builtin_expect(iteration >= CONVERGENCE_LATE, 0))
        done |= has_stalled(c, change, scale * STALLED);
    c->rate = select_(c->active, rate, c->rate);
    c->before = select_(c->active, c->previous, c->before);
    c->previous = select_(c->active, change, c->previous);
    c->active &= ~done;
#ifdef NH_DUAL
    nh_dual_hold(&c->dual, &c->active);
#endif
}

static inline void convergence_update(convergence *c, real change, real scale)
{
    convergence_judge(c, change, scale, 1);
}

/* For iterations whose evaluations are rounded many times, so that corrections of a few units in
 * the last place are noise and need not shrink. The rate of convergence is known from corrections
 * that were above the noise, and predicts what a correction would be without noise: once the
 * predicted error is negligible and the correction itself is small as well, the iteration ends. */
typedef struct contraction {
    real rate, last_rate; /* the worse of the last two rates, and the last one */
    real expected, older; /* the correction without noise, and the previous one */
} contraction;

static inline contraction contraction_begin(void)
{
    return (contraction){broadcast(0), broadcast(0), broadcast(1e300), broadcast(1e300)};
}

/* To be called before convergence_update() sees the same correction. */
static inline void contraction_update(contraction *d, convergence *c, real change, real scale)
{
    const real tiny = scale * ROUND_OFF, noise = scale * (64 * ROUND_OFF);
    if (c->iteration > 0) {
        const mask known = ~less(c->previous, noise);
        const real rate = change / c->previous;
        d->rate = select_(known, max_(rate, d->last_rate), d->rate);
        d->last_rate = select_(known, rate, d->last_rate);
        const real next = d->expected * d->rate;
        d->expected = select_(less(change, noise) & less(next, change), next, change);
        c->active &= ~(less(change, tiny * 4.0) & less(d->expected * d->rate, tiny * 0.0625));
    } else
        d->expected = change;
}

/* The same where rounded positions add noise of their own, which grows as the step becomes shorter:
 * the residual of conditions on positions is divided by the step. Few corrections are above that
 * noise, so the rate is taken over two iterations, which is steadier than over one, and a
 * correction that is noise does not count towards it. */
static inline void noisy_contraction_update(contraction *d, convergence *c, real change, real scale)
{
    const real tiny = scale * ROUND_OFF, least = max_(tiny * 4.0, c->floor * 0x1p-5),
               noise = max_(scale * (64 * ROUND_OFF), c->floor * 0x1p-5);
    real expected = change, left = broadcast(1e300);
    if (c->iteration > 1) {
        const mask above = ~EITHER(less(c->before, noise), less(change, noise));
        const mask known = EITHER(above, ~less(d->rate, broadcast(1e300)));
        const real rate = change / c->before;
        d->rate = select_(known, max_(rate, d->last_rate), d->rate);
        d->last_rate = select_(known, rate, d->last_rate);
        const real next = d->older * d->rate;
        expected = select_(less(change, noise) & less(next, change), next, change);
        left = max_(d->expected, expected) * d->rate;
    } else
        d->rate = broadcast(1e300);
    c->active &= ~(less(change, least) & less(left, tiny * 0.0625));
    d->older = d->expected;
    d->expected = expected;
}

static inline real largest(const kernel *k, const real *x, int count)
{
    (void)k;
    real most = broadcast(0);
    EACH(i, count) most = max_(most, abs_(x[i]));
    return most;
}

/* How much the rounding of positions changes velocities that are found by iteration: a change of q
 * within a step may, through the force, change h v by as much, and by no more if the step size
 * makes any sense. Slow motion far from the origin converges no better than that. */
static inline real position_noise(const kernel *k, const real *q, int count)
{
    return largest(k, q, count) * (16 * ROUND_OFF / __builtin_fabs(k->h));
}

/* The same for all coordinates. Conditions on positions have terms of their own size, whose
 * rounding moves coordinates even where these are zero. */
static inline real velocity_noise(const kernel *k)
{
    const real noise = position_noise(k, k->q, N);
    const double least = 2 * ROUND_OFF * SIZE_OF_POSITIONS / __builtin_fabs(k->h);
    return POSITIONS > 0 ? max_(noise, broadcast(least)) : noise;
}

/* For velocities found by iteration from the current state. */
static inline convergence convergence_of_velocities(const kernel *k)
{
    convergence c = convergence_begin();
    c.floor = velocity_noise(k);
    return c;
}

/* Reports the failure of an iteration; returns the status of the step. */
static inline int not_converged(kernel *k, const convergence *c)
{
    double most = 0;
    for (int l = 0; l < LANES; l++)
        if (!(LANE(c->previous, l) <= most))
            most = LANE(c->previous, l);
    k->io->residual = most;
    k->io->iterations = c->iteration;
    return NH_KERNEL_NOT_CONVERGED;
}

/* ---- the driver judged separately ---- */

typedef struct coupled_convergence {
    convergence all; /* for the unknowns that are not judged with the driver */
    convergence driver;
    int has_driver; /* whether there is a driver, which is judged separately */
    mask diverged;  /* grows without bound, or is no longer a number */
} coupled_convergence;

static inline coupled_convergence coupled_begin(int has_driver)
{
    const mask none = less(broadcast(0), broadcast(0));
    coupled_convergence c = {convergence_begin(), convergence_begin(), has_driver, none};
    if (!has_driver)
        c.driver.active = none;
    return c;
}

/* For velocities found by iteration from the current state. `driver` is DRIVER, or -1 for methods
 * in which all coordinates act on each other. */
static inline coupled_convergence coupled_velocities(const kernel *k, int driver)
{
    coupled_convergence c = coupled_begin(driver >= 0);
    c.all.floor = velocity_noise(k);
    if (driver >= 0)
        c.driver.floor = position_noise(k, k->q + driver, 1);
    return c;
}

/* The lanes that still take new values of an unknown. */
static inline mask still_active(const coupled_convergence *c, int is_of_driver)
{
    return is_of_driver ? c->driver.active : c->all.active;
}

/* What an iteration does to some of the unknowns: the largest change, the largest value, and the
 * measure by which divergence is judged. The latter may be the sum of all changes, which, unlike
 * the largest, is not a number if one of them is not. */
typedef struct correction {
    real change, scale, divergence;
} correction;

typedef struct corrections {
    correction all, driver;
} corrections;

static inline corrections no_corrections(void)
{
    const correction none = {broadcast(0), broadcast(0), broadcast(0)};
    return (corrections){none, none};
}

static inline void count_correction(correction *sum, real change, real scale)
{
    sum->change = max_(sum->change, change);
    sum->scale = max_(sum->scale, scale);
}

/* Moves the unknown x to its next value where it has not converged, and counts the change. */
static inline void take(const coupled_convergence *c, corrections *sum, int is_of_driver, real next,
                        real scale, real *x)
{
    const real change = abs_(next - *x);
    if (is_of_driver)
        count_correction(&sum->driver, change, scale);
    else
        count_correction(&sum->all, change, scale);
    *x = select_(still_active(c, is_of_driver), next, *x);
}

static inline mask is_unbounded(const convergence *c, real divergence)
{
    return ~less(divergence, broadcast(1e100)) & c->active;
}

/* Judges an iteration. A factor `strict` below 1 asks for more accuracy than a step's own
 * round-off. */
static inline void coupled_judge(coupled_convergence *c, double strict, const corrections *sum)
{
    c->diverged = is_unbounded(&c->all, sum->all.divergence);
    if (c->has_driver)
        c->diverged |= is_unbounded(&c->driver, sum->driver.divergence);
    convergence_judge(&c->all, sum->all.change, sum->all.scale, strict);
    if (c->has_driver)
        convergence_judge(&c->driver, sum->driver.change, sum->driver.scale, strict);
}

/* The same for changes that were counted by take(): the largest shows whether they diverge. */
static inline void coupled_update(coupled_convergence *c, double strict, corrections *sum)
{
    sum->all.divergence = sum->all.change;
    sum->driver.divergence = sum->driver.change;
    coupled_judge(c, strict, sum);
}

static inline int has_converged(const coupled_convergence *c)
{
    return !any(c->all.active | c->driver.active);
}

static inline int has_diverged(const coupled_convergence *c)
{
    return any(c->diverged);
}

static inline int has_failed(const coupled_convergence *c, int iterations_max)
{
    return c->all.iteration >= iterations_max || has_diverged(c);
}

/* Takes the new values of u = (q1 - q0)/h and w = v1 - v0 for one coordinate. */
static inline void take_increment(correction *sum, mask active, real v0, real u_new, real w_new,
                                  real *u, real *w)
{
    const real du = abs_(u_new - *u), dw = abs_(w_new - *w);
    count_correction(sum, max_(du, dw), max_(abs_(u_new), abs_(v0 + w_new)));
    sum->divergence = sum->divergence + (du + dw);
    *u = select_(active, u_new, *u);
    *w = select_(active, w_new, *w);
}

/* ... for all, and judges them. */
static inline void take_increments(const kernel *k, coupled_convergence *c, int driver,
                                   double strict, const real *v0, const real *u_new,
                                   const real *w_new, real *u, real *w)
{
    corrections sum = no_corrections();
    (void)k;
    EACH(i, N)
    {
        if (i == driver)
            take_increment(&sum.driver, c->driver.active, v0[i], u_new[i], w_new[i], u + i, w + i);
        else
            take_increment(&sum.all, c->all.active, v0[i], u_new[i], w_new[i], u + i, w + i);
    }
    coupled_judge(c, strict, &sum);
}

#endif
