/* Gonzalez's discrete gradient applied to the whole energy, on the cotangent bundle.
 *
 *     z = (q, p),   H(q, p) = p.v - L(q, v) with p = dL/dv,   zm = (z0 + z1)/2
 *     q1 - q0 = h D_pH(z0, z1)
 *     p1 - p0 = -h D_qH(z0, z1) + A(qm)^T l,     A(qm) D_pH(z0, z1) = 0
 *
 * For any mass matrix M(q). The energy is preserved to round-off, since A D_pH = 0 removes the
 * multipliers from DH.(z1 - z0). Order 2. The constraint holds for the mean velocities of the steps
 * at the midpoints, not at the ends; as with dd, compositions therefore stay at order 2 and
 * symmetry is not claimed, though the step equals its adjoint. Celledoni, Farre Puiggali, Hoiseth &
 * Martin de Diego, eq. 15; Gonzalez (1996).
 *
 * The unknowns are velocities, so that p = dL/dv need not be solved for them: vm with p(qm,
 * vm) = pm, v1 with p(q1, v1) = p1, and u = (q1 - q0)/h = vm + kappa (p1 - p0). They are found by
 * fixed-point iteration, with M, the force and kappa of the previous iteration; each iteration
 * satisfies the constraint by means of the multiplier. */
#include "method/gonzalez.h"
#include "kernel/newton.h"

/* The values of a stage: p, F, k, K, B, and the factor c that CLOSE expects after B. */
#define BLOCK (2 * N + M + NK + NB + 1)
#define P(block) (block)
#define F(block) ((block) + N)
#define K(block) ((block) + 2 * N + M)
#define B(block) ((block) + 2 * N + M + NK)

/* What the iterations work on. The unknowns are u, vm, w = v1 - v0 and l. */
typedef struct unknowns {
    real *u, *vm, *w, *l;
} unknowns;
typedef struct places {
    const real *p0, *E0;
    real *stage, *node; /* blocks: at the midpoint, and at a node of the mean */
    real *end;          /* p, k, K at q1 */
    real *gyro;         /* energy and gyroscopic force at the midpoint */
    real *d, *r;        /* q1 - q0 and p1 - p0 */
    real *q, *v;
} places;

/* The numerator of kappa as a mean over the segment; v at (q, p) there is found by one step of
 * Newton's method, which is exact for kinetic energies quadratic in v. */
static inline int mean_numerator(kernel *k, const unknowns *x, const places *at, real *numerator)
{
    real *q = at->q, *v = at->v, *gap = at->end, *node = at->node, *stage = at->stage;
    *numerator = broadcast(0);
    for (int c = 0; c < MEAN_NODES; c++) {
        EACH(i, N)
        {
            q[i] = fma_(broadcast(MEAN_C[c]), at->d[i], k->q[i]);
            v[i] = fma_(broadcast(MEAN_C[c]), x->w[i], k->v[i]);
        }
        CALL(STAGE, k->t, q, v, 0, node);
        EACH(i, N) gap[i] = fma_(broadcast(MEAN_C[c]), at->r[i], at->p0[i] - P(node)[i]);
        CALL(SOLVE, k->t, q, v, gap, gap);
        EACH(i, N) v[i] = v[i] + gap[i];
        CALL(STAGE, k->t, q, v, 0, node);
        CALL(ENERGY, k->t, q, v, 0, at->end);
        EACH(i, N)
        {
            v[i] = v[i] - x->vm[i];
            q[i] = F(stage)[i] - (F(node)[i] - at->end[1 + i]);
        }
        real slope = dot(k, q, at->d, N) + dot(k, v, at->r, N);
        *numerator = fma_(broadcast(MEAN_B[c]), slope, *numerator);
    }
    return NH_KERNEL_OK;
}

/* The midpoint given by u and vm: its block, with F reduced to -dH/dq, and d. */
static inline int midpoint(kernel *k, const unknowns *x, const places *at)
{
    const scalar h = k->h;
    EACH(i, N)
    {
        at->d[i] = x->u[i] * h;
        at->q[i] = fma_(broadcast(h / 2), x->u[i], k->q[i]);
    }
    CALL(STAGE, k->t, at->q, x->vm, 0, at->stage);
    CALL(ENERGY, k->t, at->q, x->vm, 0, at->gyro);
    EACH(i, N) F(at->stage)[i] = F(at->stage)[i] - at->gyro[1 + i];
    return NH_KERNEL_OK;
}

static inline int find_kappa(kernel *k, const unknowns *x, const places *at, real *kappa)
{
    EACH(i, N)
    {
        at->q[i] = k->q[i] + at->d[i];
        at->v[i] = k->v[i] + x->w[i];
    }
    CALL(ENERGY, k->t, at->q, at->v, 0, at->end);
    real numerator =
        (at->end[0] - *at->E0) + dot(k, F(at->stage), at->d, N) - dot(k, x->vm, at->r, N);
    real square = dot(k, at->d, at->d, N) + dot(k, at->r, at->r, N), mean;
    const mask is_short = less(square, broadcast(SHORT_SQUARED));
    if (any(is_short)) {
        int status = mean_numerator(k, x, at, &mean);
        if (status)
            return status;
        numerator = select_(is_short, mean, numerator);
    }
    *kappa = kappa_of(numerator, square);
    return NH_KERNEL_OK;
}

/* h (F - kappa d + b) + K^T l, which must equal p1 - p0. The gyroscopic force b, if any, does no
 * work on vm; here it must do none on u, so the small amount it does is subtracted. */
static inline void impulse(kernel *k, const unknowns *x, const places *at, real kappa, real *out)
{
    const real *b = at->gyro + 1;
    const real work = kappa_of(dot(k, b, x->u, N), dot(k, x->u, x->u, N));
    EACH(i, N)
    {
        real force = fma_(-kappa, at->d[i], F(at->stage)[i]) + fma_(-work, x->u[i], b[i]);
        out[i] = force * k->h;
    }
    add_K(k, out, K(at->stage), x->l);
}

/* Finds w such that p(q1, v0 + w) = p0 + r. If momenta are M v with constant M, this is M w = r,
 * and w is not affected by the rounding of p. */
static inline int end_velocity(kernel *k, const unknowns *x, const places *at)
{
    if (SEPARABLE) {
        CALL(SOLVE, k->t, k->q, k->v, at->r, x->w);
        return NH_KERNEL_OK;
    }
    EACH(i, N)
    {
        at->q[i] = fma_(broadcast(k->h), x->u[i], k->q[i]);
        at->v[i] = k->v[i] + x->w[i];
    }
    CALL(END, k->t, at->q, at->v, 0, at->end);
    EACH(i, N) at->end[i] = (at->p0[i] - at->end[i]) + at->r[i];
    CALL(SOLVE, k->t, at->q, at->v, at->end, at->v);
    EACH(i, N) x->w[i] = x->w[i] + at->v[i];
    return NH_KERNEL_OK;
}

static inline int iterate(kernel *k, const unknowns *x, const places *at, real *gap, real *close)
{
    const scalar h = k->h;
    real *q = at->q, *v = at->v, *r = at->r, *stage = at->stage, kappa;
    int status = midpoint(k, x, at);
    if (!status)
        status = find_kappa(k, x, at, &kappa);
    if (status)
        return status;
    impulse(k, x, at, kappa, r);
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h / 2), x->u[i], k->q[i]);
        gap[i] = fma_(broadcast(0.5), r[i], at->p0[i] - P(stage)[i]);
    }
    CALL(SOLVE, k->t, q, x->vm, gap, v);
    EACH(i, N)
    {
        x->vm[i] = x->vm[i] + v[i];
        v[i] = fma_(kappa, r[i], x->vm[i]);
        q[i] = fma_(broadcast(h / 2), v[i], k->q[i]);
    }
    B(stage)[NB] = broadcast(h / 2);
    CALL(CLOSE, k->t, q, v, B(stage), close);
    EACH(j, M)
    {
        close[M + j] = close[j] * -2;
        close[j] = -close[j];
        x->l[j] = x->l[j] + close[M + j];
    }
    add_B(k, x->vm, B(stage), close);
    add_K(k, r, K(stage), close + M);
    EACH(i, N) x->u[i] = fma_(kappa, r[i], x->vm[i]);
    return end_velocity(k, x, at);
}

#ifdef NH_CAREFUL

static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const places *at = (const places *)work;
    real *own = (real *)x, kappa = broadcast(0);
    const unknowns y = {own, own + N, own + 2 * N, own + 3 * N};
    int status = midpoint(k, &y, at);
    EACH(i, N) at->r[i] = 2 * (P(at->stage)[i] - at->p0[i]);
    if (!status)
        status = find_kappa(k, &y, at, &kappa);
    if (status)
        return status;
    impulse(k, &y, at, kappa, r + N);
    EACH(i, N)
    {
        r[i] = y.vm[i] + kappa * at->r[i] - y.u[i];
        r[N + i] -= at->r[i];
        at->q[i] = k->q[i] + at->d[i];
        at->v[i] = k->v[i] + y.w[i];
    }
    CALL(END, k->t, at->q, at->v, 0, at->end);
    EACH(i, N) r[2 * N + i] = at->p0[i] + at->r[i] - at->end[i];
    EACH(i, N) at->q[i] = k->q[i] + k->h / 2 * y.u[i];
    CALL(CONSTRAINT, k->t, at->q, y.u, 0, r + 3 * N);
    return NH_KERNEL_OK;
}

static int newton(kernel *k, places *at, real *u, real *w)
{
    const int d = 3 * N + M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(newton_gap, d, 3 * N, space, at);
    EACH(i, d)
    {
        problem.x[i] = i < 2 * N ? k->v[i % N] : broadcast(0);
        problem.size[i] =
            i < 3 * N ? newton_velocity_size(k, i % N) : newton_impulse_size(k, B(at->stage));
    }
    int status = newton_solve(k, &problem);
    EACH(i, N)
    {
        u[i] = problem.x[i];
        w[i] = problem.x[2 * N + i];
    }
    return status;
}

#endif

static int step(kernel *k)
{
    const scalar h = k->h;
    LOCAL(first, N + M + NK); /* p, k, K at q0 */
    LOCAL(E0, 1 + N);
    LOCAL(gyro, 1 + N);
    LOCAL(stage, BLOCK);
    LOCAL(node, BLOCK);
    LOCAL(end, N + M + NK + 1);
    LOCAL(d, N);
    LOCAL(r, N);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(gap, N);
    LOCAL(close, 2 * M);
    LOCAL(l, M);
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(u_new, N);
    LOCAL(w_new, N);
    LOCAL(vm, N);
    places at = {first, E0, stage, node, end, gyro, d, r, q, v};
    const unknowns x = {u_new, vm, w_new, l};

    CALL(END, k->t, k->q, k->v, 0, first);
    CALL(ENERGY, k->t, k->q, k->v, 0, E0);
    EACH(j, M) l[j] = broadcast(0);
    EACH(i, N)
    {
        u[i] = u_new[i] = vm[i] = k->v[i];
        w[i] = w_new[i] = r[i] = broadcast(0);
    }
    coupled_convergence progress = coupled_velocities(k, -1);
    do {
        TRY_(iterate(k, &x, &at, gap, close));
        take_increments(k, &progress, -1, STRICT, k->v, u_new, w_new, u, w);
        if (has_failed(&progress, ITERATIONS_MAX)) {
            TRY_(BY_NEWTON(newton(k, &at, u, w), &progress.all));
            break;
        }
    } while (!has_converged(&progress));
    EACH(i, N)
    {
        d[i] = u[i] * h;
        q[i] = k->q[i] + d[i];
        v[i] = k->v[i] + w[i];
    }
    commit(k, q, v, d, w);
    return NH_KERNEL_OK;
}

KERNEL(gonzalez_f, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, nk = (size_t)s->nk, d = 3 * n + m;
    size_t block = 2 * n + m + nk + (size_t)s->nb + 1;
    (void)option;
    return 2 * (n + m + nk) + 3 + 2 * block + 12 * n + 3 * m + newton_scratch(d);
}

NH_METHOD(gonzalez_f) = {
    .name = "gonzalez-f",
    .summary =
        "discrete gradient of the energy in (q, p); preserves the energy, not the constraint",
    .reference = "Celledoni et al. (15), Gonzalez 1996",
    .formulas = "z = (q, p),   H = p.M(q)^-1 p/2 + V(q),   qm = (q0 + q1)/2\n"
                "q1 - q0 = h D_pH(z0, z1)\n"
                "p1 - p0 = -h D_qH(z0, z1) + A(qm)^T l,   A(qm) D_pH(z0, z1) = 0\n"
                "DH = gradH(zm) + (H(z1) - H(z0) - gradH(zm).d) d / |d|^2,   d = z1 - z0",
    .order = 2,
    .keeps = NH_KEEPS_ENERGY,
    .without_positions = "no constraint is preserved to round-off",
    .without_composition = "the constraint residual at the ends of steps changes sign from step to "
                           "step, so compositions stay at order 2",
    .needs = NH_NEEDS_LINEAR_CONSTRAINTS | NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE,
    .compensate = true,
    .scratch = scratch,
    .table_size = mean_table_size,
    .table = mean_table,
};
#endif
