/* avf-so3: the frame-free step (polar.h) on R^k x SO(3)^b. The path of a step is straight in the
 * Cayley chart around its midpoint, instead of in quaternions:
 *
 *     qm = q0 cay(d),  q1 = qm cay(d),  d = (dx, phi): x1 - x0 = 2 dx, R1 = R0 cay(phi)^2
 *     b0, B, b1 orthonormal bases of the allowed velocities xi = (x', body rate) at q0, qm, q1
 *     K_ab = (curl of M w)(B_a, B_b)/2 at qm, w the velocity d there
 *     rho0 = cay(-K) polar(b0^T J(-phi)^-T I(qm) B)^T b0^T I(q0) xi0
 *     rho1 = rho0 - h B^T DV,    d = h/4 B (rho0 + rho1)
 *     xi1  = b1 polar(b1^T J(phi)^-T I(qm) B) cay(-K) rho1
 *     DV   = mean over -1 <= s <= 1 of J(s phi)^T gradV(qm cay(s d)),
 *     J(phi) = (1 - phi^/2)/(1 + |phi|^2/4) on rotations, 1 elsewhere; phi^ u = phi x u
 *
 * The system's functions are written in quaternions p, with p' = p (0, w)/2. Bases are stored as
 * velocities of quaternions, since orthonormal bases of one are orthonormal bases of the other. K
 * is the same as well: the chart p = pm (1, phi/2)/|..| leaves pm in a straight line, and its
 * curvature is radial, which no allowed velocity notices.
 *
 * Preserves the energy, the constraints and |p| = 1; symmetric, order 2. */
#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "method/quaternions.h"

#define IS_FLAT 0
#include "method/polar.h"

enum { ITERATIONS_MAX = 60, WARM_ITERATIONS = 2, HISTORY = 3 };

static inline void cross(const real *a, const real *b, real *out)
{
    out[0] = fma_(a[1], b[2], -(a[2] * b[1]));
    out[1] = fma_(a[2], b[0], -(a[0] * b[2]));
    out[2] = fma_(a[0], b[1], -(a[1] * b[0]));
}

/* ---- moves: d has dx in the places of coordinates, and 0, phi/2 in those of a quaternion ---- */

/* q = from cay(s d) */
static inline void move(kernel *k, const real *from, const real *d, double s, real *q)
{
    EACH(i, N) q[i] = fma_(broadcast(s), d[i], from[i]);
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        real a[3];
        for (int i = 0; i < 3; i++)
            a[i] = d[at + 1 + i] * s;
        real scale = broadcast(1) / sqrt_(1.0 + dot_(3, a, a));
        quaternion_times(from + at, broadcast(1), a, q + at);
        for (int i = 0; i < 4; i++)
            q[at + i] = q[at + i] * scale;
    }
}

/* dq = from cay(d) cay(d) - from, to full accuracy */
static inline void whole_move(kernel *k, const real *from, const real *d, real *dq)
{
    EACH(i, N) dq[i] = d[i] * 2.0;
    EACH_ROTATION(r)
    {
        const real *a = d + ROTATION(r) + 1;
        real square = dot_(3, a, a), scale = broadcast(2) / (1.0 + square), u[3];
        for (int i = 0; i < 3; i++)
            u[i] = a[i] * scale;
        quaternion_times(from + ROTATION(r), -square * scale, u, dq + ROTATION(r));
    }
}

/* How far a velocity x at q moves in a time: x' time, and phi/2 = w time/2 */
static inline void as_move(kernel *k, const real *q, const real *x, scalar time, real *d)
{
    EACH(i, N) d[i] = x[i] * time;
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        vector_part(q + at, x + at, d + at + 1);
        d[at] = broadcast(0);
        for (int i = 1; i < 4; i++)
            d[at + i] = d[at + i] * time;
    }
}

/* A velocity at one end of the step in the chart: J(-sign phi)^-1 of its body rate */
static inline void carry(kernel *k, const real *from, const real *to, const real *d, double sign,
                         const real *x, real *out)
{
    EACH(i, N) out[i] = x[i];
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        const real *a = d + at + 1;
        real w[3], side[3];
        vector_part(from + at, x + at, w);
        cross(a, w, side);
        real along = dot_(3, a, w);
        for (int i = 0; i < 3; i++)
            w[i] = fma_(broadcast(-sign), side[i], fma_(along, a[i], w[i]));
        quaternion_times(to + at, broadcast(0), w, out + at);
    }
}

/* ---- the mean force ---- */

static inline gauss_rule even_rule(kernel *k, int points)
{
    const double *c = TABLE + points / 2 * (points / 2 - 1) * 2;
    (void)k;
    return (gauss_rule){points, c, c + points};
}

static inline int points_by_step(const kernel *k)
{
    const double size = k->h < 0 ? -k->h : k->h;
    return size <= 0.1 ? 6 : size <= 0.5 ? 8 : size <= 1 ? 10 : 12;
}

/* The slope g at q = qm cay(s d) in the chart, with the weight */
static inline void chart_slope(kernel *k, const real *q, const real *d, double s, double weight,
                               real *g)
{
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        real f[3], a[3], side[3];
        for (int i = 0; i < 3; i++)
            a[i] = d[at + 1 + i] * s;
        real scale = broadcast(1) / (1.0 + dot_(3, a, a));
        vector_part(q + at, g + at, f);
        cross(a, f, side);
        g[at] = broadcast(0);
        for (int i = 0; i < 3; i++)
            g[at + 1 + i] = (f[i] + side[i]) * scale;
    }
    EACH(i, N) g[i] = g[i] * weight;
}

/* DV, as a slope with respect to quaternions at qm */
static inline int mean_slope(kernel *k, gauss_rule u, const real *qm, const real *d, real *mean)
{
    HOLD(k);
    LOCAL(q, N);
    LOCAL(out, N + 1);
    EACH(i, N) mean[i] = broadcast(0);
    for (int p = 0; p < u.points; p++) {
        const double s = 2 * u.c[p] - 1;
        move(k, qm, d, s, q);
        CALL(POTENTIAL, k->t, q, k->v, 0, out);
        chart_slope(k, q, d, s, u.b[p], out + 1);
        EACH(i, N) mean[i] = mean[i] + out[1 + i];
    }
    EACH_ROTATION(r)
    quaternion_times(qm + ROTATION(r), broadcast(0), mean + ROTATION(r) + 1, mean + ROTATION(r));
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- one fixed-point iteration: a better d from d ---- */

typedef struct group_work {
    real *qm, *g, *carried; /* midpoint, mean slope, the start's basis seen from the midpoint */
    polar_step polar;
    const real *basis; /* at the start */
    real *moved;       /* the result of an iteration from d */
} group_work;

static inline int iterate(kernel *k, group_work *s, gauss_rule u, const real *d, real *out)
{
    HOLD(k);
    LOCAL(w, N + 1);
    LOCAL(dq, N);
    move(k, k->q, d, 1, s->qm);
    TRY_(mean_slope(k, u, s->qm, d, s->g));
    TRY_(curved_middle(k, (gauss_rule){1, 0, 0}, k->q, d, s->qm, s->polar.middle));
    EACH(a, R) carry(k, k->q, s->qm, d, 1, s->basis + a * N, s->carried + a * N);
    EACH(i, N) w[i] = d[i];
    EACH_ROTATION(r)
    quaternion_times(s->qm + ROTATION(r), broadcast(0), d + ROTATION(r) + 1, w + ROTATION(r));
    w[N] = broadcast(1);
    TRY_(curved_iteration(k, &s->polar, s->qm, w, s->g, dq));
    as_move(k, s->qm, dq, 0.5, out);
    RELEASE(k);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    group_work *s = (group_work *)work;
    int status = iterate(k, s, even_rule(k, points_by_step(k)), x, s->moved);
    EACH(i, N) r[i] = x[i] - s->moved[i];
    return status;
}

static int newton(kernel *k, group_work *s, real *d)
{
    if (newton_scratch((size_t)(N)) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)(N)));
    newton_problem problem = newton_begin(newton_gap, N, N, space, s);
    as_move(k, k->q, k->v, k->h / 2, problem.x);
    EACH(i, N) problem.size[i] = fabs(k->h) / 2 * newton_velocity_size(k, i);
    int status = newton_solve(k, &problem);
    EACH(i, N) d[i] = problem.x[i];
    if (!status) /* leaves what the end of the step needs */
        status = iterate(k, s, even_rule(k, points_by_step(k)), d, s->moved);
    RELEASE(k);
    return status;
}
#endif

/* As in discrete-gradient.c: the last change itself must be of the order of rounding. */
#define STRICT 0x1p-6

/* Lanes that have converged keep what their last iteration left for the end of the step. */
static inline void keep(kernel *k, group_work *s, const convergence *progress, real *kept)
{
    if (LANES == 1)
        return;
    EACH(i, POINT_SIZE)
    kept[i] = s->polar.middle[i] = select_(progress->active, s->polar.middle[i], kept[i]);
    EACH(a, R)
    kept[POINT_SIZE + a] = s->polar.moved[a] =
        select_(progress->active, s->polar.moved[a], kept[POINT_SIZE + a]);
}

static inline int fixed_point(kernel *k, group_work *s, real *d)
{
    const int full = points_by_step(k);
    LOCAL(kept, POINT_SIZE + R);
    EACH(i, POINT_SIZE + R) kept[i] = broadcast(0);
    coupled_convergence progress = coupled_begin(0);
    for (int iterations = 0; !has_converged(&progress); iterations++) {
        const int few = 2 + 2 * iterations, warm = iterations < WARM_ITERATIONS;
        corrections sum = no_corrections();
        TRY_(iterate(k, s, even_rule(k, warm ? few : full), d, s->moved));
        keep(k, s, &progress.all, kept);
        EACH(i, N) take(&progress, &sum, 0, s->moved[i], abs_(s->moved[i]), d + i);
        if (warm)
            continue;
        coupled_update(&progress, STRICT, &sum);
        if (iterations >= ITERATIONS_MAX || has_diverged(&progress))
            return BY_NEWTON(newton(k, s, d), &progress.all);
    }
    return NH_KERNEL_OK;
}

/* ---- the step ---- */

/* Memory: the difference between d and the prediction from the start velocity, divided by h^2, for
 * the last steps; rho with its rounding error; the basis to which it refers; the displacement back
 * to |p| = 1. */
#define MEMORY_RHO (k->memory + HISTORY * N)
#define MEMORY_BASIS (MEMORY_RHO + 2 * R)
#define MEMORY_BACK (MEMORY_BASIS + R * N)

static int start(kernel *k)
{
    LOCAL(point, POINT_SIZE);
    EACH(e, HISTORY * N) k->memory[e] = broadcast(0);
    EACH(a, 2 * R) MEMORY_RHO[a] = broadcast(0);
    TRY_(curved_point(k, k->q, point, MEMORY_BACK));
    momenta(k, POINT_MASS(point), POINT_BASIS(point), k->v, MEMORY_RHO);
    EACH(e, R * N) MEMORY_BASIS[e] = POINT_BASIS(point)[e];
    return NH_KERNEL_OK;
}

/* free: the prediction from the start velocity */
static inline void predict(kernel *k, const real *free, real *d)
{
    const real *past = k->memory;
    const scalar square = k->h * k->h;
    EACH(i, N)
    d[i] = fma_(broadcast(square), (past[i] - past[N + i]) * 3.0 + past[2 * N + i], free[i]);
}

static inline void remember(kernel *k, const real *free, const real *d)
{
    const scalar inverse = 1 / (k->h * k->h);
    EACH(i, N)
    {
        k->memory[2 * N + i] = k->memory[N + i];
        k->memory[N + i] = k->memory[i];
        k->memory[i] = (d[i] - free[i]) * inverse;
    }
}

/* v1, and the basis at q1 that is nearest to that at the midpoint */
static inline int finish(kernel *k, const group_work *s, const real *d, const real *q1, real *basis,
                         real *back, real *v1)
{
    HOLD(k);
    LOCAL(end, POINT_SIZE);
    TRY_(curved_point(k, q1, end, back));
    EACH(a, R) carry(k, q1, s->qm, d, -1, POINT_BASIS(end) + a * N, s->carried + a * N);
    TRY_(align_seen(k, POINT_MASS(s->polar.middle), POINT_BASIS(s->polar.middle), s->carried,
                    POINT_BASIS(end)));
    EACH(i, N) v1[i] = broadcast(0);
    EACH(a, R)
    {
        real rho = s->polar.rho[a] + s->polar.moved[a];
        EACH(i, N) v1[i] = fma_(rho, POINT_BASIS(end)[a * N + i], v1[i]);
    }
    EACH(e, R * N) basis[e] = POINT_BASIS(end)[e];
    RELEASE(k);
    return NH_KERNEL_OK;
}

static int step(kernel *k)
{
    LOCAL(d, N);
    LOCAL(free, N);
    LOCAL(dq, N);
    LOCAL(q1, N);
    LOCAL(v1, N);
    LOCAL(dv, N);
    LOCAL(qm, N);
    LOCAL(g, N);
    LOCAL(moved, N);
    LOCAL(carried, R * N);
    LOCAL(basis, R * N);
    LOCAL(change, R);
    LOCAL(back, N);
    LOCAL(middle, POINT_SIZE);
    group_work s = {qm,           g,    carried, {carried, MEMORY_RHO, back, middle, change},
                    MEMORY_BASIS, moved};

    EACH(i, N) back[i] = broadcast(0); /* what an iteration adds: nothing here */
    as_move(k, k->q, k->v, k->h / 2, free);
    predict(k, free, d);
    TRY_(fixed_point(k, &s, d));
    move(k, k->q, d, 1, qm); /* from the converged values */
    whole_move(k, k->q, d, dq);
    EACH(i, N)
    {
        dq[i] = dq[i] + MEMORY_BACK[i];
        q1[i] = k->q[i] + dq[i];
    }
    TRY_(finish(k, &s, d, q1, basis, back, v1));
    EACH(i, N) dv[i] = v1[i] - k->v[i];
    EACH(e, R * N) MEMORY_BASIS[e] = basis[e];
    EACH(i, N) MEMORY_BACK[i] = back[i];
    EACH(a, R) accumulate(MEMORY_RHO + a, MEMORY_RHO + R + a, change[a]);
    remember(k, free, d);
    commit(k, q1, v1, dq, dv);
    return NH_KERNEL_OK;
}

KERNEL(avf_so3, start, step);

#ifdef NH_DESCRIBE
#include "base/quadrature.h"
#include "method/method.h"

static size_t memory(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, r = n - (size_t)shape->m;
    (void)option;
    return (HISTORY + 1) * n + r * (n + 2);
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, r = n - m;
    size_t point = n * n + m * n + r * n;
    size_t of_step = 10 * n + 2 * r * n + r + point, kept = point + r;
    size_t below = point + 5 * n + 2 + (size_t)(shape->positions + shape->ng) + 4 * r * r + 3 * r +
                   ALLOWED_BASIS_SCRATCH(n, m) + POLAR_SCRATCH(r) + CAYLEY_SCRATCH(r) + n * n;
    (void)option;
    return of_step + kept + newton_scratch(n) + below;
}

static size_t table_size(const double *option)
{
    (void)option;
    return 84;
}

static void table(const double *option, double *out)
{
    (void)option;
    for (int points = 2; points <= 12; out += 2 * points, points += 2)
        nh_gauss_nodes(points, out, out + points);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    (void)shape, (void)option;
    return NH_FN_BIT(NORMAL) | NH_FN_BIT(SOLVE);
}

NH_METHOD(avf_so3) = {
    .name = "avf-so3",
    .summary = "avf-p directly on rotations: preserves the energy exactly, with smaller errors",
    .reference = "this project",
    .formulas =
        "q = (x, rotations),  xi = (x', body rates),  qm = q0 cay(d),  q1 = qm cay(d),  d = (dx, "
        "phi)\n"
        "K_ab = (curl of M d)(B_a, B_b)/2 at qm, for bases b0, B, b1 of ker A at q0, qm, q1\n"
        "rho0 = cay(-K) polar(b0^T J(-phi)^-T I(qm) B)^T b0^T I(q0) xi0\n"
        "rho1 = rho0 - h B^T DV,   d = h/4 B (rho0 + rho1)\n"
        "DV = mean over -1 <= s <= 1 of J(s phi)^T gradV(qm cay(s d)),   J = (1 - phi^/2)/(1 + "
        "|phi|^2/4)\n"
        "xi1 = b1 polar(b1^T J(phi)^-T I(qm) B) cay(-K) rho1",
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_ENERGY | NH_KEEPS_SYMMETRY | NH_KEEPS_POSITIONS,
    .needs = NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE | NH_NEEDS_LINEAR_CONSTRAINTS |
             NH_NEEDS_MECHANICAL | NH_NEEDS_DEFINITE_MASS | NH_NEEDS_MODEL_TEXT |
             NH_NEEDS_ROTATIONS,
    .skips = skips,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .table_size = table_size,
    .table = table,
};
#endif
