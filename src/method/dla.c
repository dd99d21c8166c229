/* DLA(alpha): the discrete Lagrange-d'Alembert step of Cortes and Martinez.
 *
 *     qa = q0 + (1 - alpha) h v0
 *     M v1 = M v0 - h (alpha gradV(q0) + (1 - alpha) gradV(q1)) + A(qa)^T l,   A(q1) v1 + b(q1) = 0
 *     q1 = qa + alpha h v1
 *
 * Order 2 for alpha = 1/2, else 1; preserves the constraints. Explicit in the force at alpha = 0
 * and 1. Modin & Verdier (2020), eq. 27. */
#include "kernel/kernel.h"
#include "kernel/newton.h"

/* What is known in a step before solving for (v1, l), and room for the rest. */
typedef struct parts {
    real *free;         /* v0 - h alpha M^-1 gradV(q0) */
    real *qa, *B;       /* B at qa, then alpha h */
    real *l, *q, *next; /* next: v1 after an iteration */
    real *kick, *close;
} parts;

/* ---- Newton's method, for steps on which the fixed-point iteration fails ---- */

#ifdef NH_CAREFUL

/* x: v1, l. r: the residual of M^-1 times the equation for v1, and the constraints. */
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const parts *s = (const parts *)work;
    const double alpha = OPTION(0);
    const scalar t1 = k->t + k->h;
    const real *v = x, *l = x + N;
    EACH(i, N) s->q[i] = fma_(alpha * k->h, v[i], s->qa[i]);
    CALL(KICK, t1, s->q, k->v, 0, s->kick);
    CALL(CLOSE, t1, s->q, v, s->B, s->close);
    EACH(i, N) r[i] = broadcast(0);
    add_B(k, r, s->B, l);
    EACH(i, N) r[i] = v[i] - fma_((1 - alpha) * k->h, s->kick[i], s->free[i] + r[i]);
    EACH(i, M) r[N + i] = s->close[M + i];
    return NH_KERNEL_OK;
}

#endif

/* ---- a step ---- */

static inline int prepare(kernel *k, const parts *s, real *v)
{
    const double alpha = OPTION(0);
    const scalar h = k->h;
    EACH(i, N) s->free[i] = k->v[i];
    if (alpha != 0) {
        CALL(KICK, k->t, k->q, k->v, 0, s->kick);
        EACH(i, N) s->free[i] = fma_(broadcast(h * alpha), s->kick[i], k->v[i]);
    }
    EACH(i, N) s->qa[i] = fma_(broadcast((1 - alpha) * h), k->v[i], k->q[i]);
    CALL(KICK, k->t + (1 - alpha) * h, s->qa, k->v, 0, s->kick);
    EACH(i, NB) s->B[i] = s->kick[N + i];
    s->B[NB] = broadcast(alpha * h);
    EACH(i, M) s->l[i] = broadcast(0);
    EACH(i, N) v[i] = s->free[i];
    return NH_KERNEL_OK;
}

/* The force at the q1 of the last iteration, then the multiplier. The passengers of a coupled
 * system see the converged driver unchanged. */
static inline int iterate(kernel *k, const parts *s, coupled_convergence *progress, real *v)
{
    const double alpha = OPTION(0);
    const scalar h = k->h, to_q1 = alpha * h;
    EACH(i, N) s->q[i] = fma_(broadcast(to_q1), v[i], s->qa[i]);
    EACH(i, N) s->next[i] = s->free[i];
    if (alpha != 1) {
        CALL(KICK, k->t + h, s->q, k->v, 0, s->kick);
        EACH(i, N) s->next[i] = fma_(broadcast(h * (1 - alpha)), s->kick[i], s->free[i]);
    }
    add_B(k, s->next, s->B, s->l);
    EACH(i, N)
    if (i == DRIVER)
        s->next[i] = select_(progress->driver.active, s->next[i], v[i]);
    EACH(i, N) s->q[i] = fma_(broadcast(to_q1), s->next[i], s->qa[i]);
    CALL(CLOSE, k->t + h, s->q, s->next, s->B, s->close);
    EACH(i, M) s->close[i] = select_(progress->all.active, -s->close[i], broadcast(0));
    EACH(i, M) s->l[i] = s->l[i] + s->close[i];
    add_B(k, s->next, s->B, s->close);

    corrections sum = no_corrections();
    EACH(i, N) take(progress, &sum, i == DRIVER, s->next[i], abs_(s->next[i]), v + i);
    coupled_update(progress, 1, &sum);
    return NH_KERNEL_OK;
}

enum { ITERATIONS_MAX = 60 };

static inline int solve(kernel *k, const parts *s, real *v)
{
    const double alpha = OPTION(0);
    for (coupled_convergence progress = coupled_velocities(k, DRIVER);;) {
        TRY_(iterate(k, s, &progress, v));
        if (has_converged(&progress) || (REACTION_IS_LINEAR && (alpha == 0 || alpha == 1)))
            return NH_KERNEL_OK;
        if (has_failed(&progress, ITERATIONS_MAX))
            return BY_NEWTON(newton_velocity(k, newton_gap, s, s->free, s->B, v, s->l),
                             &progress.all);
    }
}

static int step(kernel *k)
{
    const double alpha = OPTION(0);
    const scalar h = k->h;
    LOCAL(kick, N + NB);
    LOCAL(B, NB + 1);
    LOCAL(close, 2 * M);
    LOCAL(l, M);
    LOCAL(qa, N);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(free, N);
    LOCAL(next, N);
    const parts s = {free, qa, B, l, q, next, kick, close};

    TRY_(prepare(k, &s, v));
    TRY_(solve(k, &s, v));
    EACH(i, N) q[i] = fma_(broadcast(alpha * h), v[i], qa[i]);
    if (COMPENSATED)
        EACH(i, N)
        {
            qa[i] = fma_(broadcast((1 - alpha) * h), k->v[i], v[i] * (alpha * h));
            next[i] = v[i] - k->v[i];
        }
    commit(k, q, v, qa, next);
    return NH_KERNEL_OK;
}

KERNEL(dla, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    size_t n = (size_t)s->n, m = (size_t)s->m, d = n + m;
    return 6 * n + 2 * (size_t)s->nb + 1 + 3 * m + newton_scratch(d);
}

static int order_of(const double *option)
{
    return option[0] == 0.5 ? 2 : 1;
}

static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION;
    return option[0] == 0.5 ? always | NH_KEEPS_SYMMETRY : always;
}

NH_METHOD(dla) = {
    .name = "dla",
    .summary = "discrete Lagrange-d'Alembert with the constraint force at an intermediate point",
    .reference = "Modin & Verdier 2020 (27), Cortes & Martinez 2001",
    .formulas = "qa = q0 + (1 - alpha) h v0\n"
                "M v1 = M v0 - h (alpha gradV(q0) + (1 - alpha) gradV(q1)) + A(qa)^T l\n"
                "q1 = qa + alpha h v1,   A(q1) v1 + b(q1) = 0",
    .option = {{.name = "alpha",
                .help = "where the constraint force acts: 0 is the end of the step, 1 its start",
                .type = NH_OPTION_REAL,
                .standard = 0.5,
                .least = 0,
                .greatest = 1}},
    .options = 1,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .without_positions = "a step has one multiplier for each constraint, which cannot enforce both "
                         "a condition and its derivative",
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .scratch = scratch,
};
#endif
