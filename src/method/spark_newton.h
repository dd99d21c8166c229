/* Newton's method for SPARK steps on which the fixed-point iteration fails (spark_step.h).
 *
 * It starts from where the accelerations lead, if they are known, and otherwise from the state
 * itself; not from the extrapolation of the last steps, which may be closer to another solution.
 * Only if neither leads directly to a solution does it start from the extrapolation. */
#ifndef NH_METHOD_SPARK_NEWTON_H
#define NH_METHOD_SPARK_NEWTON_H

typedef struct newton_arrays {
    spark *s;
    spark_round *t;
} newton_arrays;

/* x: the unknowns and X. r: the residuals of the unknowns, and the conditions. work: the arrays. */
static int newton_gap(kernel *k, const real *x, real *r, real *work)
{
    spark *s = ((newton_arrays *)work)->s;
    spark_round *t = ((newton_arrays *)work)->t;
    EACH(e, UNKNOWNS * N) s->x[e] = x[e];
    EACH(e, S * M) s->X[e] = x[UNKNOWNS * N + e];
    TRY_(evaluate(k, s, t));
    if (PLAIN_MOMENTUM)
        find_gaps_pushes(k, s, t, r);
    else
        find_gaps_rises(k, s, t, r);
    for (int c = 0; c < S; c++)
        for (int e = 0; e < M; e++) {
            real sum = broadcast(0);
            EACH_POINT(i) sum += weights_of_condition(k, i, e)[c * POINTS] * POINT_k(i)[e];
            r[UNKNOWNS * N + c * M + e] = sum;
        }
    for (int c = 0; c < S && POSITIONS > 0; c++)
        EACH_POINT(i)
    if (TABLE_UG(c)[i] != 0)
        EACH(e, POSITIONS)
    r[UNKNOWNS * N + c * M + FIRST_POSITION + e] += TABLE_UG(c)[i] * SURFACE_g(i)[e] / k->h;
    return NH_KERNEL_OK;
}

/* Sizes of velocities from those of the state; of impulses from momenta and forces, and from how
 * the constraints act on them. */
static int newton_sizes(kernel *k, spark *s, spark_round *t, newton_problem *problem)
{
    real *size = problem->size;
    double most = 0, of_K = 0;
    EACH(e, UNKNOWNS * N) size[e] = newton_velocity_size(k, e % N);
    EACH(e, UNKNOWNS * N) s->x[e] = broadcast(0);
    EACH(e, S * M) s->X[e] = broadcast(0);
    set_base(k, s);
    TRY_(evaluate(k, s, t));
    EACH_STAGE(j)
    {
        most =
            fmax(most, fmax(largest(k, VALUES_P(j), N), fabs(k->h) * largest(k, VALUES_F(j), N)));
        of_K = fmax(of_K, largest(k, POINT_K(j), NK));
    }
    EACH(e, S * M) size[UNKNOWNS * N + e] = most > 0 && of_K > 0 ? most / of_K : 1;
    return NH_KERNEL_OK;
}

enum { GUESS_ROUNDS_MAX = 14 }; /* a rate of 0.2; if it is slower, the guess is not trusted */

/* Pushes need no guess, and their kernels do not compute accelerations. */
#ifdef NH_EMITTED
#if PLAIN_MOMENTUM
#define guess_by_accelerations(k, s, t, slope) ((void)(slope), 0)
#endif
#endif
#ifndef guess_by_accelerations
/* Finds the rises by collocation on q' = v, v' = a(t, q, v) with the same weights: near a singular
 * mass matrix, momenta hardly determine the velocities, but accelerations do. Returns whether that
 * converged. */
static int guess_by_accelerations(kernel *k, spark *s, spark_round *t, real *slope)
{
    const int width = N + M;
    double change = 1, size = 0;
    set_base(k, s);
    EACH(e, UNKNOWNS * N) s->x[e] = broadcast(0);
    for (int round = 0; round < GUESS_ROUNDS_MAX && change > 1e-9 * size; round++) {
        EACH_STAGE(j)
        {
            real *Q = t->Q + j * N, *V = t->V + j * N;
            EACH(n, N) V[n] = k->v[n] + s->x[j * N + n];
            EACH(n, N) Q[n] = s->base[j * N + n] + k->h * shift(k, s->x, j, n);
            CALL(ACCELERATION, k->t + TABLE_C[j] * k->h, Q, V, 0, slope + j * width);
        }
        change = size = 0;
        EACH(n, N) EACH_POINT(i)
        {
            const real rise = k->h * weighted(k, AT_POINTS(f), i, of_memory(slope + n, width));
            change = fmax(change, fabs(rise - s->x[i * N + n]));
            size = fmax(size, fabs(rise));
            s->x[i * N + n] = rise;
        }
    }
    EACH_STAGE(j) EACH(e, M) s->X[j * M + e] = k->h * slope[j * width + N + e];
    return change <= 1e-7 * size;
}
#endif

/* Solves from the guesses in x and X. */
static int newton_from(kernel *k, spark *s, newton_problem *problem)
{
    EACH(e, problem->d)
    problem->x[e] = e < UNKNOWNS * N ? s->x[e] : s->X[e - UNKNOWNS * N];
    return newton_solve(k, problem);
}

/* Not solved, or solved only with damped corrections. */
static inline int is_doubtful(int status, const newton_problem *problem)
{
    return status == NH_KERNEL_NOT_CONVERGED || (!status && !problem->direct);
}

static int newton(kernel *k, spark *s, spark_round *t)
{
    const int d = UNKNOWNS * N + S * M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    if (HAS_TAPES)
        lay_out_rest(k, t);
    LOCAL(space, newton_scratch((size_t)d));
    newton_arrays arrays = {s, t};
    newton_problem problem = newton_begin(newton_gap, d, UNKNOWNS * N, space, &arrays);
    TRY_(newton_sizes(k, s, t, &problem));
    LOCAL(slope, S * (N + M));
    int status = NH_KERNEL_NOT_CONVERGED;
    if (!PLAIN_MOMENTUM && guess_by_accelerations(k, s, t, slope))
        status = newton_from(k, s, &problem);
    if (is_doubtful(status, &problem)) {
        EACH(e, d) problem.x[e] = broadcast(0);
        status = newton_solve(k, &problem);
    }
    if (is_doubtful(status, &problem)) {
        predict(k, s);
        status = newton_from(k, s, &problem);
    }
    if (!status && !problem.direct)
        return NH_KERNEL_NOT_CONVERGED;
    return status ? status : newton_gap(k, problem.x, space, (real *)&arrays);
}

#endif
