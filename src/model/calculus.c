/* Derivatives, substitution and values of expressions.
 *
 * Derivatives are computed in reverse mode: the adjoint of a node is the sum over its users of
 * (adjoint of the user) x (partial derivative of the user by the node). Users have larger handles,
 * so in order of descending handles every adjoint is complete when its node is reached.
 *
 * The descent stops at a hinge (nh_make_hinge): its adjoint is multiplied by the hinge's own
 * derivatives. In derivatives by velocities the adjoint is a momentum, or a moment of inertia, and
 * becomes a hinge itself. So the second derivatives of f(w(q)) are w_q^T f_ww w_q + f_w w_qq, where
 * f_ww is computed once, not once for every coordinate. */
#include "model/graph_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which nodes lie between f and the inputs ---- */

typedef struct dependent_nodes {
    nh_expr *node; /* descending */
    size_t count;
    uint32_t *place; /* hash table from handle to place in `node` + 1 */
    size_t mask;
} dependent_nodes;

/* Whether e depends on inputs of exactly this kind; nh_depends also counts NH_U as a change in
 * time. */
static bool reaches(const nh_graph *g, nh_expr e, nh_input kind)
{
    return g->node[e].depends >> kind & 1;
}

static size_t slot_of(const dependent_nodes *r, nh_expr e)
{
    size_t slot = (e * UINT32_C(2654435761)) & r->mask;
    while (r->place[slot] && r->node[r->place[slot] - 1] != e)
        slot = (slot + 1) & r->mask;
    return slot;
}

static int descending(const void *a, const void *b)
{
    nh_expr x = *(const nh_expr *)a, y = *(const nh_expr *)b;
    return (x < y) - (x > y);
}

static int ascending(const void *a, const void *b)
{
    return descending(b, a);
}

static bool index_places(dependent_nodes *r, size_t room)
{
    free(r->place);
    r->mask = room - 1;
    r->place = calloc(room, sizeof *r->place);
    if (!r->place)
        return false;
    for (size_t i = 0; i < r->count; i++)
        r->place[slot_of(r, r->node[i])] = (uint32_t)i + 1;
    return true;
}

/* All nodes below f that depend on the kind of input. The cost is proportional to their number,
 * not to the size of the graph, so that thousands of small derivatives stay cheap. */
static bool reach_from(dependent_nodes *r, const nh_graph *g, nh_expr f, nh_input kind)
{
    size_t room = 16;
    *r = (dependent_nodes){.node = malloc(room * sizeof(nh_expr))};
    if (!r->node || !index_places(r, 2 * room))
        return false;
    r->node[r->count++] = f;
    r->place[slot_of(r, f)] = 1;
    for (size_t i = 0; i < r->count; i++) {
        nh_node n = nh_look(g, r->node[i]);
        for (size_t j = 0; j < n.count; j++) {
            nh_expr e = n.operand[j].expr;
            if (!reaches(g, e, kind))
                continue;
            size_t slot = slot_of(r, e);
            if (r->place[slot])
                continue;
            if (r->count == room) {
                nh_expr *bigger = realloc(r->node, 2 * room * sizeof *bigger);
                if (!bigger)
                    return false;
                r->node = bigger;
                room *= 2;
                if (!index_places(r, 2 * room))
                    return false;
                slot = slot_of(r, e);
            }
            r->node[r->count] = e;
            r->place[slot] = (uint32_t)++r->count;
        }
    }
    qsort(r->node, r->count, sizeof *r->node, descending);
    return index_places(r, r->mask + 1);
}

/* ---- adjoints ---- */

static nh_expr along(nh_graph *g, nh_expr f, const nh_rates *motion, bool with_time);

typedef struct contribution {
    nh_expr value;
    uint32_t next; /* place + 1 of the next contribution to the same node */
} contribution;

typedef struct sweep {
    nh_graph *g;
    nh_input kind;
    dependent_nodes r;
    uint32_t *first; /* for every node of r, its contributions */
    contribution *pool;
    size_t used, room;
    const nh_rates *motion; /* NULL: derivatives by inputs; otherwise one along this */
    nh_expr along;          /* what hinges contribute to the latter */
    const nh_expr *stop;    /* nodes that count as inputs */
    size_t stops;
    nh_expr *adjoint; /* derivatives by those; NULL: there are none */
    bool failed;
} sweep;

static void contribute(sweep *s, nh_expr to, nh_expr value)
{
    if (value == NH_ZERO || !reaches(s->g, to, s->kind))
        return;
    if (s->used == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        contribution *bigger = realloc(s->pool, room * sizeof *bigger);
        if (!bigger) {
            s->failed = true;
            return;
        }
        s->pool = bigger;
        s->room = room;
    }
    uint32_t *first = s->first + s->r.place[slot_of(&s->r, to)] - 1;
    s->pool[s->used] = (contribution){value, *first};
    *first = (uint32_t)++s->used;
}

static nh_expr adjoint_of(sweep *s, size_t place)
{
    size_t count = 0;
    for (uint32_t c = s->first[place]; c; c = s->pool[c - 1].next)
        count++;
    if (count == 1)
        return s->pool[s->first[place] - 1].value;
    nh_expr *term = malloc((count ? count : 1) * sizeof *term);
    if (!term) {
        s->failed = true;
        return NH_ZERO;
    }
    size_t i = count; /* the list is newest first: reverse it */
    for (uint32_t c = s->first[place]; c; c = s->pool[c - 1].next)
        term[--i] = s->pool[c - 1].value;
    nh_expr sum = nh_sum(s->g, term, count);
    free(term);
    return sum;
}

/* The same product with one exponent reduced by 1. */
nh_expr nh_product_partial(nh_graph *g, nh_expr product, size_t which)
{
    nh_node n = nh_look(g, product);
    operand_list list = {0};
    double power = n.operand[which].number, factor = nh_times(g->labels, n.number, power);
    for (size_t i = 0; i < n.count; i++)
        if (i != which)
            nh_operands_push(g, &list, n.operand[i].expr, n.operand[i].number);
        else if (power != 1)
            nh_operands_push(g, &list, n.operand[i].expr, power - 1);
    nh_expr e = nh_product_of(g, factor, &list);
    free(list.item);
    return e;
}

nh_expr nh_call_partial(nh_graph *g, nh_expr f)
{
    const nh_function which = (nh_function)nh_look(g, f).which;
    const nh_expr a = nh_look(g, f).operand[0].expr;
    nh_expr square = nh_multiply(g, a, a);
    switch (which) {
#define FUNCTION1(NAME, name, symmetry, derivative)                                                \
    case NH_##NAME:                                                                                \
        return derivative;
#include "model/graph_functions.def"
    default:
        return NH_ZERO;
    }
}

/* WHEN and UNLESS: the derivatives of the value are subject to the same choice as the value. They
 * are computed separately, so that a derivative that does not exist where the other value is chosen
 * does no harm. */
static void choice_contribute(sweep *s, nh_function f, nh_expr condition, nh_expr value,
                              nh_expr adjoint)
{
    nh_graph *g = s->g;
    nh_partials inner;
    s->failed |= !nh_expr_gradient(g, value, s->kind, &inner);
    for (size_t i = 0; i < inner.count && !s->failed; i++) {
        nh_expr term = nh_multiply(g, adjoint, inner.entry[i].value);
        term = nh_call2(g, f, condition, term);
        contribute(s, nh_variable(g, s->kind, inner.entry[i].index), term);
    }
    nh_partials_free(&inner);
}

nh_expr nh_call2_partial(nh_graph *g, nh_expr f, int which)
{
    const nh_node n = nh_look(g, f);
    const nh_expr a = n.operand[0].expr, b = n.operand[1].expr;
    if (n.which == NH_ATAN2) {
        nh_expr square = nh_multiply(g, b, b);
        square = nh_add(g, nh_multiply(g, a, a), square);
        return which == 0 ? nh_divide(g, b, square) : nh_negate(g, nh_divide(g, a, square));
    }
    return which == 0 ? nh_divide(g, nh_multiply(g, f, b), a)
                      : nh_multiply(g, f, nh_call(g, NH_LOG, a));
}

static void call2_contribute(sweep *s, nh_expr f, nh_node n, nh_expr adjoint)
{
    nh_graph *g = s->g;
    const nh_expr operand[2] = {n.operand[0].expr, n.operand[1].expr};
    if (n.which == NH_WHEN || n.which == NH_UNLESS) {
        choice_contribute(s, (nh_function)n.which, operand[0], operand[1], adjoint);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (reaches(g, operand[i], s->kind))
            contribute(s, operand[i], nh_multiply(g, adjoint, nh_call2_partial(g, f, i)));
}

/* Passes the adjoint of a node down to its operands. The node is fetched again for every operand,
 * because creating expressions may move the graph's storage. */
static void distribute(sweep *s, nh_expr e, nh_expr adjoint)
{
    nh_graph *g = s->g;
    nh_node n = nh_look(g, e);
    if (n.kind == NH_CALL2) {
        call2_contribute(s, e, n, adjoint);
        return;
    }
    for (size_t i = 0; i < n.count && !s->failed; i++) {
        nh_operand o = nh_look(g, e).operand[i];
        if (!reaches(g, o.expr, s->kind))
            continue;
        if (n.kind == NH_SUM)
            contribute(s, o.expr, nh_scale(g, o.number, adjoint));
        else if (n.kind == NH_PRODUCT)
            contribute(s, o.expr, nh_multiply(g, adjoint, nh_product_partial(g, e, i)));
        else
            contribute(s, o.expr, nh_multiply(g, adjoint, nh_call_partial(g, e)));
    }
}

/* ---- hinges ---- */

static size_t kept_slot(const nh_graph *g, nh_expr e, nh_input kind)
{
    size_t slot = (e * UINT32_C(2654435761) + (uint32_t)kind) & (g->kept_room - 1);
    while (g->kept[slot].node != NH_ZERO && (g->kept[slot].node != e || g->kept[slot].kind != kind))
        slot = (slot + 1) & (g->kept_room - 1);
    return slot;
}

/* Makes room for one more entry in the table, which is at most half full. */
static bool make_kept_room(nh_graph *g)
{
    if (2 * g->kept_count < g->kept_room)
        return true;
    const size_t before = g->kept_room, room = before ? 2 * before : 64;
    kept_partials *old = g->kept, *bigger = calloc(room, sizeof *bigger);
    if (!bigger)
        return false;
    g->kept = bigger;
    g->kept_room = room;
    for (size_t i = 0; i < before; i++)
        if (old[i].node != NH_ZERO)
            g->kept[kept_slot(g, old[i].node, old[i].kind)] = old[i];
    free(old);
    return true;
}

/* The derivatives of a hinge, computed once; NULL if out of memory. The pointer is valid until
 * those of another hinge are requested. */
static const nh_partials *partials_of_hinge(nh_graph *g, nh_expr e, nh_input kind)
{
    kept_partials made = {.node = e, .kind = kind};
    if (g->kept_room > 0 && g->kept[kept_slot(g, e, kind)].node == e)
        return &g->kept[kept_slot(g, e, kind)].partials;
    if (!nh_expr_gradient(g, e, kind, &made.partials))
        return NULL;
    if (!make_kept_room(g)) {
        nh_partials_free(&made.partials);
        return NULL;
    }
    size_t slot = kept_slot(g, e, kind);
    g->kept[slot] = made;
    g->kept_count++;
    return &g->kept[slot].partials;
}

static nh_expr rate_of_hinge(nh_graph *g, nh_expr e, const nh_rates *motion)
{
    for (size_t i = 0; i < motion->known_count; i++)
        if (motion->known[i].of == e)
            return motion->known[i].rate;
    return along(g, e, motion, false);
}

static void pass_hinge(sweep *s, nh_expr e, nh_expr adjoint)
{
    nh_graph *g = s->g;
    if (s->kind == NH_V)
        nh_make_hinge(g, adjoint);
    if (s->motion) {
        nh_expr rate = rate_of_hinge(g, e, s->motion);
        s->along = nh_add(g, s->along, nh_multiply(g, adjoint, rate));
        return;
    }
    const nh_partials *own = partials_of_hinge(g, e, s->kind);
    s->failed |= !own;
    for (size_t i = 0; !s->failed && i < own->count; i++) {
        nh_expr to = nh_variable(g, s->kind, own->entry[i].index);
        contribute(s, to, nh_multiply(g, adjoint, own->entry[i].value));
    }
}

/* ---- gradients and derivatives along a motion ---- */

static int by_index(const void *a, const void *b)
{
    uint32_t x = ((const nh_partial *)a)->index, y = ((const nh_partial *)b)->index;
    return (x > y) - (x < y);
}

/* Whether the descent stops here because the adjoint itself is requested. */
static bool take_stop(sweep *s, nh_expr e, nh_expr adjoint)
{
    const nh_expr *found = s->stops ? bsearch(&e, s->stop, s->stops, sizeof e, ascending) : NULL;
    if (found)
        s->adjoint[found - s->stop] = adjoint;
    return found;
}

static bool run_sweep(sweep *s, nh_expr f, nh_partials *out)
{
    nh_graph *g = s->g;
    size_t inputs = 0;
    for (size_t i = 0; i < s->r.count; i++)
        inputs += nh_look(g, s->r.node[i]).kind == NH_INPUT;
    out->entry = malloc((inputs ? inputs : 1) * sizeof *out->entry);
    if (!out->entry)
        return false;
    contribute(s, f, NH_ONE);
    for (size_t i = 0; i < s->r.count && !s->failed; i++) {
        nh_expr adjoint = adjoint_of(s, i);
        if (adjoint == NH_ZERO)
            continue;
        nh_node n = nh_look(g, s->r.node[i]);
        if (g->hinges && n.kind != NH_INPUT) /* sharing matters more than combining like terms */
            nh_keep_whole(g, adjoint);
        if (n.kind == NH_INPUT)
            out->entry[out->count++] = (nh_partial){n.index, adjoint};
        else if (take_stop(s, s->r.node[i], adjoint))
            continue;
        else if (i > 0 && g->node[s->r.node[i]].hinge)
            pass_hinge(s, s->r.node[i], adjoint);
        else
            distribute(s, s->r.node[i], adjoint);
    }
    qsort(out->entry, out->count, sizeof *out->entry, by_index);
    return !s->failed && !g->failed;
}

static bool sweep_down(sweep *s, nh_expr f, nh_partials *out)
{
    nh_graph *g = s->g;
    *out = (nh_partials){0};
    if (!reaches(g, f, s->kind))
        return !g->failed;
    bool ok = reach_from(&s->r, g, f, s->kind) &&
              (s->first = calloc(s->r.count, sizeof *s->first)) != NULL && run_sweep(s, f, out);
    free(s->r.node);
    free(s->r.place);
    free(s->first);
    free(s->pool);
    if (!ok) {
        nh_partials_free(out);
        g->failed = true;
    }
    return ok;
}

bool nh_expr_gradient(nh_graph *g, nh_expr f, nh_input kind, nh_partials *out)
{
    sweep s = {.g = g, .kind = kind};
    return sweep_down(&s, f, out);
}

bool nh_gradient_beside(nh_graph *g, nh_expr f, nh_input kind, const nh_expr *stop, size_t stops,
                        nh_expr *adjoint, nh_partials *out)
{
    sweep s = {.g = g, .kind = kind, .stop = stop, .stops = stops, .adjoint = adjoint};
    for (size_t i = 0; i < stops; i++)
        adjoint[i] = NH_ZERO;
    return sweep_down(&s, f, out);
}

/* (df/dq) q', plus df/dt if requested */
static nh_expr along(nh_graph *g, nh_expr f, const nh_rates *motion, bool with_time)
{
    nh_partials dq, dt = {0};
    nh_expr sum = NH_ZERO;
    sweep s = {.g = g, .kind = NH_Q, .motion = motion};
    if (sweep_down(&s, f, &dq) && (!with_time || nh_expr_gradient(g, f, NH_TIME, &dt))) {
        sum = nh_partial_of(&dt, 0);
        for (size_t i = 0; i < dq.count; i++) {
            uint32_t at = dq.entry[i].index;
            nh_expr moves = motion->rate ? motion->rate[at] : nh_variable(g, NH_V, at);
            sum = nh_add(g, sum, nh_multiply(g, dq.entry[i].value, moves));
        }
        sum = nh_add(g, sum, s.along);
    }
    nh_partials_free(&dq);
    nh_partials_free(&dt);
    return nh_graph_failed(g) ? NH_ZERO : sum;
}

nh_expr nh_derivative_along(nh_graph *g, nh_expr f, const nh_rates *motion)
{
    return along(g, f, motion, true);
}

nh_expr nh_total_derivative(nh_graph *g, nh_expr f)
{
    return nh_derivative_along(g, f, &(nh_rates){0});
}

void nh_partials_free(nh_partials *p)
{
    free(p->entry);
    *p = (nh_partials){0};
}

nh_expr nh_partial_of(const nh_partials *p, uint32_t index)
{
    nh_partial key = {index, NH_ZERO};
    const nh_partial *found =
        p->count ? bsearch(&key, p->entry, p->count, sizeof key, by_index) : NULL;
    return found ? found->value : NH_ZERO;
}

/* ---- substitution ---- */

/* A node of this kind with other operands; the list is not freed. */
static nh_expr node_with(nh_graph *g, nh_expr e, const operand_list *list)
{
    const nh_node n = nh_look(g, e);
    nh_expr result = n.kind == NH_SUM ? nh_number(g, n.number) : NH_ONE;
    for (size_t i = 0; i < list->count && !g->failed; i++) {
        nh_operand o = list->item[i];
        if (n.kind == NH_SUM)
            result = nh_add(g, result, nh_scale(g, o.number, o.expr));
        else if (n.kind == NH_PRODUCT)
            result = nh_multiply(g, result, nh_power(g, o.expr, nh_number(g, o.number)));
    }
    if (n.kind == NH_PRODUCT)
        result = nh_scale(g, n.number, result);
    if (n.kind == NH_CALL1 && !g->failed)
        result = nh_call(g, (nh_function)n.which, list->item[0].expr);
    if (n.kind == NH_CALL2 && !g->failed)
        result = nh_call2(g, (nh_function)n.which, list->item[0].expr, list->item[1].expr);
    if (g->node[e].whole)
        nh_keep_whole(g, result);
    if (g->node[e].hinge)
        nh_make_hinge(g, result);
    return result;
}

static nh_expr rebuild(nh_graph *g, nh_expr e, const nh_expr *image, const nh_expr *reached,
                       size_t count)
{
    nh_node n = nh_look(g, e);
    operand_list list = {0};
    for (size_t i = 0; i < n.count; i++) {
        const nh_expr *at =
            bsearch(&(nh_expr){n.operand[i].expr}, reached, count, sizeof *reached, descending);
        nh_operands_push(g, &list, at ? image[at - reached] : n.operand[i].expr,
                         n.operand[i].number);
    }
    const nh_expr result = node_with(g, e, &list);
    free(list.item);
    return result;
}

nh_expr nh_graph_rebuild(nh_graph *g, nh_expr e, const nh_expr *image)
{
    const nh_node n = nh_look(g, e);
    operand_list list = {0};
    for (size_t i = 0; i < n.count; i++)
        nh_operands_push(g, &list, image[n.operand[i].expr], n.operand[i].number);
    const nh_expr result = node_with(g, e, &list);
    free(list.item);
    return result;
}

nh_expr nh_substitute(nh_graph *g, nh_expr f, nh_input kind, const nh_expr *value, size_t count)
{
    if (!reaches(g, f, kind))
        return f;
    dependent_nodes r;
    nh_expr *image = NULL, result = NH_ZERO;
    if (reach_from(&r, g, f, kind) && (image = malloc(r.count * sizeof *image))) {
        for (size_t i = r.count; i-- > 0;) { /* operands first */
            nh_node n = nh_look(g, r.node[i]);
            if (n.kind == NH_INPUT)
                image[i] = n.index < count ? value[n.index] : r.node[i];
            else
                image[i] = rebuild(g, r.node[i], image, r.node, r.count);
        }
        result = image[0];
    } else {
        g->failed = true;
    }
    free(r.node);
    free(r.place);
    free(image);
    return result;
}

/* ---- values ---- */

static double input_value(const nh_graph *g, nh_node n, double t, const double *q, const double *v,
                          const double *x)
{
    const double *array = n.which == NH_Q ? q : n.which == NH_V ? v : n.which == NH_X ? x : NULL;
    return n.which == NH_TIME ? t : array ? array[n.index] : nh_graph_given(g, &n, t);
}

static double node_value(const nh_graph *g, nh_node n, const double *value)
{
    double result = n.number;
    if (n.kind == NH_CALL1 || n.kind == NH_CALL2)
        return nh_call_value(g, &n, value[n.operand[0].expr],
                             n.count > 1 ? value[n.operand[1].expr] : 0);
    for (size_t i = 0; i < n.count; i++) {
        double x = value[n.operand[i].expr], c = n.operand[i].number;
        if (n.kind == NH_SUM)
            result += c * x;
        else
            result *= c == 1 ? x : c == 0.5 ? sqrt(x) : pow(x, c);
    }
    return result;
}

bool nh_evaluate(const nh_graph *g, const nh_expr *list, size_t count, double t, const double *q,
                 const double *v, const double *x, double *out)
{
    nh_expr *order;
    size_t reached;
    if (!nh_reach(g, list, count, &order, &reached))
        return false;
    double *value = malloc((g->nodes ? g->nodes : 1) * sizeof *value);
    if (value) {
        for (size_t i = 0; i < reached; i++) {
            nh_node n = nh_look(g, order[i]);
            value[order[i]] =
                n.kind == NH_INPUT ? input_value(g, n, t, q, v, x) : node_value(g, n, value);
        }
        for (size_t i = 0; i < count; i++)
            out[i] = value[list[i]];
    }
    free(value);
    free(order);
    return value != NULL;
}
