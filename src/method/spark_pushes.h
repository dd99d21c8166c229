/* SPARK steps where p = M v with a constant M (spark_step.h). Divided by M, the equations are
 *
 *     V_i = v0 + sum_j f_ij x_j,     Q_i = q0 + h c_i v0 + h sum_j (a f)_ij x_j
 *
 * with the pushes x_j = M^-1 (h F_j + K_j^T X_j) of the stages as unknowns. There are fewer of them
 * than velocities, and every point is a weighted sum of them. Where reactions have a table r of
 * their own, the pushes of the forces come first and are followed by those of the reactions. */
#ifndef NH_METHOD_SPARK_PUSHES_H
#define NH_METHOD_SPARK_PUSHES_H

/* sum_l a_il (V_l - v0), and V_i - v0 at the end of the step */
static inline real shift_pushes(const kernel *k, const real *x, int i, int n)
{
    const real sum = weighted(k, TABLE_AF(i), x + n, N);
    return SPLIT ? plus_weighted(k, sum, TABLE_AR(i), x + S * N + n, N) : sum;
}

static inline real rise_pushes(const kernel *k, const real *x, int n)
{
    const real sum = weighted(k, TABLE_F(POINTS - 1), x + n, N);
    return SPLIT ? plus_weighted(k, sum, TABLE_R(POINTS - 1), x + S * N + n, N) : sum;
}

/* A change of the pushes is measured by its effect on the end of the step. (The pushes themselves
 * converge no better than multipliers, whose round-off is many times that of the velocities.) */
static inline real moved_pushes(const kernel *k, const spark *s, int n)
{
    real *dx = s->V; /* the velocities are no longer needed */
    EACH_UNKNOWN(i) dx[i * N + n] = s->next[i * N + n] - s->x[i * N + n];
    return max_(abs_(rise_pushes(k, dx, n)), abs_(shift_pushes(k, dx, POINTS - 1, n)));
}

static inline real reach_pushes(const kernel *k, const spark *s, int n)
{
    return abs_(rise_pushes(k, s->next, n));
}

/* Nonideal constraints: STAGE gives the part of their force that does not follow from B. */
static inline int add_rest_pushes(kernel *k, const spark *s, int j, real *reaction)
{
    real *values = s->values, *rest = STAGE_REST(j);
    CALL(SOLVE, k->t + TABLE_C[j] * k->h, s->Q + j * N, s->V + j * N, rest, rest);
    EACH(n, N) reaction[n] = fma_(broadcast(k->h), rest[n], reaction[n]);
    return NH_KERNEL_OK;
}

/* Evaluates the points, and the pushes that follow from them. */
static inline int evaluate_pushes(kernel *k, const spark *s)
{
    const double h = k->h;
    EACH(n, N) EACH_POINT(i)
    {
        s->V[i * N + n] = plus_pushes(k, k->v[n], i, s->x, n);
        s->Q[i * N + n] = fma_(broadcast(h), shift_pushes(k, s->x, i, n), s->base[i * N + n]);
    }
    TRY_(evaluate_points(k, s));
    real *values = s->values;
    EACH_STAGE(j)
    {
        real *push = s->next + j * N, *reaction = push + SPLIT * S * N;
        CALL(SOLVE, k->t + TABLE_C[j] * h, s->Q + j * N, s->V + j * N, STAGE_F(j), push);
        EACH(n, N)
        {
            push[n] = push[n] * h;
            if (SPLIT)
                reaction[n] = broadcast(0);
        }
        add_B(k, reaction, STAGE_B(j), s->X + j * M);
        if (NONIDEAL)
            TRY_(add_rest_pushes(k, s, j, reaction));
    }
    return NH_KERNEL_OK;
}

static inline void find_gaps_pushes(kernel *k, const spark *s, real *gap)
{
    EACH_UNKNOWN(i) EACH(n, N) gap[i * N + n] = s->next[i * N + n] - s->x[i * N + n];
}

/* Changes the reactions so that the conditions hold for the velocities that the pushes produce. */
static inline int correct_pushes(kernel *k, const spark *s)
{
    const real *values = s->values;
    real *V = s->V;
    begin_impulses(k, s);
    EACH(n, N) EACH_POINT(i)
    {
        const real made = plus_pushes(k, k->v[n], i, s->next, n);
        V[i * N + n] = LINEAR ? made : made - V[i * N + n];
    }
    EACH_POINT(i)
    {
        EACH(d, M) s->defect[d] = LINEAR ? broadcast(0) : POINT_k(i)[d];
        apply_K(k, s->defect, POINT_K(i), V + i * N);
        answer_defect(k, s, i);
    }
    if (POSITIONS > 0)
        EACH_POINT(i)
    if (is_on_surface(k, i)) {
        EACH(n, N) s->moved[n] = shift_pushes(k, s->next, i, n) - shift_pushes(k, s->x, i, n);
        answer_surface(k, s, i);
    }
    end_impulses(k, s);
    EACH_STAGE(j) add_B(k, s->next + (SPLIT * S + j) * N, STAGE_B(j), s->dX + j * M);
    return NH_KERNEL_OK;
}

static inline real continued_pushes(const kernel *k, int i, int young, int n)
{
    const int part = i / S;
    return continued(k, i % S, young, k->memory + part * S * N + n, N);
}

/* M is constant, and STAGE has B. */
static inline int freeze_pushes(kernel *k, const spark *s, int is_first, mask far)
{
    (void)far;
    if (is_first)
        make_system(k, s);
    return NH_KERNEL_OK;
}

#endif
