/* Riccati's equation of a discrete regulator: see riccati.h.
 *
 * Directions that the inputs do not move and that neither grow nor decay (the speed of a bicycle
 * that is only steered) have no stabilising gain; they are left out first. The equation is solved
 * by the ordered QZ algorithm and refined by Newton's method, each step of which is a linear
 * equation summed by doubling. */
#include "analysis/riccati.h"

#include "base/dense.h"
#include "base/lapack.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Eigenvalues nearer to the unit circle than this are taken to be on it. */
static const double on_circle = 1e-7;
/* What the inputs move less than this, relative to the rest, they do not move. */
static const double unmoved = 1e-9;

/* The problem in the basis `V`[r][n] of what is kept. */
typedef struct regulated {
    int r, n, inputs;
    double *V, *A, *B, *Q;
    const double *R; /* the caller's */
    double *K, *P;
    double *room; /* 12 (r + inputs)^2 numbers */
    int *pivot;
} regulated;

static void transpose(int rows, int columns, const double *a, double *out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            out[j * rows + i] = a[i * columns + j];
}

/* out = a^T b a for a[n][m] and symmetric b. */
static void congruence(int n, int m, const double *a, const double *b, double *room, double *out)
{
    double *product = room, *turned = room + n * m;
    nh_dense_multiply(n, n, m, b, a, product);
    transpose(n, m, a, turned);
    nh_dense_multiply(m, n, m, turned, product, out);
}

/* Solves a X = b for b[n][columns] in place; a is destroyed. */
static bool solve_columns(int n, double *a, int *pivot, int columns, double *b, double *column)
{
    if (!nh_dense_factor(n, a, pivot))
        return false;
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < n; i++)
            column[i] = b[i * columns + j];
        nh_dense_solve(n, a, pivot, column);
        for (int i = 0; i < n; i++)
            b[i * columns + j] = column[i];
    }
    return true;
}

/* ---- what the inputs move ---- */

/* Extends an orthonormal basis[*r][n] by what is new in x; x is destroyed. */
static void extend(int n, int *r, double *basis, double *x)
{
    double size = 0, left = 0;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(x[i]));
    for (int i = 0; size > 0 && i < n; i++)
        x[i] /= size;
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < *r; k++) {
            double part = 0;
            for (int i = 0; i < n; i++)
                part += basis[k * n + i] * x[i];
            for (int i = 0; i < n; i++)
                x[i] -= part * basis[k * n + i];
        }
    for (int i = 0; i < n; i++)
        left += x[i] * x[i];
    if (*r < n && sqrt(left) > unmoved)
        for (int i = 0, k = (*r)++; i < n; i++)
            basis[k * n + i] = x[i] / sqrt(left);
}

/* An orthonormal basis of what the inputs move, completed to all. Returns the dimension. */
static int movable(int n, int inputs, const double *A, const double *B, double *basis, double *x)
{
    int r = 0;
    for (int j = 0; j < inputs; j++) {
        for (int i = 0; i < n; i++)
            x[i] = B[i * inputs + j];
        extend(n, &r, basis, x);
    }
    for (int k = 0; k < r; k++) {
        nh_dense_multiply(n, n, 1, A, basis + k * n, x);
        extend(n, &r, basis, x);
    }
    for (int all = r, i = 0; i < n && all < n; i++) {
        memset(x, 0, (size_t)n * sizeof *x);
        x[i] = 1;
        extend(n, &all, basis, x);
    }
    return r;
}

static int largest(int n, const double *x)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[best]))
            best = i;
    return best;
}

/* Among the n - r directions that no input moves, `basis`, those whose eigenvalue is on the circle:
 * appends the real and imaginary parts of left eigenvectors of A to `out`. Returns their number, -1
 * if one grows (with its state), -2 out of memory. */
static int neutral(int n, int rest, const double *A, const double *basis, double *room, double *out,
                   int *culprit)
{
    double *inner = room, *turned = room + n * n, *product = room + 2 * n * n;
    nh_eigen eigen = {0};
    if (rest == 0)
        return 0;
    transpose(rest, n, basis, turned);
    nh_dense_multiply(n, n, rest, A, turned, product);
    nh_dense_multiply(rest, n, rest, basis, product, inner);
    int count = nh_eigen_find(&eigen, rest, inner) ? 0 : -2;
    for (int e = 0; e < rest && count >= 0; e++) {
        const double size = cabs(eigen.value[e]);
        if (size < 1 - on_circle || cimag(eigen.value[e]) < 0)
            continue;
        for (int part = 0; part < (cimag(eigen.value[e]) > 0 ? 2 : 1); part++) {
            double *w = out + n * (count + part);
            memset(w, 0, (size_t)n * sizeof *w);
            for (int k = 0; k < rest; k++) {
                const double complex y = eigen.left[e * rest + k];
                for (int i = 0; i < n; i++)
                    w[i] += (part ? cimag(y) : creal(y)) * basis[k * n + i];
            }
        }
        *culprit = largest(n, out + n * count);
        count = size > 1 + on_circle ? -1 : count + (cimag(eigen.value[e]) > 0 ? 2 : 1);
    }
    nh_eigen_free(&eigen);
    return count;
}

/* An orthonormal basis of what is orthogonal to w[count][n]; returns its dimension. `basis` has
 * room for n rows, the first of which are used meanwhile. */
static int complement(int n, int count, double *w, double *basis)
{
    int all = 0;
    for (int k = 0; k < count; k++)
        extend(n, &all, basis, w + k * n);
    const int left = all;
    for (int i = 0; i < n; i++) {
        memset(w, 0, (size_t)n * sizeof *w);
        w[i] = 1;
        extend(n, &all, basis, w);
    }
    memmove(basis, basis + left * n, (size_t)((n - left) * n) * sizeof *basis);
    return n - left;
}

/* Restricts everything to the rows of `to`[kept][r], which are at the beginning of the room. */
static void restrict_to(regulated *p, int kept, const double *to)
{
    const int r = p->r;
    double *turned = p->room + r * r, *product = turned + r * r, *room = product + r * p->n;
    transpose(kept, r, to, turned);
    nh_dense_multiply(r, r, kept, p->A, turned, product);
    nh_dense_multiply(kept, r, kept, to, product, p->A);
    memcpy(product, p->B, (size_t)(r * p->inputs) * sizeof *product);
    nh_dense_multiply(kept, r, p->inputs, to, product, p->B);
    congruence(r, kept, turned, p->Q, room, product);
    memcpy(p->Q, product, (size_t)(kept * kept) * sizeof *product);
    memcpy(product, p->V, (size_t)(r * p->n) * sizeof *product);
    nh_dense_multiply(kept, r, p->n, to, product, p->V);
    p->r = kept;
}

static nh_status leave_out(nh_riccati *out, regulated *p, int *culprit, nh_report *report)
{
    for (int again = 1; again;) {
        const int n = p->r;
        double *basis = p->room, *w = basis + n * n, *room = w + n * n + n;
        const int moved = movable(n, p->inputs, p->A, p->B, basis, w);
        const int count = neutral(n, n - moved, p->A, basis + moved * n, room, w, culprit);
        if (count == -2)
            return nh_fail_memory(report);
        /* of the caller's states, the one in which it is seen most */
        if (count != 0) {
            nh_dense_multiply(1, n, p->n, w, p->V, room);
            *culprit = largest(p->n, room);
        }
        if (count < 0)
            return nh_fail(report, NH_NOT_CONVERGED, "no input moves a motion that grows");
        for (int k = 0; k < count; k++) {
            nh_dense_multiply(1, n, p->n, w + k * n, p->V, room);
            out->left_out[out->omitted++] = largest(p->n, room);
        }
        again = count > 0;
        if (again)
            restrict_to(p, complement(n, count, w, basis), basis);
    }
    return NH_OK;
}

/* ---- the equation ---- */

/* G = B R^-1 B^T */
static bool find_G(regulated *p, double *G)
{
    const int r = p->r, u = p->inputs;
    double *R = p->room, *x = R + u * u, *turned = x + u * r, *column = turned + u * r;
    memcpy(R, p->R, (size_t)(u * u) * sizeof *R);
    transpose(r, u, p->B, x);
    const bool ok = solve_columns(u, R, p->pivot, r, x, column);
    nh_dense_multiply(r, u, r, p->B, x, G);
    return ok;
}

static double norm(int n, const double *a)
{
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* P from the stable subspace of A x = value (x + G y), y - Q x = value A^T y. With y in units in
 * which G and Q are alike, the order of eigenvalues can be changed without losing digits. */
static bool solve_pencil(regulated *p)
{
    const int r = p->r, n = 2 * r;
    const size_t N = (size_t)n * (size_t)n;
    double *a = calloc(3 * N + (size_t)(r * r) + 1, sizeof *a), *b = a + N, *basis = b + N;
    bool ok = a && find_G(p, basis + N);
    const double cost = norm(r, p->Q), size = ok ? norm(r, basis + N) : 0;
    const double unit = cost > 0 && size > 0 ? sqrt(cost / size) : 1;
    for (int i = 0; ok && i < r; i++)
        for (int j = 0; j < r; j++) {
            a[i * n + j] = p->A[i * r + j];
            a[(r + i) * n + j] = -p->Q[i * r + j] / unit;
            b[i * n + r + j] = unit * basis[N + (size_t)(i * r + j)];
            b[(r + i) * n + r + j] = p->A[j * r + i];
        }
    for (int i = 0; ok && i < r; i++)
        a[(r + i) * n + r + i] = b[i * n + i] = 1;
    int count = 0;
    ok = ok && nh_stable_subspace(n, a, b, &count, basis) && count == r;
    /* rows of the basis are (x, y): P x = y, that is X P = Y for symmetric P */
    double *X = a, *Y = b;
    for (int i = 0; ok && i < r; i++)
        for (int j = 0; j < r; j++) {
            X[i * r + j] = basis[i * n + j];
            Y[i * r + j] = basis[i * n + r + j];
        }
    ok = ok && solve_columns(r, X, p->pivot, r, Y, basis);
    for (int i = 0; ok && i < r; i++)
        for (int j = 0; j < r; j++)
            p->P[i * r + j] = unit * (Y[i * r + j] + Y[j * r + i]) / 2;
    free(a);
    return ok;
}

/* K = (R + B^T P B)^-1 B^T P A */
static bool find_K(regulated *p)
{
    const int r = p->r, u = p->inputs;
    double *H = p->room, *turned = H + u * u, *product = turned + r * u, *room = product + r * r;
    congruence(r, u, p->B, p->P, room, H);
    for (int i = 0; i < u * u; i++)
        H[i] += p->R[i];
    transpose(r, u, p->B, turned);
    nh_dense_multiply(r, r, r, p->P, p->A, product);
    nh_dense_multiply(u, r, r, turned, product, p->K);
    return solve_columns(u, H, p->pivot, r, p->K, room);
}

/* Newton's step: P = Q + K^T R K + F^T P F with F = A - B K. Returns how much P changed, relative
 * to its size; NaN if F is not stable. */
static double refine(regulated *p)
{
    enum { DOUBLINGS = 60 };
    const int r = p->r, u = p->inputs;
    double *F = p->room, *sum = F + r * r, *add = sum + r * r, *room = add + r * r, largest_F = 1;
    nh_dense_multiply(r, u, r, p->B, p->K, F);
    for (int i = 0; i < r * r; i++)
        F[i] = p->A[i] - F[i];
    congruence(u, r, p->K, p->R, room, sum);
    for (int i = 0; i < r * r; i++)
        sum[i] += p->Q[i];
    for (int k = 0; k < DOUBLINGS && largest_F > 1e-20; k++) {
        congruence(r, r, F, sum, room, add);
        nh_dense_multiply(r, r, r, F, F, room);
        memcpy(F, room, (size_t)(r * r) * sizeof *F);
        largest_F = 0;
        for (int i = 0; i < r * r; i++) {
            sum[i] += add[i];
            largest_F = fmax(largest_F, fabs(F[i]));
        }
    }
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++) {
            add[i * r + j] = (sum[i * r + j] + sum[j * r + i]) / 2;
            room[i * r + j] = add[i * r + j] - p->P[i * r + j];
        }
    memcpy(p->P, add, (size_t)(r * r) * sizeof *add);
    return largest_F <= 1e-20 ? norm(r, room) / (norm(r, add) + DBL_MIN) : NAN;
}

/* Newton's method converges from every gain that stabilises. */
static bool solve_riccati(regulated *p)
{
    enum { STEPS = 30 };
    double change = 1;
    bool ok = solve_pencil(p) && find_K(p);
    for (int step = 0; ok && step < STEPS && !(change <= 1e-14); step++) {
        const double before = change;
        change = refine(p);
        ok = change < INFINITY && find_K(p);
        if (change <= 1e-9 && change >= before) /* rounding */
            break;
    }
    return ok && change <= 1e-9;
}

static bool allocate(nh_riccati *out, regulated *p, int n, int inputs)
{
    const size_t N = (size_t)n, U = (size_t)inputs, all = N + U;
    *p = (regulated){.r = n, .n = n, .inputs = inputs};
    p->V = calloc(4 * N * N + 2 * N * U + 12 * all * all + 1, sizeof *p->V);
    p->pivot = malloc((all + 1) * sizeof *p->pivot);
    out->K = calloc(U * N + N * N + 1, sizeof *out->K);
    out->left_out = malloc((N + 1) * sizeof *out->left_out);
    if (!p->V || !p->pivot || !out->K || !out->left_out)
        return false;
    out->P = out->K + U * N;
    p->A = p->V + N * N;
    p->Q = p->A + N * N;
    p->P = p->Q + N * N;
    p->B = p->P + N * N;
    p->K = p->B + N * U;
    p->room = p->K + N * U;
    return true;
}

/* K and P in the caller's states; those that were left out have gains of exactly zero. */
static void give(nh_riccati *out, regulated *p)
{
    double *product = p->room;
    for (int i = 0; i < p->n; i++) {
        double seen = 0;
        for (int k = 0; k < p->r; k++)
            seen = fmax(seen, fabs(p->V[k * p->n + i]));
        for (int k = 0; k < p->r && seen < unmoved; k++)
            p->V[k * p->n + i] = 0;
    }
    nh_dense_multiply(p->inputs, p->r, p->n, p->K, p->V, out->K);
    congruence(p->r, p->n, p->V, p->P, product, out->P);
}

nh_status nh_riccati_solve(nh_riccati *out, int n, int inputs, const double *A, const double *B,
                           const double *Q, const double *R, int *culprit, nh_report *report)
{
    regulated p;
    *out = (nh_riccati){.n = n, .inputs = inputs};
    *culprit = -1;
    bool ok = allocate(out, &p, n, inputs);
    nh_status status = ok ? NH_OK : nh_fail_memory(report);
    if (ok) {
        const size_t N = (size_t)n;
        memcpy(p.A, A, N * N * sizeof *A);
        memcpy(p.Q, Q, N * N * sizeof *Q);
        memcpy(p.B, B, N * (size_t)inputs * sizeof *B);
        p.R = R;
        for (size_t i = 0; i < N; i++)
            p.V[i * N + i] = 1;
        status = leave_out(out, &p, culprit, report);
    }
    if (status == NH_OK && p.r > 0) {
        status = solve_riccati(&p) ? NH_OK
                                   : nh_fail(report, NH_NOT_CONVERGED,
                                             "Riccati's equation has no solution that stabilises");
    }
    if (status == NH_OK)
        give(out, &p);
    free(p.V);
    free(p.pivot);
    return status;
}

void nh_riccati_free(nh_riccati *r)
{
    free(r->K);
    free(r->left_out);
}
