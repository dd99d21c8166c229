/* Arithmetic of the model language: sums, products, powers, loops and functions of values, which
 * may be numbers, expressions of the graph, vectors or matrices. */
#include "model/arithmetic.h"
#include "model/vector.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const nh_value zero = {0};
static const nh_value empty = {.empty = true};

/* ---- values ---- */

/* A result that must be a finite number; `what` completes "... is not a finite number". */
static nh_value checked(nh_expander *x, const nh_ast *ast, double number, const char *what)
{
    if (!isfinite(number)) {
        FAIL(x, ast->place, "%s is not a finite number", what);
        return zero;
    }
    return nh_number_value(number);
}

/* An expression that the graph has simplified to a number becomes a number. */
nh_value nh_as_value(nh_expander *x, const nh_ast *ast, nh_expr expr)
{
    double number;
    if (nh_graph_failed(x->graph) && !x->status)
        x->status = nh_fail_memory(x->report);
    if (nh_graph_size(x->graph) > NH_NODES_MOST && !x->status)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "the model expands to more than %d different expressions",
                                    NH_NODES_MOST);
    if (x->status)
        return zero;
    if (nh_is_number(x->graph, expr, &number))
        return checked(x, ast, number, "this value");
    return (nh_value){.symbolic = true, .expr = expr};
}

nh_expr nh_value_expr(nh_expander *x, nh_value value)
{
    return value.symbolic ? value.expr : x->graph ? nh_number(x->graph, value.number) : NH_ZERO;
}

/* Copying long sums and products into others counts as work as well. */
static void count_operands(nh_expander *x, const nh_ast *ast, nh_expr expr)
{
    x->work += (double)nh_look(x->graph, expr).count;
    if (x->work > NH_WORK_MOST && !x->status)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "the model expands to more than %d terms", NH_WORK_MOST);
}

/* ---- sums ---- */

static void push_term(nh_expander *x, nh_expr term)
{
    if (x->terms == x->term_room) {
        size_t room = 2 * x->term_room + 64;
        nh_expr *grown = realloc(x->term, room * sizeof *grown);
        if (!grown) {
            x->status = nh_fail_memory(x->report);
            return;
        }
        x->term = grown;
        x->term_room = room;
    }
    x->term[x->terms++] = term;
}

static void push_part(nh_expander *x, nh_value part)
{
    if (x->parts == x->part_room) {
        size_t room = 2 * x->part_room + 16;
        nh_value *grown = realloc(x->part, room * sizeof *grown);
        if (!grown) {
            x->status = nh_fail_memory(x->report);
            return;
        }
        x->part = grown;
        x->part_room = room;
    }
    x->part[x->parts++] = part;
}

/* A sum under construction: numbers are added at once, expressions are collected on the stack of
 * terms, vectors and matrices on the stack of parts. */
typedef struct sum {
    double number;
    bool begun;
    size_t first, first_part; /* where its terms and parts begin */
    nh_value shape;           /* of all summands: the first one decides */
    bool shaped;
} sum;

static sum begin_sum(const nh_expander *x)
{
    return (sum){.first = x->terms, .first_part = x->parts};
}

static void add_single(nh_expander *x, sum *s, nh_value value, bool negative)
{
    if (value.symbolic)
        push_term(x, negative ? nh_negate(x->graph, value.expr) : value.expr);
    else {
        double number = negative ? -value.number : value.number;
        s->number = s->begun ? nh_plus(x->labels, s->number, number) : number;
        s->begun = true;
    }
}

static void add(nh_expander *x, sum *s, const nh_ast *ast, nh_value value, bool negative)
{
    if (x->status || value.empty)
        return;
    if (!s->shaped)
        s->shape = value;
    s->shaped = true;
    if (!nh_same_shape(s->shape, value))
        FAIL(x, ast->place, "%s cannot be added to %s", nh_value_shape(value).text,
             nh_value_shape(s->shape).text);
    else if (nh_is_single(value))
        add_single(x, s, value, negative);
    else
        push_part(x, negative ? nh_scaled(x, ast, nh_number_value(-1), value) : value);
}

static nh_value total_single(nh_expander *x, const nh_ast *ast, const sum *s)
{
    nh_value value = zero;
    if (x->terms > s->first && !x->status) {
        if (s->number != 0)
            push_term(x, nh_number(x->graph, s->number));
        nh_expr expr = nh_sum(x->graph, x->term + s->first, x->terms - s->first);
        count_operands(x, ast, expr);
        value = nh_as_value(x, ast, expr);
    } else if (!x->status)
        value = checked(x, ast, s->number, "this sum");
    x->terms = s->first;
    return value;
}

/* A sum of vectors or matrices is computed entry by entry. */
static nh_value total(nh_expander *x, const nh_ast *ast, const sum *s)
{
    if (!s->shaped)
        return empty;
    if (nh_is_single(s->shape) || x->status)
        return total_single(x, ast, s);
    nh_value value = nh_vector(x, s->shape.rows, s->shape.columns, s->shape.entry);
    int64_t entries = nh_value_entries(value);
    nh_value *entry = (nh_value *)value.entry; /* allocated above, so it may be written */
    for (int64_t i = 0; i < entries && !x->status; i++) {
        sum one = begin_sum(x);
        for (size_t k = s->first_part; k < x->parts; k++)
            add_single(x, &one, x->part[k].entry[i], false);
        entry[i] = total_single(x, ast, &one);
    }
    x->parts = s->first_part;
    return x->status ? zero : value;
}

/* ---- arithmetic ---- */

nh_value nh_expand_sum(nh_expander *x, const nh_ast *ast)
{
    sum s = begin_sum(x);
    for (const nh_ast *child = ast->child; child && !x->status; child = child->next)
        add(x, &s, child, nh_expand(x, child), child->inverse);
    return total(x, ast, &s);
}

/* One factor: a number goes to *number, an expression to *expr, anything else on the stack of
 * parts. Returns whether it is an empty sum. */
static bool multiply(nh_expander *x, const nh_ast *factor, double *number, nh_expr *expr)
{
    nh_value value = nh_expand(x, factor);
    if (x->status)
        return false;
    if (factor->inverse && !nh_is_single(value))
        FAIL(x, factor->place, "cannot divide by %s", nh_value_shape(value).text);
    else if (!nh_is_single(value))
        push_part(x, value);
    else if (factor->inverse && !value.symbolic && value.number == 0)
        FAIL(x, factor->place, "division by zero");
    else if (!value.symbolic)
        *number = factor->inverse ? nh_over(x->labels, *number, value.number)
                                  : nh_times(x->labels, *number, value.number);
    else {
        *expr = factor->inverse ? nh_divide(x->graph, *expr, value.expr)
                                : nh_multiply(x->graph, *expr, value.expr);
        count_operands(x, factor, *expr);
    }
    return value.empty;
}

nh_value nh_expand_product(nh_expander *x, const nh_ast *ast)
{
    double number = 1;
    nh_expr expr = NH_ONE;
    size_t parts = x->parts;
    bool is_empty = false;
    for (const nh_ast *child = ast->child; child && !x->status; child = child->next)
        is_empty = multiply(x, child, &number, &expr) || is_empty;
    if (is_empty && !x->status) {
        x->parts = parts;
        return empty;
    }
    nh_value scale = x->status ? zero : checked(x, ast, number, "this product");
    if (!x->status && expr != NH_ONE)
        scale = nh_as_value(x, ast, nh_scale(x->graph, number, expr));
    if (x->status || x->parts == parts)
        return scale;
    nh_value product = x->part[--x->parts]; /* from the right: vectors before matrices */
    while (x->parts > parts && !x->status)
        product = nh_matrix_product(x, ast, x->part[--x->parts], product);
    bool plain = !scale.symbolic && scale.number == 1;
    return x->status || plain ? product : nh_scaled(x, ast, scale, product);
}

nh_value nh_sum_of_products(nh_expander *x, const nh_ast *ast, const nh_value *a, const nh_value *b,
                            int64_t stride, int64_t count)
{
    sum s = begin_sum(x);
    for (int64_t i = 0; i < count && !x->status; i++) {
        nh_value left = a[i], right = b[i * stride];
        if (left.symbolic || right.symbolic) {
            nh_expr product = nh_value_expr(x, right);
            product = nh_multiply(x->graph, nh_value_expr(x, left), product);
            count_operands(x, ast, product);
            push_term(x, product);
        } else
            add_single(x, &s, nh_number_value(nh_times(x->labels, left.number, right.number)),
                       false);
    }
    return total_single(x, ast, &s);
}

nh_value nh_expand_power(nh_expander *x, const nh_ast *ast)
{
    /* x^n / x would be undefined at 0 */
    nh_value base = nh_expand(x, ast->child), exponent = nh_expand_number(x, ast->child->next);
    if (!nh_is_single(base))
        FAIL(x, ast->place, "cannot raise %s to a power; the square of a vector is dot(v, v)",
             nh_value_shape(base).text);
    if (x->status)
        return zero;
    if (!base.symbolic && !exponent.symbolic) {
        double number = nh_to_the(x->labels, base.number, exponent.number);
        if (!isfinite(number))
            FAIL(x, ast->place, "%.10g^%.10g is not a finite number", base.number, exponent.number);
        return nh_number_value(number);
    }
    const nh_expr to = nh_value_expr(x, exponent);
    return nh_as_value(x, ast, nh_power(x->graph, nh_value_expr(x, base), to));
}

nh_value nh_expand_loop(nh_expander *x, const nh_ast *ast)
{
    const nh_ast *from = ast->child, *to = from->next, *body = to->next;
    int64_t first, count = nh_expand_range(x, from, to, body->cost, &first);
    sum s = begin_sum(x);
    for (int64_t i = 0; i < count && !x->status; i++) {
        x->slot[x->base + (size_t)ast->slot] = nh_number_value((double)(first + i));
        nh_effort before = nh_expand_effort(x);
        add(x, &s, body, nh_expand(x, body), false);
        if (i == 0)
            nh_expand_repetition_done(x, from, first, count, before);
    }
    return total(x, ast, &s);
}

/* ---- functions of the language ---- */

static nh_value builtin_number(nh_expander *x, const nh_ast *ast, double a, double b)
{
    const nh_builtin *f = &nh_builtins[ast->builtin];
    double number = nh_function_result(x->labels, (nh_function)f->function, a, b);
    if (!isfinite(number) && f->arguments == 1)
        FAIL(x, ast->place, "%s(%.10g) is not a finite number", f->name, a);
    return nh_number_value(number);
}

nh_value nh_square_root(nh_expander *x, const nh_ast *ast, nh_value value)
{
    if (x->status || value.symbolic)
        return x->status ? zero : nh_as_value(x, ast, nh_sqrt(x->graph, value.expr));
    if (value.number < 0)
        FAIL(x, ast->place, "sqrt(%.10g) is not a finite number", value.number);
    return nh_number_value(nh_square_root_of(x->labels, value.number));
}

nh_value nh_function_of(nh_expander *x, const nh_ast *ast, nh_function f, nh_value a, nh_value b)
{
    if (x->status)
        return zero;
    if (!a.symbolic && !b.symbolic)
        return nh_number_value(nh_function_result(x->labels, f, a.number, b.number));
    if (!nh_takes_two(f))
        return nh_as_value(x, ast, nh_call(x->graph, f, a.expr));
    const nh_expr second = nh_value_expr(x, b);
    return nh_as_value(x, ast, nh_call2(x->graph, f, nh_value_expr(x, a), second));
}

nh_value nh_expand_builtin(nh_expander *x, const nh_ast *ast)
{
    const nh_builtin *f = &nh_builtins[ast->builtin];
    nh_value argument[NH_BUILTIN_ARGUMENTS] = {{0}}, *a = argument, *b = argument + 1;
    int i = 0;
    for (const nh_ast *child = ast->child; child; child = child->next)
        argument[i++] = f->vector ? nh_expand(x, child) : nh_expand_single(x, child);
    if (x->status)
        return zero;
    if (f->vector)
        return f->vector(x, ast, argument);
    if (f->function < 0)
        return nh_square_root(x, ast, *a);
    if (!a->symbolic && !b->symbolic)
        return builtin_number(x, ast, a->number, b->number);
    return nh_function_of(x, ast, (nh_function)f->function, *a, *b);
}
