/* The turns of SPARK (spark.h) for one trajectory, four stages at a time.
 *
 * Stages of an implicit method do not wait for each other: one vector register holds a component at
 * four of them. Each lane does what spark.h does for its stage, operation by operation, so that the
 * bits are the same. The end of the step is a point of its own, as one number a component. Lanes
 * behind the last stage repeat it.
 *
 * An emitted kernel of one lane has the system's functions over quads too (emit.c). */
#ifndef NH_METHOD_SPARK_QUADS_H
#define NH_METHOD_SPARK_QUADS_H

#include "method/spark.h"

#define QUADS ((S + 3) / 4)
#define EACH_QUAD(w) _Pragma("GCC unroll 4") for (int w = 0; w < QUADS; w++)

typedef struct quad_spark {
    quad Z[QUADS][N], X[QUADS][SOME(M)], dX[QUADS][SOME(M)]; /* unknowns, correction */
    quad base[QUADS][N], push[QUADS][N];
    quad values[QUADS][STAGE_SIZE];
    quad answer[POINTS * SOME(M)][QUADS][SOME(M)];
    real end[N], base_end[N], other[OTHER_SIZE]; /* Z, base and values at the end of the step */
} quad_spark;

#define QUAD_k(w) (s->values[w] + 2 * N)
#define QUAD_K(w) (QUAD_k(w) + M)
#define QUAD_B(w) (QUAD_K(w) + NK)

static inline double at_stage(const quad *x, int j)
{
    return x[0][j & 3];
}
#define AT_STAGE(x, n, j) at_stage(&(x)[(j) / 4][n], j)

/* Entries of a column of the table at the four stages of a quad. */
static inline quad column(const double *table, int stride, int w)
{
#define ENTRY(l) table[(4 * w + l < S ? 4 * w + l : S - 1) * stride]
    return (quad){ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3)};
#undef ENTRY
}

/* sum_j a_ij x_j for component n, at the stages of a quad and at the end of the step */
static inline quad weighted_quad(const double *a, const quad (*x)[N], int n, int w)
{
    quad sum = column(a, S, w) * AT_STAGE(x, n, 0);
    EACH_STAGE(j)
    if (j > 0)
        sum = quad_fma_(column(a + j, S, w), quad_broadcast(AT_STAGE(x, n, j)), sum);
    return sum;
}

static inline real weighted_end(const double *a, const quad (*x)[N], int n)
{
    real sum = AT_STAGE(x, n, 0) * a[S * S];
    EACH_STAGE(j) if (j > 0) sum = fma_(a[S * S + j], AT_STAGE(x, n, j), sum);
    return sum;
}

static inline quad gap_quad(const quad_spark *s, int n, int w)
{
    return weighted_quad(TABLE_F(0), s->push, n, w) - s->Z[w][n];
}

static inline real gap_end(const quad_spark *s, int n)
{
    return weighted_end(TABLE_F(0), s->push, n) - s->end[n];
}

static inline void evaluate_quads(const kernel *k, quad_spark *s)
{
    const double h = k->h;
    real Q[N], V[N];
    EACH_QUAD(w)
    {
        quad q[N], v[N];
        EACH(n, N)
        {
            v[n] = quad_broadcast(k->v[n]) + s->Z[w][n];
            q[n] =
                quad_fma_(quad_broadcast(h), weighted_quad(TABLE_A(0), s->Z, n, w), s->base[w][n]);
        }
        quad_fn_STAGE(0, q, v, 0, s->values[w]);
        quad_fn_SOLVE(0, q, v, s->values[w] + N, s->push[w]);
        EACH(n, N) s->push[w][n] = s->push[w][n] * h;
        quad_nh_add_B(s->push[w], QUAD_B(w), s->X[w]);
    }
    EACH(n, N)
    {
        V[n] = k->v[n] + s->end[n];
        Q[n] = fma_(h, weighted_end(TABLE_A(0), s->Z, n), s->base_end[n]);
    }
    fn_END(0, Q, V, 0, s->other);
}

/* The multipliers' system, made by spark.h from the values one by one. */
static inline void make_system_quads(kernel *k, quad_spark *s, const spark *one)
{
    real *values = one->values;
    EACH_STAGE(j)
    {
        EACH(e, NK) POINT_K(j)[e] = at_stage(QUAD_K(j / 4) + e, j);
        EACH(e, NB) STAGE_B(j)[e] = at_stage(QUAD_B(j / 4) + e, j);
    }
    EACH(e, NK) POINT_K(S)[e] = s->other[N + M + e];
    make_system(k, one);
    EACH(i, POINTS * M)
    EACH_QUAD(w) EACH(e, M) s->answer[i][w][e] = column(one->answer + i * S * M + e, M, w);
}

static inline void correct_quads(quad_spark *s)
{
    quad defect[QUADS][SOME(M)];
    real at_end[SOME(M)], gap[N];
    EACH_QUAD(w)
    {
        quad gaps[N];
        EACH(n, N) gaps[n] = gap_quad(s, n, w);
        EACH(d, M) defect[w][d] = QUAD_k(w)[d];
        quad_nh_apply_K(defect[w], QUAD_K(w), gaps);
        EACH(e, M) s->dX[w][e] = quad_broadcast(0);
    }
    EACH(n, N) gap[n] = gap_end(s, n);
    EACH(d, M) at_end[d] = s->other[N + d];
    nh_apply_K(at_end, s->other + N + M, gap);
    EACH_QUAD(w) EACH(e, M) EACH_POINT(i) EACH(d, M)
    {
        const real x = i < S ? AT_STAGE(defect, d, i) : at_end[d];
        s->dX[w][e] = quad_fma_(s->answer[i * M + d][w][e], quad_broadcast(x), s->dX[w][e]);
    }
}

static inline void apply_impulses_quads(quad_spark *s, mask active)
{
    EACH_QUAD(w)
    {
        quad_nh_add_B(s->push[w], QUAD_B(w), s->dX[w]);
        if (active)
            EACH(e, M) s->X[w][e] = s->X[w][e] + s->dX[w][e];
    }
}

static inline real largest_of(quad x)
{
    return max_(max_(x[0], x[1]), max_(x[2], x[3]));
}

/* How far component n reaches, at all points. */
static inline real reach(const kernel *k, const quad_spark *s, int n)
{
    const real v = abs_(k->v[n]);
    quad most = quad_broadcast(0);
    EACH_QUAD(w) most = quad_max_(most, quad_broadcast(v) + quad_abs_(s->Z[w][n]));
    return max_(largest_of(most), v + abs_(s->end[n]));
}

static inline void measure_quads(const kernel *k, watches *w, const quad_spark *s)
{
    w->scale = 0;
    EACH(n, N) w->scale = max_(w->scale, reach(k, s, n));
    if (DRIVER >= 0)
        w->driver_scale = reach(k, s, DRIVER);
}

/* Component n of the rises takes its correction; how large that was. */
static inline real apply_rise_quads(quad_spark *s, int n, mask active)
{
    quad most = quad_broadcast(0);
    const real at_end = gap_end(s, n);
    EACH_QUAD(w)
    {
        const quad dZ = gap_quad(s, n, w);
        if (active)
            s->Z[w][n] = s->Z[w][n] + dZ;
        most = quad_max_(most, quad_abs_(dZ));
    }
    if (active)
        s->end[n] = s->end[n] + at_end;
    return max_(largest_of(most), abs_(at_end));
}

static inline void apply_rises_quads(const kernel *k, watches *w, quad_spark *s)
{
    real change = 0, driver = 0;
    EACH(n, N)
    {
        const real size = apply_rise_quads(s, n, n == DRIVER ? w->driver.active : w->all.active);
        change = max_(change, size);
        if (n == DRIVER)
            driver = size;
    }
    if (w->all.iteration == 0)
        measure_quads(k, w, s);
    watch_update(&w->all, change, w->scale);
    if (DRIVER >= 0)
        watch_update(&w->driver, driver, w->driver_scale);
}

static inline int solve_quads(kernel *k, quad_spark *s, const spark *one)
{
    watches w = begin_watches(k);
    while (any(w.all.active | w.driver.active)) {
        if (is_lost(&w))
            return not_converged(k, &w.all);
        evaluate_quads(k, s);
        if (w.all.iteration == 0)
            make_system_quads(k, s, one);
        correct_quads(s);
        apply_impulses_quads(s, w.all.active);
        apply_rises_quads(k, &w, s);
    }
    return NH_KERNEL_OK;
}

static inline void predict_quads(const kernel *k, quad_spark *s)
{
    EACH_QUAD(w)
    {
        EACH(e, M)
        {
            quad sum = quad_broadcast(0);
            EACH_STAGE(j)
            sum = quad_fma_(column(TABLE_E(0) + j, S, w), quad_broadcast(MEMORY_X[j * M + e]), sum);
            s->X[w][e] = sum;
        }
        EACH(n, N)
        {
            quad sum = quad_broadcast(0);
            EACH_POINT(j)
            sum = quad_fma_(column(TABLE_G(0) + j, POINTS, w), quad_broadcast(MEMORY_Z[j * N + n]),
                            sum);
            s->Z[w][n] = sum;
            s->base[w][n] = quad_fma_(column(TABLE_C, 1, w) * k->h, quad_broadcast(k->v[n]),
                                      quad_broadcast(k->q[n]));
        }
    }
    EACH(n, N)
    {
        real sum = 0;
        EACH_POINT(j) sum = fma_(TABLE_G(S)[j], MEMORY_Z[j * N + n], sum);
        s->end[n] = sum;
        s->base_end[n] = fma_(TABLE_C[S] * k->h, k->v[n], k->q[n]);
    }
}

static inline void finish_quads(kernel *k, const quad_spark *s)
{
    real q1[N], v1[N], dq[N];
    EACH(n, N)
    {
        dq[n] = fma_(k->h, weighted_end(TABLE_A(0), s->Z, n), k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + s->end[n];
    }
    EACH_STAGE(i) EACH(n, N) MEMORY_Z[i * N + n] = AT_STAGE(s->Z, n, i);
    EACH(n, N) MEMORY_Z[S * N + n] = s->end[n];
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = AT_STAGE(s->X, e, j);
    commit(k, q1, v1, dq, s->end);
}

static int step_quads(kernel *k)
{
    LOCAL(values, VALUES_SIZE);
    LOCAL(matrix, S * M * S * M);
    LOCAL(answer, POINTS * M * S * M);
    const spark one = {.values = values, .matrix = matrix, .answer = answer};
    quad_spark s;
    predict_quads(k, &s);
    int status = solve_quads(k, &s, &one);
    if (!status)
        finish_quads(k, &s);
    return status;
}

#endif
