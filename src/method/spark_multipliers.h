/* The multipliers of a SPARK step (included by spark_step.h): the linear system for the impulses,
 * which is made and factorised in the first iteration, and the right-hand sides of all
 * iterations. */
#ifndef NH_METHOD_SPARK_MULTIPLIERS_H
#define NH_METHOD_SPARK_MULTIPLIERS_H

/* The column of the conditions' weights that belongs to constraint e at a point: one number in each
 * row of POINTS. */
static inline const double *weights_of(const kernel *k, int i, int e)
{
    (void)k;
    return (POSITIONS > 0 && e >= FIRST_POSITION ? TABLE_UD(0) : TABLE_U(0)) + i;
}

/* Whether a constraint is imposed at a point; if not, its residual there has no response. */
static inline int is_asked_for(const kernel *k, int i, int e)
{
    int is = 0;
    EACH_STAGE(r) is |= weights_of(k, i, e)[r * POINTS] != 0;
    return is;
}

/* The coefficient of K_i B_j in block (r, j) of the system, in the row of constraint d. */
static inline double coefficient_of(const kernel *k, int r, int d, int i, int j)
{
    const double on_position =
        POSITIONS == 0 || d < FIRST_POSITION ? 0 : TABLE_UG(r)[i] * TABLE_AR(i)[j];
    return weights_of(k, i, d)[r * POINTS] * TABLE_R(i)[j] + on_position;
}

/* With conditions on positions: g changes with the velocities as h (a r)_ij G_i B_j does. */
static inline void make_matrix_of_positions(kernel *k, const spark *s)
{
    const int size = S * M;
    const real *values = s->values;
    EACH_POINT(i) EACH_STAGE(j)
    {
        EACH(e, M * M) s->block[e] = broadcast(0);
        add_KB(k, s->block, M, 1, SYSTEM_K(i), STAGE_B(j));
        EACH_STAGE(r) EACH(d, M)
        {
            const double c = coefficient_of(k, r, d, i, j);
            real *row = s->matrix + (r * M + d) * size + j * M;
            if (c != 0)
                EACH(e, M) row[e] = fma_(broadcast(c), s->block[d * M + e], row[e]);
        }
    }
}

/* Block (r, j) = sum_i u_ri r_ij K_i B_j */
static inline void make_matrix(kernel *k, const spark *s)
{
    const int size = S * M;
    real *matrix = s->matrix;
    const real *values = s->values;
    EACH_STAGE(r)
    EACH(d, M) EACH_STAGE(j) EACH(e, M) matrix[(r * M + d) * size + j * M + e] = broadcast(0);
    if (POSITIONS > 0) {
        make_matrix_of_positions(k, s);
        return;
    }
    EACH_STAGE(r) EACH_STAGE(j) EACH_POINT(i)
    {
        const double c = TABLE_U(r)[i] * TABLE_R(i)[j];
        if (c != 0)
            add_KB(k, matrix + r * M * size + j * M, size, c, SYSTEM_K(i), STAGE_B(j));
    }
}

/* In place, with the inverses of the pivots. */
static inline void factor(kernel *k, real *matrix)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(c, 0, size)
    {
        real inverse = matrix[c * size + c] = broadcast(1) / matrix[c * size + c];
        EACH_FROM(i, c + 1, size)
        {
            real l = matrix[i * size + c] = matrix[i * size + c] * inverse;
            EACH_FROM(j, c + 1, size)
            matrix[i * size + j] = fma_(-l, matrix[c * size + j], matrix[i * size + j]);
        }
    }
}

static inline void substitute(kernel *k, const real *matrix, real *x)
{
    (void)k;
    const int size = S * M;
    EACH_FROM(i, 0, size)
    EACH_FROM(j, 0, i) x[i] = fma_(-matrix[i * size + j], x[j], x[i]);
    EACH_FROM(back, 0, size)
    {
        const int i = size - 1 - back;
        EACH_FROM(j, i + 1, size) x[i] = fma_(-matrix[i * size + j], x[j], x[i]);
        x[i] = x[i] * matrix[i * size + i];
    }
}

#define DIRECT SPARK_IS_DIRECT(S *M)

/* The residuals of a point: those of all constraints, then those of g / h. */
#define DEFECTS (M + POSITIONS)
#define ANSWER(i, d) (s->answer + ((i)*DEFECTS + (d)) * S * M)

static inline void make_answer(kernel *k, const spark *s)
{
    EACH_POINT(i) EACH(d, M)
    {
        real *column = ANSWER(i, d);
        const double *u = weights_of(k, i, d);
        EACH_STAGE(r) EACH(e, M) column[r * M + e] = broadcast(e == d ? -u[r * POINTS] : 0);
        substitute(k, s->matrix, column);
    }
    if (POSITIONS > 0)
        EACH_POINT(i) if (is_on_surface(k, i)) EACH(d, POSITIONS)
        {
            real *column = ANSWER(i, M + d);
            EACH_STAGE(r)
            EACH(e, M)
            column[r * M + e] = broadcast(e == FIRST_POSITION + d ? -TABLE_UG(r)[i] : 0);
            substitute(k, s->matrix, column);
        }
}

static inline void make_system(kernel *k, const spark *s)
{
    make_matrix(k, s);
    factor(k, s->matrix);
    if (DIRECT)
        make_answer(k, s);
}

/* dX is accumulated from the responses to the residuals of one point after the other. */
static inline void begin_impulses(kernel *k, const spark *s)
{
    EACH_STAGE(r) EACH(e, M) s->dX[r * M + e] = broadcast(0);
    if (CHAINS > 1)
        EACH_STAGE(r) EACH(e, M) s->dX[(S + r) * M + e] = broadcast(0);
}

static inline void answer_defect(kernel *k, const spark *s, int i)
{
    EACH_STAGE(r) EACH(e, M)
    {
        const real *answer = ANSWER(i, 0) + r * M + e;
        real *sum = s->dX + (CHAIN(i) ? S * M : 0) + r * M + e;
        if (DIRECT)
            EACH(d, M) *sum = fma_(answer[d * S * M], s->defect[d], *sum);
        else
            *sum = fma_(broadcast(-weights_of(k, i, e)[r * POINTS]), s->defect[e], *sum);
    }
}

/* ... and, where conditions on positions are imposed, to those of g / h, after a change of Q_i by h
 * times `moved`. */
static inline void answer_surface(kernel *k, const spark *s, int i)
{
    const real *values = s->values;
    EACH(d, POSITIONS) s->defect[d] = POINT_g(i)[d] / k->h;
    apply_G(k, s->defect, POINT_G(i), s->moved);
    EACH_STAGE(r) EACH(e, M)
    {
        real *sum = s->dX + r * M + e;
        if (DIRECT)
            EACH(d, POSITIONS) *sum = fma_(ANSWER(i, M + d)[r * M + e], s->defect[d], *sum);
        else if (e >= FIRST_POSITION)
            *sum = fma_(broadcast(-TABLE_UG(r)[i]), s->defect[e - FIRST_POSITION], *sum);
    }
}

static inline void end_impulses(kernel *k, const spark *s)
{
    real *dX = s->dX;
    if (CHAINS > 1)
        EACH_STAGE(r) EACH(e, M) dX[r * M + e] = dX[r * M + e] + dX[(S + r) * M + e];
    if (!DIRECT)
        substitute(k, s->matrix, dX);
}

#endif
