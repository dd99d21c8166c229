/* The list of methods, and methods combined with values of their options. */
#include "method/method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "method/embedded.h"
#include "model/suggest.h"
#include "system/system.h"

/* ---- the list ---- */

#define METHOD(symbol, file) extern const nh_method nh_method_##symbol;
#include "method/methods.def"
#undef METHOD

#define DECLARE_KERNEL(variant, symbol) extern const nh_kernel nh_kernel_##symbol##_##variant;
#define METHOD(symbol, file) NH_EACH_VARIANT(DECLARE_KERNEL, symbol)
#include "method/methods.def"
#undef METHOD

typedef struct entry {
    const nh_method *method;
    const nh_kernel *kernel[NH_VARIANTS];
    const char *file;
} entry;

static const entry entries[] = {
#define KERNEL_ADDRESS(variant, symbol) &nh_kernel_##symbol##_##variant,
#define METHOD(symbol, file) {&nh_method_##symbol, {NH_EACH_VARIANT(KERNEL_ADDRESS, symbol)}, file},
#include "method/methods.def"
#undef METHOD
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static const entry *entry_of(const nh_method *method)
{
    for (int i = 0; i < ENTRIES; i++)
        if (strcmp(entries[i].method->name, method->name) == 0)
            return entries + i;
    return NULL;
}

const nh_kernel *nh_method_kernel(const nh_method *method, nh_variant variant)
{
    return entry_of(method)->kernel[variant];
}

const char *nh_method_file(const nh_method *method)
{
    return entry_of(method)->file;
}

const char *nh_method_source(const nh_method *method)
{
    return nh_embedded_kernel(entry_of(method)->file);
}

nh_fn_set nh_method_point_calls(const nh_method *method)
{
    return nh_embedded_point_calls(entry_of(method)->file);
}

int nh_method_count(void)
{
    return ENTRIES;
}

const nh_method *nh_method_at(int index)
{
    return index >= 0 && index < ENTRIES ? entries[index].method : NULL;
}

/* Names that the papers use for special cases. */
static const struct alias {
    const char *name, *meaning;
} aliases[] = {
    {"si-dla", "dla01"},
    {"gonzalez-r", "discrete-gradient:gradient=gonzalez,frame=householder"},
    {"avf-r", "discrete-gradient:gradient=avf,frame=householder"},
    {"avf-p", "discrete-gradient:gradient=avf,frame=polar"},
};

static const char *unalias(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].name, name) == 0)
            return aliases[i].meaning;
    return name;
}

const nh_method *nh_method_find(const char *name)
{
    for (int i = 0; i < ENTRIES; i++)
        if (strcmp(entries[i].method->name, name) == 0)
            return entries[i].method;
    return NULL;
}

const char *nh_method_name(const nh_method *method)
{
    return method->name;
}

const char *nh_method_summary(const nh_method *method)
{
    return method->summary;
}

const char *nh_method_formulas(const nh_method *method)
{
    return method->formulas;
}

const char *nh_method_reference(const nh_method *method)
{
    return method->reference;
}

const nh_option *nh_method_options(const nh_method *method, int *count)
{
    *count = method->options;
    return method->option;
}

/* ---- choices ---- */

enum { WORD_MAX = 64 };

static nh_status unknown_method(const char *name, nh_report *report)
{
    nh_suggest near = nh_suggest_begin(name);
    for (int i = 0; i < ENTRIES; i++)
        nh_suggest_offer(&near, entries[i].method->name);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        nh_suggest_offer(&near, aliases[i].name);
    return nh_fail(report, NH_BAD_ARGUMENT, "unknown method '%s'%s", name,
                   *near.best ? nh_suggest_end(&near).text
                              : "; 'nonholo methods' lists the methods");
}

/* Steps of a symmetric method may follow the pace of the motion. */
static const nh_option pace_option = {
    .name = "pace",
    .help = "length of reversible steps that follow the motion, in units of its time scale; 0: "
            "steps as given",
    .type = NH_OPTION_REAL,
    .standard = 0,
    .least = 0,
    .greatest = 10,
};

static const nh_option *option_at(const nh_method *method, int index)
{
    return index == NH_OPTION_PACE ? &pace_option : method->option + index;
}

static int option_index(const nh_method *method, const char *key)
{
    if (strcmp(key, pace_option.name) == 0)
        return NH_OPTION_PACE;
    for (int i = 0; i < method->options; i++)
        if (strcmp(method->option[i].name, key) == 0)
            return i;
    return -1;
}

static nh_status unknown_option(const nh_method *method, const char *key, nh_report *report)
{
    char list[256] = "";
    for (int i = 0; i < method->options; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, method->option[i].name, sizeof list - strlen(list) - 1);
    }
    if (method->options == 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "method '%s' has no option '%s'; it has no options",
                       method->name, key);
    return nh_fail(report, NH_BAD_ARGUMENT, "method '%s' has no option '%s'; its options are %s",
                   method->name, key, list);
}

/* The index of a word in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; choices; i++) {
        const char *end = strchr(choices, '|');
        size_t size = end ? (size_t)(end - choices) : strlen(choices);
        if (size == length && strncmp(choices, word, size) == 0)
            return i;
        choices = end ? end + 1 : NULL;
    }
    return -1;
}

static nh_status read_value(const nh_method *method, const nh_option *option, const char *text,
                            double *value, nh_report *report)
{
    if (option->type == NH_OPTION_CHOICE) {
        int index = choice_index(option->choices, text);
        if (index < 0)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "method '%s': option '%s' must be one of %s, not '%s'", method->name,
                           option->name, option->choices, text);
        *value = index;
        return NH_OK;
    }
    char *end;
    *value = nh_decimal(text, &end);
    if (option->type == NH_OPTION_REAL && end != text &&
        *end == '/') { /* a fraction, as on paper */
        const char *below = end + 1;
        *value /= nh_decimal(below, &end);
        end = end == below ? (char *)text : end;
    }
    bool whole = option->type != NH_OPTION_INTEGER || *value == rint(*value);
    if (end == text || *end || !isfinite(*value) || !whole)
        return nh_fail(report, NH_BAD_ARGUMENT, "method '%s': option '%s' needs %s, not '%s'",
                       method->name, option->name,
                       option->type == NH_OPTION_INTEGER ? "a whole number" : "a number", text);
    if (*value < option->least || *value > option->greatest)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "method '%s': option '%s' must lie between %g and %g, not %s", method->name,
                       option->name, option->least, option->greatest, text);
    return NH_OK;
}

/* Copies up to one of the stop characters; false when it does not fit. */
static bool take_word(const char **text, const char *stop, char *word)
{
    size_t length = strcspn(*text, stop);
    if (length >= WORD_MAX)
        return false;
    memcpy(word, *text, length);
    word[length] = 0;
    *text += length;
    return true;
}

static nh_status read_options(nh_choice *choice, const char *text, unsigned *given,
                              nh_report *report)
{
    const nh_method *method = choice->method;
    char key[WORD_MAX], value[WORD_MAX];
    while (*text) {
        bool fits = take_word(&text, "=,", key);
        if (!fits || *text != '=' || !*key)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "method '%s': options are written NAME:key=value,key=value; '%.40s' is "
                           "not key=value",
                           method->name, key);
        text++;
        if (!take_word(&text, ",", value))
            return nh_fail(report, NH_BAD_ARGUMENT, "method '%s': the value of '%s' is too long",
                           method->name, key);
        int index = option_index(method, key);
        if (index < 0)
            return unknown_option(method, key, report);
        if (*given >> index & 1)
            return nh_fail(report, NH_BAD_ARGUMENT, "method '%s': option '%s' is given twice",
                           method->name, key);
        *given |= 1u << index;
        nh_status status =
            read_value(method, option_at(method, index), value, choice->option + index, report);
        if (status != NH_OK)
            return status;
        if (*text == ',' && !*++text)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "method '%s': an option is missing after the last ','", method->name);
    }
    return NH_OK;
}

static void fill_defaults(nh_choice *choice, unsigned given)
{
    const nh_method *method = choice->method;
    for (int i = 0; i < method->options; i++)
        if (!(given >> i & 1) && !method->option[i].follows)
            choice->option[i] = method->option[i].standard;
    for (int i = 0; i < method->options; i++)
        if (!(given >> i & 1) && method->option[i].follows)
            choice->option[i] = choice->option[option_index(method, method->option[i].follows)];
}

nh_status nh_choice_parse(nh_choice *out, const char *text, nh_report *report)
{
    char name[WORD_MAX];
    const char *rest = text;
    *out = (nh_choice){0};
    if (!take_word(&rest, ":", name))
        return nh_fail(report, NH_BAD_ARGUMENT, "'%.60s...' is too long for a method's name", text);
    const char *meaning = unalias(name);
    if (meaning != name) {
        char whole[4 * WORD_MAX]; /* options of the alias first, then those given */
        bool more = *rest && strchr(meaning, ':');
        snprintf(whole, sizeof whole, "%s%s%s", meaning, more ? "," : "", more ? rest + 1 : rest);
        return nh_choice_parse(out, whole, report);
    }
    out->method = nh_method_find(name);
    if (!out->method)
        return unknown_method(name, report);
    if (*rest == ':' && !rest[1])
        return nh_fail(report, NH_BAD_ARGUMENT, "method '%s': options are missing after ':'", name);
    unsigned given = 0;
    nh_status status = read_options(out, *rest ? rest + 1 : rest, &given, report);
    if (status != NH_OK)
        return status;
    fill_defaults(out, given);
    if (nh_choice_pace(out) > 0 && out->method->without_composition)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "steps of method '%s' cannot follow the pace of the motion reversibly: %s",
                       name, out->method->without_composition);
    if (nh_choice_pace(out) > 0 && !(nh_choice_keeps(out) & NH_KEEPS_SYMMETRY))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "method '%s' is not symmetric%s: its steps cannot follow the pace of the "
                       "motion reversibly",
                       name, out->method->keeps_of ? " with these options" : "");
    const char *reason = out->method->refuse ? out->method->refuse(out->option, false) : NULL;
    return reason ? nh_fail(report, NH_BAD_ARGUMENT, "method '%s': %s", name, reason) : NH_OK;
}

int nh_choice_order(const nh_choice *choice)
{
    const nh_method *method = choice->method;
    if (nh_choice_pace(choice) > 0)
        return 0;
    return method->order_of ? method->order_of(choice->option) : method->order;
}

unsigned nh_choice_keeps(const nh_choice *choice)
{
    const nh_method *method = choice->method;
    return method->keeps_of ? method->keeps_of(choice->option) : method->keeps;
}

unsigned nh_choice_needs(const nh_choice *choice)
{
    const nh_method *method = choice->method;
    return method->needs_of ? method->needs_of(choice->option) : method->needs;
}

bool nh_choice_adapts(const nh_choice *choice)
{
    return choice->method->adapts && choice->method->adapts(choice->option);
}

nh_status nh_choice_in_doubles(const nh_choice *choice, nh_report *report)
{
    const nh_method *method = choice->method;
    if (!(choice->option[0] < method->finest))
        return NH_OK;
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "method '%s': a tolerance of %g is below %g, which needs quadruple precision "
                   "(--precision quad)",
                   method->name, choice->option[0], method->finest);
}

double nh_choice_pace(const nh_choice *choice)
{
    return choice->option[NH_OPTION_PACE];
}

unsigned nh_choice_standards(const nh_choice *choice)
{
    unsigned standards = 0;
    for (int i = 0; i < choice->method->options; i++)
        if (choice->option[i] == choice->method->option[i].standard)
            standards |= 1u << i;
    return standards;
}

nh_fn_set nh_choice_functions(const nh_choice *choice, const nh_shape *shape)
{
    const nh_method *method = choice->method;
    nh_fn_set calls = nh_embedded_calls(entry_of(method)->file);
    return method->skips ? calls & ~method->skips(shape, choice->option) : calls;
}

/* ---- applicability ---- */

static const char *first_constraint_that_is(const nh_system *system, nh_constraint_kind at_least)
{
    for (int i = 0; i < system->constraints; i++)
        if (nh_system_constraint_kind(system, i) >= at_least)
            return nh_system_constraint_name(system, i);
    return "a constraint";
}

static nh_status refuse_positions(const nh_choice *choice, const nh_system *system,
                                  nh_report *report)
{
    const char *reason, *instead = report ? nh_advise(system, &reason) : NULL;
    const nh_method *method = choice->method;
    const char *why = method->without_positions;
    nh_choice like; /* one of its kind, which keeps nothing else either */
    if (nh_choice_keeps(choice) == 0 && nh_choice_parse(&like, "dop853", NULL) == NH_OK &&
        nh_choice_applies(&like, system, NULL) == NH_OK)
        instead = "dop853";
    return nh_fail(
        report, NH_NOT_APPLICABLE,
        "%s does not preserve conditions on positions%s, and '%s' of %s is one%s%s%s; %s%s",
        method->name, method->keeps_of ? " with these options" : "",
        nh_system_constraint_name(system, system->constraints - 1), system->name, why ? " (" : "",
        why ? why : "", why ? ")" : "", instead ? "use " : "no method that preserves them applies",
        instead ? instead : "");
}

/* Refuses conditions on positions other than those of rotations, which the method preserves. */
static nh_status refuse_other_positions(const nh_choice *choice, const nh_system *system,
                                        nh_report *report)
{
    const char *reason, *instead = report ? nh_advise(system, &reason) : NULL;
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "%s preserves only those conditions on positions that come from rotations; %s "
                   "has others%s%s",
                   choice->method->name, system->name, instead ? "; use " : "",
                   instead ? instead : "");
}

/* What the method requires of the equations. */
static nh_status equations_fit(const nh_choice *choice, const nh_system *system, nh_report *report)
{
    const nh_facts *f = &system->facts;
    const char *method = choice->method->name, *name = system->name;
    const unsigned needs = nh_choice_needs(choice);
    if (needs & NH_NEEDS_CONSTANT_MASS && !f->constant_mass)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s needs a constant mass matrix; %s has M(q)",
                       method, name);
    if (needs & NH_NEEDS_SEPARABLE && !f->separable)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs forces that do not depend on velocities; those of %s do", method,
                       name);
    if (needs & NH_NEEDS_AFFINE_CONSTRAINTS && !f->affine)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs constraints that are linear or affine in the velocities; '%s' of "
                       "%s is nonlinear",
                       method, first_constraint_that_is(system, NH_NONLINEAR), name);
    if (needs & NH_NEEDS_LINEAR_CONSTRAINTS && !f->linear)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs constraints that are linear in the velocities; '%s' of %s is not",
                       method, first_constraint_that_is(system, NH_AFFINE), name);
    if (needs & NH_NEEDS_AUTONOMOUS && !f->autonomous)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs a system that does not depend on time; %s does", method, name);
    if (needs & NH_NEEDS_CONSERVATIVE && !f->conservative)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs a system without external forces; %s has some", method, name);
    if (needs & NH_NEEDS_MECHANICAL && !f->mechanical)
        return nh_fail(
            report, NH_NOT_APPLICABLE,
            "%s needs a Lagrangian v.M(q)v/2 - V(q); that of %s has other terms in the velocities",
            method, name);
    if (needs & NH_NEEDS_DEFINITE_MASS && !f->definite_mass)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs a mass matrix that is definite; that of %s is not", method, name);
    return NH_OK;
}

/* In a mode, the method sees a system with more constraints, which hold where the mode ends, too;
 * closed contacts are conditions on positions. */
static bool follows_modes(const nh_choice *choice, const nh_system *system)
{
    unsigned needed = NH_KEEPS_CONSTRAINTS;
    for (int i = 0; i < nh_system_items(system); i++)
        if (nh_system_item_is_contact(system, i))
            needed |= NH_KEEPS_POSITIONS;
    return (nh_choice_keeps(choice) & needed) == needed;
}

nh_status nh_refuse_modes(const nh_system *system, const char *why, nh_report *report)
{
    char names[256] = "";
    for (int i = 0; i < nh_method_count(); i++) {
        const nh_method *method = nh_method_at(i);
        nh_choice choice;
        if (method->takes_nonideal &&
            nh_choice_parse(&choice, nh_method_name(method), NULL) == NH_OK &&
            follows_modes(&choice, system))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     names[0] ? ", " : "", nh_method_name(method));
    }
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "%s; the methods that can follow contacts and grips in all modes are %s", why,
                   names);
}

static nh_status refuse_to_follow(const char *method, const nh_system *system, nh_report *report)
{
    char why[160];
    snprintf(why, sizeof why,
             "%s does not keep what holds while contacts are closed and grips hold", method);
    return nh_refuse_modes(system, why, report);
}

/* What the system must contain for the method, and what it must not contain. */
static nh_status parts_fit(const nh_choice *choice, const nh_system *system, nh_report *report)
{
    const char *method = choice->method->name, *name = system->name;
    const unsigned needs = nh_choice_needs(choice);
    if (nh_system_items(system) > 0 && !follows_modes(choice, system))
        return refuse_to_follow(method, system, report);
    if (needs & NH_NEEDS_ROTATIONS && system->shape.rotations == 0)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s needs rotations; %s has none", method, name);
    if (needs & NH_NEEDS_ROTATIONS && system->shape.positions > system->shape.rotations)
        return refuse_other_positions(choice, system, report);
    if (needs & NH_NEEDS_CONSTANT_INERTIA && !system->facts.constant_inertia)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs an inertia that is constant in body axes; that of %s depends on "
                       "the state",
                       method, name);
    if (needs & NH_NEEDS_COUPLED && system->shape.driver < 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s with these options needs a coupled system: a driver that moves "
                       "independently, and constraints that depend on it alone; %s has none",
                       method, name);
    if (needs & NH_NEEDS_FRAME && !system->facts.has_frame)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s with frame=model needs a 'frame' in the model, and %s has none; "
                       "frame=polar and frame=householder construct their own",
                       method, name);
    if (system->shape.nonideal && !choice->method->takes_nonideal)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s needs ideal constraints, but forces of %s depend on reactions; use "
                       "gauss or one of the lobatto, euler and explicit methods",
                       method, name);
    if (needs & NH_NEEDS_MODEL_TEXT && !system->mechanics)
        return nh_fail(
            report, NH_NOT_APPLICABLE,
            "%s needs derivatives, which only a model text provides; %s consists of C functions",
            method, name);
    if (system->shape.positions > 0 && !(nh_choice_keeps(choice) & NH_KEEPS_POSITIONS))
        return refuse_positions(choice, system, report);
    return NH_OK;
}

nh_status nh_choice_applies(const nh_choice *choice, const nh_system *system, nh_report *report)
{
    const nh_method *method = choice->method;
    const char *reason =
        method->refuse ? method->refuse(choice->option, system->constraints > 0) : NULL;
    if (reason)
        return nh_fail(report, NH_NOT_APPLICABLE, "method '%s': %s", method->name, reason);
    nh_status status = equations_fit(choice, system, report);
    return status == NH_OK ? parts_fit(choice, system, report) : status;
}
