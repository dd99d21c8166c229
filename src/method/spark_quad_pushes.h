/* The iterations of spark_pushes.h for one trajectory, four points at a time (spark_quads.h). */
#ifndef NH_METHOD_SPARK_QUAD_PUSHES_H
#define NH_METHOD_SPARK_QUAD_PUSHES_H

#include "method/spark_quads.h"

/* What lasts for a step, and what for an iteration only. */
typedef struct quad_spark {
    quad x[STAGE_QUADS][N], X[STAGE_QUADS][SOME(M)], base[QUADS][N];
    quad_answer answer[POINTS * SOME(M)];
} quad_spark;

typedef struct quad_iteration {
    quad V[QUADS][N], next[STAGE_QUADS][N], dX[STAGE_QUADS][SOME(M)];
    quad values[STAGE_QUADS][STAGE_SIZE];
    real end[OTHER_SIZE]; /* what END gives */
} quad_iteration;

#define QUAD_k(w) (t->values[w] + 2 * N)
#define QUAD_K(w) (QUAD_k(w) + M)
#define QUAD_B(w) (QUAD_K(w) + NK)

static inline quad velocity_quad(const kernel *k, const quad (*x)[N], int n, int w)
{
    return plus_weighted_quad(quad_broadcast(k->v[n]), TABLE_F(0), x, n, w);
}

static inline void evaluate_quads(const kernel *k, quad_spark *s, quad_iteration *t)
{
    const double h = k->h;
    quad Q[QUADS][N];
    real q[N], v[N];
    TO_MEMORY(s->x);
    EACH_QUAD(w) EACH(n, N)
    {
        t->V[w][n] = velocity_quad(k, s->x, n, w);
        Q[w][n] =
            quad_fma_(quad_broadcast(h), weighted_quad(TABLE_AF(0), s->x, n, w), s->base[w][n]);
    }
    EACH_STAGE_QUAD(w)
    {
        CALL_POINTS(STAGE, Q[w], t->V[w], 0, t->values[w]);
        CALL_POINTS(SOLVE, Q[w], t->V[w], t->values[w] + N, t->next[w]);
        EACH(n, N) t->next[w][n] = t->next[w][n] * h;
        quad_add_B(k, t->next[w], QUAD_B(w), s->X[w]);
    }
    EACH(n, N)
    {
        q[n] = AT_POINT(Q, n, S);
        v[n] = AT_POINT(t->V, n, S);
    }
    CALL(END, 0, q, v, 0, t->end);
}

/* ---- the linear system for the multipliers ---- */

/* With one constraint a row of the matrix has an entry a stage: sum_i u_ri r_ij K_i B_j. */
static inline void make_matrix_quads(const quad_iteration *t, real *matrix)
{
    quad product[POINTS][STAGE_QUADS]; /* K_i B_j */
    EACH_POINT(i) EACH_STAGE_QUAD(w)
    {
        quad K[SOME(NK)], one = quad_broadcast(0);
        EACH(e, NK)
        K[e] = quad_broadcast(i < S ? t->values[i / 4][2 * N + M + e][i & 3] : t->end[N + M + e]);
        quad_add_KB(k, &one, 1, 1, K, QUAD_B(w));
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

/* With several constraints, the matrix is made from single values as in spark_multipliers.h. */
static inline void make_matrix_singly(kernel *k, const quad_iteration *t, const spark *s)
{
    real *values = s->values;
    EACH_STAGE(j)
    {
        EACH(e, NK) POINT_K(j)[e] = QUAD_K(j / 4)[e][j & 3];
        EACH(e, NB) STAGE_B(j)[e] = QUAD_B(j / 4)[e][j & 3];
    }
    EACH(e, NK) POINT_K(S)[e] = t->end[N + M + e];
    make_matrix(k, s);
}

static inline void make_system_quads(kernel *k, quad_spark *s, const quad_iteration *t,
                                     const spark *one)
{
    if (M == 1)
        make_matrix_quads(t, one->matrix);
    else
        make_matrix_singly(k, t, one);
    factor(k, one->matrix);
    quad_defects of[SOME(M)];
    EACH(d, M) of[d] = (quad_defects){d, TABLE_U(0), s->answer + d, M};
    make_answer_quads(one->matrix, of, M);
}

/* ---- an iteration ---- */

/* The residuals of the constraints with the velocities that the pushes produce. */
static inline void find_defects(const kernel *k, const quad_iteration *t, real (*defect)[SOME(M)])
{
    quad made[QUADS][N];
    real made_end[N];
    EACH_QUAD(w) EACH(n, N)
    {
        made[w][n] = velocity_quad(k, t->next, n, w);
        if (!LINEAR)
            made[w][n] = made[w][n] - t->V[w][n];
    }
    EACH_STAGE_QUAD(w)
    {
        quad off[SOME(M)];
        EACH(d, M) off[d] = LINEAR ? quad_broadcast(0) : QUAD_k(w)[d];
        quad_apply_K(k, off, QUAD_K(w), made[w]);
        EACH(d, M) EACH(l, 4) if (4 * w + l < S) defect[4 * w + l][d] = off[d][l];
    }
    EACH(n, N) made_end[n] = AT_POINT(made, n, S);
    EACH(d, M) defect[S][d] = LINEAR ? 0 : t->end[N + d];
    apply_K(k, defect[S], t->end + N + M, made_end);
}

static inline void correct_quads(const kernel *k, const quad_spark *s, quad_iteration *t)
{
    real defect[POINTS][SOME(M)];
    find_defects(k, t, defect);
    EACH_STAGE_QUAD(w) EACH(e, M)
    {
        quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
        EACH_POINT(i)
        EACH(d, M)
        sum[CHAIN(i)] =
            quad_fma_(s->answer[i * M + d][w][e], quad_broadcast(defect[i][d]), sum[CHAIN(i)]);
        t->dX[w][e] = CHAINS > 1 ? sum[0] + sum[1] : sum[0];
    }
    EACH_STAGE_QUAD(w) quad_add_B(k, t->next[w], QUAD_B(w), t->dX[w]);
}

/* The effect of pushes x on the velocity and the position at the end of the step: rise_pushes and
 * shift_pushes in two lanes. */
static inline quad at_end(const quad (*x)[N], int n)
{
    const double *f = TABLE_F(S), *af = TABLE_AF(S);
    quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
    EACH_STAGE(j)
    {
        const quad weight = {f[j], af[j], 0, 0}, at = quad_broadcast(AT_POINT(x, n, j));
        sum[CHAIN(j)] = j < CHAINS ? weight * at : quad_fma_(weight, at, sum[CHAIN(j)]);
    }
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

static inline void measure_scales_quads(const kernel *k, spark_progress *p, const quad_iteration *t)
{
    p->scale = p->driver_scale = 0;
    EACH(n, N)
    {
        const real reach = abs_(k->v[n]) + abs_(at_end(t->next, n)[0]);
        p->scale = max_(p->scale, reach);
        if (n == DRIVER)
            p->driver_scale = reach;
    }
}

/* As apply() in spark_step.h. */
static inline void apply_quads(const kernel *k, spark_progress *p, quad_spark *s,
                               const quad_iteration *t)
{
    quad dx[STAGE_QUADS][N], most = quad_broadcast(0), driver = quad_broadcast(0);
    if (p->is.all.iteration == 0)
        measure_scales_quads(k, p, t);
    EACH_STAGE_QUAD(l) EACH(n, N) dx[l][n] = t->next[l][n] - s->x[l][n];
    TO_MEMORY(dx);
    EACH(n, N)
    {
        const quad moved = quad_abs_(at_end(dx, n));
        most = quad_max_(most, moved);
        if (n == DRIVER)
            driver = moved;
    }
    EACH_STAGE_QUAD(l)
    {
        EACH(e, M) s->X[l][e] = taken(p->is.all.active, s->X[l][e] + t->dX[l][e], s->X[l][e]);
        EACH(n, N)
        s->x[l][n] = taken(still_active(&p->is, n == DRIVER), t->next[l][n], s->x[l][n]);
    }
    judge(k, p, max_(most[0], most[1]), max_(driver[0], driver[1]));
}

static inline int solve_quads(kernel *k, quad_spark *s, const spark *one)
{
    spark_progress p = begin_progress(k);
    for (;;) {
        quad_iteration t;
        evaluate_quads(k, s, &t);
        if (p.is.all.iteration == 0)
            make_system_quads(k, s, &t, one);
        correct_quads(k, s, &t);
        apply_quads(k, &p, s, &t);
        if (has_converged(&p.is))
            return NH_KERNEL_OK;
        if (is_failing(&p))
            return not_converged(k, &p.is.all);
    }
}

static inline void continue_quads(const kernel *k, quad_spark *s, int young)
{
    EACH_STAGE_QUAD(w)
    {
        EACH(n, N) s->x[w][n] = continued_quad(young, k->memory + n, N, w);
        EACH(e, M) s->X[w][e] = continued_quad(young, MEMORY_X + e, M, w);
    }
}

static inline void predict_quads(const kernel *k, quad_spark *s)
{
    EACH_QUAD(w)
    EACH(n, N)
    s->base[w][n] = quad_fma_(column(TABLE_C, 1, POINTS, w) * k->h, quad_broadcast(k->v[n]),
                              quad_broadcast(k->q[n]));
    if (!TWO_REMEMBERED || COMPOSED(k->io) || MEMORY_DONE < 2)
        continue_quads(k, s, 1);
    else
        continue_quads(k, s, 0);
}

static inline void finish_quads(kernel *k, const quad_spark *s)
{
    real q1[N], v1[N], dq[N], dv[N];
    EACH(n, N)
    {
        const quad end = at_end(s->x, n);
        dv[n] = end[0];
        dq[n] = fma_(k->h, end[1], k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    if (TWO_REMEMBERED) {
        copy_reals(k->memory + MEMORY_STEP, k->memory, MEMORY_STEP);
        MEMORY_DONE = MEMORY_DONE + 1;
    }
    EACH_STAGE(j) EACH(n, N) k->memory[j * N + n] = AT_POINT(s->x, n, j);
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
