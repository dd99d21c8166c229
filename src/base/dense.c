/* LU factorisation with partial pivoting, solution, rank and eigenvalues of small dense matrices.
 */
#include "base/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void swap_rows(double *a, int columns, int i, int j)
{
    for (int c = 0; i != j && c < columns; c++) {
        double x = a[i * columns + c];
        a[i * columns + c] = a[j * columns + c];
        a[j * columns + c] = x;
    }
}

bool nh_dense_factor(int n, double *a, int *pivot)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k]))
                best = i;
        pivot[k] = best;
        swap_rows(a, n, k, best);
        if (!(fabs(a[k * n + k]) > 0))
            return false;
        for (int i = k + 1; i < n; i++) {
            double l = a[i * n + k] /= a[k * n + k];
            for (int j = k + 1; l != 0 && j < n; j++)
                a[i * n + j] -= l * a[k * n + j];
        }
    }
    return true;
}

void nh_dense_solve(int n, const double *lu, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) {
        double y = x[pivot[k]];
        x[pivot[k]] = x[k];
        x[k] = y;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            x[i] -= lu[i * n + j] * x[j];
    for (int i = n; i-- > 0;) {
        for (int j = i + 1; j < n; j++)
            x[i] -= lu[i * n + j] * x[j];
        x[i] /= lu[i * n + i];
    }
}

bool nh_dense_cholesky(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        double whole = a[i * n + i];
        for (int j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int c = 0; c < j; c++)
                sum -= a[i * n + c] * a[j * n + c];
            if (j < i)
                a[i * n + j] = sum / a[j * n + j];
            else if (sum > 1e-14 * whole) /* relative, so that units do not matter */
                a[i * n + i] = sqrt(sum);
            else
                return false;
        }
        for (int j = i + 1; j < n; j++)
            a[i * n + j] = 0;
    }
    return true;
}

void nh_dense_cholesky_solve(int n, const double *l, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= l[i * n + j] * x[j];
        x[i] /= l[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        for (int j = 0; j < i; j++)
            x[j] -= l[i * n + j] * x[i];
    }
}

#ifndef NH_PRECISE /* only the above is compiled once more (kernel/quadruple.h) */

/* The largest of `count` numbers, `stride` apart, without its sign. */
static double largest_of(const double *a, int count, int stride)
{
    double largest = 0;
    for (int i = 0; i < count; i++) {
        double size = fabs(a[(long)i * stride]);
        largest = size > largest ? size : largest; /* fmax is a call */
    }
    return largest;
}

/* Divides `count` numbers, `stride` apart, by a power of two near the largest. */
static void bring_to_one(double *a, int count, int stride)
{
    const double largest = largest_of(a, count, stride);
    int exponent;
    if (!(largest > 0) || !isfinite(largest))
        return;
    frexp(largest, &exponent);
    for (int i = 0; i < count; i++)
        a[(long)i * stride] = ldexp(a[(long)i * stride], -exponent);
}

static void equilibrate(int rows, int columns, double *a)
{
    enum { SWEEPS = 4 };
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < rows; i++)
            bring_to_one(a + (long)i * columns, columns, 1);
        for (int j = 0; j < columns; j++)
            bring_to_one(a + j, rows, columns);
    }
}

/* Brings the largest entry of row i to the column of that number. */
static void pivot_to_diagonal(int rows, int columns, double *a, int i)
{
    int pivot = i;
    for (int j = i + 1; j < columns; j++)
        pivot = fabs(a[i * columns + j]) > fabs(a[i * columns + pivot]) ? j : pivot;
    for (int r = 0; r < rows; r++) {
        double *row = a + r * columns, kept = row[i];
        row[i] = row[pivot];
        row[pivot] = kept;
    }
}

int nh_dense_rank(int rows, int columns, double *a, double tolerance, int *dependent)
{
    int rank = 0;
    equilibrate(rows, columns, a);
    if (dependent)
        *dependent = -1;
    /* Each row in turn is reduced by the pivots found so far, which are on the diagonal; how much
     * of it remains, compared with the original row, tells whether it is independent. Pivots are
     * taken from earlier rows first, so the dependent row reported is a later one. */
    for (int i = 0; i < rows; i++) {
        double *row = a + i * columns;
        const double size = largest_of(row, columns, 1);
        for (int r = 0; r < rank; r++) {
            const double *done = a + r * columns, l = row[r] / done[r];
            for (int j = r + 1; l != 0 && j < columns; j++)
                row[j] -= l * done[j];
            row[r] = 0;
        }
        if (largest_of(row, columns, 1) > tolerance * size) {
            swap_rows(a, columns, rank, i);
            pivot_to_diagonal(rows, columns, a, rank++);
        } else if (dependent && *dependent < 0)
            *dependent = i;
    }
    return rank;
}

bool nh_dense_largest_first(int n, int done, double least, double *a, int *order, int *row)
{
    int column = *row = done;
    double largest = 0;
    for (int i = done; i < n; i++)
        for (int j = done; j < n; j++)
            if (fabs(a[i * n + j]) > largest) {
                largest = fabs(a[i * n + j]);
                *row = i;
                column = j;
            }
    if (!(largest > least))
        return false;
    swap_rows(a, n, done, *row);
    for (int i = 0; i < n; i++) {
        const double kept = a[i * n + done];
        a[i * n + done] = a[i * n + column];
        a[i * n + column] = kept;
    }
    const int kept = order[done];
    order[done] = order[column];
    order[column] = kept;
    return true;
}

/* Rotates rows and columns i and j so that a_ij vanishes (Jacobi). */
static void rotate(int n, double *a, double *vector, int i, int j)
{
    double off = a[i * n + j], gap = (a[j * n + j] - a[i * n + i]) / (2 * off);
    double tangent = (gap < 0 ? -1 : 1) / (fabs(gap) + hypot(gap, 1));
    double c = 1 / hypot(tangent, 1), s = tangent * c;
    for (int k = 0; k < n; k++) {
        double x = a[k * n + i], y = a[k * n + j];
        a[k * n + i] = c * x - s * y;
        a[k * n + j] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[i * n + k], y = a[j * n + k];
        a[i * n + k] = c * x - s * y;
        a[j * n + k] = s * x + c * y;
        x = vector[i * n + k], y = vector[j * n + k];
        vector[i * n + k] = c * x - s * y;
        vector[j * n + k] = s * x + c * y;
    }
}

void nh_dense_eigen(int n, double *a, double *value, double *vector)
{
    enum { SWEEPS = 30 };
    for (int i = 0; i < n * n; i++)
        vector[i] = i % (n + 1) == 0;
    bool rotated = true;
    for (int sweep = 0; sweep < SWEEPS && rotated; sweep++) {
        rotated = false;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                if (fabs(a[i * n + j]) > 1e-17 * sqrt(fabs(a[i * n + i] * a[j * n + j])) &&
                    fabs(a[i * n + j]) > 1e-300) {
                    rotate(n, a, vector, i, j);
                    rotated = true;
                }
    }
    for (int i = 0; i < n; i++)
        value[i] = a[i * n + i];
}

void nh_dense_multiply(int rows, int inner, int columns, const double *a, const double *b,
                       double *out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += a[i * inner + k] * b[k * columns + j];
            out[i * columns + j] = sum;
        }
}

/* The diagonal Pade approximant of order 13 has rounding errors only up to this norm. */
static const double pade_norm = 5.37;

/* out = the sum of c[k] a^(2k); `power` has a^2, a^4, a^6. */
static void add_powers(int n, const double *power, const double *c, double *out)
{
    const size_t N = (size_t)n * (size_t)n;
    memset(out, 0, N * sizeof *out);
    for (int i = 0; i < n; i++)
        out[i * n + i] = c[0];
    for (int k = 1; k <= 3; k++)
        for (size_t i = 0; i < N; i++)
            out[i] += c[k] * power[(size_t)(k - 1) * N + i];
}

/* Numerator and denominator of the approximant to exp(a); `room` is for 6 matrices. */
static void pade(int n, const double *a, double *room, double *numerator, double *denominator)
{
    /* of x^0, x^2, x^4, x^6 and x^6 times x^0, x^2, x^4, x^6; odd ones of x times these */
    static const double even[2][4] = {
        {64764752532480000., 7771770303897600., 129060195264000., 670442572800.},
        {0, 1323241920., 960960., 182.}};
    static const double odd[2][4] = {
        {32382376266240000., 1187353796428800., 10559470521600., 33522128640.},
        {0, 40840800., 16380., 1.}};
    const size_t N = (size_t)n * (size_t)n;
    double *power = room, *high = room + 3 * N, *low = room + 4 * N, *u = room + 5 * N;
    nh_dense_multiply(n, n, n, a, a, power);
    nh_dense_multiply(n, n, n, power, power, power + N);
    nh_dense_multiply(n, n, n, power, power + N, power + 2 * N);
    add_powers(n, power, odd[1], high);
    nh_dense_multiply(n, n, n, power + 2 * N, high, low);
    add_powers(n, power, odd[0], high);
    for (size_t i = 0; i < N; i++)
        high[i] += low[i];
    nh_dense_multiply(n, n, n, a, high, u);
    add_powers(n, power, even[1], high);
    nh_dense_multiply(n, n, n, power + 2 * N, high, low);
    add_powers(n, power, even[0], high);
    for (size_t i = 0; i < N; i++) {
        numerator[i] = high[i] + low[i] + u[i];
        denominator[i] = high[i] + low[i] - u[i];
    }
}

/* Solves denominator x = numerator for all columns. */
static bool divide(int n, double *denominator, const double *numerator, double *column, int *pivot,
                   double *out)
{
    if (!nh_dense_factor(n, denominator, pivot))
        return false;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++)
            column[i] = numerator[i * n + j];
        nh_dense_solve(n, denominator, pivot, column);
        for (int i = 0; i < n; i++)
            out[i * n + j] = column[i];
    }
    return true;
}

nh_status nh_dense_exponential(int n, const double *a, double *out)
{
    const size_t N = (size_t)n * (size_t)n;
    double norm = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += fabs(a[i * n + j]);
        norm = fmax(norm, sum);
    }
    double *room = malloc((9 * N + (size_t)n + 1) * sizeof *room);
    int *pivot = malloc(((size_t)n + 1) * sizeof *pivot);
    bool ok = room && pivot && norm < 1e4;
    if (ok) {
        double *scaled = room + 8 * N, *numerator = room + 6 * N, *denominator = room + 7 * N;
        int halvings = 0;
        for (; norm > pade_norm; norm /= 2)
            halvings++;
        for (size_t i = 0; i < N; i++)
            scaled[i] = ldexp(a[i], -halvings);
        pade(n, scaled, room, numerator, denominator);
        ok = divide(n, denominator, numerator, room + 9 * N, pivot, out);
        for (int k = 0; ok && k < halvings; k++) {
            memcpy(room, out, N * sizeof *room);
            nh_dense_multiply(n, n, n, room, room, out);
        }
    }
    const bool enough = room && pivot;
    free(room);
    free(pivot);
    return ok ? NH_OK : enough ? NH_NOT_FINITE : NH_NO_MEMORY;
}

#endif
