/* Finds positions that satisfy all conditions, from places around the start, by the Gauss-Newton
 * method, which works even if conditions depend on each other; and measures the conditions. */
#include "mechanics/redundant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "mechanics/probe.h"

enum { ITERATIONS = 60 };
static const double near = 1e-3; /* the distance of places from the start, relative to its size */

static bool list_conditions(nh_landing *s)
{
    const nh_problem *p = s->problem;
    for (int i = 0; i < s->count; i++) {
        nh_partials row;
        s->g[i] = p->constraint[p->constraints - s->count + i].position;
        if (!nh_expr_gradient(p->graph, s->g[i], NH_Q, &row))
            return false;
        nh_expr *G = s->g + s->count + i * s->n;
        for (int j = 0; j < s->n; j++)
            G[j] = nh_partial_of(&row, (uint32_t)j);
        nh_partials_free(&row);
    }
    return true;
}

bool nh_landing_begin(nh_landing *s, nh_problem *problem)
{
    size_t m = (size_t)problem->positions, n = (size_t)problem->coordinates, entries = m + m * n;
    *s = (nh_landing){.problem = problem, .count = (int)m, .n = (int)n};
    s->g = calloc(entries + 1, sizeof *s->g);
    s->value = calloc(entries + m * n + 2 * m + 2 * n + m * m + (size_t)problem->velocities + 1,
                      sizeof *s->value);
    if (!s->g || !s->value || !list_conditions(s))
        return false;
    s->ordered = s->value + entries;
    s->spread = s->ordered + m * n;
    s->y = s->spread + m;
    s->S = s->y + m;
    s->q = s->S + m * m;
    s->start = s->q + n;
    if (nh_problem_start(problem, NULL, 0, NULL, s->start, s->start + n, NULL) != NH_OK)
        memset(s->start, 0, n * sizeof *s->start);
    return true;
}

void nh_landing_end(nh_landing *s)
{
    free(s->g);
    free(s->value);
}

/* One step towards g = 0, of least norm; regularised, so that dependent rows do no harm. Returns
 * its length relative to q, or to `size` where q is smaller; NaN if it fails. */
static double step(nh_landing *s, double size)
{
    const int m = s->count, n = s->n;
    const double *G = s->value + m;
    double trace = 0, length = 0;
    if (!nh_evaluate(s->problem->graph, s->g, (size_t)(m + m * n), s->t, s->q, NULL, NULL,
                     s->value))
        return NAN;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += G[i * n + k] * G[j * n + k];
            s->S[i * m + j] = sum;
            trace += i == j ? sum : 0;
        }
    for (int i = 0; i < m; i++) {
        s->S[i * m + i] += 1e-8 * trace;
        s->y[i] = s->value[i];
    }
    if (!nh_dense_cholesky(m, s->S))
        return NAN;
    nh_dense_cholesky_solve(m, s->S, s->y);
    for (int k = 0; k < n; k++) {
        double move = 0;
        for (int i = 0; i < m; i++)
            move += G[i * n + k] * s->y[i];
        s->q[k] -= move;
        length = fmax(length, fabs(move));
        size = fmax(size, fabs(s->q[k]));
    }
    return length / fmax(size, 1e-300);
}

/* The rank, and the first row that depends on others, or -1. The conditions of rotations, which are
 * last in the list, are put first here, so that conditions that follow from them are left out
 * rather than they themselves. */
static int rank(nh_landing *s, int *dependent)
{
    const int m = s->count, n = s->n, own = s->problem->rotations;
    const double *G = s->value + m;
    for (int i = 0; i < m; i++)
        memcpy(s->ordered + i * n, G + (i < own ? m - own + i : i - own) * n,
               (size_t)n * sizeof *G);
    int found = nh_dense_rank(m, n, s->ordered, 1e-7, dependent);
    if (*dependent >= 0)
        *dependent = *dependent < own ? m - own + *dependent : *dependent - own;
    return found;
}

/* Whether g_i is zero up to relative errors of 1e-9 in its terms or in the displacements of the
 * search. */
static bool is_satisfied(const nh_landing *s, int i, double size)
{
    double reach = 0;
    for (int k = 0; k < s->n; k++)
        reach += fabs(s->value[s->count + i * s->n + k]);
    return fabs(s->y[i]) <= s->spread[i] + 1e-9 * near * size * reach;
}

/* The displacement in the max norm along `way` that changes a condition with the gradient G by
 * `spread`; 0 if there is none. */
static double displacement(int count, const double *G, const double *way, double spread)
{
    double along = 0, most = 0;
    for (int k = 0; k < count; k++) {
        along += G[k] * way[k];
        most = fmax(most, fabs(way[k]));
    }
    const double moved = most * spread / fabs(along);
    return isfinite(moved) ? moved : 0;
}

/* The size of the start, or that of the terms of the conditions there: coordinates that count from
 * the start of a linkage are all zero, although its bars are long. */
static double size_of_start(nh_landing *s)
{
    double size = 0;
    for (int k = 0; k < s->n; k++)
        size = fmax(size, fabs(s->start[k]));
    const nh_graph *g = s->problem->graph;
    if (nh_evaluate(g, s->g, (size_t)(s->count + s->count * s->n), s->t, s->start, NULL, NULL,
                    s->value) &&
        nh_evaluate_spread(g, s->g, (size_t)s->count, s->t, s->start, NULL, NULL, 1e-9, s->y,
                           s->spread))
        for (int i = 0; i < s->count; i++) {
            const double *G = s->value + s->count + i * s->n;
            size = fmax(size, displacement(s->n, G, G, s->spread[i]) / 1e-9);
        }
    return size > 0 ? size : 1;
}

bool nh_land(nh_landing *s, int place, nh_landed *f)
{
    double size = size_of_start(s), moved = 1;
    for (int k = 0; k < s->n; k++)
        s->q[k] = s->start[k] + (s->far ? 1 : near) * size * nh_scatter(k, place);
    for (int i = 0; i < ITERATIONS && moved > 1e-15; i++)
        moved = step(s, size);
    if (!(moved < 1e-6) || !nh_evaluate_spread(s->problem->graph, s->g, (size_t)s->count, s->t,
                                               s->q, NULL, NULL, 1e-9, s->y, s->spread))
        return false;
    f->satisfied = true;
    for (int i = 0; i < s->count; i++)
        f->satisfied = f->satisfied && is_satisfied(s, i, size);
    f->rank = rank(s, &f->dependent);
    f->residual = f->dependent >= 0 ? s->y[f->dependent] : 0;
    return true;
}

/* The values of a row's entries, which are at `value`, spread over all columns; returns what
 * follows them. */
static const double *spread_row(int n, const nh_partials *row, const double *value, double *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (size_t e = 0; e < row->count; e++)
        out[row->entry[e].index] = *value++;
    return value;
}

/* The rows of K for conditions on positions, each followed by the way along which it corrects. */
static const nh_partials *row_of(const nh_mechanics *s, int i, bool is_way)
{
    const int row = s->m - s->positions + i;
    return (is_way && !s->facts.mass_waits ? s->B.row : s->K.row) + row;
}

bool nh_measure_positions(nh_mechanics *s)
{
    const size_t m = (size_t)s->positions, n = (size_t)s->n;
    nh_expr_list list = {0};
    bool ok = true;
    for (int i = 0; i < 2 * s->positions; i++) {
        const nh_partials *row = row_of(s, i / 2, i % 2);
        for (size_t e = 0; ok && e < row->count; e++)
            ok = nh_expr_list_push(&list, row->entry[e].value);
    }
    double *G = calloc(2 * n + 2 * m + list.count + 1, sizeof *G);
    double *way = G + n, *g = way + n, *spread = g + m;
    const double *value = spread + m;
    ok = ok && G &&
         nh_evaluate_spread(s->g, s->position, m, 0, s->start, NULL, NULL, 1e-9, g, spread) &&
         nh_evaluate(s->g, list.item, list.count, 0, s->start, s->start + n, NULL, spread + m);
    for (int i = 0; ok && i < s->positions; i++) {
        value = spread_row(s->n, row_of(s, i, false), value, G);
        value = spread_row(s->n, row_of(s, i, true), value, way);
        s->size_of_positions =
            fmax(s->size_of_positions, displacement(s->n, G, way, spread[i]) / 1e-9);
    }
    free(G);
    nh_expr_list_free(&list);
    return ok;
}
