/* The parts of a SPARK step that are written over points (spark_points.h): where iterations begin,
 * what they do, and where a step ends. Each in one of two ways, for pushes or for rises; an emitted
 * kernel contains the one that it needs. */
#ifndef NH_METHOD_SPARK_ITERATION_H
#define NH_METHOD_SPARK_ITERATION_H

#include "method/spark_pushes.h"
#include "method/spark_rises.h"

static inline point continued_unknown(const kernel *k, int u, int young, int n)
{
    return PLAIN_MOMENTUM ? continued_pushes(k, u, young, n) : continued_rises(k, u, young, n);
}

/* Extrapolates the last step, or the last two. */
static inline void continue_steps(kernel *k, spark *s)
{
    EACH_STAGE_GROUP(g) EACH(e, M) s->X[g * M + e] = continued(k, g, 0, MEMORY_X + e, M);
    EACH_UNKNOWN(u) EACH(n, N) s->x[u * N + n] = continued_unknown(k, u, 0, n);
}

/* Evaluates the points where the unknowns lead. */
static inline int evaluate(kernel *k, spark *s, spark_round *t)
{
    return PLAIN_MOMENTUM ? evaluate_pushes(k, s, t) : evaluate_rises(k, s, t);
}

/* From there, the next unknowns and the corrections of the impulses. */
static inline int correct(kernel *k, spark *s, spark_round *t)
{
    return PLAIN_MOMENTUM ? correct_pushes(k, s, t) : correct_rises(k, s, t);
}

/* At the end of the step, velocities have risen by the first N of `end`, and positions have shifted
 * by h times v0 and the others. */
static inline void find_end(const kernel *k, const spark *s, real *end)
{
    EACH(n, N)
    {
        const point rise = PLAIN_MOMENTUM ? end_of_pushes(k, s->x, n) : s->x[(GROUPS - 1) * N + n];
        end[n] = AT_PLACE(rise, PLAIN_MOMENTUM ? 0 : (POINTS - 1) % POINTS_ABREAST);
        if (PLAIN_MOMENTUM && POINTS_ABREAST > 1)
            end[N + n] = AT_PLACE(rise, 1);
        else
            end[N + n] = AT_PLACE(shift(k, s->x, GROUPS - 1, n), (POINTS - 1) % POINTS_ABREAST);
    }
}

#endif
