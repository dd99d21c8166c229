/* One step of the nonholonomic Newmark method, for the methods made of such steps.
 *
 * With the impulses I0 = h M^-1 (rate + K^T l0) at (q0, v0) and I1 likewise at (q1, v1),
 *
 *     u  = (q1 - q0) / h = v0 + (1/2 - beta) I0 + beta I1
 *     v1 = v0 + (1 - gamma) I0 + gamma I1,     gamma = 1/2 + beta - beta2
 *     0 = k(ta, (1 - alpha) q0 + alpha q1, u)                          (point), or
 *     0 = (1 - alpha) k(t0, q0, u) + alpha k(t1, q1, u)                (average)
 *     0 = k(t1, q1, v1)
 *
 * The coefficients of the two impulses have determinant (1 - 2 beta - 2 beta2) / 4, so instead of
 * l0 and l1 we use combinations y and z that separate u from v1: y moves u by Bu y and hardly moves
 * v1 (by a multiple of B1 - B0 = O(h)); z moves v1 by Bv z and hardly moves u. The two constraints
 * are satisfied in turn, each by an m x m solve, and these iterations converge like h^2. With
 * beta = 0 they do not disturb each other at all: the first is solved once, and if the force does
 * not depend on velocities nothing has to be repeated.
 *
 * For conditions on positions, g(t1, q1) = 0 replaces the discrete constraint (surface.h). */
#ifndef NH_METHOD_NEWMARK_H
#define NH_METHOD_NEWMARK_H

#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "method/surface.h"

/* A method's file selects one of them by defining NEWMARK_CONSTRAINT. */
enum { NEWMARK_POINT, NEWMARK_AVERAGE };
enum { ITERATIONS_MAX = 50 };

typedef struct newmark {
    scalar h, t;
    double beta, beta2, alpha;
    const real *q0, *v0;
} newmark;

/* Coefficients of the impulses in u and v1, their inverse, and how Bu, Bv are combined from B0,
 * B1. */
typedef struct newmark_weights {
    double u0, u1, v0, v1;
    double y0, y1, z0, z1; /* R0 += y0 y + z0 z, R1 += y1 y + z1 z for u += Bu y, v1 += Bv z */
} newmark_weights;

static inline newmark_weights newmark_weights_of(const newmark *p)
{
    const double gamma = 0.5 + p->beta - p->beta2;
    newmark_weights a = {.u0 = 0.5 - p->beta, .u1 = p->beta, .v0 = 1 - gamma, .v1 = gamma};
    const double determinant = 0.5 * gamma - p->beta;
    a.y0 = a.v1 / determinant;
    a.y1 = -a.v0 / determinant;
    a.z0 = -a.u1 / determinant;
    a.z1 = a.u0 / determinant;
    return a;
}

/* What the passes of a step share. */
typedef struct newmark_work {
    real *kick0, *kick1; /* (h^-1 impulse without reactions, B) at the two ends */
    real *I0, *I1;       /* the impulses */
    real *R1;            /* the reactions at the far end */
    real *q, *v;         /* an intermediate state */
    real *x, *close;     /* arguments of CLOSE, with room for CLOSE_MEAN, and its results */
} newmark_work;

/* The discrete constraint at u: s->close = (y, residual) for reactions s->x = (Bu, ...). */
static INLINED int newmark_close(kernel *k, const newmark *p, const newmark_work *s, const real *u)
{
    const double alpha = p->alpha;
    const scalar h = p->h;
    real *x = s->x;
    if (NEWMARK_CONSTRAINT == NEWMARK_POINT) {
        EACH(i, N) s->q[i] = fma_(broadcast(alpha * h), u[i], p->q0[i]);
        x[NB] = broadcast(alpha * h);
        CALL(CLOSE, p->t + alpha * h, s->q, u, x, s->close);
    } else {
        x[NB] = broadcast(h);
        x[NB + 1] = broadcast(alpha);
        x[NB + 2] = broadcast(p->t + h);
        EACH(i, N) x[NB + 3 + i] = fma_(broadcast(h), u[i], p->q0[i]);
        CALL(CLOSE_MEAN, p->t, p->q0, u, x, s->close);
    }
    return NH_KERNEL_OK;
}

/* Solves the discrete constraint: completely when beta = 0, else by one iteration. On return I0, R1
 * and u contain the correction; x keeps Bu. */
static INLINED int newmark_position(kernel *k, const newmark *p, const newmark_weights *a,
                                    const newmark_work *s, real *u)
{
    const real *B0 = s->kick0 + N, *B1 = s->kick1 + N;
    real *x = s->x, *close = s->close, *shift = s->q;
    EACH(i, N)
    {
        u[i] = fma_(broadcast(a->u0), s->I0[i], p->v0[i]);
        if (a->u1 != 0)
            u[i] = fma_(broadcast(a->u1), s->I1[i], u[i]);
    }
    EACH(e, NB)
    {
        x[e] = B0[e];
        if (a->u1 != 0)
            x[e] = fma_(broadcast(a->u0 * a->y0), B0[e], B1[e] * (a->u1 * a->y1));
    }
    const int linear = REACTION_IS_LINEAR || (AFFINE && p->alpha == 0);
    for (convergence progress = convergence_of_velocities(k);;) {
        int status = newmark_close(k, p, s, u);
        if (status)
            return status;
        EACH(j, M)
        {
            real y = select_(progress.active, -close[j], broadcast(0));
            close[j] = y * a->y0;
            s->R1[j] = fma_(broadcast(a->y1), y, s->R1[j]);
            close[M + j] = y;
        }
        add_B(k, s->I0, B0, close);
        EACH(i, N) shift[i] = broadcast(0);
        add_B(k, shift, x, close + M);
        EACH(i, N) u[i] = u[i] + shift[i];
        if (linear || a->u1 != 0)
            return NH_KERNEL_OK;
        convergence_update(&progress, largest(k, shift, N), largest(k, u, N));
        if (!any(progress.active))
            return NH_KERNEL_OK;
        if (progress.iteration >= ITERATIONS_MAX)
            return not_converged(k, &progress);
    }
}

/* The far end: I1 at (q1, v0 + w), then w corrected so that k(t1, q1, v0 + w) = 0. */
static INLINED int newmark_velocity(kernel *k, const newmark *p, const newmark_weights *a,
                                    const newmark_work *s, const real *u, real *w)
{
    const scalar h = p->h, t1 = p->t + h;
    const real *B0 = s->kick0 + N, *B1 = s->kick1 + N;
    real *x = s->x, *close = s->close;
    EACH(i, N)
    {
        s->q[i] = fma_(broadcast(h), u[i], p->q0[i]);
        s->v[i] = p->v0[i] + w[i];
    }
    CALL(KICK, t1, s->q, s->v, 0, s->kick1);
    EACH(i, N) s->I1[i] = s->kick1[i] * h;
    add_B(k, s->I1, B1, s->R1);
    EACH(i, N)
    {
        w[i] = fma_(broadcast(a->v0), s->I0[i], s->I1[i] * a->v1);
        s->v[i] = p->v0[i] + w[i];
    }
    EACH(e, NB)
    {
        x[e] = B1[e];
        if (a->z0 != 0)
            x[e] = fma_(broadcast(a->v0 * a->z0), B0[e], B1[e] * (a->v1 * a->z1));
    }
    x[NB] = broadcast(0); /* q1 stays where it is */
    CALL(CLOSE, t1, s->q, s->v, x, close);
    EACH(j, M) close[j] = -close[j];
    add_B(k, w, x, close);
    EACH(j, M)
    {
        s->R1[j] = fma_(broadcast(a->z1), close[j], s->R1[j]);
        close[M + j] = close[j] * a->z1;
        close[j] = close[j] * a->z0;
    }
    add_B(k, s->I1, B1, close + M);
    if (a->z0 != 0)
        add_B(k, s->I0, B0, close);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL

typedef struct newmark_problem {
    const newmark *p;
    const newmark_weights *a;
    const newmark_work *s;
    real *u;
} newmark_problem;

/* Unknowns: w = v1 - v0, R0, R1. Since gamma > 0, u follows from w and I0. */
static int newmark_gap(kernel *k, const real *x, real *r, real *work)
{
    const newmark_problem *c = (const newmark_problem *)work;
    const newmark *p = c->p;
    const newmark_weights *a = c->a;
    const newmark_work *s = c->s;
    const scalar h = p->h;
    const real *w = x, *R0 = x + N, *R1 = R0 + M;
    real *k_u = r + N, *k_v = k_u + M;
    EACH(i, N) s->I0[i] = h * s->kick0[i];
    add_B(k, s->I0, s->kick0 + N, R0);
    EACH(i, N)
    {
        c->u[i] = p->v0[i] + a->u0 * s->I0[i] + a->u1 / a->v1 * (w[i] - a->v0 * s->I0[i]);
        s->q[i] = p->q0[i] + h * c->u[i];
        s->v[i] = p->v0[i] + w[i];
    }
    CALL(KICK, p->t + h, s->q, s->v, 0, s->kick1);
    EACH(i, N) s->I1[i] = h * s->kick1[i];
    add_B(k, s->I1, s->kick1 + N, R1);
    EACH(i, N) r[i] = w[i] - a->v0 * s->I0[i] - a->v1 * s->I1[i];
    CALL(CONSTRAINT, p->t + h, s->q, s->v, 0, k_v);
    if (NEWMARK_CONSTRAINT == NEWMARK_AVERAGE) {
        CALL(CONSTRAINT, p->t + h, s->q, c->u, 0, s->I1);
        CALL(CONSTRAINT, p->t, p->q0, c->u, 0, k_u);
        EACH(j, M) k_u[j] = (1 - p->alpha) * k_u[j] + p->alpha * s->I1[j];
    } else {
        EACH(i, N) s->q[i] = p->q0[i] + p->alpha * h * c->u[i];
        CALL(CONSTRAINT, p->t + p->alpha * h, s->q, c->u, 0, k_u);
    }
    return NH_KERNEL_OK;
}

static int newmark_newton(kernel *k, const newmark *p, const newmark_weights *a,
                          const newmark_work *s, real *u, real *w)
{
    const int d = N + 2 * M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newmark_problem c = {p, a, s, u};
    newton_problem problem = newton_begin(newmark_gap, d, N, space, &c);
    EACH(i, d)
    {
        problem.x[i] = broadcast(0);
        problem.size[i] = i < N ? newton_velocity_size(k, i) : newton_impulse_size(k, s->kick0 + N);
    }
    int status = newton_solve(k, &problem);
    if (!status) /* u of the solution, not of the last difference taken for the Jacobian */
        status = newmark_gap(k, problem.x, space, (real *)&c);
    EACH(i, N) w[i] = problem.x[i];
    return status;
}

#endif

/* With conditions on positions: for their rows, g(t1, q1) = 0 replaces the discrete constraint. */
static int newmark_on_surface(kernel *k, const newmark *p, const newmark_weights *a, real *u,
                              real *w)
{
    const surface_step step = {
        .h = p->h,
        .t = p->t,
        .q0 = p->q0,
        .v0 = p->v0,
        .places = 2,
        .at = {{AT_START, ROWS_ALL, 1, a->u0, a->v0}, {AT_END, ROWS_ALL, 1, a->u1, a->v1}},
        .discrete = NEWMARK_CONSTRAINT == NEWMARK_POINT ? DISCRETE_POINT : DISCRETE_AVERAGE,
        .alpha = p->alpha};
    return surface_solve(k, &step, u, w, 0);
}

/* Before the first pass: no reactions, and the velocity unchanged. */
static inline void newmark_begin(kernel *k, const newmark *p, const newmark_work *s, real *w)
{
    EACH(j, M) s->R1[j] = broadcast(0);
    EACH(i, N)
    {
        s->I0[i] = s->kick0[i] * p->h;
        w[i] = broadcast(0);
    }
}

/* Updates u, then w; the first pass makes u final if beta = 0. */
static INLINED int newmark_pass(kernel *k, const newmark *p, const newmark_weights *a,
                                const newmark_work *s, int first, real *u, real *w)
{
    if (first || a->u1 != 0)
        TRY_(newmark_position(k, p, a, s, u));
    return newmark_velocity(k, p, a, s, u, w);
}

/* Repeats passes until nothing changes. */
static inline int newmark_iterate(kernel *k, const newmark *p, const newmark_weights *a,
                                  const newmark_work *s, real *u, real *w)
{
    LOCAL(u_new, N);
    LOCAL(w_new, N);
    newmark_begin(k, p, s, w_new);
    EACH(i, N + NB) s->kick1[i] = s->kick0[i];
    EACH(i, N) s->I1[i] = s->I0[i];
    EACH(i, N) u[i] = p->v0[i], w[i] = broadcast(0);
    for (coupled_convergence progress = coupled_velocities(k, DRIVER);;) {
        int status = newmark_pass(k, p, a, s, progress.all.iteration == 0, u_new, w_new);
        if (status && status != NH_KERNEL_NOT_CONVERGED)
            return status;
        take_increments(k, &progress, DRIVER, 1, p->v0, u_new, w_new, u, w);
        if (status || has_failed(&progress, ITERATIONS_MAX))
            return BY_NEWTON(newmark_newton(k, p, a, s, u, w), &progress.all);
        if (has_converged(&progress))
            return NH_KERNEL_OK;
    }
}

/* Solves one step from p->q0, p->v0: u = (q1 - q0) / h and w = v1 - v0. */
static INLINED int newmark_solve(kernel *k, const newmark *p, real *u, real *w)
{
    const newmark_weights a = newmark_weights_of(p);
    if (POSITIONS > 0)
        return newmark_on_surface(k, p, &a, u, w);
    LOCAL(kick0, N + NB);
    LOCAL(kick1, N + NB);
    LOCAL(I0, N);
    LOCAL(I1, N);
    LOCAL(R1, M);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(x, NB + 3 + N);
    LOCAL(close, 2 * M);
    const newmark_work s = {kick0, kick1, I0, I1, R1, q, v, x, close};
    CALL(KICK, p->t, p->q0, p->v0, 0, kick0);
    if (a.u1 == 0 && SEPARABLE && AFFINE) { /* the force at q1 and the closings are final */
        newmark_begin(k, p, &s, w);
        const int status = newmark_pass(k, p, &a, &s, 1, u, w);
        return OR_BY_NEWTON(status, newmark_newton(k, p, &a, &s, u, w));
    }
    return newmark_iterate(k, p, &a, &s, u, w);
}

#ifdef NH_DESCRIBE
#include "method/newmark_options.h"

/* Reals of scratch that one newmark_solve takes. */
static inline size_t newmark_scratch(const nh_shape *s)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, d = n + 2 * m;
    return 2 * (n + (size_t)s->nb) + 7 * n + (size_t)s->nb + 3 + 3 * m + newton_scratch(d) +
           surface_scratch(s);
}

/* Only newmark uses CLOSE_MEAN, and conditions on positions are handled by surface.h. */
static inline nh_fn_set newmark_skips(const nh_shape *shape, bool average)
{
    if (shape->positions > 0)
        return NH_FN_BIT(CLOSE) | NH_FN_BIT(CLOSE_MEAN) | NH_FN_BIT(CONSTRAINT);
    return SURFACE_CALLS | (average ? 0 : NH_FN_BIT(CLOSE_MEAN));
}

#endif
#endif
