/* The multipliers of a SPARK step: the linear system for the impulses, which is made and factorised
 * in the first iteration, and the right-hand sides of all iterations. */
#ifndef NH_METHOD_SPARK_MULTIPLIERS_H
#define NH_METHOD_SPARK_MULTIPLIERS_H

#include "method/spark_points.h"

/* The column of the conditions' weights that belongs to constraint e at a point: one number in each
 * row of POINTS. */
static inline const double *weights_of_condition(const kernel *k, int i, int e)
{
    (void)k;
    return (POSITIONS > 0 && e >= FIRST_POSITION ? TABLE_PART(ud) : TABLE_PART(u)) + i;
}

/* Whether a constraint is imposed at a point; if not, its residual there has no response. With
 * pushes, and where points are computed one by one, finding that out costs more than it saves. */
static inline int is_asked_for(const kernel *k, int i, int e)
{
    if (POINTS_ABREAST == 1 || PLAIN_MOMENTUM)
        return 1;
    int is = 0;
    EACH_STAGE(r) is |= weights_of_condition(k, i, e)[r * POINTS] != 0;
    return is;
}

/* The coefficient of K_i B_j in block (r, j) of the system, in the row of constraint d. With
 * conditions on positions, g changes with the velocities as h (a r)_ij G_i B_j does. */
static inline double coefficient_of(const kernel *k, int r, int d, int i, int j)
{
    const double on_position =
        POSITIONS == 0 || d < FIRST_POSITION ? 0 : TABLE_UG(r)[i] * TABLE_PART(ar)[i * S + j];
    return weights_of_condition(k, i, d)[r * POINTS] * TABLE_PART(r)[i * S + j] + on_position;
}

/* In place, with the inverses of the pivots. */
static inline void factor(kernel *k, real *matrix)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(c, 0, size)
    {
        const real inverse = over_(broadcast(1), matrix[c * size + c]);
        matrix[c * size + c] = inverse;
        EACH_FROM(i, c + 1, size)
        {
            const real l = times_(matrix[i * size + c], inverse);
            matrix[i * size + c] = l;
            EACH_FROM(j, c + 1, size)
            matrix[i * size + j] = fnma_(l, matrix[c * size + j], matrix[i * size + j]);
        }
    }
}

#if POINTS_ABREAST == 1

#define SYSTEM_K(i) (PLAIN_MOMENTUM || LANES == 1 ? POINT_K(i) : s->frozen_K + (i)*NK)

static inline void make_matrix_of_positions(kernel *k, spark *s, spark_round *t, real *matrix)
{
    const int size = S * M;
    EACH_POINT(i) EACH_STAGE(j)
    {
        EACH(e, M * M) t->block[e] = broadcast(0);
        add_KB(k, t->block, M, 1, SYSTEM_K(i), STAGE_B(j));
        EACH_STAGE(r) EACH(d, M)
        {
            const double c = coefficient_of(k, r, d, i, j);
            real *row = matrix + (r * M + d) * size + j * M;
            if (c != 0)
                EACH(e, M) row[e] = fma_(broadcast(c), t->block[d * M + e], row[e]);
        }
    }
}

/* Block (r, j) = sum_i u_ri r_ij K_i B_j */
static inline void make_matrix(kernel *k, spark *s, spark_round *t, real *matrix)
{
    const int size = S * M;
    EACH_STAGE(r)
    EACH(d, M) EACH_STAGE(j) EACH(e, M) matrix[(r * M + d) * size + j * M + e] = broadcast(0);
    if (POSITIONS > 0) {
        make_matrix_of_positions(k, s, t, matrix);
        return;
    }
    EACH_STAGE(r) EACH_STAGE(j) EACH_POINT(i)
    {
        const double c = coefficient_of(k, r, 0, i, j);
        if (c != 0)
            add_KB(k, matrix + r * M * size + j * M, size, c, SYSTEM_K(i), STAGE_B(j));
    }
}

static inline void substitute(kernel *k, const real *matrix, real *x)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(i, 0, size)
    EACH_FROM(j, 0, i) x[i] = fnma_(matrix[i * size + j], x[j], x[i]);
    EACH_FROM(back, 0, size)
    {
        const int i = size - 1 - back;
        EACH_FROM(j, i + 1, size) x[i] = fnma_(matrix[i * size + j], x[j], x[i]);
        x[i] = times_(x[i], matrix[i * size + i]);
    }
}

/* The response to a residual with these weights in the conditions of constraint d. */
static inline void answer_one(kernel *k, const real *matrix, int d, const double *w, real *answer)
{
    EACH_STAGE(r) EACH(e, M) answer[r * M + e] = broadcast(e == d ? -w[r * POINTS] : 0);
    substitute(k, matrix, answer);
}

static inline void make_answers(kernel *k, spark *s, const real *matrix)
{
    EACH_POINT(i)
    {
        EACH(d, M) answer_one(k, matrix, d, weights_of_condition(k, i, d), ANSWER(i, d));
        if (is_on_surface(k, i))
            EACH(d, POSITIONS)
        answer_one(k, matrix, FIRST_POSITION + d, TABLE_UG(0) + i, ANSWER(i, M + d));
    }
}

#else
#include "method/spark_quads.h"
#endif

static inline void make_system(kernel *k, spark *s, spark_round *t)
{
    real *matrix = DIRECT ? t->matrix : (real *)s->system;
    make_matrix(k, s, t, matrix);
    factor(k, matrix);
    if (DIRECT)
        make_answers(k, s, matrix);
}

/* The residuals of g / h after the positions have moved by h times sum_j a_ij dx_j or, with pushes,
 * from where x leads to where `next` does. */
static inline void find_off_surface(kernel *k, spark *s, spark_round *t)
{
    EACH_GROUP(g)
    if (has_surface(k, g)) {
        point *off = t->off_surface + g * POSITIONS;
        EACH(n, N)
        {
            const point to = shift(k, t->next, g, n);
            t->moved[n] = PLAIN_MOMENTUM ? minus_(to, shift(k, s->x, g, n)) : to;
        }
        EACH(d, POSITIONS) off[d] = over_(SURFACE_g(g)[d], step_of(k));
        apply_G(k, off, POINT_K(g) + (NK - NG), t->moved);
    }
}

/* The response of component (g, e) of the impulses to the residuals of a point, or without answers
 * the right-hand side. */
static inline point plus_response(const kernel *k, const spark *s, const spark_round *t, point sum,
                                  int i, int g, int e)
{
    if (!DIRECT)
        return fma_(everywhere(-weights_of_condition(k, i, e)[g * POINTS]),
                    at_all(SPARK_AT(t->defect, M, i, e)), sum);
    EACH(d, M)
    if (is_asked_for(k, i, d))
        sum = fma_(ANSWER(i, d)[g * M + e], at_all(SPARK_AT(t->defect, M, i, d)), sum);
    return sum;
}

static inline point plus_response_to_surface(const kernel *k, const spark *s, const spark_round *t,
                                             point sum, int i, int g, int e)
{
    const int own = e - FIRST_POSITION;
    if (!DIRECT)
        return own < 0 ? sum
                       : fma_(everywhere(-TABLE_UG(g)[i]),
                              at_all(SPARK_AT(t->off_surface, POSITIONS, i, own)), sum);
    EACH(d, POSITIONS)
    sum = fma_(ANSWER(i, M + d)[g * M + e], at_all(SPARK_AT(t->off_surface, POSITIONS, i, d)), sum);
    return sum;
}

/* The changes of the impulses that remove the residuals of all points. */
static inline void find_impulses(kernel *k, spark *s, spark_round *t)
{
    if (POSITIONS > 0)
        find_off_surface(k, s, t);
    EACH_STAGE_GROUP(g) EACH(e, M)
    {
        point sum[2] = {everywhere(0), everywhere(0)};
        EACH_POINT(i) sum[CHAIN(i)] = plus_response(k, s, t, sum[CHAIN(i)], i, g, e);
        if (POSITIONS > 0)
            EACH_POINT(i)
        if (is_on_surface(k, i))
            sum[0] = plus_response_to_surface(k, s, t, sum[0], i, g, e);
        t->dX[g * M + e] = END_OF_CHAINS(sum);
    }
    if (!DIRECT)
        substitute(k, (real *)s->system, (real *)t->dX);
}

#endif
