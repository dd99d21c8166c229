/* Steps of one trajectory, four points at a time: what spark_quad_pushes.h and spark_quad_rises.h
 * share.
 *
 * The points of an implicit method can be evaluated independently: one vector register holds one
 * component at four of them, the stages and then the end of the step. Each lane does for its point
 * what spark_step.h does, operation by operation, so that the bits are the same. Lanes after the
 * last point repeat it; quantities that exist only at stages have finite but meaningless values in
 * other lanes.
 *
 * An emitted kernel of one lane has the system's functions over quads too (emit.c). */
#ifndef NH_METHOD_SPARK_QUADS_H
#define NH_METHOD_SPARK_QUADS_H

#include "method/spark.h"

#define QUADS ((POINTS + 3) / 4)
#define STAGE_QUADS ((S + 3) / 4)
#define EACH_QUAD(w) _Pragma("GCC unroll 8") for (int w = 0; w < QUADS; w++)
#define EACH_STAGE_QUAD(w) _Pragma("GCC unroll 8") for (int w = 0; w < STAGE_QUADS; w++)

/* The change of the impulses in response to a residual at a point. */
typedef quad quad_answer[STAGE_QUADS][SOME(M)];

/* Lanes are read one by one and broadcast to all lanes of another register. From memory, a load
 * does that; between registers it occupies a unit that multiplications need. */
#define TO_MEMORY(x) __asm__("" : "+m"(x))

/* Component n of x at point i. */
#define AT_POINT(x, n, i) ((x)[(i) / 4][n][(i)&3])

/* Entries of a column of the table, which has `rows` rows, at the four points of a quad. */
static inline quad column(const double *table, int stride, int rows, int w)
{
#define ENTRY(l) table[(4 * w + l < rows ? 4 * w + l : rows - 1) * stride]
    return (quad){ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3)};
#undef ENTRY
}

/* sum_j a_ij x_j for component n at the points of quad w, and from + that; as in spark_step.h */
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

static inline quad plus_weighted_quad(quad from, const double *a, const quad (*x)[N], int n, int w)
{
    quad sum[2] = {from, quad_broadcast(0)};
    EACH_STAGE(j)
    {
        const quad weight = column(a + j, S, POINTS, w), at = quad_broadcast(AT_POINT(x, n, j));
        sum[CHAIN(j)] = quad_fma_(weight, at, sum[CHAIN(j)]);
    }
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

/* Right-hand sides: the residuals of all points with these weights in the conditions of constraint
 * d. */
typedef struct quad_defects {
    int d;
    const double *weights;
    quad_answer *answer; /* those of successive points are this far apart */
    int apart;
} quad_defects;

/* The responses to some of them, by substitution as in spark_multipliers.h: entries of the matrix
 * are read once for all. Above row d everything is zero. */
static inline void make_answer_quads(const real *matrix, const quad_defects *of, int count)
{
    const int size = S * M;
    quad x[DEFECTS][SOME(S * M)][QUADS];
    EACH(c, count)
    EACH_STAGE(r)
    EACH(e, M)
    EACH_QUAD(w)
    x[c][r * M + e][w] =
        e == of[c].d ? -column(of[c].weights + r * POINTS, 1, POINTS, w) : quad_broadcast(0);
    EACH_FROM(i, 0, size)
    EACH_FROM(j, 0, i)
    {
        const quad l = quad_broadcast(-matrix[i * size + j]);
        EACH(c, count)
        if (j >= of[c].d)
            EACH_QUAD(w)
        x[c][i][w] = quad_fma_(l, x[c][j][w], x[c][i][w]);
    }
    EACH_FROM(back, 0, size)
    {
        const int i = size - 1 - back;
        EACH_FROM(j, i + 1, size)
        {
            const quad u = quad_broadcast(-matrix[i * size + j]);
            EACH(c, count) EACH_QUAD(w) x[c][i][w] = quad_fma_(u, x[c][j][w], x[c][i][w]);
        }
        EACH(c, count) EACH_QUAD(w) x[c][i][w] = x[c][i][w] * matrix[i * size + i];
    }
    TO_MEMORY(x);
    EACH(c, count)
    {
        const double *by_row = (const double *)x[c];
        EACH_POINT(i)
        EACH_STAGE_QUAD(w)
        EACH(e, M)
        of[c].answer[i * of[c].apart][w][e] =
            column(by_row + e * 4 * QUADS + i, 4 * QUADS * M, S, w);
    }
}

/* next, or x if the unknown has converged. Which one is unpredictable, so no branch may depend on
 * it. */
static inline quad taken(mask active, quad next, quad x)
{
    return quad_select_((quad_mask){active, active, active, active}, next, x);
}

/* As continued() in spark_step.h. */
static inline quad continued_quad(int young, const real *last, int apart, int w)
{
    const double *rows = young ? TABLE_E(0) : TABLE_E2(0);
    const int stride = young ? S : 2 * S;
    quad sum[2] = {quad_broadcast(0), quad_broadcast(0)};
    EACH_STAGE(j)
    {
        const quad weight = column(rows + j, stride, S, w), at = quad_broadcast(last[j * apart]);
        sum[CHAIN(j)] = j < CHAINS ? weight * at : quad_fma_(weight, at, sum[CHAIN(j)]);
    }
    quad from = CHAINS > 1 ? sum[0] + sum[1] : sum[0];
    if (young)
        return from;
    sum[0] = from;
    sum[1] = quad_broadcast(0);
    EACH_STAGE(j)
    sum[CHAIN(j)] = quad_fma_(column(rows + S + j, stride, S, w),
                              quad_broadcast(last[MEMORY_STEP + j * apart]), sum[CHAIN(j)]);
    return CHAINS > 1 ? sum[0] + sum[1] : sum[0];
}

#if PLAIN_MOMENTUM
#include "method/spark_quad_pushes.h"
#else
#include "method/spark_quad_rises.h"
#endif

#endif
