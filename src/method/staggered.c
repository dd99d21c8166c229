/* Verlet's method with half the step, in which the reaction acts at the node in the middle only and
 * the constraints hold at the nodes at the ends.
 *
 *     a  = v0 - h/4 M^-1 gradV(q0),                        qm = q0 + h/2 a
 *     b  = a  - h/2 M^-1 gradV(qm) + M^-1 A(qm)^T l,       q1 = qm + h/2 b
 *     v1 = b  - h/4 M^-1 gradV(q1),    A(q1) v1 + b(q1) = 0
 *
 * Order 2, symmetric; preserves the constraints at every node. The passengers of a coupled system
 * with a definite quadratic potential do not drift at any order in h (docs/theory.md): the nodes
 * and the points where the reaction acts are alternate nodes of one orbit of the driver. With
 * passengers=whole their force acts in the middle of the step, too, as in dla01,
 *
 *     xm = x0 + h/2 u0,   M u1 = M u0 - h gradU(xm) + A(qm)^T l,   x1 = xm + h/2 u1
 *
 * which has the same property and is explicit. Conditions on positions have impulses of their own
 * at both ends: v0 and v1 above are then the velocities after the first and before the second. */
#define STRAIGHT (OPTION_INT(0) == 1)
#include "kernel/kernel.h"
#include "method/surface.h"

enum { PASSENGERS_HALVES, PASSENGERS_WHOLE };

/* What is known before solving for (v1, l), and room for the rest. */
typedef struct parts {
    real *a, *qm, *free, *B; /* free: b without the reaction; B at qm, then h/2 */
    real *quarter;           /* h/4 */
    real *l, *q, *b, *v, *close;
} parts;

/* v1 and q1 with the reaction l, and how far v1 is from the constraints. */
static inline int finish(kernel *k, const parts *s, const real *l)
{
    const scalar t1 = k->t + k->h;
    EACH(i, N) s->b[i] = s->free[i];
    add_B(k, s->b, s->B, l);
    EACH(i, N) s->q[i] = fma_(broadcast(k->h / 2), s->b[i], s->qm[i]);
    CALL(FREE, t1, s->q, s->b, s->quarter, s->v);
    CALL(CLOSE, t1, s->q, s->v, s->B, s->close);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL

/* x: v1, l. */
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const parts *s = (const parts *)work;
    TRY_(finish(k, s, x + N));
    EACH(i, N) r[i] = x[i] - s->v[i];
    EACH(i, M) r[N + i] = s->close[M + i];
    return NH_KERNEL_OK;
}

static int newton(kernel *k, const parts *s, real *u, real *w)
{
    TRY_(newton_velocity(k, newton_gap, s, s->free, s->B, w, s->l));
    TRY_(finish(k, s, s->l));
    EACH(i, N)
    {
        u[i] = (s->a[i] + s->b[i]) / 2;
        w[i] = w[i] - k->v[i];
    }
    return NH_KERNEL_OK;
}

#endif

/* The reaction moves q1, and with it the force there: solved by iteration. */
static inline int iterate(kernel *k, const parts *s, mask active, real *u_new, real *w_new)
{
    TRY_(finish(k, s, s->l));
    EACH(i, M) s->close[i] = select_(active, -s->close[i], broadcast(0));
    EACH(i, M) s->l[i] = s->l[i] + s->close[i];
    add_B(k, s->b, s->B, s->close);
    add_B(k, s->v, s->B, s->close);
    EACH(i, N)
    {
        u_new[i] = (s->a[i] + s->b[i]) * 0.5;
        w_new[i] = s->v[i] - k->v[i];
    }
    return NH_KERNEL_OK;
}

enum { ITERATIONS_MAX = 60 };

/* u = (q1 - q0)/h and w = v1 - v0. A change of l may change only one of them. */
static inline int solve(kernel *k, const parts *s, real *u, real *w)
{
    LOCAL(u_new, N);
    LOCAL(w_new, N);
    EACH(i, N)
    {
        u[i] = k->v[i];
        w[i] = broadcast(0);
    }
    coupled_convergence progress = coupled_velocities(k, DRIVER);
    do {
        TRY_(iterate(k, s, progress.all.active, u_new, w_new));
        take_increments(k, &progress, DRIVER, 1, k->v, u_new, w_new, u, w);
        if (M == 0)
            break;
        if (has_failed(&progress, ITERATIONS_MAX)) {
            TRY_(BY_NEWTON(newton(k, s, u, w), &progress.all));
            break;
        }
    } while (!has_converged(&progress));
    return NH_KERNEL_OK;
}

APART static int step_in_halves(kernel *k)
{
    const scalar h = k->h;
    LOCAL(steps, 2); /* h/4, h/2 */
    LOCAL(a, N);
    LOCAL(qm, N);
    LOCAL(free, N + NB + 1);
    LOCAL(l, M);
    LOCAL(q, N);
    LOCAL(b, N);
    LOCAL(v, N);
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(close, 2 * M);
    const parts s = {a, qm, free, free + N, steps, l, q, b, v, close};

    steps[0] = broadcast(h / 4);
    steps[1] = broadcast(h / 2);
    CALL(FREE, k->t, k->q, k->v, steps, a);
    EACH(i, N) qm[i] = fma_(broadcast(h / 2), a[i], k->q[i]);
    CALL(PUSH, k->t + h / 2, qm, a, steps + 1, free);
    free[N + NB] = broadcast(h / 2);
    EACH(i, M) l[i] = broadcast(0);
    TRY_(solve(k, &s, u, w));
    COMMIT(i, fma_(broadcast(h), u[i], k->q[i]), k->v[i] + w[i], u[i] * h, w[i]);
    return NH_KERNEL_OK;
}

/* Two halves for the driver, which the reaction does not move, and one whole step for the others:
 * the forces of the first and the last node act on the driver alone. */
static inline int step_of_coupled(kernel *k)
{
    const scalar h = k->h, t = k->t;
    LOCAL(quarter, 1);
    LOCAL(a, N);
    LOCAL(qm, N);
    LOCAL(kick, N + NB);
    LOCAL(free, N);
    LOCAL(q, N);
    LOCAL(end, N);
    LOCAL(v, N);

    quarter[0] = broadcast(h / 4);
    CALL(FREE, t, k->q, k->v, quarter, a);
    EACH(i, N) a[i] = i == DRIVER ? a[i] : k->v[i];
    EACH(i, N) qm[i] = fma_(broadcast(h / 2), a[i], k->q[i]);
    CALL(KICK, t + h / 2, qm, k->v, 0, kick);
    EACH(i, N) free[i] = fma_(broadcast(i == DRIVER ? h / 2 : h), kick[i], a[i]);
    EACH(i, N) q[i] = fma_(broadcast(h / 2), free[i], qm[i]);
    CALL(FREE, t + h, q, free, quarter, end);
    EACH(i, N) end[i] = i == DRIVER ? end[i] : free[i];
    CALL(PROJECT, t + h, q, end, kick + N, v);
    EACH(i, N) free[i] = i == DRIVER ? free[i] : v[i];
    COMMIT(i, fma_(broadcast(h / 2), free[i], qm[i]), v[i], (a[i] + free[i]) * (h / 2),
           v[i] - k->v[i]);
    return NH_KERNEL_OK;
}

APART static int step_on_surface(kernel *k)
{
    const surface_step step = {.h = k->h,
                               .t = k->t,
                               .q0 = k->q,
                               .v0 = k->v,
                               .places = 3,
                               .at = {{AT_START, ROWS_OF_POSITIONS, 0.25, 1, 1},
                                      {AT_MIDDLE, ROWS_OF_VELOCITIES, 0.5, 0.5, 1},
                                      {AT_END, ROWS_OF_POSITIONS, 0.25, 0, 1}}};
    return surface_step_whole(k, &step);
}

static int step(kernel *k)
{
    if (OPTION_INT(0) == PASSENGERS_WHOLE)
        return step_of_coupled(k);
    return POSITIONS > 0 ? step_on_surface(k) : step_in_halves(k);
}

KERNEL(staggered, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    const size_t n = (size_t)s->n, m = (size_t)s->m, nb = (size_t)s->nb;
    if (option[0] == PASSENGERS_WHOLE)
        return 7 * n + n + nb + 1;
    if (s->positions > 0)
        return 2 * n + surface_scratch(s);
    return 10 * n + nb + 3 + 3 * m + newton_scratch(n + m);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    const nh_fn_set iterated = NH_FN_BIT(PUSH) | NH_FN_BIT(CLOSE);
    if (option[0] == PASSENGERS_WHOLE)
        return iterated | SURFACE_CALLS;
    if (shape->positions > 0)
        return iterated | NH_FN_BIT(FREE) | NH_FN_BIT(PROJECT);
    return SURFACE_CALLS | NH_FN_BIT(KICK) | NH_FN_BIT(PROJECT);
}

static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION;
    return option[0] == PASSENGERS_WHOLE ? always : always | NH_KEEPS_POSITIONS;
}

static unsigned needs_of(const double *option)
{
    unsigned always = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE;
    return option[0] == PASSENGERS_WHOLE ? always | NH_NEEDS_COUPLED : always;
}

NH_METHOD(staggered) = {
    .name = "staggered",
    .summary = "two half steps of Verlet; the reaction acts between them: passengers do not drift",
    .reference = "docs/theory.md",
    .formulas = "a  = v0 - h/4 M^-1 gradV(q0),                     qm = q0 + h/2 a\n"
                "b  = a  - h/2 M^-1 gradV(qm) + M^-1 A(qm)^T l,    q1 = qm + h/2 b\n"
                "v1 = b  - h/4 M^-1 gradV(q1),   A(q1) v1 + b(q1) = 0\n"
                "passengers=whole (of a coupled system): their force acts at qm alone,\n"
                "xm = x0 + h/2 u0,   M u1 = M u0 - h gradU(xm) + A(qm)^T l,   x1 = xm + h/2 u1\n"
                "conditions on positions, A being the other constraints:\n"
                "v+ = v0 + M^-1 G(q0)^T mu0,   v- = the v1 above from v+,   v1 = v- + M^-1 G(q1)^T "
                "mu1,\n"
                "g(q1) = 0,   (A, G)(q1) v1 + b(q1) = 0",
    .option = {{.name = "passengers",
                .help = "of a coupled system: in halves, as the driver, or in whole steps, which "
                        "are explicit",
                .type = NH_OPTION_CHOICE,
                .standard = 0,
                .least = 0,
                .greatest = 1,
                .choices = "halves|whole"}},
    .options = 1,
    .order = 2,
    .keeps_of = keeps_of,
    .without_positions = "coupled systems have none",
    .needs_of = needs_of,
    .skips = skips,
    .scratch = scratch,
};
#endif
