/* Shorter right-hand sides, where they exist: time derivatives of momenta and constraints in
 * forward mode, and a special form for Lagrangians written in terms of velocities of points.
 *
 * Where the model contains (c)' for functions c_k of time and positions, the Lagrangian is a
 * function L(t, q, v, w) of these rates w_k as well. With A_k = dL/dw_k,
 * J_ki = dc_k/dq_i = dw_k/dv_i, and derivatives in time along the motion with v fixed,
 *
 *     rate_i = dL/dq_i - (dL/dv_i)' + f_i - sum_k A_k' J_ki + sum_k A_k (dw_k/dq_i - (J_ki)'),
 *
 * where w is fixed in the partial derivatives of L. The last sum vanishes, since dw_k/dq_i is the
 * derivative of J_ki in time. But no simplification of the expressions would find that out, and the
 * two halves of this sum are their longest part. What remains is the form that Jourdain and Kane
 * start from. (For functions of a rotation the last sum is a multiple of its quaternion, which the
 * reaction of |R| = 1 would absorb; its value would then be different.) */
#include "mechanics/mechanics.h"

#include <stdlib.h>

/* The rates that occur in the Lagrangian, ascending and each once. */
typedef struct written_rates {
    nh_known_rate *item;
    nh_expr *rate, *adjoint; /* [count]: w_k and A_k */
    size_t count;
} written_rates;

static int by_rate(const void *a, const void *b)
{
    const nh_expr x = ((const nh_known_rate *)a)->rate, y = ((const nh_known_rate *)b)->rate;
    return (x > y) - (x < y);
}

/* Keeps those noted rates that are nodes of the Lagrangian. Both lists are ascending. */
static void keep_used(written_rates *w, const nh_expr *node, size_t nodes)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < w->count; i++) {
        while (at < nodes && node[at] < w->item[i].rate)
            at++;
        if (at == nodes || node[at] != w->item[i].rate ||
            (kept > 0 && w->item[kept - 1].rate == w->item[i].rate))
            continue;
        w->item[kept++] = w->item[i];
    }
    w->count = kept;
}

static void written_rates_free(written_rates *w)
{
    free(w->item);
    free(w->rate);
    free(w->adjoint);
}

static bool find_written_rates(written_rates *w, const nh_mechanics *s)
{
    const nh_known_rate *noted;
    nh_expr *node = NULL;
    size_t nodes = 0;
    const size_t all = nh_noted_rates(s->g, &noted);
    *w = (written_rates){.item = calloc(all + 1, sizeof *w->item),
                         .rate = calloc(all + 1, sizeof *w->rate),
                         .adjoint = calloc(all + 1, sizeof *w->adjoint)};
    if (!w->item || !w->rate || !w->adjoint ||
        !nh_reach(s->g, &s->problem->lagrangian, 1, &node, &nodes))
        return false;
    for (size_t i = 0; i < all; i++)
        if (!noted[i].inner)
            w->item[w->count++] = noted[i];
    qsort(w->item, w->count, sizeof *w->item, by_rate);
    keep_used(w, node, nodes);
    for (size_t i = 0; i < w->count; i++)
        w->rate[i] = w->item[i].rate;
    free(node);
    return true;
}

/* The terms of each component, summed at the end: adding them one by one would take quadratic
 * time. */
typedef struct sums {
    nh_graph *g;
    nh_expr_list *term; /* [n] */
    bool failed;
} sums;

static void add(sums *to, size_t i, nh_expr e)
{
    if (e != NH_ZERO && !to->failed)
        to->failed = !nh_expr_list_push(to->term + i, e);
}

static nh_expr change_in_time(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    (void)self;
    return kind == NH_TIME ? NH_ONE : kind == NH_Q ? nh_variable(g, NH_V, index) : NH_ZERO;
}

/* Time derivatives with v fixed, in either mode: which one gives shorter expressions depends on how
 * much the functions share. */
static bool find_changes(nh_graph *g, const nh_expr *f, size_t count, bool forward, nh_expr *change)
{
    if (forward)
        return nh_tangents(g, f, count, change_in_time, NULL, change);
    for (size_t i = 0; i < count; i++)
        change[i] = nh_total_derivative(g, f[i]);
    return !nh_graph_failed(g);
}

/* -sum_k A_k' J_ki */
static void subtract_changes(sums *to, const written_rates *w, bool forward)
{
    nh_expr *change = calloc(w->count + 1, sizeof *change);
    to->failed |= !change || !find_changes(to->g, w->adjoint, w->count, forward, change);
    for (size_t k = 0; k < w->count && !to->failed; k++) {
        const nh_expr less = nh_negate(to->g, change[k]);
        nh_partials J = {0};
        to->failed |= less != NH_ZERO && !nh_expr_gradient(to->g, w->item[k].of, NH_Q, &J);
        for (size_t j = 0; j < J.count; j++)
            add(to, J.entry[j].index, nh_multiply(to->g, less, J.entry[j].value));
        nh_partials_free(&J);
    }
    free(change);
}

/* -(dL/dv_i)', given dL/dv */
static void subtract_momenta(sums *to, const nh_partials *by_v, bool forward)
{
    nh_expr *p = calloc(2 * by_v->count + 1, sizeof *p), *change = p + by_v->count;
    for (size_t j = 0; p && j < by_v->count; j++)
        p[j] = by_v->entry[j].value;
    to->failed |= !p || !find_changes(to->g, p, by_v->count, forward, change);
    for (size_t j = 0; j < by_v->count && !to->failed; j++)
        add(to, by_v->entry[j].index, nh_negate(to->g, change[j]));
    free(p);
}

/* dL/dq_i - (dL/dv_i)' with w fixed; also computes A. */
static void add_rest(sums *to, const nh_mechanics *s, written_rates *w, bool forward)
{
    nh_partials by_v = {0}, by_q = {0};
    const nh_expr L = s->problem->lagrangian;
    to->failed |= !nh_gradient_beside(to->g, L, NH_Q, w->rate, w->count, w->adjoint, &by_q) ||
                  !nh_gradient_beside(to->g, L, NH_V, w->rate, w->count, w->adjoint, &by_v);
    for (size_t j = 0; j < by_q.count && !to->failed; j++)
        add(to, by_q.entry[j].index, by_q.entry[j].value);
    if (!to->failed)
        subtract_momenta(to, &by_v, forward);
    nh_partials_free(&by_v);
    nh_partials_free(&by_q);
}

static bool derive(const nh_mechanics *s, written_rates *w, const nh_expr *others, bool forward,
                   nh_expr *rate)
{
    const size_t n = (size_t)s->n;
    sums to = {.g = s->g, .term = calloc(n + 1, sizeof *to.term)};
    if (!to.term)
        return false;
    add_rest(&to, s, w, forward);
    subtract_changes(&to, w, forward);
    for (size_t i = 0; i < n; i++) {
        add(&to, i, others[i]);
        rate[i] = to.failed ? NH_ZERO : nh_sum(s->g, to.term[i].item, to.term[i].count);
        nh_expr_list_free(to.term + i);
    }
    free(to.term);
    return !to.failed && !nh_graph_failed(s->g);
}

bool nh_count_operands(const nh_graph *g, const nh_expr *e, size_t count, size_t *operands)
{
    nh_expr *node = NULL;
    size_t nodes = 0;
    if (!nh_reach(g, e, count, &node, &nodes))
        return false;
    *operands = 0;
    for (size_t i = 0; i < nodes; i++)
        *operands += nh_look(g, node[i]).count;
    free(node);
    return true;
}

/* False if out of memory; the choice must not depend on that. */
static bool take_shorter(const nh_graph *g, nh_expr *now, const nh_expr *other, size_t count)
{
    size_t before, after;
    if (!nh_count_operands(g, now, count, &before) || !nh_count_operands(g, other, count, &after))
        return false;
    for (size_t i = 0; after < before && i < count; i++)
        now[i] = other[i];
    return true;
}

static bool mass_varies(const nh_mechanics *s)
{
    for (int i = 0; i < s->n; i++)
        if (nh_depends(s->g, s->p[i], NH_Q) || nh_depends(s->g, s->p[i], NH_TIME))
            return true;
    return false;
}

bool nh_shorten_rate(nh_mechanics *s, const nh_expr *others)
{
    if (!mass_varies(s))
        return true; /* rate = F */
    written_rates w;
    nh_expr *rate = calloc((size_t)s->n + 1, sizeof *rate);
    bool ok = find_written_rates(&w, s) && rate;
    for (int forward = w.count == 0; ok && forward < 2; forward++) {
        ok =
            derive(s, &w, others, forward, rate) && take_shorter(s->g, s->rate, rate, (size_t)s->n);
    }
    written_rates_free(&w);
    free(rate);
    return ok;
}

bool nh_shorten_drift(nh_mechanics *s)
{
    const size_t m = (size_t)s->m;
    nh_expr *drift = calloc(m + 1, sizeof *drift);
    const bool ok =
        drift && find_changes(s->g, s->k, m, true, drift) && take_shorter(s->g, s->drift, drift, m);
    free(drift);
    return ok;
}
