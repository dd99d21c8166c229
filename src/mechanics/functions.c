/* The outputs of the functions of functions.def as expressions: those that advance a system.
 * Functions that report on a state are in observed.c. */
#include "mechanics/mechanics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static bool push_entries(nh_expr_list *out, const nh_matrix *a)
{
    bool ok = true;
    for (int i = 0; i < a->rows; i++)
        for (size_t e = 0; ok && e < a->row[i].count; e++)
            ok = nh_expr_list_push(out, a->row[i].entry[e].value);
    return ok;
}

static bool push_dense(nh_expr_list *out, const nh_matrix *a)
{
    bool ok = true;
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; ok && j < a->columns; j++)
            ok = nh_expr_list_push(out, nh_matrix_at(a, i, j));
    return ok;
}

static bool solve_mass(nh_mechanics *s, const nh_expr *rhs, nh_expr *x)
{
    memcpy(x, rhs, (size_t)s->n * sizeof *x);
    return nh_elimination_solve(s->g, s->mass_factors, x);
}

bool nh_derive_kick(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    return solve_mass(s, s->rate, work) && nh_expr_list_push_all(out, work, s->n) &&
           push_entries(out, &s->B);
}

bool nh_derive_free(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    nh_expr h = nh_variable(s->g, NH_X, 0);
    bool ok = solve_mass(s, s->rate, work);
    for (int i = 0; ok && i < s->n; i++) {
        nh_expr change = nh_multiply(s->g, h, work[i]);
        ok = nh_expr_list_push(out, nh_add(s->g, nh_variable(s->g, NH_V, (uint32_t)i), change));
    }
    return ok;
}

bool nh_derive_react(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return push_entries(out, &s->B);
}

bool nh_derive_push(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    return nh_derive_free(s, work, out) && push_entries(out, &s->B);
}

/* ---- Schur complements ---- */

/* The rows of a matrix that have an entry in a column: row[first[c]] .. row[first[c + 1]]. */
typedef struct users {
    int *first, *row;
} users;

static bool list_users(users *u, const nh_matrix *a)
{
    int n = a->columns;
    u->first = calloc((size_t)n + 2, sizeof *u->first);
    u->row = malloc((nh_matrix_entries(a) + 1) * sizeof *u->row);
    if (!u->first || !u->row)
        return false;
    for (int j = 0; j < a->rows; j++)
        for (size_t e = 0; e < a->row[j].count; e++)
            u->first[a->row[j].entry[e].index + 2]++;
    for (int c = 0; c < n; c++)
        u->first[c + 2] += u->first[c + 1];
    for (int j = 0; j < a->rows; j++)
        for (size_t e = 0; e < a->row[j].count; e++)
            u->row[u->first[a->row[j].entry[e].index + 1]++] = j;
    return true;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The rows that share a column with `row`, each once, ascending. last[j] is the pass in which j was
 * last found. */
static int list_met(const users *u, const nh_partials *row, int pass, int *last, int *met)
{
    int count = 0;
    for (size_t e = 0; e < row->count; e++)
        for (int i = u->first[row->entry[e].index]; i < u->first[row->entry[e].index + 1]; i++)
            if (last[u->row[i]] != pass) {
                last[u->row[i]] = pass;
                met[count++] = u->row[i];
            }
    qsort(met, (size_t)count, sizeof *met, ascending);
    return count;
}

/* rows . columns^T for sparse rows, only where they share columns. If the product is known to be
 * symmetric, entries below the diagonal are copied from above it, since their expressions could
 * differ. */
static bool product(nh_graph *g, nh_matrix *out, const nh_matrix *rows, const nh_matrix *columns,
                    bool symmetric)
{
    size_t m = (size_t)columns->rows;
    users u = {0};
    int *last = calloc(m + 1, sizeof *last), *met = malloc((m + 1) * sizeof *met);
    bool ok = last && met && list_users(&u, columns) && nh_matrix_init(out, rows->rows, (int)m);
    for (int i = 0; ok && i < rows->rows; i++) {
        int count = list_met(&u, rows->row + i, i + 1, last, met);
        for (int e = 0; ok && e < count; e++) {
            const int j = met[e];
            nh_expr entry = symmetric && j < i ? nh_matrix_at(out, j, i)
                                               : nh_row_dot(g, rows->row + i, columns->row + j);
            ok = nh_row_append(out->row + i, (uint32_t)j, entry);
        }
    }
    free(u.first);
    free(u.row);
    free(last);
    free(met);
    return ok && !nh_graph_failed(g);
}

bool nh_schur_matrix(nh_mechanics *s, nh_matrix *out)
{
    return product(s->g, out, &s->K, &s->B, true);
}

static bool solve_with(nh_mechanics *s, const nh_matrix *S, nh_expr *x)
{
    int singular;
    nh_elimination *lu = nh_eliminate(s->g, S, &s->schur_pivots, &singular);
    bool ok = lu && nh_elimination_solve(s->g, lu, x);
    nh_elimination_free(lu);
    return ok;
}

/* x and y with M x + K^T y = first, K x = second; NULL: zero. Only in a tree with constraints. */
static bool solve_motion(nh_mechanics *s, const nh_expr *first, const nh_expr *second, nh_expr *xy)
{
    for (int i = 0; i < s->n; i++)
        xy[i] = first ? first[i] : NH_ZERO;
    for (int i = 0; i < s->m; i++)
        xy[s->n + i] = second ? second[i] : NH_ZERO;
    return nh_elimination_solve(s->g, s->motion_factors, xy);
}

static bool acceleration_of_tree(nh_mechanics *s, nh_expr_list *out)
{
    nh_expr *x = calloc((size_t)s->n + 2 * (size_t)s->m + 1, sizeof *x), *drift = x + s->n + s->m;
    for (int i = 0; x && i < s->m; i++)
        drift[i] = nh_negate(s->g, s->drift[i]);
    const bool ok = x && solve_motion(s, s->rate, drift, x);
    for (int i = 0; ok && i < s->m; i++)
        x[s->n + i] = nh_negate(s->g, x[s->n + i]);
    const bool pushed = ok && nh_expr_list_push_all(out, x, s->n + s->m);
    free(x);
    return pushed;
}

/* Subtracts from x what removes these residuals of the constraints: B (K B)^-1 residual. */
static bool correct_in_tree(nh_mechanics *s, const nh_expr *residual, nh_expr *x)
{
    nh_expr *change = calloc((size_t)s->n + (size_t)s->m + 1, sizeof *change);
    const bool ok = change && solve_motion(s, NULL, residual, change);
    for (int i = 0; ok && i < s->n; i++)
        x[i] = nh_subtract(s->g, x[i], change[i]);
    free(change);
    return ok;
}

/* lambda from (K B) lambda = -drift - K g, then v' = g + B lambda. */
static bool ideal_acceleration(nh_mechanics *s, nh_expr *a, nh_expr_list *out)
{
    nh_graph *g = s->g;
    if (s->motion_factors)
        return acceleration_of_tree(s, out);
    nh_matrix S = {0};
    nh_expr *lambda = calloc((size_t)s->m + 1, sizeof *lambda);
    bool ok = lambda && solve_mass(s, s->rate, a) && nh_schur_matrix(s, &S);
    for (int i = 0; ok && i < s->m; i++)
        lambda[i] = nh_negate(g, nh_add(g, s->drift[i], nh_row_apply(g, s->K.row + i, a)));
    ok = ok && solve_with(s, &S, lambda);
    for (int j = 0; ok && j < s->m; j++)
        for (size_t e = 0; e < s->B.row[j].count; e++) {
            nh_partial b = s->B.row[j].entry[e];
            a[b.index] = nh_add(g, a[b.index], nh_multiply(g, b.value, lambda[j]));
        }
    ok = ok && nh_expr_list_push_all(out, a, s->n) && nh_expr_list_push_all(out, lambda, s->m);
    nh_matrix_free(&S);
    free(lambda);
    return ok;
}

bool nh_derive_acceleration(nh_mechanics *s, nh_expr *a, nh_expr_list *out)
{
    if (!s->facts.nonideal)
        return ideal_acceleration(s, a, out);
    nh_expr_list ideal = {0};
    bool ok = ideal_acceleration(s, a, &ideal) &&
              nh_acceleration_with_friction(s, ideal.item + s->n, out);
    nh_expr_list_free(&ideal);
    return ok;
}

/* The entries of B as arguments: the same pattern with values X[0], X[1], ... */
static bool given_reactions(nh_mechanics *s, nh_matrix *B)
{
    uint32_t next = 0;
    bool ok = nh_matrix_init(B, s->m, s->n);
    for (int j = 0; ok && j < s->m; j++)
        for (size_t e = 0; ok && e < s->B.row[j].count; e++)
            ok = nh_row_append(B->row + j, s->B.row[j].entry[e].index,
                               nh_variable(s->g, NH_X, next++));
    return ok;
}

/* K + c dk/dq: the derivative of a constraint along a change of v that also moves q by c times as
 * much. */
static bool response(nh_mechanics *s, nh_matrix *out)
{
    nh_graph *g = s->g;
    nh_expr c = nh_variable(g, NH_X, (uint32_t)nh_matrix_entries(&s->B));
    bool ok = nh_matrix_init(out, s->m, s->n);
    for (int i = 0; ok && i < s->m; i++) {
        const nh_partials *a = s->K.row + i, *b = s->kq.row + i;
        for (size_t x = 0, y = 0; ok && (x < a->count || y < b->count);) {
            uint32_t at_a = x < a->count ? a->entry[x].index : UINT32_MAX;
            uint32_t at_b = y < b->count ? b->entry[y].index : UINT32_MAX;
            uint32_t at = at_a < at_b ? at_a : at_b;
            nh_expr value = at_a == at ? a->entry[x++].value : NH_ZERO;
            if (at_b == at)
                value = nh_add(g, value, nh_multiply(g, c, b->entry[y++].value));
            ok = nh_row_append(out->row + i, at, value);
        }
    }
    return ok;
}

/* d = S^-1 k, with S = R B. */
static bool schur_solve(nh_mechanics *s, const nh_matrix *R, const nh_matrix *B, const nh_expr *k,
                        nh_expr *d)
{
    nh_matrix S = {0};
    memcpy(d, k, (size_t)s->m * sizeof *d);
    bool ok = product(s->g, &S, R, B, false) && solve_with(s, &S, d);
    nh_matrix_free(&S);
    return ok;
}

/* S^-1 k and k, with S = R B for given reactions B. */
static bool close_with(nh_mechanics *s, const nh_matrix *R, const nh_expr *k, nh_expr_list *out)
{
    nh_matrix B = {0};
    nh_expr *d = malloc(((size_t)s->m + 1) * sizeof *d);
    bool ok = d && given_reactions(s, &B) && schur_solve(s, R, &B, k, d) &&
              nh_expr_list_push_all(out, d, s->m) && nh_expr_list_push_all(out, k, s->m);
    nh_matrix_free(&B);
    free(d);
    return ok;
}

/* v - B S^-1 k with S = K B */
static bool projected(nh_mechanics *s, const nh_matrix *B, nh_expr *v)
{
    nh_graph *g = s->g;
    for (int i = 0; i < s->n; i++)
        v[i] = nh_variable(g, NH_V, (uint32_t)i);
    if (s->motion_factors && B == &s->B)
        return correct_in_tree(s, s->k, v);
    nh_expr *d = malloc(((size_t)s->m + 1) * sizeof *d);
    bool ok = d && schur_solve(s, &s->K, B, s->k, d);
    for (int j = 0; ok && j < s->m; j++)
        for (size_t e = 0; e < B->row[j].count; e++) {
            nh_partial b = B->row[j].entry[e];
            v[b.index] = nh_subtract(g, v[b.index], nh_multiply(g, b.value, d[j]));
        }
    free(d);
    return ok;
}

/* The same for given reactions. */
bool nh_derive_project(nh_mechanics *s, nh_expr *v, nh_expr_list *out)
{
    nh_matrix B = {0};
    bool ok = given_reactions(s, &B) && projected(s, &B, v) && nh_expr_list_push_all(out, v, s->n);
    nh_matrix_free(&B);
    return ok;
}

bool nh_derive_land(nh_mechanics *s, nh_expr *move, nh_expr_list *out)
{
    nh_graph *g = s->g;
    nh_expr *gap = calloc(2 * (size_t)s->m + 1, sizeof *gap), *d = gap ? gap + s->m : NULL;
    for (int i = 0; gap && i < s->positions; i++)
        gap[s->m - s->positions + i] = s->position[i];
    const bool tree = s->motion_factors;
    bool ok = gap && (tree ? correct_in_tree(s, gap, move) : schur_solve(s, &s->K, &s->B, gap, d));
    for (int j = 0; ok && !tree && j < s->m; j++)
        for (size_t e = 0; e < s->B.row[j].count; e++) {
            nh_partial b = s->B.row[j].entry[e];
            move[b.index] = nh_subtract(g, move[b.index], nh_multiply(g, b.value, d[j]));
        }
    ok = ok && nh_expr_list_push_all(out, move, s->n);
    free(gap);
    return ok;
}

bool nh_derive_settle(nh_mechanics *s, nh_expr *zero, nh_expr_list *out)
{
    nh_graph *g = s->g;
    size_t n = (size_t)s->n;
    nh_expr *w = malloc((n + 1) * sizeof *w);
    bool ok = w && projected(s, &s->B, w) && nh_expr_list_push_all(out, w, s->n);
    if (ok) {
        const nh_expr V = nh_substitute(g, s->energy, NH_V, zero, n);
        const nh_expr T = nh_substitute(g, nh_subtract(g, s->energy, V), NH_V, w, n);
        ok = nh_expr_list_push(out, T) && nh_expr_list_push(out, V);
    }
    free(w);
    return ok;
}

bool nh_derive_close(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    nh_matrix R = {0};
    bool ok = response(s, &R) && close_with(s, &R, s->k, out);
    nh_matrix_free(&R);
    return ok;
}

/* The arguments of CLOSE_MEAN after B and c. */
typedef struct mean_arguments {
    nh_expr before, a, t1; /* 1 - a, a, t1 */
    nh_expr *q1;           /* [n] */
} mean_arguments;

/* (1 - a) first + a (second with t, q replaced by t1, q1) */
static nh_expr mean_of(nh_mechanics *s, const mean_arguments *x, nh_expr first, nh_expr second)
{
    nh_graph *g = s->g;
    nh_expr there = nh_substitute(g, second, NH_Q, x->q1, (size_t)s->n);
    there = nh_substitute(g, there, NH_TIME, &x->t1, 1);
    there = nh_multiply(g, x->a, there);
    return nh_add(g, nh_multiply(g, x->before, first), there);
}

bool nh_derive_close_mean(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    nh_graph *g = s->g;
    uint32_t next = (uint32_t)nh_matrix_entries(&s->B) + 1;
    mean_arguments x = {.a = nh_variable(g, NH_X, next), .t1 = nh_variable(g, NH_X, next + 1)};
    x.before = nh_subtract(g, NH_ONE, x.a);
    x.q1 = malloc(((size_t)s->n + (size_t)s->m + 1) * sizeof *x.q1);
    nh_expr *k = x.q1 + s->n;
    nh_matrix R = {0};
    bool ok = x.q1 && response(s, &R);
    for (int i = 0; ok && i < s->n; i++)
        x.q1[i] = nh_variable(g, NH_X, next + 2 + (uint32_t)i);
    for (int i = 0; ok && i < s->m; i++) {
        k[i] = mean_of(s, &x, s->k[i], s->k[i]);
        for (size_t e = 0; e < R.row[i].count; e++) {
            nh_partial *r = R.row[i].entry + e;
            r->value = mean_of(s, &x, nh_partial_of(s->K.row + i, r->index), r->value);
        }
    }
    ok = ok && !nh_graph_failed(g) && close_with(s, &R, k, out);
    nh_matrix_free(&R);
    free(x.q1);
    return ok;
}

bool nh_derive_solve(nh_mechanics *s, nh_expr *x, nh_expr_list *out)
{
    for (int i = 0; i < s->n; i++)
        x[i] = nh_variable(s->g, NH_X, (uint32_t)i);
    return nh_elimination_solve(s->g, s->mass_factors, x) && nh_expr_list_push_all(out, x, s->n);
}

/* M^-1 y with the factors of M among the arguments. */
bool nh_derive_substitute(nh_mechanics *s, nh_expr *y, nh_expr_list *out)
{
    nh_expr_list factors = {0};
    nh_elimination *frozen = nh_elimination_freeze(s->g, s->mass_factors, &factors);
    for (int i = 0; frozen && i < s->n; i++)
        y[i] = nh_variable(s->g, NH_X, (uint32_t)(s->nf + i));
    bool ok =
        frozen && nh_elimination_solve(s->g, frozen, y) && nh_expr_list_push_all(out, y, s->n);
    nh_elimination_free(frozen);
    nh_expr_list_free(&factors);
    return ok;
}

static bool push_reactions(nh_mechanics *s, nh_expr_list *out)
{
    return s->facts.nonideal ? nh_push_friction_reactions(s, out) : push_entries(out, &s->B);
}

bool nh_derive_factor(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    nh_expr_list factors = {0};
    nh_elimination *frozen = nh_elimination_freeze(s->g, s->mass_factors, &factors);
    bool ok = frozen && push_reactions(s, out) &&
              nh_expr_list_push_all(out, factors.item, (int)factors.count);
    for (int i = (int)factors.count; ok && i < s->nf; i++) /* if nf is only an upper bound */
        ok = nh_expr_list_push(out, NH_ZERO);
    nh_elimination_free(frozen);
    nh_expr_list_free(&factors);
    return ok;
}

/* ---- plain lists ---- */

bool nh_derive_stage(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_expr_list_push_all(out, s->p, s->n) && nh_expr_list_push_all(out, s->F, s->n) &&
           nh_expr_list_push_all(out, s->k, s->m) && push_entries(out, &s->K) &&
           push_reactions(s, out) &&
           (!s->facts.nonideal || nh_push_friction(s, s->plain_momentum, out));
}

bool nh_derive_point(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_expr_list_push_all(out, s->p, s->n) && nh_expr_list_push_all(out, s->F, s->n) &&
           nh_expr_list_push_all(out, s->k, s->m) && push_entries(out, &s->K) &&
           (!s->facts.nonideal || nh_push_friction(s, false, out));
}

bool nh_derive_end(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_expr_list_push_all(out, s->p, s->n) && nh_expr_list_push_all(out, s->k, s->m) &&
           push_entries(out, &s->K);
}

bool nh_derive_constraint(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_expr_list_push_all(out, s->k, s->m);
}

bool nh_derive_matrices(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_form_mass(s) && push_dense(out, &s->mass) && push_dense(out, &s->K);
}

bool nh_derive_normal(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return push_entries(out, &s->K) && push_entries(out, &s->B);
}

bool nh_derive_normal_along(nh_mechanics *s, nh_expr *v, nh_expr_list *out)
{
    nh_expr_list at = {0};
    bool ok = nh_derive_normal(s, v, &at);
    for (int i = 0; i < s->n; i++)
        v[i] = nh_variable(s->g, NH_V, (uint32_t)i);
    for (size_t e = 0; ok && e < at.count; e++) {
        nh_partials d;
        ok = nh_expr_gradient(s->g, at.item[e], NH_Q, &d) &&
             nh_expr_list_push(out, nh_row_apply(s->g, &d, v));
        nh_partials_free(&d);
    }
    ok = ok && nh_expr_list_push_all(out, at.item, (int)at.count);
    nh_expr_list_free(&at);
    return ok;
}

/* ---- conditions on positions ---- */

int nh_mechanics_ng(const nh_mechanics *s)
{
    size_t count = 0;
    for (int i = s->m - s->positions; i < s->m; i++)
        count += s->K.row[i].count;
    return (int)count;
}

/* The rows of K and of B that belong to conditions on positions; they still belong to the
 * mechanics. */
static nh_matrix rows_of_positions(const nh_mechanics *s, const nh_matrix *a)
{
    return (nh_matrix){
        .rows = s->positions, .columns = a->columns, .row = a->row + (s->m - s->positions)};
}

bool nh_derive_surface(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    const nh_matrix G = rows_of_positions(s, &s->K);
    return nh_expr_list_push_all(out, s->position, s->positions) && push_entries(out, &G);
}

/* ---- the list ---- */

const char *const nh_fn_name[NH_FN_COUNT] = {
#define FN(name, outputs, inverse, derive) #name,
#include "mechanics/functions.def"
#undef FN
};

size_t nh_fn_outputs(nh_fn fn, const nh_fn_sizes *sizes)
{
    const size_t n = (size_t)sizes->n, m = (size_t)sizes->m, r = n - m;
    const size_t nk = (size_t)sizes->nk, nb = (size_t)sizes->nb, ng = (size_t)sizes->ng,
                 nf = (size_t)sizes->nf;
    const size_t positions = (size_t)sizes->positions, observables = (size_t)sizes->observables;
    const size_t inputs = (size_t)sizes->inputs, rest = (size_t)sizes->rest;
    const size_t events = (size_t)sizes->events, changes = (size_t)sizes->changes;
    const size_t kinks = (size_t)sizes->kinks, contact = sizes->contact;
    const size_t count[] = {
#define FN(name, outputs, inverse, derive) outputs,
#include "mechanics/functions.def"
#undef FN
    };
    return count[fn];
}

/* A wrong size in functions.def would let a kernel write beyond its array, so it is checked when
 * the function is first requested. */
static bool is_complete(const nh_mechanics *s, nh_fn fn, size_t count)
{
    const nh_contact_layout contact = nh_contact_layout_of(s->problem, s->n, s->m);
    const nh_fn_sizes sizes = {.n = s->n,
                               .m = s->m,
                               .rest = s->facts.nonideal ? s->n : 0,
                               .positions = s->positions,
                               .nk = (int)nh_matrix_entries(&s->K),
                               .nb = (int)nh_matrix_entries(&s->B),
                               .ng = nh_mechanics_ng(s),
                               .nf = s->nf,
                               .events = s->problem->events,
                               .changes = s->problem->changes,
                               .kinks = s->problem->kinks,
                               .observables = s->problem->observables +
                                              (s->facts.coupled ? NH_COUPLED_OBSERVABLES : 0),
                               .inputs = nh_problem_given(s->problem),
                               .contact = nh_contact_numbers(&contact)};
    size_t expected = nh_fn_outputs(fn, &sizes);
    assert(count == expected && "functions.def gives a different number of outputs");
    return count == expected;
}

/* Whether the function does without B, because it solves for motion and multipliers at once. */
static bool does_without_reactions(const nh_mechanics *s, nh_fn fn)
{
    return s->motion_factors && !s->facts.nonideal &&
           (fn == NH_FN_ACCELERATION || fn == NH_FN_LAND || fn == NH_FN_SETTLE ||
            fn == NH_FN_SOLVE || fn == NH_FN_SUBSTITUTE || fn == NH_FN_FREE);
}

static bool needs_inverse_mass(const nh_mechanics *s, nh_fn fn)
{
    const bool reactions = s->problem->reactions > 0;
    const bool needs[] = {
#define FN(name, outputs, inverse, derive) inverse,
#include "mechanics/functions.def"
#undef FN
    };
    return needs[fn];
}

nh_status nh_mechanics_function(nh_mechanics *s, nh_fn fn, nh_expr_list *out, nh_report *report)
{
    static nh_derive_function *const derive[] = {
#define FN(name, outputs, inverse, derive_) derive_,
#include "mechanics/functions.def"
#undef FN
    };
    nh_status status = !needs_inverse_mass(s, fn)      ? NH_OK
                       : does_without_reactions(s, fn) ? nh_mass_needed(s, report)
                                                       : nh_reactions_needed(s, report);
    nh_expr *work = status == NH_OK ? calloc((size_t)s->n + 1, sizeof *work) : NULL;
    size_t before = out->count;
    bool ok = work && derive[fn](s, work, out) && !nh_graph_failed(s->g);
    free(work);
    if (status == NH_OK && !(ok && is_complete(s, fn, out->count - before)))
        status = nh_fail(report, NH_NO_MEMORY,
                         "%s: not enough memory for the equations of %d coordinates",
                         s->problem->file, s->n);
    return status;
}
