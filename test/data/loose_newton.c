/* A possible origin of the random walk in figure 5(b) of "A nonholonomic Newmark method": the
 * composition of two Newmark steps (proposition 3.8) on the pendulum-driven CVT, eps = 0.1, with
 * Newton's method stopped early. Written apart from the library; prints, for several tolerances,
 * the error of the driver's energy (means over 30 units of time: the least, the greatest, the
 * largest change from one to the next) and how many iterations a step took.
 *
 *     cc -O2 -o loose_newton test/data/loose_newton.c -lm && ./loose_newton
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, D = 2 * N + 2 };
static const double EPS = 0.1;

static void gradient(const double *q, double *g)
{
    g[0] = q[0];
    g[1] = q[1];
    g[2] = -sin(q[2]) - EPS * cos(2 * q[2]);
}

static void row(const double *q, double *A)
{
    A[0] = sin(q[2]);
    A[1] = 1;
    A[2] = 0;
}

static double driver_energy(const double *q, const double *v)
{
    return v[2] * v[2] / 2 + cos(q[2]) - EPS * sin(2 * q[2]) / 2;
}

/* The residuals of the equations of one step F(0, 0, alpha) at x = (q1, v1, l0, l1). */
static void gap(const double *q0, const double *v0, double h, double alpha, const double *x,
                double *r)
{
    const double *q1 = x, *v1 = x + N;
    double g0[N], g1[N], A0[N], A1[N], A[N], between[N];
    gradient(q0, g0);
    gradient(q1, g1);
    row(q0, A0);
    row(q1, A1);
    for (int i = 0; i < N; i++)
        between[i] = (1 - alpha) * q0[i] + alpha * q1[i];
    row(between, A);
    r[2 * N] = r[2 * N + 1] = 0;
    for (int i = 0; i < N; i++) {
        r[i] = q1[i] - q0[i] - h * v0[i] - h * h / 2 * (-g0[i] + A0[i] * x[2 * N]);
        r[N + i] = q0[i] - q1[i] + h * v1[i] - h * h / 2 * (-g1[i] + A1[i] * x[2 * N + 1]);
        r[2 * N] += A[i] * (q1[i] - q0[i]) / h;
        r[2 * N + 1] += A1[i] * v1[i];
    }
}

/* a x = b by elimination with pivots; b becomes x. */
static void solve(double a[D][D], double *b)
{
    for (int c = 0; c < D; c++) {
        int p = c;
        for (int i = c + 1; i < D; i++)
            p = fabs(a[i][c]) > fabs(a[p][c]) ? i : p;
        for (int j = 0; j < D; j++) {
            double t = a[c][j];
            a[c][j] = a[p][j];
            a[p][j] = t;
        }
        double t = b[c];
        b[c] = b[p];
        b[p] = t;
        for (int i = c + 1; i < D; i++) {
            double f = a[i][c] / a[c][c];
            for (int j = c; j < D; j++)
                a[i][j] -= f * a[c][j];
            b[i] -= f * b[c];
        }
    }
    for (int i = D - 1; i >= 0; i--) {
        for (int j = i + 1; j < D; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

/* One step from the state that x begins with; until the residual is below the tolerance. */
static int step(double *q, double *v, double *l, double h, double alpha, double tolerance)
{
    double x[D], r[D], up[D], a[D][D];
    int iterations = 0;
    memcpy(x, q, N * sizeof *x);
    memcpy(x + N, v, N * sizeof *x);
    x[2 * N] = l[0];
    x[2 * N + 1] = l[1];
    for (; iterations < 30; iterations++) {
        double most = 0;
        gap(q, v, h, alpha, x, r);
        for (int i = 0; i < D; i++)
            most = fmax(most, fabs(r[i]));
        if (most < tolerance)
            break;
        for (int j = 0; j < D; j++) {
            const double e = 1e-7, kept = x[j];
            x[j] = kept + e;
            gap(q, v, h, alpha, x, up);
            x[j] = kept - e;
            double down[D];
            gap(q, v, h, alpha, x, down);
            x[j] = kept;
            for (int i = 0; i < D; i++)
                a[i][j] = (up[i] - down[i]) / (2 * e);
        }
        solve(a, r);
        for (int i = 0; i < D; i++)
            x[i] -= r[i];
    }
    memcpy(q, x, N * sizeof *x);
    memcpy(v, x + N, N * sizeof *x);
    l[0] = x[2 * N];
    l[1] = x[2 * N + 1];
    return iterations;
}

int main(void)
{
    const double tolerances[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-13}, h = 0.05;
    for (int i = 0; i < 8; i++) {
        double q[N] = {1, 1, 0}, v[N] = {0, 0, 2.82842712}, l[2][2] = {{0}}, sum = 0;
        double first = driver_energy(q, v), least = 1, greatest = -1, last = NAN, jump = 0;
        long iterations = 0, steps = 150000, window = 600;
        for (long s = 1; s <= steps; s++) {
            iterations += step(q, v, l[0], h / 2, 0, tolerances[i]);
            iterations += step(q, v, l[1], h / 2, 1, tolerances[i]);
            sum += driver_energy(q, v) - first;
            if (s % window)
                continue;
            double mean = sum / window;
            least = fmin(least, mean);
            greatest = fmax(greatest, mean);
            jump = isnan(last) ? 0 : fmax(jump, fabs(mean - last));
            last = mean;
            sum = 0;
        }
        printf(
            "tolerance %.0e: means of the driver's energy error %.2e to %.2e, last %.2e, largest "
            "change %.1e; %.2f iterations a half step\n",
            tolerances[i], least, greatest, last, jump, (double)iterations / steps / 2);
    }
    return 0;
}
