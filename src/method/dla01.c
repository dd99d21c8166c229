/* DLA01: the reversible discrete Lagrange-d'Alembert step of McLachlan and Perlmutter.
 *
 *     qm = q0 + h/2 v0
 *     M v1 = M v0 - h gradV(qm) + A(qm)^T l,    A(q1) v1 + b(q1) = 0
 *     q1 = qm + h/2 v1
 *
 * Order 2, symmetric; preserves the constraints at every node; one force evaluation per step.
 * Conditions on positions have impulses of their own at both ends (A then stands for the other
 * constraints):
 *
 *     v+ = v0 + M^-1 G(q0)^T mu0,   v- = the v1 above from v+,   v1 = v- + M^-1 G(q1)^T mu1
 *     g(q1) = 0,   (A, G)(q1) v1 + b(q1) = 0
 *
 * Modin & Verdier (2020), eq. 29; Jay (2009), eq. 7.3. */
#define STRAIGHT (REACTION_IS_LINEAR && POSITIONS == 0)
#include "kernel/kernel.h"
#include "method/surface.h"

/* Solves for the multipliers where they move coordinates on which the constraints depend:
 * repeatedly, until v has converged. */
APART static int iterate(kernel *k, scalar t1, const real *qm, const real *B, real *q, real *v)
{
    LOCAL(close, 2 * M); /* correction of the multipliers, residual */
    LOCAL(change, N);
    for (convergence progress = convergence_begin();;) {
        EACH(i, N) q[i] = fma_(broadcast(k->h / 2), v[i], qm[i]);
        CALL(CLOSE, t1, q, v, B, close);
        EACH(i, M) close[i] = -close[i];
        EACH(i, N) change[i] = broadcast(0);
        add_B(k, change, B, close);
        EACH(i, N) v[i] = select_(progress.active, v[i] + change[i], v[i]);
        convergence_update(&progress, largest(k, change, N), largest(k, v, N));
        if (!any(progress.active))
            return NH_KERNEL_OK;
        if (progress.iteration >= 30)
            return not_converged(k, &progress);
    }
}

APART static int step_on_surface(kernel *k)
{
    const surface_step step = {.h = k->h,
                               .t = k->t,
                               .q0 = k->q,
                               .v0 = k->v,
                               .places = 3,
                               .at = {{AT_START, ROWS_OF_POSITIONS, 0, 1, 1},
                                      {AT_MIDDLE, ROWS_OF_VELOCITIES, 1, 0.5, 1},
                                      {AT_END, ROWS_OF_POSITIONS, 0, 0, 1}}};
    return surface_step_whole(k, &step);
}

static int step(kernel *k)
{
    if (POSITIONS > 0)
        return step_on_surface(k);
    const scalar h = k->h, t = k->t;
    LOCAL(pushed, N + NB + 1); /* v after the force, not yet on the constraints; B; h/2 */
    LOCAL(qm, N);
    LOCAL(q, N);
    LOCAL(projected, N);
    LOCAL(step, 1);
    real *B = pushed + N, *v = REACTION_IS_LINEAR ? projected : pushed;

    step[0] = broadcast(h);
    EACH_QUICKLY(i, N) qm[i] = fma_(broadcast(h / 2), k->v[i], k->q[i]);
    CALL(PUSH, t + h / 2, qm, k->v, step, pushed);

    /* The multiplier moves v along M^-1 A(qm)^T until A(q1) v = 0. This is linear, and one solve is
     * exact, unless it also moves the coordinates on which A depends. */
    if (REACTION_IS_LINEAR) {
        EACH_QUICKLY(i, N) q[i] = fma_(broadcast(h / 2), pushed[i], qm[i]);
        CALL(PROJECT, t + h, q, pushed, B, projected);
    } else {
        B[NB] = broadcast(h / 2);
        TRY_(iterate(k, t + h, qm, B, q, pushed));
    }
    if (!COMPENSATED) { /* separate code, because most steps take this branch and are short */
        EACH_QUICKLY(i, N)
        {
            k->q[i] = fma_(broadcast(h / 2), v[i], qm[i]);
            k->v[i] = v[i];
        }
        return NH_KERNEL_OK;
    }
    COMMIT(i, fma_(broadcast(h / 2), v[i], qm[i]), v[i], (k->v[i] + v[i]) * (h / 2),
           v[i] - k->v[i]);
    return NH_KERNEL_OK;
}

KERNEL(dla01, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    if (s->positions > 0)
        return 2 * (size_t)s->n + surface_scratch(s);
    return (size_t)(5 * s->n + s->nb + 2 + 2 * s->m);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    (void)option;
    if (shape->positions > 0)
        return NH_FN_BIT(PUSH) | NH_FN_BIT(PROJECT) | NH_FN_BIT(CLOSE);
    return SURFACE_CALLS | NH_FN_BIT(KICK) |
           (shape->reaction_is_linear ? NH_FN_BIT(CLOSE) : NH_FN_BIT(PROJECT));
}

NH_METHOD(dla01) = {
    .name = "dla01",
    .summary = "half a step of dla(0), then half a step of dla(1); one force evaluation",
    .reference = "Modin & Verdier 2020 (29), Jay 2009 (7.3), McLachlan & Perlmutter 2006",
    .formulas = "qm = q0 + h/2 v0\n"
                "M v1 = M v0 - h gradV(qm) + A(qm)^T l,   A(q1) v1 + b(q1) = 0\n"
                "q1 = qm + h/2 v1\n"
                "conditions on positions, A being the other constraints:\n"
                "v+ = v0 + M^-1 G(q0)^T mu0,   v- = the v1 above from v+,   v1 = v- + M^-1 G(q1)^T "
                "mu1,\n"
                "g(q1) = 0,   (A, G)(q1) v1 + b(q1) = 0",
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .skips = skips,
    .scratch = scratch,
};
#endif
