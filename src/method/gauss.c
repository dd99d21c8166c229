/* Gauss-SPARK: partitioned Runge-Kutta at Gauss nodes for any Lagrangian and any constraints.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j
 *     0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1,     0 = k(t1, q1, v1)
 *
 * Order 2s, symmetric; keeps the constraints at every node. Jay (2009), eq. 6.1.
 *
 * Solved by fixed point in the forces: each turn evaluates all stages and then solves for V and Psi
 * with M, K and the forces frozen, which is linear. The conditions on k enter in combinations U in
 * which that system is the identity plus O(h), so it is eliminated without exchange of rows. */
#include "method/kernel.h"
#include "method/newton.h"

#define S ((int)OPTION(0))
/* One stage's block of values: p, F, k, K, B. */
#define BLOCK (2 * N + M + NK + NB)
#define STAGE_P(i) (stage + (i) * (BLOCK))
#define STAGE_F(i) (STAGE_P(i) + N)
#define STAGE_LITTLE_K(i) (STAGE_F(i) + N)
#define STAGE_K(i) (STAGE_LITTLE_K(i) + M)
#define STAGE_B(i) (STAGE_K(i) + NK)
#define END_P end
#define END_LITTLE_K (end + N)
#define END_K (end + N + M)

/* The table: c, b, a, U, and E that continues the stages of one step into the next. */
#define TABLE_C (TABLE)
#define TABLE_B (TABLE + S)
#define TABLE_A (TABLE + 2 * S)
#define TABLE_U (TABLE + 2 * S + S * S)
#define TABLE_E (TABLE + 2 * S + S * S + S * (S + 1))

/* Memory: V and Psi of the last step. */
#define MEMORY_V (k->memory)
#define MEMORY_PSI (k->memory + S * N)

#define EACH_STAGE(i) for (int i = 0; i < S; i++)

/* The stages with their multipliers applied: F_i becomes F_i + K_i^T Psi_i. */
static inline int evaluate(kernel *k, const real *V, const real *psi, const real *v1, real *Q,
                           real *q1, real *stage, real *end)
{
    const double h = k->h;
    EACH_STAGE(i)
    {
        EACH(n, N)
        {
            real sum = broadcast(0);
            EACH_STAGE(j) sum = fma_(broadcast(TABLE_A[i * S + j]), V[j * N + n], sum);
            Q[i * N + n] = fma_(broadcast(h), sum, k->q[n]);
        }
        CALL(STAGE, k->t + TABLE_C[i] * h, Q + i * N, V + i * N, 0, STAGE_P(i));
        add_K(k, STAGE_F(i), STAGE_K(i), psi + i * M);
    }
    EACH(n, N)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(TABLE_B[j]), V[j * N + n], sum);
        q1[n] = fma_(broadcast(h), sum, k->q[n]);
    }
    CALL(END, k->t + h, q1, v1, 0, end);
    return NH_KERNEL_OK;
}

/* p0 + h sum_j w_j (F_j + K_j^T Psi_j) - p */
static inline void momentum_gap(kernel *k, const double *w, const real *p0, const real *p,
                                const real *stage, real *gap)
{
    EACH(n, N)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(w[j]), STAGE_F(j)[n], sum);
        gap[n] = fma_(broadcast(k->h), sum, p0[n] - p[n]);
    }
}

/* The system for x = h dPsi: block (r, j) = (sum_i U_ri a_ij K_i + U_rs b_j K_end) B_j. */
static inline void multiplier_matrix(kernel *k, const real *stage, const real *end, real *matrix)
{
    const int size = S * M;
    EACH(e, size * size) matrix[e] = broadcast(0);
    EACH_STAGE(r) EACH_STAGE(j)
    {
        real *block = matrix + r * M * size + j * M;
        EACH_STAGE(i)
        add_KB(k, block, size, TABLE_U[r * (S + 1) + i] * TABLE_A[i * S + j], STAGE_K(i), STAGE_B(j));
        add_KB(k, block, size, TABLE_U[r * (S + 1) + S] * TABLE_B[j], END_K, STAGE_B(j));
    }
}

static inline void multiplier_rhs(kernel *k, const real *stage, const real *end, const real *dV,
                                  const real *dv1, real *k_new, real *x)
{
    EACH(e, S * M) x[e] = broadcast(0);
    for (int i = 0; i <= S; i++) {
        const real *little = i < S ? STAGE_LITTLE_K(i) : END_LITTLE_K;
        EACH(e, M) k_new[e] = little[e];
        apply_K(k, k_new, i < S ? STAGE_K(i) : END_K, i < S ? dV + i * N : dv1);
        EACH_STAGE(r)
        EACH(e, M)
        x[r * M + e] = fma_(broadcast(-TABLE_U[r * (S + 1) + i]), k_new[e], x[r * M + e]);
    }
}

static inline void eliminate(int size, real *matrix, real *x)
{
    for (int c = 0; c < size; c++) {
        real inverse = broadcast(1) / matrix[c * size + c];
        for (int i = c + 1; i < size; i++) {
            real l = matrix[i * size + c] * inverse;
            for (int j = c + 1; j < size; j++)
                matrix[i * size + j] = fma_(-l, matrix[c * size + j], matrix[i * size + j]);
            x[i] = fma_(-l, x[c], x[i]);
        }
    }
    for (int i = size; i-- > 0;) {
        for (int j = i + 1; j < size; j++)
            x[i] = fma_(-matrix[i * size + j], x[j], x[i]);
        x[i] = x[i] / matrix[i * size + i];
    }
}

/* dv += sum_j w_j B_j x_j */
static inline void add_reactions(kernel *k, const double *w, const real *stage, const real *x,
                                 real *scaled, real *dv)
{
    EACH_STAGE(j)
    {
        EACH(e, M) scaled[e] = x[j * M + e] * w[j];
        add_B(k, dv, STAGE_B(j), scaled);
    }
}

#ifdef NH_CAREFUL

/* Unknowns: V, Psi, v1. Residuals: the momentum gaps and the conditions. work: stages and so on. */
static int newton_gap(kernel *k, const double *x, double *r, double *work)
{
    const double *V = x, *psi = x + S * N, *v1 = psi + S * M;
    double *stage = work, *end = stage + S * BLOCK, *Q = end + N + M + NK, *q1 = Q + S * N,
           *p0 = q1 + N;
    int status = evaluate(k, V, psi, v1, Q, q1, stage, end);
    if (status)
        return status;
    EACH_STAGE(i) momentum_gap(k, TABLE_A + i * S, p0, STAGE_P(i), stage, r + i * N);
    momentum_gap(k, TABLE_B, p0, END_P, stage, r + S * N);
    double *condition = r + S * N + N;
    for (int c = 0; c < S; c++)
        for (int e = 0; e < M; e++) {
            double sum = TABLE_U[c * (S + 1) + S] * END_LITTLE_K[e];
            EACH_STAGE(i) sum += TABLE_U[c * (S + 1) + i] * STAGE_LITTLE_K(i)[e];
            condition[c * M + e] = sum;
        }
    return NH_KERNEL_OK;
}

static int newton(kernel *k, real *V, real *psi, real *v1, const real *p0)
{
    const int d = S * (N + M) + N;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    LOCAL(x, d);
    LOCAL(work, S * BLOCK + N + M + NK + S * N + N + N);
    EACH(i, N) work[S * BLOCK + N + M + NK + S * N + N + i] = p0[i];
    EACH_STAGE(s) EACH(i, N) x[s * N + i] = k->v[i];
    EACH(i, S * M) x[S * N + i] = 0;
    EACH(i, N) x[S * (N + M) + i] = k->v[i];
    int status = newton_solve(k, newton_gap, d, x, space, work);
    if (status)
        return status;
    EACH(i, S * N) V[i] = x[i];
    EACH(i, S * M) psi[i] = x[S * N + i];
    EACH(i, N) v1[i] = x[S * (N + M) + i];
    return NH_KERNEL_OK;
}

#endif

static int start(kernel *k)
{
    EACH_STAGE(i) EACH(n, N) MEMORY_V[i * N + n] = k->v[n];
    EACH(e, S * M) MEMORY_PSI[e] = broadcast(0);
    return NH_KERNEL_OK;
}

/* The stages of the last step continued into this one. */
static inline void predict(kernel *k, real *V, real *psi)
{
    EACH_STAGE(i)
    {
        EACH(n, N)
        {
            V[i * N + n] = broadcast(0);
            EACH_STAGE(j)
            V[i * N + n] =
                fma_(broadcast(TABLE_E[i * S + j]), MEMORY_V[j * N + n], V[i * N + n]);
        }
        EACH(e, M)
        {
            psi[i * M + e] = broadcast(0);
            EACH_STAGE(j)
            psi[i * M + e] =
                fma_(broadcast(TABLE_E[i * S + j]), MEMORY_PSI[j * M + e], psi[i * M + e]);
        }
    }
}

static int step(kernel *k)
{
    const double h = k->h, t = k->t;
    LOCAL(V, S * N);
    LOCAL(Q, S * N);
    LOCAL(dV, S * N);
    LOCAL(psi, S * M);
    LOCAL(x, S * M);
    LOCAL(stage, S * BLOCK);
    LOCAL(end, N + M + NK);
    LOCAL(matrix, S * M * S * M);
    LOCAL(p0, N + M + NK);
    LOCAL(q1, N);
    LOCAL(v1, N);
    LOCAL(dv1, N);
    LOCAL(gap, N);
    LOCAL(little, M);
    LOCAL(dq, N);
    LOCAL(dv, N);

    CALL(END, t, k->q, k->v, 0, p0);
    predict(k, V, psi);
    EACH(i, N) v1[i] = k->v[i];
    if (CONSTANT_MASS)
        EACH(i, N) v1[i] = V[(S - 1) * N + i];

    watch w = watch_begin();
    for (;;) {
        int status = evaluate(k, V, psi, v1, Q, q1, stage, end);
        if (status)
            return status;
        EACH_STAGE(i)
        {
            momentum_gap(k, TABLE_A + i * S, p0, STAGE_P(i), stage, gap);
            CALL(SOLVE, t + TABLE_C[i] * h, Q + i * N, V + i * N, gap, dV + i * N);
        }
        momentum_gap(k, TABLE_B, p0, END_P, stage, gap);
        CALL(SOLVE, t + h, q1, v1, gap, dv1);
        multiplier_rhs(k, stage, end, dV, dv1, little, x);
        multiplier_matrix(k, stage, end, matrix);
        eliminate(S * M, matrix, x);
        EACH_STAGE(i) add_reactions(k, TABLE_A + i * S, stage, x, little, dV + i * N);
        add_reactions(k, TABLE_B, stage, x, little, dv1);

        EACH(i, S * N) V[i] = select_(w.active, V[i] + dV[i], V[i]);
        EACH(i, S * M) psi[i] = select_(w.active, psi[i] + x[i] * (1 / h), psi[i]);
        EACH(i, N) v1[i] = select_(w.active, v1[i] + dv1[i], v1[i]);
        watch_update(&w, max_(largest(k, dV, S * N), largest(k, dv1, N)), largest(k, V, S * N));
        if (!any(w.active))
            break;
        if (w.iteration >= 50 || any(less(broadcast(1e100), w.previous))) {
#ifdef NH_CAREFUL
            status = newton(k, V, psi, v1, p0);
            if (status)
                return status;
            break;
#else
            return not_converged(k, &w);
#endif
        }
    }
    EACH(i, N)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(TABLE_B[j]), V[j * N + i], sum);
        dq[i] = sum * h;
        q1[i] = k->q[i] + dq[i];
        dv[i] = v1[i] - k->v[i];
    }
    EACH(i, S * N) MEMORY_V[i] = V[i];
    EACH(i, S * M) MEMORY_PSI[i] = psi[i];
    commit(k, q1, v1, dq, dv);
    return NH_KERNEL_OK;
}

KERNEL(gauss, start, step);

#ifdef NH_DESCRIBE
#include "base/dense.h"
#include "base/quadrature.h"
#include "method/method.h"

enum { STAGES_MAX = 16, EXTRAPOLATED_MAX = 6 };

static int stages(const double *option)
{
    return (int)option[0];
}

static size_t memory(const nh_shape *shape, const double *option)
{
    return (size_t)(stages(option) * (shape->n + shape->m));
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    size_t s = (size_t)stages(option), n = (size_t)shape->n, m = (size_t)shape->m,
           nk = (size_t)shape->nk, block = 2 * n + m + nk + (size_t)shape->nb;
    size_t step = 3 * s * n + 2 * s * m + s * block + 2 * (n + m + nk) + s * m * s * m + 6 * n + m;
    size_t d = s * (n + m) + n;
    return step + newton_scratch(d) + d + s * block + 3 * n + m + nk + s * n;
}

static size_t table_size(const double *option)
{
    size_t s = (size_t)stages(option);
    return 2 * s + s * s + s * (s + 1) + s * s;
}

/* Rows of U: the conditions with Legendre polynomials for the powers, combined by the inverse of
 * C = (sum_i w_ri a_ij ; b_j), so that for constant K the multipliers' system becomes K B itself. */
static void combine_conditions(int s, const double *b, const double *a, const double *c, double *U)
{
    double w[STAGES_MAX * STAGES_MAX], C[STAGES_MAX * STAGES_MAX], column[STAGES_MAX];
    int pivot[STAGES_MAX];
    for (int r = 0; r < s - 1; r++)
        for (int i = 0; i < s; i++)
            w[r * s + i] = b[i] * nh_legendre(r, c[i]);
    for (int j = 0; j < s; j++) {
        for (int r = 0; r < s - 1; r++) {
            C[r * s + j] = 0;
            for (int i = 0; i < s; i++)
                C[r * s + j] += w[r * s + i] * a[i * s + j];
        }
        C[(s - 1) * s + j] = b[j];
    }
    nh_dense_factor(s, C, pivot);
    for (int i = 0; i <= s; i++) {
        for (int r = 0; r < s; r++)
            column[r] = i < s ? (r < s - 1 ? w[r * s + i] : 0) : r == s - 1;
        nh_dense_solve(s, C, pivot, column);
        for (int r = 0; r < s; r++)
            U[r * (s + 1) + i] = column[r];
    }
}

static void table(const double *option, double *out)
{
    int s = stages(option);
    double *c = out, *b = c + s, *a = b + s, *U = a + s * s, *E = U + s * (s + 1);
    double next[STAGES_MAX];
    nh_gauss_nodes(s, c, b);
    nh_collocation(s, c, a);
    combine_conditions(s, b, a, c, U);
    for (int i = 0; i < s; i++)
        next[i] = 1 + c[i];
    nh_lagrange(s, c, s, next, E);
    if (s > EXTRAPOLATED_MAX) /* polynomials of high degree leave their interval too fast */
        for (int i = 0; i < s * s; i++)
            E[i] = i % s == s - 1;
}

static int order_of(const double *option)
{
    return 2 * stages(option);
}

const nh_method nh_method_gauss = {
    .name = "gauss",
    .summary = "Gauss SPARK: any order, any Lagrangian, any constraints",
    .reference = "Jay 2009 (6.1)",
    .formulas = "Q_i = q0 + h sum_j a_ij V_j\n"
                "P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),   P_i = dL/dv(T_i, Q_i, V_i)\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = k(t1, q1, v1)",
    .option = {{.name = "stages",
                .help = "number of Gauss nodes; the order is twice that",
                .type = NH_OPTION_INTEGER,
                .standard = 2,
                .least = 1,
                .greatest = STAGES_MAX}},
    .options = 1,
    .order_of = order_of,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION,
    .functions = NH_USES(STAGE) | NH_USES(END) | NH_USES(SOLVE),
    .compensate = true,
    .memory = memory,
    .scratch = scratch,
    .table_size = table_size,
    .table = table,
};
#endif
