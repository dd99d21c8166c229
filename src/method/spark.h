/* SPARK: partitioned Runge-Kutta steps for any Lagrangian, any forces and any constraints.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j f_ij F_j + h sum_j r_ij K_j^T Psi_j,    P_i = dL/dv(T_i, Q_i, V_i)
 *
 * Index i runs over the points, j over the S stages. Points 0 .. S-1 are the stages; the last
 * point, whose rows are the weights b, is the end of the step; a method may have further points
 * between. The multipliers follow from S conditions sum_i u_ri k(T_i, Q_i, V_i) = 0 on all points.
 * Jay (2009), eq. 6.1.
 *
 * The unknowns are the rises Z_i = V_i - v0 and the impulses X_j = h Psi_j. A turn of the fixed
 * point evaluates all points, moves Z to where the momenta want it, and then moves Z and X so that
 * the conditions hold, with M and K frozen. The system for that is made and factorised in the first
 * turn only: K moves too little afterwards to matter. The conditions come in such combinations u
 * that it is the identity plus O(h), so it is eliminated without exchange of rows. Rises rather
 * than velocities: what is added to the state in the end is then known to the last digit.
 *
 * Where p = M v with a constant M, everything is divided by M at once and momenta are not needed.
 *
 * The file of a method says, before it includes this one:
 *     STAGES         their number S
 *     BETWEEN        further points between the stages and the end
 *     SPLIT          1 when reactions have a table r of their own, 0 when it is that of the forces
 * and hands a table made by spark_table.h to the kernel. */
#ifndef NH_METHOD_SPARK_H
#define NH_METHOD_SPARK_H

#include "method/kernel.h"
#include "method/newton.h"

#define S STAGES
#define POINTS (S + BETWEEN + 1)
enum { TURNS_MAX = 50 };

/* Loops over stages and points are unrolled in emitted kernels where compiling that takes a few
 * seconds at most; it halves the time of a step. */
#ifdef NH_EMITTED
#ifdef NH_QUADS
#define SPARK_UNROLLED_MAX 450
#else
#define SPARK_UNROLLED_MAX (LANES == 1 ? 200 : 80)
#endif
#if S * S * N <= SPARK_UNROLLED_MAX && S * M <= 16
#define SPARK_UNROLLED
#endif
#endif
#ifdef SPARK_UNROLLED
#define EACH_STAGE(j) _Pragma("GCC unroll 32") for (int j = 0; j < S; j++)
#define EACH_POINT(i) _Pragma("GCC unroll 32") for (int i = 0; i < POINTS; i++)
#define EACH_FROM(i, first, end) EACH(i, end) if (i >= (first))
#else
#define EACH_STAGE(j) for (int j = 0; j < S; j++)
#define EACH_POINT(i) for (int i = 0; i < POINTS; i++)
#define EACH_FROM(i, first, end) for (int i = (first); i < (end); i++)
#endif

/* The table: c_i; rows a_i, f_i, r_i; u_ri; and what continues a step into the next: rows of e for
 * the impulses, rows of g for the rises. */
#define TABLE_C (TABLE)
#define TABLE_A(i) (TABLE + POINTS + (i)*S)
#define TABLE_F(i) (TABLE_A(i) + POINTS * S)
#define TABLE_R(i) (TABLE_F(i) + SPLIT * POINTS * S)
#define TABLE_U(r) (TABLE + POINTS + (2 + SPLIT) * POINTS * S + (r)*POINTS)
#define TABLE_E(j) (TABLE + POINTS + (3 + SPLIT) * POINTS * S + (j)*S)
#define TABLE_G(i) (TABLE + POINTS + (3 + SPLIT) * POINTS * S + S * S + (i)*POINTS)

/* What is known at a stage (the outputs of STAGE) and at another point (those of END, after all
 * stages). */
#define STAGE_SIZE (2 * N + M + NK + NB + (NONIDEAL ? N : 0))
#define OTHER_SIZE (N + M + NK)
#define VALUES_SIZE (S * STAGE_SIZE + (BETWEEN + 1) * OTHER_SIZE)
#define STAGE_P(j) (values + (j) * (STAGE_SIZE))
#define STAGE_F(j) (STAGE_P(j) + N)
#define STAGE_B(j) (STAGE_P(j) + 2 * N + M + NK)
#define STAGE_REST(j) (STAGE_B(j) + NB) /* of the reaction, see evaluate_rest */
#define OTHER_P(i) (values + S * (STAGE_SIZE) + ((i)-S) * (OTHER_SIZE))
#define POINT_P(i) ((i) < S ? STAGE_P(i) : OTHER_P(i))
#define POINT_k(i) ((i) < S ? STAGE_P(i) + 2 * N : OTHER_P(i) + N)
#define POINT_K(i) (POINT_k(i) + M)

/* Memory: rises and impulses of the last step. */
#define MEMORY_Z (k->memory)
#define MEMORY_X (k->memory + POINTS * N)

/* Arrays that the parts of a step share. */
typedef struct spark {
    real *Z, *X;           /* the unknowns, POINTS x N and S x M */
    real *dZ, *dX;         /* their corrections; behind dX as much room for making it */
    real *Q, *V;           /* POINTS x N */
    real *values;          /* of the points */
    real *push, *reaction; /* S x N: h F_j and K_j^T X_j, both in push when they share a table */
    real *base, *p0; /* q0 + h c_i v0, POINTS x N; the momentum at the start and what END adds */
    real *matrix, *answer; /* (S M) x (S M); (POINTS M) x (S M), see below */
    real *defect;          /* M */
} spark;

/* Sums over more than three stages are made in two chains, of which neither waits for the other. */
#define CHAINS (S > 3 ? 2 : 1)
#define CHAIN(j) (CHAINS > 1 ? (j)&1 : 0)

/* sum_j w_j x_j for component n of S vectors */
static inline real weighted(const kernel *k, const double *w, const real *x, int n)
{
    (void)k;
    real even = broadcast(0), odd = broadcast(0);
    EACH_STAGE(j)
    {
        if (w[j] != 0 && CHAIN(j))
            odd = j == 1 ? x[j * N + n] * w[j] : fma_(broadcast(w[j]), x[j * N + n], odd);
        else if (w[j] != 0)
            even = j == 0 ? x[j * N + n] * w[j] : fma_(broadcast(w[j]), x[j * N + n], even);
    }
    return CHAINS > 1 ? even + odd : even;
}

/* ---- evaluation ---- */

static inline int evaluate_points(kernel *k, const spark *s)
{
    const double h = k->h;
    const real *Z = s->Z;
    real *values = s->values;
    EACH(n, N) EACH_POINT(i)
    {
        s->V[i * N + n] = k->v[n] + Z[i * N + n];
        s->Q[i * N + n] = fma_(broadcast(h), weighted(k, TABLE_A(i), Z, n), s->base[i * N + n]);
    }
    EACH_POINT(i)
    {
        const real *Q = s->Q + i * N, *V = s->V + i * N;
        if (NONIDEAL && i < S)
            EACH(e, M) s->defect[e] = s->X[i * M + e] / h;
        if (i < S)
            CALL(STAGE, k->t + TABLE_C[i] * h, Q, V, s->defect, STAGE_P(i));
        else
            CALL(END, k->t + TABLE_C[i] * h, Q, V, 0, OTHER_P(i));
    }
    return NH_KERNEL_OK;
}

/* Constraints that are not ideal: STAGE tells what their force is beyond what follows with B or K.
 */
static inline int evaluate_rest(kernel *k, const spark *s, int j, real *reaction)
{
    const real *values = s->values, *rest = STAGE_REST(j);
    if (PLAIN_MOMENTUM) {
        CALL(SOLVE, k->t + TABLE_C[j] * k->h, s->Q + j * N, s->V + j * N, rest, s->dZ);
        rest = s->dZ; /* not in use now */
    }
    EACH(n, N) reaction[n] = fma_(broadcast(k->h), rest[n], reaction[n]);
    return NH_KERNEL_OK;
}

/* What the stages do to the momenta, or with p = M v to the velocities. */
static inline int evaluate_pushes(kernel *k, const spark *s)
{
    const double h = k->h;
    real *values = s->values;
    EACH_STAGE(j)
    {
        real *push = s->push + j * N, *reaction = SPLIT ? s->reaction + j * N : push;
        if (PLAIN_MOMENTUM)
            CALL(SOLVE, k->t + TABLE_C[j] * h, s->Q + j * N, s->V + j * N, STAGE_F(j), push);
        EACH(n, N)
        {
            if (!PLAIN_MOMENTUM)
                push[n] = STAGE_F(j)[n];
            push[n] = push[n] * h;
            if (SPLIT)
                reaction[n] = broadcast(0);
        }
        if (PLAIN_MOMENTUM)
            add_B(k, reaction, STAGE_B(j), s->X + j * M);
        else
            add_K(k, reaction, POINT_K(j), s->X + j * M);
        if (NONIDEAL)
            TRY_(evaluate_rest(k, s, j, reaction));
    }
    return NH_KERNEL_OK;
}

/* How far the momenta of the points are from where the pushes want them. */
static inline void momentum_gaps(kernel *k, const spark *s, real *gap)
{
    const real *values = s->values;
    EACH(n, N) EACH_POINT(i)
    {
        real sum = weighted(k, TABLE_F(i), s->push, n);
        if (SPLIT)
            sum = sum + weighted(k, TABLE_R(i), s->reaction, n);
        if (PLAIN_MOMENTUM)
            gap[i * N + n] = sum - s->Z[i * N + n];
        else
            gap[i * N + n] = sum + (s->p0[n] - POINT_P(i)[n]);
    }
}

static inline int evaluate(kernel *k, const spark *s)
{
    int status = evaluate_points(k, s);
    return status ? status : evaluate_pushes(k, s);
}

static inline int correct_rises(kernel *k, const spark *s)
{
    momentum_gaps(k, s, s->dZ);
    if (!PLAIN_MOMENTUM)
        EACH_POINT(i)
        {
            real *dZ = s->dZ + i * N;
            CALL(SOLVE, k->t + TABLE_C[i] * k->h, s->Q + i * N, s->V + i * N, dZ, dZ);
        }
    return NH_KERNEL_OK;
}

/* ---- multipliers ---- */

/* Block (r, j) = sum_i u_ri r_ij K_i B_j */
static inline void make_matrix(kernel *k, const spark *s)
{
    const int size = S * M;
    real *matrix = s->matrix;
    const real *values = s->values;
    EACH_STAGE(r)
    EACH(d, M) EACH_STAGE(j) EACH(e, M) matrix[(r * M + d) * size + j * M + e] = broadcast(0);
    EACH_STAGE(r) EACH_STAGE(j) EACH_POINT(i)
    {
        const double c = TABLE_U(r)[i] * TABLE_R(i)[j];
        if (c != 0)
            add_KB(k, matrix + r * M * size + j * M, size, c, POINT_K(i), STAGE_B(j));
    }
}

/* In place, with the inverses of the pivots. */
static inline void factor(kernel *k, real *matrix)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(c, 0, size)
    {
        real inverse = matrix[c * size + c] = broadcast(1) / matrix[c * size + c];
        EACH_FROM(i, c + 1, size)
        {
            real l = matrix[i * size + c] = matrix[i * size + c] * inverse;
            EACH_FROM(j, c + 1, size)
            matrix[i * size + j] = fma_(-l, matrix[c * size + j], matrix[i * size + j]);
        }
    }
}

static inline void substitute(kernel *k, const real *matrix, real *x)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(i, 0, size)
    EACH_FROM(j, 0, i) x[i] = fma_(-matrix[i * size + j], x[j], x[i]);
    EACH_FROM(back, 0, size)
    {
        const int i = size - 1 - back;
        EACH_FROM(j, i + 1, size) x[i] = fma_(-matrix[i * size + j], x[j], x[i]);
        x[i] = x[i] * matrix[i * size + i];
    }
}

/* Of few conditions the answer to each point's defect, -matrix^-1 u, is made once a step: a turn
 * then multiplies, where it would substitute in a chain that takes three times as long. */
#define DIRECT (S * M <= 8)

static inline void make_answer(kernel *k, const spark *s)
{
    EACH_POINT(i) EACH(d, M)
    {
        real *column = s->answer + (i * M + d) * S * M;
        EACH_STAGE(r) EACH(e, M) column[r * M + e] = broadcast(e == d ? -TABLE_U(r)[i] : 0);
        substitute(k, s->matrix, column);
    }
}

static inline void make_system(kernel *k, const spark *s)
{
    make_matrix(k, s);
    factor(k, s->matrix);
    if (DIRECT)
        make_answer(k, s);
}

/* dX such that the conditions hold when Z and X are corrected by dZ and dX. */
static inline void correct_impulses(kernel *k, const spark *s)
{
    const real *values = s->values;
    real *dX = s->dX, *defect = s->defect, *odd = s->dX + (CHAINS > 1 ? S * M : 0);
    EACH_STAGE(r) EACH(e, M) dX[r * M + e] = odd[r * M + e] = broadcast(0);
    EACH_POINT(i)
    {
        EACH(d, M) defect[d] = POINT_k(i)[d];
        apply_K(k, defect, POINT_K(i), s->dZ + i * N);
        EACH_STAGE(r) EACH(e, M)
        {
            const real *answer = s->answer + i * M * S * M + r * M + e;
            real *sum = (CHAIN(i) ? odd : dX) + r * M + e;
            if (DIRECT)
                EACH(d, M) *sum = fma_(answer[d * S * M], defect[d], *sum);
            else
                *sum = fma_(broadcast(-TABLE_U(r)[i]), defect[e], *sum);
        }
    }
    if (CHAINS > 1)
        EACH_STAGE(r) EACH(e, M) dX[r * M + e] = dX[r * M + e] + odd[r * M + e];
    if (!DIRECT)
        substitute(k, s->matrix, dX);
}

/* dZ goes along with dX. With p = M v the gap is taken again, as its first taking was needed for
 * the constraints alone. */
static inline void follow_impulses(kernel *k, const spark *s)
{
    const real *values = s->values;
    real *D = s->V; /* the velocities were used */
    EACH_STAGE(j)
    {
        real *reaction = PLAIN_MOMENTUM ? (SPLIT ? s->reaction : s->push) + j * N : D + j * N;
        if (!PLAIN_MOMENTUM)
            EACH(n, N) reaction[n] = broadcast(0);
        add_B(k, reaction, STAGE_B(j), s->dX + j * M);
    }
    if (PLAIN_MOMENTUM)
        momentum_gaps(k, s, s->dZ);
    else
        EACH(n, N) EACH_POINT(i)
        {
            real *dZ = s->dZ + i * N + n;
            *dZ = *dZ + weighted(k, TABLE_R(i), D, n);
        }
}

/* ---- Newton's method, for steps on which the fixed point fails ---- */

#ifdef NH_CAREFUL

/* x: V, X. r: gaps, conditions. work: the spark. */
static int newton_gap(kernel *k, const double *x, double *r, double *work)
{
    spark *s = (spark *)work;
    EACH_POINT(i) EACH(n, N) s->Z[i * N + n] = x[i * N + n] - k->v[n];
    EACH(e, S * M) s->X[e] = x[POINTS * N + e];
    int status = evaluate(k, s);
    if (status)
        return status;
    const double *values = s->values;
    momentum_gaps(k, s, r);
    for (int c = 0; c < S; c++)
        for (int e = 0; e < M; e++) {
            double sum = 0;
            EACH_POINT(i) sum += TABLE_U(c)[i] * POINT_k(i)[e];
            r[POINTS * N + c * M + e] = sum;
        }
    return NH_KERNEL_OK;
}

static int newton(kernel *k, spark *s)
{
    const int d = POINTS * N + S * M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    LOCAL(x, d);
    EACH(e, d) x[e] = e < POINTS * N ? k->v[e % N] : 0;
    int status = newton_solve(k, newton_gap, d, x, space, (double *)s);
    return status ? status : newton_gap(k, x, space, (double *)s);
}

#endif

/* ---- a step ---- */

static int start(kernel *k)
{
    EACH_POINT(i) EACH(n, N) MEMORY_Z[i * N + n] = broadcast(0);
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = broadcast(0);
    return NH_KERNEL_OK;
}

/* The last step continued into this one. */
static inline void predict(kernel *k, const spark *s)
{
    EACH_STAGE(i) EACH(e, M)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(TABLE_E(i)[j]), MEMORY_X[j * M + e], sum);
        s->X[i * M + e] = sum;
    }
    EACH(n, N) EACH_POINT(i)
    {
        real sum = broadcast(0);
        EACH_POINT(j)
        if (TABLE_G(i)[j] != 0)
            sum = fma_(broadcast(TABLE_G(i)[j]), MEMORY_Z[j * N + n], sum);
        s->Z[i * N + n] = sum;
        s->base[i * N + n] = fma_(broadcast(TABLE_C[i] * k->h), k->v[n], k->q[n]);
    }
}

/* A driver that its passengers do not move is watched on its own, so that not even the number of
 * turns that they take leaves a trace in it. */
typedef struct watches {
    watch all, driver;
    real scale, driver_scale;
} watches;

static inline void look(kernel *k, watches *w, const spark *s)
{
    real change = broadcast(0), driver = broadcast(0);
    EACH_POINT(i)
    {
        change = max_(change, largest(k, s->dZ + i * N, N));
        if (DRIVER >= 0)
            driver = max_(driver, abs_(s->dZ[i * N + DRIVER]));
    }
    if (w->all.iteration == 0) {
        w->scale = w->driver_scale = broadcast(0);
        EACH_POINT(i) EACH(n, N)
        {
            real size = abs_(k->v[n]) + abs_(s->Z[i * N + n]);
            w->scale = max_(w->scale, size);
            if (n == DRIVER)
                w->driver_scale = max_(w->driver_scale, size);
        }
    }
    watch_update(&w->all, change, w->scale);
    if (DRIVER >= 0)
        watch_update(&w->driver, driver, w->driver_scale);
}

static inline void apply(kernel *k, const watches *w, const spark *s)
{
    EACH_STAGE(j) EACH(e, M)
    {
        real *X = s->X + j * M + e;
        *X = select_(w->all.active, *X + s->dX[j * M + e], *X);
    }
    EACH_POINT(i) EACH(n, N)
    {
        real *Z = s->Z + i * N + n;
        *Z = select_(n == DRIVER ? w->driver.active : w->all.active, *Z + s->dZ[i * N + n], *Z);
    }
}

static int solve(kernel *k, spark *s)
{
    watches w = {.all = watch_begin(), .driver = watch_begin()};
    if (DRIVER < 0)
        w.driver.active = less(broadcast(0), broadcast(0));
    while (any(w.all.active | w.driver.active)) {
        if (w.all.iteration >= TURNS_MAX || any(less(broadcast(1e100), w.all.previous) &
                                                less(broadcast(0.5), broadcast(w.all.iteration)))) {
#ifdef NH_CAREFUL
            return newton(k, s);
#else
            return not_converged(k, &w.all);
#endif
        }
        int status = evaluate(k, s);
        if (!status)
            status = correct_rises(k, s);
        if (status)
            return status;
        if (w.all.iteration == 0)
            make_system(k, s);
        correct_impulses(k, s);
        follow_impulses(k, s);
        apply(k, &w, s);
        look(k, &w, s);
    }
    return NH_KERNEL_OK;
}

static inline void finish(kernel *k, const spark *s)
{
    const real *Z = s->Z, *end = Z + (POINTS - 1) * N;
    real *q1 = s->Q, *v1 = s->V, *dq = s->base;
    EACH(n, N)
    {
        real rise = weighted(k, TABLE_A(POINTS - 1), Z, n);
        dq[n] = fma_(broadcast(k->h), rise, k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + end[n];
    }
    EACH_POINT(i) EACH(n, N) MEMORY_Z[i * N + n] = Z[i * N + n];
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = s->X[j * M + e];
    commit(k, q1, v1, dq, end);
}

static int step_plain(kernel *k)
{
    LOCAL(Z, POINTS * N);
    LOCAL(X, S * M);
    LOCAL(dZ, POINTS * N);
    LOCAL(dX, 2 * S * M);
    LOCAL(Q, POINTS * N);
    LOCAL(V, POINTS * N);
    LOCAL(values, VALUES_SIZE);
    LOCAL(push, S * N);
    LOCAL(reaction, SPLIT * S * N);
    LOCAL(base, POINTS * N);
    LOCAL(p0, OTHER_SIZE);
    LOCAL(matrix, S * M * S * M);
    LOCAL(answer, DIRECT ? POINTS * M * S * M : 0);
    LOCAL(defect, M);
    spark s = {Z, X, dZ, dX, Q, V, values, push, reaction, base, p0, matrix, answer, defect};

    if (!PLAIN_MOMENTUM)
        CALL(END, k->t, k->q, k->v, 0, p0);
    predict(k, &s);
    int status = solve(k, &s);
    if (status)
        return status;
    finish(k, &s);
    return NH_KERNEL_OK;
}

/* One trajectory of an emitted kernel: with enough stages, four of them at a time. */
#ifdef NH_QUADS
#if S >= 3 && S * M <= 8 && SPLIT == 0 && BETWEEN == 0 && PLAIN_MOMENTUM && !NONIDEAL
#define IN_QUADS
#include "method/spark_quads.h"
#endif
#endif

static int step(kernel *k)
{
#ifdef IN_QUADS
    return step_quads(k);
#else
    return step_plain(k);
#endif
}

#endif
