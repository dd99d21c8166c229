/* Translates expressions of a model into expressions of a graph. */
#include "model/arithmetic.h"
#include "model/lineage.h"
#include "model/vector.h"

#include "base/hash.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the recursion depth below: nesting of the text, including lets and functions. */
enum { DEEPEST = 2000 };

static const nh_value zero = {0};

void nh_expander_free(nh_expander *x)
{
    free(x->slot);
    free(x->term);
    free(x->part);
    free(x->member);
    x->member = NULL;
    x->members = x->member_room = 0;
    x->slot = NULL;
    x->term = NULL;
    x->part = NULL;
}

/* ---- frames ---- */

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

/* ---- functions of the model ---- */

/* r[i]: the index, which must be within the bounds if the let has any. */
static nh_value expand_index(nh_expander *x, const nh_ast *ast)
{
    const nh_symbol *symbol = ast->symbol;
    int64_t index = nh_expand_integer(x, ast->child, "the index"), low, count;
    if (symbol->from && !x->status) {
        nh_frame outer = nh_frame_open(x, NH_NESTING_DEEPEST);
        count = nh_expand_range(x, symbol->from, symbol->to, 0, &low);
        nh_frame_close(x, outer);
        if (!x->status && (index < low || index >= low + count))
            FAIL(x, ast->child->place,
                 "'%s[%" PRId64 "]' does not exist: the index runs from %" PRId64 " to %" PRId64,
                 ast->name, index, low, low + count - 1);
    }
    return nh_number_value((double)index);
}

/* The value of r[i], which is expanded only once: sums of sums would take the square, or the cube,
 * of their length. */
struct nh_member_let {
    const nh_symbol *symbol; /* NULL: free */
    int64_t index;
    nh_value value;
};

/* The place of r[index] in the table, or the free one where it belongs. */
static struct nh_member_let *find_member(const nh_expander *x, const nh_symbol *symbol,
                                         int64_t index)
{
    const int64_t key[] = {symbol->number, index};
    size_t at = (size_t)nh_hash(NH_HASH_START, key, sizeof key) % x->member_room;
    while (x->member[at].symbol && (x->member[at].symbol != symbol || x->member[at].index != index))
        at = (at + 1) % x->member_room;
    return x->member + at;
}

static void keep_member(nh_expander *x, const nh_symbol *symbol, int64_t index, nh_value value)
{
    if (3 * x->members >= 2 * x->member_room) {
        nh_expander bigger = *x;
        bigger.member_room = 2 * x->member_room + 16;
        bigger.member = calloc(bigger.member_room, sizeof *bigger.member);
        if (!bigger.member)
            return; /* it will be expanded again */
        for (size_t i = 0; i < x->member_room; i++)
            if (x->member[i].symbol)
                *find_member(&bigger, x->member[i].symbol, x->member[i].index) = x->member[i];
        free(x->member);
        x->member = bigger.member;
        x->member_room = bigger.member_room;
    }
    *find_member(x, symbol, index) = (struct nh_member_let){symbol, index, value};
    x->members++;
}

/* The body of a let or a function whose arguments are in their slots. */
static nh_value expand_body(nh_expander *x, const nh_symbol *symbol, const nh_value *argument)
{
    if (!symbol->indexed || !x->graph || !x->families_settled || x->status)
        return nh_expand(x, symbol->body);
    const int64_t index = (int64_t)argument->number;
    if (x->members > 0) {
        const struct nh_member_let *known = find_member(x, symbol, index);
        if (known->symbol)
            return known->value;
    }
    const nh_value value = nh_expand(x, symbol->body);
    if (!x->status)
        keep_member(x, symbol, index, value);
    return value;
}

/* A function: its arguments are expanded in the caller's frame, its body in a new one. */
static nh_value expand_apply(nh_expander *x, const nh_ast *ast)
{
    nh_frame caller = nh_frame_open(x, ast->symbol->slots);
    size_t inner = x->base, i = inner;
    x->base = caller.base;
    for (const nh_ast *a = ast->child; a && !x->status; a = a->next, i++) {
        nh_value value = ast->symbol->indexed ? expand_index(x, ast) : nh_expand(x, a);
        /* expanding an argument may have moved x->slot */
        if (!x->status)
            x->slot[i] = value;
    }
    x->base = inner;
    nh_value value = expand_body(x, ast->symbol, x->slot + inner);
    nh_frame_close(x, caller);
    return value;
}

/* A let is expanded only once, however often it is used. */
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
    nh_value value = nh_expand_number(x, ast);
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

/* Iterations may get shorter, as in sum(i in 1..N: sum(j in i..N: ...)): only loops that are
 * several times beyond the limits are refused at once. */
void nh_expand_repetition_done(nh_expander *x, const nh_ast *from, int64_t first, int64_t count,
                               nh_effort before)
{
    nh_effort now = nh_expand_effort(x);
    double iterations = (double)count;
    if (!x->status && ((now.work - before.work) * iterations > 4.0 * NH_WORK_MOST ||
                       (now.nodes - before.nodes) * iterations > 4.0 * NH_NODES_MOST))
        x->status = too_long(x, from, first, first + count - 1);
}

/* ---- coordinates and velocities ---- */

nh_family nh_expand_target(nh_expander *x, const nh_ast *target)
{
    const nh_symbol *symbol = target->symbol;
    const nh_family *families = symbol->kind == SYMBOL_COORDINATE  ? x->coordinate
                                : symbol->kind == SYMBOL_ROTATION  ? x->rotation
                                : symbol->kind == SYMBOL_PARAMETER ? x->parameters
                                                                   : x->velocity;
    nh_family members = families[symbol->number];
    if (!target->child || !symbol->from)
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
    int64_t at = x->status ? 0 : members.first + offset * members.width;
    return (nh_family){index, 1, at, members.width};
}

static nh_value member(nh_expander *x, nh_input kind, int64_t at)
{
    return (nh_value){.symbolic = true, .expr = nh_variable(x->graph, kind, (uint32_t)at)};
}

/* A family without an index is the vector of its members. */
static nh_value whole_family(nh_expander *x, const nh_ast *ast, nh_family members, nh_input kind)
{
    if (members.count == 0) {
        FAIL(x, ast->place, "the family '%s' is empty; expected a vector", ast->name);
        return zero;
    }
    nh_value *entry = nh_arena_array(x->arena, (size_t)members.count, sizeof *entry);
    for (int64_t i = 0; entry && i < members.count; i++)
        entry[i] = member(x, kind, members.first + i);
    x->work += (double)members.count;
    if (!entry)
        x->status = nh_fail_memory(x->report);
    return (nh_value){.rows = members.count, .entry = entry};
}

static nh_value expand_motion(nh_expander *x, const nh_ast *ast)
{
    if (!x->graph)
        FAIL(x, ast->place, "'%s' is %s; expected numbers and parameters", ast->name,
             ast->kind == AST_TIME ? "the time" : nh_symbol_a(ast->symbol->kind));
    else if (!x->families_settled)
        FAIL(x, ast->place,
             "'%s' is %s; the bounds of a family may contain only numbers and parameters",
             ast->name, ast->kind == AST_TIME ? "the time" : nh_symbol_a(ast->symbol->kind));
    if (x->status)
        return zero;
    if (ast->kind == AST_TIME)
        return (nh_value){.symbolic = true, .expr = nh_variable(x->graph, NH_TIME, 0)};
    nh_family members = nh_expand_target(x, ast);
    nh_input kind = ast->kind == AST_VELOCITY || ast->prime ? NH_V : NH_Q;
    if (x->status)
        return zero;
    return ast->symbol->from && !ast->child ? whole_family(x, ast, members, kind)
                                            : member(x, kind, members.first);
}

static nh_value parameter_value(nh_expander *x, int64_t at)
{
    return x->named ? member(x, NH_P, at) : nh_number_value(x->parameter[at]);
}

static nh_value expand_parameter(nh_expander *x, const nh_ast *ast)
{
    const nh_family members = nh_expand_target(x, ast);
    if (x->status)
        return zero;
    if (!ast->symbol->from || ast->child)
        return parameter_value(x, members.first);
    if (members.count == 0) {
        FAIL(x, ast->place, "the family '%s' is empty; expected a vector", ast->name);
        return zero;
    }
    nh_value *entry = nh_arena_array(x->arena, (size_t)members.count, sizeof *entry);
    for (int64_t i = 0; entry && i < members.count; i++)
        entry[i] = parameter_value(x, members.first + i);
    x->work += (double)members.count;
    if (!entry)
        x->status = nh_fail_memory(x->report);
    return (nh_value){.rows = members.count, .entry = entry};
}

/* ---- the whole ---- */

int nh_want_reaction(nh_expander *x, const char *name, nh_place place)
{
    int index = 0;
    while (index < x->reactions && strcmp(x->reaction[index].name, name) != 0)
        index++;
    if (index < x->reactions || x->status)
        return index;
    struct nh_wanted_reaction *more =
        nh_arena_array(x->arena, (size_t)x->reactions + 1, sizeof *more);
    const char *copy = nh_arena_text(x->arena, name, strlen(name));
    if (!more || !copy) {
        x->status = nh_fail_memory(x->report);
        return 0;
    }
    if (x->reactions)
        memcpy(more, x->reaction, (size_t)x->reactions * sizeof *more);
    more[x->reactions++] = (struct nh_wanted_reaction){copy, place};
    x->reaction = more;
    return index;
}

/* reaction(slip[2]) is an extra argument of the observable. To which constraint it belongs is
 * determined when all constraints are known. */
static nh_value expand_reaction(nh_expander *x, const nh_ast *ast)
{
    char name[NH_NAME_LONGEST + 96];
    const nh_ast *of = ast->child;
    size_t used = (size_t)snprintf(name, sizeof name, "%s", of->name);
    for (const nh_ast *i = of->child; i && used < sizeof name; i = i->next)
        used += (size_t)snprintf(
            name + used, sizeof name - used, "%s%" PRId64 "%s", i == of->child ? "[" : ",",
            nh_expand_integer(x, i, "the index of a constraint"), i->next ? "" : "]");
    const int index = nh_want_reaction(x, name, of->place);
    if (x->status)
        return zero;
    return (nh_value){.symbolic = true, .expr = nh_variable(x->graph, NH_X, (uint32_t)index)};
}

/* As it was written; a name is that of pi or of deg. */
static nh_value literal(nh_expander *x, const nh_ast *ast)
{
    if (!x->labels || nh_labels_lineage(x->labels))
        return nh_number_value(ast->number);
    if (ast->digits)
        return nh_number_value(nh_label_literal(x->labels, ast->digits));
    const double pi = nh_label_pi(x->labels);
    return nh_number_value(strcmp(ast->name, "pi") == 0 ? pi : nh_over(x->labels, pi, 180));
}

static nh_value dispatch(nh_expander *x, const nh_ast *ast)
{
    switch (ast->kind) {
    case AST_NUMBER:
        return literal(x, ast);
    case AST_SUM:
        return nh_expand_sum(x, ast);
    case AST_PRODUCT:
        return nh_expand_product(x, ast);
    case AST_POWER:
        return nh_expand_power(x, ast);
    case AST_LOOP:
        return nh_expand_loop(x, ast);
    case AST_LIST:
        return nh_expand_list(x, ast);
    case AST_SLOT:
        return nh_component(x, ast, x->slot[x->base + (size_t)ast->slot], ast->child);
    case AST_PARAMETER:
        return expand_parameter(x, ast);
    case AST_TIME:
    case AST_COORDINATE:
    case AST_VELOCITY:
        return expand_motion(x, ast);
    case AST_INPUT:
        return nh_expand_input(x, ast);
    case AST_LET:
        return nh_component(x, ast, expand_let(x, ast), ast->child);
    case AST_ROTATION:
        return nh_expand_rotation(x, ast);
    case AST_PART:
        return nh_component(x, ast->child, nh_expand(x, ast->child), ast->child->next);
    case AST_REACTION:
        return expand_reaction(x, ast);
    case AST_BUILTIN:
        return nh_expand_builtin(x, ast);
    case AST_APPLY:
        return expand_apply(x, ast);
    case AST_TABLE:
        return nh_expand_table(x, ast);
    case AST_IF:
        return nh_expand_if(x, ast);
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
                                    "the model expands to more than %d terms", NH_WORK_MOST);
    else if (x->depth >= DEEPEST)
        x->status = nh_too_large_at(x->report, x->source, ast->place,
                                    "functions call one another more than %d levels deep", DEEPEST);
    if (x->status)
        return zero;
    x->depth++;
    nh_value value = dispatch(x, ast);
    if (ast->prime && ast->kind != AST_COORDINATE && !value.empty && !x->status)
        value = nh_time_derivative(x, ast->kind == AST_PART ? ast->child : ast, value);
    x->depth--;
    return x->status ? zero : value;
}

nh_value nh_expand_single(nh_expander *x, const nh_ast *ast)
{
    nh_value value = nh_expand(x, ast);
    bool family =
        (ast->kind == AST_COORDINATE || ast->kind == AST_VELOCITY || ast->kind == AST_PARAMETER) &&
        !ast->child;
    if (!nh_is_single(value) && family)
        FAIL(x, ast->place, "'%s' is a family, %s; expected an index, %s[...]", ast->name,
             nh_value_shape(value).text, ast->name);
    else if (!nh_is_single(value))
        FAIL(x, ast->place, "expected a single value, found %s", nh_value_shape(value).text);
    return x->status ? zero : value;
}

nh_expr nh_fix_parameters(nh_expander *x, nh_expr expr)
{
    nh_partials by;
    if (!x->named || x->status || !nh_depends(x->graph, expr, NH_P))
        return expr;
    if (!nh_expr_gradient(x->graph, expr, NH_P, &by)) {
        x->status = nh_fail_memory(x->report);
        return NH_ZERO;
    }
    size_t count = by.count ? (size_t)by.entry[by.count - 1].index + 1 : 0;
    nh_expr *number = nh_arena_array(x->arena, count, sizeof *number);
    for (size_t i = 0; number && i < count; i++)
        number[i] = nh_number(x->graph, x->parameter[i]);
    for (size_t i = 0; i < by.count; i++)
        x->fixed[by.entry[i].index] = true;
    nh_partials_free(&by);
    return number ? nh_substitute(x->graph, expr, NH_P, number, count) : NH_ZERO;
}

nh_value nh_expand_number(nh_expander *x, const nh_ast *ast)
{
    nh_value value = nh_expand_single(x, ast);
    if (nh_labels_lineage(x->labels) && !value.symbolic)
        nh_lineage_pin(nh_labels_lineage(x->labels), value.number);
    if (!x->named || !value.symbolic || x->status)
        return value;
    return nh_as_value(x, ast, nh_fix_parameters(x, value.expr));
}

nh_expr nh_expand_expr(nh_expander *x, const nh_ast *ast)
{
    nh_value value = nh_expand_single(x, ast);
    nh_expr expr = nh_value_expr(x, value);
    if (x->graph && nh_graph_failed(x->graph) && !x->status)
        x->status = nh_fail_memory(x->report);
    return x->status ? NH_ZERO : expr;
}
