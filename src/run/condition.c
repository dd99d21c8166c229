/* Measures how well conditioned the matrices of a state are.
 *
 * The mass matrix is scaled to D^-1/2 M D^-1/2, where D has the largest diagonal entries so far: a
 * pole of spherical coordinates makes a diagonal entry small, one of Euler angles makes two columns
 * alike, and both make a pivot small. The rows of K D^-1/2 are compared with their largest lengths
 * so far; the smallest singular value of that matrix measures how close it is to losing rank. */
#include "run/condition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"

/* Pivots below this are not trusted; eigenvalues are computed instead, which also have signs. */
#define PIVOT_SMALL 1e-6
/* Entries of a unit vector that are large enough for their coordinate to be named. */
#define NAMED 0.2

nh_status nh_condition_create(nh_condition *c, const nh_system *system, nh_report *report)
{
    int n = system->shape.n, m = system->shape.m;
    *c = (nh_condition){.system = system, .n = n, .m = m};
    if (n > NH_DENSE_LOOKS_MAX)
        return NH_OK;
    c->masses = !system->facts.constant_mass &&
                !(system->mechanics && system->mechanics->definite_everywhere);
    c->ranks = m > 0 && system->mechanics && !system->mechanics->regular;
    size_t n2 = (size_t)n * (size_t)n, mn = (size_t)m * (size_t)n, m2 = (size_t)m * (size_t)m;
    c->M = nh_aligned_doubles(n2 + mn);
    c->space = nh_aligned_doubles(2 * (n2 + m2) + mn + (size_t)n + (size_t)m);
    if (!c->M || !c->space)
        return nh_fail_memory(report);
    c->K = c->M + n2;
    return nh_engine_call(&c->engine, system, nh_variant_here(), 1, NH_FN_BIT(MATRICES), report);
}

void nh_condition_free(nh_condition *c)
{
    nh_engine_free(&c->engine);
    free(c->M);
    free(c->space);
}

bool nh_condition_has_matrices(const nh_condition *c)
{
    return c->space != NULL;
}

/* The larger and the smaller of two numbers, `a` if `b` is not a number. Calls of the C library
 * would take as long as all the rest of a check. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

static double smaller(double a, double b)
{
    return b < a ? b : a;
}

/* Whether all are finite: multiplied by 0 and added up in four independent sums. */
static bool are_finite(const double *x, int count)
{
    double zero[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= count; i += 4)
        for (int j = 0; j < 4; j++)
            zero[j] += x[i + j] * 0;
    for (; i < count; i++)
        zero[0] += x[i] * 0;
    return zero[0] + zero[1] + zero[2] + zero[3] == 0;
}

bool nh_condition_matrices(nh_condition *c, double t, const double *q, const double *v)
{
    const engine *e = &c->engine;
    if (e->call[NH_FN_MATRICES](e->self, NH_FN_MATRICES, t, q, v, NULL, c->M, c->u) != 0)
        return false;
    return are_finite(c->M, (c->n + c->m) * c->n);
}

double nh_condition_length(const nh_condition *c, const double *x)
{
    const double *row = c->M;
    double sum = 0;
    for (int i = 0; i < c->n; i++, row += c->n) {
        double momentum = 0;
        for (int j = 0; j < c->n; j++)
            momentum += row[j] * x[j];
        sum += x[i] * momentum;
    }
    return sqrt(fabs(sum));
}

/* ---- the mass matrix ---- */

static double largest_of_row(const nh_condition *c, int row)
{
    double largest = 0;
    for (int j = 0; j < c->n; j++)
        largest = larger(largest, fabs(c->M[row * c->n + j]));
    return largest;
}

/* A coordinate without inertia of its own (as in L = x' y') takes the scale of the largest entry of
 * its row. */
static void scale_masses(const nh_condition *c, double *scale)
{
    for (int i = 0; i < c->n; i++) {
        double size = fabs(c->M[i * c->n + i]);
        size = size > 0 || scale[i] > 0 ? size : largest_of_row(c, i);
        scale[i] = larger(scale[i], size);
    }
}

static void scaled_masses(const nh_condition *c, const double *scale, double *out)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++)
            out[i * c->n + j] =
                scale[i] > 0 && scale[j] > 0 ? c->M[i * c->n + j] / sqrt(scale[i] * scale[j]) : 0;
}

/* The smallest pivot of L D L^T, each in units of its `size` (NULL: 1), which equals that of the
 * matrix with scaled rows and columns. Stops at the first small pivot. */
static double smallest_pivot(int n, double *a, const double *size)
{
    double smallest = INFINITY;
    for (int k = 0; k < n; k++) {
        const double *row = a + k * n, pivot = row[k];
        smallest = smaller(smallest, !size ? pivot : size[k] > 0 ? pivot / size[k] : 0);
        if (!(smallest > PIVOT_SMALL))
            return smallest;
        const double inverse = 1 / pivot;
        for (int i = k + 1; i < n; i++) {
            double l = row[i] * inverse, *below = a + i * n;
            for (int j = i; l != 0 && j < n; j++)
                below[j] -= l * row[j];
        }
    }
    return smallest;
}

static int smallest_of(const double *value, int count)
{
    int smallest = 0;
    for (int i = 1; i < count; i++)
        smallest = fabs(value[i]) < fabs(value[smallest]) ? i : smallest;
    return smallest;
}

static void look_at_masses(nh_condition *c, double *scale, nh_reading *look)
{
    double *a = c->space, *vector = a + c->n * c->n, *value = vector + c->n * c->n;
    memcpy(a, c->M, (size_t)(c->n * c->n) * sizeof *a);
    look->negative = 0;
    look->mass = smallest_pivot(c->n, a, scale);
    if (look->mass > PIVOT_SMALL)
        return;
    scaled_masses(c, scale, a);
    nh_dense_eigen(c->n, a, value, vector);
    look->mass = fabs(value[smallest_of(value, c->n)]);
    for (int i = 0; i < c->n; i++)
        look->negative += value[i] < 0;
}

/* ---- constraints ---- */

/* The smallest eigenvalue of S = A A^T, and its directions. */
static void find_directions(const nh_condition *c, const double *A, double *S, nh_reading *look)
{
    int n = c->n, m = c->m;
    double *vector = S + m * m, *value = vector + m * m, length = 0;
    nh_dense_eigen(m, S, value, vector);
    int smallest = smallest_of(value, m);
    look->rank = fabs(value[smallest]);
    memcpy(look->left, vector + smallest * m, (size_t)m * sizeof *vector);
    for (int j = 0; j < n; j++) {
        look->right[j] = 0;
        for (int i = 0; i < m; i++)
            look->right[j] += look->left[i] * A[i * n + j];
        length += look->right[j] * look->right[j];
    }
    for (int j = 0; j < n && length > 0; j++)
        look->right[j] /= sqrt(length);
}

static void look_at_ranks(nh_condition *c, double *scale, nh_reading *look)
{
    int n = c->n, m = c->m;
    double *A = c->space, *S = A + m * n, *vector = S + m * m;
    for (int i = 0; i < m; i++) {
        double length = 0;
        for (int j = 0; j < n; j++) {
            A[i * n + j] = scale[j] > 0 ? c->K[i * n + j] / sqrt(scale[j]) : 0;
            length += A[i * n + j] * A[i * n + j];
        }
        scale[n + i] = larger(scale[n + i], length);
        for (int j = 0; j < n && scale[n + i] > 0; j++)
            A[i * n + j] /= sqrt(scale[n + i]);
    }
    for (int i = 0; i < m * m; i++) {
        S[i] = 0;
        for (int j = 0; j < n; j++)
            S[i] += A[i / m * n + j] * A[i % m * n + j];
    }
    memcpy(vector, S, (size_t)(m * m) * sizeof *S);
    look->rank = smallest_pivot(m, vector, NULL);
    look->directed = !(look->rank > NH_NEAR);
    if (look->directed)
        find_directions(c, A, S, look);
}

bool nh_condition_look(nh_condition *c, double t, const double *q, const double *v, double *scale,
                       nh_reading *look)
{
    look->mass = look->rank = 1;
    look->negative = 0;
    look->directed = false;
    if (!nh_condition_matrices(c, t, q, v))
        return false;
    scale_masses(c, scale);
    if (c->masses)
        look_at_masses(c, scale, look);
    if (c->ranks)
        look_at_ranks(c, scale, look);
    return true;
}

/* ---- names ---- */

static void append(char *text, size_t size, const char *name)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", name);
}

void nh_condition_name(nh_condition *c, double t, const double *q, const double *v, double *scale,
                       const nh_reading *look, char *text, size_t size)
{
    double *a = c->space, *vector = a + c->n * c->n, *value = vector + c->n * c->n;
    *text = 0;
    if (look->rank < look->mass) {
        for (int i = 0; i < c->m; i++)
            if (fabs(look->left[i]) > NAMED)
                append(text, size, nh_system_constraint_name(c->system, i));
        return;
    }
    if (!nh_condition_matrices(c, t, q, v))
        return;
    scaled_masses(c, scale, a);
    nh_dense_eigen(c->n, a, value, vector);
    const double *null = vector + smallest_of(value, c->n) * c->n;
    for (int i = 0; i < c->n; i++)
        if (fabs(null[i]) > NAMED)
            append(text, size,
                   i < c->system->coordinates ? nh_system_coordinate_name(c->system, i)
                                              : nh_inner_velocity_name(c->system, i));
}
