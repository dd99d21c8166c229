/* Elimination with exchanges of rows and columns, null spaces, and least distance programming. */
#include "contact/least.h"
#include "base/dense.h"

#include <math.h>
#include <string.h>

int nh_least_solve(int n, double *a, double *b, double singular, double *x, double *null,
                   double *mismatch, int *order)
{
    int rank = 0, row;
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (; rank < n && nh_dense_largest_first(n, rank, singular, a, order, &row); rank++) {
        const double swap = b[rank];
        b[rank] = b[row];
        b[row] = swap;
        for (int i = rank + 1; i < n; i++) {
            double f = a[i * n + rank] / a[rank * n + rank];
            for (int j = rank; j < n; j++)
                a[i * n + j] -= f * a[rank * n + j];
            b[i] -= f * b[rank];
        }
    }
    *mismatch = 0;
    for (int i = rank; i < n; i++)
        *mismatch = fmax(*mismatch, fabs(b[i]));
    int k = n - rank;
    for (int s = -1; s < k; s++) { /* the solution, then a null vector for each column left over */
        double *out = s < 0 ? x : null + s * n;
        for (int i = 0; i < n; i++)
            out[i] = 0;
        if (s >= 0)
            out[order[rank + s]] = 1;
        for (int i = rank - 1; i >= 0; i--) {
            double sum = s < 0 ? b[i] : -a[i * n + rank + s];
            for (int j = i + 1; j < rank; j++)
                sum -= a[i * n + j] * out[order[j]];
            out[order[i]] = sum / a[i * n + i];
        }
    }
    return k;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void nh_least_shorten(int n, int k, double *null, double *x)
{
    for (int s = 0; s < k; s++) {
        double *row = null + s * n;
        for (int pass = 0; pass < 2; pass++)
            for (int e = 0; e < s; e++) {
                double along = dot(n, row, null + e * n);
                for (int i = 0; i < n; i++)
                    row[i] -= along * null[e * n + i];
            }
        double length = sqrt(dot(n, row, row));
        for (int i = 0; i < n; i++)
            row[i] /= length;
        double along = dot(n, row, x);
        for (int i = 0; i < n; i++)
            x[i] -= along * row[i];
    }
}

/* Least squares over the columns of e [m][count] that are marked, by elimination of the normal
 * equations with orthogonalised columns (modified Gram-Schmidt). */
static void fit_marked(int m, int count, const double *e, const int *in, const double *f, double *u,
                       double *basis, double *triangle, int *column)
{
    int used = 0;
    for (int j = 0; j < count; j++) {
        u[j] = 0;
        if (!in[j] || used == m)
            continue;
        double *v = basis + used * m;
        for (int i = 0; i < m; i++)
            v[i] = e[i * count + j];
        double before = sqrt(dot(m, v, v));
        for (int s = 0; s < used; s++)
            triangle[s * (m + 1) + used] = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int s = 0; s < used; s++) {
                double along = dot(m, v, basis + s * m);
                triangle[s * (m + 1) + used] += along;
                for (int i = 0; i < m; i++)
                    v[i] -= along * basis[s * m + i];
            }
        double length = sqrt(dot(m, v, v));
        if (length <= 1e-13 * before)
            continue; /* depends on those before: it adds nothing */
        for (int i = 0; i < m; i++)
            v[i] /= length;
        triangle[used * (m + 1) + used] = length;
        column[used++] = j;
    }
    for (int s = used - 1; s >= 0; s--) {
        double sum = dot(m, basis + s * m, f);
        for (int t = s + 1; t < used; t++)
            sum -= triangle[s * (m + 1) + t] * u[column[t]];
        u[column[s]] = sum / triangle[s * (m + 1) + s];
    }
}

/* Nonnegative least squares: the u >= 0 with the least |e u - f|; `rest` gets e u - f. */
static void fit_nonnegative(int m, int count, const double *e, const double *f, double *u,
                            double *rest, double *room, int *in, int *column)
{
    double *trial = room, *basis = trial + count, *triangle = basis + m * m;
    for (int j = 0; j < count; j++) {
        u[j] = 0;
        in[j] = 0;
    }
    for (int round = 0; round <= 3 * (m + count); round++) {
        for (int i = 0; i < m; i++)
            rest[i] = dot(count, e + i * count, u) - f[i];
        int enter = -1;
        double steepest = 1e-14;
        for (int j = 0; j < count; j++) {
            double slope = 0, size = 0;
            for (int i = 0; i < m; i++) {
                slope -= e[i * count + j] * rest[i];
                size += e[i * count + j] * e[i * count + j];
            }
            if (!in[j] && slope > steepest * sqrt(size)) {
                steepest = slope / sqrt(size);
                enter = j;
            }
        }
        if (enter < 0)
            return;
        in[enter] = 1;
        for (int inner = 0; inner <= count; inner++) {
            fit_marked(m, count, e, in, f, trial, basis, triangle, column);
            double share = 1;
            for (int j = 0; j < count; j++)
                if (in[j] && trial[j] <= 0)
                    share = fmin(share, u[j] > 0 ? u[j] / (u[j] - trial[j]) : 0);
            for (int j = 0; j < count; j++)
                if (in[j])
                    u[j] += share * (trial[j] - u[j]);
            if (share == 1)
                break;
            for (int j = 0; j < count; j++)
                if (in[j] && u[j] <= 1e-300 + 1e-15 * fabs(trial[j]))
                    u[j] = in[j] = 0;
        }
    }
}

bool nh_least_point(int rows, int n, const double *g, const double *h, double *z, double *room,
                    int *marks)
{
    int m = n + 1;
    double *e = room, *f = e + m * rows, *u = f + m, *rest = u + rows, *more = rest + m;
    for (int j = 0; j < rows; j++) {
        for (int i = 0; i < n; i++)
            e[i * rows + j] = g[j * n + i];
        e[n * rows + j] = h[j];
    }
    memset(f, 0, m * sizeof *f);
    f[n] = 1;
    fit_nonnegative(m, rows, e, f, u, rest, more, marks, marks + rows);
    if (rest[n] > -1e-10) /* -1/(1 + |z|^2) at a solution */
        return false;
    for (int i = 0; i < n; i++)
        z[i] = -rest[i] / rest[n];
    return true;
}
