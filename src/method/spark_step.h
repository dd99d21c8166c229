/* SPARK: partitioned Runge-Kutta steps for any Lagrangian, any forces and any constraints.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j f_ij F_j + h sum_j r_ij K_j^T Psi_j,    P_i = dL/dv(T_i, Q_i, V_i)
 *
 * Index i runs over the points, j over the S stages. Points 0 .. S-1 are the stages; the last
 * point, whose rows are the weights b, is the end of the step; a method may have further points
 * between. The multipliers follow from S conditions sum_i u_ri k(T_i, Q_i, V_i) = 0 on all points.
 * Jay (2009), eq. 6.1. For conditions on positions, the last rows of k = dg/dt, these are instead
 *     sum_i (ud_ri k(T_i, Q_i, V_i) + ug_ri g(T_i, Q_i) / h) = 0.
 *
 * A step is solved by fixed-point iteration, for the impulses X_j = h Psi_j together with
 *     the pushes M^-1 (h F_j + K_j^T X_j)   where p = M v with a constant M    (spark_pushes.h)
 *     the rises V_i - v0 of all points      else                               (spark_rises.h)
 * rather than for velocities: so the increment that is finally added to the state is known to the
 * last digit.
 *
 * An iteration evaluates all points, computes new unknowns from the equations, and then moves these
 * and X so that the conditions hold, with M and K frozen. The linear system for that, and the
 * factors of M, are computed in the first iteration only: afterwards M and K change too little to
 * matter. The combinations u of the conditions are chosen such that this system is the identity
 * plus O(h), so it is eliminated without pivoting.
 *
 * A file that includes this one first defines
 *     STAGES         their number S
 *     BETWEEN        further points between the stages and the end
 *     SPLIT          1 when reactions have a table r of their own, 0 when it is that of the forces
 *     REMEMBERED     how many of the last steps are continued into the next: 1 (which need not be
 *                    said) or 2
 * and passes a table made by spark_table.h to the kernel. */
#ifndef NH_METHOD_SPARK_STEP_H
#define NH_METHOD_SPARK_STEP_H

#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "method/spark_layout.h"

#ifndef REMEMBERED
#define REMEMBERED 1
#endif
#define S STAGES
#define POINTS (S + BETWEEN + 1)
enum { ITERATIONS_MAX = 50 };

/* Loops over stages and points are unrolled in emitted kernels as long as compiling takes at most a
 * few seconds; it halves the time of a step. */
#ifdef NH_EMITTED
#ifdef NH_QUADS
#define SPARK_UNROLLED_MAX 450
#else
#define SPARK_UNROLLED_MAX (LANES == 1 ? 200 : 300)
#endif
#if S * S * N <= SPARK_UNROLLED_MAX && S * M <= 12
#define SPARK_UNROLLED
#endif
#endif
#ifdef SPARK_UNROLLED
#define EACH_STAGE(j) _Pragma("GCC unroll 32") for (int j = 0; j < S; j++)
#define EACH_POINT(i) _Pragma("GCC unroll 32") for (int i = 0; i < POINTS; i++)
#define EACH_UNKNOWN(i) _Pragma("GCC unroll 32") for (int i = 0; i < UNKNOWNS; i++)
#define EACH_FROM(i, first, end) EACH(i, end) if (i >= (first))
#else
#define EACH_STAGE(j) for (int j = 0; j < S; j++)
#define EACH_POINT(i) for (int i = 0; i < POINTS; i++)
#define EACH_UNKNOWN(i) for (int i = 0; i < UNKNOWNS; i++)
#define EACH_FROM(i, first, end) for (int i = (first); i < (end); i++)
#endif

/* Rows of the table's parts. */
#define LAYOUT spark_layout_of((spark_kind){S, POINTS, SPLIT, REMEMBERED == 2})
#define TABLE_PART(name) (TABLE + LAYOUT.name)
#define TABLE_C TABLE_PART(c)
#define TABLE_A(i) (TABLE_PART(a) + (i)*S)
#define TABLE_F(i) (TABLE_PART(f) + (i)*S)
#define TABLE_R(i) (TABLE_PART(r) + (i)*S)
#define TABLE_AF(i) (TABLE_PART(af) + (i)*S)
#define TABLE_AR(i) (TABLE_PART(ar) + (i)*S)
#define TABLE_U(r) (TABLE_PART(u) + (r)*POINTS)
#define TABLE_UD(r) (TABLE_PART(ud) + (r)*POINTS)
#define TABLE_UG(r) (TABLE_PART(ug) + (r)*POINTS)
#define TABLE_E(j) (TABLE_PART(e) + (j)*S)
#define TABLE_G(i) (TABLE_PART(g) + (i)*POINTS)
#define TABLE_E2(j) (TABLE_PART(e2) + (j)*2 * S)
#define TABLE_G2(i) (TABLE_PART(g2) + (i)*2 * POINTS)

/* What is stored for a point. With pushes: the outputs of STAGE at a stage, and those of END at any
 * other point, after all stages. With rises: the outputs of POINT at all of them, and what is
 * frozen: those of FACTOR, followed by room for an argument of SUBSTITUTE, and K. */
#define REST_SIZE (NONIDEAL ? N : 0)
#define STAGE_SIZE (2 * N + M + NK + (PLAIN_MOMENTUM ? NB : 0) + REST_SIZE)
#define OTHER_SIZE (N + M + NK)
#define VALUES_SIZE                                                                                \
    (PLAIN_MOMENTUM ? S * STAGE_SIZE + (BETWEEN + 1) * OTHER_SIZE : POINTS * STAGE_SIZE)
#define FROZEN_SIZE (PLAIN_MOMENTUM ? 0 : NB + NF + N + NK)
#define FROZEN_B(i) (s->frozen + (i) * (FROZEN_SIZE))
#define FROZEN_FACTORS(i) (FROZEN_B(i) + NB)
#define FROZEN_ARGUMENT(i) (FROZEN_FACTORS(i) + NF)
#define FROZEN_K(i) (FROZEN_ARGUMENT(i) + N)
#define STAGE_P(j) (values + (j) * (STAGE_SIZE))
#define STAGE_F(j) (STAGE_P(j) + N)
#define STAGE_B(j) (PLAIN_MOMENTUM ? STAGE_P(j) + 2 * N + M + NK : FROZEN_B(j))
/* rest of the reaction, for nonideal constraints */
#define STAGE_REST(j) (STAGE_P(j) + (STAGE_SIZE - REST_SIZE))
#define OTHER_P(i) (values + S * (STAGE_SIZE) + ((i)-S) * (OTHER_SIZE))
#define AS_STAGE(i) (!PLAIN_MOMENTUM || (i) < S)
#define POINT_P(i) (AS_STAGE(i) ? STAGE_P(i) : OTHER_P(i))
#define POINT_k(i) (AS_STAGE(i) ? STAGE_P(i) + 2 * N : OTHER_P(i) + N)
#define POINT_K(i) (POINT_k(i) + M)
#define SYSTEM_K(i) (PLAIN_MOMENTUM ? POINT_K(i) : FROZEN_K(i)) /* for the linear system */

/* Conditions on positions: the rows from this one on; g at a point, and G. */
#define FIRST_POSITION (M - POSITIONS)
#define SURFACE_SIZE (POSITIONS + NG)
#define POINT_g(i) (s->surface + (i) * (SURFACE_SIZE))
#define POINT_G(i) (POINT_K(i) + (NK - NG))

/* The number of vectors of unknowns (reactions have as many again if they have their own
 * coefficients); and the memory, which holds them and the impulses of the last step, or of the last
 * two and the number of steps done. */
#define PUSHES ((1 + SPLIT) * S)
#define UNKNOWNS (PLAIN_MOMENTUM ? PUSHES : POINTS)
#define MEMORY_STEP (UNKNOWNS * N + S * M)
#define MEMORY_X (k->memory + UNKNOWNS * N)
#define TWO_REMEMBERED (REMEMBERED == 2)
#define MEMORY_DONE (k->memory[2 * MEMORY_STEP])
#define MEMORY_SIZE (TWO_REMEMBERED ? 2 * MEMORY_STEP + 1 : MEMORY_STEP)

/* Arrays that the parts of a step share. */
typedef struct spark {
    real *x, *next;        /* the unknowns, and their next values */
    real *X, *dX;          /* impulses, S x M, and their corrections; dX is followed by workspace */
    real *Q, *V;           /* POINTS x N; V has room for the unknowns */
    real *base;            /* q0 + h c_i v0, POINTS x N */
    real *values;          /* of the points */
    real *frozen;          /* of rises, as they were in the first iteration */
    real *matrix, *answer; /* (S M) x (S M); (POINTS (M + POSITIONS)) x (S M), see below */
    real *defect;          /* M */
    real *p0, *push;       /* of rises: the momentum at the start and what END adds; PUSHES x N */
    real *surface, *moved; /* of conditions on positions: what SURFACE gives at points; N */
    real *block;           /* M x M */
    real *fresh;           /* of rises: room for what FACTOR gives at a point */
    mask astray;           /* with rises: the prediction for this step was far from its solution */
} spark;

/* Sums over more than three stages are formed in two independent chains. */
#define CHAINS (S > 3 ? 2 : 1)
#define CHAIN(j) (CHAINS > 1 ? (j)&1 : 0)

/* sum_j w_j x_j over the first components of S vectors that are `apart` numbers apart; and the same
 * added to `from` */
static inline real weighted(const kernel *k, const double *w, const real *x, int apart)
{
    (void)k;
    real sum[2] = {broadcast(0), broadcast(0)};
    EACH_STAGE(j)
    if (w[j] != 0)
        sum[CHAIN(j)] = j < CHAINS ? x[j * apart] * WEIGHT(w + j)
                                   : fma_(WEIGHT(w + j), x[j * apart], sum[CHAIN(j)]);
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

static inline real plus_weighted(const kernel *k, real from, const double *w, const real *x,
                                 int apart)
{
    (void)k;
    real sum[2] = {from, broadcast(0)};
    EACH_STAGE(j)
    if (w[j] != 0)
        sum[CHAIN(j)] = fma_(WEIGHT(w + j), x[j * apart], sum[CHAIN(j)]);
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

/* from + sum_j f_ij x_j + sum_j r_ij y_j: x from the forces and, if reactions have their own
 * coefficients, y from the reactions */
static inline real plus_pushes(const kernel *k, real from, int i, const real *x, int n)
{
    const real sum = plus_weighted(k, from, TABLE_F(i), x + n, N);
    return SPLIT ? plus_weighted(k, sum, TABLE_R(i), x + S * N + n, N) : sum;
}

/* The prediction for stage i, in a trajectory that is young or has at least two steps behind it.
 * Parts of a composed step differ in length; there only the last one is used. */
static inline real continued(const kernel *k, int i, int young, const real *last, int apart)
{
    if (young || !TWO_REMEMBERED || COMPOSED(k->io))
        return weighted(k, TABLE_E(i), last, apart);
    const real sum = weighted(k, TABLE_E2(i), last, apart);
    return plus_weighted(k, sum, TABLE_E2(i) + S, last + MEMORY_STEP, apart);
}

/* Whether conditions on positions are imposed at a point. */
static inline int is_on_surface(const kernel *k, int i)
{
    int is = 0;
    (void)k;
    if (POSITIONS > 0)
        EACH_STAGE(r) is |= TABLE_UG(r)[i] != 0;
    return is;
}

static inline int evaluate_points(kernel *k, const spark *s)
{
    const double h = k->h;
    real *values = s->values;
    EACH_POINT(i)
    {
        const real *Q = s->Q + i * N, *V = s->V + i * N;
        if (NONIDEAL && i < S)
            EACH(e, M) s->defect[e] = s->X[i * M + e] / h;
        if (!PLAIN_MOMENTUM)
            CALL(POINT, k->t + TABLE_C[i] * h, Q, V, s->defect, STAGE_P(i));
        else if (i < S)
            CALL(STAGE, k->t + TABLE_C[i] * h, Q, V, s->defect, STAGE_P(i));
        else
            CALL(END, k->t + TABLE_C[i] * h, Q, V, 0, OTHER_P(i));
        if (is_on_surface(k, i))
            CALL(SURFACE, k->t + TABLE_C[i] * h, Q, V, 0, POINT_g(i));
    }
    return NH_KERNEL_OK;
}

#include "method/spark_multipliers.h"

/* ---- pushes or rises ---- */

#ifndef NH_EMITTED
#define OF_PUSHES 1
#define OF_RISES 1
#else
#define OF_PUSHES PLAIN_MOMENTUM
#define OF_RISES !PLAIN_MOMENTUM
#endif
#if OF_PUSHES
#include "method/spark_pushes.h"
#endif
#if OF_RISES
#include "method/spark_rises.h"
#endif
/* What each of the two does in its own way. */
#if OF_PUSHES && OF_RISES
#define IN_ITS_WAY(what, ...)                                                                      \
    (PLAIN_MOMENTUM ? what##_pushes(__VA_ARGS__) : what##_rises(__VA_ARGS__))
#elif OF_PUSHES
#define IN_ITS_WAY(what, ...) what##_pushes(__VA_ARGS__)
#else
#define IN_ITS_WAY(what, ...) what##_rises(__VA_ARGS__)
#endif

/* ---- iterations ---- */

/* The progress of an iteration, judged by its changes at the end of the step. The driver of a
 * coupled system is judged together with all and also by itself. Scales are those of the first
 * iteration. */
typedef struct spark_progress {
    coupled_convergence is;
    contraction all, driver; /* of rises */
    real scale, driver_scale;
    mask far; /* with rises: the last correction was so large that what is frozen is out of date */
} spark_progress;

/* Relative to the velocities. */
#define ASTRAY 0.01
#define FAR 0.001

/* Velocities that lead to g = 0 are known no better than positions. */
static inline spark_progress begin_progress(const kernel *k)
{
    return (spark_progress){.is = POSITIONS > 0 ? coupled_velocities(k, DRIVER)
                                                : coupled_begin(DRIVER >= 0),
                            .all = contraction_begin(),
                            .driver = contraction_begin(),
                            .far = ~less(broadcast(0), broadcast(0))};
}

static inline void measure_scales(kernel *k, spark_progress *p, const spark *s)
{
    p->scale = p->driver_scale = broadcast(0);
    EACH(n, N)
    {
        const real reach = abs_(k->v[n]) + IN_ITS_WAY(reach, k, s, n);
        p->scale = max_(p->scale, reach);
        if (n == DRIVER)
            p->driver_scale = reach;
    }
}

static inline void judge_contraction(const kernel *k, contraction *d, convergence *c, real change,
                                     real scale)
{
    (void)k;
    if (POSITIONS > 0)
        noisy_contraction_update(d, c, change, scale);
    else
        contraction_update(d, c, change, scale);
}

static inline void judge(const kernel *k, spark_progress *p, real change, real driver_change)
{
    if (!PLAIN_MOMENTUM) {
        p->far = less(p->scale * FAR, change) & p->is.all.active;
        judge_contraction(k, &p->all, &p->is.all, change, p->scale);
    }
    convergence_update(&p->is.all, change, p->scale);
    if (!p->is.has_driver)
        return;
    if (!PLAIN_MOMENTUM)
        judge_contraction(k, &p->driver, &p->is.driver, driver_change, p->driver_scale);
    convergence_update(&p->is.driver, driver_change, p->driver_scale);
}

/* The last correction shows whether it diverges; if it is not a number, all iterations are used
 * up. */
static inline int is_failing(const spark_progress *p)
{
    const mask diverging = less(broadcast(1e100), p->is.all.previous);
    return __builtin_expect(p->is.all.iteration >= ITERATIONS_MAX || any(diverging), 0);
}

/* Moves the unknowns to their next values. */
static inline void apply(kernel *k, spark_progress *p, const spark *s)
{
    real change = broadcast(0), driver = broadcast(0);
    if (p->is.all.iteration == 0)
        measure_scales(k, p, s);
    EACH_STAGE(j) EACH(e, M)
    {
        real *X = s->X + j * M + e;
        *X = select_(p->is.all.active, *X + s->dX[j * M + e], *X);
    }
    EACH(n, N)
    {
        const real moved = IN_ITS_WAY(moved, k, s, n);
        change = max_(change, moved);
        if (n == DRIVER)
            driver = moved;
    }
    EACH_UNKNOWN(i) EACH(n, N)
    {
        const mask active = still_active(&p->is, n == DRIVER);
        s->x[i * N + n] = select_(active, s->next[i * N + n], s->x[i * N + n]);
    }
    judge(k, p, change, driver);
}

/* ---- where iterations begin ---- */

static inline void set_base(kernel *k, const spark *s)
{
    EACH(n, N)
    EACH_POINT(i) s->base[i * N + n] = fma_(broadcast(TABLE_C[i] * k->h), k->v[n], k->q[n]);
}

/* Extrapolates the last step, or the last two; a young trajectory has at most one. */
static inline void continue_steps(kernel *k, const spark *s)
{
    EACH_STAGE(i) EACH(e, M) s->X[i * M + e] = continued(k, i, 0, MEMORY_X + e, M);
    EACH_UNKNOWN(i) EACH(n, N) s->x[i * N + n] = IN_ITS_WAY(continued, k, i, 0, n);
    if (!TWO_REMEMBERED)
        return;
    const mask young = less(MEMORY_DONE, broadcast(2));
    if (__builtin_expect(!any(young), 1))
        return;
    EACH_STAGE(i) EACH(e, M)
    {
        real *X = s->X + i * M + e;
        *X = select_(young, continued(k, i, 1, MEMORY_X + e, M), *X);
    }
    EACH_UNKNOWN(i) EACH(n, N)
    {
        real *x = s->x + i * N + n;
        *x = select_(young, IN_ITS_WAY(continued, k, i, 1, n), *x);
    }
}

static inline void predict(kernel *k, const spark *s)
{
    set_base(k, s);
    continue_steps(k, s);
}

#ifdef NH_CAREFUL
#include "method/spark_newton.h"
#endif

/* ---- a step ---- */

#ifdef NH_EMITTED
void nh_wrong_table(void) __attribute__((error("the table is not as spark_layout.h says")));
#define CHECK_TABLE ((void)(LAYOUT.size == TABLE_SIZE || (nh_wrong_table(), 0)))
#else
#define CHECK_TABLE (void)0
#endif

static int start(kernel *k)
{
    CHECK_TABLE;
    EACH(i, MEMORY_SIZE) k->memory[i] = broadcast(0);
    return NH_KERNEL_OK;
}

/* If the extrapolation of two steps was far off, the next step uses only one of them. */
static inline real steps_to_trust(const kernel *k, mask astray)
{
    const real done = MEMORY_DONE + 1;
    return PLAIN_MOMENTUM ? done : select_(astray, broadcast(1), done);
}

static inline void remember(kernel *k, const spark *s)
{
    if (TWO_REMEMBERED) {
        EACH_UNKNOWN(i) EACH(n, N) k->memory[MEMORY_STEP + i * N + n] = k->memory[i * N + n];
        EACH_STAGE(j) EACH(e, M) MEMORY_X[MEMORY_STEP + j * M + e] = MEMORY_X[j * M + e];
        MEMORY_DONE = steps_to_trust(k, s->astray);
    }
    EACH_UNKNOWN(i) EACH(n, N) k->memory[i * N + n] = s->x[i * N + n];
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = s->X[j * M + e];
}

static int solve(kernel *k, spark *s)
{
    spark_progress p = begin_progress(k);
    for (;;) {
        TRY_(IN_ITS_WAY(evaluate, k, s));
        TRY_(IN_ITS_WAY(freeze, k, s, p.is.all.iteration == 0, p.far));
        TRY_(IN_ITS_WAY(correct, k, s));
        apply(k, &p, s);
        if (p.is.all.iteration == 1)
            s->astray = less(p.scale * ASTRAY, p.is.all.previous);
        if (has_converged(&p.is))
            return NH_KERNEL_OK;
        if (is_failing(&p))
            return BY_NEWTON(newton(k, s), &p.is.all);
    }
}

/* `rise` of the velocities; `shift` of the positions beyond h v0, in units of h */
static inline void finish(kernel *k, const spark *s)
{
    real *q1 = s->Q, *v1 = s->V, *dq = s->base, *dv = s->next;
    EACH(n, N)
    {
        dv[n] = IN_ITS_WAY(rise, k, s->x, n);
        dq[n] = fma_(broadcast(k->h), IN_ITS_WAY(shift, k, s->x, POINTS - 1, n), k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    remember(k, s);
    commit(k, q1, v1, dq, dv);
}

static int step_plain(kernel *k)
{
    LOCAL(x, UNKNOWNS * N);
    LOCAL(next, UNKNOWNS * N);
    LOCAL(X, S * M);
    LOCAL(dX, 2 * S * M);
    LOCAL(Q, POINTS * N);
    LOCAL(V, (UNKNOWNS > POINTS ? UNKNOWNS : POINTS) * N);
    LOCAL(base, POINTS * N);
    LOCAL(values, VALUES_SIZE);
    LOCAL(frozen, POINTS * FROZEN_SIZE);
    LOCAL(matrix, S * M * S * M);
    LOCAL(answer, DIRECT ? POINTS * DEFECTS * S * M : 0);
    LOCAL(defect, M);
    LOCAL(p0, OTHER_SIZE);
    LOCAL(push, PLAIN_MOMENTUM ? 0 : PUSHES * N);
    LOCAL(surface, POINTS * SURFACE_SIZE);
    LOCAL(moved, POSITIONS > 0 ? N : 0);
    LOCAL(block, POSITIONS > 0 ? M * M : 0);
    LOCAL(fresh, PLAIN_MOMENTUM ? 0 : NB + NF);
    spark s = {x,
               next,
               X,
               dX,
               Q,
               V,
               base,
               values,
               frozen,
               matrix,
               answer,
               defect,
               p0,
               push,
               surface,
               moved,
               block,
               fresh,
               less(broadcast(0), broadcast(0))};

    if (!PLAIN_MOMENTUM)
        CALL(END, k->t, k->q, k->v, 0, p0);
    predict(k, &s);
    TRY_(solve(k, &s));
    finish(k, &s);
    return NH_KERNEL_OK;
}

/* One trajectory in an emitted kernel: with enough stages, four of them at a time. */
#ifdef NH_QUADS
#if DIRECT && !NONIDEAL &&                                                                         \
    (PLAIN_MOMENTUM ? S >= 3 && SPLIT == 0 && BETWEEN == 0 && POSITIONS == 0 : S >= 2)
#define IN_QUADS
#include "method/spark_quads.h"
#endif
#endif

#ifndef NH_EMITTED
#include "method/spark_fused.h"

/* If the iteration fails, the careful kernel repeats it and continues with Newton's method. */
static int step(kernel *k)
{
    if (!IS_FUSED)
        return step_plain(k);
    real *top = k->top;
    const int status = step_fused(k);
    note_scratch(k);
    k->top = top;
#ifdef NH_CAREFUL
    return status == NH_KERNEL_NOT_CONVERGED ? step_plain(k) : status;
#else
    return status;
#endif
}
#else
static int step(kernel *k)
{
#ifdef IN_QUADS
    return step_quads(k);
#else
    return step_plain(k);
#endif
}
#endif

#endif
