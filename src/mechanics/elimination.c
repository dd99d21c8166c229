/* Gaussian elimination on a sparse matrix of expressions.
 *
 * The order of elimination is determined beforehand (ordering.c). Matrices that are not definite
 * have their rows exchanged first, or are solved through their normal equations; one step of
 * iterative refinement then restores the accuracy that the matrix itself allows. */
#include "mechanics/elimination.h"

#include <stdlib.h>
#include <string.h>

/* With more multiplications than this, straight-line code is no longer practical. */
#define WORK_MAX 2e7

nh_expr *nh_line_find(const sparse_line *l, int at)
{
    for (int i = 0; i < l->count; i++)
        if (l->item[i].at == at)
            return &l->item[i].value;
    return NULL;
}

bool nh_elimination_put(sparse_line *l, int at, nh_expr value)
{
    if (l->count == l->room) {
        int room = l->room ? 2 * l->room : 4;
        line_entry *bigger = realloc(l->item, (size_t)room * sizeof *bigger);
        if (!bigger)
            return false;
        l->item = bigger;
        l->room = room;
    }
    l->item[l->count++] = (line_entry){at, value};
    return true;
}

bool nh_line_add(nh_graph *g, sparse_line *line, int at, nh_expr value)
{
    nh_expr *found = nh_line_find(line, at);
    if (!found)
        return nh_elimination_put(line, at, value);
    *found = nh_add(g, *found, value);
    return true;
}

void nh_line_remove(sparse_line *l, int at)
{
    for (int i = 0; i < l->count; i++)
        if (l->item[i].at == at) {
            l->item[i] = l->item[--l->count];
            return;
        }
}

static void lines_free(sparse_line *l, int n)
{
    for (int i = 0; l && i < n; i++)
        free(l[i].item);
    free(l);
}

/* ---- factors ---- */

typedef struct work_matrix { /* rows with values, columns as a pattern only, kept consistent */
    sparse_line *row, *column;
    bool symmetric; /* entries below the diagonal equal those above it, also as expressions */
} work_matrix;

static bool is_symmetric(const nh_matrix *a)
{
    for (int i = 0; i < a->rows; i++)
        for (size_t e = 0; e < a->row[i].count; e++)
            if (nh_matrix_at(a, (int)a->row[i].entry[e].index, i) != a->row[i].entry[e].value)
                return false;
    return true;
}

static bool fill_work(work_matrix *w, const nh_matrix *a)
{
    w->row = calloc((size_t)a->rows + 1, sizeof *w->row);
    w->column = calloc((size_t)a->rows + 1, sizeof *w->column);
    w->symmetric = is_symmetric(a);
    bool ok = w->row && w->column;
    for (int i = 0; ok && i < a->rows; i++)
        for (size_t e = 0; ok && e < a->row[i].count; e++) {
            int j = (int)a->row[i].entry[e].index;
            ok = nh_elimination_put(w->row + i, j, a->row[i].entry[e].value) &&
                 nh_elimination_put(w->column + j, i, 0);
        }
    return ok;
}

static bool set_entry(work_matrix *w, int i, int j, nh_expr value)
{
    nh_expr *at = nh_line_find(w->row + i, j);
    if (at) {
        *at = value;
        return true;
    }
    return nh_elimination_put(w->row + i, j, value) && nh_elimination_put(w->column + j, i, 0);
}

static bool subtract_from(nh_graph *g, work_matrix *w, int i, int j, nh_expr what)
{
    const nh_expr *at = nh_line_find(w->row + i, j);
    const nh_expr value = nh_subtract(g, at ? *at : NH_ZERO, what);
    return set_entry(w, i, j, value) && (!w->symmetric || i == j || set_entry(w, j, i, value));
}

/* One step of the elimination: row k becomes a row of U, column k a column of L, the rest is
 * updated. */
static bool eliminate_one(nh_graph *g, nh_elimination *lu, work_matrix *w, int k)
{
    nh_expr *pivot = nh_line_find(w->row + k, k);
    lu->pivot[k] = pivot ? *pivot : NH_ZERO;
    if (lu->pivot[k] == NH_ZERO)
        return false;
    nh_line_remove(w->row + k, k);
    nh_line_remove(w->column + k, k);
    lu->upper[k] = w->row[k];
    w->row[k] = (sparse_line){0};
    for (int c = 0; c < w->column[k].count; c++) {
        int i = w->column[k].item[c].at;
        nh_expr *below = nh_line_find(w->row + i, k);
        nh_expr l = nh_divide(g, *below, lu->pivot[k]);
        nh_line_remove(w->row + i, k);
        if (l != NH_ZERO && !nh_elimination_put(lu->lower + k, i, l))
            return false;
    }
    for (int b = 0; b < lu->upper[k].count; b++) {
        line_entry u = lu->upper[k].item[b];
        nh_line_remove(w->column + u.at, k);
        for (int a = 0; a < lu->lower[k].count; a++) {
            line_entry l = lu->lower[k].item[a];
            if (w->symmetric && l.at > u.at)
                continue;
            if (!subtract_from(g, w, l.at, u.at, nh_multiply(g, l.value, u.value)))
                return false;
        }
    }
    return true;
}

nh_elimination *nh_elimination_allocate(int rows)
{
    size_t n = (size_t)rows + 1;
    nh_elimination *lu = calloc(1, sizeof *lu);
    if (!lu)
        return NULL;
    *lu = (nh_elimination){.n = rows,
                           .visible = rows,
                           .order = calloc(n, sizeof *lu->order),
                           .pivot = calloc(n, sizeof *lu->pivot),
                           .lower = calloc(n, sizeof *lu->lower),
                           .upper = calloc(n, sizeof *lu->upper)};
    if (!lu->order || !lu->pivot || !lu->lower || !lu->upper) {
        nh_elimination_free(lu);
        return NULL;
    }
    return lu;
}

/* Factors in the order stored in `lu`, or in one that is determined first. */
static nh_elimination *factorise(nh_graph *g, nh_elimination *lu, const nh_matrix *a, bool ordered,
                                 int *singular)
{
    nh_work work = {0};
    work_matrix w = {0};
    *singular = NH_NO_MEMORY_LEFT;
    bool ok = lu && (ordered || nh_elimination_order(a, lu->order, WORK_MAX, &work));
    bool too_much = ok && work.products >= WORK_MAX;
    ok = ok && !too_much && fill_work(&w, a);
    for (int position = 0; ok && position < lu->n; position++) {
        int k = lu->order[position];
        ok = eliminate_one(g, lu, &w, k) && !nh_graph_failed(g);
        if (!ok && lu->pivot[k] == NH_ZERO && !nh_graph_failed(g))
            *singular = k;
    }
    lines_free(w.row, a->rows);
    lines_free(w.column, a->rows);
    if (!ok) {
        if (too_much)
            *singular = NH_TOO_MUCH_FILL;
        nh_elimination_free(lu);
        return NULL;
    }
    return lu;
}

static bool append_row(nh_partials *to, const nh_partials *from)
{
    bool ok = true;
    for (size_t e = 0; ok && e < from->count; e++)
        ok = nh_row_append(to, from->entry[e].index, from->entry[e].value);
    return ok;
}

static nh_elimination *exchanged(nh_graph *g, const nh_matrix *a, const nh_pivots *pivots,
                                 int *singular)
{
    nh_elimination *lu = nh_elimination_allocate(a->rows);
    nh_matrix moved = {0};
    size_t n = (size_t)a->rows;
    *singular = NH_NO_MEMORY_LEFT;
    bool ok = lu && (lu->row = calloc(n + 1, sizeof(int))) &&
              (lu->place = calloc(n + 1, sizeof(int))) && nh_matrix_init(&moved, a->rows, a->rows);
    for (int k = 0; ok && k < a->rows; k++) {
        lu->order[k] = pivots->order[k];
        lu->row[k] = pivots->row[k];
        lu->place[pivots->row[k]] = k;
        ok = append_row(moved.row + k, a->row + pivots->row[k]);
    }
    if (!ok) {
        nh_elimination_free(lu);
        lu = NULL;
    }
    lu = lu ? factorise(g, lu, &moved, true, singular) : NULL;
    nh_matrix_free(&moved);
    return lu;
}

enum { NORMAL_ROWS_MAX = 200 }; /* the product is dense */

/* a^T w as rows, and its product with a. */
static bool normal_matrix(nh_graph *g, const nh_matrix *a, const double *weight, nh_matrix *aw,
                          nh_matrix *normal)
{
    int n = a->rows;
    nh_matrix transposed = {0};
    bool ok = nh_matrix_init(aw, n, n) && nh_matrix_init(&transposed, n, n) &&
              nh_matrix_init(normal, n, n);
    for (int i = 0; ok && i < n; i++)
        for (size_t e = 0; ok && e < a->row[i].count; e++) {
            nh_partial x = a->row[i].entry[e];
            ok = nh_row_append(aw->row + x.index, (uint32_t)i, nh_scale(g, weight[i], x.value)) &&
                 nh_row_append(transposed.row + x.index, (uint32_t)i, x.value);
        }
    for (int i = 0; ok && i < n; i++)
        for (int j = 0; ok && j < n; j++)
            ok = nh_row_append(normal->row + i, (uint32_t)j,
                               nh_row_dot(g, aw->row + i, transposed.row + j));
    nh_matrix_free(&transposed);
    return ok && !nh_graph_failed(g);
}

static nh_elimination *through_normal(nh_graph *g, const nh_matrix *a, const nh_pivots *pivots,
                                      int *singular)
{
    nh_matrix aw = {0}, normal = {0}, copy = {0};
    *singular = a->rows > NORMAL_ROWS_MAX ? NH_TOO_MUCH_FILL : NH_NO_MEMORY_LEFT;
    if (a->rows > NORMAL_ROWS_MAX)
        return NULL;
    bool ok = nh_matrix_init(&copy, a->rows, a->rows);
    for (int i = 0; ok && i < a->rows; i++)
        ok = append_row(copy.row + i, a->row + i);
    ok = ok && normal_matrix(g, a, pivots->weight, &aw, &normal);
    nh_elimination *lu =
        ok ? factorise(g, nh_elimination_allocate(a->rows), &normal, false, singular) : NULL;
    nh_matrix_free(&normal);
    if (!lu) {
        nh_matrix_free(&aw);
        nh_matrix_free(&copy);
        return NULL;
    }
    lu->a = copy;
    lu->aw = aw;
    return lu;
}

nh_elimination *nh_eliminate(nh_graph *g, const nh_matrix *a, const nh_pivots *pivots,
                             int *singular)
{
    if (pivots && pivots->kind == NH_PIVOTS_EXCHANGED)
        return exchanged(g, a, pivots, singular);
    if (pivots && pivots->kind == NH_PIVOTS_NORMAL)
        return through_normal(g, a, pivots, singular);
    return factorise(g, nh_elimination_allocate(a->rows), a, false, singular);
}

const nh_expr *nh_elimination_pivots(const nh_elimination *lu)
{
    return lu->pivot;
}

void nh_elimination_free(nh_elimination *lu)
{
    if (!lu)
        return;
    lines_free(lu->lower, lu->n);
    lines_free(lu->upper, lu->n);
    nh_matrix_free(&lu->a);
    nh_matrix_free(&lu->aw);
    free(lu->order);
    free(lu->pivot);
    free(lu->carried);
    free(lu->row);
    free(lu->place);
    free(lu);
}

/* ---- solutions ---- */

/* x_k is final with respect to L: subtracts its contributions from the unknowns eliminated
 * later. */
static void forward(nh_graph *g, const nh_elimination *lu, nh_expr *x, int k)
{
    for (int a = 0; x[k] != NH_ZERO && a < lu->lower[k].count; a++) {
        line_entry l = lu->lower[k].item[a];
        x[l.at] = nh_subtract(g, x[l.at], nh_multiply(g, l.value, x[k]));
    }
}

static bool backward(nh_graph *g, const nh_elimination *lu, nh_expr *x, int k)
{
    nh_expr_list terms = {0};
    const bool carried = lu->carried && lu->carried[k];
    bool ok = carried ||
              nh_expr_list_push(&terms, lu->inverted ? nh_multiply(g, x[k], lu->pivot[k]) : x[k]);
    for (int b = 0; ok && b < lu->upper[k].count; b++) {
        line_entry u = lu->upper[k].item[b];
        if (x[u.at] != NH_ZERO)
            ok = nh_expr_list_push(&terms, nh_negate(g, nh_multiply(g, u.value, x[u.at])));
    }
    x[k] = ok ? nh_sum(g, terms.item, terms.count) : NH_ZERO;
    if (!lu->inverted && !carried)
        x[k] = nh_divide(g, x[k], lu->pivot[k]);
    nh_expr_list_free(&terms);
    return ok;
}

static bool solve_factors(nh_graph *g, const nh_elimination *lu, nh_expr *x)
{
    bool ok = true;
    for (int position = 0; position < lu->n; position++)
        forward(g, lu, x, lu->order[position]);
    for (int position = lu->n; ok && position-- > 0;)
        ok = backward(g, lu, x, lu->order[position]);
    return ok && !nh_graph_failed(g);
}

/* Solves for x through the normal equations, then once more for the residual b - a x. */
static bool solve_normal(nh_graph *g, const nh_elimination *lu, nh_expr *x)
{
    size_t n = (size_t)lu->n;
    nh_expr *left = malloc((2 * n + 1) * sizeof *left), *change = left + n;
    bool ok = left != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        left[i] = x[i];
        x[i] = NH_ZERO;
    }
    for (int pass = 0; ok && pass < 2; pass++) {
        for (size_t i = 0; i < n; i++)
            change[i] = nh_row_apply(g, lu->aw.row + i, left);
        ok = solve_factors(g, lu, change);
        for (size_t i = 0; i < n; i++)
            x[i] = nh_add(g, x[i], change[i]);
        for (size_t i = 0; i < n; i++)
            left[i] = nh_subtract(g, left[i], nh_row_apply(g, lu->a.row + i, change));
    }
    free(left);
    return ok && !nh_graph_failed(g);
}

/* With unknowns that are not part of x. */
static bool solve_extended(nh_graph *g, const nh_elimination *lu, nh_expr *x)
{
    nh_expr *all = calloc((size_t)lu->n + 1, sizeof *all);
    if (!all)
        return false;
    memcpy(all, x, (size_t)lu->visible * sizeof *x);
    const bool ok = solve_factors(g, lu, all);
    memcpy(x, all, (size_t)lu->visible * sizeof *x);
    free(all);
    return ok;
}

bool nh_elimination_solve(nh_graph *g, const nh_elimination *lu, nh_expr *x)
{
    if (lu->visible < lu->n)
        return solve_extended(g, lu, x);
    if (lu->a.row)
        return solve_normal(g, lu, x);
    if (!lu->row)
        return solve_factors(g, lu, x);
    nh_expr *given = malloc(((size_t)lu->n + 1) * sizeof *given);
    if (!given)
        return false;
    memcpy(given, x, (size_t)lu->n * sizeof *x);
    for (int k = 0; k < lu->n; k++)
        x[k] = given[lu->row[k]];
    free(given);
    return solve_factors(g, lu, x);
}

/* The unknowns that a sparse right-hand side reaches, so that the cost of a solution is
 * proportional to its entries. */
typedef struct solution_pattern {
    sparse_line *users; /* users[j]: the k with u_kj */
    int *position;      /* position of an unknown in the order of elimination */
    int *met;           /* the unknowns reached, as positions in the order */
    int count;
    bool *is_met;
    nh_expr *x; /* zero except for the unknowns reached */
} solution_pattern;

static bool pattern_init(solution_pattern *r, const nh_elimination *lu)
{
    size_t n = (size_t)lu->n + 1;
    *r = (solution_pattern){.users = calloc(n, sizeof *r->users),
                            .position = calloc(n, sizeof *r->position),
                            .met = calloc(n, sizeof *r->met),
                            .is_met = calloc(n, sizeof *r->is_met),
                            .x = malloc(n * sizeof *r->x)};
    bool ok = r->users && r->position && r->met && r->is_met && r->x;
    for (int i = 0; ok && i < lu->n; i++) {
        r->position[lu->order[i]] = i;
        r->x[i] = NH_ZERO;
        for (int b = 0; ok && b < lu->upper[i].count; b++)
            ok = nh_elimination_put(r->users + lu->upper[i].item[b].at, i, 0);
    }
    return ok;
}

static void pattern_free(solution_pattern *r, int n)
{
    lines_free(r->users, n);
    free(r->position);
    free(r->met);
    free(r->is_met);
    free(r->x);
}

static void meet(solution_pattern *r, int unknown)
{
    if (!r->is_met[unknown])
        r->met[r->count++] = r->position[unknown];
    r->is_met[unknown] = true;
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Along L to unknowns eliminated later, then along U back to those eliminated earlier. */
static void find_pattern(solution_pattern *r, const nh_elimination *lu, const nh_partials *given)
{
    r->count = 0;
    for (size_t e = 0; e < given->count; e++) {
        int row = (int)given->entry[e].index, at = lu->place ? lu->place[row] : row;
        meet(r, at);
        r->x[at] = given->entry[e].value;
    }
    const sparse_line *const edges[] = {lu->lower, r->users};
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < r->count; i++) {
            const sparse_line *from = edges[way] + lu->order[r->met[i]];
            for (int a = 0; a < from->count; a++)
                meet(r, from->item[a].at);
        }
    qsort(r->met, (size_t)r->count, sizeof *r->met, compare_numbers);
}

/* Moves the solution out, in ascending columns, and resets everything to zero for the next one. */
static bool take_solution(solution_pattern *r, const nh_elimination *lu, nh_partials *out)
{
    bool ok = true;
    for (int i = 0; i < r->count; i++)
        r->met[i] = lu->order[r->met[i]];
    qsort(r->met, (size_t)r->count, sizeof *r->met, compare_numbers);
    for (int i = 0; i < r->count; i++) {
        int k = r->met[i];
        ok = ok && (k >= lu->visible || nh_row_append(out, (uint32_t)k, r->x[k]));
        r->x[k] = NH_ZERO;
        r->is_met[k] = false;
    }
    return ok;
}

/* Normal equations reach the whole connected component. */
static bool solve_rows_normal(nh_graph *g, const nh_elimination *lu, const nh_matrix *given,
                              nh_matrix *out)
{
    nh_expr *x = malloc(((size_t)lu->n + 1) * sizeof *x);
    bool ok = x != NULL;
    for (int j = 0; ok && j < given->rows; j++) {
        for (int i = 0; i < lu->n; i++)
            x[i] = nh_matrix_at(given, j, i);
        ok = solve_normal(g, lu, x);
        for (int i = 0; ok && i < lu->n; i++)
            ok = nh_row_append(out->row + j, (uint32_t)i, x[i]);
    }
    free(x);
    return ok;
}

bool nh_elimination_solve_rows(nh_graph *g, const nh_elimination *lu, const nh_matrix *given,
                               nh_matrix *out)
{
    if (lu->a.row)
        return solve_rows_normal(g, lu, given, out);
    solution_pattern r;
    bool ok = pattern_init(&r, lu);
    for (int j = 0; ok && j < given->rows; j++) {
        find_pattern(&r, lu, given->row + j);
        for (int i = 0; i < r.count; i++)
            forward(g, lu, r.x, lu->order[r.met[i]]);
        for (int i = r.count; ok && i-- > 0;)
            ok = backward(g, lu, r.x, lu->order[r.met[i]]);
        ok = ok && take_solution(&r, lu, out->row + j);
    }
    pattern_free(&r, lu->n);
    return ok && !nh_graph_failed(g);
}
