/* SPARK steps where p = M v with a constant M (spark_step.h). Divided by M, the equations are
 *
 *     V_i = v0 + sum_j f_ij x_j,     Q_i = q0 + h c_i v0 + h sum_j (a f)_ij x_j
 *
 * with the pushes x_j = M^-1 (h F_j + K_j^T X_j) of the stages as unknowns. There are fewer of them
 * than velocities, and every point is a weighted sum of them. Where reactions have a table r of
 * their own, the pushes of the forces come first and are followed by those of the reactions. */
#ifndef NH_METHOD_SPARK_PUSHES_H
#define NH_METHOD_SPARK_PUSHES_H

#include "method/spark_multipliers.h"

/* How much pushes change the velocity by the end of the step; in a group of four, the position is
 * next to it. */
static inline point end_of_pushes(const kernel *k, const point *x, int n)
{
    const terms pushes = of_points(k, x, n);
#if POINTS_ABREAST == 1
    const point sum = weighted(k, AT_POINTS(f), POINTS - 1, pushes);
    const terms reactions = of_points(k, REACTIONS(x), n);
    return SPLIT ? plus_weighted(k, sum, AT_POINTS(r), POINTS - 1, reactions) : sum;
#else
    const double *f = TABLE_PART(f) + S * S, *af = TABLE_PART(af) + S * S;
    point sum[2] = {everywhere(0), everywhere(0)};
    EACH_STAGE(j)
    {
        const point weight = {f[j], af[j], 0, 0}, at = term(pushes, j);
        sum[CHAIN(j)] = j < CHAINS ? times_(at, weight) : fma_(weight, at, sum[CHAIN(j)]);
    }
    return END_OF_CHAINS(sum);
#endif
}

/* A change of the pushes is measured by its effect on the end of the step. (The pushes themselves
 * converge no better than multipliers, whose round-off is many times that of the velocities.) */
static inline void find_change(const kernel *k, const spark *s, spark_round *t, int n)
{
    EACH_UNKNOWN(u) t->push[u * N + n] = minus_(t->next[u * N + n], s->x[u * N + n]);
}

/* Nonideal constraints: STAGE gives the part of their force that does not follow from B. */
static inline int add_rest(kernel *k, spark_round *t, int g, point *reaction)
{
    point *rest = VALUES_REST(g);
    CALL_POINTS(SOLVE, g, t->Q + g * N, t->V + g * N, rest, rest);
    EACH(n, N) reaction[n] = fma_(step_of(k), rest[n], reaction[n]);
    return NH_KERNEL_OK;
}

static inline int evaluate_stages(kernel *k, spark *s, spark_round *t)
{
    EACH_STAGE_GROUP(g)
    {
        if (NONIDEAL)
            EACH(e, M) t->defect[e] = over_(s->X[g * M + e], step_of(k));
        CALL_POINTS(STAGE, g, t->Q + g * N, t->V + g * N, t->defect, VALUES_P(g));
    }
    EACH_OTHER(i)
    CALL(END, TIME_AT(i), lone_point(k, t->Q, i, t->lone), lone_point(k, t->V, i, t->lone + N), 0,
         OTHER_k(i) - N);
    return evaluate_surface(k, t);
}

/* Evaluates the points, and the pushes that follow from the stages. */
static inline int evaluate_pushes(kernel *k, spark *s, spark_round *t)
{
    TO_MEMORY(s->x, UNKNOWN_GROUPS * N);
    EACH(n, N) EACH_GROUP(g)
    {
        t->V[g * N + n] = plus_pushes(k, at_all(k->v[n]), g, s->x, n);
        t->Q[g * N + n] = fma_(step_of(k), shift(k, s->x, g, n), s->base[g * N + n]);
    }
    TRY_(evaluate_stages(k, s, t));
    EACH_STAGE_GROUP(g)
    {
        point *push = t->next + g * N, *reaction = REACTIONS(push);
        CALL_POINTS(SOLVE, g, t->Q + g * N, t->V + g * N, VALUES_F(g), push);
        EACH(n, N)
        {
            push[n] = times_(push[n], step_of(k));
            if (SPLIT)
                reaction[n] = everywhere(0);
        }
        add_B(k, reaction, STAGE_B(g), s->X + g * M);
        if (NONIDEAL)
            TRY_(add_rest(k, t, g, reaction));
    }
    return NH_KERNEL_OK;
}

static inline void find_gaps_pushes(kernel *k, spark *s, spark_round *t, point *gap)
{
    EACH_UNKNOWN(u) EACH(n, N) gap[u * N + n] = minus_(t->next[u * N + n], s->x[u * N + n]);
}

/* The residuals of the constraints with the velocities that the pushes produce. */
static inline void find_defects(kernel *k, spark_round *t)
{
    EACH(n, N) EACH_GROUP(g)
    {
        const point made = plus_pushes(k, at_all(k->v[n]), g, t->next, n);
        t->V[g * N + n] = LINEAR ? made : minus_(made, t->V[g * N + n]);
    }
    EACH_STAGE_GROUP(g)
    {
        point *off = t->defect + g * M;
        EACH(d, M) off[d] = LINEAR ? everywhere(0) : VALUES_k(g)[d];
        apply_K(k, off, VALUES_K(g), t->V + g * N);
    }
    EACH_OTHER(i)
    {
        real *off = LONE_DEFECT(i);
        EACH(d, M) off[d] = LINEAR ? broadcast(0) : OTHER_k(i)[d];
        apply_K(k, off, OTHER_K(i), lone_point(k, t->V, i, t->lone));
        if (POINTS_ABREAST > 1)
            EACH(d, M)
        SPARK_AT(t->defect, M, i, d) = off[d];
    }
}

/* Changes the reactions so that the conditions hold. */
static inline int correct_pushes(kernel *k, spark *s, spark_round *t)
{
    find_defects(k, t);
    find_impulses(k, s, t);
    EACH_STAGE_GROUP(g) add_B(k, REACTIONS(t->next + g * N), STAGE_B(g), t->dX + g * M);
    return NH_KERNEL_OK;
}

static inline point continued_pushes(const kernel *k, int u, int young, int n)
{
    const int part = u / STAGE_GROUPS;
    return continued(k, u % STAGE_GROUPS, young, k->memory + part * S * N + n, N);
}

#endif
