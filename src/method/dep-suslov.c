/* The discrete Euler-Poincare-Suslov equations with the Cayley map, on R^k x SO(3)^b.
 *
 *     D(h xi) I xi = I xi0 + h/2 (f(q0) + A(q0)^T l0),      A(qm) xi + b = 0
 *     q1 = q0 cay(h xi),   qm half way on the geodesic from q0 to q1
 *     I xi1 = D(-h xi) I xi + h/2 (f(q1) + A(q1)^T l1),     A(q1) xi1 + b = 0
 *
 * with xi = (x', body rates), I the constant inertia, D(e) = 1 + e^/2 + e e^T/4 on rotations (the
 * transpose of the inverse tangent of the Cayley map) and D = 1 elsewhere. Symmetric, order 2.
 * Preserves the constraints and |p| = 1 at every node, and spatial momenta: without constraints it
 * is variational. Fedorov & Zenkov (2005); Anahory Simoes, Ferraro, Marrero & Martin de Diego.
 *
 * The accelerations a(q, xi) = I^-1 (f - xi x I xi) contain the skew part of D, and so
 *
 *     xi  = xi0 + h/2 a(q0, xi) - c + reaction,   xi1 = xi + h/2 a(q1, xi) + c + reaction
 *     c   = h^2/4 I^-1 w (w.I xi)  on rotations,
 *
 * which also determines where velocity-dependent forces are evaluated. The first equation is solved
 * by fixed-point iteration, the second is linear. */
#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "method/attitudes.h"

enum { ITERATIONS_MAX = 60 };

typedef struct suslov_work {
    const real *xi0;
    real *q;                            /* N: the middle, then the end */
    real *kick, *end;                   /* what KICK gives at an end, and END at q */
    real *bend, *moved, *v, *x;         /* N: c, what an iteration makes of xi, for a moment */
    real *rows, *l, *matrix, *w, *beta; /* M, MA, MA^2, MA^2, MA: the constraints' equations */
} suslov_work;

/* The momentum p that END gave at q, and the velocity xi there: s->bend = c */
static inline int find_bend(kernel *k, const suslov_work *s, const real *xi)
{
    EACH(i, N) s->x[i] = broadcast(0);
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        const real *half_rate = xi + at + 1;
        real momentum[3], along[3];
        vector_part(s->q + at, s->end + at, momentum);
        const real scale = dot_(3, half_rate, momentum) * (k->h * k->h);
        for (int i = 0; i < 3; i++)
            along[i] = half_rate[i] * scale;
        quaternion_times(s->q + at, broadcast(0), along, s->x + at);
    }
    CALL(SOLVE, k->t + k->h / 2, s->q, s->v, s->x, s->bend);
    to_body(k, s->q, s->bend, s->bend);
    return NH_KERNEL_OK;
}

/* s->x = the velocity that the multipliers s->rows make at q0 or q1, where KICK was called */
static inline void reaction(kernel *k, const suslov_work *s, const real *from)
{
    EACH(i, N) s->x[i] = broadcast(0);
    add_B(k, s->x, s->kick + N, s->rows);
    to_body(k, from, s->x, s->x);
}

/* s->rows += K x at q, for the velocity s->x */
static inline void apply_rows(kernel *k, const suslov_work *s)
{
    to_velocity(k, s->q, s->x, s->v);
    apply_K(k, s->rows, s->end + N + M, s->v);
}

/* change += the reaction at `from` that makes `base` + change satisfy the constraints at q, where
 * END was called with the velocity `there`. */
static inline void constrain(kernel *k, const suslov_work *s, const real *from, const real *there,
                             const real *base, real *change)
{
    if (MA == 0)
        return;
    for (int c = 0; c < MA; c++) {
        EACH(d, M) s->rows[d] = broadcast(d == c);
        reaction(k, s, from);
        EACH(d, M) s->rows[d] = broadcast(0);
        apply_rows(k, s);
        EACH(d, MA) s->matrix[d * MA + c] = s->rows[d];
    }
    orthogonal_factor(MA, s->matrix, s->w, s->beta);
    EACH(i, N) s->x[i] = (base[i] - there[i]) + change[i];
    EACH(d, M) s->rows[d] = s->end[N + d];
    apply_rows(k, s);
    EACH(d, MA) s->l[d] = -s->rows[d];
    orthogonal_solve(MA, s->matrix, s->w, s->beta, s->l);
    EACH(d, M) s->rows[d] = d < MA ? s->l[d] : broadcast(0);
    reaction(k, s, from);
    EACH(i, N) change[i] = change[i] + s->x[i];
}

/* s->moved: xi - xi0 by the first equation, from xi */
static inline int iterate(kernel *k, const suslov_work *s, const real *xi)
{
    const scalar h = k->h;
    move(k, LIE_CAYLEY, h, k->q, xi, 0.5, s->q);
    to_velocity(k, s->q, xi, s->v);
    CALL(END, k->t + h / 2, s->q, s->v, 0, s->end);
    TRY_(find_bend(k, s, xi));
    to_velocity(k, k->q, xi, s->v);
    CALL(KICK, k->t, k->q, s->v, 0, s->kick);
    to_body(k, k->q, s->kick, s->x);
    EACH(i, N)
    s->moved[i] = fma_(broadcast(h / 2), s->x[i], -s->bend[i]);
    constrain(k, s, k->q, xi, s->xi0, s->moved);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    suslov_work *s = (suslov_work *)work;
    int status = iterate(k, s, x);
    EACH(i, N) r[i] = x[i] - (s->xi0[i] + s->moved[i]);
    return status;
}

static int newton(kernel *k, suslov_work *s, real *xi)
{
    if (newton_scratch((size_t)(N)) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)(N)));
    newton_problem problem = newton_begin(newton_gap, N, N, space, s);
    EACH(i, N)
    {
        problem.x[i] = s->xi0[i];
        problem.size[i] = newton_velocity_size(k, i);
    }
    int status = newton_solve(k, &problem);
    EACH(i, N) xi[i] = problem.x[i];
    if (!status) /* leaves what the end of the step needs */
        status = iterate(k, s, xi);
    RELEASE(k);
    return status;
}
#endif

/* Lanes that have converged keep what their last iteration left for the end of the step. */
static inline int fixed_point(kernel *k, suslov_work *s, real *xi)
{
    LOCAL(kept, 2 * N);
    EACH(i, 2 * N) kept[i] = broadcast(0);
    coupled_convergence progress = coupled_begin(0);
    progress.all.floor = velocity_noise(k);
    while (!has_converged(&progress)) {
        corrections sum = no_corrections();
        TRY_(iterate(k, s, xi));
        EACH(i, N)
        {
            const mask active = progress.all.active;
            kept[i] = s->bend[i] = select_(active, s->bend[i], kept[i]);
            kept[N + i] = s->moved[i] = select_(active, s->moved[i], kept[N + i]);
            const real next = s->xi0[i] + s->moved[i];
            take(&progress, &sum, 0, next, abs_(next), xi + i);
        }
        coupled_update(&progress, 0x1p-6, &sum);
        if (has_failed(&progress, ITERATIONS_MAX))
            return BY_NEWTON(newton(k, s, xi), &progress.all);
    }
    return NH_KERNEL_OK;
}

/* xi1 - xi, at the end s->q of the step */
static inline int finish(kernel *k, const suslov_work *s, const real *xi, real *change)
{
    const scalar t1 = k->t + k->h;
    to_velocity(k, s->q, xi, s->v);
    CALL(END, t1, s->q, s->v, 0, s->end);
    CALL(KICK, t1, s->q, s->v, 0, s->kick);
    to_body(k, s->q, s->kick, s->x);
    EACH(i, N) change[i] = fma_(broadcast(k->h / 2), s->x[i], s->bend[i]);
    constrain(k, s, s->q, xi, xi, change);
    return NH_KERNEL_OK;
}

/* dq = q0 cay(h xi) - q0 to full accuracy, including the displacement back to |p| = 1 */
static inline void whole_move(kernel *k, const real *xi, real *dq)
{
    EACH(i, N) dq[i] = xi[i] * k->h;
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        const real *p = k->q + at;
        real a[3];
        for (int i = 0; i < 3; i++)
            a[i] = xi[at + 1 + i] * k->h;
        const real square = dot_(3, a, a), size = sqrt_(1.0 + square), scale = 1.0 / size;
        real gap = broadcast(-1);
        for (int i = 0; i < 4; i++)
            gap = fma_(p[i], p[i], gap);
        for (int i = 0; i < 3; i++)
            a[i] = a[i] * scale;
        quaternion_times(p, fma_(broadcast(-0.5), gap, -square * scale / (1.0 + size)), a, dq + at);
    }
}

/* Memory: xi and its rounding error. If it were recomputed from the quaternion's velocity, the
 * rounding of |p| would change it in every step, always in the same direction. */
static int start(kernel *k)
{
    to_body(k, k->q, k->v, k->memory);
    EACH(i, N) k->memory[N + i] = broadcast(0);
    return NH_KERNEL_OK;
}

static int step(kernel *k)
{
    LOCAL(vectors, 9 * N);
    LOCAL(kick, N + NB);
    LOCAL(end, N + M + NK);
    LOCAL(rows, M);
    LOCAL(matrices, 2 * MA * MA + 2 * MA);
    real *xi0 = k->memory, *xi = vectors, *change = vectors + N, *dq = vectors + 2 * N;
    real *v1 = vectors + 8 * N;
    suslov_work s = {.xi0 = xi0,
                     .q = vectors + 3 * N,
                     .kick = kick,
                     .end = end,
                     .bend = vectors + 4 * N,
                     .moved = vectors + 5 * N,
                     .v = vectors + 6 * N,
                     .x = vectors + 7 * N,
                     .rows = rows,
                     .l = matrices,
                     .matrix = matrices + 2 * MA,
                     .w = matrices + 2 * MA + MA * MA,
                     .beta = matrices + MA};
    EACH(i, N) xi[i] = xi0[i];
    TRY_(fixed_point(k, &s, xi));
    whole_move(k, xi, dq);
    EACH(i, N) s.q[i] = k->q[i] + dq[i];
    TRY_(finish(k, &s, xi, change));
    EACH(i, N) accumulate(xi0 + i, xi0 + N + i, s.moved[i] + change[i]);
    to_velocity(k, s.q, xi0, v1);
    EACH(i, N) s.v[i] = v1[i] - k->v[i];
    commit(k, s.q, v1, dq, s.v);
    return NH_KERNEL_OK;
}

KERNEL(dep_suslov, start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t memory(const nh_shape *shape, const double *option)
{
    (void)option;
    return 2 * (size_t)shape->n;
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, a = m - (size_t)shape->positions;
    (void)option;
    return 9 * n + (n + (size_t)shape->nb) + (n + m + (size_t)shape->nk) + m + 2 * a * a + 2 * a +
           2 * n + newton_scratch(n);
}

NH_METHOD(dep_suslov) = {
    .name = "dep-suslov",
    .summary = "discrete Euler-Poincare-Suslov equations; preserves momenta in space",
    .reference = "Fedorov & Zenkov 2005; Anahory Simoes et al., sec. 6",
    .formulas = "D(h xi) I xi = I xi0 + h/2 (f(q0) + A(q0)^T l0),   A(qm) xi + b = 0\n"
                "q1 = q0 cay(h xi),   qm half way on the geodesic,   xi = (x', body rates)\n"
                "I xi1 = D(-h xi) I xi + h/2 (f(q1) + A(q1)^T l1),   A(q1) xi1 + b = 0\n"
                "D(e) = 1 + e^/2 + e e^T/4 on rotations, 1 elsewhere;   I the constant inertia",
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_POSITIONS,
    .needs = NH_NEEDS_ROTATIONS | NH_NEEDS_MECHANICAL | NH_NEEDS_AFFINE_CONSTRAINTS |
             NH_NEEDS_CONSTANT_INERTIA,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
};
#endif
