/* Nodes, weights and coefficients of collocation methods, computed in long double and rounded once;
 * those of quadruple precision in that. */
#include "base/quadrature.h"

#include <math.h>

/* Newton's method doubles the number of correct digits, so its first step below LAST_STEP is the
 * last. */
#ifdef NH_PRECISE
#define cosine_of nh_quadmath.cosq
#define LAST_STEP 1e-20
#else
#define cosine_of cosl
#define LAST_STEP 1e-12L
#endif

enum { STAGES_MAX = 64 };

/* P_s and its derivative on [-1, 1] by the three-term recurrence. */
static nh_extended legendre(int s, nh_extended x, nh_extended *derivative)
{
    nh_extended before = 1, now = x;
    if (s == 0) {
        *derivative = 0;
        return 1;
    }
    for (int k = 2; k <= s; k++) {
        nh_extended next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
        before = now;
        now = next;
    }
    *derivative = x < 1 && x > -1 ? s * (x * now - before) / (x * x - 1)
                                  : (x > 0 || s % 2 ? 1 : -1) * s * (s + 1) / 2.0L;
    return now;
}

double nh_legendre(int degree, double x)
{
    nh_extended derivative;
    return (double)legendre(degree, 2 * (nh_extended)x - 1, &derivative);
}

/* ---- nodes on [0, 1] and weights ---- */

static void gauss_nodes(int s, nh_extended *c, nh_extended *b)
{
    for (int i = 0; i < s; i++) {
        nh_extended x = -cosine_of(3.14159265358979323846L * (i + 0.75L) / (s + 0.5L)), slope, step;
        do {
            step = legendre(s, x, &slope) / slope;
            x -= step;
        } while (step > LAST_STEP || step < -LAST_STEP);
        if (2 * i + 1 == s)
            x = 0;
        legendre(s, x, &slope);
        c[i] = (1 + x) / 2;
        b[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

/* Both ends and the stationary points of P_(s-1); its second derivative is known from Legendre's
 * equation. */
static void lobatto_nodes(int s, nh_extended *c, nh_extended *b)
{
    int n = s - 1;
    for (int i = 0; i < s; i++) {
        nh_extended x = -cosine_of(3.14159265358979323846L * i / n), slope, step = 0, value;
        if (i == 0 || i == n)
            x = i ? 1 : -1;
        else
            do {
                value = legendre(n, x, &slope);
                step = slope * (1 - x * x) / (2 * x * slope - n * (n + 1) * value);
                x -= step;
            } while (step > LAST_STEP || step < -LAST_STEP);
        if (2 * i == n)
            x = 0;
        value = legendre(n, x, &slope);
        c[i] = (1 + x) / 2;
        b[i] = 1 / (s * n * value * value);
    }
}

static void round_all(int count, const nh_extended *from, double *to)
{
    for (int i = 0; i < count; i++)
        to[i] = (double)from[i];
}

void nh_gauss_nodes(int s, double *c, double *b)
{
    nh_extended node[STAGES_MAX], weight[STAGES_MAX];
    gauss_nodes(s, node, weight);
    round_all(s, node, c);
    round_all(s, weight, b);
}

void nh_lobatto_nodes(int s, double *c, double *b)
{
    nh_extended node[STAGES_MAX], weight[STAGES_MAX];
    lobatto_nodes(s, node, weight);
    round_all(s, node, c);
    round_all(s, weight, b);
}

/* ---- tables ---- */

/* The Lagrange polynomial of node j. */
static nh_extended basis(int s, const nh_extended *c, int j, nh_extended x)
{
    nh_extended product = 1;
    for (int k = 0; k < s; k++)
        if (k != j)
            product *= (x - c[k]) / (c[j] - c[k]);
    return product;
}

/* Its integral from 0 to x; a Gauss rule with s nodes is exact. */
static nh_extended basis_integral(int s, const nh_extended *c, int j, nh_extended x)
{
    nh_extended node[STAGES_MAX], weight[STAGES_MAX], sum = 0;
    gauss_nodes(s, node, weight);
    for (int k = 0; k < s; k++)
        sum += weight[k] * basis(s, c, j, x * node[k]);
    return x * sum;
}

static void collocation(int s, const nh_extended *c, double *a)
{
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++)
            a[i * s + j] = (double)basis_integral(s, c, j, c[i]);
}

void nh_collocation(int s, const double *c, double *a)
{
    nh_extended node[STAGES_MAX];
    for (int i = 0; i < s; i++)
        node[i] = c[i];
    collocation(s, node, a);
}

void nh_lagrange_integrals(int s, const double *c, int points, const double *x, double *value)
{
    nh_extended node[STAGES_MAX];
    for (int i = 0; i < s; i++)
        node[i] = c[i];
    for (int i = 0; i < points; i++)
        for (int j = 0; j < s; j++)
            value[i * s + j] = (double)basis_integral(s, node, j, x[i]);
}

void nh_gauss_table(int s, double *c, double *b, double *a)
{
    nh_extended node[STAGES_MAX], weight[STAGES_MAX];
    gauss_nodes(s, node, weight);
    round_all(s, node, c);
    round_all(s, weight, b);
    collocation(s, node, a);
}

/* An entry of IIIA or, with `of_c`, of IIIC; the last row of both is the weights. The first column
 * of IIIC is b_1, and its other entries are determined by exactness for polynomials of degree
 * s - 2: they follow from integrals of the Lagrange basis of the other nodes. */
static nh_extended lobatto_entry(int s, const nh_extended *c, const nh_extended *b, bool of_c,
                                 int i, int j)
{
    if (i == s - 1)
        return b[j];
    if (!of_c)
        return basis_integral(s, c, j, c[i]);
    if (j == 0)
        return b[0];
    return basis_integral(s - 1, c + 1, j - 1, c[i]) - b[0] * basis(s - 1, c + 1, j - 1, 0);
}

void nh_lobatto_table(int s, nh_lobatto kind, double *c, double *b, double *a)
{
    nh_extended node[STAGES_MAX], weight[STAGES_MAX];
    lobatto_nodes(s, node, weight);
    round_all(s, node, c);
    round_all(s, weight, b);
    bool of_c = kind != NH_LOBATTO_A && kind != NH_LOBATTO_B;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++) {
            nh_extended own = lobatto_entry(s, node, weight, of_c, i, j);
            /* the entry of the partner: b_i a_ij + b_j partner_ji = b_i b_j */
            nh_extended partner =
                weight[j] * (1 - lobatto_entry(s, node, weight, of_c, j, i) / weight[i]);
            nh_extended value = kind == NH_LOBATTO_A || kind == NH_LOBATTO_C ? own
                                : kind == NH_LOBATTO_D                       ? (own + partner) / 2
                                                                             : partner;
            a[i * s + j] = (double)value;
        }
}

void nh_lagrange(int s, const double *c, int points, const double *x, double *value)
{
    nh_extended node[STAGES_MAX];
    for (int i = 0; i < s; i++)
        node[i] = c[i];
    for (int i = 0; i < points; i++)
        for (int j = 0; j < s; j++)
            value[i * s + j] = (double)basis(s, node, j, x[i]);
}
