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
    const int n = system->shape.n, m = system->shape.m, largest = n > m ? n : m;
    const size_t most = (size_t)largest * (size_t)largest, mn = (size_t)m * (size_t)n;
    *c = (nh_condition){.system = system, .n = n, .m = m};
    if (n > NH_DENSE_LOOKS_MAX)
        return NH_OK;
    c->masses = !system->facts.constant_mass &&
                !(system->mechanics && system->mechanics->definite_everywhere);
    c->ranks = m > 0 && system->mechanics && !system->mechanics->regular;
    c->M = nh_aligned_doubles((size_t)n * (size_t)n + 2 * mn + 3 * most + 2 * (size_t)largest);
    if (!c->M)
        return nh_fail_memory(report);
    c->K = c->M + n * n;
    c->A = c->K + mn;
    c->S = c->A + mn;
    c->pivots = c->S + most;
    c->vector = c->pivots + most;
    c->value = c->vector + most;
    c->root = c->value + largest;
    return nh_engine_call(&c->engine, system, nh_variant_here(), 1, NH_FN_BIT(MATRICES), report);
}

void nh_condition_free(nh_condition *c)
{
    nh_engine_free(&c->engine);
    free(c->M);
}

bool nh_condition_has_matrices(const nh_condition *c)
{
    return c->M != NULL;
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

bool nh_condition_matrices(nh_condition *c, double t, const double *state)
{
    const engine *e = &c->engine;
    if (e->call[NH_FN_MATRICES](e->self, NH_FN_MATRICES, t, state, state + c->n, NULL, c->M,
                                c->u) != 0)
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

/* The smallest pivot of L D L^T, each in units of its `size`, as if rows and columns were scaled.
 * Stops at the first small pivot. */
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
            const double l = row[i] * inverse;
            double *below = a + i * n;
            for (int j = i; l != 0 && j < n; j++)
                below[j] -= l * row[j];
        }
    }
    return smallest;
}

/* The eigenvalues and eigenvectors of S; returns the index of the smallest one. */
static int find_eigenvalues(nh_condition *c, int count)
{
    int smallest = 0;
    nh_dense_eigen(count, c->S, c->value, c->vector);
    for (int i = 1; i < count; i++)
        smallest = fabs(c->value[i]) < fabs(c->value[smallest]) ? i : smallest;
    return smallest;
}

/* ---- the mass matrix ---- */

/* Notes the largest diagonal entries. A coordinate without inertia of its own (as in L = x' y')
 * takes the scale of the largest entry of its row. */
static void scale_masses(const nh_condition *c, double *scale)
{
    for (int i = 0; i < c->n; i++) {
        const double *row = c->M + i * c->n;
        double size = fabs(row[i]);
        for (int j = 0; size == 0 && !(scale[i] > 0) && j < c->n; j++)
            size = larger(size, fabs(row[j]));
        scale[i] = larger(scale[i], size);
    }
}

/* S = D^-1/2 M D^-1/2 */
static void find_scaled_masses(nh_condition *c, const double *scale)
{
    const int n = c->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            c->S[i * n + j] =
                scale[i] > 0 && scale[j] > 0 ? c->M[i * n + j] / sqrt(scale[i] * scale[j]) : 0;
}

static void look_at_masses(nh_condition *c, double *scale, nh_reading *look)
{
    memcpy(c->pivots, c->M, (size_t)(c->n * c->n) * sizeof *c->M);
    look->mass = smallest_pivot(c->n, c->pivots, scale);
    if (look->mass > PIVOT_SMALL)
        return;
    find_scaled_masses(c, scale);
    look->mass = fabs(c->value[find_eigenvalues(c, c->n)]);
    for (int i = 0; i < c->n; i++)
        look->negative += c->value[i] < 0;
}

/* ---- constraints ---- */

/* A = K D^-1/2, with rows in units of their largest lengths, and S = A A^T */
static void find_products(nh_condition *c, double *scale)
{
    const int n = c->n, m = c->m;
    for (int j = 0; j < n; j++)
        c->root[j] = sqrt(scale[j]);
    for (int i = 0; i < m; i++) {
        double length = 0, *row = c->A + i * n;
        for (int j = 0; j < n; j++) {
            row[j] = scale[j] > 0 ? c->K[i * n + j] / c->root[j] : 0;
            length += row[j] * row[j];
        }
        scale[n + i] = larger(scale[n + i], length);
        const double unit = sqrt(scale[n + i]);
        for (int j = 0; j < n && unit > 0; j++)
            row[j] /= unit;
        for (int k = 0; k <= i; k++) {
            double product = 0;
            for (int j = 0; j < n; j++)
                product += row[j] * c->A[k * n + j];
            c->S[i * m + k] = c->S[k * m + i] = product;
        }
    }
}

/* S^-1 x, with the pivots left by smallest_pivot, divided by its length, which is returned. */
static double solve_and_scale(const nh_condition *c, double *x)
{
    const int m = c->m;
    double length = 0;
    for (int k = 0; k < m; k++) {
        const double *row = c->pivots + k * m, l = x[k] / row[k];
        for (int j = k + 1; j < m; j++)
            x[j] -= l * row[j];
    }
    for (int k = m; k-- > 0;) {
        const double *row = c->pivots + k * m;
        for (int j = k + 1; j < m; j++)
            x[k] -= row[j] * x[j];
        x[k] /= row[k];
        length += x[k] * x[k];
    }
    length = sqrt(length);
    for (int k = 0; k < m; k++)
        x[k] /= length;
    return length;
}

/* The smallest eigenvalue of S and its vector by inverse iteration: with many constraints all of
 * the eigenvalues would cost hundreds of times as much. False if it does not converge, as where two
 * are nearly the same. */
static bool iterate_inversely(const nh_condition *c, double *x, double *value)
{
    enum { ITERATIONS_MAX = 60 };
    const int m = c->m;
    double *before = c->value;
    int last = 0; /* the smallest pivot */
    for (int k = 1; k < m; k++)
        last = c->pivots[k * m + k] < c->pivots[last * m + last] ? k : last;
    for (int k = 0; k < m; k++)
        x[k] = k == last ? 1 : 1.0 / (m * (k + 2));
    solve_and_scale(c, x);
    for (int i = 0; i < ITERATIONS_MAX; i++) {
        double same = 0;
        memcpy(before, x, (size_t)m * sizeof *x);
        *value = 1 / solve_and_scale(c, x);
        for (int k = 0; k < m; k++)
            same += x[k] * before[k];
        if (fabs(same) > 1 - 1e-10)
            return true;
    }
    return false;
}

/* The smallest singular value of A, squared, and its directions. The look has the smallest pivot
 * of S. */
static void find_directions(nh_condition *c, nh_reading *look)
{
    enum { MANY = 8 };
    const int n = c->n, m = c->m;
    double length = 0;
    if (m < MANY || !(look->rank > PIVOT_SMALL) || !iterate_inversely(c, look->left, &look->rank)) {
        const int smallest = find_eigenvalues(c, m);
        look->rank = fabs(c->value[smallest]);
        memcpy(look->left, c->vector + smallest * m, (size_t)m * sizeof *look->left);
    }
    for (int j = 0; j < n; j++) {
        look->right[j] = 0;
        for (int i = 0; i < m; i++)
            look->right[j] += look->left[i] * c->A[i * n + j];
        length += look->right[j] * look->right[j];
    }
    for (int j = 0; j < n && length > 0; j++)
        look->right[j] /= sqrt(length);
}

static void look_at_ranks(nh_condition *c, double *scale, nh_reading *look)
{
    find_products(c, scale);
    memcpy(c->pivots, c->S, (size_t)(c->m * c->m) * sizeof *c->S);
    look->rank = smallest_pivot(c->m, c->pivots, NULL);
    look->directed = !(look->rank > NH_NEAR);
    if (look->directed)
        find_directions(c, look);
}

bool nh_condition_look(nh_condition *c, double t, const double *state, double *scale,
                       nh_reading *look)
{
    look->mass = look->rank = 1;
    look->negative = 0;
    look->directed = false;
    if (!nh_condition_matrices(c, t, state))
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

void nh_condition_name(nh_condition *c, double t, const double *state, double *scale, bool ranks,
                       char *text, size_t size)
{
    const int count = ranks ? c->m : c->n;
    *text = 0;
    if (!nh_condition_matrices(c, t, state))
        return;
    if (ranks)
        find_products(c, scale);
    else
        find_scaled_masses(c, scale);
    const double *direction = c->vector + find_eigenvalues(c, count) * count;
    for (int i = 0; i < count; i++)
        if (fabs(direction[i]) > NAMED)
            append(text, size,
                   ranks                        ? nh_system_constraint_name(c->system, i)
                   : i < c->system->coordinates ? nh_system_coordinate_name(c->system, i)
                                                : nh_inner_velocity_name(c->system, i));
}
