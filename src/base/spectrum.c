/* A mean size of the eigenvalues, from traces of powers. A sum of absolute values would have kinks
 * where two real eigenvalues meet and become a complex pair; traces have none. */
#include "base/spectrum.h"

#include <math.h>
#include <stdbool.h>

#define AT(i, j) a[(i)*n + (j)]

enum { SWEEPS_MAX = 20 };

/* Scales row and column i by powers of two, which causes no rounding. Returns whether that reduced
 * their norms (Osborne; Parlett & Reinsch 1969). */
static bool balance_one(int n, double *a, int i)
{
    double row = 0, column = 0, factor = 1;
    for (int j = 0; j < n; j++)
        if (j != i) {
            row += fabs(AT(i, j));
            column += fabs(AT(j, i));
        }
    if (row == 0 || column == 0 || !isfinite(row + column))
        return false;
    const double before = row + column, least = row / 2, most = row * 2;
    for (; column < least && factor < 0x1p500; factor *= 2)
        column *= 4;
    for (; column >= most && factor > 0x1p-500; factor /= 2)
        column /= 4;
    if ((column + row) / factor >= 0.95 * before)
        return false;
    for (int j = 0; j < n; j++) {
        AT(i, j) /= factor;
        AT(j, i) *= factor;
    }
    return true;
}

static void balance(int n, double *a)
{
    bool changed = true;
    for (int sweep = 0; changed && sweep < SWEEPS_MAX; sweep++) {
        changed = false;
        for (int i = 0; i < n; i++)
            changed |= balance_one(n, a, i);
    }
}

static void square(int n, const double *a, double *out)
{
    for (int i = 0; i < n * n; i++)
        out[i] = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (AT(i, k) != 0)
                for (int j = 0; j < n; j++)
                    out[i * n + j] += AT(i, k) * AT(k, j);
}

/* tr AB */
static double trace_of(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += AT(i, j) * b[j * n + i];
    return sum;
}

static double power(double x, int k)
{
    double product = 1;
    while (k-- > 0)
        product *= x;
    return product;
}

double nh_spectral_size(int n, double *a, double *space)
{
    double *second = space, *fourth = space + n * n, s2 = 0;
    balance(n, a);
    square(n, a, second);
    square(n, second, fourth);
    for (int i = 0; i < n; i++)
        s2 += second[i * n + i];
    const double s4 = trace_of(n, second, second), s6 = trace_of(n, second, fourth);
    const double unit = fmax(sqrt(fabs(s2)), fmax(sqrt(sqrt(fabs(s4))), cbrt(sqrt(fabs(s6)))));
    if (!(unit > 0) || !isfinite(s2 + s4 + s6))
        return isfinite(s2 + s4 + s6) ? 0 : NAN;
    const double a2 = s2 / power(unit, 2), a4 = s4 / power(unit, 4), a6 = s6 / power(unit, 6);
    return unit * pow(power(a2, 12) + power(a4, 6) + power(a6, 4), 1.0 / 24);
}
