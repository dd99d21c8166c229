/* Discrete gradients on D*: the energy is preserved because the step is a skew matrix times a
 * discrete gradient of H.
 *
 *     z = (q, rho),  rho = X^T M v,    z1 = z0 + h Pi((z0 + z1)/2) DH(z0, z1)
 *     DH(z0, z1) . (z1 - z0) = H(z1) - H(z0),    v1 = X dH/drho(z1)
 *
 * DH is one of
 *     avf          mean of grad H over the segment
 *     gonzalez     grad H at its middle, corrected along z1 - z0
 *     itoh-abe     H's difference quotients, one coordinate after the other
 *     itoh-abe-symmetric   the mean of those from z0 to z1 and back
 *
 * and the frame X is that of the model, that of a Householder factorisation, or none: `polar`
 * transports the velocity by orthogonal maps (polar.h) and uses the discrete gradient of V alone.
 *
 * The correction of Gonzalez and the quotients of Itoh and Abe are also computed from means of grad
 * H, which is equivalent but does not divide a small difference of energies by a small distance.
 *
 * Preserves the energy and the constraints, with the polar frame also conditions on positions;
 * symmetric and of order 2, except itoh-abe, which is of order 1. Celledoni, Farre Puiggali,
 * Hoiseth & Martin de Diego, eqs. 9, 14, Algorithm 1 and Remark 3.5. */
#include "kernel/kernel.h"
#include "kernel/newton.h"

#define GRADIENT ((int)OPTION(0))
#define FRAME ((int)OPTION(1))
#define POINTS ((int)OPTION(2)) /* 0: chosen by the step */

#define IS_FLAT FLAT
#include "method/frame.h"
#include "method/polar.h"

enum { AVF, GONZALEZ, ITOH_ABE, ITOH_ABE_SYMMETRIC };
enum { ITERATIONS_MAX = 60, WARM_ITERATIONS = 2, HISTORY = 3 };

/* The table: nodes and weights of Gauss rules with 2, 4, .. 12 points, then one with POINTS. The
 * first iterations, which only approach the solution, use few points; the last ones use as many as
 * make the mean exact to round-off: 6 to 12, depending on the step (where the slope varies like
 * sin(w t), 6 are enough up to h w = 0.6, 8 up to 1.5), or fewer if the slope is a polynomial. */
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

static inline gauss_rule full_rule(kernel *k)
{
    if (POINTS > 0)
        return (gauss_rule){POINTS, TABLE + 84, TABLE + 84 + POINTS};
    int points = points_by_step(k);
    if (FRAME == FRAME_POLAR && SLOPE_DEGREE >= 0 && SLOPE_DEGREE < 8)
        points = SLOPE_DEGREE < 4 ? 2 : 4;
    return even_rule(k, points);
}

/* The rule for the mean of G, with at most `most` points; the midpoint is enough if G is linear. */
static inline gauss_rule surface_rule(kernel *k, int most)
{
    int points = points_by_step(k);
    if (SURFACE_DEGREE >= 0 && SURFACE_DEGREE < 8)
        points = SURFACE_DEGREE < 2 ? 1 : SURFACE_DEGREE < 4 ? 2 : 4;
    return points == 1 ? (gauss_rule){1, 0, 0} : even_rule(k, points < most ? points : most);
}

/* z is q alone where the frame is polar. */
#define UNKNOWNS (FRAME == FRAME_POLAR ? N : D)
#define Z_SIZE (FRAME == FRAME_POLAR ? N : FRAME_SIZE)

/* ---- the discrete gradient ---- */

static inline int mean_slope(kernel *k, gauss_rule u, const real *z0, const real *dz, real *z,
                             real *mean)
{
    HOLD(k);
    LOCAL(g, UNKNOWNS);
    EACH(i, UNKNOWNS) mean[i] = broadcast(0);
    for (int p = 0; p < u.points; p++) {
        EACH(i, UNKNOWNS) z[i] = fma_(broadcast(u.c[p]), dz[i], z0[i]);
        TRY_(frame_slope(k, z, g));
        EACH(i, UNKNOWNS) mean[i] = fma_(broadcast(u.b[p]), g[i], mean[i]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The mean replaces the value at the midpoint along dz, and only there. */
static inline int gonzalez_slope(kernel *k, gauss_rule u, const real *z0, const real *dz, real *z,
                                 real *out)
{
    HOLD(k);
    LOCAL(mean, UNKNOWNS);
    TRY_(mean_slope(k, u, z0, dz, z, mean));
    EACH(i, UNKNOWNS) z[i] = fma_(broadcast(0.5), dz[i], z0[i]);
    if (FRAME == FRAME_DIFFERENCE)
        CALL(DIFFERENCE_GRADIENT, k->t, z, k->v, z + N, out);
    else
        TRY_(frame_slope(k, z, out));
    EACH(i, UNKNOWNS) mean[i] = mean[i] - out[i];
    real square = dot_(UNKNOWNS, dz, dz), gap = dot_(UNKNOWNS, mean, dz);
    mask moves = less(broadcast(1e-290), square);
    real c = select_(moves, gap / select_(moves, square, broadcast(1)), broadcast(0));
    EACH(i, UNKNOWNS) out[i] = fma_(c, dz[i], out[i]);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* Adds weight times the difference quotients along the path from z0 to z1 that changes one
 * coordinate after the other, beginning with the first one or with the last. */
static inline int add_quotients(kernel *k, gauss_rule u, const real *z0, const real *dz,
                                int last_first, double weight, real *z, real *out)
{
    HOLD(k);
    LOCAL(g, UNKNOWNS);
    EACH(i, UNKNOWNS) z[i] = z0[i];
    for (int place = 0; place < UNKNOWNS; place++) {
        int i = last_first ? UNKNOWNS - 1 - place : place;
        for (int p = 0; p < u.points; p++) {
            z[i] = fma_(broadcast(u.c[p]), dz[i], z0[i]);
            TRY_(frame_slope(k, z, g));
            out[i] = fma_(broadcast(weight * u.b[p]), g[i], out[i]);
        }
        z[i] = z0[i] + dz[i];
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* z is workspace; what follows its coordinates must be set already. */
static inline int discrete_gradient(kernel *k, gauss_rule u, const real *z0, const real *dz,
                                    real *z, real *out)
{
    if (GRADIENT == AVF)
        return mean_slope(k, u, z0, dz, z, out);
    if (GRADIENT == GONZALEZ)
        return gonzalez_slope(k, u, z0, dz, z, out);
    EACH(i, UNKNOWNS) out[i] = broadcast(0);
    if (GRADIENT == ITOH_ABE)
        return add_quotients(k, u, z0, dz, 0, 1, z, out);
    /* From z1 back to z0 the coordinates change in the same order, so from z0 the last one changes
     * first. */
    TRY_(add_quotients(k, u, z0, dz, 0, 0.5, z, out));
    return add_quotients(k, u, z0, dz, 1, 0.5, z, out);
}

/* ---- one fixed-point iteration: a better dz from dz ---- */

typedef struct gradient_work {
    real *z0, *z, *g; /* start, a point on the way, discrete gradient */
    real *bracket;    /* frames */
    polar_step polar;
    real *moved; /* the result of an iteration from dz */
} gradient_work;

/* few: the largest number of points for the means, or 0: as many as make them exact */
static inline int iterate(kernel *k, gradient_work *s, int few, const real *dz, real *out)
{
    const gauss_rule u = few ? even_rule(k, few) : full_rule(k);
    const gauss_rule rows = surface_rule(k, few ? few : 12);
    TRY_(discrete_gradient(k, u, s->z0, dz, s->z, s->g));
    EACH(i, UNKNOWNS) s->z[i] = fma_(broadcast(0.5), dz[i], s->z0[i]);
    if (FRAME != FRAME_POLAR) {
        TRY_(frame_bracket(k, s->z, s->bracket));
        apply_bracket(k, s->bracket, s->g, out);
    } else if (FLAT) {
        TRY_(flat_middle(k, rows, s->z0, dz, s->z, s->polar.middle));
        TRY_(flat_iteration(k, &s->polar, s->g, out));
    } else {
        HOLD(k);
        LOCAL(w, N + 1);
        EACH(i, N) w[i] = dz[i] * 0.5;
        w[N] = broadcast(1);
        TRY_(curved_middle(k, rows, s->z0, dz, s->z, s->polar.middle));
        TRY_(curved_iteration(k, &s->polar, s->z, w, s->g, out));
        RELEASE(k);
    }
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    gradient_work *s = (gradient_work *)work;
    int status = iterate(k, s, 0, x, s->moved);
    EACH(i, UNKNOWNS) r[i] = x[i] - s->moved[i];
    return status;
}

static int newton(kernel *k, gradient_work *s, real *dz)
{
    if (newton_scratch((size_t)(UNKNOWNS)) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)(UNKNOWNS)));
    newton_problem problem = newton_begin(newton_gap, UNKNOWNS, UNKNOWNS, space, s);
    EACH(i, UNKNOWNS)
    {
        problem.x[i] = i < N ? k->h * k->v[i] : broadcast(0);
        problem.size[i] = i < N ? fabs(k->h) * newton_velocity_size(k, i) : fabs(s->z0[i]);
    }
    int status = newton_solve(k, &problem);
    EACH(i, UNKNOWNS) dz[i] = problem.x[i];
    if (!status)
        status = iterate(k, s, 0, dz, s->moved); /* leaves what the end of the step needs */
    RELEASE(k);
    return status;
}
#endif

/* The error of the energy is the force times the last iteration's change, not the error that
 * remains after it, and it always has the same sign if iterations shrink errors evenly: 5e-18 per
 * step adds up. So the last change itself must be of the order of rounding. */
#define STRICT 0x1p-6

/* With the correction of Gonzalez, everything acts on everything. */
#define OWN_DRIVER (FRAME == FRAME_POLAR && FLAT && GRADIENT != GONZALEZ ? DRIVER : -1)

/* Lanes that have converged keep what their last iteration left for the end of the step. */
static inline void keep(kernel *k, gradient_work *s, const coupled_convergence *progress,
                        real *kept)
{
    if (FRAME != FRAME_POLAR || (LANES == 1 && OWN_DRIVER < 0))
        return;
    mask active = progress->all.active;
    EACH(i, POINT_SIZE) kept[i] = s->polar.middle[i] = select_(active, s->polar.middle[i], kept[i]);
    EACH(i, N)
    kept[POINT_SIZE + i] = s->polar.moved[i] =
        select_(still_active(progress, i == OWN_DRIVER), s->polar.moved[i], kept[POINT_SIZE + i]);
}

static inline int fixed_point(kernel *k, gradient_work *s, real *dz)
{
    const int full = full_rule(k).points;
    LOCAL(kept, FRAME == FRAME_POLAR ? POINT_SIZE + N : 0);
    if (FRAME == FRAME_POLAR)
        EACH(i, POINT_SIZE + N) kept[i] = broadcast(0);
    coupled_convergence progress = coupled_begin(OWN_DRIVER >= 0);
    /* At rest in equilibrium, the displacement consists of the rounding of the conditions. */
    if (POSITIONS > 0)
        progress.all.floor = broadcast(4 * ROUND_OFF * SIZE_OF_POSITIONS);
    for (int iterations = 0; !has_converged(&progress); iterations++) {
        const int few = 2 + 2 * iterations, warm = iterations < WARM_ITERATIONS && few < full;
        corrections sum = no_corrections();
        TRY_(iterate(k, s, warm ? few : 0, dz, s->moved));
        keep(k, s, &progress, kept);
        EACH(i, UNKNOWNS)
        take(&progress, &sum, i == OWN_DRIVER, s->moved[i], abs_(s->moved[i]), dz + i);
        if (warm)
            continue;
        coupled_update(&progress, STRICT, &sum);
        if (iterations >= ITERATIONS_MAX || has_diverged(&progress))
            return BY_NEWTON(newton(k, s, dz), &progress.all);
    }
    return NH_KERNEL_OK;
}

/* ---- the step ---- */

/* Memory: the difference between the mean velocity of a step and that at its start, divided by h,
 * for the last steps; rho with its rounding error, except on flat systems; on curved ones the basis
 * to which it refers and, with conditions on positions, the displacement to g = 0. */
#define MEMORY_RHO (k->memory + HISTORY * UNKNOWNS)
#define MEMORY_BASIS (MEMORY_RHO + 2 * R)
#define MEMORY_BACK (MEMORY_BASIS + R * N)
#define CURVED (FRAME == FRAME_POLAR && !FLAT)

static int start(kernel *k)
{
    LOCAL(point, CURVED ? POINT_SIZE : 0);
    EACH(e, HISTORY * UNKNOWNS) k->memory[e] = broadcast(0);
    if (FRAME != FRAME_POLAR || CURVED)
        EACH(a, 2 * R) MEMORY_RHO[a] = broadcast(0);
    if (CURVED) {
        TRY_(curved_point(k, k->q, point, MEMORY_BACK));
        momenta(k, POINT_MASS(point), POINT_BASIS(point), k->v, MEMORY_RHO);
        EACH(e, R * N) MEMORY_BASIS[e] = POINT_BASIS(point)[e];
    }
    return NH_KERNEL_OK;
}

static inline void predict(kernel *k, real *dz)
{
    const scalar h = k->h;
    const real *past = k->memory;
    EACH(i, UNKNOWNS)
    {
        real next = (past[i] - past[UNKNOWNS + i]) * 3.0 + past[2 * UNKNOWNS + i];
        dz[i] = next * (i < N ? h * h : h);
        if (i < N)
            dz[i] = fma_(broadcast(h), k->v[i], dz[i]);
    }
}

static inline void remember(kernel *k, const real *dz)
{
    const scalar h = k->h;
    EACH(i, UNKNOWNS)
    {
        k->memory[2 * UNKNOWNS + i] = k->memory[UNKNOWNS + i];
        k->memory[UNKNOWNS + i] = k->memory[i];
        k->memory[i] = i < N ? (dz[i] * (1 / h) - k->v[i]) * (1 / h) : dz[i] * (1 / h);
    }
}

static int step(kernel *k)
{
    LOCAL(z0, Z_SIZE);
    LOCAL(z, Z_SIZE);
    LOCAL(dz, UNKNOWNS);
    LOCAL(g, UNKNOWNS);
    LOCAL(moved, UNKNOWNS);
    LOCAL(v1, N);
    LOCAL(dv, N);
    LOCAL(carried, N);
    LOCAL(low, R);
    LOCAL(bracket, FRAME == FRAME_POLAR ? 0 : BRACKET_SIZE);
    LOCAL(begin, FRAME == FRAME_POLAR && FLAT ? POINT_SIZE : 0);
    LOCAL(middle, FRAME == FRAME_POLAR ? POINT_SIZE : 0);
    LOCAL(basis, CURVED ? R * N : 0);
    LOCAL(back, FRAME == FRAME_POLAR && POSITIONS > 0 ? N : 0);
    gradient_work s = {z0, z, g, bracket, {begin, 0, back, middle, carried}, moved};

    if (FRAME != FRAME_POLAR)
        TRY_(frame_start(k, MEMORY_RHO, z0, low));
    else
        EACH(i, N) z0[i] = k->q[i];
    if (FRAME == FRAME_POLAR && FLAT) {
        TRY_(flat_point(k, z0, begin));
        if (POSITIONS > 0)
            TRY_(flat_back(k, begin, back));
    }
    if (CURVED) {
        s.polar.start = MEMORY_BASIS;
        s.polar.rho = MEMORY_RHO;
        s.polar.back = MEMORY_BACK;
    }
    EACH(i, Z_SIZE) z[i] = z0[i];
    predict(k, dz);
    TRY_(fixed_point(k, &s, dz));

    EACH(i, UNKNOWNS) z[i] = z0[i] + dz[i];
    if (FRAME != FRAME_POLAR) {
        TRY_(frame_velocity(k, z, v1));
        EACH(i, N) dv[i] = v1[i] - k->v[i];
        frame_keep(k, z0 + N, low, dz + N, MEMORY_RHO);
    } else if (FLAT) {
        TRY_(flat_end(k, &s.polar, z, v1, dv));
    } else {
        TRY_(curved_end(k, &s.polar, z, basis, back, v1, dv));
        EACH(e, R * N) MEMORY_BASIS[e] = basis[e];
        if (POSITIONS > 0)
            EACH(i, N) MEMORY_BACK[i] = back[i];
        EACH(a, R) accumulate(MEMORY_RHO + a, MEMORY_RHO + R + a, carried[a]);
    }
    remember(k, dz);
    commit(k, z, v1, dz, dv);
    return NH_KERNEL_OK;
}

KERNEL(discrete_gradient, start, step);

#ifdef NH_DESCRIBE
#include "base/quadrature.h"
#include "method/method.h"

static bool is_polar(const double *option)
{
    return option[1] == FRAME_POLAR;
}

static size_t memory(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m;
    if (!is_polar(option))
        return HISTORY * (2 * n - m) + 2 * (n - m);
    return HISTORY * n + (shape->flat ? 0 : (n - m) * (n + 2) + (shape->positions > 0 ? n : 0));
}

/* The arrays of step(), and the most that the functions it calls hold at a time. */
static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t n = (size_t)shape->n, m = (size_t)shape->m, r = n - m, d = is_polar(option) ? n : n + r;
    size_t point = shape->flat ? (size_t)(shape->nk + shape->nb) + m * m : n * n + m * n + r * n;
    size_t of_step = 2 * (d + m + 1) + 3 * d + 4 * n + r;
    size_t gradient = 2 * d + n + 1, newton = newton_scratch(d);
    if (!is_polar(option))
        return of_step + r * n + r * r + newton + gradient + m;
    size_t flat = 6 * m * m + 4 * m + 2 * n;
    size_t curved = 4 * r * r + r + ALLOWED_BASIS_SCRATCH(n, m) + POLAR_SCRATCH(r) +
                    CAYLEY_SCRATCH(r) + n * n + 3 * n + 1;
    size_t positions =
        shape->positions > 0 ? point + 2 * n + (size_t)(shape->positions + shape->ng) : 0;
    return of_step + 4 * point + n + newton + gradient + (shape->flat ? flat : curved) + positions;
}

static size_t table_size(const double *option)
{
    return 84 + 2 * (size_t)option[2];
}

static void table(const double *option, double *out)
{
    int own = (int)option[2];
    for (int points = 2; points <= 12; out += 2 * points, points += 2)
        nh_gauss_nodes(points, out, out + points);
    if (own > 0)
        nh_gauss_nodes(own, out, out + own);
}

static int order_of(const double *option)
{
    return option[0] == ITOH_ABE ? 1 : 2;
}

static unsigned keeps_of(const double *option)
{
    unsigned keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_ENERGY;
    if (option[0] != ITOH_ABE)
        keeps |= NH_KEEPS_SYMMETRY;
    if (is_polar(option) && option[0] != GONZALEZ)
        keeps |= NH_KEEPS_FIBRATION;
    if (is_polar(option))
        keeps |= NH_KEEPS_POSITIONS;
    return keeps;
}

static unsigned needs_of(const double *option)
{
    unsigned needs = NH_NEEDS_AUTONOMOUS | NH_NEEDS_CONSERVATIVE | NH_NEEDS_LINEAR_CONSTRAINTS |
                     NH_NEEDS_MECHANICAL | NH_NEEDS_DEFINITE_MASS | NH_NEEDS_MODEL_TEXT;
    return option[1] == FRAME_MODEL ? needs | NH_NEEDS_FRAME : needs;
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    const nh_fn_set curved = NH_FN_BIT(MATRICES) | NH_FN_BIT(TWIST);
    const nh_fn_set flat = NH_FN_BIT(NORMAL) | NH_FN_BIT(SOLVE);
    return frame_skips((int)option[1]) | (shape->flat ? curved : flat) |
           (shape->positions > 0 ? 0 : NH_FN_BIT(SURFACE)) |
           (option[0] == GONZALEZ ? 0 : NH_FN_BIT(DIFFERENCE_GRADIENT));
}

NH_METHOD(discrete_gradient) = {
    .name = "discrete-gradient",
    .summary = "preserves the energy exactly, in a frame or (polar) without one",
    .reference =
        "Celledoni, Farre Puiggali, Hoiseth & Martin de Diego 2018 (14); polar: this project",
    .formulas = "z = (q, rho),  rho = X^T M v,   z1 = z0 + h Pi((z0 + z1)/2) DH(z0, z1),   v1 = X "
                "dH/drho(z1)\n"
                "frame=polar, for bases B0, B, B1 of ker A at q0, qm = (q0 + q1)/2, q1 and w = (q1 "
                "- q0)/2:\n"
                "K_ab = w^i (d_k M_ij - d_j M_ik)(qm) B_a^j B_b^k / 2\n"
                "rho0 = cay(-K) polar(B0^T M(qm) B)^T B0^T M(q0) v0\n"
                "rho1 = rho0 - h B^T DV(q0, q1),   q1 = q0 + h/2 B (rho0 + rho1)\n"
                "v1 = B1 polar(B1^T M(qm) B) cay(-K) rho1\n"
                "conditions on positions g = 0: rows dg/dq of A, at qm their mean over q0 .. q1",
    .option = {{.name = "gradient",
                .help = "the discrete gradient: mean over the segment, Gonzalez, or Itoh and Abe",
                .type = NH_OPTION_CHOICE,
                .standard = AVF,
                .least = 0,
                .greatest = ITOH_ABE_SYMMETRIC,
                .choices = "avf|gonzalez|itoh-abe|itoh-abe-symmetric"},
               {.name = "frame",
                .help = "the frame: that of the model, from Householder reflections (with exact "
                        "derivatives or with differences), or none",
                .type = NH_OPTION_CHOICE,
                .standard = FRAME_POLAR,
                .least = 0,
                .greatest = FRAME_POLAR,
                .choices = "model|householder|difference|polar"},
               {.name = "points",
                .help = "number of Gauss points for the mean; 0 chooses 6 to 12 depending on the "
                        "step, exact to round-off",
                .type = NH_OPTION_INTEGER,
                .standard = 0,
                .least = 0,
                .greatest = 16}},
    .options = 3,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .without_positions =
        "with a frame, velocities are admissible at the middle of a step, which preserves "
        "quadratic conditions at most; frame=polar preserves all conditions",
    .needs_of = needs_of,
    .skips = skips,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .table_size = table_size,
    .table = table,
};
#endif
