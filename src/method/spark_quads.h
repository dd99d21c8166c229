/* The turns of SPARK (spark.h) for one trajectory, four points at a time.
 *
 * Points of an implicit method do not wait for each other: one vector register holds a component at
 * four of them, the stages and then the end of the step. Each lane does what spark.h does for its
 * point, operation by operation, so that the bits are the same. Lanes behind the last point repeat
 * it; what is known at stages only is of no meaning in other lanes, but a number.
 *
 * An emitted kernel of one lane has the system's functions over quads too (emit.c). */
#ifndef NH_METHOD_SPARK_QUADS_H
#define NH_METHOD_SPARK_QUADS_H

#include "method/spark.h"

#define QUADS ((POINTS + 3) / 4)
#define STAGE_QUADS ((S + 3) / 4)
#define EACH_QUAD(w) _Pragma("GCC unroll 8") for (int w = 0; w < QUADS; w++)
#define EACH_STAGE_QUAD(w) _Pragma("GCC unroll 8") for (int w = 0; w < STAGE_QUADS; w++)

typedef struct quad_spark {
    quad Z[QUADS][N], base[QUADS][N];
    quad X[STAGE_QUADS][SOME(M)], dX[STAGE_QUADS][SOME(M)], push[STAGE_QUADS][N];
    quad values[STAGE_QUADS][STAGE_SIZE];
    quad answer[POINTS * SOME(M)][STAGE_QUADS][SOME(M)];
    real end[OTHER_SIZE]; /* what END gives */
} quad_spark;

#define QUAD_k(w) (s->values[w] + 2 * N)
#define QUAD_K(w) (QUAD_k(w) + M)
#define QUAD_B(w) (QUAD_K(w) + NK)

/* Lanes are read one by one, to go to all lanes of another register. From memory a load does that;
 * between registers it takes a unit that multiplications want. */
#define TO_MEMORY(x) __asm__("" : "+m"(x))

/* Component n of x at point i. */
#define AT_POINT(x, n, i) ((x)[(i) / 4][n][(i)&3])

/* Entries of a column of the table, which has so many rows, at the four points of a quad. */
static inline quad column(const double *table, int stride, int rows, int w)
{
#define ENTRY(l) table[(4 * w + l < rows ? 4 * w + l : rows - 1) * stride]
    return (quad){ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3)};
#undef ENTRY
}

/* sum_j a_ij x_j for component n, as weighted() in spark.h */
static inline quad weighted_quad(const double *a, const quad (*x)[N], int n, int w)
{
    quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
    EACH_STAGE(j)
    {
        const quad weight = column(a + j, S, POINTS, w), at = quad_broadcast(AT_POINT(x, n, j));
        sum[CHAIN(j)] = j < CHAINS ? weight * at : quad_fma_(weight, at, sum[CHAIN(j)]);
    }
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

static inline quad gap_quad(const quad_spark *s, int n, int w)
{
    return weighted_quad(TABLE_F(0), s->push, n, w) - s->Z[w][n];
}

static inline void evaluate_quads(const kernel *k, quad_spark *s)
{
    const double h = k->h;
    quad Q[QUADS][N], V[QUADS][N];
    real q[N], v[N];
    TO_MEMORY(s->Z);
    EACH_QUAD(w) EACH(n, N)
    {
        V[w][n] = quad_broadcast(k->v[n]) + s->Z[w][n];
        Q[w][n] =
            quad_fma_(quad_broadcast(h), weighted_quad(TABLE_A(0), s->Z, n, w), s->base[w][n]);
    }
    EACH_STAGE_QUAD(w)
    {
        quad_fn_STAGE(0, Q[w], V[w], 0, s->values[w]);
        quad_fn_SOLVE(0, Q[w], V[w], s->values[w] + N, s->push[w]);
        EACH(n, N) s->push[w][n] = s->push[w][n] * h;
        quad_nh_add_B(s->push[w], QUAD_B(w), s->X[w]);
    }
    EACH(n, N)
    {
        q[n] = AT_POINT(Q, n, S);
        v[n] = AT_POINT(V, n, S);
    }
    fn_END(0, q, v, 0, s->end);
}

/* ---- the multipliers' system ---- */

/* With one constraint a row of the matrix has an entry a stage: sum_i u_ri r_ij K_i B_j. */
static inline void make_matrix_quads(const quad_spark *s, real *matrix)
{
    quad product[POINTS][STAGE_QUADS]; /* K_i B_j */
    EACH_POINT(i) EACH_STAGE_QUAD(w)
    {
        quad K[SOME(NK)], one = quad_broadcast(0);
        EACH(e, NK)
        K[e] = quad_broadcast(i < S ? s->values[i / 4][2 * N + M + e][i & 3] : s->end[N + M + e]);
        quad_nh_add_KB(&one, 1, 1, K, QUAD_B(w));
        product[i][w] = one;
    }
    EACH_STAGE(r)
    {
        quad row[STAGE_QUADS];
        EACH_STAGE_QUAD(w)
        {
            row[w] = quad_broadcast(0);
            EACH_POINT(i)
            row[w] = quad_fma_(column(TABLE_R(i), 1, S, w) * TABLE_U(r)[i], product[i][w], row[w]);
        }
        __builtin_memcpy(matrix + r * S, row,
                         sizeof row); /* the next row covers what is too much */
    }
}

/* With several, spark.h makes the matrix from values one by one. */
static inline void make_matrix_singly(kernel *k, const quad_spark *s, const spark *one)
{
    real *values = one->values;
    EACH_STAGE(j)
    {
        EACH(e, NK) POINT_K(j)[e] = QUAD_K(j / 4)[e][j & 3];
        EACH(e, NB) STAGE_B(j)[e] = QUAD_B(j / 4)[e][j & 3];
    }
    EACH(e, NK) POINT_K(S)[e] = s->end[N + M + e];
    make_matrix(k, one);
}

/* The answers to the defects d of four points, by substitution as in spark.h. */
static inline void make_answer_quads(quad_spark *s, const real *matrix, int d)
{
    const int size = S * M;
    double by_row[SOME(S * M)][4 * QUADS];
    EACH_QUAD(w)
    {
        quad x[SOME(S * M)];
        EACH_STAGE(r)
        EACH(e, M) x[r * M + e] = e == d ? -column(TABLE_U(r), 1, POINTS, w) : quad_broadcast(0);
        EACH_FROM(i, 0, size)
        EACH_FROM(j, 0, i) x[i] = quad_fma_(quad_broadcast(-matrix[i * size + j]), x[j], x[i]);
        EACH_FROM(back, 0, size)
        {
            const int i = size - 1 - back;
            EACH_FROM(j, i + 1, size)
            x[i] = quad_fma_(quad_broadcast(-matrix[i * size + j]), x[j], x[i]);
            x[i] = x[i] * matrix[i * size + i];
        }
        EACH_FROM(i, 0, size) __builtin_memcpy(by_row[i] + 4 * w, x + i, sizeof *x);
    }
    EACH_POINT(i)
    EACH_STAGE_QUAD(w)
    EACH(e, M) s->answer[i * M + d][w][e] = column(by_row[e] + i, 4 * QUADS * M, S, w);
}

static inline void make_system_quads(kernel *k, quad_spark *s, const spark *one)
{
    if (M == 1)
        make_matrix_quads(s, one->matrix);
    else
        make_matrix_singly(k, s, one);
    factor(k, one->matrix);
    EACH(d, M) make_answer_quads(s, one->matrix, d);
}

/* ---- a turn ---- */

/* What the constraints are off by at the points when the rises take their first correction. */
static inline void find_defects(quad_spark *s, real (*defect)[SOME(M)])
{
    quad gap[QUADS][N];
    real at_end[N];
    TO_MEMORY(s->push);
    EACH_QUAD(w) EACH(n, N) gap[w][n] = gap_quad(s, n, w);
    EACH_STAGE_QUAD(w)
    {
        quad off[SOME(M)];
        EACH(d, M) off[d] = QUAD_k(w)[d];
        quad_nh_apply_K(off, QUAD_K(w), gap[w]);
        EACH(d, M) EACH(l, 4) if (4 * w + l < S) defect[4 * w + l][d] = off[d][l];
    }
    EACH(n, N) at_end[n] = AT_POINT(gap, n, S);
    EACH(d, M) defect[S][d] = s->end[N + d];
    nh_apply_K(defect[S], s->end + N + M, at_end);
}

static inline void correct_quads(quad_spark *s)
{
    real defect[POINTS][SOME(M)];
    find_defects(s, defect);
    EACH_STAGE_QUAD(w) EACH(e, M)
    {
        quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
        EACH_POINT(i)
        EACH(d, M)
        sum[CHAIN(i)] =
            quad_fma_(s->answer[i * M + d][w][e], quad_broadcast(defect[i][d]), sum[CHAIN(i)]);
        s->dX[w][e] = CHAINS > 1 ? sum[0] + sum[1] : sum[0];
    }
}

/* x + dx while it is active. Which it is cannot be foreseen, so that no branch may depend on it. */
static inline quad taken(mask active, quad x, quad dx)
{
    return quad_select_((quad_mask){active, active, active, active}, x + dx, x);
}

static inline void apply_impulses_quads(quad_spark *s, mask active)
{
    EACH_STAGE_QUAD(w)
    {
        quad_nh_add_B(s->push[w], QUAD_B(w), s->dX[w]);
        EACH(e, M) s->X[w][e] = taken(active, s->X[w][e], s->dX[w][e]);
    }
}

static inline real largest_of(quad x)
{
    return max_(max_(x[0], x[1]), max_(x[2], x[3]));
}

static inline void measure_quads(const kernel *k, watches *w, const quad_spark *s)
{
    quad most = quad_broadcast(0);
    EACH(n, N)
    {
        quad reach = quad_broadcast(0);
        EACH_QUAD(l)
        reach = quad_max_(reach, quad_broadcast(abs_(k->v[n])) + quad_abs_(s->Z[l][n]));
        most = quad_max_(most, reach);
        if (n == DRIVER)
            w->driver_scale = largest_of(reach);
    }
    w->scale = largest_of(most);
}

/* The rises take their corrections. */
static inline void apply_rises_quads(const kernel *k, watches *w, quad_spark *s)
{
    quad most = quad_broadcast(0), driver = quad_broadcast(0);
    TO_MEMORY(s->push);
    EACH(n, N)
    {
        const mask active = n == DRIVER ? w->driver.active : w->all.active;
        EACH_QUAD(l)
        {
            const quad dZ = gap_quad(s, n, l);
            s->Z[l][n] = taken(active, s->Z[l][n], dZ);
            most = quad_max_(most, quad_abs_(dZ));
            if (n == DRIVER)
                driver = quad_max_(driver, quad_abs_(dZ));
        }
    }
    if (w->all.iteration == 0)
        measure_quads(k, w, s);
    watch_update(&w->all, largest_of(most), w->scale);
    if (DRIVER >= 0)
        watch_update(&w->driver, largest_of(driver), w->driver_scale);
}

static inline int solve_quads(kernel *k, quad_spark *s, const spark *one)
{
    watches w = {.all = watch_begin(), .driver = watch_begin()};
    if (DRIVER < 0)
        w.driver.active = 0;
    while (w.all.active | w.driver.active) {
        if (w.all.iteration >= TURNS_MAX || (w.all.previous > 1e100 && w.all.iteration > 0))
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
    EACH_STAGE_QUAD(w) EACH(e, M)
    {
        quad sum = quad_broadcast(0);
        EACH_STAGE(j)
        sum = quad_fma_(column(TABLE_E(0) + j, S, S, w), quad_broadcast(MEMORY_X[j * M + e]), sum);
        s->X[w][e] = sum;
    }
    EACH_QUAD(w) EACH(n, N)
    {
        quad sum = quad_broadcast(0);
        EACH_POINT(j)
        sum = quad_fma_(column(TABLE_G(0) + j, POINTS, POINTS, w),
                        quad_broadcast(MEMORY_Z[j * N + n]), sum);
        s->Z[w][n] = sum;
        s->base[w][n] = quad_fma_(column(TABLE_C, 1, POINTS, w) * k->h, quad_broadcast(k->v[n]),
                                  quad_broadcast(k->q[n]));
    }
}

static inline void finish_quads(kernel *k, const quad_spark *s)
{
    real q1[N], v1[N], dq[N], dv[N];
    EACH(n, N)
    {
        dv[n] = AT_POINT(s->Z, n, S);
        dq[n] = fma_(k->h, weighted_quad(TABLE_A(0), s->Z, n, S / 4)[S & 3], k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    EACH_POINT(i) EACH(n, N) MEMORY_Z[i * N + n] = AT_POINT(s->Z, n, i);
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = AT_POINT(s->X, e, j);
    commit(k, q1, v1, dq, dv);
}

static int step_quads(kernel *k)
{
    LOCAL(values, VALUES_SIZE);
    LOCAL(matrix, S * M * S * M + 4);
    const spark one = {.values = values, .matrix = matrix};
    quad_spark s;
    predict_quads(k, &s);
    int status = solve_quads(k, &s, &one);
    if (!status)
        finish_quads(k, &s);
    return status;
}

#endif
