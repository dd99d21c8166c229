/* Tables: `table f = (x1, y1), (x2, y2), ...` is the natural cubic spline through the points, with
 * two continuous derivatives everywhere; beyond the first and the last point it continues as a
 * straight line. The piece is chosen by a tree of WHEN and UNLESS (piecewise.c), so that the value
 * is that of a single cubic polynomial. */
#include "model/arithmetic.h"
#include "model/vector.h"

#include "base/status.h"

#include <stdlib.h>

static const nh_value zero = {0};

typedef struct spline {
    int points;
    double *x, *y;
    double *bend;  /* second derivatives at the points */
    double *slope; /* work of the elimination, then first derivatives */
} spline;

/* ---- the numbers ---- */

static void read_point(nh_expander *x, const nh_ast *pair, spline *s)
{
    int i = s->points;
    const nh_ast *second = pair->kind == AST_LIST ? pair->child->next : NULL;
    if (!second || second->next) {
        FAIL(x, pair->place, "a table consists of points such as (0, 1)");
        return;
    }
    nh_value at = nh_expand_number(x, pair->child), value = nh_expand_number(x, second);
    if (x->status)
        return;
    if (at.symbolic || value.symbolic)
        FAIL(x, pair->place,
             "this point changes with the motion; expected only numbers and parameters");
    else if (i > 0 && !(at.number > s->x[i - 1]))
        FAIL(x, pair->place,
             "the points of a table must ascend; expected more than %.10g, found %.10g",
             s->x[i - 1], at.number);
    s->x[i] = at.number;
    s->y[i] = value.number;
    s->points++;
}

/* Second derivatives: tridiagonal equations for the inner points, 0 at the ends. */
static void solve(spline *s)
{
    int n = s->points;
    const double *x = s->x, *y = s->y;
    double *bend = s->bend, *pivot = s->slope;
    bend[0] = bend[n - 1] = pivot[0] = 0;
    for (int i = 1; i < n - 1; i++) {
        double before = x[i] - x[i - 1], after = x[i + 1] - x[i];
        double right = 6 * ((y[i + 1] - y[i]) / after - (y[i] - y[i - 1]) / before);
        double diagonal = 2 * (before + after) - before * pivot[i - 1];
        pivot[i] = after / diagonal;
        bend[i] = (right - before * bend[i - 1]) / diagonal;
    }
    for (int i = n - 2; i > 0; i--)
        bend[i] -= pivot[i] * bend[i + 1];
    for (int i = 0; i < n; i++) {
        int a = i < n - 1 ? i : n - 2;
        double h = x[a + 1] - x[a], chord = (y[a + 1] - y[a]) / h;
        s->slope[i] = a == i ? chord - h * (2 * bend[a] + bend[a + 1]) / 6
                             : chord + h * (bend[a] + 2 * bend[a + 1]) / 6;
    }
}

/* ---- the expression ---- */

/* The polynomial about point i with the given coefficients of d, d^2 and d^3. */
static nh_expr polynomial(nh_expander *e, const spline *s, int i, nh_expr at, double quadratic,
                          double cubic)
{
    nh_graph *g = e->graph;
    nh_expr d = nh_subtract(g, at, nh_number(g, s->x[i]));
    nh_expr rest = nh_scale(g, cubic, d);
    rest = nh_add(g, nh_number(g, quadratic), rest);
    rest = nh_multiply(g, d, rest);
    rest = nh_add(g, nh_number(g, s->slope[i]), rest);
    rest = nh_multiply(g, d, rest);
    return nh_add(g, nh_number(g, s->y[i]), rest);
}

/* Piece 0 is the line before the first point, piece i the cubic after point i, the last one a
 * line. */
static nh_expr piece(nh_expander *e, const spline *s, int i, nh_expr at)
{
    if (i == 0 || i == s->points)
        return polynomial(e, s, i ? i - 1 : 0, at, 0, 0);
    double h = s->x[i] - s->x[i - 1];
    return polynomial(e, s, i - 1, at, s->bend[i - 1] / 2, (s->bend[i] - s->bend[i - 1]) / (6 * h));
}

/* The pieces first..last: point k separates piece k from piece k + 1. */
static nh_expr pieces(nh_expander *e, const spline *s, int first, int last, nh_expr at)
{
    if (first == last)
        return piece(e, s, first, at);
    nh_graph *g = e->graph;
    int middle = (first + last) / 2;
    nh_expr beyond = nh_subtract(g, at, nh_number(g, s->x[middle]));
    nh_expr right = nh_call2(g, NH_WHEN, beyond, pieces(e, s, middle + 1, last, at));
    nh_expr left = nh_call2(g, NH_UNLESS, beyond, pieces(e, s, first, middle, at));
    return nh_add(g, left, right);
}

static double number_at(const spline *s, double at)
{
    int i = 0;
    while (i < s->points && at > s->x[i])
        i++;
    int from = i ? i - 1 : 0;
    double d = at - s->x[from], quadratic = 0, cubic = 0;
    if (i > 0 && i < s->points) {
        quadratic = s->bend[from] / 2;
        cubic = (s->bend[i] - s->bend[from]) / (6 * (s->x[i] - s->x[from]));
    }
    return s->y[from] + d * (s->slope[from] + d * (quadratic + d * cubic));
}

static bool read_table(nh_expander *x, const nh_ast *list, spline *s)
{
    size_t n = 0;
    for (const nh_ast *a = list->child; a; a = a->next)
        n++;
    double *work = nh_arena_array(x->arena, 4 * n, sizeof *work);
    if (!work) {
        x->status = nh_fail_memory(x->report);
        return false;
    }
    *s = (spline){0, work, work + n, work + 2 * n, work + 3 * n};
    for (const nh_ast *a = list->child; a && !x->status; a = a->next)
        read_point(x, a, s);
    if (s->points < 2)
        FAIL(x, list->place, "a table of one point; expected two or more");
    if (!x->status)
        solve(s);
    return !x->status;
}

static bool read_symbol(nh_expander *x, const nh_symbol *symbol, spline *s)
{
    nh_frame outer = nh_frame_open(x, symbol->slots);
    bool read = !x->status && read_table(x, symbol->body, s);
    nh_frame_close(x, outer);
    return read;
}

void nh_check_table(nh_expander *x, const nh_symbol *symbol)
{
    spline s;
    read_symbol(x, symbol, &s);
}

nh_value nh_expand_table(nh_expander *x, const nh_ast *call)
{
    nh_value at = nh_expand_single(x, call->child);
    spline s;
    if (x->labels && !nh_labels_lineage(x->labels))
        FAIL(x, call->place, "tables have no more than 16 digits; this run needs 34");
    if (!read_symbol(x, call->symbol, &s))
        return zero;
    x->work += s.points;
    if (!at.symbolic)
        return nh_number_value(number_at(&s, at.number));
    nh_value all = nh_as_value(x, call, pieces(x, &s, 0, s.points, at.expr));
    for (int i = 0; i < s.points && !x->status; i++) { /* third derivatives jump there */
        nh_expr beyond = nh_subtract(x->graph, at.expr, nh_number(x->graph, s.x[i]));
        nh_note_kink(x, call, (nh_value){.symbolic = true, .expr = beyond});
    }
    return all;
}
