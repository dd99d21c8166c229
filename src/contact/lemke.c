/* Lemke's method: w - m z - z0 1 = q, pivoted from z0 large until z0 leaves the basis. */
#include "contact/lemke.h"

#include <math.h>

#define ROUNDING 1e-12

/* Columns of the tableau: w (0 to n - 1), z (n to 2n - 1), z0 (2n), the right-hand side (2n + 1).
 * The columns of w are the inverse of the basis, which lexicographic comparisons need. */

static void pivot(int n, double *t, int row, int column)
{
    int width = 2 * n + 2;
    double *p = t + row * width, factor = 1 / p[column];
    for (int j = 0; j < width; j++)
        p[j] *= factor;
    for (int i = 0; i < n; i++) {
        double f = t[i * width + column];
        if (i == row || f == 0)
            continue;
        for (int j = 0; j < width; j++)
            t[i * width + j] -= f * p[j];
        t[i * width + column] = 0;
    }
}

/* Whether row a of the tableau, divided by its entry in the column, comes before row b. Entries are
 * of size 1, up to rounding. */
static bool comes_before(int n, const double *t, int a, int b, int column)
{
    int width = 2 * n + 2;
    double fa = 1 / t[a * width + column], fb = 1 / t[b * width + column];
    for (int j = -1; j < n; j++) { /* the right-hand side, then the inverse of the basis */
        int place = j < 0 ? width - 1 : j;
        double x = t[a * width + place] * fa, y = t[b * width + place] * fb;
        if (fabs(x - y) > ROUNDING * (fa + fb + fabs(x) + fabs(y)))
            return x < y;
    }
    return false;
}

/* The row that leaves when a column enters; z0 if it may. -1: none, a ray. */
static int leaving_row(int n, const double *t, const int *basis, int column)
{
    int width = 2 * n + 2, found = -1;
    for (int i = 0; i < n; i++) {
        if (t[i * width + column] <= ROUNDING)
            continue;
        if (found < 0 || comes_before(n, t, i, found, column))
            found = i;
    }
    if (found < 0)
        return -1;
    double factor = 1 / t[found * width + column], least = t[found * width + width - 1] * factor;
    for (int i = 0; i < n; i++) { /* z0 leaves as soon as it can */
        double entry = t[i * width + column], own = t[i * width + width - 1];
        if (basis[i] == 2 * n && entry > ROUNDING &&
            own / entry <= least + ROUNDING * (1 / entry + factor + fabs(least)))
            return i;
    }
    return found;
}

bool nh_lemke(int n, const double *m, const double *q, double *z, double *room, int *basis)
{
    int width = 2 * n + 2, lowest = 0;
    double *t = room, size = 0;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(q[i]));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            t[i * width + j] = i == j;
            t[i * width + n + j] = -m[i * n + j];
        }
        t[i * width + 2 * n] = -1;
        t[i * width + 2 * n + 1] = size > 0 ? q[i] / size : 0;
        basis[i] = i;
        z[i] = 0;
        if (q[i] < q[lowest])
            lowest = i;
    }
    if (n == 0 || q[lowest] >= 0)
        return true;
    pivot(n, t, lowest, 2 * n);
    basis[lowest] = 2 * n;
    int entering = n + lowest;
    for (int round = 0; round < 100 + 50 * n; round++) {
        int row = leaving_row(n, t, basis, entering);
        if (row < 0)
            return false;
        int left = basis[row];
        pivot(n, t, row, entering);
        basis[row] = entering;
        if (left == 2 * n) {
            for (int i = 0; i < n; i++)
                if (basis[i] >= n && basis[i] < 2 * n)
                    z[basis[i] - n] = size * fmax(t[i * width + width - 1], 0);
            return true;
        }
        entering = left < n ? n + left : left - n;
    }
    return false;
}
