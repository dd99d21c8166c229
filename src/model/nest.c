/* Long machines in nested form: sums that extend one another are built from one another.
 *
 * The positions of the points of a chain are sums over its links, each of which repeats the one
 * before and adds a term. The graph keeps such sums flat, which suits small models; with N links
 * the sums have N^2 terms. Here each sum becomes an earlier one plus the difference, if that is
 * shorter. Rates of positions that have been noted are derived anew, in forward mode: from nested
 * positions this gives nested rates, whereas the reverse mode collects one coefficient for every
 * velocity. */
#include "model/graph_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES_MAX = 8 }; /* earlier sums that are compared with a new one */

#define NONE UINT32_MAX

typedef struct flat_sum { /* a sum before nesting, in terms of nested operands, ascending */
    operand_list terms;
    double constant;
    nh_expr nested;
} flat_sum;

typedef struct nesting {
    nh_graph *g;
    size_t size;    /* of the graph at the beginning */
    nh_expr *image; /* [size], NONE: not yet */
    bool *needed;   /* [size] */
    flat_sum *sum;  /* all sums so far */
    size_t sums, room;
    uint32_t *last, *ends; /* by handle: the last sum with this operand; with this as its newest */
    size_t handles;
} nesting;

static bool grow_handles(nesting *n)
{
    const size_t size = nh_graph_size(n->g);
    if (size <= n->handles)
        return true;
    const size_t room = 2 * size;
    uint32_t *last = realloc(n->last, room * sizeof *last);
    n->last = last ? last : n->last;
    uint32_t *ends = realloc(n->ends, room * sizeof *ends);
    n->ends = ends ? ends : n->ends;
    if (!last || !ends)
        return false;
    memset(last + n->handles, 0xff, (room - n->handles) * sizeof *last);
    memset(ends + n->handles, 0xff, (room - n->handles) * sizeof *ends);
    n->handles = room;
    return true;
}

static bool keep_sum(nesting *n, const flat_sum *s)
{
    if (n->sums == n->room) {
        const size_t room = n->room ? 2 * n->room : 64;
        flat_sum *bigger = realloc(n->sum, room * sizeof *bigger);
        if (!bigger)
            return false;
        n->sum = bigger;
        n->room = room;
    }
    if (!grow_handles(n))
        return false;
    for (size_t i = 0; i < s->terms.count; i++)
        n->last[s->terms.item[i].expr] = (uint32_t)n->sums;
    n->ends[s->terms.item[s->terms.count - 1].expr] = (uint32_t)n->sums;
    n->sum[n->sums++] = *s;
    return true;
}

/* The terms of a - b, in *out if that is not NULL; returns their number. */
static size_t difference(nh_graph *g, const operand_list *a, const operand_list *b,
                         operand_list *out)
{
    size_t count = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        const nh_expr x = i < a->count ? a->item[i].expr : NONE;
        const nh_expr y = j < b->count ? b->item[j].expr : NONE;
        const nh_expr e = x < y ? x : y;
        const double first = x == e ? a->item[i++].number : 0;
        const double second = y == e ? nh_times(g->labels, -1, b->item[j++].number) : 0;
        const double number = nh_plus(g->labels, first, second);
        if (number == 0)
            continue;
        count++;
        if (out)
            nh_operands_push(g, out, e, number);
    }
    return count;
}

/* The earlier sum from which a new one differs least; NONE if it gains nothing. */
static uint32_t find_base(const nesting *n, const flat_sum *s)
{
    uint32_t tried[CANDIDATES_MAX], best = NONE;
    size_t count = 0, least = s->terms.count - 1;
    for (size_t i = s->terms.count; i-- > 0 && count + 1 < CANDIDATES_MAX;) {
        const nh_expr e = s->terms.item[i].expr;
        const uint32_t found[] = {e < n->handles ? n->ends[e] : NONE,
                                  e < n->handles ? n->last[e] : NONE};
        for (int k = 0; k < 2; k++) {
            bool again = found[k] == NONE;
            for (size_t c = 0; c < count; c++)
                again |= tried[c] == found[k];
            if (again)
                continue;
            tried[count++] = found[k];
            const flat_sum *base = n->sum + found[k];
            const size_t terms = difference(n->g, &s->terms, &base->terms, NULL);
            if (terms < least ||
                (terms == least && best != NONE && base->terms.count < n->sum[best].terms.count)) {
                least = terms;
                best = found[k];
            }
        }
    }
    return best;
}

/* Adds the terms of a sum, with their images in place. Sums within it that are only there because
 * the graph does not copy long ones are taken apart. */
static bool collect(nesting *n, nh_expr e, double factor, flat_sum *s)
{
    nh_graph *g = n->g;
    bool ok = true;
    s->constant =
        nh_plus(g->labels, s->constant, nh_times(g->labels, factor, nh_look(g, e).number));
    for (size_t i = 0, count = nh_look(g, e).count; ok && i < count; i++) {
        const nh_operand o = nh_look(g, e).operand[i];
        const stored_node *part = g->node + o.expr;
        if (part->kind == NH_SUM && part->count > NH_LONG_SUM && !part->hinge)
            ok = collect(n, o.expr, nh_times(g->labels, factor, o.number), s);
        else
            ok = nh_operands_push(g, &s->terms, n->image[o.expr],
                                  nh_times(g->labels, factor, o.number));
    }
    return ok;
}

static bool take_terms(nesting *n, nh_expr e, flat_sum *s)
{
    *s = (flat_sum){0};
    if (!collect(n, e, 1, s))
        return false;
    nh_operands_merge(n->g, &s->terms);
    return true;
}

static nh_expr sum_up(nh_graph *g, nh_expr base, double constant, const operand_list *terms)
{
    nh_expr *term = malloc((terms->count + 2) * sizeof *term);
    if (!term) {
        nh_graph_fail(g);
        return NH_ZERO;
    }
    size_t count = 0;
    term[count++] = base;
    term[count++] = nh_number(g, constant);
    for (size_t i = 0; i < terms->count; i++)
        term[count++] = nh_scale(g, terms->item[i].number, terms->item[i].expr);
    const nh_expr sum = nh_sum(g, term, count);
    free(term);
    return sum;
}

static nh_expr nest_sum(nesting *n, nh_expr e)
{
    nh_graph *g = n->g;
    flat_sum s;
    if (!take_terms(n, e, &s)) {
        free(s.terms.item);
        return NH_ZERO;
    }
    const uint32_t base = s.terms.count > 2 ? find_base(n, &s) : NONE;
    if (base != NONE) {
        operand_list rest = {0};
        const flat_sum from = n->sum[base];
        const double constant =
            nh_plus(g->labels, s.constant, nh_times(g->labels, -1, from.constant));
        difference(g, &s.terms, &from.terms, &rest);
        nh_keep_whole(g, from.nested);
        s.nested = sum_up(g, from.nested, constant, &rest);
        nh_keep_whole(g, s.nested);
        free(rest.item);
    } else {
        s.nested = sum_up(g, NH_ZERO, s.constant, &s.terms);
    }
    if (s.terms.count < 2 || !keep_sum(n, &s))
        free(s.terms.item);
    return s.nested;
}

static nh_expr nest_node(nesting *n, nh_expr e)
{
    nh_graph *g = n->g;
    const nh_node node = nh_look(g, e);
    if (node.count == 0)
        return e;
    nh_expr result;
    if (node.kind == NH_SUM) {
        result = nest_sum(n, e);
    } else {
        bool same = true;
        for (size_t i = 0; i < node.count; i++)
            same = same && n->image[node.operand[i].expr] == node.operand[i].expr;
        result = same ? e : nh_graph_rebuild(g, e, n->image);
    }
    if (g->node[e].whole)
        nh_keep_whole(g, result);
    if (g->node[e].hinge)
        nh_make_hinge(g, result);
    return result;
}

static void nest_below(nesting *n, const nh_expr *root, size_t count)
{
    memset(n->needed, 0, n->size * sizeof *n->needed);
    for (size_t i = 0; i < count; i++)
        n->needed[root[i]] = true;
    for (nh_expr e = (nh_expr)n->size; e-- > 0;)
        if (n->needed[e] && n->image[e] == NONE)
            for (size_t i = 0; i < nh_look(n->g, e).count; i++)
                n->needed[nh_look(n->g, e).operand[i].expr] = true;
    for (nh_expr e = 0; e < n->size && !nh_graph_failed(n->g); e++)
        if (n->needed[e] && n->image[e] == NONE)
            n->image[e] = nest_node(n, e);
}

static nh_expr moves_with_time(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    (void)self;
    return kind == NH_TIME ? NH_ONE : kind == NH_Q ? nh_variable(g, NH_V, index) : NH_ZERO;
}

/* The images of noted rates: the time derivatives of the images of their functions. */
static bool nest_rates(nesting *n, const nh_expr *root, size_t count)
{
    nh_expr *reached = NULL;
    size_t nodes = 0, used = 0;
    if (!nh_reach(n->g, root, count, &reached, &nodes))
        return false;
    memset(n->needed, 0, n->size * sizeof *n->needed);
    for (size_t i = 0; i < nodes; i++)
        n->needed[reached[i]] = true;
    free(reached);
    const size_t noted = n->g->noted_count;
    nh_known_rate *rate = malloc((noted + 1) * sizeof *rate);
    nh_expr *of = malloc(2 * (noted + 1) * sizeof *of), *made = of ? of + noted : NULL;
    for (size_t i = 0; rate && of && i < noted; i++)
        if (n->needed[n->g->noted[i].rate])
            rate[used++] = n->g->noted[i];
    for (size_t i = 0; rate && of && i < used; i++)
        of[i] = rate[i].of;
    bool ok = rate && of;
    if (ok) {
        nest_below(n, of, used);
        for (size_t i = 0; i < used; i++)
            of[i] = n->image[rate[i].of];
        ok = nh_tangents(n->g, of, used, moves_with_time, NULL, made);
    }
    for (size_t i = 0; ok && i < used; i++) {
        nh_keep_whole(n->g, made[i]);
        n->image[rate[i].rate] = made[i];
    }
    free(rate);
    free(of);
    return ok;
}

bool nh_nest(nh_graph *g, nh_expr *root, size_t count)
{
    const size_t size = nh_graph_size(g);
    nesting n = {.g = g,
                 .size = size,
                 .image = malloc(size * sizeof *n.image),
                 .needed = calloc(size, sizeof *n.needed)};
    bool ok = n.image && n.needed;
    if (ok) {
        memset(n.image, 0xff, size * sizeof *n.image);
        ok = grow_handles(&n) && nest_rates(&n, root, count);
    }
    if (ok) {
        nest_below(&n, root, count);
        for (size_t i = 0; i < count && !nh_graph_failed(g); i++)
            root[i] = n.image[root[i]];
    }
    for (size_t i = 0; i < n.sums; i++)
        free(n.sum[i].terms.item);
    free(n.sum);
    free(n.last);
    free(n.ends);
    free(n.image);
    free(n.needed);
    if (!ok)
        nh_graph_fail(g);
    return !nh_graph_failed(g);
}
