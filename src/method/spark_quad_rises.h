/* The iterations of spark_rises.h for one trajectory, four points at a time (spark_quads.h). */
#ifndef NH_METHOD_SPARK_QUAD_RISES_H
#define NH_METHOD_SPARK_QUAD_RISES_H

#include "method/spark_quads.h"

/* What lasts for a step, and what for an iteration only. */
typedef struct quad_spark {
    quad x[QUADS][N], X[STAGE_QUADS][SOME(M)], base[QUADS][N];
    quad frozen[QUADS][NB + NF + N]; /* B, factors, room for an argument */
    quad_answer answer[POINTS * SOME(M)], to_surface[POINTS * SOME(POSITIONS)];
    real p0[OTHER_SIZE]; /* what END gives at the start of the step */
} quad_spark;

typedef struct quad_iteration {
    quad Q[QUADS][N], V[QUADS][N], values[QUADS][STAGE_SIZE];
    quad next[QUADS][N], dX[STAGE_QUADS][SOME(M)];
    quad surface[QUADS][SOME(SURFACE_SIZE)]; /* from SURFACE, where positions are imposed */
} quad_iteration;

#define QUAD_P(w) (t->values[w])
#define QUAD_F(w) (t->values[w] + N)
#define QUAD_k(w) (t->values[w] + 2 * N)
#define QUAD_K(w) (QUAD_k(w) + M)
#define QUAD_G(w) (QUAD_K(w) + (NK - NG))
#define QUAD_FROZEN_B(w) (s->frozen[w])
#define QUAD_FACTORS(w) (s->frozen[w] + NB)
#define QUAD_ARGUMENT(w) (QUAD_FACTORS(w) + NF)

/* Whether conditions on positions are imposed at a point of this quad. */
static inline int has_surface(const kernel *k, int w)
{
    int has = 0;
    EACH_POINT(i) has |= i / 4 == w && is_on_surface(k, i);
    return has;
}

static inline void evaluate_quads(const kernel *k, quad_spark *s, quad_iteration *t)
{
    TO_MEMORY(s->x);
    EACH_QUAD(w)
    {
        EACH(n, N)
        {
            const quad shift = weighted_quad(TABLE_A(0), s->x, n, w);
            t->V[w][n] = quad_broadcast(k->v[n]) + s->x[w][n];
            t->Q[w][n] = quad_fma_(quad_broadcast(k->h), shift, s->base[w][n]);
        }
        CALL_POINTS(POINT, t->Q[w], t->V[w], 0, t->values[w]);
#if POSITIONS > 0
        if (has_surface(k, w))
            CALL_POINTS(SURFACE, t->Q[w], t->V[w], 0, t->surface[w]);
#endif
    }
}

/* K_i B_j for all points i of a quad. */
static inline void multiply_KB(const kernel *k, const quad_spark *f, const quad_iteration *t, int w,
                               int j, quad *block)
{
    quad B[SOME(NB)];
    (void)k;
    EACH(e, NB) B[e] = quad_broadcast(AT_POINT(f->frozen, e, j));
    EACH(e, M * M) block[e] = quad_broadcast(0);
    quad_add_KB(k, block, M, 1, QUAD_K(w), B);
}

/* As make_matrix() in spark_multipliers.h. */
static inline void make_matrix_quads(const kernel *k, quad_spark *f, const quad_iteration *t,
                                     real *matrix)
{
    const int size = S * M;
    quad block[S][QUADS][SOME(M * M)];
    TO_MEMORY(f->frozen);
    EACH_STAGE(j) EACH_QUAD(w) multiply_KB(k, f, t, w, j, block[j][w]);
    TO_MEMORY(block);
    EACH(e, size * size) matrix[e] = 0;
    EACH_STAGE(r)
    EACH(d, M)
    EACH_STAGE(j)
    EACH_POINT(i)
    {
        const double c = coefficient_of(k, r, d, i, j);
        real *row = matrix + (r * M + d) * size + j * M;
        if (c != 0)
            EACH(e, M) row[e] = fma_(c, AT_POINT(block[j], d * M + e, i), row[e]);
    }
}

/* The multipliers' system is made, and factorised as in spark_multipliers.h. */
static inline void freeze_quads(kernel *k, quad_spark *f, const quad_iteration *t, const spark *s)
{
    EACH_QUAD(w) CALL_POINTS(FACTOR, t->Q[w], t->V[w], 0, f->frozen[w]);
    make_matrix_quads(k, f, t, s->matrix);
    factor(k, s->matrix);
    quad_defects of[SOME(DEFECTS)];
    EACH(d, M) of[d] = (quad_defects){d, weights_of(k, 0, d), f->answer + d, M};
    EACH(d, POSITIONS)
    of[M + d] = (quad_defects){FIRST_POSITION + d, TABLE_UG(0), f->to_surface + d, POSITIONS};
    make_answer_quads(s->matrix, of, DEFECTS);
}

/* The changes of the velocities that the momenta require, with M frozen. */
static inline void find_moves(const kernel *k, quad_spark *s, quad_iteration *t)
{
    quad push[(1 + SPLIT) * STAGE_QUADS][N], (*reaction)[N] = push + SPLIT * STAGE_QUADS;
    EACH_STAGE_QUAD(w)
    {
        EACH(n, N)
        {
            push[w][n] = QUAD_F(w)[n] * k->h;
            if (SPLIT)
                reaction[w][n] = quad_broadcast(0);
        }
        quad_add_K(k, reaction[w], QUAD_K(w), s->X[w]);
    }
    TO_MEMORY(push);
    EACH_QUAD(w)
    {
        EACH(n, N)
        {
            const quad from = quad_broadcast(s->p0[n]) - QUAD_P(w)[n];
            quad sum = plus_weighted_quad(from, TABLE_F(0), push, n, w);
            if (SPLIT)
                sum = plus_weighted_quad(sum, TABLE_R(0), reaction, n, w);
            QUAD_ARGUMENT(w)[n] = sum;
        }
        CALL_POINTS(SUBSTITUTE, t->Q[w], t->V[w], QUAD_FACTORS(w), t->next[w]);
    }
}

/* g / h after these changes, where it is imposed. */
static inline void find_off_surface(const kernel *k, quad_iteration *t,
                                    real off_surface[][SOME(POSITIONS)])
{
    TO_MEMORY(t->next);
    EACH_QUAD(w)
    if (has_surface(k, w)) {
        quad moved[N], off[SOME(POSITIONS)];
        EACH(n, N) moved[n] = weighted_quad(TABLE_A(0), t->next, n, w);
        EACH(d, POSITIONS) off[d] = t->surface[w][d] / quad_broadcast(k->h);
        quad_apply_G(k, off, QUAD_G(w), moved);
        EACH(d, POSITIONS) EACH(l, 4) off_surface[4 * w + l][d] = off[d][l];
    }
}

static inline quad plus_surface(const kernel *k, const quad_spark *s,
                                real off_surface[][SOME(POSITIONS)], quad sum, int w, int e)
{
    EACH_POINT(i)
    if (is_on_surface(k, i))
        EACH(d, POSITIONS)
    sum = quad_fma_(s->to_surface[i * POSITIONS + d][w][e], quad_broadcast(off_surface[i][d]), sum);
    return sum;
}

/* The residuals that the constraints would then have, and the impulses that remove them. */
static inline void answer_quads(const kernel *k, const quad_spark *s, quad_iteration *t)
{
    real defect[4 * QUADS][SOME(M)], off_surface[4 * QUADS][SOME(POSITIONS)];
    if (POSITIONS > 0)
        find_off_surface(k, t, off_surface);
    EACH_QUAD(w)
    {
        quad off[SOME(M)];
        EACH(d, M) off[d] = QUAD_k(w)[d];
        quad_apply_K(k, off, QUAD_K(w), t->next[w]);
        EACH(d, M) EACH(l, 4) defect[4 * w + l][d] = off[d][l];
    }
    EACH_STAGE_QUAD(w) EACH(e, M)
    {
        quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
        EACH_POINT(i)
        EACH(d, M)
        if (is_asked_for(k, i, d))
            sum[CHAIN(i)] =
                quad_fma_(s->answer[i * M + d][w][e], quad_broadcast(defect[i][d]), sum[CHAIN(i)]);
        if (POSITIONS > 0)
            sum[0] = plus_surface(k, s, off_surface, sum[0], w, e);
        t->dX[w][e] = CHAINS > 1 ? sum[0] + sum[1] : sum[0];
    }
}

static inline void correct_quads(const kernel *k, quad_spark *s, quad_iteration *t)
{
    quad D[STAGE_QUADS][N];
    find_moves(k, s, t);
    answer_quads(k, s, t);
    EACH_STAGE_QUAD(w)
    {
        EACH(n, N) D[w][n] = quad_broadcast(0);
        quad_add_B(k, D[w], QUAD_FROZEN_B(w), t->dX[w]);
    }
    TO_MEMORY(D);
    EACH_QUAD(w)
    EACH(n, N)
    t->next[w][n] = s->x[w][n] + plus_weighted_quad(t->next[w][n], TABLE_R(0), D, n, w);
}

static inline real largest_lane(quad x)
{
    return max_(max_(x[0], x[1]), max_(x[2], x[3]));
}

static inline void measure_scales_quads(const kernel *k, spark_progress *p, const quad_iteration *t)
{
    p->scale = p->driver_scale = 0;
    EACH(n, N)
    {
        quad most = quad_broadcast(0);
        EACH_QUAD(w) most = quad_max_(most, quad_abs_(t->next[w][n]));
        const real reach = abs_(k->v[n]) + largest_lane(most);
        p->scale = max_(p->scale, reach);
        if (n == DRIVER)
            p->driver_scale = reach;
    }
}

/* As apply() in spark_step.h. */
static inline void apply_quads(const kernel *k, spark_progress *p, quad_spark *s,
                               const quad_iteration *t)
{
    quad most = quad_broadcast(0), driver = quad_broadcast(0);
    if (p->is.all.iteration == 0)
        measure_scales_quads(k, p, t);
    EACH_STAGE_QUAD(w)
    EACH(e, M) s->X[w][e] = taken(p->is.all.active, s->X[w][e] + t->dX[w][e], s->X[w][e]);
    EACH_QUAD(w) EACH(n, N)
    {
        const quad moved = quad_abs_(t->next[w][n] - s->x[w][n]);
        most = quad_max_(most, moved);
        if (n == DRIVER)
            driver = quad_max_(driver, moved);
        s->x[w][n] = taken(still_active(&p->is, n == DRIVER), t->next[w][n], s->x[w][n]);
    }
    judge(k, p, largest_lane(most), largest_lane(driver));
}

static inline int solve_quads(kernel *k, quad_spark *s, spark *one)
{
    spark_progress p = begin_progress(k);
    for (;;) {
        quad_iteration t;
        evaluate_quads(k, s, &t);
        if (any(p.far))
            freeze_quads(k, s, &t, one);
        correct_quads(k, s, &t);
        apply_quads(k, &p, s, &t);
        if (p.is.all.iteration == 1)
            one->astray = less(p.scale * ASTRAY, p.is.all.previous);
        if (has_converged(&p.is))
            return NH_KERNEL_OK;
        if (is_failing(&p))
            return not_converged(k, &p.is.all);
    }
}

/* As continued_rises(). */
static inline quad continued_rise(const kernel *k, int young, int n, int w)
{
    const double *rows = young ? TABLE_G(0) : TABLE_G2(0);
    const int stride = young ? POINTS : 2 * POINTS;
    quad sum = quad_broadcast(0);
    for (int step = 0; step <= !young; step++)
        EACH_POINT(j)
    sum = quad_fma_(column(rows + step * POINTS + j, stride, POINTS, w),
                    quad_broadcast(k->memory[step * MEMORY_STEP + j * N + n]), sum);
    return sum;
}

static inline void continue_quads(const kernel *k, quad_spark *s, int young)
{
    EACH_QUAD(w) EACH(n, N) s->x[w][n] = continued_rise(k, young, n, w);
    EACH_STAGE_QUAD(w)
    EACH(e, M) s->X[w][e] = continued_quad(young, MEMORY_X + e, M, w);
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

static inline void finish_quads(kernel *k, const quad_spark *s, mask astray)
{
    real q1[N], v1[N], dq[N], dv[N], x[POINTS * N];
    EACH_POINT(i) EACH(n, N) x[i * N + n] = AT_POINT(s->x, n, i);
    EACH(n, N)
    {
        dv[n] = rise_rises(k, x, n);
        dq[n] = fma_(k->h, shift_rises(k, x, POINTS - 1, n), k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    if (TWO_REMEMBERED) {
        copy_reals(k->memory + MEMORY_STEP, k->memory, MEMORY_STEP);
        MEMORY_DONE = steps_to_trust(k, astray);
    }
    EACH(e, POINTS * N) k->memory[e] = x[e];
    EACH_STAGE(j) EACH(e, M) MEMORY_X[j * M + e] = AT_POINT(s->X, e, j);
    commit(k, q1, v1, dq, dv);
}

static int step_quads(kernel *k)
{
    LOCAL(matrix, S * M * S * M);
    spark one = {.matrix = matrix};
    quad_spark s;
    CALL(END, k->t, k->q, k->v, 0, s.p0);
    predict_quads(k, &s);
    int status = solve_quads(k, &s, &one);
    if (!status)
        finish_quads(k, &s, one.astray);
    return status;
}

#endif
