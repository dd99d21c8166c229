/* Gauss-Lobatto: the Gauss method, with conditions on positions imposed at the Lobatto nodes, where
 * their reactions act too.
 *
 *     Q_i  = q0 + h sum_j a_ij V_j,         i = 1 .. s, at the Gauss nodes c_i
 *     Qt_i = q0 + h sum_j abar_ij V_j,      i = 0 .. s, at the Lobatto nodes ct_i;  Qt_s = q1
 *     P_i  = p0 + h sum_j a_ij (F_j + A_j^T Psi_j) + h sum_j at_ij G(Qt_j)^T mu_j,  P = dL/dv
 *     p1   = p0 + h sum_j b_j (F_j + A_j^T Psi_j) + h sum_j bt_j G(Qt_j)^T mu_j
 *     0 = sum_j b_j c_j^(i-1) k_A(T_j, Q_j, V_j),  i = 1 .. s-1;    0 = g(Tt_i, Qt_i),  i = 1 .. s
 *     0 = k(t1, q1, v1)                                             of all constraints
 *
 * with k_A the constraints on velocities, A = dk_A/dv, G = dg/dq, abar_ij = int_0^{ct_i} l_j, and
 * b_i at_ij = bt_j (b_i - abar_ji): without constraints on velocities the method is symplectic.
 * Order 2s, symmetric; satisfies the conditions on positions and velocities at every node. One
 * stage is the midpoint rule with a multiplier at each end of the step; without conditions on
 * positions it is gauss.c.
 *
 * Solved as in spark_rises.h: by fixed-point iteration for x_i = V_i - v0 at the stages and at the
 * end of the step, together with the impulses Z = (h Psi, h mu), with M, A and G frozen. The linear
 * system for Z is not nearly definite, so it is factorised by reflections. */
#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "kernel/small.h"
#include "method/gauss-lobatto.h"

#ifdef NH_EMITTED
#define S OPTION_INT(0)
#else
#define S (k->size[0]) /* an integer, which no store of a `real` can have changed */
#endif
#define POINTS (S + 1)    /* the stages, and the end of the step */
#define NODES (2 * S + 1) /* where reactions act: the stages, and the Lobatto nodes */
#define ACTING (POSITIONS > 0 ? NODES : S)
#define MA (M - POSITIONS) /* constraints on velocities */
#define IMPULSES (S * MA + (S + 1) * POSITIONS)
#define IMPULSE(j) ((j) < S ? (j)*MA : S * MA + ((j)-S) * POSITIONS) /* of node j, in Z */
#define ROWS(j) ((j) < S ? MA : POSITIONS)
enum { ITERATIONS_MAX = 50 };

#define LAYOUT gauss_lobatto_layout_of(S)
#define TABLE_PART(name) (TABLE + LAYOUT.name)

/* What is stored for a stage (the outputs of STAGE), for the end (END) and for a Lobatto node
 * (SURFACE). */
#define STAGE_SIZE (2 * N + M + NK + NB)
#define STAGE_P(i) (w->values + (i) * (STAGE_SIZE))
#define STAGE_F(i) (STAGE_P(i) + N)
#define STAGE_B(i) (STAGE_P(i) + 2 * N + M + NK)
#define END_P (w->values + S * (STAGE_SIZE))
#define VALUES_SIZE (S * (STAGE_SIZE) + N + M + NK)
#define POINT_P(i) ((i) < S ? STAGE_P(i) : END_P)
#define POINT_k(i) ((i) < S ? STAGE_P(i) + 2 * N : END_P + N)
#define POINT_K(i) (POINT_k(i) + M)
#define SURFACE_SIZE (POSITIONS + NG)
#define NODE_g(i) (w->surface + (i) * (SURFACE_SIZE))
#define NODE_G(i) (NODE_g(i) + POSITIONS)

typedef struct work {
    real *x, *dx;     /* POINTS x N: V_i - v0, and their corrections */
    real *Z, *dZ;     /* IMPULSES */
    real *Q, *V, *Qt; /* S x N, POINTS x N, (S + 1) x N */
    real *values, *surface;
    real *p0;     /* what END gives at the start */
    real *push;   /* NODES x N: the effect of forces and reactions at a node on momenta */
    real *column; /* IMPULSES x N: the effect of the impulses on velocities */
    real *matrix, *reflection, *beta; /* IMPULSES x IMPULSES twice, IMPULSES */
    real *rows, *vector;              /* M, N */
} work;

/* sum_j c_j x_j over the first components of `count` vectors that are `apart` numbers apart */
static inline real sum_of(const kernel *k, const double *c, int count, const real *x, int apart)
{
    real sum = broadcast(0);
    (void)k;
    for (int j = 0; j < count; j++)
        sum = fma_(WEIGHT(c + j), x[j * apart], sum);
    return sum;
}

/* ---- the equations at x and Z ---- */

static inline void place_points(kernel *k, const work *w)
{
    const scalar h = k->h;
    for (int i = 0; i < POINTS; i++)
        EACH(n, N)
        {
            w->V[i * N + n] = k->v[n] + w->x[i * N + n];
            if (POSITIONS == 0 && i < S)
                continue; /* imposed at the last Lobatto node only */
            const real from = fma_(broadcast(TABLE_PART(ct)[i] * h), k->v[n], k->q[n]);
            const real moved = sum_of(k, TABLE_PART(abar) + i * S, S, w->x + n, N);
            w->Qt[i * N + n] = fma_(broadcast(h), moved, from);
        }
    for (int i = 0; i < S; i++)
        EACH(n, N)
        {
            const real from = fma_(broadcast(TABLE_PART(c)[i] * h), k->v[n], k->q[n]);
            const real moved = sum_of(k, TABLE_PART(a) + i * S, S, w->x + n, N);
            w->Q[i * N + n] = fma_(broadcast(h), moved, from);
        }
}

/* What acts at node j: forces and A^T X at a stage, G^T Y at a Lobatto node. */
static inline void push_node(kernel *k, const work *w, int j)
{
    real *push = w->push + j * N;
    const real *Z = w->Z + IMPULSE(j);
    EACH(n, N) push[n] = j < S ? STAGE_F(j)[n] * k->h : broadcast(0);
    if (j >= S) {
        add_G(k, push, NODE_G(j - S), Z);
        return;
    }
    EACH(d, M) w->rows[d] = d < MA ? Z[d] : broadcast(0);
    add_K(k, push, POINT_K(j), w->rows);
}

/* dx = the differences between the momenta of the points and the ones that the equations
 * require. */
static int evaluate(kernel *k, const work *w)
{
    const scalar h = k->h, t = k->t;
    place_points(k, w);
    for (int i = 0; i < S; i++)
        CALL(STAGE, t + TABLE_PART(c)[i] * h, w->Q + i * N, w->V + i * N, 0, STAGE_P(i));
    CALL(END, t + h, w->Qt + S * N, w->V + S * N, 0, END_P);
    for (int i = 1; i <= S && POSITIONS > 0; i++)
        CALL(SURFACE, t + TABLE_PART(ct)[i] * h, w->Qt + i * N, k->v, 0, NODE_g(i));
    for (int j = 0; j < ACTING; j++)
        push_node(k, w, j);
    for (int i = 0; i < POINTS; i++)
        EACH(n, N)
        {
            real gap = w->p0[n] - POINT_P(i)[n];
            for (int j = 0; j < ACTING; j++)
                gap = fma_(WEIGHT(TABLE_PART(r) + i * NODES + j), w->push[j * N + n], gap);
            w->dx[i * N + n] = gap;
        }
    return NH_KERNEL_OK;
}

/* Residuals of the conditions after changes dx of the velocities: moments of the constraints on
 * velocities, these constraints at the end, g / h at the Lobatto nodes, its derivative at the
 * end. */
static inline void find_defects(kernel *k, const work *w, real *defect)
{
    EACH(e, IMPULSES) defect[e] = broadcast(0);
    for (int i = 0; i < POINTS; i++) {
        const real *k_at = POINT_k(i);
        EACH(d, M) w->rows[d] = k_at[d];
        apply_K(k, w->rows, k_at + M, w->dx + i * N);
        for (int r = 0; r < S - 1 && i < S; r++)
            EACH(d, MA)
        defect[r * MA + d] =
            fma_(WEIGHT(TABLE_PART(moment) + r * S + i), w->rows[d], defect[r * MA + d]);
    }
    EACH(d, MA) defect[(S - 1) * MA + d] = w->rows[d];
    EACH(d, POSITIONS) defect[IMPULSE(2 * S) + d] = w->rows[MA + d];
    for (int i = 1; i <= S && POSITIONS > 0; i++) {
        real *to = defect + IMPULSE(S + i - 1);
        EACH(d, POSITIONS) to[d] = NODE_g(i)[d] / k->h;
        EACH(n, N) w->vector[n] = sum_of(k, TABLE_PART(abar) + i * S, S, w->dx + n, N);
        apply_G(k, to, NODE_G(i), w->vector);
    }
}

/* ---- the linear system for the impulses ---- */

/* M^-1 times row e of the constraints that act at node j. */
static int make_column(kernel *k, const work *w, int j, int e, real *column)
{
    EACH(d, M) w->rows[d] = broadcast(d == e);
    EACH(n, N) w->vector[n] = column[n] = broadcast(0);
    if (j < S) {
        add_B(k, column, STAGE_B(j), w->rows);
        return NH_KERNEL_OK;
    }
    add_G(k, w->vector, NODE_G(j - S), w->rows);
    CALL(SOLVE, k->t + TABLE_PART(ct)[j - S] * k->h, w->Qt + (j - S) * N, k->v, w->vector, column);
    return NH_KERNEL_OK;
}

/* How the conditions change with an impulse at node j, which is column c of the matrix. */
static inline void differentiate(kernel *k, const work *w, int j, int c)
{
    const real *column = w->column + c * N;
    real *matrix = w->matrix + c;
    EACH(e, IMPULSES) matrix[e * IMPULSES] = broadcast(0);
    for (int i = 0; i < POINTS; i++) {
        EACH(d, M) w->rows[d] = broadcast(0);
        apply_K(k, w->rows, POINT_K(i), column);
        EACH(d, M) w->rows[d] = w->rows[d] * WEIGHT(TABLE_PART(r) + i * NODES + j);
        for (int r = 0; r < S - 1 && i < S; r++)
            EACH(d, MA)
            {
                real *to = matrix + (r * MA + d) * IMPULSES;
                *to = fma_(WEIGHT(TABLE_PART(moment) + r * S + i), w->rows[d], *to);
            }
    }
    EACH(d, MA) matrix[((S - 1) * MA + d) * IMPULSES] = w->rows[d];
    EACH(d, POSITIONS) matrix[(IMPULSE(2 * S) + d) * IMPULSES] = w->rows[MA + d];
    for (int i = 1; i <= S && POSITIONS > 0; i++) {
        EACH(d, POSITIONS) w->rows[d] = broadcast(0);
        apply_G(k, w->rows, NODE_G(i), column);
        EACH(d, POSITIONS)
        matrix[(IMPULSE(S + i - 1) + d) * IMPULSES] =
            w->rows[d] * WEIGHT(TABLE_PART(on_g) + (i - 1) * NODES + j);
    }
}

static int make_system(kernel *k, const work *w)
{
    for (int j = 0; j < NODES; j++)
        for (int e = 0; e < ROWS(j); e++) {
            const int c = IMPULSE(j) + e;
            TRY_(make_column(k, w, j, e, w->column + c * N));
            differentiate(k, w, j, c);
        }
    orthogonal_factor(IMPULSES, w->matrix, w->reflection, w->beta);
    return NH_KERNEL_OK;
}

/* dx, dZ: corrections after which the equations hold, with M, A and G frozen. */
static int correct(kernel *k, const work *w)
{
    const scalar h = k->h, t = k->t;
    for (int i = 0; i < POINTS; i++) {
        real *dx = w->dx + i * N;
        const real *Q = i < S ? w->Q + i * N : w->Qt + S * N;
        CALL(SOLVE, t + (i < S ? TABLE_PART(c)[i] : 1) * h, Q, w->V + i * N, dx, dx);
    }
    find_defects(k, w, w->dZ);
    EACH(e, IMPULSES) w->dZ[e] = -w->dZ[e];
    orthogonal_solve(IMPULSES, w->matrix, w->reflection, w->beta, w->dZ);
    for (int j = 0; j < ACTING; j++)
        EACH(n, N)
        {
            real sum = broadcast(0);
            for (int e = IMPULSE(j); e < IMPULSE(j) + ROWS(j); e++)
                sum = fma_(w->dZ[e], w->column[e * N + n], sum);
            w->push[j * N + n] = sum;
        }
    for (int i = 0; i < POINTS; i++)
        EACH(n, N)
        {
            real dx = w->dx[i * N + n];
            for (int j = 0; j < ACTING; j++)
                dx = fma_(WEIGHT(TABLE_PART(r) + i * NODES + j), w->push[j * N + n], dx);
            w->dx[i * N + n] = dx;
        }
    return NH_KERNEL_OK;
}

static inline void apply(kernel *k, const work *w, convergence *progress)
{
    real change = broadcast(0), scale = largest(k, k->v, N);
    for (int i = 0; i < POINTS; i++)
        EACH(n, N)
        {
            real *x = w->x + i * N + n;
            const real next = *x + w->dx[i * N + n];
            change = max_(change, abs_(w->dx[i * N + n]));
            scale = max_(scale, abs_(next));
            *x = select_(progress->active, next, *x);
        }
    EACH(e, IMPULSES)
    w->Z[e] = select_(progress->active, w->Z[e] + w->dZ[e], w->Z[e]);
    convergence_update(progress, change, scale);
}

/* ---- Newton's method, where the fixed-point iteration fails ---- */

#ifdef NH_CAREFUL

static int newton_gap(kernel *k, const real *x, real *r, real *at)
{
    const work *w = (const work *)at;
    EACH(e, POINTS * N) w->x[e] = x[e];
    EACH(e, IMPULSES) w->Z[e] = x[POINTS * N + e];
    TRY_(evaluate(k, w));
    EACH(e, POINTS * N) r[e] = w->dx[e];
    EACH(e, POINTS * N) w->dx[e] = broadcast(0);
    find_defects(k, w, r + POINTS * N);
    return NH_KERNEL_OK;
}

/* Sizes of velocities from those of the state; of impulses from momenta and forces, and from how
 * the constraints act on them. */
static int newton_sizes(kernel *k, const work *w, newton_problem *problem)
{
    real *size = problem->size;
    double most = 0, of_K = 0;
    EACH(e, POINTS * N) size[e] = newton_velocity_size(k, e % N);
    EACH(e, POINTS * N) w->x[e] = broadcast(0);
    EACH(e, IMPULSES) w->Z[e] = broadcast(0);
    TRY_(evaluate(k, w));
    for (int j = 0; j < S; j++) {
        most = fmax(most, fmax(largest(k, STAGE_P(j), N), fabs(k->h) * largest(k, STAGE_F(j), N)));
        of_K = fmax(of_K, largest(k, POINT_K(j), NK));
    }
    EACH(e, IMPULSES) size[POINTS * N + e] = most > 0 && of_K > 0 ? most / of_K : 1;
    return NH_KERNEL_OK;
}

static int newton(kernel *k, work *w)
{
    const int d = POINTS * N + IMPULSES;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    newton_problem problem = newton_begin(newton_gap, d, POINTS * N, space, w);
    TRY_(newton_sizes(k, w, &problem));
    EACH(e, d) problem.x[e] = broadcast(0);
    const int status = newton_solve(k, &problem);
    if (!status && !problem.direct)
        return NH_KERNEL_NOT_CONVERGED;
    return status ? status : newton_gap(k, problem.x, space, (real *)w);
}

#endif

/* ---- a step ---- */

/* Memory: x and Z of the last step, from which the next is predicted. */
#define MEMORY_SIZE (POINTS * N + IMPULSES)

static int start(kernel *k)
{
    EACH(i, MEMORY_SIZE) k->memory[i] = broadcast(0);
    return NH_KERNEL_OK;
}

static inline void predict(kernel *k, const work *w)
{
    const real *Z = k->memory + POINTS * N;
    for (int i = 0; i < POINTS; i++)
        EACH(n, N)
        w->x[i * N + n] = sum_of(k, TABLE_PART(ex) + i * POINTS, POINTS, k->memory + n, N);
    for (int j = 0; j < S; j++)
        EACH(d, MA) w->Z[IMPULSE(j) + d] = sum_of(k, TABLE_PART(epsi) + j * S, S, Z + d, MA);
    for (int j = 0; j <= S && POSITIONS > 0; j++)
        EACH(d, POSITIONS)
    w->Z[IMPULSE(S + j) + d] =
        sum_of(k, TABLE_PART(emu) + j * (S + 1), S + 1, Z + IMPULSE(S) + d, POSITIONS);
}

static int solve(kernel *k, work *w)
{
    convergence progress = convergence_of_velocities(k);
    do {
        const mask diverging = less(broadcast(1e100), progress.previous);
        if (progress.iteration >= ITERATIONS_MAX || (progress.iteration > 0 && any(diverging)))
            return BY_NEWTON(newton(k, w), &progress);
        TRY_(evaluate(k, w));
        if (progress.iteration == 0)
            TRY_(make_system(k, w));
        TRY_(correct(k, w));
        apply(k, w, &progress);
    } while (any(progress.active));
    return NH_KERNEL_OK;
}

static inline void finish(kernel *k, const work *w)
{
    real *q1 = w->Q, *v1 = w->V, *dq = w->Qt;
    const real *dv = w->x + S * N;
    EACH(n, N)
    {
        dq[n] = fma_(broadcast(k->h), sum_of(k, TABLE_PART(abar) + S * S, S, w->x + n, N),
                     k->v[n] * k->h);
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    EACH(e, POINTS * N) k->memory[e] = w->x[e];
    EACH(e, IMPULSES) k->memory[POINTS * N + e] = w->Z[e];
    commit(k, q1, v1, dq, dv);
}

static int step(kernel *k)
{
    LOCAL(x, POINTS * N);
    LOCAL(dx, POINTS * N);
    LOCAL(Z, IMPULSES);
    LOCAL(dZ, IMPULSES);
    LOCAL(Q, S * N);
    LOCAL(V, POINTS * N);
    LOCAL(Qt, POINTS * N);
    LOCAL(values, VALUES_SIZE);
    LOCAL(surface, (S + 1) * SURFACE_SIZE);
    LOCAL(p0, N + M + NK);
    LOCAL(push, NODES * N);
    LOCAL(column, IMPULSES * N);
    LOCAL(matrix, IMPULSES * IMPULSES);
    LOCAL(reflection, IMPULSES * IMPULSES);
    LOCAL(beta, IMPULSES);
    LOCAL(rows, M);
    LOCAL(vector, N);
    work w = {x,  dx,   Z,      dZ,     Q,          V,    Qt,   values, surface,
              p0, push, column, matrix, reflection, beta, rows, vector};

    CALL(END, k->t, k->q, k->v, 0, p0);
    if (POSITIONS > 0)
        CALL(SURFACE, k->t, k->q, k->v, 0, surface);
    predict(k, &w);
    TRY_(solve(k, &w));
    finish(k, &w);
    return NH_KERNEL_OK;
}

KERNEL(gauss_lobatto, start, step);

#ifdef NH_DESCRIBE
#include "method/gauss-lobatto-table.h"

static size_t impulses(const nh_shape *shape, size_t s)
{
    size_t positions = (size_t)shape->positions;
    return s * ((size_t)shape->m - positions) + (s + 1) * positions;
}

static size_t memory(const nh_shape *shape, const double *option)
{
    size_t s = (size_t)option[0];
    return (s + 1) * (size_t)shape->n + impulses(shape, s);
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t s = (size_t)option[0], n = (size_t)shape->n, m = (size_t)shape->m,
           nk = (size_t)shape->nk, nb = (size_t)shape->nb, z = impulses(shape, s);
    size_t points = (5 * s + 4) * n, values = s * (2 * n + m + nk + nb) + 2 * (n + m + nk);
    size_t surface = (s + 1) * (size_t)(shape->positions + shape->ng);
    size_t system = (2 * s + 1) * n + z * n + 2 * z * z + 3 * z + m + n;
    return points + values + surface + system + newton_scratch((s + 1) * n + z);
}

static void sizes(const double *option, int *size)
{
    size[0] = (int)option[0];
}

static size_t table_size(const double *option)
{
    return (size_t)gauss_lobatto_layout_of((int)option[0]).size;
}

static int order_of(const double *option)
{
    return 2 * (int)option[0];
}

NH_METHOD(gauss_lobatto) = {
    .name = "gauss-lobatto",
    .summary = "Gauss with the reactions of conditions on positions at Lobatto nodes: any order",
    .reference = "after Jay 2009 (6.1) and Jay 1996",
    .formulas =
        "Q_i = q0 + h sum_j a_ij V_j at Gauss nodes,   Qt_i = q0 + h sum_j abar_ij V_j at "
        "Lobatto's\n"
        "P_i = p0 + h sum_j a_ij (F_j + A_j^T Psi_j) + h sum_j at_ij G(Qt_j)^T mu_j,   P = dL/dv\n"
        "p1 = p0 + h sum_j b_j (F_j + A_j^T Psi_j) + h sum_j bt_j G(Qt_j)^T mu_j,   q1 = Qt_s\n"
        "0 = sum_j b_j c_j^(i-1) k_A(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = g(Tt_i, Qt_i),  i = 1 .. "
        "s\n"
        "0 = k(t1, q1, v1)",
    .option = {{.name = "stages",
                .help = "number of Gauss nodes; the order is twice that",
                .type = NH_OPTION_INTEGER,
                .standard = 2,
                .least = 1,
                .greatest = GAUSS_LOBATTO_STAGES_MAX}},
    .options = 1,
    .order_of = order_of,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_POSITIONS,
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .sizes = sizes,
    .table_size = table_size,
    .table = gauss_lobatto_table,
};
#endif
