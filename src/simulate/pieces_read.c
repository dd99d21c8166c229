/* The goal of an optimum as users write it: the cost, and conditions at the end and along the way.
 * Its expressions are asked for as observables of the system that is built for it. */
#include "base/status.h"
#include "simulate/pieces.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '\'';
}

/* Where a word stands outside of names, from `from` on. */
static const char *find_word(const char *text, const char *from, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(from, word); at; at = strstr(at + 1, word))
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]) && at[length] != '[')
            return at;
    return NULL;
}

static bool has_symbol(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_parameters(system); i++)
        if (strcmp(nh_system_parameter_name(system, i), name) == 0)
            return true;
    for (int i = 0; i < nh_system_coordinates(system); i++)
        if (strcmp(nh_system_coordinate_name(system, i), name) == 0)
            return true;
    for (int i = 0; i < nh_system_observables(system); i++)
        if (strcmp(nh_system_observable_name(system, i), name) == 0)
            return true;
    return false;
}

/* Adds a piece of text in which `time` is the time since the start. */
static void add_expression(const nh_pieces *p, const char *from, size_t length, nh_text *text)
{
    nh_text own = {0};
    nh_text_add_bytes(&own, from, length);
    const char *at = own.data;
    if (!own.failed && !has_symbol(p->base, "time"))
        for (const char *word; (word = find_word(own.data, at, "time")); at = word + 4) {
            nh_text_add_bytes(text, at, (size_t)(word - at));
            nh_text_add(text, "(t - (%.17g))", p->start);
        }
    nh_text_add_plain(text, at ? at : "");
    text->failed |= own.failed;
    nh_text_free(&own);
}

static nh_text *ask(nh_asked *a, const char *name, size_t length)
{
    nh_text *item = realloc(a->item, (size_t)(a->count + 1) * sizeof *item);
    if (!item)
        return NULL;
    a->item = item;
    item += a->count++;
    *item = (nh_text){0};
    nh_text_add(item, "observe\n%.*s\n", (int)length, name);
    return item;
}

/* ---- conditions ---- */

static const char *trim(const char *from, const char **to)
{
    while (from < *to && isspace((unsigned char)*from))
        from++;
    while (*to > from && isspace((unsigned char)(*to)[-1]))
        --*to;
    return from;
}

/* Where a comparison stands: "=", "<=", ">=". */
static const char *find_relation(const char *from, const char *to, size_t *length)
{
    int depth = 0;
    for (const char *c = from; c < to; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth == 0 && (*c == '=' || *c == '<' || *c == '>')) {
            *length = *c != '=' && c + 1 < to && c[1] == '=' ? 2 : 1;
            return c;
        }
    }
    return NULL;
}

static nh_status add_condition(nh_pieces *p, nh_asked *a, const char *from, const char *to,
                               bool along, nh_report *report)
{
    const char *option = along ? "along" : "end";
    from = trim(from, &to);
    size_t length = 0;
    const char *relation = find_relation(from, to, &length);
    if (!relation || relation == from || relation + length == to || (along && *relation == '='))
        return nh_fail(report, NH_BAD_ARGUMENT, "--%s: expected %s, not '%.*s'", option,
                       along ? "EXPRESSION <= EXPRESSION or >="
                             : "EXPRESSION = EXPRESSION, <= or >=",
                       (int)(to - from), from);
    nh_piece_condition *grown =
        realloc(p->condition, (size_t)(p->conditions + 1) * sizeof *p->condition);
    if (!grown)
        return nh_fail_memory(report);
    p->condition = grown;
    nh_piece_condition *c = grown + p->conditions++;
    *c = (nh_piece_condition){.along = along,
                              .least = *relation == '<' ? -INFINITY : 0,
                              .most = *relation == '>' ? INFINITY : 0,
                              .observable = a->count};
    nh_text name = {0};
    nh_text_add(&name, "--%s %.*s", option, (int)(to - from), from);
    c->name = name.data;
    nh_text *text = name.failed ? NULL : ask(a, name.data, name.length);
    if (!text)
        return nh_fail_memory(report);
    add_expression(p, from, (size_t)(relation - from), text);
    nh_text_add_plain(text, " - (");
    add_expression(p, relation + length, (size_t)(to - relation) - length, text);
    nh_text_add_plain(text, ")");
    return NH_OK;
}

static nh_status read_conditions(nh_pieces *p, nh_asked *a, const char *text, bool along,
                                 nh_report *report)
{
    nh_status status = NH_OK;
    int depth = 0;
    const char *from = text;
    for (const char *c = text; c && status == NH_OK; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (*c && (*c != ',' || depth > 0))
            continue;
        status = add_condition(p, a, from, c, along, report);
        from = c + 1;
        if (!*c)
            break;
    }
    return status;
}

/* ---- the cost ---- */

/* "END + FACTOR*integral EXPRESSION": where the sum is divided, and the factor. */
static nh_status read_integral(nh_pieces *p, nh_asked *a, const char *text, const char *word,
                               nh_report *report)
{
    const char *end = word, *factor = word;
    int depth = 0;
    for (const char *c = text; c < word; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth == 0 && (*c == '+' || *c == '-') && c > text && !strchr("eE*/^", c[-1]))
            factor = c;
    }
    if (factor == word)
        factor = text;
    text = trim(text, &factor);
    const char *of = word;
    const char *by = trim(factor, &of);
    by += *by == '+';
    const bool bare = of == by || (of == by + 1 && *by == '-');
    if (of > by && of[-1] == '*')
        of--;
    else if (!bare)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "--minimise: expected a sum of expressions at the end and 'integral "
                       "EXPRESSION', or a factor with '*' before 'integral', not '%.*s'",
                       (int)(end - by), by);
    nh_text *item = ask(a, "--minimise", 10);
    if (!item)
        return nh_fail_memory(report);
    p->integrand = a->count - 1;
    if (bare)
        nh_text_add(item, "(%s1)*(", *by == '-' ? "-" : "");
    else {
        nh_text_add_plain(item, "(");
        add_expression(p, by, (size_t)(of - by), item);
        nh_text_add_plain(item, ")*(");
    }
    add_expression(p, word + 8, strlen(word + 8), item);
    nh_text_add_plain(item, ")");
    if (factor > text) {
        nh_text *last = ask(a, "--minimise", 10);
        if (!last)
            return nh_fail_memory(report);
        p->last_cost = a->count - 1;
        add_expression(p, text, (size_t)(factor - text), last);
    }
    return NH_OK;
}

static nh_status read_cost(nh_pieces *p, nh_asked *a, const nh_optimise_options *o,
                           nh_report *report)
{
    p->integrand = p->last_cost = -1;
    if (!o->minimise) {
        nh_text *item = ask(a, "--minimise", 10);
        p->integrand = a->count - 1;
        for (int i = 0; item && i < o->controls; i++)
            nh_text_add(item, "%s(%s)^2", i ? " + " : "", o->control[i].name);
        if (item && o->controls == 0)
            nh_text_add_plain(item, "0");
        return item ? NH_OK : nh_fail_memory(report);
    }
    const char *word = find_word(o->minimise, o->minimise, "integral");
    if (word)
        return read_integral(p, a, o->minimise, word, report);
    nh_text *item = ask(a, "--minimise", 10);
    if (!item)
        return nh_fail_memory(report);
    p->last_cost = a->count - 1;
    add_expression(p, o->minimise, strlen(o->minimise), item);
    return NH_OK;
}

nh_status nh_pieces_read(nh_pieces *p, const nh_optimise_options *o, nh_asked *a, nh_report *report)
{
    nh_status status = read_cost(p, a, o, report);
    if (status == NH_OK && o->end && *o->end)
        status = read_conditions(p, a, o->end, false, report);
    if (status == NH_OK && o->along && *o->along)
        status = read_conditions(p, a, o->along, true, report);
    return status;
}
