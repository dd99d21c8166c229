/* The parameters of a problem: their values, from settings or from the model, and for a build in
 * which they keep their names, how each follows from those before it. */
#include "model/build.h"

#include "base/status.h"
#include "model/arithmetic.h"
#include "model/input_signals.h"
#include "model/lineage.h"
#include "model/suggest.h"
#include "model/vector.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct setting {
    nh_source source;
    nh_ast *value; /* NULL: not set */
    bool one;      /* of one member of a family: */
    long long index;
    struct setting *next; /* of the same symbol; those of members */
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

/* "m[3]" is the member 3 of "m". */
static bool read_member(const char *name, char *bare, long long *index)
{
    int used = 0;
    const char *bracket = strchr(name, '[');
    const size_t length = bracket ? (size_t)(bracket - name) : strlen(name);
    memcpy(bare, name, length);
    bare[length] = '\0';
    if (bracket && sscanf(bracket, "[%lld]%n", index, &used) == 1 && bracket[used] == '\0')
        return true;
    strcpy(bare, name);
    return false;
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
    char name[NH_NAME_LONGEST + 32], label[sizeof name + 16], bare[sizeof name];
    snprintf(name, sizeof name, "%.*s",
             to - from > NH_NAME_LONGEST ? NH_NAME_LONGEST : (int)(to - from), from);
    snprintf(label, sizeof label, "setting of %s", name);
    long long index = 0;
    const bool one = read_member(name, bare, &index);
    const nh_symbol *symbol = nh_symbols_find(&b->model->symbols, bare);
    if (!symbol || symbol->kind != SYMBOL_PARAMETER || (one && !symbol->from))
        return unknown_parameter(b, name);

    setting *entry = &table[symbol->number];
    if (one) {
        setting *first = nh_arena_array(arena, 1, sizeof *first);
        if (!first)
            return nh_fail_memory(b->report);
        first->next = entry->next;
        entry = entry->next = first;
    }
    *entry = (setting){.one = one,
                       .index = index,
                       .next = entry->next,
                       .source = {.text = nh_arena_text(arena, text, strlen(text)),
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

/* The value of one member, from its setting, that of the family or the model; earlier parameters
 * have their values already. */
static nh_value expand(nh_builder *b, const nh_symbol *symbol, const setting *set, int64_t i)
{
    const nh_family *family = b->x.parameters + symbol->number;
    for (const setting *own = set->next; own; own = own->next)
        if (own->index == family->low + i) {
            set = own;
            break;
        }
    const nh_ast *from = set->value ? set->value : symbol->body;
    nh_frame outer = nh_frame_open(&b->x, set->value ? NH_NESTING_DEEPEST : symbol->slots);
    if (set->value)
        b->x.source = &set->source;
    nh_value value =
        !set->value && symbol->from
            ? nh_member_value(&b->x, from, nh_expand(&b->x, from), true, i, family->count)
            : nh_expand_single(&b->x, from);
    b->x.source = &b->model->source;
    nh_frame_close(&b->x, outer);
    return value;
}

/* How many members it has, and the place of the first. */
static void size_family(nh_builder *b, const nh_symbol *symbol, const setting *set)
{
    nh_family *family = b->x.parameters + symbol->number;
    *family = (nh_family){.low = 1, .count = 1, .first = b->problem->parameters, .width = 1};
    if (symbol->from) {
        nh_frame outer = nh_frame_open(&b->x, NH_NESTING_DEEPEST);
        family->count = nh_expand_range(&b->x, symbol->from, symbol->to, 0, &family->low);
        nh_frame_close(&b->x, outer);
    }
    if (family->first + family->count > NH_COORDINATES_MOST && !b->x.status)
        b->x.status = nh_too_large_at(b->report, &b->model->source, symbol->place,
                                      "%" PRId64 " parameters, counted up to here; the most is %d",
                                      family->first + family->count, NH_COORDINATES_MOST);
    for (const setting *own = set->next; own && !b->x.status; own = own->next)
        if (own->index < family->low || own->index >= family->low + family->count)
            b->x.status =
                nh_fail(b->report, NH_BAD_ARGUMENT,
                        "'%s[%lld]' does not exist: the index runs from %" PRId64 " to %" PRId64,
                        symbol->name, own->index, family->low, family->low + family->count - 1);
}

/* Room for more parameters, which are not many: models have few families. */
static void make_room(nh_builder *b, int64_t count)
{
    nh_problem *p = b->problem;
    nh_named_value *named = nh_build_take(b, count, sizeof *named);
    double *value = nh_build_take(b, count, sizeof *value);
    if (b->x.status)
        return;
    memcpy(named, p->parameter, (size_t)p->parameters * sizeof *named);
    memcpy(value, b->built->parameter, (size_t)p->parameters * sizeof *value);
    p->parameter = named;
    b->x.parameter = b->built->parameter = value;
}

static void set_parameter(nh_builder *b, const nh_symbol *symbol, const setting *set)
{
    nh_problem *p = b->problem;
    size_family(b, symbol, set);
    const nh_family family = b->x.parameters[symbol->number];
    if (symbol->from && !b->x.status)
        make_room(b, family.first + family.count + b->model->symbols.count[SYMBOL_PARAMETER]);
    for (int64_t i = 0; i < family.count && !b->x.status; i++) {
        const nh_value value = expand(b, symbol, set, i);
        char *name = nh_member_name(b, symbol, family.low + i, "");
        if (b->x.status)
            return;
        nh_lineage *lineage = nh_labels_lineage(b->x.labels);
        const double number =
            lineage ? nh_lineage_parameter(lineage, name, value.number) : value.number;
        b->built->parameter[p->parameters] = number;
        p->parameter[p->parameters++] = (nh_named_value){name, number};
    }
}

/* Reads the settings, those of parameters into table[parameters]. Inputs are set (`inputs`), or
 * left alone. */
static setting *read_settings(nh_builder *b, nh_arena *arena, const char *const *settings,
                              size_t count, bool inputs)
{
    setting *table =
        nh_arena_array(arena, (size_t)b->model->symbols.count[SYMBOL_PARAMETER], sizeof(setting));
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
    const int symbols = b->model->symbols.count[SYMBOL_PARAMETER];
    p->parameter = nh_build_take(b, symbols, sizeof(nh_named_value));
    b->x.parameter = b->built->parameter = nh_build_take(b, symbols, sizeof(double));
    b->x.parameters = b->built->parameters = nh_build_take(b, symbols, sizeof(nh_family));

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
        for (int64_t i = 0;
             s->kind == SYMBOL_PARAMETER && !b->x.status && i < b->x.parameters[s->number].count;
             i++) {
            const nh_value value = expand(b, s, &table[s->number], i);
            b->problem->definition[b->x.parameters[s->number].first + i] =
                nh_value_expr(&b->x, value);
        }
    nh_arena_free(&arena);
}
