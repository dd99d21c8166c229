/* Fills the table of collocation.c; included by its descriptor. */
#ifndef NH_METHOD_COLLOCATION_TABLE_H
#define NH_METHOD_COLLOCATION_TABLE_H

#include <math.h>
#include <string.h>

#include "base/dense.h"
#include "base/quadrature.h"
#include "method/collocation-rules.h"

enum { STAGES_MAX = 8, RULE_POINTS_MAX = 24, EXTRAPOLATED_MAX = 6, CONTINUED_MAX = 5 };

static int stages(const double *option)
{
    return (int)option[0];
}

static size_t table_size(const double *option)
{
    size_t s = (size_t)stages(option), size = 2 * s * s + 2 * s + s * (2 * s + 2);
    for (int rule = 0; rule < RULES; rule++)
        size += 2 * s * (size_t)rule_points((int)s, (int)option[2], rule);
    return size;
}

/* Rounding must not violate b_i a_ij + b_j a_ji = b_i b_j, because then the energy drifts by 1e-18
 * per step. The smaller one of the two coefficients has enough digits to correct this. */
static void keep_squares(int s, const double *b, double *a)
{
    for (int i = 0; i < s; i++) {
        a[i * s + i] = b[i] / 2;
        for (int j = i + 1; j < s; j++)
            a[i * s + j] = (double)(b[j] - (nh_extended)b[j] * a[j * s + i] / b[i]);
    }
}

/* Nor may rounding make the two halves of a step differ: if they are alike, its effect has no
 * preferred sign. */
static void mirror_rule(int s, const double *b, int points, double *A, double *G)
{
    for (int p = 0, q = points - 1; p < q; p++, q--)
        for (int j = 0; j < s; j++) {
            A[p * s + j] = b[j] - A[q * s + s - 1 - j];
            G[j * points + p] = G[(s - 1 - j) * points + q];
        }
}

/* A rule with s points has those of the stages. */
static double *write_rule(int s, const double *c, const double *b, const double *a, int points,
                          double *A)
{
    double t[RULE_POINTS_MAX], w[RULE_POINTS_MAX], l[RULE_POINTS_MAX * STAGES_MAX];
    double *G = A + points * s;
    nh_gauss_nodes(points, t, w);
    nh_lagrange(s, c, points, t, l);
    nh_lagrange_integrals(s, c, points, t, A);
    for (int p = 0; p < points; p++)
        for (int j = 0; j < s; j++)
            G[j * points + p] = w[p] * l[p * s + j] / b[j];
    if (points == s)
        memcpy(A, a, (size_t)(s * s) * sizeof *A);
    else
        mirror_rule(s, b, points, A, G);
    return G + s * points;
}

/* The functions for which F is exact: velocities that are a polynomial of degree s + 1 in the time
 * t, plus, at stages, `error` times another polynomial, of degree s - 1. */
static void continued(int s, double t, double error, double *value, int apart)
{
    for (int e = 0; e < 2 * s + 2; e++)
        value[e * apart] = e < s + 2 ? pow(1 + t, e) : error * pow(1 + t, e - s - 2);
}

/* F: weights of the velocities at c_j - 1, -1, c_j - 2 and 0 for those at c_i. The velocities at
 * stages have an error that varies smoothly from step to step but not from stage to stage: since
 * the path has degree s, it is a multiple of int_0^c_i P_s, which at Gauss nodes is a multiple of
 * P_(s-1)(c_i), with Legendre polynomials on [0, 1]. With many stages nothing is extrapolated:
 * polynomials of high degree grow too fast outside their interval. */
static void continue_velocities(int s, const double *c, double *F)
{
    enum { MOST = 2 * CONTINUED_MAX + 2 };
    double matrix[MOST * MOST];
    int pivot[MOST], past = 2 * s + 2;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < past; j++)
            F[i * past + j] = j == past - 1;
    if (s > CONTINUED_MAX)
        return;
    for (int j = 0; j < s; j++) {
        const double error = nh_legendre(s - 1, c[j]);
        continued(s, c[j] - 1, error, matrix + j, past);
        continued(s, c[j] - 2, error, matrix + s + 1 + j, past);
        continued(s, c[j], error, F + j * past, 1);
    }
    continued(s, -1, 0, matrix + s, past);
    continued(s, 0, 0, matrix + past - 1, past);
    nh_dense_factor(past, matrix, pivot);
    for (int i = 0; i < s; i++)
        nh_dense_solve(past, matrix, pivot, F + i * past);
}

static void table(const double *option, double *out)
{
    const int s = stages(option);
    const double middle = 0.5;
    double c[STAGES_MAX], next[STAGES_MAX], *a = out, *b = a + s * s, *E = b + s, *half = E + s * s,
                                            *F = half + s, *rule = F + s * (2 * s + 2);
    nh_gauss_nodes(s, c, b);
    nh_collocation(s, c, a);
    keep_squares(s, b, a);
    for (int i = 0; i < s; i++)
        next[i] = 1 + c[i];
    nh_lagrange(s, c, s, next, E);
    if (s > EXTRAPOLATED_MAX)
        for (int i = 0; i < s * s; i++)
            E[i] = i % s == s - 1;
    nh_lagrange_integrals(s, c, 1, &middle, half);
    continue_velocities(s, c, F);
    for (int i = 0; i < RULES; i++)
        rule = write_rule(s, c, b, a, rule_points(s, (int)option[2], i), rule);
}

#endif
