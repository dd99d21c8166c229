/* SPARK steps for any Lagrangian (spark_step.h): the unknowns are the rises x_i = V_i - v0 of all
 * points. An iteration moves them to the velocities that the momenta require, with M as it was in
 * the first iteration. */
#ifndef NH_METHOD_SPARK_RISES_H
#define NH_METHOD_SPARK_RISES_H

static inline real shift_rises(const kernel *k, const real *x, int i, int n)
{
    return weighted(k, TABLE_A(i), x + n, N);
}

static inline real rise_rises(const kernel *k, const real *x, int n)
{
    return x[(POINTS - 1) * N + n];
}

static inline real moved_rises(const kernel *k, const spark *s, int n)
{
    real most = broadcast(0);
    EACH_POINT(i) most = max_(most, abs_(s->next[i * N + n] - s->x[i * N + n]));
    return most;
}

static inline real reach_rises(const kernel *k, const spark *s, int n)
{
    real most = broadcast(0);
    EACH_POINT(i) most = max_(most, abs_(s->next[i * N + n]));
    return most;
}

/* Evaluates the points, and the effect of forces and reactions there on the momenta. */
static inline int evaluate_rises(kernel *k, const spark *s)
{
    const double h = k->h;
    EACH(n, N) EACH_POINT(i)
    {
        s->V[i * N + n] = k->v[n] + s->x[i * N + n];
        s->Q[i * N + n] = fma_(broadcast(h), shift_rises(k, s->x, i, n), s->base[i * N + n]);
    }
    TRY_(evaluate_points(k, s));
    const real *values = s->values;
    EACH_STAGE(j)
    {
        real *push = s->push + j * N, *reaction = push + SPLIT * S * N;
        EACH(n, N)
        {
            push[n] = STAGE_F(j)[n] * h;
            if (SPLIT)
                reaction[n] = broadcast(0);
        }
        add_K(k, reaction, POINT_K(j), s->X + j * M);
        if (NONIDEAL)
            EACH(n, N) reaction[n] = fma_(broadcast(h), STAGE_REST(j)[n], reaction[n]);
    }
    return NH_KERNEL_OK;
}

/* The differences between the momenta of the points and those that forces and reactions give. */
static inline void find_gaps_rises(kernel *k, const spark *s, real *gap)
{
    const real *values = s->values;
    EACH(n, N) EACH_POINT(i)
    {
        gap[i * N + n] = plus_pushes(k, s->p0[n] - POINT_P(i)[n], i, s->push, n);
    }
}

/* The factors of M, B and K where the iteration begins; computed again in the lanes that have moved
 * far since. */
static inline int freeze_rises(kernel *k, const spark *s, int is_first, mask far)
{
    const real *values = s->values;
    (void)is_first;
    if (!any(far))
        return NH_KERNEL_OK;
    EACH_POINT(i)
    {
        real *frozen = FROZEN_B(i);
        CALL(FACTOR, k->t + TABLE_C[i] * k->h, s->Q + i * N, s->V + i * N, s->defect, s->fresh);
        EACH(e, NB + NF) frozen[e] = select_(far, s->fresh[e], frozen[e]);
        EACH(e, NK) FROZEN_K(i)[e] = select_(far, POINT_K(i)[e], FROZEN_K(i)[e]);
    }
    make_system(k, s);
    return NH_KERNEL_OK;
}

static inline int correct_rises(kernel *k, const spark *s)
{
    const real *values = s->values;
    real *dx = s->next, *D = s->push; /* the pushes are no longer needed */
    find_gaps_rises(k, s, dx);
    begin_impulses(k, s);
    EACH_POINT(i)
    {
        EACH(n, N) FROZEN_ARGUMENT(i)[n] = dx[i * N + n];
        CALL(SUBSTITUTE, k->t, s->Q + i * N, s->V + i * N, FROZEN_FACTORS(i), dx + i * N);
        EACH(d, M) s->defect[d] = POINT_k(i)[d];
        apply_K(k, s->defect, POINT_K(i), dx + i * N);
        answer_defect(k, s, i);
    }
    if (POSITIONS > 0)
        EACH_POINT(i)
    if (is_on_surface(k, i)) {
        EACH(n, N) s->moved[n] = weighted(k, TABLE_A(i), dx + n, N);
        answer_surface(k, s, i);
    }
    end_impulses(k, s);
    EACH_STAGE(j)
    {
        EACH(n, N) D[j * N + n] = broadcast(0);
        add_B(k, D + j * N, STAGE_B(j), s->dX + j * M);
    }
    EACH(n, N) EACH_POINT(i)
    {
        const real rise = plus_weighted(k, dx[i * N + n], TABLE_R(i), D + n, N);
        dx[i * N + n] = s->x[i * N + n] + rise;
    }
    return NH_KERNEL_OK;
}

/* sum_j w_j x_j over the points of a remembered step */
static inline real plus_points(const kernel *k, real sum, const double *w, const real *x)
{
    (void)k;
    EACH_POINT(j)
    if (w[j] != 0)
        sum = fma_(WEIGHT(w + j), x[j * N], sum);
    return sum;
}

static inline real continued_rises(const kernel *k, int i, int young, int n)
{
    const real *last = k->memory + n;
    if (young || !TWO_REMEMBERED || COMPOSED(k->io))
        return plus_points(k, broadcast(0), TABLE_G(i), last);
    const real sum = plus_points(k, broadcast(0), TABLE_G2(i), last);
    return plus_points(k, sum, TABLE_G2(i) + POINTS, last + MEMORY_STEP);
}

#endif
