/* Leapfrog for nonholonomic systems; carries the multiplier from step to step.
 *
 *     vh = v0 - h/2 M^-1 (gradV(q0) + A(q0)^T l0)
 *     q1 = q0 + h vh
 *     v1 = vh - h/2 M^-1 (gradV(q1) + A(q1)^T l1),    A(q1) v1 + b(q1) = 0
 *
 * Order 2, fully explicit: one force evaluation and one solve for l1 a step. On coupled systems with
 * quadratic potential it keeps an energy of its own exactly.
 * Modin & Verdier (2020), eq. 30; McLachlan & Perlmutter (2006). */
#include "method/kernel.h"

enum { START_CONTINUOUS, START_NEWMARK, START_ZERO };

/* Memory: l[M] of the last node, then g[N] and B[NB] there, so that each is evaluated once. */
#define MEMORY_L (k->memory)
#define MEMORY_KICK (k->memory + M)

/* The multiplier with which the explicit newmark step (0, 0, 0) begins: the discrete constraint
 * A(q0) d = 0 holds for d = q1 - q0 = h v0 + h^2/2 (g - B l). */
static int newmark_multiplier(kernel *k, real *l)
{
    const double h = k->h;
    LOCAL(x, NB + 1);
    LOCAL(close, 2 * M);
    LOCAL(v, N);
    const real *g = MEMORY_KICK, *B = MEMORY_KICK + N;
    EACH(i, N) v[i] = fma_(broadcast(h / 2), g[i], k->v[i]); /* d / h without the reaction */
    EACH(i, NB) x[i] = B[i];
    x[NB] = broadcast(0);
    CALL(CLOSE, k->t, k->q, v, x, close);
    EACH(i, M) l[i] = close[i] * (2 / h);
    return NH_KERNEL_OK;
}

static int start(kernel *k)
{
    LOCAL(a, N + M);
    CALL(KICK, k->t, k->q, k->v, 0, MEMORY_KICK);
    EACH(i, M) MEMORY_L[i] = broadcast(0);
    if (OPTION(0) == START_CONTINUOUS) {
        CALL(ACCELERATION, k->t, k->q, k->v, 0, a);
        EACH(i, M) MEMORY_L[i] = -a[N + i];
    } else if (OPTION(0) == START_NEWMARK) {
        return newmark_multiplier(k, MEMORY_L);
    }
    return NH_KERNEL_OK;
}

static int step(kernel *k)
{
    const double h = k->h, t = k->t;
    LOCAL(kick, N + NB + 1);
    LOCAL(close, 2 * M);
    LOCAL(l, M);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(half, N);
    real *g = MEMORY_KICK, *B = MEMORY_KICK + N;

    EACH(i, N) v[i] = fma_(broadcast(h / 2), g[i], k->v[i]);
    EACH(i, M) l[i] = MEMORY_L[i] * (-h / 2);
    add_B(k, v, B, l);
    EACH(i, N) q[i] = fma_(broadcast(h), v[i], k->q[i]);
    EACH(i, N) half[i] = v[i];

    CALL(KICK, t + h, q, k->v, 0, kick);
    EACH(i, N) v[i] = fma_(broadcast(h / 2), kick[i], v[i]);
    kick[N + NB] = broadcast(0); /* the reaction of this solve does not move q */
    CALL(CLOSE, t + h, q, v, kick + N, close);
    EACH(i, M) close[i] = -close[i];
    add_B(k, v, kick + N, close);

    EACH(i, M) MEMORY_L[i] = close[i] * (-2 / h);
    EACH(i, N + NB) MEMORY_KICK[i] = kick[i];
    EACH(i, N) commit_one(k, i, q[i], v[i], half[i] * h, v[i] - k->v[i]);
    return NH_KERNEL_OK;
}

KERNEL(leapfrog, start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t memory(const nh_shape *s, const double *option)
{
    (void)option;
    return (size_t)(s->m + s->n + s->nb);
}

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return (size_t)(5 * s->n + 2 * s->nb + 2 + 5 * s->m);
}

const nh_method nh_method_leapfrog = {
    .name = "leapfrog",
    .summary = "explicit; the multiplier is carried from step to step",
    .reference = "Modin & Verdier 2020 (30), McLachlan & Perlmutter 2006",
    .formulas = "vh = v0 - h/2 M^-1 (gradV(q0) + A(q0)^T l0)\n"
                "q1 = q0 + h vh\n"
                "v1 = vh - h/2 M^-1 (gradV(q1) + A(q1)^T l1),   A(q1) v1 + b(q1) = 0\n"
                "l0 comes from the step before.",
    .option = {{.name = "start",
                .help = "the first multiplier: of the continuous equations, of a newmark step, or zero",
                .type = NH_OPTION_CHOICE,
                .standard = 0,
                .least = 0,
                .greatest = 2,
                .choices = "continuous|newmark|zero"}},
    .options = 1,
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION,
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .functions = NH_USES(KICK) | NH_USES(CLOSE) | NH_USES(ACCELERATION),
    .memory = memory,
    .scratch = scratch,
};
#endif
