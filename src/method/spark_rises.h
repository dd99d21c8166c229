/* SPARK steps for any Lagrangian (spark_step.h): the unknowns are the rises x_i = V_i - v0 of all
 * points. An iteration moves them to the velocities that the momenta require, with M as it was in
 * the first iteration. */
#ifndef NH_METHOD_SPARK_RISES_H
#define NH_METHOD_SPARK_RISES_H

#include "method/spark_multipliers.h"

static inline int evaluate_values(kernel *k, spark *s, spark_round *t)
{
    EACH_GROUP(g)
    {
        if (NONIDEAL && g < S)
            EACH(e, M) t->defect[e] = over_(s->X[g * M + e], step_of(k));
        CALL_POINTS(POINT, g, t->Q + g * N, t->V + g * N, t->defect, VALUES_P(g));
    }
    return evaluate_surface(k, t);
}

/* Evaluates the points, and the effect of forces and impulses there on the momenta. */
static inline int evaluate_rises(kernel *k, spark *s, spark_round *t)
{
    TO_MEMORY(s->x, UNKNOWN_GROUPS * N);
    EACH(n, N) EACH_GROUP(g)
    {
        t->V[g * N + n] = plus_(at_all(k->v[n]), s->x[g * N + n]);
        t->Q[g * N + n] = fma_(step_of(k), shift(k, s->x, g, n), s->base[g * N + n]);
    }
    TRY_(evaluate_values(k, s, t));
    EACH_STAGE_GROUP(g)
    {
        point *push = t->push + g * N, *reaction = REACTIONS(push);
        EACH(n, N)
        {
            push[n] = times_(VALUES_F(g)[n], step_of(k));
            if (SPLIT)
                reaction[n] = everywhere(0);
        }
        add_K(k, reaction, VALUES_K(g), s->X + g * M);
        if (NONIDEAL)
            EACH(n, N) reaction[n] = fma_(step_of(k), VALUES_REST(g)[n], reaction[n]);
    }
    return NH_KERNEL_OK;
}

/* The difference between the momentum at a point and what forces and impulses give. */
static inline point gap_of_rise(const kernel *k, const spark *s, const spark_round *t, int g, int n)
{
    return plus_pushes(k, minus_(at_all(s->p0[n]), VALUES_P(g)[n]), g, t->push, n);
}

static inline void find_gaps_rises(kernel *k, spark *s, spark_round *t, point *gap)
{
    EACH(n, N) EACH_GROUP(g) gap[g * N + n] = gap_of_rise(k, s, t, g, n);
}

/* The changes of the velocities that the momenta require, with M frozen; and the residuals that the
 * constraints would then have. */
static inline int find_moves(kernel *k, spark *s, spark_round *t)
{
    TO_MEMORY(t->push, PUSHES * N);
    EACH_GROUP(g)
    {
        point *dx = t->next + g * N, *off = t->defect + g * M;
        EACH(n, N) FROZEN_ARGUMENT(g)[n] = gap_of_rise(k, s, t, g, n);
        CALL_POINTS(SUBSTITUTE, g, t->Q + g * N, t->V + g * N, FROZEN_FACTORS(g), dx);
        EACH(d, M) off[d] = VALUES_k(g)[d];
        apply_K(k, off, VALUES_K(g), dx);
    }
    TO_MEMORY(t->next, UNKNOWN_GROUPS * N);
    return NH_KERNEL_OK;
}

static inline int correct_rises(kernel *k, spark *s, spark_round *t)
{
    point *D = t->push; /* the pushes are no longer needed */
    TRY_(find_moves(k, s, t));
    find_impulses(k, s, t);
    EACH_STAGE_GROUP(g)
    {
        EACH(n, N) D[g * N + n] = everywhere(0);
        add_B(k, D + g * N, STAGE_B(g), t->dX + g * M);
    }
    TO_MEMORY(D, PUSHES * N);
    EACH(n, N) EACH_GROUP(g)
    {
        point *dx = t->next + g * N + n;
        const point rise = plus_weighted(k, *dx, AT_POINTS(r), g, of_points(k, D, n));
        *dx = plus_(s->x[g * N + n], rise);
    }
    return NH_KERNEL_OK;
}

/* sum + sum_j w_j x_j over the points of a remembered step */
static inline point plus_points(const kernel *k, point sum, weights_of w, int g, terms x)
{
    EACH_POINT(j)
    if (is_weighted(w, g, j))
        sum = fma_(weight_at(k, w, g, j), term(x, j), sum);
    return sum;
}

static inline point continued_rises(const kernel *k, int g, int young, int n)
{
    const terms last = of_memory(k->memory + n, N),
                older = of_memory(last.numbers + MEMORY_STEP, N);
    if (young || !TWO_REMEMBERED || COMPOSED(k->io))
        return plus_points(k, everywhere(0), (weights_of){TABLE_PART(g), POINTS, POINTS}, g, last);
    weights_of w = {TABLE_PART(g2), 2 * POINTS, POINTS};
    const point sum = plus_points(k, everywhere(0), w, g, last);
    w.first += POINTS;
    return plus_points(k, sum, w, g, older);
}

#endif
