/* The algebra of the graph: sums and products in canonical form.
 *
 * A term of a sum is a coefficient times a monic expression (a product with factor 1, or anything
 * that is neither sum nor number); equal terms are recognised because equal expressions are one
 * node. Only a few rules are applied: constants are folded, like terms and like factors merged,
 * zeros removed, r sin^2 u + r cos^2 u = r, and a leading minus in the argument of an odd or even
 * function is moved out. They suffice to detect structural zeros and constant mass matrices;
 * nothing is expanded. */
#include "model/graph_internal.h"
#include "model/lineage.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_expr(const void *a, const void *b)
{
    nh_expr x = ((const nh_operand *)a)->expr, y = ((const nh_operand *)b)->expr;
    return (x > y) - (x < y);
}

/* Merges two sorted runs, from `first` and from `middle` to `last`, into `out`. */
static void join_runs(const nh_operand *item, size_t first, size_t middle, size_t last,
                      nh_operand *out)
{
    size_t i = first, j = middle;
    for (size_t k = first; k < last; k++)
        out[k] = i < middle && (j >= last || item[i].expr <= item[j].expr) ? item[i++] : item[j++];
}

static void insert_each(nh_operand *item, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        nh_operand one = item[i];
        size_t at = i;
        for (; at > 0 && item[at - 1].expr > one.expr; at--)
            item[at] = item[at - 1];
        item[at] = one;
    }
}

/* Sorts by expression and keeps the order of equal ones, in which their numbers are added up. With
 * qsort the order, and so the bits, would depend on the C library. */
static void sort_stably(nh_graph *g, operand_list *list)
{
    enum { SHORT = 32 };
    const size_t count = list->count;
    if (count <= SHORT) {
        insert_each(list->item, count);
        return;
    }
    nh_operand *from = list->item, *to = malloc(count * sizeof *to), *spare = to;
    if (!to) {
        nh_graph_fail(g);
        return;
    }
    for (size_t length = 1; length < count; length *= 2) {
        for (size_t first = 0; first < count; first += 2 * length) {
            size_t middle = first + length < count ? first + length : count;
            size_t last = middle + length < count ? middle + length : count;
            join_runs(from, first, middle, last, to);
        }
        nh_operand *swap = from;
        from = to;
        to = swap;
    }
    if (from != list->item)
        memcpy(list->item, from, count * sizeof *from);
    free(spare);
}

void nh_operands_merge(nh_graph *g, operand_list *list)
{
    bool sorted = true;
    for (size_t i = 1; i < list->count && sorted; i++)
        sorted = list->item[i - 1].expr < list->item[i].expr;
    if (!sorted)
        sort_stably(g, list);
    size_t kept = 0;
    for (size_t i = 0; i < list->count;) {
        nh_operand sum = list->item[i++];
        while (i < list->count && list->item[i].expr == sum.expr)
            sum.number = nh_plus(g->labels, sum.number, list->item[i++].number);
        if (sum.number != 0)
            list->item[kept++] = sum;
    }
    list->count = kept;
}

/* Splits e into coefficient and monic part; the monic part of a product is the product with factor
 * 1. */
static nh_expr monic(nh_graph *g, nh_expr e, double *coefficient)
{
    const stored_node *n = g->node + e;
    if (n->kind != NH_PRODUCT || n->number == 1)
        return e;
    *coefficient = nh_times(g->labels, *coefficient, n->number);
    if (n->count == 1 && g->operand[n->first].number == 1)
        return g->operand[n->first].expr;
    stored_node bare = *n;
    bare.number = 1;
    return nh_graph_intern(g, bare, g->operand + n->first);
}

static void add_multiple(nh_graph *g, double *constant, double coefficient, double number)
{
    *constant = nh_plus(g->labels, *constant, nh_times(g->labels, coefficient, number));
}

/* Adds coefficient * e to a sum under construction. */
static void collect_term(nh_graph *g, operand_list *terms, double *constant, nh_expr e,
                         double coefficient)
{
    const stored_node *n = g->node + e;
    if (n->kind == NH_NUMBER) {
        add_multiple(g, constant, coefficient, n->number);
    } else if (n->kind == NH_SUM && n->count <= NH_LONG_SUM && !n->whole) {
        add_multiple(g, constant, coefficient, n->number);
        for (uint32_t i = 0, first = n->first, count = n->count; i < count; i++) {
            nh_operand o = g->operand[first + i];
            nh_operands_push(g, terms, o.expr, nh_times(g->labels, coefficient, o.number));
        }
    } else {
        e = monic(g, e, &coefficient);
        nh_operands_push(g, terms, e, coefficient);
    }
}

static nh_operand *find(const operand_list *list, nh_expr e)
{
    nh_operand key = {e, 0};
    return list->count ? bsearch(&key, list->item, list->count, sizeof key, by_expr) : NULL;
}

/* For a term r sin^2 u: the term r cos^2 u and r. False if e is not such a term. */
static bool pythagoras(nh_graph *g, nh_expr e, nh_expr *partner, nh_expr *rest)
{
    stored_node n = g->node[e];
    if (n.kind != NH_PRODUCT)
        return false;
    for (uint32_t i = 0; i < n.count; i++) {
        nh_operand o = g->operand[n.first + i];
        stored_node base = g->node[o.expr];
        if (o.number != 2 || base.kind != NH_CALL1 || base.which != NH_SIN)
            continue;
        nh_expr cosine = nh_call(g, NH_COS, g->operand[base.first].expr);
        operand_list factors = {0};
        for (uint32_t j = 0; j < n.count; j++)
            if (j != i)
                nh_operands_push(g, &factors, g->operand[n.first + j].expr,
                                 g->operand[n.first + j].number);
        *rest = nh_product_of(g, 1, &factors);
        nh_operands_push(g, &factors, cosine, 2);
        *partner = nh_product_of(g, 1, &factors);
        free(factors.item);
        return !g->failed;
    }
    return false;
}

/* Applies r sin^2 u + r cos^2 u = r once; true if the list changed and must be merged again. */
static bool apply_pythagoras(nh_graph *g, operand_list *terms, double *constant)
{
    bool changed = false;
    for (size_t i = 0; i < terms->count; i++) {
        nh_expr partner, rest;
        if (!pythagoras(g, terms->item[i].expr, &partner, &rest))
            continue;
        nh_operand *other = find(terms, partner);
        if (!other || other->number != terms->item[i].number)
            continue;
        double coefficient = other->number;
        other->number = terms->item[i].number = 0;
        nh_operands_merge(g, terms);
        collect_term(g, terms, constant, rest, coefficient);
        nh_operands_merge(g, terms);
        changed = true;
        i = (size_t)-1;
    }
    return changed;
}

static nh_expr sum_of(nh_graph *g, double constant, operand_list *terms)
{
    nh_operands_merge(g, terms);
    apply_pythagoras(g, terms, &constant);
    if (g->failed)
        return NH_ZERO;
    if (terms->count == 0)
        return nh_number(g, constant);
    if (terms->count == 1 && constant == 0) {
        nh_operand only = terms->item[0];
        if (only.number == 1)
            return only.expr;
        stored_node n = g->node[only.expr];
        if (n.kind == NH_PRODUCT) { /* monic: absorb the coefficient */
            n.number = only.number;
            return nh_graph_intern(g, n, g->operand + n.first);
        }
        nh_operand alone = {only.expr, 1};
        if (n.kind != NH_SUM) /* a long sum stays a term of its own */
            return nh_graph_intern(
                g, (stored_node){.kind = NH_PRODUCT, .number = only.number, .count = 1}, &alone);
    }
    return nh_graph_intern(
        g, (stored_node){.kind = NH_SUM, .number = constant, .count = (uint32_t)terms->count},
        terms->item);
}

nh_expr nh_sum(nh_graph *g, const nh_expr *terms, size_t count)
{
    operand_list list = {0};
    double constant = 0;
    for (size_t i = 0; i < count; i++)
        collect_term(g, &list, &constant, terms[i], 1);
    nh_expr e = g->failed ? NH_ZERO : sum_of(g, constant, &list);
    free(list.item);
    return e;
}

nh_expr nh_add(nh_graph *g, nh_expr a, nh_expr b)
{
    return a == NH_ZERO ? b : b == NH_ZERO ? a : nh_sum(g, (nh_expr[]){a, b}, 2);
}

nh_expr nh_scale(nh_graph *g, double c, nh_expr a)
{
    if (c == 0 || c == 1)
        return c == 0 ? NH_ZERO : a;
    operand_list list = {0};
    double constant = 0;
    collect_term(g, &list, &constant, a, c);
    nh_expr e = g->failed ? NH_ZERO : sum_of(g, constant, &list);
    free(list.item);
    return e;
}

nh_expr nh_negate(nh_graph *g, nh_expr a)
{
    return nh_scale(g, -1, a);
}

nh_expr nh_subtract(nh_graph *g, nh_expr a, nh_expr b)
{
    return nh_add(g, a, nh_negate(g, b));
}

static bool is_integer(double p)
{
    return p == rint(p);
}

/* Whether n is c times a sum that is not merged into others. */
static bool is_multiple(const nh_graph *g, const stored_node *n)
{
    return n->kind == NH_SUM && n->number == 0 && n->count == 1 &&
           g->node[g->operand[n->first].expr].kind == NH_SUM;
}

static void multiply_by(nh_graph *g, double *factor, double base, double power)
{
    *factor = nh_times(g->labels, *factor, nh_to_the(g->labels, base, power));
}

/* Multiplies a product under construction by e^power. */
static void collect_factor(nh_graph *g, operand_list *factors, double *factor, nh_expr e,
                           double power)
{
    stored_node n = g->node[e];
    if (n.kind == NH_NUMBER) {
        multiply_by(g, factor, n.number, power);
    } else if (n.kind == NH_PRODUCT && is_integer(power)) {
        multiply_by(g, factor, n.number, power);
        for (uint32_t i = 0; i < n.count; i++) {
            nh_operand o = g->operand[n.first + i];
            nh_operands_push(g, factors, o.expr, nh_times(g->labels, o.number, power));
        }
    } else if (n.kind == NH_PRODUCT && n.number > 0 && n.number != 1) {
        double c = 1;
        nh_expr bare = monic(g, e, &c);
        multiply_by(g, factor, c, power);
        nh_operands_push(g, factors, bare, power);
    } else if (is_multiple(g, &n) && (is_integer(power) || g->operand[n.first].number > 0)) {
        multiply_by(g, factor, g->operand[n.first].number, power);
        nh_operands_push(g, factors, g->operand[n.first].expr, power);
    } else {
        nh_operands_push(g, factors, e, power);
    }
}

nh_expr nh_product_of(nh_graph *g, double factor, operand_list *factors)
{
    nh_operands_merge(g, factors);
    if (g->failed || factor == 0)
        return NH_ZERO;
    if (factors->count == 0)
        return nh_number(g, factor);
    if (factors->count == 1 && factors->item[0].number == 1)
        return nh_scale(g, factor, factors->item[0].expr);
    return nh_graph_intern(
        g, (stored_node){.kind = NH_PRODUCT, .number = factor, .count = (uint32_t)factors->count},
        factors->item);
}

static nh_expr product2(nh_graph *g, nh_expr a, double pa, nh_expr b, double pb)
{
    operand_list list = {0};
    double factor = 1;
    collect_factor(g, &list, &factor, a, pa);
    collect_factor(g, &list, &factor, b, pb);
    if (!(fabs(factor) >= DBL_MIN && fabs(factor) <= DBL_MAX) && g->node[a].kind != NH_NUMBER &&
        (b == NH_ONE || g->node[b].kind != NH_NUMBER)) {
        factor =
            1; /* it is beyond the numbers, as that of (x/1e4)^100: the factors stay as they are */
        list.count = 0;
        nh_operands_push(g, &list, a, pa);
        if (b != NH_ONE)
            nh_operands_push(g, &list, b, pb);
    }
    nh_expr e = g->failed ? NH_ZERO : nh_product_of(g, factor, &list);
    free(list.item);
    return e;
}

nh_expr nh_multiply(nh_graph *g, nh_expr a, nh_expr b)
{
    double c;
    if (nh_is_number(g, a, &c))
        return nh_scale(g, c, b);
    if (nh_is_number(g, b, &c))
        return nh_scale(g, c, a);
    return product2(g, a, 1, b, 1);
}

nh_expr nh_divide(nh_graph *g, nh_expr a, nh_expr b)
{
    double c;
    if (nh_is_number(g, b, &c)) { /* a quotient of numbers is rounded only once */
        double d;
        return nh_is_number(g, a, &d) ? nh_number(g, nh_over(g->labels, d, c))
                                      : nh_scale(g, nh_over(g->labels, 1, c), a);
    }
    return a == NH_ZERO ? NH_ZERO : product2(g, a, 1, b, -1);
}

nh_expr nh_power(nh_graph *g, nh_expr a, nh_expr b)
{
    double p, base;
    if (!nh_is_number(g, b, &p))
        return nh_call2(g, NH_POW, a, b);
    if (p == 0)
        return NH_ONE;
    if (nh_is_number(g, a, &base))
        return nh_number(g, nh_to_the(g->labels, base, p));
    return product2(g, a, p, NH_ONE, 1);
}

nh_expr nh_sqrt(nh_graph *g, nh_expr a)
{
    double c;
    return nh_is_number(g, a, &c) ? nh_number(g, nh_square_root_of(g->labels, c))
                                  : product2(g, a, 0.5, NH_ONE, 1);
}

bool nh_takes_two(nh_function f)
{
    static const bool two[NH_FUNCTIONS] = {
#define FUNCTION1(NAME, name, symmetry, derivative) [NH_##NAME] = false,
#define FUNCTION2(NAME, name) [NH_##NAME] = true,
#include "model/graph_functions.def"
    };
    return two[f];
}

static double when(double condition, double value)
{
    return condition > 0 ? value : 0;
}

static double unless(double condition, double value)
{
    return condition > 0 ? 0 : value;
}

double nh_function_value(nh_function f, double a, double b)
{
    switch (f) {
#define FUNCTION1(NAME, name, symmetry, derivative)                                                \
    case NH_##NAME:                                                                                \
        return name(a);
#define FUNCTION2(NAME, name)                                                                      \
    case NH_##NAME:                                                                                \
        return name(a, b);
#include "model/graph_functions.def"
    case NH_FUNCTIONS:
        break;
    }
    return NAN;
}

double nh_function_result(nh_labels *labels, nh_function f, double a, double b)
{
    return labels ? nh_label_function(labels, (int)f, a, b) : nh_function_value(f, a, b);
}

typedef enum symmetry { NEITHER, EVEN, ODD } symmetry;

static const symmetry symmetry_of[NH_FUNCTIONS] = {
#define FUNCTION1(NAME, name, symmetry, derivative) [NH_##NAME] = symmetry,
#include "model/graph_functions.def"
};

static bool leads_with_minus(const nh_graph *g, nh_expr e)
{
    const stored_node *n = g->node + e;
    if (n->kind == NH_PRODUCT)
        return n->number < 0;
    return n->kind == NH_SUM && g->operand[n->first].number < 0;
}

static nh_expr call1(nh_graph *g, nh_function f, nh_expr a)
{
    nh_operand operand = {a, 0};
    return nh_graph_intern(g, (stored_node){.kind = NH_CALL1, .which = (uint8_t)f, .count = 1},
                           &operand);
}

nh_expr nh_call(nh_graph *g, nh_function f, nh_expr a)
{
    double c;
    if (nh_is_number(g, a, &c))
        return nh_number(g, nh_function_result(g->labels, f, c, 0));
    if (symmetry_of[f] != NEITHER && leads_with_minus(g, a)) {
        nh_expr positive = call1(g, f, nh_negate(g, a));
        return symmetry_of[f] == ODD ? nh_negate(g, positive) : positive;
    }
    return call1(g, f, a);
}

nh_expr nh_call2(nh_graph *g, nh_function f, nh_expr a, nh_expr b)
{
    double x, y;
    if (nh_is_number(g, a, &x) && nh_is_number(g, b, &y))
        return nh_number(g, nh_function_result(g->labels, f, x, y));
    if ((f == NH_WHEN || f == NH_UNLESS) && nh_is_number(g, a, &x) && nh_labels_lineage(g->labels))
        nh_lineage_decide(nh_labels_lineage(g->labels), x);
    if ((f == NH_WHEN || f == NH_UNLESS) && nh_is_number(g, a, &x))
        return (x > 0) == (f == NH_WHEN) ? b : NH_ZERO;
    if ((f == NH_WHEN || f == NH_UNLESS) && b == NH_ZERO)
        return NH_ZERO;
    nh_operand operand[2] = {{a, 0}, {b, 0}};
    return nh_graph_intern(g, (stored_node){.kind = NH_CALL2, .which = (uint8_t)f, .count = 2},
                           operand);
}
