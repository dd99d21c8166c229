/* Fills the table of gauss-lobatto.c; included by its descriptor. */
#ifndef NH_METHOD_GAUSS_LOBATTO_TABLE_H
#define NH_METHOD_GAUSS_LOBATTO_TABLE_H

#include "base/dense.h"
#include "base/quadrature.h"
#include "method/gauss-lobatto.h"
#include "method/method.h"

enum { GAUSS_LOBATTO_STAGES_MAX = 10, GAUSS_LOBATTO_TERMS_MAX = 5 };

static inline double gauss_lobatto_power(double x, int m)
{
    double product = 1;
    while (m-- > 0)
        product *= x;
    return product;
}

/* Weights of values at the nodes for extrapolation: fits a polynomial with few terms x^first,
 * x^(first+1), ... and gives its value at `at`, or its rise from 1 to there. */
static inline void gauss_lobatto_continue(int count, const double *node, int first, double at,
                                          bool rise, double *weight)
{
    int terms = count < GAUSS_LOBATTO_TERMS_MAX ? count : GAUSS_LOBATTO_TERMS_MAX;
    int pivot[GAUSS_LOBATTO_TERMS_MAX];
    double normal[GAUSS_LOBATTO_TERMS_MAX * GAUSS_LOBATTO_TERMS_MAX] = {0};
    double value[GAUSS_LOBATTO_TERMS_MAX];
    for (int m = 0; m < terms; m++) {
        value[m] = gauss_lobatto_power(at, first + m) - rise;
        for (int l = 0; l < terms; l++)
            for (int j = 0; j < count; j++)
                normal[m * terms + l] += gauss_lobatto_power(node[j], 2 * first + m + l);
    }
    nh_dense_factor(terms, normal, pivot);
    nh_dense_solve(terms, normal, pivot, value);
    for (int j = 0; j < count; j++) {
        weight[j] = 0;
        for (int m = 0; m < terms; m++)
            weight[j] += value[m] * gauss_lobatto_power(node[j], first + m);
    }
}

static inline void gauss_lobatto_continuations(int s, gauss_lobatto_layout at, double *out)
{
    double point[GAUSS_LOBATTO_STAGES_MAX + 1]; /* the stages, and the end */
    const double *c = out + at.c, *ct = out + at.ct;
    for (int i = 0; i <= s; i++)
        point[i] = i < s ? c[i] : 1;
    for (int i = 0; i <= s; i++) {
        gauss_lobatto_continue(s + 1, point, 1, 1 + point[i], true, out + at.ex + i * (s + 1));
        gauss_lobatto_continue(s + 1, ct, 0, 1 + ct[i], false, out + at.emu + i * (s + 1));
        if (i < s)
            gauss_lobatto_continue(s, c, 0, 1 + c[i], false, out + at.epsi + i * s);
    }
}

static inline void gauss_lobatto_table(const double *option, double *out)
{
    const int s = (int)option[0], nodes = 2 * s + 1;
    const gauss_lobatto_layout at = gauss_lobatto_layout_of(s);
    double *c = out + at.c, *a = out + at.a, *b = a + s * s, *ct = out + at.ct;
    double *abar = out + at.abar, *r = out + at.r, *on_g = out + at.on_g;
    double bt[GAUSS_LOBATTO_STAGES_MAX + 1];
    nh_gauss_table(s, c, b, a);
    nh_lobatto_nodes(s + 1, ct, bt);
    nh_lagrange_integrals(s, c, s + 1, ct, abar);
    for (int i = 0; i <= s; i++) {
        for (int j = 0; j < s; j++)
            r[i * nodes + j] = a[i * s + j];
        for (int j = 0; j <= s; j++)
            r[i * nodes + s + j] = i < s ? bt[j] * (1 - abar[j * s + i] / b[i]) : bt[j];
    }
    for (int i = 0; i < s - 1; i++)
        for (int j = 0; j < s; j++)
            out[at.moment + i * s + j] = b[j] * nh_legendre(i, c[j]);
    for (int i = 1; i <= s; i++)
        for (int j = 0; j < nodes; j++) {
            double sum = 0;
            for (int l = 0; l < s; l++)
                sum += abar[i * s + l] * r[l * nodes + j];
            on_g[(i - 1) * nodes + j] = sum;
        }
    gauss_lobatto_continuations(s, at, out);
}

#endif
