/* Functions with kinks: abs, min, max, sign and if(condition, a, b). All are made of two functions
 * of the graph, WHEN(c, a) = a where c > 0, else 0, and UNLESS(c, a), which is 0 there, else a: one
 * of the two is 0, so that their sum has the bits of the value that is chosen. */
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/vector.h"

#include "base/status.h"

#include <stdlib.h>

static const nh_value zero = {0};

/* Notes where the text has a kink, for the remark. */
static void note_kink(nh_expander *x, const nh_ast *ast, nh_value condition)
{
    nh_kink *kink = condition.symbolic ? nh_arena_take(x->arena, sizeof *kink) : NULL;
    if (!kink) {
        if (condition.symbolic && !x->status)
            x->status = nh_fail_memory(x->report);
        return;
    }
    *kink = (nh_kink){condition.expr, ast->place, x->kinks};
    x->kinks = kink;
}

/* yes where c > 0, else no; single values. */
static nh_value choose(nh_expander *x, const nh_ast *ast, nh_value c, nh_value yes, nh_value no)
{
    if (x->status || !c.symbolic)
        return x->status ? zero : c.number > 0 ? yes : no;
    nh_expr a = nh_call2(x->graph, NH_WHEN, c.expr, nh_value_expr(x, yes));
    nh_expr b = nh_call2(x->graph, NH_UNLESS, c.expr, nh_value_expr(x, no));
    return nh_as_value(x, ast, nh_add(x->graph, a, b));
}

static nh_value difference(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b)
{
    const nh_value left[] = {a, b}, right[] = {{.number = 1}, {.number = -1}};
    return nh_sum_of_products(x, ast, left, right, 1, 2);
}

static nh_value negative(nh_expander *x, const nh_ast *ast, nh_value a)
{
    return difference(x, ast, zero, a);
}

/* The arguments have to be single values. */
static bool check_single(nh_expander *x, const nh_ast *call, const nh_value *argument)
{
    for (const nh_ast *a = call->child; a; a = a->next, argument++)
        if (!nh_is_single(*argument))
            FAIL(x, a->place, "%s takes single values, found %s", call->name,
                 nh_value_shape(*argument).text);
    return !x->status;
}

nh_value nh_absolute(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    if (!check_single(x, call, a))
        return zero;
    note_kink(x, call, *a);
    return choose(x, call, *a, *a, negative(x, call, *a));
}

nh_value nh_sign(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    static const nh_value one = {.number = 1}, minus_one = {.number = -1};
    if (!check_single(x, call, a))
        return zero;
    note_kink(x, call, *a);
    nh_value below = choose(x, call, negative(x, call, *a), minus_one, zero);
    return choose(x, call, *a, one, below);
}

nh_value nh_largest(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    if (!check_single(x, call, a))
        return zero;
    nh_value more = difference(x, call, a[0], a[1]);
    note_kink(x, call, more);
    return choose(x, call, more, a[0], a[1]);
}

nh_value nh_smallest(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    if (!check_single(x, call, a))
        return zero;
    nh_value more = difference(x, call, a[0], a[1]);
    note_kink(x, call, more);
    return choose(x, call, more, a[1], a[0]);
}

/* if(left > right, a, b), of one shape: the relation is the name of the node. */
nh_value nh_expand_if(nh_expander *x, const nh_ast *ast)
{
    const nh_ast *left = ast->child, *right = left->next, *yes = right->next, *no = yes->next;
    nh_value l = nh_expand_single(x, left), r = nh_expand_single(x, right);
    nh_value a = nh_expand(x, yes), b = nh_expand(x, no);
    if (!nh_same_shape(a, b))
        FAIL(x, no->place, "%s, but the other choice is %s", nh_value_shape(b).text,
             nh_value_shape(a).text);
    if (x->status)
        return zero;
    /* l > r is l - r > 0, l < r is r - l > 0, l >= r is not r - l > 0, l <= r is not l - r > 0 */
    bool less = ast->name[0] == '<', equal = ast->name[1] == '=';
    nh_value c = less == equal ? difference(x, ast, l, r) : difference(x, ast, r, l);
    note_kink(x, ast, c);
    if (nh_is_single(a))
        return equal ? choose(x, ast, c, b, a) : choose(x, ast, c, a, b);
    nh_value chosen = nh_vector(x, a.rows, a.columns, a.entry);
    nh_value *entry = (nh_value *)chosen.entry; /* still ours */
    for (int64_t i = 0; i < nh_value_entries(a) && !x->status; i++)
        entry[i] = equal ? choose(x, ast, c, b.entry[i], a.entry[i])
                         : choose(x, ast, c, a.entry[i], b.entry[i]);
    return x->status ? zero : chosen;
}

/* ---- the remark ---- */

/* Whether a function of the graph that the motion depends on changes with this condition. */
static bool is_choice_of(const nh_graph *g, nh_expr e, nh_expr condition)
{
    nh_node n = nh_look(g, e);
    return n.kind == NH_CALL2 && (n.which == NH_WHEN || n.which == NH_UNLESS) &&
           n.operand[0].expr == condition;
}

void nh_find_kink(nh_builder *b)
{
    nh_problem *p = b->problem;
    size_t count = 1 + (size_t)p->velocities + (size_t)p->constraints, reached = 0;
    if (!b->x.kinks || b->x.status)
        return;
    nh_expr *root = malloc(count * sizeof *root), *order = NULL;
    for (size_t i = 0; root && i < count; i++)
        root[i] = i == 0                       ? p->lagrangian
                  : i <= (size_t)p->velocities ? p->force[i - 1]
                                               : p->constraint[i - 1 - (size_t)p->velocities].value;
    if (!root || !nh_reach(p->graph, root, count, &order, &reached))
        nh_build_memory(b);
    for (const nh_kink *k = b->x.kinks; k && !b->x.status; k = k->next)
        for (size_t i = 0; i < reached; i++)
            if (is_choice_of(p->graph, order[i], k->condition)) {
                p->kink = k->place; /* the list begins with the last one: the first one stays */
                break;
            }
    free(order);
    free(root);
}
