/* Shorter forms of expressions, for readers. */
#include "export/tidy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS_MOST = 120,   /* of a sum that is looked at; longer ones are not printed */
    FACTORS_MOST = 24,  /* of a term */
    DIFFERENT_MOST = 4, /* factors in which two terms differ, if they can be merged */
};

typedef struct part {
    double c;
    int count;
    nh_operand factor[FACTORS_MOST]; /* ascending */
} part;

typedef struct sum {
    nh_graph *g;
    double constant;
    int count;
    part *term; /* [TERMS_MOST] */
} sum;

/* ---- terms ---- */

static bool take_term(const nh_graph *g, nh_operand o, part *out)
{
    const nh_node n = nh_look(g, o.expr);
    *out = (part){.c = o.number, .count = 1};
    if (n.kind != NH_PRODUCT) {
        out->factor[0] = (nh_operand){o.expr, 1};
        return true;
    }
    if (n.count > FACTORS_MOST)
        return false;
    out->c *= n.number;
    out->count = (int)n.count;
    memcpy(out->factor, n.operand, n.count * sizeof *n.operand);
    return true;
}

static nh_expr term_value(nh_graph *g, const part *t)
{
    nh_expr value = NH_ONE;
    for (int i = 0; i < t->count; i++) {
        const nh_expr power = nh_number(g, t->factor[i].number);
        value = nh_multiply(g, value, nh_power(g, t->factor[i].expr, power));
    }
    return nh_scale(g, t->c, value);
}

static double power_of(const part *t, nh_expr e)
{
    for (int i = 0; i < t->count; i++)
        if (t->factor[i].expr == e)
            return t->factor[i].number;
    return 0;
}

/* Multiplies a term by e^power. False if that has too many factors. */
static bool times(part *t, nh_expr e, double power)
{
    int i = 0;
    while (i < t->count && t->factor[i].expr != e)
        i++;
    if (i == FACTORS_MOST)
        return false;
    if (i == t->count)
        t->factor[t->count++] = (nh_operand){e, 0};
    t->factor[i].number += power;
    if (t->factor[i].number == 0)
        t->factor[i] = t->factor[--t->count];
    return true;
}

/* The factors whose powers differ, with a's power minus b's. -1: too many. */
static int difference(const part *a, const part *b, nh_operand *out)
{
    int count = 0;
    for (int side = 0; side < 2; side++) {
        const part *from = side ? b : a;
        for (int i = 0; i < from->count; i++) {
            const nh_expr e = from->factor[i].expr;
            if (side && power_of(a, e) != 0)
                continue; /* done */
            const double by = power_of(a, e) - power_of(b, e);
            if (by == 0)
                continue;
            if (count == DIFFERENT_MOST)
                return -1;
            out[count++] = (nh_operand){e, by};
        }
    }
    return count;
}

/* The argument of a sine or cosine; NH_ZERO: it is none. */
static nh_expr argument(const nh_graph *g, nh_expr e, int *function)
{
    const nh_node n = nh_look(g, e);
    if (n.kind != NH_CALL1 || (n.which != NH_SIN && n.which != NH_COS))
        return NH_ZERO;
    *function = n.which;
    return n.operand[0].expr;
}

/* ---- rules: they change `a` into the sum of both ---- */

/* sin^2 + cos^2 = 1; 1 - sin^2 = cos^2; 1 - cos^2 = sin^2. */
static bool merge_squares(nh_graph *g, part *a, const part *b)
{
    nh_operand d[DIFFERENT_MOST];
    const int count = difference(a, b, d);
    int f[2] = {0, 0};
    if (count == 2 && a->c == b->c && d[0].number + d[1].number == 0 && fabs(d[0].number) == 2) {
        const nh_expr x = argument(g, d[0].expr, f), y = argument(g, d[1].expr, f + 1);
        return x != NH_ZERO && x == y && f[0] != f[1] &&
               times(a, d[d[0].number > 0 ? 0 : 1].expr, -2);
    }
    if (count != 1 || a->c != -b->c || fabs(d[0].number) != 2)
        return false;
    const nh_expr x = argument(g, d[0].expr, f);
    if (x == NH_ZERO)
        return false;
    const double sign = d[0].number > 0 ? -1 : 1; /* a is the square, b the one */
    a->c *= sign;
    const nh_expr other = nh_call(g, f[0] == NH_SIN ? NH_COS : NH_SIN, x);
    return times(a, d[0].expr, sign < 0 ? -2 : 0.0) && times(a, other, 2);
}

/* The sine or cosine of x times c, with a positive sign at the beginning of x. */
static bool times_function(nh_graph *g, part *a, nh_function f, nh_expr x)
{
    const nh_node n = nh_look(g, x);
    const bool turned = n.kind == NH_SUM && n.count > 0 && n.operand[0].number < 0;
    if (turned && f == NH_SIN)
        a->c = -a->c;
    if (turned)
        x = nh_negate(g, x);
    return times(a, nh_call(g, f, x), 1);
}

/* cos cos +- sin sin = cos(a -+ b), sin cos +- cos sin = sin(a +- b). */
static bool merge_angles(nh_graph *g, part *a, const part *b)
{
    nh_operand d[DIFFERENT_MOST];
    nh_expr angle[2] = {NH_ZERO, NH_ZERO};
    int function[2] = {0, 0}, above = 0, below = 0;
    if (fabs(a->c) != fabs(b->c) || difference(a, b, d) != 4)
        return false;
    for (int i = 0; i < 4; i++) { /* what a has and b has not */
        int f = 0;
        const nh_expr x = argument(g, d[i].expr, &f);
        if (x == NH_ZERO || fabs(d[i].number) != 1)
            return false;
        if (d[i].number > 0 && above < 2) {
            angle[above] = x;
            function[above++] = f;
        }
    }
    for (int i = 0; i < 4; i++) {
        int f = 0;
        const nh_expr x = argument(g, d[i].expr, &f);
        for (int k = 0; k < 2; k++)
            below += d[i].number < 0 && x == angle[k] && f != function[k];
    }
    if (above != 2 || below != 2 || angle[0] == angle[1])
        return false;
    for (int i = 0; i < 4; i++)
        if (d[i].number > 0 && !times(a, d[i].expr, -1))
            return false;
    const bool same = a->c == b->c;
    if (function[0] == function[1]) {
        if (function[0] == NH_SIN && !same)
            a->c = -a->c;
        return times_function(g, a, NH_COS,
                              same ? nh_subtract(g, angle[0], angle[1])
                                   : nh_add(g, angle[0], angle[1]));
    }
    if (function[0] == NH_COS && !same)
        a->c = -a->c;
    return times_function(
        g, a, NH_SIN, same ? nh_add(g, angle[0], angle[1]) : nh_subtract(g, angle[0], angle[1]));
}

/* ---- sums ---- */

static nh_expr sum_value(sum *s)
{
    nh_expr *value = malloc(((size_t)s->count + 1) * sizeof *value);
    if (!value) {
        nh_graph_fail(s->g);
        return NH_ZERO;
    }
    for (int i = 0; i < s->count; i++)
        value[i] = term_value(s->g, s->term + i);
    value[s->count] = nh_number(s->g, s->constant);
    const nh_expr result = nh_sum(s->g, value, (size_t)s->count + 1);
    free(value);
    return result;
}

static bool merge_some(sum *s)
{
    for (int rule = 0; rule < 2; rule++)
        for (int i = 0; i < s->count; i++)
            for (int j = i + 1; j < s->count; j++) {
                part merged = s->term[i];
                if (!(rule == 0 ? merge_squares : merge_angles)(s->g, &merged, s->term + j))
                    continue;
                s->term[i] = merged;
                s->term[j] = s->term[--s->count];
                return true;
            }
    return false;
}

static nh_expr tidy_sum(nh_graph *g, nh_expr e)
{
    const nh_node n = nh_look(g, e);
    sum s = {.g = g, .constant = n.number};
    if (n.kind != NH_SUM || n.count > TERMS_MOST - 1 || n.count + (n.number != 0) < 2)
        return e;
    s.term = malloc(TERMS_MOST * sizeof *s.term);
    bool good = s.term != NULL, merged = false;
    for (size_t i = 0; good && i < n.count; i++)
        good = take_term(g, n.operand[i], s.term + s.count++);
    if (good && s.constant != 0) { /* a term like others, without factors */
        s.term[s.count++] = (part){.c = s.constant};
        s.constant = 0;
    }
    while (good && merge_some(&s))
        merged = true;
    const nh_expr result = merged ? sum_value(&s) : e;
    free(s.term);
    return result;
}

/* ---- products of sums ---- */

/* Roughly how long an expression is, looking through `depth` parentheses. */
static int length_of(const nh_graph *g, nh_expr e, int depth)
{
    const nh_node n = nh_look(g, e);
    int length = n.kind == NH_SUM && n.number != 0;
    if (depth == 0 || (n.kind != NH_SUM && n.kind != NH_PRODUCT))
        return 1;
    for (size_t i = 0; i < n.count; i++) {
        const nh_expr of = n.operand[i].expr;
        length += length_of(g, of, n.kind == NH_SUM ? depth : depth - 1) + (n.kind == NH_SUM);
    }
    return length;
}

/* The first factor of a product that is a sum; NH_ZERO: there is none. */
static nh_expr sum_among(const nh_graph *g, nh_expr e)
{
    const nh_node n = nh_look(g, e);
    for (size_t i = 0; n.kind == NH_PRODUCT && i < n.count; i++)
        if (n.operand[i].number == 1 && nh_look(g, n.operand[i].expr).kind == NH_SUM)
            return n.operand[i].expr;
    return NH_ZERO;
}

/* e with its factor `of`, a sum, multiplied out. Appends to `term`; false: too many. */
static bool multiply_out(nh_graph *g, double c, nh_expr e, nh_expr of, nh_expr *term, int *terms)
{
    nh_operand operand[TERMS_MOST];
    const nh_node n = nh_look(g, of);
    const double constant = n.number;
    const int count = (int)n.count;
    if (*terms + count + 1 > TERMS_MOST)
        return false;
    memcpy(operand, n.operand, n.count * sizeof *operand);
    const nh_expr rest = nh_divide(g, e, of);
    for (int i = 0; i < count; i++)
        term[(*terms)++] =
            nh_scale(g, c * operand[i].number, nh_multiply(g, rest, operand[i].expr));
    if (constant != 0)
        term[(*terms)++] = nh_scale(g, c * constant, rest);
    return true;
}

/* A sum of products of sums, multiplied out and merged, if that is shorter. */
static nh_expr tidy_products(nh_graph *g, nh_expr e)
{
    nh_operand operand[TERMS_MOST];
    nh_expr term[TERMS_MOST + 1];
    const nh_node n = nh_look(g, e);
    const double constant = n.number;
    const int count = (int)n.count;
    int terms = 0;
    bool any = false;
    if (n.kind != NH_SUM || count >= TERMS_MOST)
        return e;
    memcpy(operand, n.operand, n.count * sizeof *operand);
    for (int i = 0; i < count; i++) {
        const nh_expr of = sum_among(g, operand[i].expr);
        if (terms == TERMS_MOST ||
            (of != NH_ZERO &&
             !multiply_out(g, operand[i].number, operand[i].expr, of, term, &terms)))
            return e;
        if (of == NH_ZERO)
            term[terms++] = nh_scale(g, operand[i].number, operand[i].expr);
        any = any || of != NH_ZERO;
    }
    if (!any)
        return e;
    term[terms++] = nh_number(g, constant);
    const nh_expr other = tidy_sum(g, nh_sum(g, term, (size_t)terms));
    return length_of(g, other, 3) < length_of(g, e, 3) ? other : e;
}

/* ---- expressions ---- */

static bool is_whole(double x)
{
    return x == rint(x);
}

/* Whether a number can go into a sum without leaving fractions. */
static bool can_take(const nh_graph *g, nh_expr e, double factor)
{
    const nh_node n = nh_look(g, e);
    bool whole = n.kind == NH_SUM && is_whole(factor * n.number);
    for (size_t i = 0; whole && i < n.count; i++) {
        const nh_node inner = nh_look(g, n.operand[i].expr);
        whole =
            is_whole(factor * n.operand[i].number * (inner.kind == NH_PRODUCT ? inner.number : 1));
    }
    return whole;
}

/* c e, where c goes into a sum among the factors of e if that leaves no fractions. */
static nh_expr scaled(nh_graph *g, double c, nh_expr e)
{
    const nh_node n = nh_look(g, e);
    const nh_expr of = fabs(c) != 1 ? sum_among(g, e) : NH_ZERO;
    const double whole = c * (n.kind == NH_PRODUCT ? n.number : 1);
    if (of == NH_ZERO || !can_take(g, of, whole))
        return nh_scale(g, c, e);
    const nh_expr rest = nh_scale(g, c, nh_divide(g, e, of));
    const nh_expr inner = nh_scale(g, whole, of);
    return nh_multiply(g, nh_scale(g, 1 / whole, rest), inner);
}

/* A node over the new forms of its operands. */
static nh_expr again(nh_graph *g, nh_expr e, const nh_expr *form)
{
    const nh_node n = nh_look(g, e);
    nh_operand few[8], *operand = n.count > 8 ? malloc(n.count * sizeof *operand) : few;
    if (!operand) {
        nh_graph_fail(g);
        return e;
    }
    for (size_t i = 0; i < n.count; i++)
        operand[i] = (nh_operand){form[n.operand[i].expr], n.operand[i].number};
    nh_expr result = e;
    if (n.kind == NH_SUM) {
        result = nh_number(g, n.number);
        for (size_t i = 0; i < n.count; i++) {
            const nh_expr term = scaled(g, operand[i].number, operand[i].expr);
            result = nh_add(g, result, term);
        }
    } else if (n.kind == NH_PRODUCT) {
        result = NH_ONE;
        for (size_t i = 0; i < n.count; i++) {
            const nh_expr power = nh_number(g, operand[i].number);
            result = nh_multiply(g, result, nh_power(g, operand[i].expr, power));
        }
        result = scaled(g, n.number, result);
    } else if (n.kind == NH_CALL1)
        result = nh_call(g, (nh_function)n.which, operand[0].expr);
    else if (n.kind == NH_CALL2)
        result = nh_call2(g, (nh_function)n.which, operand[0].expr, operand[1].expr);
    if (operand != few)
        free(operand);
    return tidy_products(g, tidy_sum(g, result));
}

bool nh_tidy(nh_graph *g, nh_expr *list, size_t count)
{
    nh_expr *order;
    size_t nodes;
    if (!nh_reach(g, list, count, &order, &nodes))
        return false;
    nh_expr *form = calloc(nh_graph_size(g) + 1, sizeof *form);
    for (size_t i = 0; form && i < nodes; i++)
        form[order[i]] = again(g, order[i], form);
    for (size_t i = 0; form && i < count; i++)
        list[i] = form[list[i]];
    const bool good = form && !nh_graph_failed(g);
    free(order);
    free(form);
    return good;
}
