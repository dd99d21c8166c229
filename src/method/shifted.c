/* DLA01 with the force and the reaction moved along the change of velocity.
 *
 *     qm = q0 + h/2 v0,   qf = qm + (1/4 - force) h (v1 - v0)
 *     q1 = qm + h/2 v1,   qc = qm + (1/4 - reaction) h (v1 - v0)
 *     M v1 = M v0 - h gradV(qf) + A(qc)^T l,    A(q1) v1 + b(q1) = 0
 *
 * Both points are (q0 + q1)/2 - c h (v1 - v0), with c = force and c = reaction: (1/4, 1/4) is
 * dla01, (0, 0) is gauss with one stage. Order 2, symmetric; preserves the constraints at every
 * node. With reaction = 1/8 the reaction acts where the driver of a coupled system is in the middle
 * of the step, and passengers with a quadratic potential do not drift at order h^2; with force =
 * 5/24 as well, no system with constant mass and linear constraints does (docs/theory.md). With
 * force = 1/4 there is one force evaluation per step, and a step is as explicit as one of dla01.
 *
 * Conditions on positions have impulses of their own at both ends, as in dla01; v0 and v1 above are
 * then the velocities after the first and before the second of them. */
#define STRAIGHT (REACTION_IS_LINEAR && POSITIONS == 0 && OPTION_IS_STANDARD(0))
#include "kernel/kernel.h"
#include "method/surface.h"

/* qf and qc are qm + these (v1 - v0). */
#define TO_FORCE ((0.25 - OPTION(0)) * k->h)
#define TO_REACTION ((0.25 - OPTION(1)) * k->h)
#define FORCE_IS_KNOWN (OPTION(0) == 0.25)

/* Room for the solution of a step whose reaction moves coordinates on which A depends. */
typedef struct parts {
    real *qm, *free; /* free: the velocity after the force alone */
    real *B, *l, *q, *next, *close, *step;
} parts;

/* The point at qm + c (v - v0). */
static inline void move_to(kernel *k, const real *qm, scalar c, const real *v, real *q)
{
    EACH_QUICKLY(i, N) q[i] = fma_(broadcast(c), v[i] - k->v[i], qm[i]);
}

static inline int evaluate(kernel *k, const parts *s, const real *v)
{
    const scalar t = k->t + k->h / 2;
    if (!FORCE_IS_KNOWN) {
        move_to(k, s->qm, TO_FORCE, v, s->q);
        CALL(FREE, t, s->q, k->v, s->step, s->free);
    }
    move_to(k, s->qm, TO_REACTION, v, s->q);
    CALL(REACT, t, s->q, k->v, 0, s->B);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL

/* x: v1, l. r: the residual of M^-1 times the equation for v1, and the constraints. */
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const parts *s = (const parts *)work;
    TRY_(evaluate(k, s, x));
    EACH(i, N) r[i] = broadcast(0);
    add_B(k, r, s->B, x + N);
    EACH(i, N)
    {
        r[i] = x[i] - (s->free[i] + r[i]);
        s->q[i] = fma_(k->h / 2, x[i], s->qm[i]);
    }
    CALL(CLOSE, k->t + k->h, s->q, x, s->B, s->close);
    EACH(i, M) r[N + i] = s->close[M + i];
    return NH_KERNEL_OK;
}

#endif

/* Force and reaction where the last v1 puts them, then the multiplier. The passengers of a coupled
 * system see the converged driver unchanged. */
static inline int iterate(kernel *k, const parts *s, coupled_convergence *progress, real *v)
{
    TRY_(evaluate(k, s, v));
    EACH(i, N) s->next[i] = s->free[i];
    add_B(k, s->next, s->B, s->l);
    EACH(i, N)
    if (i == DRIVER)
        s->next[i] = select_(progress->driver.active, s->next[i], v[i]);
    EACH(i, N) s->q[i] = fma_(broadcast(k->h / 2), s->next[i], s->qm[i]);
    CALL(CLOSE, k->t + k->h, s->q, s->next, s->B, s->close);
    EACH(i, M) s->close[i] = select_(progress->all.active, -s->close[i], broadcast(0));
    EACH(i, M) s->l[i] = s->l[i] + s->close[i];
    add_B(k, s->next, s->B, s->close);

    corrections sum = no_corrections();
    EACH(i, N) take(progress, &sum, i == DRIVER, s->next[i], abs_(s->next[i]), v + i);
    coupled_update(progress, 1, &sum);
    return NH_KERNEL_OK;
}

enum { ITERATIONS_MAX = 60 };

APART static int solve(kernel *k, const real *qm, real *free, real *step, real *v)
{
    LOCAL(B, NB + 1);
    LOCAL(l, M);
    LOCAL(q, N);
    LOCAL(next, N);
    LOCAL(close, 2 * M);
    const parts s = {(real *)qm, free, B, l, q, next, close, step};
    B[NB] = broadcast(k->h / 2);
    EACH(i, M) l[i] = broadcast(0);
    EACH(i, N) v[i] = free[i];
    coupled_convergence progress = coupled_velocities(k, DRIVER);
    do {
        TRY_(iterate(k, &s, &progress, v));
        if (has_failed(&progress, ITERATIONS_MAX)) {
            TRY_(BY_NEWTON(newton_velocity(k, newton_gap, &s, free, B, v, l), &progress.all));
            break;
        }
    } while (!has_converged(&progress));
    return NH_KERNEL_OK;
}

APART static int step_on_surface(kernel *k)
{
    const surface_step step = {.h = k->h,
                               .t = k->t,
                               .q0 = k->q,
                               .v0 = k->v,
                               .places = 4,
                               .at = {{AT_START, ROWS_OF_POSITIONS, 0, 1, 1},
                                      {AT_MIDDLE, ROWS_NONE, 1, 0.5, 1},
                                      {AT_MIDDLE, ROWS_OF_VELOCITIES, 0, 0.5, 1},
                                      {AT_END, ROWS_OF_POSITIONS, 0, 0, 1}},
                               .shift = {0, TO_FORCE, TO_REACTION, 0}};
    return surface_step_whole(k, &step);
}

static int step(kernel *k)
{
    if (POSITIONS > 0)
        return step_on_surface(k);
    const scalar h = k->h, t = k->t;
    LOCAL(qm, N);
    LOCAL(free, N);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(B, NB);
    LOCAL(step, 1);

    step[0] = broadcast(h);
    EACH_QUICKLY(i, N) qm[i] = fma_(broadcast(h / 2), k->v[i], k->q[i]);
    CALL(FREE, t + h / 2, qm, k->v, step, free);
    if (REACTION_IS_LINEAR && FORCE_IS_KNOWN) {
        /* What A depends on is not moved by the reaction, so it is known at qc and q1. */
        LOCAL(end, N);
        EACH_QUICKLY(i, N)
        {
            q[i] = fma_(broadcast(TO_REACTION), free[i] - k->v[i], qm[i]);
            end[i] = fma_(broadcast(h / 2), free[i], qm[i]);
        }
        CALL(REACT, t + h / 2, q, k->v, 0, B);
        CALL(PROJECT, t + h, end, free, B, v);
    } else
        TRY_(solve(k, qm, free, step, v));
    COMMIT(i, fma_(broadcast(h / 2), v[i], qm[i]), v[i], (k->v[i] + v[i]) * (h / 2),
           v[i] - k->v[i]);
    return NH_KERNEL_OK;
}

KERNEL(shifted, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    const size_t n = (size_t)s->n, m = (size_t)s->m, nb = (size_t)s->nb;
    if (s->positions > 0)
        return 2 * n + surface_scratch(s);
    return 7 * n + 2 * nb + 2 + 3 * m + newton_scratch(n + m);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    const nh_fn_set of_steps = NH_FN_BIT(FREE) | NH_FN_BIT(REACT);
    if (shape->positions > 0)
        return of_steps | NH_FN_BIT(PROJECT) | NH_FN_BIT(CLOSE);
    return SURFACE_CALLS | NH_FN_BIT(KICK) |
           (shape->reaction_is_linear && option[0] == 0.25 ? NH_FN_BIT(CLOSE) : NH_FN_BIT(PROJECT));
}

NH_METHOD(shifted) = {
    .name = "shifted",
    .summary = "dla01 with the reaction where passengers do not drift; one force evaluation",
    .reference = "docs/theory.md; with force = reaction = 1/4, dla01",
    .formulas =
        "qm = q0 + h/2 v0,   qf = qm + (1/4 - force) h (v1 - v0),   qc = qm + (1/4 - reaction) h "
        "(v1 - v0)\n"
        "M v1 = M v0 - h gradV(qf) + A(qc)^T l,   A(q1) v1 + b(q1) = 0\n"
        "q1 = qm + h/2 v1\n"
        "conditions on positions, A being the other constraints:\n"
        "v+ = v0 + M^-1 G(q0)^T mu0,   v- = the v1 above from v+,   v1 = v- + M^-1 G(q1)^T mu1,\n"
        "g(q1) = 0,   (A, G)(q1) v1 + b(q1) = 0",
    .option = {{.name = "force",
                .help = "where the force acts: (q0 + q1)/2 - force h (v1 - v0); 1/4 is explicit, "
                        "5/24 loses less energy if V is not quadratic",
                .type = NH_OPTION_REAL,
                .standard = 0.25,
                .least = -0.25,
                .greatest = 0.5},
               {.name = "reaction",
                .help = "where the reaction acts, in the same way; passengers drift unless 1/8",
                .type = NH_OPTION_REAL,
                .standard = 0.125,
                .least = -0.25,
                .greatest = 0.5}},
    .options = 2,
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .skips = skips,
    .scratch = scratch,
};
#endif
