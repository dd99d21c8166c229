/* The Newmark method of Jay and Negrut, generalised by alpha_m and alpha_f; it carries the
 * multiplier from step to step.
 *
 *     G = M^-1 (rate + K^T l)   at (t0, q0, v0) with l0 and at (t1, q1, v1) with l1
 *     (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) G1 + alpha_f G0
 *     q1 = q0 + h v0 + h^2/2 ((1 - 2 beta) a0 + 2 beta a1)
 *     v1 = v0 + h ((1 - gamma) a0 + gamma a1),     k(t1, q1, v1) = 0
 *
 * l0 comes from the previous step (initially from the continuous equations), so only l1 is solved
 * for; with alphas, a0 is carried as well. Order 2 for gamma = 1/2 + alpha_f - alpha_m, else 1;
 * preserves the constraints at every node. Without alphas a = G, and beta = 0, gamma = 1/2 is
 * leapfrog; beta = 0 is explicit if the force does not depend on velocities. The alphas damp fast
 * oscillations: with alpha_m = (2 r - 1)/(r + 1), alpha_f = r/(r + 1),
 * beta = (1 + alpha_f - alpha_m)^2 / 4 free oscillations that the step size does not resolve shrink
 * by the factor r per step. Jay & Negrut (2009), sections 5 and 6; Chung & Hulbert (1993); Anahory
 * Simoes, Ferraro, Marrero & Martin de Diego, eq. 12 without alphas. */
#include "kernel/newton.h"

#define BETA OPTION(0)
#define GAMMA OPTION(1)
#define ALPHA_M OPTION(2)
#define ALPHA_F OPTION(3)
#define GENERALISED (ALPHA_M != 0 || ALPHA_F != 0)
/* h a1 = SHARE I1 + what is known; the shares of I1 in q1 and in v1 */
#define SHARE ((1 - ALPHA_F) / (1 - ALPHA_M))
#define BETA_1 (BETA * SHARE)
#define GAMMA_1 (GAMMA * SHARE)
enum { ITERATIONS_MAX = 50 };

/* The multiplier of the last node; with alphas, a of the last step. */
#define MEMORY_L (k->memory)
#define MEMORY_A (k->memory + M)

static int start(kernel *k)
{
    LOCAL(a, N + M);
    CALL(ACCELERATION, k->t, k->q, k->v, 0, a);
    EACH(j, M) MEMORY_L[j] = a[N + j];
    if (GENERALISED)
        EACH(i, N) MEMORY_A[i] = a[i];
    return NH_KERNEL_OK;
}

/* What is known at the start of a step: I = h G and J = h a there, and J1 - SHARE I1. */
typedef struct known {
    const real *J0, *rest;
} known;

/* u = (q1 - q0) / h for the impulse I1 = h G1. */
static inline void mean_velocity(kernel *k, const known *c, const real *I1, real *u)
{
    EACH(i, N)
    {
        u[i] = fma_(broadcast(0.5 - BETA), c->J0[i], k->v[i]);
        if (GENERALISED)
            u[i] = fma_(broadcast(BETA), c->rest[i], u[i]);
        if (BETA != 0)
            u[i] = fma_(broadcast(BETA_1), I1[i], u[i]);
    }
}

/* w = v1 - v0 */
static inline void velocity_change(kernel *k, const known *c, const real *I1, real *w)
{
    EACH(i, N)
    {
        real end = I1[i] * GAMMA_1;
        if (GENERALISED)
            end = fma_(broadcast(GAMMA), c->rest[i], end);
        w[i] = fma_(broadcast(1 - GAMMA), c->J0[i], end);
    }
}

/* One iteration: the force at the current end state, then the multiplier that satisfies the
 * constraint there, exactly except for changes of M, K and the force. */
static inline int iterate(kernel *k, const known *c, real *kick, real *I1, real *R1, real *u,
                          real *w, real *q, real *v, real *close)
{
    const scalar h = k->h, t1 = k->t + h;
    real *B = kick + N;
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u[i], k->q[i]);
        v[i] = k->v[i] + w[i];
    }
    CALL(KICK, t1, q, v, 0, kick);
    EACH(i, N) I1[i] = kick[i] * h;
    add_B(k, I1, B, R1);
    mean_velocity(k, c, I1, u);
    velocity_change(k, c, I1, w);
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u[i], k->q[i]);
        v[i] = k->v[i] + w[i];
    }
    B[NB] = broadcast(h * (BETA / GAMMA)); /* a change of v1 changes q1 by this factor */
    CALL(CLOSE, t1, q, v, B, close);
    EACH(j, M)
    {
        R1[j] = fma_(broadcast(-1 / GAMMA_1), close[j], R1[j]);
        close[M + j] = close[j] * (-BETA / GAMMA);
        close[j] = -close[j];
    }
    add_B(k, w, B, close);
    if (BETA != 0)
        add_B(k, u, B, close + M);
    return NH_KERNEL_OK;
}

#ifdef NH_CAREFUL

/* What newton_gap needs besides its unknowns w = v1 - v0 and R1 = h l1. */
typedef struct jay_negrut_work {
    const known *known;
    real *kick, *I1, *u, *q, *v;
} jay_negrut_work;

static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    const jay_negrut_work *c = (const jay_negrut_work *)work;
    const scalar h = k->h;
    const real *w = x;
    EACH(i, N) /* since w = (1 - gamma) J0 + gamma J1 */
    {
        const real J1 = (w[i] - (1 - GAMMA) * c->known->J0[i]) / GAMMA;
        c->I1[i] = (GENERALISED ? J1 - c->known->rest[i] : J1) / SHARE;
        c->v[i] = k->v[i] + w[i];
    }
    mean_velocity(k, c->known, c->I1, c->u);
    EACH(i, N) c->q[i] = k->q[i] + h * c->u[i];
    CALL(KICK, k->t + h, c->q, c->v, 0, c->kick);
    EACH(i, N) r[i] = h * c->kick[i] - c->I1[i];
    add_B(k, r, c->kick + N, x + N);
    CALL(CONSTRAINT, k->t + h, c->q, c->v, 0, r + N);
    return NH_KERNEL_OK;
}

static int newton(kernel *k, const jay_negrut_work *c, real *w, real *R1)
{
    const int d = N + M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(newton_gap, d, N, space, (void *)c);
    EACH(i, d)
    {
        problem.x[i] = i < N ? broadcast(0) : k->h * MEMORY_L[i - N];
        problem.size[i] = i < N ? newton_velocity_size(k, i) : newton_impulse_size(k, c->kick + N);
    }
    int status = newton_solve(k, &problem);
    if (!status) /* u of the solution, not of the last difference taken for the Jacobian */
        status = newton_gap(k, problem.x, space, (real *)c);
    EACH(i, N) w[i] = problem.x[i];
    EACH(j, M) R1[j] = problem.x[N + j];
    return status;
}

#endif

/* J0, and the part of J1 besides its share of I1. */
static inline void find_known(kernel *k, const real *I0, real *J0, real *rest)
{
    const double f = ALPHA_F / (1 - ALPHA_M), m = -ALPHA_M / (1 - ALPHA_M);
    EACH(i, N)
    {
        J0[i] = GENERALISED ? MEMORY_A[i] * k->h : I0[i];
        rest[i] = GENERALISED ? fma_(broadcast(f), I0[i], J0[i] * m) : broadcast(0);
    }
}

static int step(kernel *k)
{
    const scalar h = k->h;
    LOCAL(kick, N + NB + 1);
    LOCAL(I0, N);
    LOCAL(J0, N);
    LOCAL(rest, N);
    LOCAL(I1, N);
    LOCAL(l, M);
    LOCAL(R1, M);
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(u_new, N);
    LOCAL(w_new, N);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(close, 2 * M);

    CALL(KICK, k->t, k->q, k->v, 0, kick);
    EACH(j, M) l[j] = R1[j] = MEMORY_L[j] * h;
    EACH(i, N) I0[i] = kick[i] * h;
    add_B(k, I0, kick + N, l);
    find_known(k, I0, J0, rest);
    const known c = {J0, rest};
    mean_velocity(k, &c, I0, u_new);
    EACH(i, N)
    {
        u[i] = k->v[i];
        w[i] = w_new[i] = broadcast(0);
    }
    coupled_convergence progress = coupled_velocities(k, DRIVER);
    do {
        TRY_(iterate(k, &c, kick, I1, R1, u_new, w_new, q, v, close));
        EACH(j, M) l[j] = select_(progress.all.active, R1[j], l[j]);
        take_increments(k, &progress, DRIVER, 1, k->v, u_new, w_new, u, w);
        if (BETA == 0 && SEPARABLE && AFFINE)
            break; /* where the force is explicit, one iteration is exact */
        if (has_failed(&progress, ITERATIONS_MAX)) {
#ifdef NH_CAREFUL
            const jay_negrut_work work = {&c, kick, I1, u, q, v};
#endif
            TRY_(BY_NEWTON(newton(k, &work, w, l), &progress.all));
            break;
        }
    } while (!has_converged(&progress));
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u[i], k->q[i]);
        v[i] = k->v[i] + w[i];
        u[i] = u[i] * h;
    }
    EACH(j, M) MEMORY_L[j] = l[j] * (1 / h);
    if (GENERALISED)
        EACH(i, N) MEMORY_A[i] = (w[i] - J0[i] * (1 - GAMMA)) * (1 / (GAMMA * h));
    commit(k, q, v, u, w);
    return NH_KERNEL_OK;
}

KERNEL(jay_negrut, start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t memory(const nh_shape *s, const double *option)
{
    return (size_t)s->m + (option[2] != 0 || option[3] != 0 ? (size_t)s->n : 0);
}

static size_t scratch(const nh_shape *s, const double *option)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, d = n + m;
    (void)option;
    return 11 * n + (size_t)s->nb + 1 + 4 * m + newton_scratch(d);
}

static int order_of(const double *option)
{
    const double second = 0.5 + option[3] - option[2];
    return option[1] > second - 1e-12 && option[1] < second + 1e-12 ? 2 : 1;
}

static const char *refuse(const double *option, bool constrained)
{
    (void)constrained;
    return option[1] < 1e-3 ? "gamma must be at least 0.001; otherwise the new multiplier does not "
                              "act on the velocity and cannot enforce the constraint"
                            : 0;
}

NH_METHOD(jay_negrut) = {
    .name = "jay-negrut",
    .summary =
        "Newmark's and the generalised alpha method; the multiplier is carried from step to step",
    .reference = "Jay & Negrut 2009, Anahory Simoes et al. (12)",
    .formulas =
        "G0 = M^-1 (rate + K^T l0) at (t0, q0, v0),   G1 = M^-1 (rate + K^T l1) at (t1, q1, v1)\n"
        "(1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) G1 + alpha_f G0\n"
        "q1 = q0 + h v0 + h^2/2 ((1 - 2 beta) a0 + 2 beta a1)\n"
        "v1 = v0 + h ((1 - gamma) a0 + gamma a1),   k(t1, q1, v1) = 0\n"
        "l0 and, if alpha_m or alpha_f is not 0, a0 come from the previous step.",
    .option = {{.name = "beta",
                .help =
                    "weight of the end of the step in the positions; 0 makes the force explicit",
                .type = NH_OPTION_REAL,
                .standard = 0,
                .least = 0,
                .greatest = 0.5},
               {.name = "gamma",
                .help = "weight of the end of the step in the velocities; 1/2 + alpha_f - alpha_m "
                        "gives order 2",
                .type = NH_OPTION_REAL,
                .standard = 0.5,
                .least = 0,
                .greatest = 2},
               {.name = "alpha_m",
                .help = "weight of the previous acceleration",
                .type = NH_OPTION_REAL,
                .standard = 0,
                .least = -1,
                .greatest = 0.5},
               {.name = "alpha_f",
                .help = "weight of the start of the step in the forces",
                .type = NH_OPTION_REAL,
                .standard = 0,
                .least = 0,
                .greatest = 0.5}},
    .options = 4,
    .order_of = order_of,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION,
    .without_positions =
        "the multiplier that moves the positions is carried over from the previous step",
    .refuse = refuse,
    .memory = memory,
    .carries = "it carries multipliers from step to step, which other methods do not have",
    .scratch = scratch,
};
#endif
