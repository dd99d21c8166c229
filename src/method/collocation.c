/* Energy-preserving collocation of Cohen and Hairer on D*, of any order.
 *
 *     z = (q, rho),  z' = Pi(z) grad H(z)
 *     K_i = Pi(Z_i) int_0^1 l_i(t)/b_i grad H(Z(t)) dt,    Z(t) = z0 + h sum_j int_0^t l_j K_j
 *     Z_i = Z(c_i),    z1 = Z(1)
 *
 * c_i are the Gauss nodes, b_i their weights, l_i their Lagrange polynomials. Order 2s, symmetric;
 * keeps the energy and the constraints; s = 1 is the mean-value discrete gradient. With the polar
 * frame X(q) = P(q) Y (Y^T M P Y)^(-1/2), Y the basis at the start of the step, nothing depends on
 * coordinates. That the start serves as anchor is not symmetric; with anchor=middle Y is the basis
 * at Q(1/2), in the middle of the path, and rho0 = X(q0)^T M v0 follows it. Then the step is
 * symmetric, and with s = 1 and constant M it is avf-p: in the middle of the step C = 0, and X
 * carries v0 there and on to q1 by the polar factors of avf-p. Cohen & Hairer (2011) on Celledoni,
 * Farre Puiggali, Hoiseth & Martin de Diego, eq. 9. */
#include "kernel/kernel.h"
#include "kernel/newton.h"

#define STAGES ((int)OPTION(0))
#define FRAME ((int)OPTION(1))
#define POINTS ((int)OPTION(2)) /* 0: by the step */
#define ANCHOR ((int)OPTION(3))

#include "method/field.h"

enum { ANCHOR_START, ANCHOR_MIDDLE };
enum { ITERATIONS_MAX = 60, WARM_ITERATIONS = 2, RULES = 6 };

/* The table: a[s*s], b[s], E[s*s] that continues a step into the next, int_0^(1/2) l_j; then rules,
 * each with its number of points P, A[P*s] = int_0^t_p l_j and G[s*P] = w_p l_i(t_p)/b_i. Rule 0 is
 * for the first iterations, which only come near the solution, 1 to 4 grow with the step, 5 has the
 * number of points that was asked for. */
#define TABLE_A (TABLE)
#define TABLE_B (TABLE + STAGES * STAGES)
#define TABLE_E (TABLE + STAGES * STAGES + STAGES)
#define TABLE_HALF (TABLE + 2 * STAGES * STAGES + STAGES)
#define TABLE_RULES (TABLE_HALF + STAGES)

#define FROM_MIDDLE (FRAME == FRAME_POLAR && ANCHOR == ANCHOR_MIDDLE)

#define Z_SIZE (FRAME == FRAME_POLAR ? FIELD_SIZE : FRAME_SIZE)

/* Memory: K of the last step; rho with what rounding left out, so that the rounding of v = X rho
 * does not enter the next step; with the polar frame also the basis Y that rho is in. */
#define MEMORY_K (k->memory)
#define MEMORY_RHO (k->memory + STAGES * D)
#define MEMORY_Y (MEMORY_RHO + 2 * R)

#define EACH_STAGE(i) for (int i = 0; i < STAGES; i++)

static inline const double *rule_number(kernel *k, int number)
{
    const double *rule = TABLE_RULES;
    for (int i = 0; i < number; i++)
        rule += 1 + 2 * STAGES * (int)*rule;
    return rule;
}

static inline const double *full_rule(kernel *k)
{
    const double size = k->h < 0 ? -k->h : k->h;
    return rule_number(k, POINTS > 0 ? 5 : size <= 0.1 ? 1 : size <= 0.5 ? 2 : size <= 1 ? 3 : 4);
}

/* ---- what differs between frames ---- */

static inline int slope_at(kernel *k, const real *z, real *g)
{
    if (FRAME != FRAME_POLAR)
        return frame_gradient(k, z, g);
    HOLD(k);
    LOCAL(out, N + 1);
    CALL(POTENTIAL, k->t, z, k->v, 0, out);
    EACH(i, N) g[i] = out[1 + i];
    EACH(a, R) g[N + a] = z[N + a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int bracket_at(kernel *k, real *z, real *bracket)
{
    return FRAME == FRAME_POLAR ? field_bracket(k, z, bracket) : frame_bracket(k, z, bracket);
}

/* Y = the basis of the last step's end made orthonormal again; rho stays what it was */
static inline int field_start(kernel *k, real *z)
{
    HOLD(k);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    LOCAL(Y, R * N);
    EACH(e, R * N) FIELD_Y(z)[e] = MEMORY_Y[e];
    TRY_(field_at(k, z, Y, T, I));
    EACH(e, R * N) FIELD_Y(z)[e] = Y[e];
    EACH(a, R) z[N + a] = MEMORY_RHO[a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int state_to_z(kernel *k, real *z, real *low)
{
    if (FRAME != FRAME_POLAR)
        return frame_start(k, MEMORY_RHO, z, low);
    EACH(i, N) z[i] = k->q[i];
    EACH(a, R) low[a] = MEMORY_RHO[R + a];
    return field_start(k, z);
}

/* v at a point; X stays behind for the next step where the frame is polar */
static inline int z_to_velocity(kernel *k, const real *z, real *X, real *v)
{
    if (FRAME != FRAME_POLAR)
        return frame_velocity(k, z, v);
    HOLD(k);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    TRY_(field_at(k, z, X, T, I));
    EACH(i, N)
    {
        v[i] = broadcast(0);
        EACH(a, R) v[i] = fma_(X[a * N + i], z[N + a], v[i]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- one iteration: better hK from hK ---- */

typedef struct collocation_work {
    real *z0, *z; /* the start, a point on the way; their Y: at the start, the anchor's */
    real *turned; /* R: rho0 in the frame less rho0 in the basis at the start */
    real *g, *G;  /* grad H there; its integrals, STAGES x D */
    real *bracket;
    real *moved; /* STAGES x D */
} collocation_work;

/* z = z0 + sum_j row_j hK_j */
static inline void point_on_way(kernel *k, const collocation_work *s, const double *row,
                                const real *hK)
{
    EACH(d, D)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(row[j]), hK[j * D + d], sum);
        s->z[d] = s->z0[d] + sum;
    }
}

/* Takes from c, the change of rho by a rotation, what rounding added to the length: 2 rho.c + c.c =
 * 0. Without this the energy would drift by a unit of rounding a step. */
static inline void keep_length(kernel *k, const real *rho, real *c)
{
    (void)k;
    real square = dot_(R, rho, rho);
    real excess = fma_(broadcast(0.5), dot_(R, c, c), dot_(R, rho, c));
    real part = select_(less(broadcast(0), square), excess / square, broadcast(0));
    EACH(a, R) c[a] = fma_(-part, rho[a], c[a]);
}

/* rho0 in the frame of the anchor Y that z holds. Where M is constant nothing turns: carrying a
 * basis to another point and back leads to where it was. */
static inline int turn_start(kernel *k, collocation_work *s)
{
    HOLD(k);
    LOCAL(X, R * N);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    LOCAL(matrices, N * N + M * N);
    LOCAL(v, N);
    LOCAL(p, N);
    EACH(i, N)
    {
        s->z[i] = s->z0[i];
        v[i] = broadcast(0);
        EACH(a, R) v[i] = fma_(MEMORY_RHO[a], FIELD_Y(s->z0)[a * N + i], v[i]);
    }
    TRY_(field_at(k, s->z, X, T, I));
    CALL(MATRICES, k->t, s->z, k->v, 0, matrices);
    EACH(i, N) p[i] = dot_(N, matrices + i * N, v);
    EACH(a, R) s->turned[a] = dot_(N, X + a * N, p) - MEMORY_RHO[a];
    keep_length(k, MEMORY_RHO, s->turned);
    EACH(a, R) s->z0[N + a] = MEMORY_RHO[a] + s->turned[a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* Takes the basis in the middle of the path for the anchor of the frame. */
static inline int anchor(kernel *k, collocation_work *s, const real *hK)
{
    HOLD(k);
    LOCAL(Y, R * N);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    point_on_way(k, s, TABLE_HALF, hK);
    EACH(e, R * N) FIELD_Y(s->z)[e] = FIELD_Y(s->z0)[e];
    TRY_(field_at(k, s->z, Y, T, I));
    EACH(e, R * N) FIELD_Y(s->z)[e] = Y[e];
    if (!FLAT)
        TRY_(turn_start(k, s));
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int iterate(kernel *k, collocation_work *s, const double *rule, const real *hK,
                          real *out)
{
    const int points = (int)*rule;
    const double *A = rule + 1, *G = A + points * STAGES;
    if (FROM_MIDDLE)
        TRY_(anchor(k, s, hK));
    EACH(e, STAGES * D) s->G[e] = broadcast(0);
    for (int p = 0; p < points; p++) {
        point_on_way(k, s, A + p * STAGES, hK);
        TRY_(slope_at(k, s->z, s->g));
        EACH_STAGE(i)
        EACH(d, D)
        s->G[i * D + d] = fma_(broadcast(G[i * points + p]), s->g[d], s->G[i * D + d]);
    }
    EACH_STAGE(i)
    {
        point_on_way(k, s, TABLE_A + i * STAGES, hK);
        TRY_(bracket_at(k, s->z, s->bracket));
        apply_bracket(k, s->bracket, s->G + i * D, out + i * D);
    }
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL
static int newton_gap(kernel *k, const double *x, double *r, double *work)
{
    collocation_work *s = (collocation_work *)work;
    int status = iterate(k, s, full_rule(k), x, s->moved);
    EACH(i, STAGES * D) r[i] = x[i] - s->moved[i];
    return status;
}

static int newton(kernel *k, collocation_work *s, real *hK)
{
    if (newton_scratch((size_t)(STAGES * D)) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)(STAGES * D)));
    newton_problem problem = newton_begin(newton_gap, STAGES * D, STAGES * D, space, s);
    EACH_STAGE(j) EACH(i, D)
    {
        problem.x[j * D + i] = i < N ? k->h * k->v[i] : 0;
        problem.size[j * D + i] = i < N ? fabs(k->h) * newton_velocity_size(k, i) : fabs(s->z0[i]);
    }
    int status = newton_solve(k, &problem);
    EACH(e, STAGES * D) hK[e] = problem.x[e];
    RELEASE(k);
    return status;
}
#endif

/* Whether z_d belongs to a driver that goes by itself (field.h). */
static inline int is_of_driver(const kernel *k, int d)
{
    return FRAME == FRAME_POLAR && DRIVER_ALONE && (d == DRIVER || d == N + 1);
}

static inline int fixed_point(kernel *k, collocation_work *s, real *hK)
{
    const double *full = full_rule(k);
    coupled_convergence progress = coupled_begin(is_of_driver(k, N + 1));
    for (int iterations = 0; !has_converged(&progress); iterations++) {
        const int judged = iterations >= WARM_ITERATIONS;
        corrections sum = no_corrections();
        TRY_(iterate(k, s, judged ? full : TABLE_RULES, hK, s->moved));
        EACH_STAGE(j)
        EACH(d, D)
        {
            const real next = s->moved[j * D + d];
            take(&progress, &sum, is_of_driver(k, d), next, abs_(next), hK + j * D + d);
        }
        if (!judged)
            continue;
        /* Passengers follow the driver of the iteration before: while it moves they have not
         * converged, though they may rest for an iteration. */
        const mask moving = progress.driver.active;
        coupled_update(&progress, 1, &sum);
        progress.all.active |= moving;
        if (has_failed(&progress, ITERATIONS_MAX))
            return BY_NEWTON(newton(k, s, hK),
                             any(progress.all.active) ? &progress.all : &progress.driver);
    }
    return NH_KERNEL_OK;
}

/* ---- the step ---- */

/* The basis of a coupled system so that the driver has the last vector for itself: the other one is
 * the vector that has less of the driver, without that. */
static inline void set_driver_apart(kernel *k, const real *mass, real *Y)
{
    HOLD(k);
    LOCAL(p, N);
    mask first = ~less(abs_(Y[N + DRIVER]), abs_(Y[DRIVER]));
    EACH(i, N)
    {
        Y[i] = i == DRIVER ? broadcast(0) : select_(first, Y[i], Y[N + i]);
        Y[N + i] = broadcast(0);
    }
    EACH(i, N) p[i] = dot_(N, mass + i * N, Y);
    real scale = broadcast(1) / sqrt_(dot_(N, p, Y));
    EACH(i, N) Y[i] = Y[i] * scale;
    Y[N + DRIVER] = broadcast(1) / sqrt_(mass[DRIVER * N + DRIVER]);
    RELEASE(k);
}

static int start(kernel *k)
{
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

static inline void predict(kernel *k, real *hK)
{
    EACH_STAGE(i)
    EACH(d, D)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(TABLE_E[i * STAGES + j]), MEMORY_K[j * D + d], sum);
        hK[i * D + d] = sum * k->h;
    }
}

static int step(kernel *k)
{
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
    collocation_work s = {z0, z, turned, g, G, bracket, moved};

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
        EACH_STAGE(j) dz[d] = fma_(broadcast(TABLE_B[j]), hK[j * D + d], dz[d]);
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
#include "base/quadrature.h"
#include "method/method.h"

enum { STAGES_MAX = 8, RULE_POINTS_MAX = 24, EXTRAPOLATED_MAX = 6 };

static int stages(const double *option)
{
    return (int)option[0];
}

static bool is_polar(const double *option)
{
    return option[1] == FRAME_POLAR;
}

static size_t memory(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, r = n - (size_t)shape->m;
    return (size_t)stages(option) * (n + r) + 2 * r + (is_polar(option) ? r * n : 0);
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, r = n - m, d = n + r,
           s = (size_t)stages(option);
    size_t of_step =
        2 * (d + r * n + n + m + 1) + 3 * s * d + 2 * d + 2 * n + 2 * r * n + r * r + 2 * r;
    size_t below = n + 1 + m;
    if (is_polar(option))
        below += FIELD_SCRATCH(n, r, m * n) + ALLOWED_BASIS_SCRATCH(n, m) + r * n;
    return of_step + below + newton_scratch(s * d);
}

/* The numbers of points of the rules. The path has the degree s, so each needs s points more. */
static void rule_points(const double *option, int points[RULES])
{
    int s = stages(option);
    points[0] = s + 1;
    for (int i = 0; i < 4; i++)
        points[1 + i] = 5 + 2 * i + s;
    points[5] = (int)option[2] > 0 ? (int)option[2] : 1;
}

static size_t table_size(const double *option)
{
    size_t s = (size_t)stages(option), size = 2 * s * s + 2 * s;
    int points[RULES];
    rule_points(option, points);
    for (int i = 0; i < RULES; i++)
        size += 1 + 2 * s * (size_t)points[i];
    return size;
}

/* int_0^t l_j: the l_j have degree s-1, so s points integrate them exactly. */
static void path_to(int s, const double *c, double t, double *out)
{
    double inside[STAGES_MAX], weight[STAGES_MAX], at[STAGES_MAX], value[STAGES_MAX * STAGES_MAX];
    nh_gauss_nodes(s, inside, weight);
    for (int j = 0; j < s; j++)
        at[j] = t * inside[j];
    nh_lagrange(s, c, s, at, value);
    for (int j = 0; j < s; j++) {
        out[j] = 0;
        for (int e = 0; e < s; e++)
            out[j] += t * weight[e] * value[e * s + j];
    }
}

static double *write_rule(int s, const double *c, const double *b, int points, double *out)
{
    double t[RULE_POINTS_MAX], w[RULE_POINTS_MAX], l[RULE_POINTS_MAX * STAGES_MAX];
    double *A = out + 1, *G = A + points * s;
    *out = points;
    nh_gauss_nodes(points, t, w);
    nh_lagrange(s, c, points, t, l);
    for (int p = 0; p < points; p++) {
        path_to(s, c, t[p], A + p * s);
        for (int j = 0; j < s; j++)
            G[j * points + p] = w[p] * l[p * s + j] / b[j];
    }
    return G + s * points;
}

static void table(const double *option, double *out)
{
    int s = stages(option), points[RULES];
    double c[STAGES_MAX], next[STAGES_MAX], *a = out, *b = a + s * s, *E = b + s, *half = E + s * s,
                                            *rule = half + s;
    nh_gauss_nodes(s, c, b);
    nh_collocation(s, c, a);
    for (int i = 0; i < s; i++)
        next[i] = 1 + c[i];
    nh_lagrange(s, c, s, next, E);
    if (s > EXTRAPOLATED_MAX) /* polynomials of high degree leave their interval too fast */
        for (int i = 0; i < s * s; i++)
            E[i] = i % s == s - 1;
    path_to(s, c, 0.5, half);
    rule_points(option, points);
    for (int i = 0; i < RULES; i++)
        rule = write_rule(s, c, b, points[i], rule);
}

static int order_of(const double *option)
{
    return option[1] == FRAME_DIFFERENCE ? 2 : 2 * stages(option);
}

/* A basis Y of the polar frame that belongs to the start of the step is not symmetric. */
static unsigned keeps_of(const double *option)
{
    unsigned keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_ENERGY;
    keeps |= is_polar(option) ? NH_KEEPS_FIBRATION : 0;
    return keeps | (is_polar(option) && option[3] == ANCHOR_START ? 0 : NH_KEEPS_SYMMETRY);
}

static unsigned needs_of(const double *option)
{
    unsigned needs = NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE | NH_NEEDS_LINEAR_CONSTRAINTS |
                     NH_NEEDS_MECHANICAL | NH_NEEDS_DEFINITE_MASS | NH_NEEDS_MODEL_TEXT;
    return option[1] == FRAME_MODEL ? needs | NH_NEEDS_FRAME : needs;
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    return frame_skips((int)option[1]) | (shape->flat ? NH_FN_BIT(TWIST) : 0);
}

const nh_method nh_method_collocation = {
    .name = "collocation",
    .summary = "keeps the energy exactly at any even order",
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
          .help = "of the model, by Householder reflections (with exact derivatives or with "
                  "differences), or carried along from step to step",
          .type = NH_OPTION_CHOICE,
          .standard = FRAME_POLAR,
          .least = 0,
          .greatest = FRAME_POLAR,
          .choices = "model|householder|difference|polar"},
         {.name = "points",
          .help = "Gauss points of the integrals; 0: by the step, exact to round-off",
          .type = NH_OPTION_INTEGER,
          .standard = 0,
          .least = 0,
          .greatest = RULE_POINTS_MAX},
         {.name = "anchor",
          .help = "where the polar frame has its basis: at the start of the step, or in its "
                  "middle, which is symmetric (without effect on other frames)",
          .type = NH_OPTION_CHOICE,
          .standard = ANCHOR_START,
          .least = 0,
          .greatest = ANCHOR_MIDDLE,
          .choices = "start|middle"}},
    .options = 4,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .without_positions = "its stages keep quadratic conditions at most; compositions of avf-p have "
                         "the same orders",
    .needs_of = needs_of,
    .skips = skips,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .table_size = table_size,
    .table = table,
};
#endif
