/* Eigenvalues with exact zeros: see eigenvalues.h. If V spans the null space of A and W its
 * orthogonal complement, the other eigenvalues are those of W^T A W. An eigenvector y of that
 * belongs to W y + V c with c = V^T A W y / value; a left one to W y. */
#include "analysis/eigenvalues.h"

#include "base/lapack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Singular values below this, relative to the largest, are zero. */
static const double zero = 1e-11;

/* basis[m][n] times a. */
static void apply_left(int n, int m, const double *basis, const double *a, double *out)
{
    memset(out, 0, (size_t)m * (size_t)n * sizeof *out);
    for (int i = 0; i < m; i++)
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n && basis[i * n + r] != 0; c++)
                out[i * n + c] += basis[i * n + r] * a[r * n + c];
}

/* The matrix on a subspace, [m][m], where basis[m][n] is orthonormal; `space` has room for [m][n].
 */
static void compress(int n, int m, const double *a, const double *basis, double *space, double *out)
{
    apply_left(n, m, basis, a, space);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int c = 0; c < n; c++)
                sum += space[i * n + c] * basis[j * n + c];
            out[i * m + j] = sum;
        }
}

/* The rank of the compressed matrix. If the number of zeros is known, no more are split off, and at
 * least one as long as some are missing. */
static int rank_of(const nh_spectrum *s, const nh_svd *svd, int zeros)
{
    int rank = 0;
    while (rank < svd->values && svd->value[rank] > zero * s->size)
        rank++;
    if (zeros < 0)
        return rank;
    const int least = s->n - zeros;
    if (svd->values == least)
        return least;
    return rank < least ? least : rank == svd->values ? rank - 1 : rank;
}

/* Splits null spaces off until there are none. On return `basis` [*m][n] spans the rest, and the
 * rows after it, in the order in which they were found, what was split off. */
static bool split(nh_spectrum *s, const double *a, int zeros, double *basis, double *work, int *m)
{
    const int n = s->n;
    double *small = work, *turned = small + n * n;
    *m = n;
    memset(basis, 0, (size_t)(n * n) * sizeof *basis);
    for (int i = 0; i < n; i++)
        basis[i * n + i] = 1;
    while (*m > 0) {
        nh_svd svd;
        compress(n, *m, a, basis, turned, small);
        const bool ok = nh_svd_find(&svd, *m, *m, small);
        if (ok && *m == n)
            s->size = svd.value[0];
        const int rank = ok ? rank_of(s, &svd, zeros) : 0;
        for (int i = 0; ok && i < *m; i++)
            for (int c = 0; c < n; c++) {
                double sum = 0;
                for (int j = 0; j < *m; j++)
                    sum += svd.right[i * *m + j] * basis[j * n + c];
                turned[i * n + c] = sum;
            }
        nh_svd_free(&svd);
        if (!ok)
            return false;
        if (*m == n)
            s->kernel = n - rank;
        if (rank == *m)
            return true;
        memcpy(basis, turned, (size_t)(*m * n) * sizeof *basis);
        *m = rank;
    }
    return true;
}

static bool comes_before(double complex a, double complex b)
{
    const double difference = creal(a) - creal(b);
    if (fabs(difference) > 1e-12 * (cabs(a) + cabs(b)))
        return difference > 0;
    const double ia = fabs(cimag(a)), ib = fabs(cimag(b));
    return ia != ib ? ia > ib : cimag(a) > cimag(b);
}

static void sort(const nh_eigen *e, int *order)
{
    for (int i = 0; i < e->n; i++) {
        int j = i;
        for (; j > 0 && comes_before(e->value[i], e->value[order[j - 1]]); j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

/* Lifts the eigenvectors of the compressed matrix; `split` are the rows of the basis that were
 * split off, times the matrix. */
static void lift(nh_spectrum *s, const double *split, const double *basis, const nh_eigen *e,
                 int from, int to)
{
    const int n = s->n, m = e->n;
    double complex *right = s->right + to * n, *left = s->left + to * n, product = 0;
    const double complex value = e->value[from];
    for (int c = 0; c < n; c++) {
        right[c] = left[c] = 0;
        for (int j = 0; j < m; j++) {
            right[c] += e->right[from * m + j] * basis[j * n + c];
            left[c] += conj(e->left[from * m + j]) * basis[j * n + c];
        }
    }
    /* those split off last first: an earlier part is affected by the later ones */
    for (int i = m; i < n; i++) {
        double complex sum = 0;
        for (int c = 0; c < n; c++)
            sum += split[(i - m) * n + c] * right[c];
        for (int c = 0; c < n; c++)
            right[c] += sum / value * basis[i * n + c];
    }
    for (int c = 0; c < n; c++)
        product += left[c] * right[c];
    for (int c = 0; c < n; c++)
        left[c] /= product;
}

/* What rounding does to an eigenvalue: the condition number says so, unless it meets others, k in
 * all; then it is the k-th root of rounding. */
static double error_of(const nh_spectrum *s, int index)
{
    int k = 0;
    for (int i = 0; i < s->count; i++)
        k += cabs(s->value[i] - s->value[index]) <= 1e-4 * s->size;
    const double most = pow(DBL_EPSILON, 1.0 / (k > 2 ? k : 2));
    return s->size * fmin(DBL_EPSILON * s->condition[index], most);
}

static bool find_others(nh_spectrum *s, const double *a, const double *basis, double *work, int m)
{
    nh_eigen e = {0};
    int *order = malloc(((size_t)m + 1) * sizeof *order);
    compress(s->n, m, a, basis, work + m * m, work);
    const bool ok = order && nh_eigen_find(&e, m, work);
    apply_left(s->n, s->n - m, basis + m * s->n, a, work);
    if (ok) {
        sort(&e, order);
        s->count = m;
        for (int i = 0; i < m; i++) {
            s->value[i] = e.value[order[i]];
            s->condition[i] = e.condition[order[i]];
            lift(s, work, basis, &e, order[i], i);
        }
        for (int i = 0; i < m; i++)
            s->error[i] = error_of(s, i);
    }
    nh_eigen_free(&e);
    free(order);
    return ok;
}

bool nh_spectrum_find(nh_spectrum *out, int n, const double *a, int zeros)
{
    const size_t N = (size_t)n;
    *out = (nh_spectrum){.n = n};
    out->value = calloc(N + 2 * N * N + 1, sizeof *out->value);
    out->condition = calloc(2 * N + N * N + 1, sizeof *out->condition);
    double *basis = calloc(3 * N * N + 1, sizeof *basis);
    bool ok = out->value && out->condition && basis;
    if (ok) {
        int m;
        out->right = out->value + N;
        out->left = out->right + N * N;
        out->error = out->condition + N;
        out->null = out->error + N;
        ok = split(out, a, zeros, basis, basis + N * N, &m);
        if (ok && out->kernel > 0)
            memcpy(out->null, basis + (n - out->kernel) * n,
                   (size_t)(out->kernel * n) * sizeof *basis);
        out->zeros = n - m;
        ok = ok && find_others(out, a, basis, basis + N * N, m);
    }
    free(basis);
    return ok;
}

/* The largest eigenvalue if it is far from 1, as a power of two; otherwise 1. Below 1e-7 it may be
 * round-off: the square root of that of an entry. */
static bool find_pace(int n, const double *a, double *pace)
{
    nh_eigen e;
    const bool ok = nh_eigen_find(&e, n, a);
    double most = 0;
    for (int i = 0; i < n && ok; i++)
        most = fmax(most, cabs(e.value[i]));
    *pace = most > 1e3 || (most > 1e-7 && most < 1e-3) ? exp2(rint(log2(most))) : 1;
    nh_eigen_free(&e);
    return ok && isfinite(*pace);
}

/* Vectors with velocities in the unit of the caller; those of the null space keep the length 1. */
static void restore_unit(nh_spectrum *s, const bool *velocity, double pace)
{
    for (int c = 0; c < s->n; c++) {
        const double unit = velocity[c] ? pace : 1;
        for (int i = 0; i < s->count; i++) {
            s->right[i * s->n + c] *= unit;
            s->left[i * s->n + c] /= unit;
        }
        for (int i = 0; i < s->kernel; i++)
            s->null[i * s->n + c] *= unit;
    }
    for (int i = 0; i < s->kernel; i++) {
        double square = 0;
        for (int c = 0; c < s->n; c++)
            square += s->null[i * s->n + c] * s->null[i * s->n + c];
        for (int c = 0; c < s->n; c++)
            s->null[i * s->n + c] /= sqrt(square);
    }
}

bool nh_spectrum_of_motion(nh_spectrum *out, int n, const double *a, const bool *velocity,
                           int zeros)
{
    double pace, *scaled = malloc(((size_t)n * (size_t)n + 1) * sizeof *scaled);
    *out = (nh_spectrum){.n = n};
    bool ok = scaled && find_pace(n, a, &pace);
    for (int r = 0; r < n && ok; r++)
        for (int c = 0; c < n; c++)
            scaled[r * n + c] = a[r * n + c] * (velocity[c] ? pace : 1) / (velocity[r] ? pace : 1);
    ok = ok && nh_spectrum_find(out, n, scaled, zeros);
    if (ok && pace != 1)
        restore_unit(out, velocity, pace);
    free(scaled);
    return ok;
}

void nh_spectrum_free(nh_spectrum *s)
{
    free(s->value);
    free(s->condition);
    *s = (nh_spectrum){0};
}

double complex nh_spectrum_rate(const nh_spectrum *s, int index, const double *change)
{
    double complex sum = 0;
    const int n = s->n;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            sum += s->left[index * n + r] * change[r * n + c] * s->right[index * n + c];
    return sum;
}
