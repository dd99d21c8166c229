/* DD: the trapezium rule with a discrete derivative of the potential and the constraint at the
 * midpoint.
 *
 *     q1 = q0 + h u,   u = (v0 + v1)/2,   qm = (q0 + q1)/2
 *     M (v1 - v0) = -h DV(q0, q1) + A(qm)^T l,     A(qm) u = 0
 *
 * DV is Gonzalez's discrete gradient. Multiplied by u, the second line shows that the energy is
 * preserved to round-off. Order 2. The constraint holds at the midpoints of the steps, not at their
 * ends, where its residual changes sign from step to step. So the step equals its adjoint, but off
 * the constraint it does not approximate a smooth flow: compositions preserve the energy but stay
 * at order 2 (measured), and symmetry is not claimed. Modin & Verdier (2020), appendix A.3;
 * Gonzalez (1996).
 *
 * Solved by fixed-point iteration in the force; each iteration satisfies the constraint by means of
 * the multiplier. */
#include "method/gonzalez.h"
#include "kernel/newton.h"

/* The numerator of kappa as a mean over the segment. slope is gradV(qm); point holds 1 + 2 N. */
static inline int mean_numerator(kernel *k, const real *d, const real *slope, real *point,
                                 real *numerator)
{
    real *V = point, *q = point + 1 + N;
    *numerator = broadcast(0);
    for (int c = 0; c < MEAN_NODES; c++) {
        EACH(i, N) q[i] = fma_(broadcast(MEAN_C[c]), d[i], k->q[i]);
        CALL(POTENTIAL, k->t, q, k->v, 0, V);
        EACH(i, N) V[1 + i] = V[1 + i] - slope[i];
        *numerator = fma_(broadcast(MEAN_B[c]), dot(k, V + 1, d, N), *numerator);
    }
    return NH_KERNEL_OK;
}

/* f = -h DV for q1 = q0 + h u; B at qm. */
static inline int force(kernel *k, const real *V0, const real *u, real *kick, real *mean,
                        real *point, real *d, real *f)
{
    const scalar h = k->h;
    real *V = mean, *slope = mean + 1, *q = point + 1 + N;
    EACH(i, N)
    {
        d[i] = u[i] * h;
        q[i] = fma_(broadcast(h / 2), u[i], k->q[i]);
    }
    CALL(KICK, k->t, q, u, 0, kick);
    CALL(POTENTIAL, k->t, q, u, 0, mean);
    EACH(i, N) q[i] = k->q[i] + d[i];
    CALL(POTENTIAL, k->t, q, u, 0, point);
    real square = dot(k, d, d, N), numerator = (point[0] - *V0) - dot(k, slope, d, N);
    const mask is_short = less(square, broadcast(SHORT_SQUARED));
    if (any(is_short)) {
        int status = mean_numerator(k, d, slope, point, V);
        if (status)
            return status;
        numerator = select_(is_short, *V, numerator);
    }
    const real kappa = kappa_of(numerator, square);
    EACH(i, N) f[i] = fma_(kappa, d[i], slope[i]) * -h;
    return NH_KERNEL_OK;
}

/* One iteration: w = v1 - v0 from the force for the current u, with the constraint satisfied at the
 * new midpoint. */
static inline int iterate(kernel *k, const real *V0, real *kick, real *mean, real *point, real *d,
                          real *u, real *w, real *l, real *close)
{
    const scalar h = k->h;
    real *B = kick + N, *q = point + 1 + N;
    int status = force(k, V0, u, kick, mean, point, d, w);
    if (status)
        return status;
    CALL(SOLVE, k->t, k->q, k->v, w, w);
    add_B(k, w, B, l);
    EACH(i, N)
    {
        u[i] = fma_(broadcast(0.5), w[i], k->v[i]);
        q[i] = fma_(broadcast(h / 2), u[i], k->q[i]);
    }
    B[NB] = broadcast(h / 2);
    CALL(CLOSE, k->t, q, u, B, close);
    EACH(j, M)
    {
        close[M + j] = close[j] * -2;
        close[j] = -close[j];
        l[j] = l[j] + close[M + j];
    }
    add_B(k, u, B, close);
    add_B(k, w, B, close + M);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL

/* What newton_gap needs besides its unknowns. */
typedef struct dd_work {
    const real *V0;
    real *kick, *mean, *point, *d, *u;
} dd_work;

/* Unknowns: w = v1 - v0, l. */
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const dd_work *c = (const dd_work *)work;
    EACH(i, N) c->u[i] = k->v[i] + x[i] / 2;
    int status = force(k, c->V0, c->u, c->kick, c->mean, c->point, c->d, r);
    if (status)
        return status;
    CALL(SOLVE, k->t, k->q, k->v, r, r);
    EACH(i, N) r[i] -= x[i];
    add_B(k, r, c->kick + N, x + N);
    real *q = c->point + 1 + N;
    EACH(i, N) q[i] = k->q[i] + k->h / 2 * c->u[i];
    CALL(CONSTRAINT, k->t, q, c->u, 0, r + N);
    return NH_KERNEL_OK;
}

static int newton(kernel *k, const dd_work *c, real *w)
{
    const int d = N + M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(newton_gap, d, N, space, (void *)c);
    EACH(i, d)
    {
        problem.x[i] = broadcast(0);
        problem.size[i] = i < N ? newton_velocity_size(k, i) : newton_impulse_size(k, c->kick + N);
    }
    int status = newton_solve(k, &problem);
    EACH(i, N)
    {
        w[i] = problem.x[i];
        c->u[i] = k->v[i] + w[i] / 2;
    }
    return status;
}

#endif

static int step(kernel *k)
{
    const scalar h = k->h;
    LOCAL(kick, N + NB + 1);
    LOCAL(mean, 1 + N);      /* V and gradV at qm */
    LOCAL(point, 1 + 2 * N); /* V and gradV at another point; that point */
    LOCAL(V0, 1 + N);
    LOCAL(d, N);
    LOCAL(l, M);
    LOCAL(close, 2 * M);
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(u_new, N);
    LOCAL(w_new, N);

    CALL(POTENTIAL, k->t, k->q, k->v, 0, V0);
    EACH(j, M) l[j] = broadcast(0);
    EACH(i, N)
    {
        u[i] = u_new[i] = k->v[i];
        w[i] = broadcast(0);
    }
    coupled_convergence progress = coupled_velocities(k, -1);
    do {
        TRY_(iterate(k, V0, kick, mean, point, d, u_new, w_new, l, close));
        take_increments(k, &progress, -1, STRICT, k->v, u_new, w_new, u, w);
        if (has_failed(&progress, ITERATIONS_MAX)) {
#ifdef NH_CAREFUL
            const dd_work work = {V0, kick, mean, point, d, u};
#endif
            TRY_(BY_NEWTON(newton(k, &work, w), &progress.all));
            break;
        }
    } while (!has_converged(&progress));
    EACH(i, N)
    {
        d[i] = u[i] * h;
        u_new[i] = k->q[i] + d[i];
        w_new[i] = k->v[i] + w[i];
    }
    commit(k, u_new, w_new, d, w);
    return NH_KERNEL_OK;
}

KERNEL(dd, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, d = n + m;
    (void)option;
    return 10 * n + (size_t)s->nb + 4 + 3 * m + newton_scratch(d);
}

NH_METHOD(dd) = {
    .name = "dd",
    .summary = "preserves the energy; the constraint holds at the midpoints of the steps",
    .reference = "Modin & Verdier 2020 A.3, Gonzalez 1996",
    .formulas = "q1 = q0 + h (v0 + v1)/2,   qm = (q0 + q1)/2\n"
                "M (v1 - v0) = -h DV(q0, q1) + A(qm)^T l,   A(qm) (v0 + v1) = 0\n"
                "DV = gradV(qm) + (V(q1) - V(q0) - gradV(qm).d) d / |d|^2,   d = q1 - q0",
    .order = 2,
    .keeps = NH_KEEPS_ENERGY,
    .without_positions = "the constraints hold only in the middle of a step",
    .without_composition = "the constraint residual at the ends of steps changes sign from step to "
                           "step, so compositions stay at order 2",
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_SEPARABLE | NH_NEEDS_LINEAR_CONSTRAINTS |
             NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE,
    .compensate = true,
    .scratch = scratch,
    .table_size = mean_table_size,
    .table = mean_table,
};
#endif
