/* Translates expressions of a model into expressions of a graph. */
#include "model/expand.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Depth of the recursion below: nesting of the text, through lets and functions. */
enum { DEEPEST = 2000 };

static const nh_value zero = {false, 0, NH_ZERO};

#define FAIL(x, place, ...)                                                                        \
    ((x)->status =                                                                                 \
         (x)->status ? (x)->status : nh_fail_at((x)->report, (x)->source, place, __VA_ARGS__))

void nh_expander_free(nh_expander *x)
{
    free(x->slot);
    free(x->term);
    x->slot = NULL;
    x->term = NULL;
}

/* ---- values ---- */

static nh_value number_value(double number)
{
    return (nh_value){false, number, NH_ZERO};
}

/* A result that must be a finite number; `what` completes "... is not a finite number". */
static nh_value checked(nh_expander *x, const nh_ast *ast, double number, const char *what)
{
    if (!isfinite(number)) {
        FAIL(x, ast->place, "%s is not a finite number", what);
        return zero;
    }
    return number_value(number);
}

/* An expression that the graph found to be a number is one from here on. */
static nh_value within_limits(nh_expander *x, const nh_ast *ast, nh_expr expr)
{
    double number;
    if (nh_graph_failed(x->graph) && !x->status)
        x->status = nh_fail_memory(x->report);
    if (nh_graph_size(x->graph) > NH_NODES_MOST && !x->status)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "the model unfolds to more than %d different expressions",
                                    NH_NODES_MOST);
    if (x->status)
        return zero;
    if (nh_is_number(x->graph, expr, &number))
        return checked(x, ast, number, "this value");
    return (nh_value){true, 0, expr};
}

static nh_expr as_expr(nh_expander *x, nh_value value)
{
    return value.symbolic ? value.expr : x->graph ? nh_number(x->graph, value.number) : NH_ZERO;
}

/* Long sums and products that are copied into others are work as well. */
static void count_operands(nh_expander *x, const nh_ast *ast, nh_expr expr)
{
    x->work += (double)nh_look(x->graph, expr).count;
    if (x->work > NH_WORK_MOST && !x->status)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "the model unfolds to more than %d terms", NH_WORK_MOST);
}

/* ---- frames and terms ---- */

nh_frame nh_frame_open(nh_expander *x, int slots)
{
    nh_frame outer = {x->base, x->slots};
    size_t needed = x->slots + (size_t)slots;
    if (needed > x->slot_room && !x->status) {
        size_t room = 2 * needed + 16;
        nh_value *slot = realloc(x->slot, room * sizeof *slot);
        if (slot) {
            x->slot = slot;
            x->slot_room = room;
        } else
            x->status = nh_fail_memory(x->report);
    }
    if (!x->status) {
        x->base = x->slots;
        x->slots = needed;
    }
    return outer;
}

void nh_frame_close(nh_expander *x, nh_frame outer)
{
    x->base = outer.base;
    x->slots = outer.slots;
}

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

/* A sum under construction: numbers add up in place, the rest waits on the stack of terms. */
typedef struct sum {
    double number;
    bool begun;
    size_t first; /* of its terms */
} sum;

static void add(nh_expander *x, sum *s, nh_value value, bool negative)
{
    if (x->status)
        return;
    if (value.symbolic)
        push_term(x, negative ? nh_negate(x->graph, value.expr) : value.expr);
    else {
        double number = negative ? -value.number : value.number;
        s->number = s->begun ? s->number + number : number;
        s->begun = true;
    }
}

static nh_value total(nh_expander *x, const nh_ast *ast, sum *s)
{
    nh_value value = zero;
    if (x->terms > s->first && !x->status) {
        if (s->number != 0)
            push_term(x, nh_number(x->graph, s->number));
        nh_expr expr = nh_sum(x->graph, x->term + s->first, x->terms - s->first);
        count_operands(x, ast, expr);
        value = within_limits(x, ast, expr);
    } else if (!x->status)
        value = checked(x, ast, s->number, "this sum");
    x->terms = s->first;
    return value;
}

/* ---- arithmetic ---- */

static nh_value expand_sum(nh_expander *x, const nh_ast *ast)
{
    sum s = {.first = x->terms};
    for (const nh_ast *child = ast->child; child && !x->status; child = child->next)
        add(x, &s, nh_expand(x, child), child->inverse);
    return total(x, ast, &s);
}

/* One factor: a number goes to *number, the rest to *expr. */
static void multiply(nh_expander *x, const nh_ast *factor, double *number, nh_expr *expr)
{
    nh_value value = nh_expand(x, factor);
    if (x->status)
        return;
    if (factor->inverse && !value.symbolic && value.number == 0)
        FAIL(x, factor->place, "division by zero");
    else if (!value.symbolic)
        *number = factor->inverse ? *number / value.number : *number * value.number;
    else {
        *expr = factor->inverse ? nh_divide(x->graph, *expr, value.expr)
                                : nh_multiply(x->graph, *expr, value.expr);
        count_operands(x, factor, *expr);
    }
}

static nh_value expand_product(nh_expander *x, const nh_ast *ast)
{
    double number = 1;
    nh_expr expr = NH_ONE;
    for (const nh_ast *child = ast->child; child && !x->status; child = child->next)
        multiply(x, child, &number, &expr);
    nh_value scale = x->status ? zero : checked(x, ast, number, "this product");
    if (x->status || expr == NH_ONE)
        return scale;
    return within_limits(x, ast, nh_scale(x->graph, number, expr));
}

static nh_value expand_power(nh_expander *x, const nh_ast *ast)
{
    nh_value base = nh_expand(x, ast->child), exponent = nh_expand(x, ast->child->next);
    if (x->status)
        return zero;
    if (!base.symbolic && !exponent.symbolic) {
        double number = pow(base.number, exponent.number);
        if (!isfinite(number))
            FAIL(x, ast->place, "%.10g^%.10g is not a finite number", base.number, exponent.number);
        return number_value(number);
    }
    return within_limits(x, ast, nh_power(x->graph, as_expr(x, base), as_expr(x, exponent)));
}

/* ---- functions ---- */

static nh_value builtin_number(nh_expander *x, const nh_ast *ast, double a, double b)
{
    const nh_builtin *f = &nh_builtins[ast->builtin];
    double number = f->function < 0 ? sqrt(a) : nh_function_value((nh_function)f->function, a, b);
    if (!isfinite(number) && f->arguments == 1)
        FAIL(x, ast->place, "%s(%.10g) is not a finite number", f->name, a);
    return number_value(number);
}

static nh_value expand_builtin(nh_expander *x, const nh_ast *ast)
{
    const nh_builtin *f = &nh_builtins[ast->builtin];
    nh_value a = nh_expand(x, ast->child),
             b = f->arguments > 1 ? nh_expand(x, ast->child->next) : zero;
    if (x->status)
        return zero;
    if (!a.symbolic && !b.symbolic)
        return builtin_number(x, ast, a.number, b.number);
    if (f->function < 0)
        return within_limits(x, ast, nh_sqrt(x->graph, a.expr));
    if (f->arguments == 1)
        return within_limits(x, ast, nh_call(x->graph, (nh_function)f->function, a.expr));
    return within_limits(
        x, ast, nh_call2(x->graph, (nh_function)f->function, as_expr(x, a), as_expr(x, b)));
}

/* A function of the model: its arguments are found in the caller's frame, its body in a new one. */
static nh_value expand_apply(nh_expander *x, const nh_ast *ast)
{
    nh_frame caller = nh_frame_open(x, ast->symbol->slots);
    size_t inner = x->base, i = inner;
    x->base = caller.base;
    for (const nh_ast *a = ast->child; a && !x->status; a = a->next, i++) {
        nh_value value = nh_expand(x, a); /* may move x->slot */
        if (!x->status)
            x->slot[i] = value;
    }
    x->base = inner;
    nh_value value = nh_expand(x, ast->symbol->body);
    nh_frame_close(x, caller);
    return value;
}

/* A let is expanded once, whatever the number of its uses. */
static nh_value expand_let(nh_expander *x, const nh_ast *ast)
{
    const nh_symbol *symbol = ast->symbol;
    if (!x->let_known[symbol->number]) {
        nh_frame outer = nh_frame_open(x, symbol->slots);
        nh_value value = nh_expand(x, symbol->body);
        nh_frame_close(x, outer);
        if (x->status)
            return zero;
        x->let[symbol->number] = value;
        x->let_known[symbol->number] = true;
    }
    return x->let[symbol->number];
}

/* ---- loops ---- */

int64_t nh_expand_integer(nh_expander *x, const nh_ast *ast, const char *what)
{
    nh_value value = nh_expand(x, ast);
    if (x->status)
        return 0;
    if (value.symbolic)
        FAIL(x, ast->place, "%s changes with the motion; expected a constant", what);
    else if (fabs(value.number) > 1e15 || fabs(value.number - round(value.number)) > 1e-9)
        FAIL(x, ast->place, "%s is %.10g; expected an integer", what, value.number);
    return x->status ? 0 : (int64_t)round(value.number);
}

static nh_status too_long(nh_expander *x, const nh_ast *from, int64_t a, int64_t b)
{
    return nh_too_large_at(x->report, x->source, from->place,
                           "the range %" PRId64 "..%" PRId64
                           " makes the model too large: at most %d terms, %d of them different",
                           a, b, NH_WORK_MOST, NH_NODES_MOST);
}

int64_t nh_expand_range(nh_expander *x, const nh_ast *from, const nh_ast *to, double cost,
                        int64_t *first)
{
    int64_t a = nh_expand_integer(x, from, "the lower bound");
    int64_t b = nh_expand_integer(x, to, "the upper bound");
    *first = a;
    if (x->status)
        return 0;
    if (b < a - 1)
        FAIL(x, from->place,
             "the range %" PRId64 "..%" PRId64 " runs backwards; expected bounds that ascend", a,
             b);
    else if (x->work + (double)(b - a + 1) * cost > NH_WORK_MOST)
        x->status = too_long(x, from, a, b);
    return x->status ? 0 : b - a + 1;
}

nh_effort nh_expand_effort(const nh_expander *x)
{
    return (nh_effort){x->work, x->graph ? (double)nh_graph_size(x->graph) : 0};
}

/* Iterations may get shorter, as in sum(i in 1..N: sum(j in i..N: ...)): only what is several times
 * beyond the limits is refused at once. */
void nh_expand_repetition_done(nh_expander *x, const nh_ast *from, int64_t first, int64_t count,
                               nh_effort before)
{
    nh_effort now = nh_expand_effort(x);
    double iterations = (double)count;
    if (!x->status && ((now.work - before.work) * iterations > 4.0 * NH_WORK_MOST ||
                       (now.nodes - before.nodes) * iterations > 4.0 * NH_NODES_MOST))
        x->status = too_long(x, from, first, first + count - 1);
}

static nh_value expand_loop(nh_expander *x, const nh_ast *ast)
{
    const nh_ast *from = ast->child, *to = from->next, *body = to->next;
    int64_t first, count = nh_expand_range(x, from, to, body->cost, &first);
    sum s = {.first = x->terms};
    for (int64_t i = 0; i < count && !x->status; i++) {
        x->slot[x->base + (size_t)ast->slot] = number_value((double)(first + i));
        nh_effort before = nh_expand_effort(x);
        add(x, &s, nh_expand(x, body), false);
        if (i == 0)
            nh_expand_repetition_done(x, from, first, count, before);
    }
    return total(x, ast, &s);
}

/* ---- coordinates and velocities ---- */

nh_family nh_expand_target(nh_expander *x, const nh_ast *target)
{
    const nh_symbol *symbol = target->symbol;
    nh_family members =
        (symbol->kind == SYMBOL_COORDINATE ? x->coordinate : x->velocity)[symbol->number];
    if (!target->child)
        return members;
    int64_t index = nh_expand_integer(x, target->child, "the index");
    int64_t offset = index - members.low;
    if (!x->status && members.count == 0)
        FAIL(x, target->child->place, "'%s[%" PRId64 "]' does not exist: the family is empty",
             target->name, index);
    else if (!x->status && (offset < 0 || offset >= members.count))
        FAIL(x, target->child->place,
             "'%s[%" PRId64 "]' does not exist: the index runs from %" PRId64 " to %" PRId64,
             target->name, index, members.low, members.low + members.count - 1);
    return (nh_family){index, 1, x->status ? 0 : members.first + offset};
}

static nh_value expand_motion(nh_expander *x, const nh_ast *ast)
{
    if (!x->graph)
        FAIL(x, ast->place, "'%s' is %s; expected numbers and parameters", ast->name,
             ast->kind == AST_TIME ? "the time" : nh_symbol_a(ast->symbol->kind));
    else if (!x->families_settled)
        FAIL(x, ast->place, "'%s' is %s; the bounds of a family are made of numbers and parameters",
             ast->name, ast->kind == AST_TIME ? "the time" : nh_symbol_a(ast->symbol->kind));
    if (x->status)
        return zero;
    if (ast->kind == AST_TIME)
        return (nh_value){true, 0, nh_variable(x->graph, NH_TIME, 0)};
    nh_family member = nh_expand_target(x, ast);
    nh_input kind = ast->kind == AST_VELOCITY || ast->prime ? NH_V : NH_Q;
    return x->status ? zero
                     : (nh_value){true, 0, nh_variable(x->graph, kind, (uint32_t)member.first)};
}

/* ---- the whole ---- */

static nh_value dispatch(nh_expander *x, const nh_ast *ast)
{
    switch (ast->kind) {
    case AST_NUMBER:
        return number_value(ast->number);
    case AST_SUM:
        return expand_sum(x, ast);
    case AST_PRODUCT:
        return expand_product(x, ast);
    case AST_POWER:
        return expand_power(x, ast);
    case AST_LOOP:
        return expand_loop(x, ast);
    case AST_SLOT:
        return x->slot[x->base + (size_t)ast->slot];
    case AST_PARAMETER:
        return number_value(x->parameter[ast->symbol->number]);
    case AST_TIME:
    case AST_COORDINATE:
    case AST_VELOCITY:
        return expand_motion(x, ast);
    case AST_LET:
        return expand_let(x, ast);
    case AST_BUILTIN:
        return expand_builtin(x, ast);
    case AST_APPLY:
        return expand_apply(x, ast);
    case AST_LIST:
    case AST_NAME:
    case AST_CALL:
        break; /* nh_resolve leaves none of these where a value is expected */
    }
    return zero;
}

nh_value nh_expand(nh_expander *x, const nh_ast *ast)
{
    if (x->status)
        return zero;
    x->work++;
    if (x->work > NH_WORK_MOST)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "the model unfolds to more than %d terms", NH_WORK_MOST);
    else if (x->depth >= DEEPEST)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "functions call one another more than %d levels deep", DEEPEST);
    if (x->status)
        return zero;
    x->depth++;
    nh_value value = dispatch(x, ast);
    x->depth--;
    return x->status ? zero : value;
}

nh_expr nh_expand_expr(nh_expander *x, const nh_ast *ast)
{
    nh_value value = nh_expand(x, ast);
    nh_expr expr = as_expr(x, value);
    if (x->graph && nh_graph_failed(x->graph) && !x->status)
        x->status = nh_fail_memory(x->report);
    return x->status ? NH_ZERO : expr;
}
