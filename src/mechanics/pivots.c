/* The choice of pivots from numerical values.
 *
 * Elimination without row exchanges is stable for definite matrices, and a symmetric matrix is
 * definite exactly if its pivots all have the same sign; they are evaluated in states near the
 * start. If they do not, pivots on the diagonal may be tiny or zero although the matrix is well
 * conditioned (x'*y'). A constant matrix then has its rows exchanged, by complete pivoting on the
 * scaled numbers. For a matrix that varies, no fixed choice of pivots is safe everywhere, so it is
 * solved through its normal equations. The result is checked: a x = b in several states. */
#include "mechanics/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGE_MAX = 400 }; /* rows up to which complete pivoting is affordable */

void nh_pivots_free(nh_pivots *p)
{
    free(p->row);
    free(p->order);
    free(p->weight);
    *p = (nh_pivots){0};
}

/* ---- definiteness ---- */

typedef struct signs {
    bool positive, negative, vanishing;
} signs;

/* Elimination of a definite matrix is stable, so its pivots are as accurate as its diagonal,
 * although their error bounds, which do not account for that, grow with every earlier pivot. */
static bool is_part_of(nh_bounded pivot, nh_bounded diagonal)
{
    return nh_is_significant(diagonal) == NH_YES && pivot.value / diagonal.value > 1e-10;
}

/* The signs of the pivots in one state; records which are nonzero. The list of pivots is followed
 * by the diagonal that they belong to, or zeros. False if out of memory. */
static bool look_at_pivots(const nh_mechanics *s, const nh_expr *pivot, size_t n,
                           const nh_probe *probe, nh_bounded *value, signs *found, bool *nonzero)
{
    nh_inputs point = nh_probe_point(probe);
    if (!nh_evaluate_bounded(s->g, pivot, 2 * n, &point, value))
        return false;
    for (size_t i = 0; i < n; i++)
        if (nh_is_significant(value[i]) == NH_YES || is_part_of(value[i], value[n + i])) {
            found->positive = found->positive || value[i].value > 0;
            found->negative = found->negative || value[i].value < 0;
            nonzero[i] = true;
        }
    return true;
}

static void list_pivots(const nh_elimination *lu, const nh_matrix *a, size_t n, nh_expr *list)
{
    memcpy(list, nh_elimination_pivots(lu), n * sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[n + i] = a ? nh_partial_of(a->row + i, (uint32_t)i) : NH_ZERO;
}

nh_answer nh_is_definite(nh_mechanics *s, const nh_elimination *lu, const nh_matrix *a, int rows,
                         int *zero)
{
    size_t n = (size_t)rows;
    nh_probe probe;
    nh_bounded *value = malloc((2 * n + 1) * sizeof *value);
    nh_expr *pivot = malloc((2 * n + 1) * sizeof *pivot);
    bool *nonzero = calloc(n + 1, sizeof *nonzero);
    signs found = {0};
    if (pivot)
        list_pivots(lu, a, n, pivot);
    bool ready = value && pivot && nonzero;
    bool ok = ready && nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    int rounds = nh_probe_rounds(s, NH_NEAR);
    for (int round = 0; ok && round < rounds; round++) {
        nh_probe_move(&probe, round);
        ok = look_at_pivots(s, pivot, n, &probe, value, &found, nonzero);
    }
    if (ready)
        nh_probe_free(&probe);
    *zero = -1;
    for (int i = rows; ok && i-- > 0;)
        *zero = nonzero[i] ? *zero : i;
    if (!ok)
        nh_graph_fail(s->g);
    free(value);
    free(pivot);
    free(nonzero);
    return !ok ? NH_UNKNOWN : *zero < 0 && !(found.positive && found.negative) ? NH_YES : NH_NO;
}

enum { DENSE_MAX = 1500 }; /* rows up to which this is affordable */

/* L D L^T of a symmetric matrix in place: whether all of D has the sign of its first entry, and no
 * entry is small compared with the diagonal. */
static bool has_one_sign(int n, double *a)
{
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n, own = row[k], d = own;
        for (int j = 0; j < k; j++) /* l_kj d_j */
            for (int i = 0; i < j; i++)
                row[j] -= row[i] * a[(size_t)j * (size_t)n + (size_t)i];
        for (int j = 0; j < k; j++) {
            double l = row[j] / a[(size_t)j * ((size_t)n + 1)];
            d -= row[j] * l;
            row[j] = l;
        }
        row[k] = d;
        if (!(d / own > 1e-10) || d * a[0] <= 0)
            return false;
    }
    return true;
}

nh_answer nh_is_definite_in_numbers(const nh_mechanics *s, const nh_matrix *m)
{
    nh_expr_list list = {0};
    nh_probe probe;
    size_t n = (size_t)m->rows, count = nh_matrix_entries(m);
    if (n > DENSE_MAX)
        return NH_NO;
    double *value = malloc((count + 1) * sizeof *value), *a = calloc(n * n + 1, sizeof *a);
    bool ready = nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    bool ok = value && a && ready, definite = true, seen = false;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t e = 0; ok && e < m->row[i].count; e++)
            ok = nh_expr_list_push(&list, m->row[i].entry[e].value);
    for (int round = 0; ok && definite && round < nh_probe_rounds(s, NH_NEAR); round++) {
        bool finite = true;
        nh_probe_move(&probe, round);
        memset(a, 0, n * n * sizeof *a);
        ok = nh_evaluate(s->g, list.item, count, probe.t, probe.q, probe.v, NULL, value);
        for (size_t i = 0, at = 0; ok && i < n; i++)
            for (size_t e = 0; e < m->row[i].count; e++, at++) {
                a[i * n + m->row[i].entry[e].index] = value[at];
                finite = finite && isfinite(value[at]);
            }
        definite = !ok || !finite || has_one_sign((int)n, a);
        seen = seen || finite;
    }
    if (ready)
        nh_probe_free(&probe);
    nh_expr_list_free(&list);
    free(value);
    free(a);
    return !ok ? NH_UNKNOWN : definite && seen ? NH_YES : NH_NO;
}

/* ---- complete pivoting on numbers ---- */

/* Powers of two that bring the largest entry of every row and column near one. */
static void equilibrate(int n, double *a)
{
    for (int pass = 0; pass < 3; pass++)
        for (int way = 0; way < 2; way++)
            for (int i = 0; i < n; i++) {
                double most = 0;
                for (int j = 0; j < n; j++)
                    most = fmax(most, fabs(way ? a[j * n + i] : a[i * n + j]));
                double scale = most > 0 && isfinite(most) ? exp2(-rint(log2(most))) : 1;
                for (int j = 0; j < n; j++)
                    a[way ? j * n + i : i * n + j] *= scale;
            }
}

/* The largest remaining entry becomes the next pivot. False: none is left, at unknown *zero. */
static bool pick_pivots(int n, double *a, nh_pivots *p, bool *row_done, bool *column_done,
                        int *zero)
{
    for (int step = 0; step < n; step++) {
        int r = -1, c = -1;
        for (int e = 0; e < n * n; e++)
            if (!row_done[e / n] && !column_done[e % n] &&
                (r < 0 || fabs(a[e]) > fabs(a[r * n + c]))) {
                r = e / n;
                c = e % n;
            }
        *zero = c;
        if (!(fabs(a[r * n + c]) > 1e-13))
            return false;
        row_done[r] = column_done[c] = true;
        p->row[c] = r;
        p->order[step] = c;
        for (int i = 0; i < n; i++) {
            double l = row_done[i] ? 0 : a[i * n + c] / a[r * n + c];
            for (int j = 0; l != 0 && j < n; j++)
                a[i * n + j] -= column_done[j] ? 0 : l * a[r * n + j];
        }
    }
    return true;
}

static bool choose_exchange(const nh_mechanics *s, const nh_matrix *m, nh_pivots *p, int *zero)
{
    size_t n = (size_t)m->rows;
    double *a = calloc(n * n + 1, sizeof *a);
    bool *done = calloc(2 * n + 1, sizeof *done);
    p->row = calloc(n + 1, sizeof *p->row);
    p->order = calloc(n + 1, sizeof *p->order);
    *zero = -1;
    bool ok = a && done && p->row && p->order;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t e = 0; e < m->row[i].count; e++)
            nh_is_number(s->g, m->row[i].entry[e].value, a + i * n + m->row[i].entry[e].index);
    if (ok)
        equilibrate((int)n, a);
    ok = ok && pick_pivots((int)n, a, p, done, done + n, zero);
    if (ok)
        *zero = -1;
    free(a);
    free(done);
    return ok;
}

/* ---- normal equations ---- */

/* The reciprocal of the square of the largest entry found in each row. */
static bool choose_weights(const nh_mechanics *s, const nh_matrix *m, nh_pivots *p)
{
    nh_expr_list entries = {0};
    nh_probe probe;
    size_t n = (size_t)m->rows, count = nh_matrix_entries(m);
    double *value = malloc((count + 1) * sizeof *value);
    p->weight = calloc(n + 1, sizeof *p->weight);
    bool ready = nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    bool ok = value && p->weight && ready;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t e = 0; ok && e < m->row[i].count; e++)
            ok = nh_expr_list_push(&entries, m->row[i].entry[e].value);
    for (int round = 0; ok && round < NH_NEAR; round++) {
        nh_probe_move(&probe, round);
        ok = nh_evaluate(s->g, entries.item, count, probe.t, probe.q, probe.v, NULL, value);
        for (size_t i = 0, at = 0; ok && i < n; i++)
            for (size_t e = 0; e < m->row[i].count; e++, at++)
                if (isfinite(value[at]))
                    p->weight[i] = fmax(p->weight[i], fabs(value[at]));
    }
    for (size_t i = 0; ok && i < n; i++)
        p->weight[i] = p->weight[i] > 0 ? exp2(-2 * rint(log2(p->weight[i]))) : 1;
    if (ready)
        nh_probe_free(&probe);
    nh_expr_list_free(&entries);
    free(value);
    return ok;
}

static bool is_constant(const nh_mechanics *s, const nh_matrix *m)
{
    for (int i = 0; i < m->rows; i++)
        for (size_t e = 0; e < m->row[i].count; e++)
            if (!nh_is_number(s->g, m->row[i].entry[e].value, NULL))
                return false;
    return true;
}

bool nh_choose_pivots(const nh_mechanics *s, const nh_matrix *m, nh_pivots *p, int *zero)
{
    *p = (nh_pivots){0};
    *zero = -1;
    if (m->rows <= EXCHANGE_MAX && is_constant(s, m)) {
        p->kind = NH_PIVOTS_EXCHANGED;
        return choose_exchange(s, m, p, zero);
    }
    p->kind = NH_PIVOTS_NORMAL;
    return choose_weights(s, m, p);
}

/* ---- the check ---- */

/* The largest |a x - b| relative to the terms of a row. */
static double defect(const nh_matrix *m, const double *entry, const double *x, const double *b)
{
    double worst = 0;
    for (int i = 0, at = 0; i < m->rows; i++) {
        double sum = -b[i], size = fabs(b[i]);
        for (size_t e = 0; e < m->row[i].count; e++, at++) {
            double term = entry[at] * x[m->row[i].entry[e].index];
            sum += term;
            size += fabs(term);
        }
        worst = fmax(worst, size > 0 ? fabs(sum) / size : 0);
        if (isnan(sum))
            return NAN;
    }
    return worst;
}

/* a x = b in states near the start, with the factors in use: the largest relative defect. */
double nh_solution_defect(nh_mechanics *s, const nh_elimination *lu, const nh_matrix *m)
{
    size_t n = (size_t)m->rows, count = nh_matrix_entries(m);
    nh_expr_list list = {0};
    nh_probe probe;
    nh_expr *x = malloc((n + 1) * sizeof *x);
    double *value = malloc((2 * n + count + 1) * sizeof *value), *b = value, worst = 0;
    bool ready = nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    bool ok = x && value && ready;
    for (size_t i = 0; ok && i < n; i++) {
        b[i] = nh_scatter((int)i, 77);
        x[i] = nh_number(s->g, b[i]);
    }
    ok = ok && nh_elimination_solve(s->g, lu, x);
    for (size_t i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(&list, x[i]);
    for (size_t i = 0; ok && i < n; i++)
        for (size_t e = 0; ok && e < m->row[i].count; e++)
            ok = nh_expr_list_push(&list, m->row[i].entry[e].value);
    for (int round = 0; ok && round < NH_NEAR; round++) {
        nh_probe_move(&probe, round);
        ok = nh_evaluate(s->g, list.item, list.count, probe.t, probe.q, probe.v, NULL, value + n);
        double here = ok ? defect(m, value + 2 * n, value + n, b) : NAN;
        worst = isfinite(here) ? fmax(worst, here) : worst;
    }
    if (!ok)
        nh_graph_fail(s->g);
    if (ready)
        nh_probe_free(&probe);
    nh_expr_list_free(&list);
    free(x);
    free(value);
    return worst;
}
