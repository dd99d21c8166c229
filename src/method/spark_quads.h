/* The linear system for the multipliers where four points are computed at a time: the same as in
 * spark_multipliers.h, in an order that fills registers. */
#ifndef NH_METHOD_SPARK_QUADS_H
#define NH_METHOD_SPARK_QUADS_H

#include "method/spark_points.h"

/* The coefficients of K_i B_j for the stages j of a group; and whether there are any. */
static inline point coefficients_of(const kernel *k, int r, int d, int i, int g)
{
#define ENTRY(l) coefficient_of(k, r, d, i, 4 * g + l < S ? 4 * g + l : S - 1)
    return (quad){ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3)};
#undef ENTRY
}

static inline int has_coefficients(const kernel *k, int r, int d, int i)
{
    const int on_position = POSITIONS > 0 && d >= FIRST_POSITION && TABLE_UG(r)[i] != 0;
    return on_position || weights_of_condition(k, i, d)[r * POINTS] != 0;
}

/* K_i B_j for all stages j: M x M numbers for each group. */
static inline void multiply_KB(kernel *k, const spark *s, const spark_round *t, int i,
                               point (*block)[SOME(M * M)])
{
    point K[SOME(NK)];
    EACH(e, NK)
    K[e] =
        at_all(PLAIN_MOMENTUM && i >= S ? OTHER_K(i)[e] : SPARK_AT(VALUES_K(0), VALUES_SIZE, i, e));
    EACH_STAGE_GROUP(g)
    {
        EACH(e, M * M) block[g][e] = everywhere(0);
        add_KB(k, block[g], M, 1, K, STAGE_B(g));
    }
}

static inline void make_matrix(kernel *k, spark *s, spark_round *t, real *matrix)
{
    const int size = S * M;
    point block[POINTS][STAGE_GROUPS][SOME(M * M)];
    if (!PLAIN_MOMENTUM)
        TO_MEMORY(t->values, VALUES_ROOM);
    EACH_POINT(i) multiply_KB(k, s, t, i, block[i]);
    EACH_STAGE(r)
    EACH(d, M)
    EACH(e, M)
    {
        point row[STAGE_GROUPS];
        EACH_STAGE_GROUP(g)
        {
            row[g] = everywhere(0);
            EACH_POINT(i)
            if (has_coefficients(k, r, d, i))
                row[g] = fma_(coefficients_of(k, r, d, i, g), block[i][g][d * M + e], row[g]);
        }
        if (M == 1) /* the next row covers what is too much */
            __builtin_memcpy(matrix + r * S, row, sizeof row);
        else
            EACH_STAGE(j) matrix[(r * M + d) * size + j * M + e] = row[j / 4][j % 4];
    }
}

/* The residuals of all points in the conditions of constraint d, with these weights, and where the
 * answers go: those of successive points are so many answers apart. */
typedef struct residuals {
    int d;
    const double *weights;
    point *answer;
} residuals;

/* Substitution, with entries of the matrix read once for all. Above row d everything is zero. */
static inline void answer_all(const real *matrix, const residuals *of)
{
    const int size = S * M;
    point x[DEFECTS][SOME(S * M)][GROUPS];
    EACH(c, DEFECTS)
    EACH_STAGE(r)
    EACH(e, M)
    EACH_GROUP(g)
    x[c][r * M + e][g] =
        e == of[c].d ? -weight_at(0, (weights_of){of[c].weights + r * POINTS, 1, POINTS}, g, 0)
                     : everywhere(0);
    EACH_FROM(i, 0, size)
    EACH_FROM(j, 0, i)
    {
        const point l = at_all(matrix[i * size + j]);
        EACH(c, DEFECTS)
        if (j >= of[c].d)
            EACH_GROUP(g)
        x[c][i][g] = fnma_(l, x[c][j][g], x[c][i][g]);
    }
    EACH_FROM(back, 0, size)
    {
        const int i = size - 1 - back;
        EACH_FROM(j, i + 1, size)
        {
            const point u = at_all(matrix[i * size + j]);
            EACH(c, DEFECTS) EACH_GROUP(g) x[c][i][g] = fnma_(u, x[c][j][g], x[c][i][g]);
        }
        EACH(c, DEFECTS) EACH_GROUP(g) x[c][i][g] = x[c][i][g] * at_all(matrix[i * size + i]);
    }
    TO_MEMORY(x, DEFECTS * S * M * GROUPS);
    EACH(c, DEFECTS)
    EACH_POINT(i)
    EACH_STAGE_GROUP(g)
    EACH(e, M)
    of[c].answer[(i * DEFECTS * STAGE_GROUPS + g) * M + e] = weight_at(
        0, (weights_of){(const double *)x[c] + e * 4 * GROUPS + i, 4 * GROUPS * M, S}, g, 0);
}

static inline void make_answers(kernel *k, spark *s, const real *matrix)
{
    residuals of[SOME(DEFECTS)];
    EACH(d, M) of[d] = (residuals){d, weights_of_condition(k, 0, d), ANSWER(0, d)};
    EACH(d, POSITIONS)
    of[M + d] = (residuals){FIRST_POSITION + d, TABLE_UG(0), ANSWER(0, M + d)};
    answer_all(matrix, of);
}

#endif
