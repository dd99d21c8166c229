/* Energy-preserving collocation (Cohen and Hairer) on D*, of any order.
 *
 *     z = (q, rho),  z' = Pi(z) grad H(z)
 *     K_i = Pi(Z_i) int_0^1 l_i(t)/b_i grad H(Z(t)) dt,    Z(t) = z0 + h sum_j int_0^t l_j K_j
 *     Z_i = Z(c_i),    z1 = Z(1)
 *
 * c_i are the Gauss nodes, b_i their weights, l_i their Lagrange polynomials. Order 2s, symmetric;
 * preserves the energy and the constraints; s = 1 is the mean-value discrete gradient. With the
 * polar frame X(q) = P(q) Y (Y^T M P Y)^(-1/2), Y the basis at the start of the step, nothing
 * depends on the choice of coordinates. Anchoring the frame at the start is not symmetric; with
 * anchor=middle, Y is the basis at Q(1/2), the midpoint of the path, and rho0 = X(q0)^T M v0
 * changes with it. Then the step is symmetric, and with s = 1 and constant M it is avf-p: at the
 * midpoint C = 0, and X transports v0 there and on to q1 by the polar factors of avf-p. Cohen &
 * Hairer (2011) on Celledoni, Farre Puiggali, Hoiseth & Martin de Diego, eq. 9.
 *
 * Where M is constant and there is one constraint, the polar frame is a rotation, and no basis is
 * needed (collocation-carried.h). */
#include "kernel/kernel.h"
#include "kernel/newton.h"

/* Integers, which the compiler knows no store of a `real` can have changed. */
#ifdef NH_EMITTED
#define STAGES OPTION_INT(0)
#define FRAME OPTION_INT(1)
#define POINTS OPTION_INT(2) /* 0: chosen by the force and the step */
#define ANCHOR OPTION_INT(3)
#else
#define STAGES (k->size[0])
#define FRAME (k->size[1])
#define POINTS (k->size[2])
#define ANCHOR (k->size[3])
#endif

#define IS_FLAT 1 /* wherever polar.h is used */
#include "method/field.h"
#include "method/polar.h"
#include "method/collocation-rules.h"

enum { ANCHOR_START, ANCHOR_MIDDLE };
enum { ITERATIONS_MAX = 60, WARM_ITERATIONS = 2 };

/* Whether the velocity is transported without a frame. Then z is (q, w) instead of (q, rho), and an
 * iteration depends only on the part of q, so convergence is judged by that part. */
#define CARRIED (FRAME == FRAME_POLAR && FLAT && M <= 1)
#define COMPONENTS (CARRIED ? 2 * N : D)
#define JUDGED (CARRIED ? N : D)
#define Z_SIZE (CARRIED ? 2 * N : FRAME == FRAME_POLAR ? FIELD_SIZE : FRAME_SIZE)

#define FROM_MIDDLE (FRAME == FRAME_POLAR && ANCHOR == ANCHOR_MIDDLE)

/* Memory: K of the last step; rho with its rounding error, so that the rounding of v = X rho does
 * not enter the next step; with the polar frame also the basis Y to which rho refers. If the
 * velocity is transported without a frame: the velocities of the last step at its stages and its
 * start, those at the stages of the step before, and the number of steps so far. */
#define MEMORY_K (k->memory)
#define MEMORY_RHO (k->memory + STAGES * D)
#define MEMORY_Y (MEMORY_RHO + 2 * R)
#define MEMORY_V (k->memory)
#define MEMORY_DONE (k->memory[(RULE_PAST - 1) * N])

/* Unrolled in emitted kernels that stay small. */
#ifdef NH_EMITTED
#if STAGES * N <= 16
#define EACH_STAGE(i) EACH(i, STAGES)
#endif
#endif
#ifndef EACH_STAGE
#define EACH_STAGE(i) for (int i = 0; i < STAGES; i++)
#endif

/* ---- one iteration: a better hK from hK ---- */

typedef struct collocation_work {
    real *z0, *z; /* the start, a point on the path; their Y: at the start, the anchor's */
    real *turned; /* rho0 in the frame minus rho0 in the basis at the start; likewise for w0 */
    real *g, *G;  /* grad H there; its integrals, STAGES x D */
    real *bracket;
    real *moved;          /* STAGES x COMPONENTS */
    real *start, *anchor; /* carried: the points of q0 and of the anchor */
    real *spots;          /* carried: what is stored for the stages */
} collocation_work;

/* z = z0 + sum_j row_j hK_j, components from .. to - 1 */
static inline void on_way(kernel *k, const collocation_work *s, const double *row, const real *hK,
                          int from, int to)
{
    const int apart = COMPONENTS;
    hK += from;
    EACH(d, to - from)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(row[j]), hK[j * apart + d], sum);
        s->z[from + d] = s->z0[from + d] + sum;
    }
}

static inline void point_on_way(kernel *k, const collocation_work *s, const double *row,
                                const real *hK)
{
    on_way(k, s, row, hK, 0, COMPONENTS);
}

#define SLOPES (FRAME == FRAME_POLAR ? N : D) /* that frame_slope gives */

/* G_i = int_0^1 l_i/b_i grad H */
static inline int integrate_slope(kernel *k, collocation_work *s, path_rule u, const real *hK)
{
    EACH(e, STAGES * D) s->G[e] = broadcast(0);
    for (int p = 0; p < u.points; p++) {
        on_way(k, s, u.A + p * STAGES, hK, 0, SLOPES);
        TRY_(frame_slope(k, s->z, s->g));
        EACH_STAGE(i)
        EACH(d, SLOPES)
        s->G[i * D + d] = fma_(broadcast(u.G[i * u.points + p]), s->g[d], s->G[i * D + d]);
    }
    return NH_KERNEL_OK;
}

#include "method/collocation-framed.h"
#include "method/collocation-carried.h"

static inline int iterate(kernel *k, collocation_work *s, path_rule u, const real *hK, real *out)
{
    return CARRIED ? iterate_carried(k, s, u, hK, out) : iterate_framed(k, s, u, hK, out);
}

#ifdef NH_CAREFUL
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    collocation_work *s = (collocation_work *)work;
    int status = iterate(k, s, full_rule(k), x, s->moved);
    EACH(i, STAGES * COMPONENTS) r[i] = x[i] - s->moved[i];
    return status;
}

static int newton(kernel *k, collocation_work *s, real *hK)
{
    if (newton_scratch((size_t)(STAGES * COMPONENTS)) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)(STAGES * COMPONENTS)));
    newton_problem problem =
        newton_begin(newton_gap, STAGES * COMPONENTS, STAGES * COMPONENTS, space, s);
    EACH_STAGE(j) EACH(i, COMPONENTS)
    {
        problem.x[j * COMPONENTS + i] = i < N ? k->h * k->v[i] : broadcast(0);
        problem.size[j * COMPONENTS + i] = i < N     ? fabs(k->h) * newton_velocity_size(k, i)
                                           : CARRIED ? newton_velocity_size(k, i - N)
                                                     : fabs(s->z0[i]);
    }
    int status = newton_solve(k, &problem);
    EACH(e, STAGES * COMPONENTS) hK[e] = problem.x[e];
    RELEASE(k);
    return status;
}
#endif

/* Whether z_d belongs to a driver that is independent of the passengers (field.h). */
static inline int is_of_driver(const kernel *k, int d)
{
    if (FRAME != FRAME_POLAR || !DRIVER_ALONE)
        return 0;
    return d == DRIVER || d == N + (CARRIED ? DRIVER : 1);
}

/* The error of the energy is given by how much the last iteration changed the forces, not by the
 * error that remains after it. Carried velocities converge so fast that the two differ, so there
 * the last change itself must be of the order of rounding. */
#define STRICT (CARRIED ? 0x1p-6 : 1)

static inline int fixed_point(kernel *k, collocation_work *s, real *hK)
{
    const path_rule full = full_rule(k), warm = rule_number(k, RULE_WARM);
    const int warm_iterations = warm.points < full.points ? WARM_ITERATIONS : 0;
    const int apart = COMPONENTS, judged = JUDGED;
    coupled_convergence progress = coupled_begin(is_of_driver(k, DRIVER));
    for (int iterations = 0; !has_converged(&progress); iterations++) {
        const int is_warm = iterations < warm_iterations;
        const mask all = progress.all.active, driver = progress.driver.active;
        corrections sum = no_corrections();
        TRY_(iterate(k, s, is_warm ? warm : full, hK, s->moved));
        EACH_STAGE(j)
        EACH(d, apart)
        {
            const int of_driver = is_of_driver(k, d);
            const real next = s->moved[j * apart + d];
            real *x = hK + j * apart + d;
            if (d < judged)
                take(&progress, &sum, of_driver, next, abs_(next), x);
            else
                *x = select_(still_active(&progress, of_driver), next, *x);
        }
        /* Passengers follow the driver of the previous iteration: while it moves they have not
         * converged, even if they do not move in one iteration. */
        const real moving = select_(driver, sum.driver.change, broadcast(0));
        sum.all.change = max_(sum.all.change, moving);
        coupled_update(&progress, STRICT, &sum);
        if (is_warm) {
            progress.all.active = all;
            progress.driver.active = driver;
        }
        if (has_failed(&progress, ITERATIONS_MAX))
            return BY_NEWTON(newton(k, s, hK),
                             any(progress.all.active) ? &progress.all : &progress.driver);
    }
    return NH_KERNEL_OK;
}

/* ---- the step ---- */

static int start(kernel *k)
{
    if (CARRIED) {
        EACH(j, RULE_PAST - 1) EACH(i, N) MEMORY_V[j * N + i] = k->v[i];
        MEMORY_DONE = broadcast(0);
        return NH_KERNEL_OK;
    }
    LOCAL(matrices, FRAME == FRAME_POLAR ? N * N + M * N : 0);
    LOCAL(p, N);
    EACH_STAGE(j) EACH(i, D) MEMORY_K[j * D + i] = i < N ? k->v[i] : broadcast(0);
    EACH(a, 2 * R) MEMORY_RHO[a] = broadcast(0);
    if (FRAME == FRAME_POLAR) {
        CALL(MATRICES, k->t, k->q, k->v, 0, matrices);
        allowed_basis(k, matrices, matrices + N * N, 0, MEMORY_Y, 0);
        if (DRIVER_ALONE)
            set_driver_apart(k, matrices, MEMORY_Y);
        EACH(i, N) p[i] = dot_(N, matrices + i * N, k->v);
        EACH(a, R)
        {
            MEMORY_RHO[a] = dot_(N, MEMORY_Y + a * N, p);
        }
    }
    return NH_KERNEL_OK;
}

static int step_carried(kernel *k)
{
    LOCAL(z0, Z_SIZE);
    LOCAL(z, Z_SIZE);
    LOCAL(hK, STAGES * COMPONENTS);
    LOCAL(g, N);
    LOCAL(G, STAGES * D);
    LOCAL(moved, STAGES * COMPONENTS);
    LOCAL(turned, N);
    LOCAL(start, POINT_SIZE);
    LOCAL(middle, POINT_SIZE);
    LOCAL(spots, STAGES * SPOT_SIZE);
    LOCAL(dz, 2 * N);
    LOCAL(dv, N);
    collocation_work s = {z0,   z, turned, g, G, 0, moved, start, FROM_MIDDLE ? middle : start,
                          spots};

    EACH(i, N)
    {
        z0[i] = k->q[i];
        z0[N + i] = k->v[i];
        turned[i] = broadcast(0);
    }
    TRY_(flat_point(k, z0, start));
    predict_carried(k, hK);
    TRY_(fixed_point(k, &s, hK));
    if (FROM_MIDDLE)
        TRY_(anchor_carried(k, &s, hK));

    EACH(d, 2 * N)
    {
        dz[d] = d < N ? broadcast(0) : turned[d - N];
        EACH_STAGE(j) dz[d] = fma_(broadcast(RULE_B[j]), hK[j * COMPONENTS + d], dz[d]);
        z[d] = d < N ? z0[d] + dz[d] : k->v[d - N] + dz[d];
    }
    TRY_(flat_point(k, z, spots));
    TRY_(flat_transport(k, s.anchor, spots, z + N, dv));
    EACH(i, N)
    {
        dv[i] = dz[N + i] + dv[i];
        moved[i] = k->v[i] + dv[i];
    }
    remember_carried(k, hK);
    commit(k, z, moved, dz, dv);
    return NH_KERNEL_OK;
}

static int step(kernel *k)
{
    if (CARRIED)
        return step_carried(k);
    LOCAL(z0, Z_SIZE);
    LOCAL(z, Z_SIZE);
    LOCAL(hK, STAGES * D);
    LOCAL(g, D);
    LOCAL(G, STAGES * D);
    LOCAL(moved, STAGES * D);
    LOCAL(bracket, BRACKET_SIZE);
    LOCAL(X, R * N);
    LOCAL(dz, D);
    LOCAL(v1, N);
    LOCAL(dv, N);
    LOCAL(low, R);
    LOCAL(turned, R);
    collocation_work s = {z0, z, turned, g, G, bracket, moved, 0, 0, 0};

    TRY_(state_to_z(k, z0, low));
    EACH(i, Z_SIZE) z[i] = z0[i];
    EACH(a, R) turned[a] = broadcast(0);
    predict(k, hK);
    TRY_(fixed_point(k, &s, hK));
    if (FROM_MIDDLE)
        TRY_(anchor(k, &s, hK));

    EACH(d, D)
    {
        dz[d] = d < N ? broadcast(0) : turned[d - N];
        if (FROM_MIDDLE && d >= N)
            z0[d] = MEMORY_RHO[d - N];
        EACH_STAGE(j) dz[d] = fma_(broadcast(RULE_B[j]), hK[j * D + d], dz[d]);
        z[d] = z0[d] + dz[d];
    }
    TRY_(z_to_velocity(k, z, X, v1));
    EACH(i, N) dv[i] = v1[i] - k->v[i];
    EACH(e, STAGES * D) MEMORY_K[e] = hK[e] * (1 / k->h);
    frame_keep(k, z0 + N, low, dz + N, MEMORY_RHO);
    if (FRAME == FRAME_POLAR)
        EACH(e, R * N) MEMORY_Y[e] = X[e];
    commit(k, z, v1, dz, dv);
    return NH_KERNEL_OK;
}

KERNEL(collocation, start, step);

#ifdef NH_DESCRIBE
#include "method/collocation-table.h"
#include "method/method.h"

static bool is_polar(const double *option)
{
    return option[1] == FRAME_POLAR;
}

static bool is_carried(const nh_shape *shape, const double *option)
{
    return is_polar(option) && shape->flat && shape->m <= 1;
}

static size_t memory(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, r = n - (size_t)shape->m, s = (size_t)stages(option);
    if (is_carried(shape, option))
        return (2 * s + 1) * n + 1;
    return s * (n + r) + 2 * r + (is_polar(option) ? r * n : 0);
}

static size_t scratch_carried(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, d = 2 * n - m, s = (size_t)stages(option);
    size_t of_NORMAL = (size_t)(shape->nk + shape->nb), point = of_NORMAL + m * m;
    size_t of_step = 9 * n + s * (4 * n + d) + 2 * point + s * (of_NORMAL + point + 2);
    return of_step + 2 * n + 1 + 3 * m + newton_scratch(s * 2 * n);
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, r = n - m, d = n + r,
           s = (size_t)stages(option);
    if (is_carried(shape, option))
        return scratch_carried(shape, option);
    size_t of_step =
        2 * (d + r * n + n + m + 1) + 3 * s * d + 2 * d + 2 * n + 2 * r * n + r * r + 2 * r;
    size_t below = n + 1 + m;
    if (is_polar(option))
        below += FIELD_SCRATCH(n, r, m * n) + ALLOWED_BASIS_SCRATCH(n, m) + r * n;
    return of_step + below + newton_scratch(s * d);
}

static int order_of(const double *option)
{
    return option[1] == FRAME_DIFFERENCE ? 2 : 2 * stages(option);
}

/* With the polar frame, a basis Y anchored at the start of the step makes the method
 * unsymmetric. */
static unsigned keeps_of(const double *option)
{
    unsigned keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_ENERGY;
    keeps |= is_polar(option) ? NH_KEEPS_FIBRATION : 0;
    return keeps | (is_polar(option) && option[3] == ANCHOR_START ? 0 : NH_KEEPS_SYMMETRY);
}

static void sizes(const double *option, int *size)
{
    for (int i = 0; i < NH_SIZES; i++)
        size[i] = (int)option[i];
}

static unsigned needs_of(const double *option)
{
    unsigned needs = NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE | NH_NEEDS_LINEAR_CONSTRAINTS |
                     NH_NEEDS_MECHANICAL | NH_NEEDS_DEFINITE_MASS | NH_NEEDS_MODEL_TEXT;
    return option[1] == FRAME_MODEL ? needs | NH_NEEDS_FRAME : needs;
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    const nh_fn_set carried = NH_FN_BIT(NORMAL) | NH_FN_BIT(NORMAL_ALONG) | NH_FN_BIT(SOLVE);
    const nh_fn_set field =
        NH_FN_BIT(MATRICES) | NH_FN_BIT(FIELD) | NH_FN_BIT(FIELD_ALONG) | NH_FN_BIT(TWIST);
    return frame_skips((int)option[1]) | NH_FN_BIT(SURFACE) |
           (is_carried(shape, option) ? field : carried) | (shape->flat ? NH_FN_BIT(TWIST) : 0);
}

NH_METHOD(collocation) = {
    .name = "collocation",
    .summary = "preserves the energy exactly at any even order",
    .reference =
        "Cohen & Hairer 2011, on Celledoni, Farre Puiggali, Hoiseth & Martin de Diego 2018 (9)",
    .formulas =
        "z = (q, rho),  rho = X^T M v,   z' = Pi(z) grad H(z)\n"
        "K_i = Pi(Z_i) int_0^1 l_i(t)/b_i grad H(Z(t)) dt\n"
        "Z(t) = z0 + h sum_j int_0^t l_j K_j,   Z_i = Z(c_i),   z1 = Z(1)\n"
        "frame=polar: X(q) = P(q) Y (Y^T M P Y)^(-1/2), Y the basis at the start of the step\n"
        "anchor=middle: Y the basis at Q(1/2), which makes the step symmetric",
    .option =
        {{.name = "stages",
          .help = "number of Gauss nodes; the order is twice that (with frame=difference it is 2)",
          .type = NH_OPTION_INTEGER,
          .standard = 2,
          .least = 1,
          .greatest = STAGES_MAX},
         {.name = "frame",
          .help = "the frame: that of the model, from Householder reflections (with exact "
                  "derivatives or with differences), or carried along from step to step",
          .type = NH_OPTION_CHOICE,
          .standard = FRAME_POLAR,
          .least = 0,
          .greatest = FRAME_POLAR,
          .choices = "model|householder|difference|polar"},
         {.name = "points",
          .help = "number of Gauss points for the integrals; 0 chooses it from the force and the "
                  "step, exact to round-off",
          .type = NH_OPTION_INTEGER,
          .standard = 0,
          .least = 0,
          .greatest = RULE_POINTS_MAX},
         {.name = "anchor",
          .help = "where the basis of the polar frame is taken: at the start of the step, or in "
                  "its middle, which is symmetric (no effect on other frames)",
          .type = NH_OPTION_CHOICE,
          .standard = ANCHOR_START,
          .least = 0,
          .greatest = ANCHOR_MIDDLE,
          .choices = "start|middle"}},
    .options = 4,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .without_positions = "its stages preserve quadratic conditions at most; compositions of avf-p "
                         "have the same orders",
    .needs_of = needs_of,
    .skips = skips,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .sizes = sizes,
    .table_size = table_size,
    .table = table,
};
#endif
