/* Small dense algebra over `real`, for the methods that need bases. Nothing branches on the values
 * of lanes, so the bits of one lane do not depend on its neighbours. Matrices are row-major. */
#ifndef NH_KERNEL_SMALL_H
#define NH_KERNEL_SMALL_H

#include "kernel/kernel.h"

/* Give back the arrays that LOCAL makes in a function that is called many times in a step. */
#if defined(NH_EMITTED) && !defined(NH_WITH_NEWTON)
#define HOLD(k) (void)0
#define RELEASE(k) (void)0
#else
#define HOLD(k) real *held = (k)->top
#define RELEASE(k) (note_scratch(k), (k)->top = held)
#endif

static inline real dot_(int n, const real *x, const real *y)
{
    real sum = broadcast(0);
    EACH(i, n) sum = fma_(x[i], y[i], sum);
    return sum;
}

static inline real sign_(real x)
{
    return select_(less(x, broadcast(0)), broadcast(-1), broadcast(1));
}

/* out = a b^T for a (rows x inner) and b (columns x inner). */
static inline void product_transposed(int rows, int inner, int columns, const real *a,
                                      const real *b, real *out)
{
    EACH(i, rows) EACH(j, columns) out[i * columns + j] = dot_(inner, a + i * inner, b + j * inner);
}

/* The lower factor of S = L L^T, with the inverse of its diagonal in the diagonal's place. */
static inline void cholesky(int n, const real *S, real *L)
{
    EACH(j, n)
    {
        real d = S[j * n + j];
        EACH(c, j) d = fma_(-L[j * n + c], L[j * n + c], d);
        real inverse = broadcast(1) / sqrt_(d);
        L[j * n + j] = inverse;
        for (int i = j + 1; i < n; i++) {
            real x = S[i * n + j];
            EACH(c, j) x = fma_(-L[i * n + c], L[j * n + c], x);
            L[i * n + j] = x * inverse;
        }
    }
}

/* x = L^-1 x, x = L^-T x */
static inline void lower_solve(int n, const real *L, real *x)
{
    EACH(i, n)
    {
        EACH(j, i) x[i] = fma_(-L[i * n + j], x[j], x[i]);
        x[i] = x[i] * L[i * n + i];
    }
}

static inline void upper_solve(int n, const real *L, real *x)
{
    for (int i = n; i-- > 0;) {
        for (int j = i + 1; j < n; j++)
            x[i] = fma_(-L[j * n + i], x[j], x[i]);
        x[i] = x[i] * L[i * n + i];
    }
}

/* A skew matrix kept above its diagonal, row by row: its value on x and y */
#define PAIRS (N * (N - 1) / 2)
static inline real on_pair(kernel *k, const real *T, const real *x, const real *y)
{
    real sum = broadcast(0);
    (void)k;
    EACH(i, N)
    for (int j = i + 1; j < N; j++)
        sum = fma_(T[i * (2 * N - i - 1) / 2 + j - i - 1], fma_(x[i], y[j], -(x[j] * y[i])), sum);
    return sum;
}

/* ---- the orthogonal polar factor ---- */

static inline void polar_of_two(const real *G, real *Q)
{
    real det = fma_(G[0], G[3], -(G[1] * G[2])), s = sign_(det);
    real a = fma_(s, G[3], G[0]), b = fma_(-s, G[2], G[1]);
    real scale = broadcast(1) / sqrt_(fma_(a, a, b * b));
    Q[0] = a * scale;
    Q[1] = b * scale;
    Q[2] = -s * Q[1];
    Q[3] = s * Q[0];
}

enum { POLAR_ITERATIONS_MAX = 60 };

/* Newton-Schulz iteration: Q <- Q (3 - Q^T Q)/2, from G scaled so that its singular values are one
 * on average. For matrices that relate bases of two neighbouring spaces they are close to one, and
 * four or five iterations reach round-off. False if they do not converge. */
static inline int polar_of_many(kernel *k, int n, const real *G, real *Q)
{
    HOLD(k);
    LOCAL(E, n * n);
    LOCAL(next, n * n);
    real scale = sqrt_(broadcast(n) / dot_(n * n, G, G));
    EACH(e, n * n) Q[e] = G[e] * scale;
    convergence progress = convergence_begin();
    do {
        real change = broadcast(0);
        EACH(i, n) EACH(j, n)
        {
            real sum = broadcast(i == j);
            EACH(c, n) sum = fma_(-Q[c * n + i], Q[c * n + j], sum);
            E[i * n + j] = sum * 0.5;
            change = max_(change, abs_(sum));
        }
        EACH(i, n) EACH(j, n)
        {
            real sum = Q[i * n + j];
            EACH(c, n) sum = fma_(Q[i * n + c], E[c * n + j], sum);
            next[i * n + j] = sum;
        }
        EACH(e, n * n) Q[e] = select_(progress.active, next[e], Q[e]);
        convergence_update(&progress, change, broadcast(1));
    } while (any(progress.active) && progress.iteration < POLAR_ITERATIONS_MAX);
    RELEASE(k);
    return !any(progress.active);
}

/* Q = the orthogonal matrix nearest to G. */
static inline int polar(kernel *k, int n, const real *G, real *Q)
{
    if (n == 1)
        Q[0] = sign_(G[0]);
    else if (n == 2)
        polar_of_two(G, Q);
    else if (n > 2 && !polar_of_many(k, n, G, Q)) {
        k->io->residual = 1;
        k->io->iterations = POLAR_ITERATIONS_MAX;
        return NH_KERNEL_NOT_CONVERGED;
    }
    return NH_KERNEL_OK;
}
#define POLAR_SCRATCH(n) (2 * (n) * (n))

/* change = (cay(-K) - 1) x = -(1 + K/2)^-1 K x for a skew K, by elimination without pivoting, since
 * the pivots are at least one. */
static inline void cayley_change(kernel *k, int n, const real *K, const real *x, real *change)
{
    HOLD(k);
    LOCAL(a, n * n);
    EACH(i, n)
    {
        change[i] = -dot_(n, K + i * n, x);
        EACH(j, n) a[i * n + j] = fma_(broadcast(0.5), K[i * n + j], broadcast(i == j));
    }
    EACH(c, n)
    {
        real inverse = broadcast(1) / a[c * n + c];
        for (int i = c + 1; i < n; i++) {
            real l = a[i * n + c] * inverse;
            for (int j = c + 1; j < n; j++)
                a[i * n + j] = fma_(-l, a[c * n + j], a[i * n + j]);
            change[i] = fma_(-l, change[c], change[i]);
        }
    }
    for (int i = n; i-- > 0;) {
        for (int j = i + 1; j < n; j++)
            change[i] = fma_(-a[i * n + j], change[j], change[i]);
        change[i] = change[i] / a[i * n + i];
    }
    RELEASE(k);
}
#define CAYLEY_SCRATCH(n) ((n) * (n))

/* ---- a basis of the velocities that the constraints allow ---- */

/* One reflection I - w w^T / beta that takes the rest of row c of a (rows x n) to a multiple of
 * e_c, which is stored in its place. */
static inline void reflect(int n, int rows, int c, real *a, real *w, real *beta)
{
    real *row = a + c * n, square = broadcast(0);
    for (int i = c; i < n; i++)
        square = fma_(row[i], row[i], square);
    real length = sqrt_(square) * sign_(row[c]);
    EACH(i, n) w[i] = i < c ? broadcast(0) : row[i];
    w[c] = w[c] + length;
    *beta = broadcast(1) / fma_(length, row[c], square);
    for (int r = c + 1; r < rows; r++) {
        real s = dot_(n, w, a + r * n) * *beta;
        EACH(i, n) a[r * n + i] = fma_(-s, w[i], a[r * n + i]);
    }
    row[c] = -length;
}

/* a = L Q by reflections, which are stable for any matrix; L, with the inverse of its diagonal,
 * replaces a; w is n x n. */
static inline void orthogonal_factor(int n, real *a, real *w, real *beta)
{
    for (int c = 0; c < n; c++) {
        reflect(n, n, c, a, w + c * n, beta + c);
        a[c * n + c] = broadcast(1) / a[c * n + c];
    }
}

/* x = a^-1 x */
static inline void orthogonal_solve(int n, const real *a, const real *w, const real *beta, real *x)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            x[i] = fma_(-a[i * n + j], x[j], x[i]);
        x[i] = x[i] * a[i * n + i];
    }
    for (int c = n; c-- > 0;) {
        const real s = dot_(n, w + c * n, x) * beta[c];
        for (int i = c; i < n; i++)
            x[i] = fma_(-s, w[c * n + i], x[i]);
    }
}

/* A L^-T = (l 0) Q for mass = L L^T, with Q made of reflections and l lower triangular. */
typedef struct row_factors {
    real *L, *a, *w, *beta; /* [n*n], [m*n] with l, [m*n], [m] */
} row_factors;

static inline void factor_rows(kernel *k, const real *mass, const real *A, row_factors *f)
{
    cholesky(N, mass, f->L);
    EACH(j, M)
    {
        EACH(i, N) f->a[j * N + i] = A[j * N + i];
        lower_solve(N, f->L, f->a + j * N);
    }
    EACH(j, M) reflect(N, M, j, f->a, f->w + j * N, f->beta + j);
}

/* x = L^-T Q^T x */
static inline void unfold(kernel *k, const row_factors *f, real *x)
{
    for (int j = M; j-- > 0;) {
        real s = dot_(N, f->w + j * N, x) * f->beta[j];
        EACH(i, N) x[i] = fma_(-s, f->w[j * N + i], x[i]);
    }
    upper_solve(N, f->L, x);
}

/* Rows of `basis` (n - m of them): velocities with A b = 0 and b_a . mass b_c = (a == c). If there
 * are conditions on positions and `gap` is given, `back` is the shortest x that removes their
 * values gap: A x = (0, -gap). */
static inline void allowed_basis(kernel *k, const real *mass, const real *A, const real *gap,
                                 real *basis, real *back)
{
    HOLD(k);
    LOCAL(L, N * N);
    LOCAL(a, M * N);
    LOCAL(w, M * N);
    LOCAL(beta, M);
    row_factors f = {L, a, w, beta};
    factor_rows(k, mass, A, &f);
    EACH(b, N - M)
    {
        EACH(i, N) basis[b * N + i] = broadcast(i == M + b);
        unfold(k, &f, basis + b * N);
    }
    if (POSITIONS > 0 && gap) {
        EACH(i, N) back[i] = broadcast(0);
        for (int j = M - POSITIONS; j < M; j++)
            back[j] = -(gap[j - (M - POSITIONS)] + dot_(j, a + j * N, back)) / a[j * N + j];
        unfold(k, &f, back);
    }
    RELEASE(k);
}
#define ALLOWED_BASIS_SCRATCH(n, m) ((n) * (n) + 2 * (m) * (n) + (m))

#endif
