/* Newton's method for SPARK steps on which the fixed point fails (spark_step.h).
 *
 * It begins at the state, not where the last steps point to: that may be closer to another
 * solution. If it does not lead to one directly, the solution is followed while the step grows to
 * its length: that is the one which continues the motion, whatever others there are. */
#ifndef NH_METHOD_SPARK_NEWTON_H
#define NH_METHOD_SPARK_NEWTON_H

/* x: the unknowns and X. r: what the unknowns are off by, and the conditions. work: the spark. */
static int newton_gap(kernel *k, const double *x, double *r, double *work)
{
    spark *s = (spark *)work;
    EACH(e, UNKNOWNS * N) s->x[e] = x[e];
    EACH(e, S * M) s->X[e] = x[UNKNOWNS * N + e];
    TRY_(IN_ITS_WAY(evaluate, k, s));
    const double *values = s->values;
    IN_ITS_WAY(find_gaps, k, s, r);
    for (int c = 0; c < S; c++)
        for (int e = 0; e < M; e++) {
            double sum = 0;
            EACH_POINT(i) sum += weights_of(k, i, e)[c * POINTS] * POINT_k(i)[e];
            r[UNKNOWNS * N + c * M + e] = sum;
        }
    for (int c = 0; c < S && POSITIONS > 0; c++)
        EACH_POINT(i)
    if (TABLE_UG(c)[i] != 0)
        EACH(e, POSITIONS)
    r[UNKNOWNS * N + c * M + FIRST_POSITION + e] += TABLE_UG(c)[i] * POINT_g(i)[e] / k->h;
    return NH_KERNEL_OK;
}

/* Velocities by those of the state; impulses by momenta and forces, and by how the constraints act
 * on them. */
static int newton_sizes(kernel *k, spark *s, newton_problem *problem)
{
    double *size = problem->size, most = 0, of_K = 0;
    EACH(e, UNKNOWNS * N) size[e] = newton_velocity_size(k, e % N);
    EACH(e, UNKNOWNS * N) s->x[e] = 0;
    EACH(e, S * M) s->X[e] = 0;
    set_base(k, s);
    TRY_(IN_ITS_WAY(evaluate, k, s));
    const double *values = s->values;
    EACH_STAGE(j)
    {
        most = fmax(most, fmax(largest(k, STAGE_P(j), N), fabs(k->h) * largest(k, STAGE_F(j), N)));
        of_K = fmax(of_K, largest(k, POINT_K(j), NK));
    }
    EACH(e, S * M) size[UNKNOWNS * N + e] = most > 0 && of_K > 0 ? most / of_K : 1;
    return NH_KERNEL_OK;
}

static int newton(kernel *k, spark *s)
{
    const int d = UNKNOWNS * N + S * M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(newton_gap, d, UNKNOWNS * N, space, s);
    TRY_(newton_sizes(k, s, &problem));
    EACH(e, d) problem.x[e] = 0;
    int status = newton_solve(k, &problem);
    if (status == NH_KERNEL_NOT_CONVERGED || (!status && !problem.direct)) {
        predict(k, s);
        EACH(e, d) problem.x[e] = e < UNKNOWNS * N ? s->x[e] : s->X[e - UNKNOWNS * N];
        status = newton_solve(k, &problem);
    }
    if (!status && !problem.direct)
        return NH_KERNEL_NOT_CONVERGED;
    return status ? status : newton_gap(k, problem.x, space, (double *)s);
}

#endif
