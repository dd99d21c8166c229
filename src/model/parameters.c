/* The parameters of a problem: their values, from settings or from the model, and for a build in
 * which they keep their names, how each follows from those before it. */
#include "model/build.h"

#include "base/status.h"
#include "model/arithmetic.h"
#include "model/input_signals.h"
#include "model/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct setting {
    nh_source source;
    nh_ast *value; /* NULL: not set */
} setting;

static nh_status unknown_parameter(nh_builder *b, const char *name)
{
    nh_suggest suggest = nh_suggest_begin(name);
    char list[256] = "";
    const size_t used =
        nh_symbols_offer(&b->model->symbols, SYMBOL_PARAMETER, &suggest, list, sizeof list);
    const char *other = nh_symbols_find(&b->model->symbols, name) ? " is not a parameter" : "";
    if (used == 0)
        return nh_fail(b->report, NH_BAD_ARGUMENT, "'%s'%s: the model %s has no parameters", name,
                       other[0] ? other : " cannot be set", b->model->name);
    return nh_fail(b->report, NH_BAD_ARGUMENT, "%s'%s'%s%s\n%s %s",
                   other[0] ? "" : "unknown parameter ", name, other, nh_suggest_end(&suggest).text,
                   used < sizeof list ? "parameters of the model:"
                                      : "the model's text lists its parameters",
                   used < sizeof list ? list : "");
}

/* "NAME=EXPRESSION": finds the parameter and reads the expression. */
static nh_status read_setting(nh_builder *b, nh_arena *arena, const char *text, setting *table)
{
    const char *equals = strchr(text, '='), *from = text, *to = equals;
    if (!equals)
        return nh_fail(b->report, NH_BAD_ARGUMENT, "setting '%.100s': expected NAME=VALUE", text);
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    char name[NH_NAME_LONGEST + 1], label[NH_NAME_LONGEST + 16];
    snprintf(name, sizeof name, "%.*s",
             to - from > NH_NAME_LONGEST ? NH_NAME_LONGEST : (int)(to - from), from);
    snprintf(label, sizeof label, "setting of %s", name);
    const nh_symbol *symbol = nh_symbols_find(&b->model->symbols, name);
    if (!symbol || symbol->kind != SYMBOL_PARAMETER)
        return unknown_parameter(b, name);

    setting *entry = &table[symbol->number];
    *entry = (setting){.source = {.text = nh_arena_text(arena, text, strlen(text)),
                                  .length = strlen(text),
                                  .file = nh_arena_text(arena, label, strlen(label)),
                                  .argument = true}};
    if (!entry->source.text || !entry->source.file)
        return nh_fail_memory(b->report);
    nh_status status = nh_source_check(&entry->source, b->report);
    if (!status)
        status = nh_parse_expression(&entry->value, arena, &entry->source,
                                     (size_t)(equals + 1 - text), b->report);
    if (!status)
        status = nh_resolve_setting(entry->value, &entry->source, &b->model->symbols,
                                    symbol->number, b->report);
    return status;
}

/* The value of one parameter, from its setting or from the model; earlier parameters have their
 * values already. */
static nh_value expand(nh_builder *b, const nh_symbol *symbol, const setting *set)
{
    nh_frame outer = nh_frame_open(&b->x, set->value ? NH_NESTING_DEEPEST : symbol->slots);
    if (set->value)
        b->x.source = &set->source;
    nh_value value = nh_expand_single(&b->x, set->value ? set->value : symbol->body);
    b->x.source = &b->model->source;
    nh_frame_close(&b->x, outer);
    return value;
}

static void set_parameter(nh_builder *b, const nh_symbol *symbol, const setting *set)
{
    const nh_value value = expand(b, symbol, set);
    b->built->parameter[symbol->number] = value.number;
    b->problem->parameter[symbol->number] =
        (nh_named_value){nh_build_copy(b, symbol->name), value.number};
}

/* Reads the settings, those of parameters into table[parameters]. Inputs are set (`inputs`), or
 * left alone. */
static setting *read_settings(nh_builder *b, nh_arena *arena, const char *const *settings,
                              size_t count, bool inputs)
{
    setting *table = nh_arena_array(arena, (size_t)b->problem->parameters, sizeof(setting));
    if (!table)
        nh_build_memory(b);
    for (size_t i = 0; i < count && !b->x.status; i++) {
        const bool period = strncmp(settings[i], NH_INPUT_PERIOD, strlen(NH_INPUT_PERIOD)) == 0;
        if (nh_is_asked_setting(settings[i]))
            continue;
        if (!period && !nh_is_input_setting(b->model, settings[i]))
            b->x.status = read_setting(b, arena, settings[i], table);
        else if (inputs)
            b->x.status = period ? nh_set_input_period(b, settings[i] + strlen(NH_INPUT_PERIOD))
                                 : nh_set_input(b, settings[i]);
    }
    return table;
}

void nh_set_parameters(nh_builder *b, const char *const *settings, size_t count)
{
    nh_problem *p = b->problem;
    p->parameters = b->model->symbols.count[SYMBOL_PARAMETER];
    p->parameter = nh_build_take(b, p->parameters, sizeof(nh_named_value));
    b->built->parameter = nh_build_take(b, p->parameters, sizeof(double));
    b->x.parameter = b->built->parameter;

    nh_arena arena = {0};
    const setting *table = read_settings(b, &arena, settings, count, true);
    for (const nh_symbol *s = b->model->symbols.first; s && !b->x.status; s = s->next)
        if (s->kind == SYMBOL_PARAMETER)
            set_parameter(b, s, &table[s->number]);
    nh_arena_free(&arena);
    p->setting = nh_build_take(b, (int64_t)count, sizeof *p->setting);
    for (size_t i = 0; i < count && !b->x.status; i++)
        p->setting[p->settings++] = nh_build_copy(b, settings[i]);
}

void nh_name_parameters(nh_builder *b)
{
    b->x.fixed = b->problem->fixed = nh_build_take(b, b->problem->parameters, sizeof(bool));
    b->x.named = !b->x.status;
    nh_graph_set_parameters(b->problem->graph, b->built->parameter);
}

void nh_define_parameters(nh_builder *b, const char *const *settings, size_t count)
{
    nh_arena arena = {0};
    const setting *table = read_settings(b, &arena, settings, count, false);
    b->problem->definition = nh_build_take(b, b->problem->parameters, sizeof(nh_expr));
    for (const nh_symbol *s = b->model->symbols.first; s && !b->x.status; s = s->next)
        if (s->kind == SYMBOL_PARAMETER) {
            const nh_value value = expand(b, s, &table[s->number]);
            b->problem->definition[s->number] = nh_value_expr(&b->x, value);
        }
    nh_arena_free(&arena);
}
