/* Leapfrog for nonholonomic systems; it carries the multiplier from step to step.
 *
 *     vh = v0 - h/2 M^-1 (gradV(q0) + A(q0)^T l0)
 *     q1 = q0 + h vh
 *     v1 = vh - h/2 M^-1 (gradV(q1) + A(q1)^T l1),    A(q1) v1 + b(q1) = 0
 *
 * Order 2, fully explicit: one force evaluation and one solve for l1 per step. On coupled systems
 * with a quadratic potential it preserves a discrete energy exactly. The multipliers of conditions
 * on positions are not carried: that of the first half is found from g(q1) = 0. Modin & Verdier
 * (2020), eq. 30; McLachlan & Perlmutter (2006). */
#include "kernel/kernel.h"
#include "method/surface.h"

enum { START_CONTINUOUS, START_NEWMARK, START_ZERO };

/* Memory: vh of the next step. A step ends with the half kick -h/2 M^-1 (gradV + A^T l) with which
 * the next one begins, so that v1 is the mean of its vh and the next one. */
#define NEXT_HALF (k->memory)

/* The impulse -h/2 l with which the explicit newmark step (0, 0, 0) begins: the discrete constraint
 * A(q0) d = 0 holds for d = q1 - q0 = h v0 + h^2/2 (g - B l). */
static inline int newmark_impulse(kernel *k, const real *kick, real *v, real *close, real *impulse)
{
    EACH(i, N) v[i] = fma_(broadcast(k->h / 2), kick[i], k->v[i]); /* d / h without the reaction */
    CALL(CLOSE, k->t, k->q, v, kick + N, close);
    EACH(i, M) impulse[i] = -close[i];
    return NH_KERNEL_OK;
}

static int start(kernel *k)
{
    LOCAL(kick, N + NB + 1);
    LOCAL(close, 2 * M);
    LOCAL(impulse, M);
    LOCAL(a, N + M);
    CALL(KICK, k->t, k->q, k->v, 0, kick);
    kick[N + NB] = broadcast(0);
    EACH(i, M) impulse[i] = broadcast(0);
    if (OPTION(0) == START_CONTINUOUS) {
        CALL(ACCELERATION, k->t, k->q, k->v, 0, a);
        EACH(i, M) impulse[i] = a[N + i] * (k->h / 2); /* l is minus the multiplier there */
    } else if (OPTION(0) == START_NEWMARK) {
        int status = newmark_impulse(k, kick, a, close, impulse);
        if (status)
            return status;
    }
    EACH(i, POSITIONS) impulse[M - POSITIONS + i] = broadcast(0); /* found in the step */
    EACH(i, N) NEXT_HALF[i] = fma_(broadcast(k->h / 2), kick[i], k->v[i]);
    add_B(k, NEXT_HALF, kick + N, impulse);
    return NH_KERNEL_OK;
}

APART static int step_on_surface(kernel *k)
{
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(carried, N);
    LOCAL(rest, N);
    EACH(i, N) carried[i] = NEXT_HALF[i] - k->v[i];
    const surface_step step = {
        .h = k->h,
        .t = k->t,
        .q0 = k->q,
        .v0 = k->v,
        .places = 2,
        .at = {{AT_START, ROWS_OF_POSITIONS, 0, 1, 1}, {AT_END, ROWS_ALL, 0.5, 0, 1}},
        .carried = carried};
    TRY_(surface_solve(k, &step, u, w, rest));
    EACH(i, N) NEXT_HALF[i] = (k->v[i] + w[i]) + rest[i];
    COMMIT(i, fma_(broadcast(k->h), u[i], k->q[i]), k->v[i] + w[i], u[i] * k->h, w[i]);
    return NH_KERNEL_OK;
}

static int step(kernel *k)
{
    if (POSITIONS > 0)
        return step_on_surface(k);
    const scalar h = k->h, t = k->t;
    LOCAL(pushed, N + NB); /* v1 before it satisfies the constraints; B */
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(half, N);
    LOCAL(step, 1);

    step[0] = broadcast(h / 2);
    EACH(i, N)
    {
        half[i] = NEXT_HALF[i];
        q[i] = fma_(broadcast(h), half[i], k->q[i]);
    }
    CALL(PUSH, t + h, q, half, step, pushed);
    CALL(PROJECT, t + h, q, pushed, pushed + N, v); /* the reaction of this solve does not move q */
    EACH(i, N) NEXT_HALF[i] = fma_(broadcast(2), v[i], -half[i]);
    COMMIT(i, q[i], v[i], half[i] * h, v[i] - k->v[i]);
    return NH_KERNEL_OK;
}

KERNEL(leapfrog, start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t memory(const nh_shape *s, const double *option)
{
    (void)option;
    return (size_t)s->n;
}

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    int of_start = 2 * s->n + 4 * s->m, of_step = 4 * s->n;
    return (size_t)(s->nb + 1 + (of_start > of_step ? of_start : of_step)) + surface_scratch(s);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    (void)option;
    return shape->positions > 0 ? NH_FN_BIT(PUSH) | NH_FN_BIT(PROJECT) : SURFACE_CALLS;
}

NH_METHOD(leapfrog) = {
    .name = "leapfrog",
    .summary = "explicit; the multiplier is carried from step to step",
    .reference = "Modin & Verdier 2020 (30), McLachlan & Perlmutter 2006",
    .formulas = "vh = v0 - h/2 M^-1 (gradV(q0) + A(q0)^T l0)\n"
                "q1 = q0 + h vh\n"
                "v1 = vh - h/2 M^-1 (gradV(q1) + A(q1)^T l1),   A(q1) v1 + b(q1) = 0\n"
                "l0 comes from the previous step; for conditions on positions, from g(q1) = 0",
    .option =
        {{.name = "start",
          .help =
              "the first multiplier: from the continuous equations, from a newmark step, or zero",
          .type = NH_OPTION_CHOICE,
          .standard = 0,
          .least = 0,
          .greatest = 2,
          .choices = "continuous|newmark|zero"}},
    .options = 1,
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,
    .without_composition = "it is symmetric together with its multiplier, which is part of the "
                           "state, but not in positions and velocities alone",
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .skips = skips,
    .memory = memory,
    .scratch = scratch,
};
#endif
