/* Functions with kinks: abs, min, max, sign and if(condition, a, b). All are composed of two
 * functions of the graph: WHEN(c, a) is a where c > 0 and 0 elsewhere, UNLESS(c, a) is 0 where c >
 * 0 and a elsewhere. One of the two is always 0, so their sum is exactly the chosen value. */
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/graph_internal.h"
#include "model/lineage.h"
#include "model/vector.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

static const nh_value zero = {0};

void nh_note_kink(nh_expander *x, const nh_ast *ast, nh_value condition)
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

/* yes where c > 0, otherwise no; for single values. */
static nh_value choose(nh_expander *x, const nh_ast *ast, nh_value c, nh_value yes, nh_value no)
{
    nh_lineage *lineage = nh_labels_lineage(x->labels);
    if (lineage && !c.symbolic)
        nh_lineage_decide(lineage, c.number);
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

/* The arguments must be single values. */
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
    nh_note_kink(x, call, *a);
    return choose(x, call, *a, *a, negative(x, call, *a));
}

nh_value nh_sign(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    static const nh_value one = {.number = 1}, minus_one = {.number = -1};
    if (!check_single(x, call, a))
        return zero;
    nh_note_kink(x, call, *a);
    nh_value below = choose(x, call, negative(x, call, *a), minus_one, zero);
    return choose(x, call, *a, one, below);
}

nh_value nh_largest(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    if (!check_single(x, call, a))
        return zero;
    nh_value more = difference(x, call, a[0], a[1]);
    nh_note_kink(x, call, more);
    return choose(x, call, more, a[0], a[1]);
}

nh_value nh_smallest(nh_expander *x, const nh_ast *call, const nh_value *a)
{
    if (!check_single(x, call, a))
        return zero;
    nh_value more = difference(x, call, a[0], a[1]);
    nh_note_kink(x, call, more);
    return choose(x, call, more, a[1], a[0]);
}

/* if(left > right, a, b), where a and b have the same shape; the relation is the name of the
 * node. */
nh_value nh_expand_if(nh_expander *x, const nh_ast *ast)
{
    const nh_ast *left = ast->child, *right = left->next, *yes = right->next, *no = yes->next;
    nh_value l = nh_expand_single(x, left), r = nh_expand_single(x, right);
    nh_value a = nh_expand(x, yes), b = nh_expand(x, no);
    if (!nh_same_shape(a, b))
        FAIL(x, no->place, "found %s, but the other choice is %s", nh_value_shape(b).text,
             nh_value_shape(a).text);
    if (x->status)
        return zero;
    /* l > r is l - r > 0, l < r is r - l > 0, l >= r is not r - l > 0, l <= r is not l - r > 0 */
    bool less = ast->name[0] == '<', equal = ast->name[1] == '=';
    nh_value c = less == equal ? difference(x, ast, l, r) : difference(x, ast, r, l);
    nh_note_kink(x, ast, c);
    if (nh_is_single(a))
        return equal ? choose(x, ast, c, b, a) : choose(x, ast, c, a, b);
    nh_value chosen = nh_vector(x, a.rows, a.columns, a.entry);
    nh_value *entry = (nh_value *)chosen.entry; /* allocated above, so it may be written */
    for (int64_t i = 0; i < nh_value_entries(a) && !x->status; i++)
        entry[i] = equal ? choose(x, ast, c, b.entry[i], a.entry[i])
                         : choose(x, ast, c, a.entry[i], b.entry[i]);
    return x->status ? zero : chosen;
}

/* ---- every branch ---- */

/* The weight of the branch where x > 0, and for -x that of the other branch. A change of units by a
 * power of two does not change it. */
static double weight(double x)
{
    int exponent;
    const double side = x > 0 ? 1 : x < 0 ? -1 : 0;
    return 1 + 0.4 * side * frexp(fabs(x), &exponent);
}

/* A large argument is brought within 8 of zero, where exp and tanh still change: otherwise a pulse
 * that is shorter than the distances between the states tried would be zero in all of them. The
 * function is odd, so that exp(-a) remains 1/exp(a). */
static double nearer(double a)
{
    const double more = log(fabs(a) / 4);
    return fabs(a) <= 4 ? a : copysign(4 + more / (1 + more / 4), a);
}

double nh_call_value(const nh_graph *g, const nh_node *call, double a, double b)
{
    const nh_function f = (nh_function)call->which;
    if (g->every_branch && (f == NH_WHEN || f == NH_UNLESS))
        return weight(f == NH_WHEN ? a : -a) * b;
    if (g->every_branch && (f == NH_EXP || f == NH_TANH || f == NH_SINH || f == NH_COSH))
        a = nearer(a);
    return nh_function_value(f, a, b);
}

void nh_graph_every_branch(nh_graph *g, bool on)
{
    g->every_branch = on;
}

/* ---- kinks that affect the motion ---- */

/* No more than this are followed: a long table has hundreds. */
enum { KINKS_MAX = 64 };

static nh_place place_of(const nh_builder *b, nh_expr condition)
{
    nh_place place = {0};
    for (const nh_kink *k = b->x.kinks; k; k = k->next)
        if (k->condition == condition)
            place = k->place; /* the list is in reverse order: the first one in the text stays */
    return place;
}

static bool comes_before(nh_place a, nh_place b)
{
    return a.line && (a.line < b.line || (a.line == b.line && a.column <= b.column));
}

static bool moves(const nh_graph *g, nh_expr e)
{
    return nh_depends(g, e, NH_Q) || nh_depends(g, e, NH_V) || nh_depends(g, e, NH_X);
}

/* Adds each kink once; those that occur in the text come before others, in its order. `of_time`:
 * only if it is a condition on time alone. */
static void add_kink(nh_builder *b, nh_expr condition, bool of_time)
{
    nh_problem *p = b->problem;
    const nh_problem_kink new = {condition, place_of(b, condition)};
    if (nh_is_number(p->graph, condition, NULL) || (of_time && moves(p->graph, condition)))
        return;
    for (int i = 0; i < p->kinks; i++)
        if (p->kink[i].condition == condition)
            return;
    int at = p->kinks;
    while (at > 0 && new.place.line && !comes_before(p->kink[at - 1].place, new.place))
        at--;
    if (at >= KINKS_MAX)
        return;
    p->kinks += p->kinks < KINKS_MAX;
    for (int i = p->kinks - 1; i > at; i--)
        p->kink[i] = p->kink[i - 1];
    p->kink[at] = new;
}

/* sqrt(x^2) has a kink where x changes its sign; a friction -v/norm(v) jumps where all velocities
 * are zero, which no sign tells. */
static void add_roots(nh_builder *b, nh_expr base, double exponent, bool of_time)
{
    const nh_graph *g = b->problem->graph;
    const nh_node n = nh_look(g, base);
    if (n.kind == NH_SUM && nh_depends(g, base, NH_V))
        add_kink(b, base, of_time);
    for (size_t i = 0; n.kind == NH_PRODUCT && i < n.count; i++) {
        const double inner = n.operand[i].number, all = inner * exponent;
        if (fmod(inner, 2) == 0 && fmod(all, 2) != 0)
            add_kink(b, n.operand[i].expr, of_time);
    }
}

static void add_kinks_of(nh_builder *b, nh_expr e, bool of_time)
{
    const nh_node n = nh_look(b->problem->graph, e);
    /* atan2 jumps where its first argument changes its sign and the second is negative */
    if (n.kind == NH_CALL2 && (n.which == NH_WHEN || n.which == NH_UNLESS || n.which == NH_ATAN2))
        add_kink(b, n.operand[0].expr, of_time);
    for (size_t i = 0; n.kind == NH_PRODUCT && i < n.count; i++)
        if (fmod(n.operand[i].number, 1) != 0)
            add_roots(b, n.operand[i].expr, n.operand[i].number, of_time);
}

static void add_kinks_below(nh_builder *b, const nh_expr *root, size_t count, bool of_time)
{
    nh_expr *order = NULL;
    size_t reached = 0;
    if (!nh_reach(b->problem->graph, root, count, &order, &reached))
        nh_build_memory(b);
    for (size_t i = 0; i < reached && !b->x.status; i++)
        add_kinks_of(b, order[i], of_time);
    free(order);
}

nh_expr nh_choices_of(nh_builder *b, nh_expr e)
{
    nh_graph *g = b->problem->graph;
    nh_expr *order = NULL, found[8], product = NH_ONE;
    size_t reached = 0, count = 0;
    if (!nh_reach(g, &e, 1, &order, &reached))
        nh_build_memory(b);
    for (size_t i = 0; i < reached && count < 8 && !b->x.status; i++) {
        const nh_node n = nh_look(g, order[i]);
        bool is_new = n.kind == NH_CALL2 && (n.which == NH_WHEN || n.which == NH_UNLESS) &&
                      nh_depends(g, n.operand[0].expr, NH_Q); /* at given times contacts jump */
        for (size_t k = 0; k < count; k++)
            is_new &= found[k] != n.operand[0].expr;
        if (is_new)
            product = nh_multiply(g, product, found[count++] = n.operand[0].expr);
    }
    free(order);
    return product;
}

/* Where contacts and grips change with the motion is found by the functions that are watched. */
static void add_kinks_of_item(nh_builder *b, const nh_problem_item *item)
{
    nh_expr root[6] = {item->gap};
    size_t count = item->contact;
    for (int k = 0; k < item->components; k++) {
        root[count++] = item->speed[k];
        if (!item->contact)
            root[count++] = item->limit[k];
    }
    add_kinks_below(b, root, count, true);
}

void nh_find_kinks(nh_builder *b)
{
    nh_problem *p = b->problem;
    const size_t count = 1 + (size_t)p->velocities + (size_t)p->constraints;
    if (b->x.status)
        return;
    nh_expr *root = malloc(count * sizeof *root);
    for (size_t i = 0; root && i < count; i++)
        root[i] = i == 0                       ? p->lagrangian
                  : i <= (size_t)p->velocities ? p->force[i - 1]
                                               : p->constraint[i - 1 - (size_t)p->velocities].value;
    p->kink = nh_build_take(b, KINKS_MAX, sizeof *p->kink);
    if (!root || !p->kink)
        nh_build_memory(b);
    else
        add_kinks_below(b, root, count, false);
    for (int i = 0; i < p->items && p->kink && !b->x.status; i++)
        add_kinks_of_item(b, p->item + i);
    free(root);
}
