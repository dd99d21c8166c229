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
 * All that repeats for points is written over `point`, and the arithmetic of an iteration is also
 * recorded as tapes, which general kernels call instead if they exist (spark_points.h,
 * spark_fuse.h). This file has the course of a step: prediction, iterations, their end.
 *
 * A file that includes this one first defines, where they are not what is in brackets,
 *     STAGES         their number S (the first option)
 *     BETWEEN        further points between the stages and the end (0)
 *     SPLIT          1 when reactions have a table r of their own, 0 when it is that of the forces
 *                    (0)
 *     REMEMBERED     how many of the last steps are continued into the next: 1 or 2 (1)
 * and passes a table made by spark_table.h to the kernel. */
#ifndef NH_METHOD_SPARK_STEP_H
#define NH_METHOD_SPARK_STEP_H

#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "method/spark_iteration.h"

enum { ITERATIONS_MAX = 50 };

/* ---- iterations ---- */

/* The progress of an iteration, judged by its changes at the end of the step. The driver of a
 * coupled system is judged together with all and also by itself. Scales are those of the first
 * iteration. */
typedef struct spark_progress {
    coupled_convergence is;
    contraction all, driver; /* of rises */
    real scale, driver_scale;
    mask far;    /* of rises: the last correction was so large that what is frozen is out of date */
    mask astray; /* of rises: the prediction for this step was far from its solution */
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
                            .far = ~less(broadcast(0), broadcast(0)),
                            .astray = less(broadcast(0), broadcast(0))};
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

/* next, or x if the unknown has converged. Which one is unpredictable, so that no branch may depend
 * on it. */
static inline point taken(mask active, point next, point x)
{
#if POINTS_ABREAST == 4
    return quad_select_((quad_mask){active, active, active, active}, next, x);
#else
    return select_(active, next, x);
#endif
}

/* Whether something is to be frozen before the next correction. */
static inline int is_stale(const kernel *k, const spark_progress *p)
{
    (void)k;
    return PLAIN_MOMENTUM ? p->is.all.iteration == 0 : any(p->far);
}

#ifdef NH_EMITTED
#define HAS_TAPES 0
#define predict_fused(k, s) (void)0
#define finish_fused(k, s, t) (void)0
#else
#define HAS_TAPES (OWN(ITERATE) != 0)
#include "method/spark_fused.h"
#endif

/* The largest of a group: all points, or (with pushes) velocity and position at the end. */
static inline real most_of(const kernel *k, point x)
{
    (void)k;
#if POINTS_ABREAST == 4
    const real most = max_(x[0], x[1]);
    return PLAIN_MOMENTUM ? most : max_(most, max_(x[2], x[3]));
#else
    return x;
#endif
}

/* By how much an iteration moves component n, and how far its velocity is from v0 then. */
static inline point move_of(const kernel *k, const spark *s, const spark_round *t, int is_fused,
                            int n)
{
    if (PLAIN_MOMENTUM) {
        const point v = abs_(is_fused ? t->end[n] : end_of_pushes(k, t->push, n));
        if (POINTS_ABREAST > 1)
            return v;
        return max_(v, abs_(is_fused ? t->end[N + n] : shift(k, t->push, POINTS - 1, n)));
    }
    point most = everywhere(0);
    EACH_GROUP(g) most = max_(most, abs_(t->next[g * N + n] - s->x[g * N + n]));
    return most;
}

static inline real reach(const kernel *k, const spark_round *t, int n)
{
    if (PLAIN_MOMENTUM) {
        const point end = abs_(HAS_TAPES ? t->end[2 * N + n] : end_of_pushes(k, t->next, n));
        return AT_PLACE(end, 0);
    }
    point most = everywhere(0);
    EACH_GROUP(g) most = max_(most, abs_(t->next[g * N + n]));
    return most_of(k, most);
}

static inline void measure_scales(kernel *k, spark_progress *p, const spark_round *t)
{
    p->scale = p->driver_scale = broadcast(0);
    EACH(n, N)
    {
        const real size = abs_(k->v[n]) + reach(k, t, n);
        p->scale = max_(p->scale, size);
        if (n == DRIVER)
            p->driver_scale = size;
    }
}

/* Moves the unknowns to their next values. */
static inline void apply(kernel *k, spark_progress *p, spark *s, spark_round *t)
{
    point change = everywhere(0), driver = everywhere(0);
    const int n_driver = DRIVER, is_fused = HAS_TAPES;
    if (p->is.all.iteration == 0)
        measure_scales(k, p, t);
    if (POINTS_ABREAST > 1 && PLAIN_MOMENTUM) {
        EACH(n, N) find_change(k, s, t, n);
        TO_MEMORY(t->push, PUSHES * N);
    }
    EACH_STAGE_GROUP(g) EACH(e, M)
    {
        point *X = s->X + g * M + e;
        *X = taken(p->is.all.active, *X + t->dX[g * M + e], *X);
    }
    EACH(n, N)
    {
        if (POINTS_ABREAST == 1 && PLAIN_MOMENTUM && !is_fused)
            find_change(k, s, t, n);
        const point by = move_of(k, s, t, is_fused, n);
        change = max_(change, by);
        if (n == n_driver)
            driver = by;
    }
    EACH_UNKNOWN(u) EACH(n, N)
    {
        point *x = s->x + u * N + n;
        *x = taken(still_active(&p->is, n == n_driver), t->next[u * N + n], *x);
    }
    judge(k, p, most_of(k, change), most_of(k, driver));
    if (!PLAIN_MOMENTUM && p->is.all.iteration == 1)
        p->astray = less(p->scale * ASTRAY, p->is.all.previous);
}

/* ---- the parts of an iteration that lanes do not all share ---- */

/* B and the factors of M where the iteration begins; computed again in the lanes that have moved
 * far since. */
static inline int freeze_group(kernel *k, spark *s, spark_round *t, mask far, int g)
{
    const point *Q = t->Q + g * N, *V = t->V + g * N;
#if LANES == 1
    (void)far;
    CALL_POINTS(FACTOR, g, Q, V, t->defect, FROZEN_B(g));
#else
    real *K = s->frozen_K + g * NK;
    CALL_POINTS(FACTOR, g, Q, V, t->defect, s->fresh);
    EACH(e, NB + NF) FROZEN_B(g)[e] = select_(far, s->fresh[e], FROZEN_B(g)[e]);
    EACH(e, NK) K[e] = select_(far, VALUES_K(g)[e], K[e]);
#endif
    return NH_KERNEL_OK;
}

static inline int freeze(kernel *k, spark *s, spark_round *t, mask far)
{
    if (!PLAIN_MOMENTUM)
        EACH_GROUP(g)
    TRY_(freeze_group(k, s, t, far, g));
    make_system(k, s, t);
    return NH_KERNEL_OK;
}

static inline int iterate(kernel *k, spark *s, spark_round *t, const spark_progress *p)
{
#ifndef NH_EMITTED
    if (HAS_TAPES) {
        iterate_fused(k, s, t, p);
        return NH_KERNEL_OK;
    }
#endif
    TRY_(evaluate(k, s, t));
    if (is_stale(k, p))
        TRY_(freeze(k, s, t, p->far));
    return correct(k, s, t);
}

/* ---- a step ---- */

static inline void predict(kernel *k, spark *s)
{
    const mask young =
        TWO_REMEMBERED ? less(MEMORY_DONE, broadcast(2)) : less(broadcast(0), broadcast(0));
    const int any_young = __builtin_expect(any(young), 0);
    if (!HAS_TAPES)
        set_base(k, s);
    if (HAS_TAPES && !any_young && !(TWO_REMEMBERED && COMPOSED(k->io))) {
        predict_fused(k, s);
        return;
    }
    continue_steps(k, s);
    if (!any_young) /* a young trajectory has at most one step behind it */
        return;
    EACH_STAGE_GROUP(g) EACH(e, M)
    {
        point *X = s->X + g * M + e;
        *X = taken(young, continued(k, g, 1, MEMORY_X + e, M), *X);
    }
    EACH_UNKNOWN(u) EACH(n, N)
    {
        point *x = s->x + u * N + n;
        *x = taken(young, continued_unknown(k, u, 1, n), *x);
    }
}

/* In emitted kernels the arrays of a round are new ones each time: so the compiler sees that no
 * iteration needs what the one before has left there. Others lay them out once. */
#ifdef SPARK_IN_PLACE
#define ROUND_AT_FIRST (void)0
#define ROUND_AGAIN                                                                                \
    spark_round round, *t = &round;                                                                \
    LAY_APART
#if POINTS_ABREAST == 4
#define LAY_APART                                                                                  \
    SPARK_APART(POINTS_FIELD, REALS_FIELD)                                                         \
    SPARK_APART(POINT_TO, POINT_TO)
#define POINT_TO(name, count) t->name = name;
#else
#define LAY_APART
#endif
#else
#define ROUND_AT_FIRST                                                                             \
    spark_round round, *t = &round;                                                                \
    lay_out_round(k, t)
#define ROUND_AGAIN (void)0

static inline void lay_out_rest(kernel *k, spark_round *t)
{
    LAY_OUT(SPARK_BRIEF, TAKE_FOR_ROUND);
    LAY_OUT(SPARK_APART, TAKE_FOR_ROUND);
}

/* Tapes need only the first of them. */
static inline void lay_out_round(kernel *k, spark_round *t)
{
    LAY_OUT(SPARK_RESULTS, TAKE_FOR_ROUND);
    if (!HAS_TAPES)
        lay_out_rest(k, t);
}
#endif

#ifdef NH_CAREFUL
#include "method/spark_newton.h"
#endif

static inline int solve(kernel *k, spark *s, spark_progress *p)
{
    ROUND_AT_FIRST;
    for (;;) {
        ROUND_AGAIN;
        TRY_(iterate(k, s, t, p));
        apply(k, p, s, t);
        if (has_converged(&p->is))
            return NH_KERNEL_OK;
        if (is_failing(p))
            return BY_NEWTON(newton(k, s, t), &p->is.all);
    }
}

/* If the extrapolation of two steps was far off, the next step uses only one of them. */
static inline void remember(kernel *k, const spark *s, mask astray)
{
    if (TWO_REMEMBERED) {
        const real done = MEMORY_DONE + 1;
        EACH(e, MEMORY_STEP) k->memory[MEMORY_STEP + e] = k->memory[e];
        MEMORY_DONE = PLAIN_MOMENTUM ? done : select_(astray, broadcast(1), done);
    }
    if (PLAIN_MOMENTUM)
        EACH_OF(part, 0, 1 + SPLIT)
    EACH_STAGE(j)
    EACH(n, N)
    k->memory[(part * S + j) * N + n] = SPARK_AT(s->x + part * STAGE_GROUPS * N, N, j, n);
    else EACH_POINT(i) EACH(n, N) k->memory[i * N + n] = SPARK_AT(s->x, N, i, n);
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = SPARK_AT(s->X, M, j, e);
}

static inline void finish(kernel *k, const spark *s, mask astray)
{
    LOCAL(end, 4 * N);
    LOCAL(next_q, 2 * N);
    real *dv = end, *dq = end + 2 * N, *q1 = next_q, *v1 = next_q + N;
    if (HAS_TAPES)
        finish_fused(k, s, end);
    else
        find_end(k, s, end);
    EACH(n, N)
    {
        dq[n] = fma_(broadcast(k->h), end[N + n], k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    remember(k, s, astray);
    commit(k, q1, v1, dq, dv);
}

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

static int step(kernel *k)
{
    spark arrays, *s = &arrays;
    spark_progress progress = begin_progress(k);
    LAY_OUT(SPARK_LASTING, TAKE_FOR_STEP);
    s->length[0] = broadcast(k->h);
    if (!PLAIN_MOMENTUM)
        CALL(END, k->t, k->q, k->v, 0, s->p0);
    predict(k, s);
    TRY_(solve(k, s, &progress));
    finish(k, s, progress.astray);
    return NH_KERNEL_OK;
}

#endif
