/* Computed in long double and rounded once. */
#include "base/quadrature.h"

#include <math.h>

#define STAGES_MAX 64

/* P_s and its derivative on [-1, 1] by the three-term recurrence. */
static long double legendre(int s, long double x, long double *derivative)
{
    long double before = 1, now = x;
    if (s == 0) {
        *derivative = 0;
        return 1;
    }
    for (int k = 2; k <= s; k++) {
        long double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
        before = now;
        now = next;
    }
    *derivative = fabsl(x) < 1 ? s * (x * now - before) / (x * x - 1)
                               : (x > 0 || s % 2 ? 1 : -1) * s * (s + 1) / 2.0L;
    return now;
}

double nh_legendre(int degree, double x)
{
    long double derivative;
    return (double)legendre(degree, 2 * (long double)x - 1, &derivative);
}

void nh_gauss_nodes(int s, double *c, double *b)
{
    for (int i = 0; i < s; i++) {
        long double x = -cosl(3.14159265358979323846L * (i + 0.75L) / (s + 0.5L)), slope, step;
        int turns = 0;
        do {
            step = legendre(s, x, &slope) / slope;
            x -= step;
        } while (fabsl(step) > 1e-18L && ++turns < 50);
        legendre(s, x, &slope);
        c[i] = (double)((1 + x) / 2);
        b[i] = (double)(1 / ((1 - x * x) * slope * slope));
    }
    if (s % 2)
        c[s / 2] = 0.5;
}

static long double basis(int s, const double *c, int j, long double x)
{
    long double product = 1;
    for (int k = 0; k < s; k++)
        if (k != j)
            product *= (x - c[k]) / ((long double)c[j] - c[k]);
    return product;
}

void nh_collocation(int s, const double *c, double *a)
{
    /* A Gauss rule with s nodes integrates the basis polynomials exactly. */
    double node[STAGES_MAX], weight[STAGES_MAX];
    nh_gauss_nodes(s, node, weight);
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++) {
            long double sum = 0;
            for (int k = 0; k < s; k++)
                sum += weight[k] * basis(s, c, j, (long double)c[i] * node[k]);
            a[i * s + j] = (double)(c[i] * sum);
        }
}

void nh_lagrange(int s, const double *c, int points, const double *x, double *value)
{
    for (int i = 0; i < points; i++)
        for (int j = 0; j < s; j++)
            value[i * s + j] = (double)basis(s, c, j, x[i]);
}
