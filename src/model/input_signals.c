/* Inputs: what acts on a system from outside, such as a motor's torque, a steering rate or a moving
 * support.
 *
 *     input u = expression               an expression of time and parameters, its default
 *     input u[1..N] = expression
 *
 * A setting replaces the default ("u=sin(t)"), or leaves the input open ("u:held"): its values are
 * then supplied while a run advances. In the equations a closed input is replaced by its
 * expression, which is differentiated with everything else; an open one is given by numbers NH_U
 * that are constant between two samples:
 *
 *     held      c                                            jumps from sample to sample
 *     linear    c + c1 (t - t0)                              jumps in its rate
 *     spline    c + c1 (t - t0) + c2 (t - t0)^2 + c3 (t - t0)^3
 *
 * An expression may also depend on the state (feedback). In the variational principle behind the
 * equations of motion an input is a function of time only, so feedback must not be differentiated
 * by velocities or positions: such an input is open while the model is built, and afterwards its
 * expression is substituted in the forces. */
#include "model/input_signals.h"

#include "base/decimal.h"
#include "base/status.h"
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/input_table.h"
#include "model/statements.h"
#include "model/suggest.h"
#include "model/vector.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

void nh_read_inputs(nh_parser *p, nh_statement *s)
{
    do {
        if (!nh_expect_name(p, "the name of an input"))
            return;
        nh_symbol *symbol = nh_define_family(p, s, SYMBOL_INPUT);
        if (!symbol || !nh_expect(p, '=', "'=' and the default of the input"))
            return;
        symbol->body = nh_read_expression(p);
    } while (nh_accept(p, ','));
}

/* ---- settings ---- */

/* What a setting says about an input, or about one of its members. */
typedef struct setting {
    nh_source source;
    nh_ast *value;     /* NULL: the default */
    const char *table; /* instead of the value: a file or points */
    nh_signal signal;  /* NH_SIGNAL_FORMULA: closed, if it is not a table */
    bool open;         /* left to the caller, whatever was given before */
    bool whole;        /* about the whole family */
    int64_t index;
    struct setting *next;
} setting;

typedef struct nh_input_use {
    nh_family members; /* `first` counts the members of all inputs */
    setting *set;      /* the latest first */
    nh_value *value;   /* of each member, once it is known */
    bool known, busy;  /* busy: being expanded */
} nh_input_use;

static const char *const signal_name[] = {[NH_SIGNAL_FORMULA] = "formula",
                                          [NH_SIGNAL_HELD] = "held",
                                          [NH_SIGNAL_LINEAR] = "linear",
                                          [NH_SIGNAL_SPLINE] = "spline"};
/* How many numbers a run needs for an open input. */
static const int signal_values[] = {
    [NH_SIGNAL_HELD] = 1, [NH_SIGNAL_LINEAR] = 3, [NH_SIGNAL_SPLINE] = 5};

int nh_signal_values(nh_signal signal)
{
    return signal_values[signal];
}

static nh_status unknown_input(nh_builder *b, const char *name)
{
    nh_suggest suggest = nh_suggest_begin(name);
    char list[256] = "";
    const size_t used =
        nh_symbols_offer(&b->model->symbols, SYMBOL_INPUT, &suggest, list, sizeof list);
    const nh_symbol *other = nh_symbols_find(&b->model->symbols, name);
    if (used == 0)
        return nh_fail(b->report, NH_BAD_ARGUMENT,
                       "'%s' is not an input: the model %s has none; a statement such as "
                       "'input %s = 0' declares one",
                       name, b->model->name, other ? "u" : name);
    return nh_fail(b->report, NH_BAD_ARGUMENT, "'%s' is %s%s\ninputs of the model: %s", name,
                   other ? nh_symbol_a(other->kind) : "not an input", nh_suggest_end(&suggest).text,
                   list);
}

/* NAME or NAME[INDEX] at the beginning of a setting; returns where it ends. */
static const char *read_name(const char *text, char *name, setting *set)
{
    size_t length = 0;
    while (isspace((unsigned char)*text))
        text++;
    while (text[length] && !strchr("=:[ \t", text[length]))
        length++;
    snprintf(name, NH_NAME_LONGEST + 1, "%.*s",
             length > NH_NAME_LONGEST ? NH_NAME_LONGEST : (int)length, text);
    text += length;
    set->whole = *text != '[';
    if (!set->whole) {
        char *end;
        set->index = strtoll(text + 1, &end, 10);
        text = end > text + 1 && *end == ']' ? end + 1 : text;
    }
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* KIND after the colon, or "open KIND"; `text` moves past it. */
static nh_status read_signal(nh_builder *b, const char **text, const char *name, setting *set)
{
    set->open = strncmp(*text, NH_INPUT_OPEN, strlen(NH_INPUT_OPEN)) == 0;
    *text += set->open ? strlen(NH_INPUT_OPEN) : 0;
    const size_t length = strcspn(*text, "= \t");
    for (size_t i = NH_SIGNAL_HELD; i <= NH_SIGNAL_SPLINE; i++)
        if (strlen(signal_name[i]) == length && strncmp(*text, signal_name[i], length) == 0) {
            set->signal = (nh_signal)i;
            *text += length + strspn(*text + length, " \t");
            return NH_OK;
        }
    return nh_fail(b->report, NH_BAD_ARGUMENT,
                   "input %s: unknown interpolation '%.*s'; expected held, linear or spline", name,
                   length > 40 ? 40 : (int)length, *text);
}

static nh_status read_value(nh_builder *b, const char *text, size_t from, const char *name,
                            setting *set)
{
    char label[NH_NAME_LONGEST + 16];
    nh_arena *arena = &b->built->arena;
    snprintf(label, sizeof label, "input %s", name);
    set->source = (nh_source){.text = nh_arena_text(arena, text, strlen(text)),
                              .length = strlen(text),
                              .file = nh_arena_text(arena, label, strlen(label)),
                              .argument = true};
    if (!set->source.text || !set->source.file)
        return nh_fail_memory(b->report);
    nh_status status = nh_source_check(&set->source, b->report);
    if (!status)
        status = nh_parse_expression(&set->value, arena, &set->source, from, b->report);
    if (!status)
        status = nh_resolve_setting(set->value, &set->source, &b->model->symbols, -1, b->report);
    return status;
}

bool nh_is_input_setting(const nh_model *model, const char *text)
{
    char name[NH_NAME_LONGEST + 1];
    setting set;
    if (strncmp(text, NH_INPUT_PREFIX, strlen(NH_INPUT_PREFIX)) == 0)
        return true;
    read_name(text, name, &set);
    const nh_symbol *symbol = nh_symbols_find(&model->symbols, name);
    return symbol && symbol->kind == SYMBOL_INPUT;
}

/* "u=EXPRESSION", "u=FILE.csv", "u:held", "u:held=EXPRESSION", with or without "input " before. */
nh_status nh_set_input(nh_builder *b, const char *text)
{
    char name[NH_NAME_LONGEST + 1];
    if (strncmp(text, NH_INPUT_PREFIX, strlen(NH_INPUT_PREFIX)) == 0)
        text += strlen(NH_INPUT_PREFIX);
    setting *set = nh_build_take(b, 1, sizeof *set);
    if (!set)
        return NH_NO_MEMORY;
    const char *rest = read_name(text, name, set);
    const nh_symbol *symbol = nh_symbols_find(&b->model->symbols, name);
    if (!symbol || symbol->kind != SYMBOL_INPUT)
        return unknown_input(b, name);
    if (!set->whole && !symbol->from)
        return nh_fail(b->report, NH_BAD_ARGUMENT, "'%s' is not a family; expected no index", name);
    nh_input_use *use = &b->x.input[symbol->number];
    set->next = use->set;
    use->set = set;
    nh_status status = NH_OK;
    const char *source = text;
    if (*rest == ':') {
        rest++;
        status = read_signal(b, &rest, name, set);
        const bool table = *rest == '=' && nh_is_input_table(rest + 1);
        if (status == NH_OK && set->signal != NH_SIGNAL_HELD && !table && !set->open)
            status = nh_fail(b->report, NH_BAD_ARGUMENT,
                             "input %s: '%s' interpolates a table; expected %s:%s=FILE.csv", name,
                             signal_name[set->signal], name, signal_name[set->signal]);
        if (status != NH_OK || !*rest)
            return status;
    }
    if (*rest != '=')
        return nh_fail(b->report, NH_BAD_ARGUMENT, "input '%.100s': expected NAME=EXPRESSION",
                       source);
    if (!nh_is_input_table(rest + 1))
        return read_value(b, text, (size_t)(rest + 1 - text), name, set);
    set->table = nh_build_copy(b, rest + 1);
    return b->x.status;
}

nh_status nh_set_input_period(nh_builder *b, const char *text)
{
    char *end;
    b->problem->input_period = nh_decimal(text, &end);
    if (end == text || *end || !(b->problem->input_period > 0) || isinf(b->problem->input_period))
        return nh_fail(b->report, NH_BAD_ARGUMENT,
                       "the period of inputs must be a positive number, not '%.40s'", text);
    return NH_OK;
}

/* ---- families ---- */

void nh_open_inputs(nh_builder *b)
{
    b->x.input = nh_build_take(b, b->model->symbols.count[SYMBOL_INPUT], sizeof *b->x.input);
}

void nh_size_inputs(nh_builder *b)
{
    int64_t total = 0;
    for (const nh_symbol *s = b->model->symbols.first; s && !b->x.status; s = s->next) {
        if (s->kind != SYMBOL_INPUT)
            continue;
        nh_input_use *use = &b->x.input[s->number];
        use->members = (nh_family){.low = 1, .count = 1, .first = total, .width = 1};
        if (s->from) {
            nh_frame outer = nh_frame_open(&b->x, NH_NESTING_DEEPEST);
            use->members.count = nh_expand_range(&b->x, s->from, s->to, 0, &use->members.low);
            nh_frame_close(&b->x, outer);
        }
        total += use->members.count;
        if (total > NH_INPUTS_MOST && !b->x.status)
            b->x.status = nh_too_large_at(b->report, &b->model->source, s->place,
                                          "%" PRId64 " inputs, counted up to here; the most is %d",
                                          total, NH_INPUTS_MOST);
        for (const setting *set = use->set; set && !b->x.status; set = set->next)
            if (!set->whole && (set->index < use->members.low ||
                                set->index >= use->members.low + use->members.count))
                b->x.status = nh_fail(
                    b->report, NH_BAD_ARGUMENT,
                    "'%s[%" PRId64 "]' does not exist: the index runs from %" PRId64 " to %" PRId64,
                    s->name, set->index, use->members.low,
                    use->members.low + use->members.count - 1);
    }
    b->problem->input = nh_build_take(b, b->x.status ? 0 : total, sizeof *b->problem->input);
    b->problem->inputs = b->x.status ? 0 : (int)total;
}

/* ---- values ---- */

/* The settings that apply to one member: the latest ones, and those of a member before those of its
 * family. */
typedef struct decision {
    const setting *value;
    nh_signal signal;
} decision;

static decision decide(const nh_input_use *use, int64_t index)
{
    decision d = {NULL, NH_SIGNAL_FORMULA};
    for (int whole = 1; whole >= 0; whole--) {
        const setting *value = NULL, *signal = NULL;
        for (const setting *s = use->set; s; s = s->next) {
            if (s->whole != whole || (!whole && s->index != index))
                continue;
            if (s->open && !value) {
                d = (decision){NULL, s->signal};
                break;
            }
            if ((s->value || s->table) && !value)
                value = s;
            if (s->signal && !signal)
                signal = s;
        }
        d.value = value ? value : d.value;
        d.signal = signal ? signal->signal : d.signal;
    }
    if (d.value && d.value->table && d.signal == NH_SIGNAL_FORMULA)
        d.signal = NH_SIGNAL_LINEAR;
    return d;
}

/* The expression that defines a member: that of its setting, otherwise that of the model. */
static nh_value given_value(nh_expander *x, const nh_symbol *symbol, decision d, int64_t i,
                            int64_t count)
{
    const nh_source *source = x->source;
    const bool set = d.value && d.value->value;
    const nh_ast *ast = set ? d.value->value : symbol->body;
    nh_frame outer = nh_frame_open(x, set ? NH_NESTING_DEEPEST : symbol->slots);
    if (set)
        x->source = &d.value->source;
    nh_value value = nh_expand(x, ast);
    bool whole = symbol->from && (!set || d.value->whole);
    if (!x->status)
        value = nh_member_value(x, ast, value, whole, i, count);
    nh_expr expr = nh_value_expr(x, value);
    bool moves =
        !x->status && (nh_depends(x->graph, expr, NH_Q) || nh_depends(x->graph, expr, NH_V));
    if (moves && !set)
        x->status = nh_fail_at(x->report, x->source, ast->place,
                               "the default of an input may contain only time and parameters; give "
                               "feedback when the model is run (input %s=EXPRESSION)",
                               symbol->name);
    x->source = source;
    nh_frame_close(x, outer);
    return value;
}

/* c + s (c1 + s (c2 + s c3)), s = t - t0 */
static nh_expr polynomial(nh_graph *g, nh_signal signal, uint32_t first)
{
    const int values = signal_values[signal], powers = values == 1 ? 0 : values - 2;
    nh_expr origin = nh_variable(g, NH_U, first + (uint32_t)values - 1);
    nh_expr since = nh_subtract(g, nh_variable(g, NH_TIME, 0), origin);
    nh_expr sum = nh_variable(g, NH_U, first + (uint32_t)powers);
    for (int p = powers - 1; p >= 0; p--) {
        sum = nh_multiply(g, since, sum);
        sum = nh_add(g, nh_variable(g, NH_U, first + (uint32_t)p), sum);
    }
    return sum;
}

static nh_value expand_member(nh_expander *x, const nh_symbol *symbol, nh_problem_input *to,
                              int64_t i)
{
    const nh_input_use *use = &x->input[symbol->number];
    decision d = decide(use, use->members.low + i);
    const bool opened = d.signal != NH_SIGNAL_FORMULA && !d.value; /* left to the caller */
    if (d.signal == NH_SIGNAL_FORMULA && x->input_period > 0)
        d.signal = NH_SIGNAL_HELD;
    nh_value value = given_value(x, symbol, d, i, use->members.count);
    if (x->status)
        return value;
    *to = (nh_problem_input){.declared = symbol->name,
                             .given = nh_value_expr(x, value),
                             .signal = d.signal,
                             .first = -1,
                             .place = symbol->place};
    to->sampled = d.signal == NH_SIGNAL_HELD && !opened && !(d.value && d.value->table);
    if (d.value && d.value->table)
        x->status =
            nh_input_table_read(&to->table, d.value->table, symbol->name, d.signal, x->report);
    bool moves = nh_depends(x->graph, to->given, NH_Q) || nh_depends(x->graph, to->given, NH_V);
    to->feedback = moves && d.signal == NH_SIGNAL_FORMULA;
    if (d.signal == NH_SIGNAL_FORMULA && !moves) {
        to->value = to->given;
        return value;
    }
    to->first = x->open_values;
    x->open_values += to->feedback ? 1 : signal_values[d.signal];
    to->value = polynomial(x->graph, to->feedback ? NH_SIGNAL_HELD : d.signal, (uint32_t)to->first);
    return (nh_value){.symbolic = true, .expr = to->value};
}

/* Expands all members by their defining expressions. */
static void expand_given(nh_expander *x, const nh_symbol *symbol)
{
    nh_input_use *use = &x->input[symbol->number];
    nh_value *value = nh_arena_array(x->arena, (size_t)use->members.count, sizeof *value);
    if (!value)
        x->status = nh_fail_memory(x->report);
    use->busy = true;
    for (int64_t i = 0; i < use->members.count && !x->status; i++)
        value[i] = given_value(x, symbol, decide(use, use->members.low + i), i, use->members.count);
    use->value = value;
    use->known = true;
    use->busy = false;
}

/* In another graph their values are other expressions. */
void nh_forget_inputs(nh_expander *x, int inputs)
{
    for (int i = 0; i < inputs; i++)
        x->input[i].known = false;
}

nh_value nh_expand_input(nh_expander *x, const nh_ast *ast)
{
    const nh_symbol *symbol = ast->symbol;
    const nh_value zero = {0};
    if (!x->families_settled || !x->graph) {
        x->status = nh_fail_at(x->report, x->source, ast->place,
                               "'%s' is an input; expected numbers and parameters", ast->name);
        return zero;
    }
    nh_input_use *use = &x->input[symbol->number];
    if (use->busy) {
        x->status = nh_fail_at(x->report, x->source, ast->place,
                               "the input '%s' is defined in terms of itself", ast->name);
        return zero;
    }
    if (!use->known && x->inputs_as_given)
        expand_given(x, symbol);
    if (!use->known) {
        use->busy = true;
        nh_value *value = nh_arena_array(x->arena, (size_t)use->members.count, sizeof *value);
        if (!value)
            x->status = nh_fail_memory(x->report);
        for (int64_t i = 0; i < use->members.count && !x->status; i++)
            value[i] = expand_member(x, symbol, x->problem_input + use->members.first + i, i);
        use->value = value;
        use->known = true;
        use->busy = false;
    }
    if (x->status)
        return zero;
    if (symbol->from && !ast->child)
        return nh_vector(x, use->members.count, 0, use->value);
    int64_t at = ast->child ? nh_expand_integer(x, ast->child, "the index") - use->members.low : 0;
    if (!x->status && (at < 0 || at >= use->members.count))
        x->status = nh_fail_at(x->report, x->source, ast->child->place,
                               "'%s[%" PRId64 "]' does not exist: the index runs from %" PRId64
                               " to %" PRId64,
                               ast->name, at + use->members.low, use->members.low,
                               use->members.low + use->members.count - 1);
    return x->status ? zero : use->value[at];
}

/* Whether an expression depends on one of the numbers of an input. */
static bool reads(nh_expander *x, nh_expr e, const nh_problem_input *input)
{
    nh_partials by_u;
    bool found = false;
    if (!nh_expr_gradient(x->graph, e, NH_U, &by_u)) {
        x->status = nh_fail_memory(x->report);
        return false;
    }
    const int values = input->feedback ? 1 : signal_values[input->signal];
    for (size_t i = 0; i < by_u.count; i++)
        found |= (int)by_u.entry[i].index >= input->first &&
                 (int)by_u.entry[i].index < input->first + values;
    nh_partials_free(&by_u);
    return found;
}

bool nh_inputs_have_rates(nh_expander *x, const nh_ast *of, nh_expr e)
{
    for (int i = 0; nh_depends(x->graph, e, NH_U) && i < x->inputs && !x->status; i++) {
        const nh_problem_input *input = x->problem_input + i;
        const bool jumps =
            input->first >= 0 && (input->feedback || input->signal == NH_SIGNAL_HELD);
        if (jumps && reads(x, e, input))
            x->status = nh_fail_at(
                x->report, x->source, of->place,
                input->feedback
                    ? "input '%s' in this derivative depends on the state; expected an expression "
                      "of t, as in --input %s=EXPRESSION"
                    : "input '%s' in this derivative is held, so it jumps from sample to sample "
                      "and has no rate; give it as an expression of t or as an interpolated table, "
                      "as in --input %s=FILE.csv",
                input->declared, input->declared);
    }
    return !x->status;
}

/* Every input is a column of the output. It is expanded where it is declared, so that errors come
 * in the order of the file. */
void nh_build_input(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        const nh_symbol *symbol = item->symbol;
        nh_ast use = {
            .kind = AST_INPUT, .symbol = item->symbol, .place = item->place, .name = symbol->name};
        nh_expand(&b->x, &use);
        const nh_family members = b->x.input[symbol->number].members;
        for (int64_t i = 0; i < members.count && !b->x.status; i++) {
            nh_problem_input *input = b->problem->input + members.first + i;
            input->name = nh_member_name(b, symbol, members.low + i, "");
            if (!b->x.status)
                nh_add_observable(b, input->name, input->value);
        }
    }
}

/* ---- afterwards ---- */

/* The state in an input's expression is not subject to variation, so it may occur in forces
 * only. */
static void check_feedback(nh_builder *b, const nh_problem_input *input)
{
    const nh_problem *p = b->problem;
    const char *where = NULL;
    if (reads(&b->x, p->lagrangian, input))
        where = "the Lagrangian";
    for (int i = 0; i < p->constraints && !where; i++)
        if (reads(&b->x, p->constraint[i].value, input) ||
            (p->constraint[i].on_positions && reads(&b->x, p->constraint[i].position, input)))
            where = p->constraint[i].name;
    if (where && !b->x.status)
        b->x.status = nh_fail(
            b->report, NH_BAD_ARGUMENT,
            "the expression for input '%s' depends on the state, but the input occurs in %s, not "
            "only in forces; this is possible only if it is sampled with a period and held",
            input->name, where);
}

/* An input that jumps has no rate, so momenta and conditions on positions must not need it. */
static void check_held(nh_builder *b, const nh_problem_input *input)
{
    const nh_problem *p = b->problem;
    const char *where = NULL;
    nh_partials momenta;
    if (!nh_expr_gradient(p->graph, p->lagrangian, NH_V, &momenta)) {
        nh_build_memory(b);
        return;
    }
    for (size_t i = 0; i < momenta.count && !where; i++)
        if (reads(&b->x, momenta.entry[i].value, input))
            where = "in the Lagrangian together with velocities";
    nh_partials_free(&momenta);
    for (int i = 0; i < p->constraints && !where; i++)
        if (p->constraint[i].on_positions && reads(&b->x, p->constraint[i].position, input))
            where = "in a condition on positions";
    if (where && !b->x.status)
        b->x.status = nh_fail(
            b->report, NH_BAD_ARGUMENT,
            "input '%s' is held, so it jumps from sample to sample, but it occurs %s, where its "
            "rate matters; give it as an expression of t or as an interpolated table",
            input->name, where);
}

/* Substitutes the expressions of feedback for its inputs. */
static nh_expr fed_back(nh_builder *b, nh_expr e, const nh_expr *value)
{
    return nh_substitute(b->problem->graph, e, NH_U, value, (size_t)b->x.open_values);
}

static void substitute_feedback(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_expr *value = nh_build_take(b, b->x.open_values, sizeof *value);
    for (int i = 0; i < b->x.open_values && !b->x.status; i++)
        value[i] = nh_variable(p->graph, NH_U, (uint32_t)i);
    for (int i = 0; i < p->inputs && !b->x.status; i++)
        if (p->input[i].feedback)
            value[p->input[i].first] = p->input[i].given;
    for (int i = 0; i < p->velocities && !b->x.status; i++)
        p->force[i] = fed_back(b, p->force[i], value);
    for (int i = 0; i < p->observables && !b->x.status; i++)
        p->observable[i].value = fed_back(b, p->observable[i].value, value);
    for (int i = 0; i < p->inputs && !b->x.status; i++)
        p->input[i].value = fed_back(b, p->input[i].value, value);
}

/* Renumbers the NH_U, so that only open inputs have numbers; those of feedback were among them. */
static void renumber(nh_builder *b)
{
    nh_problem *p = b->problem;
    double *start = nh_build_take(b, b->x.open_values, sizeof *start);
    for (int i = 0; i < p->inputs && !b->x.status; i++)
        if (p->input[i].first >= 0 && !p->input[i].feedback)
            nh_evaluate(p->graph, &p->input[i].given, 1, 0, NULL, NULL, NULL,
                        start + p->input[i].first);
    for (int i = 0; i < b->x.open_values && !b->x.status; i++)
        start[i] = start[i] == start[i] ? start[i] : 0; /* NaN for sampled feedback */
    if (!b->x.status)
        nh_graph_set_inputs(p->graph, start, (uint32_t)b->x.open_values);
    p->open_values = b->x.open_values;
}

void nh_finish_inputs(nh_builder *b)
{
    nh_problem *p = b->problem;
    if (b->x.status || b->x.open_values == 0)
        return;
    bool feedback = false;
    for (int i = 0; i < p->inputs && !b->x.status; i++) {
        feedback |= p->input[i].feedback;
        if (p->input[i].feedback)
            check_feedback(b, p->input + i);
        else if (p->input[i].signal == NH_SIGNAL_HELD)
            check_held(b, p->input + i);
    }
    if (feedback)
        substitute_feedback(b);
    renumber(b);
}
