/* Derivatives along one change of the inputs, in forward mode: the tangent of a node is the sum
 * over its operands of their tangents times the partial derivatives of the node. It is computed
 * once, however many expressions contain the node. Operands have smaller handles, so in order of
 * ascending handles their tangents are known. For a single expression the reverse mode of
 * calculus.c gives shorter results, because there the changes of inputs are multiplied last. */
#include "model/graph_internal.h"

#include <stdlib.h>

typedef struct tangents {
    nh_graph *g;
    nh_expr *of; /* by handle */
    nh_input_change *change;
    void *self;
} tangents;

static nh_expr tangent_of_pair(tangents *s, nh_expr e)
{
    nh_graph *g = s->g;
    const nh_node n = nh_look(g, e);
    const nh_expr a = n.operand[0].expr, b = n.operand[1].expr, change[2] = {s->of[a], s->of[b]};
    if (n.which == NH_WHEN || n.which == NH_UNLESS)
        return nh_call2(g, (nh_function)n.which, a, change[1]);
    nh_expr sum = NH_ZERO;
    for (int i = 0; i < 2; i++)
        if (change[i] != NH_ZERO) {
            const nh_expr partial = nh_call2_partial(g, e, i);
            sum = nh_add(g, sum, nh_multiply(g, partial, change[i]));
        }
    return sum;
}

/* The contribution of an operand of a sum, a product or a call. The node is fetched again for every
 * operand, because creating expressions may move the graph's storage. */
static nh_expr contribution(tangents *s, nh_expr e, size_t which)
{
    nh_graph *g = s->g;
    const nh_node n = nh_look(g, e);
    const nh_operand o = n.operand[which];
    const nh_expr change = s->of[o.expr];
    if (change == NH_ZERO)
        return NH_ZERO;
    if (n.kind == NH_SUM)
        return nh_scale(g, o.number, change);
    const nh_expr partial =
        n.kind == NH_PRODUCT ? nh_product_partial(g, e, which) : nh_call_partial(g, e);
    return nh_multiply(g, partial, change);
}

static nh_expr tangent(tangents *s, nh_expr e)
{
    nh_graph *g = s->g;
    const nh_node n = nh_look(g, e);
    if (n.kind == NH_INPUT)
        return s->change(s->self, g, (nh_input)n.which, n.index);
    if (n.kind == NH_CALL2)
        return tangent_of_pair(s, e);
    nh_expr *term = malloc((n.count + 1) * sizeof *term);
    if (!term) {
        nh_graph_fail(g);
        return NH_ZERO;
    }
    for (size_t i = 0; i < n.count; i++)
        term[i] = contribution(s, e, i);
    const nh_expr sum = nh_sum(g, term, n.count);
    free(term);
    if (g->node[e].whole)
        nh_keep_whole(g, sum);
    return sum;
}

bool nh_tangents(nh_graph *g, const nh_expr *f, size_t count, nh_input_change *change, void *self,
                 nh_expr *out)
{
    nh_expr *order = NULL;
    size_t reached = 0;
    tangents s = {g, calloc(nh_graph_size(g) + 1, sizeof *s.of), change, self};
    if (!s.of || !nh_reach(g, f, count, &order, &reached)) {
        free(s.of);
        return false;
    }
    for (size_t i = 0; i < reached; i++)
        s.of[order[i]] = tangent(&s, order[i]);
    for (size_t i = 0; i < count; i++)
        out[i] = s.of[f[i]];
    free(order);
    free(s.of);
    return !nh_graph_failed(g);
}
