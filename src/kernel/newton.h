/* Newton's method with a Jacobian from differences, for steps that the fixed-point iteration does
 * not solve.
 *
 * Only the careful kernels (one lane, built into the library or exported) have it: fast ones give
 * such a step back, and the run hands it to a careful one. It needs no derivatives from the system,
 * so it serves every method and every kind of system.
 *
 * It approaches the solution with damped corrections, each of which has to shrink the next one as
 * computed with the same Jacobian (Deuflhard's natural monotonicity test, which does not depend on
 * units). The determinant of the Jacobian must keep its sign on the way: where the sign changes,
 * the equations turn to another branch of solutions, and a step that went there would silently
 * leave its motion. Finally the solution is polished until corrections are round-off, that is,
 * until they no longer shrink. */
#ifndef NH_KERNEL_NEWTON_H
#define NH_KERNEL_NEWTON_H

#include "kernel/kernel.h"

#if LANES == 1 && (!defined(NH_EMITTED) || defined(NH_WITH_NEWTON))
#define NH_CAREFUL 1

#include <math.h>
#include <stdbool.h>

#include "base/dense.h"

enum {
    NEWTON_UNKNOWNS_MAX = 1000,
    NEWTON_ITERATIONS_MAX = 40,
    NEWTON_POLISH_MAX = 12,
    NEWTON_NEAR_MAX = 3
};

/* During the approach, corrections are compared with their unknowns, or with NEWTON_ROUGH times the
 * largest unknown, because some unknowns begin at zero. Damping ends below NEWTON_NEAR; a few more
 * corrections may follow until each is below NEWTON_CLOSE of its own unknown (or of NEWTON_SHARE
 * times the largest), by which it is judged from then on. An iteration that stagnates above
 * NEWTON_NOISE has failed; a damping factor below NEWTON_LEAST counts as no progress. Differences
 * are taken over NEWTON_SHIFT of an unknown. */
#ifndef NEWTON_NEAR /* exported programs of single precision have others */
#define NEWTON_NEAR 1e-5
#define NEWTON_NOISE 1e-6
#define NEWTON_SHIFT 0x1p-26
#endif
#define NEWTON_CLOSE 1e-3
#define NEWTON_ROUGH 0.03
#define NEWTON_SHARE 1e-6
#define NEWTON_LEAST 0x1p-10

#ifndef NH_EMITTED
#define newton_solve OF_VARIANT(nh_newton_solve)
#endif

typedef int newton_residual(kernel *k, const real *x, real *r, real *work);

/* Equations residual(x) = 0 for d unknowns, and room to solve them. The first `judged` unknowns
 * decide about convergence, each relative to its size; multipliers are not judged, because their
 * round-off may be many times their value where they hardly act. */
typedef struct newton_problem {
    newton_residual *residual;
    real *work;
    int d, judged;
    double *J;
    real *x, *size; /* unknowns; the sizes to which their round-off is relative */
    real *r, *dx, *trial, *moved;
    real *weight; /* what corrections of the judged unknowns are compared with */
    int *pivot;
    bool direct; /* solved without damping: the solution belongs to the starting point */
} newton_problem;

/* Reals of workspace for d unknowns (0 if there are too many). */
static inline size_t newton_scratch(size_t d)
{
    return d <= NEWTON_UNKNOWNS_MAX ? d * d + 8 * d + 8 : 0;
}

/* The caller sets x and size. `space` holds newton_scratch(d) reals; `work` is passed to the
 * residual. */
static inline newton_problem newton_begin(newton_residual *residual, int d, int judged, real *space,
                                          void *work)
{
    real *at = space + (size_t)d * (size_t)d;
    return (newton_problem){.residual = residual,
                            .work = (real *)work,
                            .d = d,
                            .judged = judged,
                            .J = (double *)space,
                            .x = at,
                            .size = at + d,
                            .r = at + 2 * d,
                            .dx = at + 3 * d,
                            .trial = at + 4 * d,
                            .moved = at + 5 * d,
                            .weight = at + 6 * d,
                            .pivot = (int *)(at + 7 * d)};
}

/* The size of a velocity: its own, and the effect of rounded positions on it. */
static inline double newton_velocity_size(const kernel *k, int i)
{
    return fmax(fabs(k->v[i]), 0x1p20 * velocity_noise(k));
}

/* The size of multipliers that act on velocities through B. */
static inline double newton_impulse_size(const kernel *k, const real *B)
{
    const double v = largest(k, k->v, N), b = largest(k, B, NB);
    return v > 0 && b > 0 ? v / b : 1;
}

static inline double newton_largest(const kernel *k, const newton_problem *s)
{
    return fmax(largest(k, s->x, s->judged), largest(k, s->size, s->judged));
}

/* Weights: the sizes with and without the correction dx, but at least `share` of the largest:
 * anything smaller may consist of the round-off of other unknowns. */
static inline void newton_weigh(const kernel *k, newton_problem *s, double share)
{
    double most = newton_largest(k, s);
    for (int j = 0; j < s->judged; j++) {
        const double moved = fabs(s->x[j] - s->dx[j]);
        s->weight[j] = fmax(fmax(fabs(s->x[j]), moved), s->size[j]);
        most = fmax(most, moved);
    }
    for (int j = 0; j < s->judged; j++)
        s->weight[j] = fmax(s->weight[j], share * most);
}

/* The largest correction relative to its unknown's size; NAN if any is not a number. */
static inline double newton_level(const newton_problem *s, const real *dx)
{
    double most = 0, sum = 0;
    for (int j = 0; j < s->judged; j++)
        most = fmax(most, s->weight[j] > 0 ? fabs(dx[j]) / (double)s->weight[j] : fabs(dx[j]) > 0);
    for (int j = 0; j < s->d; j++)
        sum += dx[j];
    return isfinite(sum) ? most : NAN;
}

/* The residual at x. One that fails returns at once, without giving its scratch back; over the many
 * evaluations of a hopeless step that would exceed any scratch. */
static inline int newton_evaluate(kernel *k, newton_problem *s, const real *x, real *r)
{
    real *top = k->top;
    const int status = s->residual(k, x, r, s->work);
    note_scratch(k);
    k->top = top;
    return status;
}

/* J at x, where the residual is r. */
static inline int newton_jacobian(kernel *k, newton_problem *s)
{
    const double least = 1e-3 * newton_largest(k, s); /* a smaller shift might have no effect */
    const int d = s->d;
    for (int j = 0; j < d; j++) {
        const double keep = s->x[j], size = fmax(fabs(keep), s->size[j]);
        double dx = NEWTON_SHIFT * fmax(size, j < s->judged ? least : 0);
        s->x[j] = keep + (dx > 0 ? dx : NEWTON_SHIFT);
        dx = s->x[j] - keep;
        int status = newton_evaluate(k, s, s->x, s->moved);
        s->x[j] = keep;
        if (status)
            return status;
        for (int i = 0; i < d; i++)
            s->J[i * d + j] = (s->moved[i] - s->r[i]) / dx;
    }
    return NH_KERNEL_OK;
}

/* Factorises J; returns the sign of its determinant, 0 if it is singular. */
static inline int newton_factor(newton_problem *s)
{
    int sign = 1;
    if (!nh_dense_factor(s->d, s->J, s->pivot))
        return 0;
    for (int i = 0; i < s->d; i++) {
        if (!isfinite(s->J[i * s->d + i]))
            return 0;
        sign = (s->J[i * s->d + i] < 0) != (s->pivot[i] != i) ? -sign : sign;
    }
    return sign;
}

static inline int newton_failed(kernel *k, const newton_problem *s, int iterations)
{
    k->io->residual = largest(k, s->dx, s->judged);
    k->io->iterations = iterations;
    return NH_KERNEL_NOT_CONVERGED;
}

/* x = J^-1 x */
static inline void newton_apply(const newton_problem *s, real *x)
{
#ifdef NH_DUAL
    nh_dual_solve(s->d, s->J, s->pivot, x);
#else
    nh_dense_solve(s->d, s->J, s->pivot, x);
#endif
}

/* Sets trial = x - part dx, moved to the residual there, and r to the next correction, computed
 * from it. Returns the level of that correction; NAN if there is none. */
static inline double newton_try(kernel *k, newton_problem *s, double part, int *status)
{
    for (int j = 0; j < s->d; j++)
        s->trial[j] = s->x[j] - part * s->dx[j];
    *status = newton_evaluate(k, s, s->trial, s->moved);
    if (*status)
        return NAN;
    for (int j = 0; j < s->d; j++)
        s->r[j] = s->moved[j];
    newton_apply(s, s->r);
    return newton_level(s, s->r);
}

/* Takes as much of dx as shrinks the next correction. Returns the fraction taken, 0 if there is
 * none. Then x is the new point, r the residual there, and dx is unchanged. */
static inline double newton_descend(kernel *k, newton_problem *s, double level, double part,
                                    int *status)
{
    for (; part >= NEWTON_LEAST; part /= 2) {
        const double next = newton_try(k, s, part, status);
        if (*status == NH_KERNEL_STOPPED)
            return 0;
        if (next > (1 - part / 4) * level || isnan(next))
            continue;
        for (int j = 0; j < s->d; j++) {
            s->x[j] = s->trial[j];
            s->r[j] = s->moved[j];
        }
        *status = NH_KERNEL_OK;
        return part;
    }
    return 0;
}

#ifdef HAS_SHARED

/* Comes so close that corrections need no damping; then J is factorised at x, and dx is the
 * correction there. */
SELDOM static int newton_approach(kernel *k, newton_problem *s, int *iterations)
{
    int side = 0, near = 0, status = newton_evaluate(k, s, s->x, s->r);
    for (double part = 1; !status && *iterations < NEWTON_ITERATIONS_MAX; ++*iterations) {
        if ((status = newton_jacobian(k, s)))
            return status;
        const int sign = newton_factor(s);
        if (side != 0 && sign != side) { /* too far: back along the last correction */
            for (int j = 0; j < s->d; j++)
                s->x[j] += 0.75 * part * s->dx[j];
            part /= 4;
            s->direct = false;
            if (part < NEWTON_LEAST)
                break;
            status = newton_evaluate(k, s, s->x, s->r);
            continue;
        }
        if ((side = sign) == 0)
            break;
        for (int j = 0; j < s->d; j++)
            s->dx[j] = s->r[j];
        newton_apply(s, s->dx);
        newton_weigh(k, s, NEWTON_ROUGH);
        const double level = newton_level(s, s->dx);
        if (level <= NEWTON_NEAR) {
            newton_weigh(k, s, NEWTON_SHARE);
            if (newton_level(s, s->dx) <= NEWTON_CLOSE || ++near > NEWTON_NEAR_MAX)
                return NH_KERNEL_OK;
            for (int j = 0; j < s->d; j++)
                s->x[j] -= s->dx[j];
            status = newton_evaluate(k, s, s->x, s->r);
            continue;
        }
        if (isnan(level) || !((part = newton_descend(k, s, level, fmin(1, 4 * part), &status)) > 0))
            break;
        s->direct = s->direct && part == 1;
    }
    return status ? status : newton_failed(k, s, *iterations);
}

/* Takes dx and further corrections with the same Jacobian until they are round-off. */
SELDOM static int newton_polish(kernel *k, newton_problem *s, int *iterations)
{
    double level = newton_level(s, s->dx);
    for (int idle = 0, round = 0; round < NEWTON_POLISH_MAX; round++, ++*iterations) {
        int status;
        double next = newton_try(k, s, 1, &status);
        if (status || isnan(next))
            return status ? status : newton_failed(k, s, *iterations);
        idle = next < level / 2 ? 0 : idle + 1;
        if (idle == 2 || (next >= level && level > NEWTON_NOISE))
            break;
        for (int j = 0; j < s->d; j++) {
            s->x[j] = s->trial[j];
            s->dx[j] = s->r[j];
        }
        level = next;
        if (level == 0)
            break;
    }
    return level <= NEWTON_NOISE ? NH_KERNEL_OK : newton_failed(k, s, *iterations);
}

/* The derivatives of the solution, whose values are not changed any more. The residual is linear in
 * them, and J is close enough for corrections to shrink a millionfold. */
#ifdef NH_DUAL
SELDOM static int newton_follow(kernel *k, newton_problem *s)
{
    for (int round = 0; round < NEWTON_POLISH_MAX; round++) {
        real change = broadcast(0);
        TRY_(newton_evaluate(k, s, s->x, s->r));
        newton_apply(s, s->r);
        for (int j = 0; j < s->d; j++) {
            s->r[j] = still_(s->r[j]);
            s->x[j] -= s->r[j];
            change = max_(change, s->r[j]);
        }
        if (nh_dual_is_small(change, largest(k, s->x, s->d), round))
            break;
    }
    return NH_KERNEL_OK;
}
#else
#define newton_follow(k, s) NH_KERNEL_OK
#endif

/* Solves the equations, starting from x. */
SELDOM SHARED int newton_solve(kernel *k, newton_problem *s)
{
    int iterations = 0;
    if (s->d > NEWTON_UNKNOWNS_MAX)
        return NH_KERNEL_NOT_CONVERGED;
    s->direct = true;
    TRY_(newton_approach(k, s, &iterations));
    TRY_(newton_polish(k, s, &iterations));
    return newton_follow(k, s);
}

#else
SELDOM SHARED int newton_solve(kernel *k, newton_problem *s);
#endif
#endif

/* What to do when an iteration has failed: Newton's method, where it is available. */
#ifdef NH_CAREFUL
/* For new velocities v, sought from `free` on, and the multipliers l that act on them through B;
 * x: v, l. */
static inline int newton_velocity(kernel *k, newton_residual *residual, const void *work,
                                  const real *free, const real *B, real *v, real *l)
{
    const int d = N + M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(residual, d, N, space, (void *)work);
    EACH(i, d)
    {
        problem.x[i] = i < N ? free[i] : broadcast(0);
        problem.size[i] = i < N ? newton_velocity_size(k, i) : newton_impulse_size(k, B);
    }
    TRY_(newton_solve(k, &problem));
    EACH(i, N) v[i] = problem.x[i];
    EACH(j, M) l[j] = problem.x[N + j];
    return NH_KERNEL_OK;
}

static inline int newton_noted(kernel *k, int status)
{
    note_scratch(k);
    return status;
}
#define BY_NEWTON(solution, failed) newton_noted(k, solution)
#define OR_BY_NEWTON(status, solution)                                                             \
    ((status) == NH_KERNEL_NOT_CONVERGED ? newton_noted(k, solution) : (status))
#else
#define BY_NEWTON(solution, failed) not_converged(k, failed)
#define OR_BY_NEWTON(status, solution) (status)
#endif

#endif
