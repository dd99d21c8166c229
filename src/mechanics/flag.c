/* The Lie flag of the distribution of the constraints: D, D + [D, D], D + [D, D] + [D, [D, D]], ...
 *
 * Near a state the forms are expanded into Taylor polynomials (taylor.h). Elimination gives vector
 * fields that span D, with polynomials as components; each bracket reduces the degree by one. Ranks
 * at the state are determined from scaled numbers; if a vector is neither clearly independent nor
 * clearly dependent, the rank is unknown. If the flag stops growing below the number of columns,
 * the difference is the number of conditions on positions, and the forms that vanish on the whole
 * flag show which they are. */
#include "mechanics/forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mechanics/taylor.h"

enum { VARIABLES_MAX = 64, COLUMNS_MAX = 40, FIELDS_MAX = 2 * COLUMNS_MAX };
static const double WORK_MAX = 3e7; /* limit of multiplications in a state */

typedef struct flag_space {
    const nh_forms *f;
    nh_taylor taylor;
    int variables, column_of[VARIABLES_MAX]; /* the column that corresponds to a variable */
    nh_input kind[VARIABLES_MAX];
    uint32_t index[VARIABLES_MAX];
    double at[VARIABLES_MAX], size[VARIABLES_MAX];
    double natural[COLUMNS_MAX]; /* the model's typical size of the displacement along a column */
    double *scale;               /* [columns] */
    nh_polynomial *A;            /* [rows * columns] */
    nh_polynomial *field;        /* [FIELDS_MAX * columns] */
    nh_polynomial part[3];
    double *memory, *basis, *row; /* basis: orthonormal, spans the flag so far */
    int *pivot;                   /* [rows]: pivot column of a row */
    int fields, rank;
} flag_space;

/* ---- space ---- */

static bool occurs(const nh_forms *f, nh_input kind, uint32_t index, bool *found)
{
    nh_expr *node;
    size_t count;
    *found = false;
    if (!nh_reach(f->s->g, f->entry, (size_t)f->rows * (size_t)f->columns, &node, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        nh_node n = nh_look(f->s->g, node[i]);
        *found = *found || (n.kind == NH_INPUT && n.which == (int)kind && n.index == index);
    }
    free(node);
    return true;
}

static bool list_variables(flag_space *w, const nh_probe *probe, int round)
{
    const nh_forms *f = w->f;
    for (int j = 0; j < f->columns && w->variables < VARIABLES_MAX; j++) {
        bool time = f->with_time && j == f->columns - 1, found;
        w->natural[j] = time ? nh_probe_time(probe, 0) : nh_probe_size(probe, j, 0);
        if (!time && j >= f->s->problem->coordinates)
            continue;
        if (!occurs(f, time ? NH_TIME : NH_Q, time ? 0 : (uint32_t)j, &found))
            return false;
        if (!found)
            continue;
        int v = w->variables++;
        w->column_of[v] = j;
        w->kind[v] = time ? NH_TIME : NH_Q;
        w->index[v] = time ? 0 : (uint32_t)j;
        w->at[v] = time ? probe->t : probe->q[j];
        w->size[v] = 0.25 * (time ? nh_probe_time(probe, round) : nh_probe_size(probe, j, round));
    }
    return true;
}

/* The highest degree that is affordable; 0: none. */
static int choose_degree(const flag_space *w)
{
    const nh_forms *f = w->f;
    int d = f->columns - f->rows, best = 0;
    for (int degree = 1; degree <= f->rows + 1 && degree <= 10; degree++) {
        int terms = nh_taylor_terms(w->variables, degree);
        double brackets = (double)d * (d + f->rows), half = terms / 2.0 + 1;
        double work =
            (brackets * w->variables * 2 + (double)f->rows * f->rows) * f->columns * half * half;
        if (terms <= NH_TAYLOR_TERMS && work <= WORK_MAX)
            best = degree;
    }
    return best;
}

static bool space_init(flag_space *w)
{
    size_t columns = (size_t)w->f->columns, rows = (size_t)w->f->rows;
    size_t polynomials = rows * columns + FIELDS_MAX * columns + 3;
    size_t terms = (size_t)w->taylor.terms;
    w->memory = calloc(polynomials * terms + columns * columns + 3 * columns + 1, sizeof(double));
    w->A = calloc(polynomials + 1, sizeof *w->A);
    w->pivot = calloc(rows + 1, sizeof *w->pivot);
    if (!w->memory || !w->A || !w->pivot)
        return false;
    for (size_t i = 0; i < polynomials; i++)
        w->A[i].c = w->memory + i * terms;
    w->field = w->A + rows * columns;
    memcpy(w->part, w->A + polynomials - 3, sizeof w->part);
    w->basis = w->memory + polynomials * terms;
    w->scale = w->basis + columns * columns;
    w->row = w->scale + columns;
    return true;
}

/* ---- vector fields that span D ---- */

static void scale_polynomial(const flag_space *w, nh_polynomial *a, double factor)
{
    for (int c = 0; c < w->taylor.terms; c++)
        a->c[c] *= factor;
    a->error *= factor;
}

/* The reciprocal of the largest entry of a row (way 0) or column (way 1). */
static double to_one(const flag_space *w, int way, int at)
{
    int n = w->f->columns, m = w->f->rows;
    double most = 0;
    for (int i = 0; i < (way ? m : n); i++)
        most = fmax(most, fabs(w->A[way ? i * n + at : at * n + i].c[0]));
    return most > 0 ? 1 / most : 1;
}

static void scale_line(flag_space *w, int way, int at, double factor)
{
    int n = w->f->columns, m = w->f->rows;
    for (int i = 0; i < (way ? m : n); i++)
        scale_polynomial(w, w->A + (way ? i * n + at : at * n + i), factor);
}

/* Scales columns of variables by the variables' sizes, and rows and all other columns to size one.
 * The latter begin in their natural sizes, because the result of the iteration depends on that. */
static void scale_forms(flag_space *w)
{
    int n = w->f->columns;
    memcpy(w->scale, w->natural, (size_t)n * sizeof *w->scale);
    for (int v = 0; v < w->variables; v++)
        w->scale[w->column_of[v]] = w->size[v];
    for (int j = 0; j < n; j++)
        scale_line(w, 1, j, w->scale[j]);
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < w->f->rows; i++)
            scale_line(w, 0, i, to_one(w, 0, i));
        for (int j = 0; j < n; j++) {
            bool moves = false;
            for (int v = 0; v < w->variables; v++)
                moves = moves || w->column_of[v] == j;
            double factor = moves ? 1 : to_one(w, 1, j);
            w->scale[j] *= factor;
            scale_line(w, 1, j, factor);
        }
    }
}

/* False if the forms are not finite. */
static bool expand_forms(flag_space *w)
{
    const nh_forms *f = w->f;
    size_t count = (size_t)f->rows * (size_t)f->columns;
    nh_expansion x = {w->kind, w->index, w->at, w->size};
    double *error = malloc((count + 1) * sizeof *error);
    if (!error || !nh_taylor_expand(&w->taylor, f->s->g, f->entry, count, &x, w->A[0].c, error)) {
        nh_graph_fail(f->s->g);
        free(error);
        return false;
    }
    bool finite = true;
    for (size_t e = 0; e < count; e++) {
        w->A[e].error = error[e];
        finite = finite && isfinite(nh_taylor_size(&w->taylor, w->A + e)) && isfinite(error[e]);
    }
    free(error);
    if (finite)
        scale_forms(w);
    return finite;
}

static void replace(const flag_space *w, nh_polynomial *to, const nh_polynomial *from)
{
    memcpy(to->c, from->c, (size_t)w->taylor.terms * sizeof *to->c);
    to->error = from->error;
}

/* Reduces the rows to the identity in their pivot columns. False if rows depend on each other. */
static bool reduce(flag_space *w)
{
    const nh_taylor *s = &w->taylor;
    int n = w->f->columns, m = w->f->rows;
    for (int i = 0; i < m; i++) {
        int best = 0;
        for (int j = 1; j < n; j++)
            if (fabs(w->A[i * n + j].c[0]) > fabs(w->A[i * n + best].c[0]))
                best = j;
        if (!(fabs(w->A[i * n + best].c[0]) > 1e-8))
            return false;
        w->pivot[i] = best;
        if (!nh_taylor_invert(s, w->part, w->A + i * n + best)) {
            nh_graph_fail(w->f->s->g);
            return false;
        }
        for (int j = 0; j < n; j++) {
            nh_taylor_multiply(s, w->part + 1, w->part, w->A + i * n + j);
            replace(w, w->A + i * n + j, w->part + 1);
        }
        for (int r = 0; r < m; r++) {
            if (r == i)
                continue;
            replace(w, w->part, w->A + r * n + best);
            for (int j = 0; j < n; j++) {
                nh_taylor_multiply(s, w->part + 1, w->part, w->A + i * n + j);
                nh_taylor_add(s, w->A + r * n + j, -1, w->part + 1);
            }
        }
    }
    return true;
}

static nh_polynomial *component(const flag_space *w, int field, int column)
{
    return w->field + field * w->f->columns + column;
}

static void span_fields(flag_space *w)
{
    int n = w->f->columns, m = w->f->rows;
    for (int j = 0; j < n; j++) {
        bool free_column = true;
        for (int i = 0; i < m; i++)
            free_column = free_column && w->pivot[i] != j;
        if (!free_column)
            continue;
        for (int c = 0; c < n; c++)
            nh_taylor_clear(&w->taylor, component(w, w->fields, c));
        component(w, w->fields, j)->c[0] = 1;
        for (int i = 0; i < m; i++)
            nh_taylor_add(&w->taylor, component(w, w->fields, w->pivot[i]), -1, w->A + i * n + j);
        w->fields++;
    }
}

/* ---- brackets ---- */

/* out += sign X^j d_j Y^c, the sum over the variables */
static void along(flag_space *w, nh_polynomial *out, int X, int Y, int c, double sign)
{
    const nh_taylor *s = &w->taylor;
    for (int v = 0; v < w->variables; v++) {
        const nh_polynomial *factor = component(w, X, w->column_of[v]);
        if (nh_taylor_size(s, factor) == 0)
            continue;
        nh_taylor_derive(s, w->part, component(w, Y, c), v);
        nh_taylor_multiply(s, w->part + 1, factor, w->part);
        nh_taylor_add(s, out, sign, w->part + 1);
    }
}

/* Stores [X, Y] as the next field. */
static void bracket(flag_space *w, int X, int Y)
{
    const nh_problem *problem = w->f->s->problem;
    const nh_taylor *s = &w->taylor;
    for (int c = 0; c < w->f->columns; c++) {
        nh_polynomial *out = component(w, w->fields, c);
        nh_taylor_clear(s, out);
        along(w, out, X, Y, c, 1);
        along(w, out, Y, X, c, -1);
    }
    for (int b = 0; b < problem->brackets; b++) {
        nh_bracket e = problem->bracket[b];
        double factor = e.c * w->scale[e.a] * w->scale[e.b] / w->scale[e.result];
        nh_taylor_multiply(s, w->part, component(w, X, e.a), component(w, Y, e.b));
        nh_taylor_add(s, component(w, w->fields, e.result), factor, w->part);
    }
}

/* The sum of the absolute values of the terms of [X, Y] at the state. */
static double size_of_terms(const flag_space *w, int X, int Y)
{
    const nh_problem *problem = w->f->s->problem;
    const nh_taylor *s = &w->taylor;
    double sum = 0;
    for (int v = 0; v < w->variables; v++)
        for (int c = 0; c < w->f->columns; c++)
            sum += fabs(component(w, X, w->column_of[v])->c[0] *
                        component(w, Y, c)->c[s->first[1] + v]) +
                   fabs(component(w, Y, w->column_of[v])->c[0] *
                        component(w, X, c)->c[s->first[1] + v]);
    for (int b = 0; b < problem->brackets; b++) {
        nh_bracket e = problem->bracket[b];
        sum += fabs(e.c * w->scale[e.a] * w->scale[e.b] / w->scale[e.result] *
                    component(w, X, e.a)->c[0] * component(w, Y, e.b)->c[0]);
    }
    return sum;
}

static double size_of_field(const flag_space *w, int X)
{
    double sum = 0;
    for (int c = 0; c < w->f->columns; c++)
        sum += nh_taylor_size(&w->taylor, component(w, X, c));
    return sum;
}

/* Whether the last field is independent of those before it; if so, it is kept, scaled so that its
 * vector has length one. `terms` is the size of the terms it was computed from, `around` that of
 * the polynomials involved, whose round-off counts too. NH_UNKNOWN if it is neither clearly
 * independent nor clearly dependent. */
static nh_answer is_new(flag_space *w, double terms, double around)
{
    int n = w->f->columns;
    double *left = w->basis + w->rank * n, rest = 0;
    if (w->rank == n)
        return NH_NO;
    for (int c = 0; c < n; c++)
        left[c] = component(w, w->fields, c)->c[0];
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < w->rank; r++) {
            double dot = 0;
            for (int c = 0; c < n; c++)
                dot += w->basis[r * n + c] * left[c];
            for (int c = 0; c < n; c++)
                left[c] -= dot * w->basis[r * n + c];
        }
    for (int c = 0; c < n; c++)
        rest += left[c] * left[c];
    rest = sqrt(rest);
    if (!(rest > 1e-7 * terms + 1e-10 * around) || !isfinite(rest))
        return rest <= 1e-11 * terms + 1e-13 * around ? NH_NO : NH_UNKNOWN;
    for (int c = 0; c < n; c++) {
        left[c] /= rest;
        scale_polynomial(w, component(w, w->fields, c), 1 / rest);
    }
    w->rank++;
    w->fields++;
    return NH_YES;
}

/* ---- what is left ---- */

/* Reduced row echelon form: a one in each pivot's column, zeros above and below. */
static int reduce_rows(int rows, int columns, double *a)
{
    int rank = 0;
    for (int c = 0; c < columns && rank < rows; c++) {
        int best = rank;
        for (int r = rank + 1; r < rows; r++)
            best = fabs(a[r * columns + c]) > fabs(a[best * columns + c]) ? r : best;
        if (!(fabs(a[best * columns + c]) > 1e-9))
            continue;
        for (int j = 0; j < columns; j++) {
            double swap = a[best * columns + j];
            a[best * columns + j] = a[rank * columns + j];
            a[rank * columns + j] = swap;
        }
        double pivot = a[rank * columns + c];
        for (int j = 0; j < columns; j++)
            a[rank * columns + j] /= pivot;
        for (int r = 0; r < rows; r++) {
            double l = r == rank ? 0 : a[r * columns + c];
            for (int j = 0; l != 0 && j < columns; j++)
                a[r * columns + j] -= l * a[rank * columns + j];
        }
        rank++;
    }
    return rank;
}

/* (values of the forms on the brackets | identity), with forms scaled to size one; `size` receives
 * their sizes. */
static bool fill_table(const flag_space *w, const nh_probe *probe, int extra, double *table,
                       double *size)
{
    int n = w->f->columns, m = w->f->rows, width = extra + m;
    size_t mn = (size_t)m * (size_t)n;
    double *value = malloc((mn + 1) * sizeof *value);
    bool ok = value &&
              nh_evaluate(w->f->s->g, w->f->entry, mn, probe->t, probe->q, probe->v, NULL, value);
    for (int i = 0; ok && i < m; i++) {
        size[i] = 0;
        for (int c = 0; c < n; c++)
            size[i] = fmax(size[i], fabs(value[i * n + c] *= w->scale[c]));
        table[i * width + extra + i] = 1;
        for (int b = 0; b < extra; b++)
            for (int c = 0; c < n; c++)
                table[i * width + b] += value[i * n + c] / size[i] * w->basis[(n - m + b) * n + c];
    }
    free(value);
    return ok;
}

/* The combinations of the forms that vanish on the whole flag, with largest factor one. */
static bool find_combinations(const flag_space *w, const nh_probe *probe, nh_flag *out)
{
    int n = w->f->columns, m = w->f->rows, h = out->holonomic;
    int extra = w->rank - (n - m), width = extra + m;
    double *table = calloc((size_t)m * (size_t)(width + 1) + 1, sizeof *table);
    double *size = table + m * width;
    out->combination = calloc((size_t)h * (size_t)m + 1, sizeof *out->combination);
    bool ok = table && out->combination && fill_table(w, probe, extra, table, size);
    if (ok)
        reduce_rows(m, width, table);
    for (int i = 0; ok && i < h; i++) {
        double *factor = out->combination + i * m, most = 0;
        for (int j = 0; j < m; j++) {
            double x = table[(m - h + i) * width + extra + j]; /* of forms of size one */
            factor[j] = fabs(x) > 1e-11 ? x / size[j] : 0;
            most = fmax(most, fabs(factor[j]));
        }
        for (int j = 0; j < m && most > 0; j++)
            factor[j] /= most;
    }
    free(table);
    return ok;
}

/* All brackets with the fields [from, to). False if it is unknown whether one of them is
 * independent. */
static bool bracket_all(flag_space *w, int d, int from, int to)
{
    bool clear = true;
    for (int y = from; y < to; y++)
        for (int x = 0; x < d && w->rank < w->f->columns; x++)
            if (y >= d || x < y) {
                bracket(w, x, y);
                nh_answer new =
                    is_new(w, size_of_terms(w, x, y), size_of_field(w, x) * size_of_field(w, y));
                clear = clear && new != NH_UNKNOWN;
            }
    return clear;
}

static bool grow(flag_space *w, nh_flag *out)
{
    int n = w->f->columns, d, from = 0;
    span_fields(w);
    d = w->fields;
    w->fields = 0;
    for (int i = 0; i < d; i++)
        if (is_new(w, 0, 0) != NH_YES)
            return false;
    out->rank[out->count++] = w->rank;
    bool complete = false, clear = true;
    for (int level = 1; level <= w->taylor.degree && !complete && out->count < NH_GROWTH_MAX;
         level++) {
        int to = w->fields;
        clear = bracket_all(w, d, from, to) && clear;
        from = to;
        complete = w->fields == to || w->rank == n;
        if (w->fields > to)
            out->rank[out->count++] = w->rank;
    }
    out->holonomic = w->rank == n ? 0 : complete && clear ? n - w->rank : -1;
    return true;
}

bool nh_find_flag(const nh_forms *f, nh_probe *probe, int round, nh_flag *out)
{
    flag_space w = {.f = f};
    *out = (nh_flag){.holonomic = -1};
    if (f->columns > COLUMNS_MAX)
        return true;
    nh_probe_move(probe, round);
    bool ok = list_variables(&w, probe, round);
    int degree = ok ? choose_degree(&w) : 0;
    if (degree > 0) {
        ok = nh_taylor_init(&w.taylor, w.variables, degree) && space_init(&w);
        if (ok && expand_forms(&w) && reduce(&w) && grow(&w, out) && out->holonomic > 0)
            ok = find_combinations(&w, probe, out);
        ok = ok && !nh_graph_failed(f->s->g);
        nh_taylor_free(&w.taylor);
    }
    free(w.memory);
    free(w.A);
    free(w.pivot);
    return ok;
}
