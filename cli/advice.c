#include "advice.h"

#include <stdio.h>
#include <string.h>

applicable method_applies(int index, const nh_system *system)
{
    applicable a = {0};
    nh_report report = {0};
    nh_status status = nh_choice_parse(&a.choice, nh_method_name(nh_method_at(index)), &report);
    if (status == NH_OK)
        status = nh_choice_applies(&a.choice, system, &report);
    a.applies = status == NH_OK;
    snprintf(a.reason, sizeof a.reason, "%.255s", a.applies ? "" : report.text);
    return a;
}

static bool applies(const char *text, const nh_system *system)
{
    nh_choice choice;
    return nh_choice_parse(&choice, text, NULL) == NH_OK &&
           nh_choice_applies(&choice, system, NULL) == NH_OK;
}

static void append(char *text, size_t size, const char *part)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? ", " : "", part);
}

void list_applicable(char *text, size_t size, const nh_system *system)
{
    text[0] = '\0';
    for (int i = 0; i < nh_method_count(); i++)
        if (method_applies(i, system).applies)
            append(text, size, nh_method_name(nh_method_at(i)));
}

enum { LARGE = 100 }; /* velocities from which on dense algebra in every step is too dear */

typedef struct rule {
    const char *method;
    bool fits;
    const char *reason;
} rule;

/* The first rule that fits. A method that is not compiled in never applies. */
static const rule *first_fitting(const rule *rules, size_t count, const nh_system *system)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].fits && applies(rules[i].method, system))
            return &rules[i];
    return NULL;
}

const char *advise(const nh_system *system, const char **reason)
{
    const nh_facts *facts = nh_system_facts(system);
    bool large = nh_system_velocities(system) > LARGE;
    bool exact = facts->keeps_energy && facts->linear && facts->autonomous && !large;
    rule rules[] = {
        {"discrete-gradient", exact && facts->coupled,
         "it keeps energy, driver energy, passenger energy and constraints to round-off"},
        {"discrete-gradient", exact && nh_system_constraints(system) > 0,
         "it keeps energy and constraints to round-off"},
        {"discrete-gradient", exact, "it keeps the energy to round-off"},
        {"dla01", large, "so many coordinates want a step whose cost grows no faster than they do"},
        {"gauss:stages=2", true, "it takes any Lagrangian, force and constraint, at order 4"},
        {"rk4", true, "it takes any system, but does not keep the constraints"},
    };
    const rule *found = first_fitting(rules, sizeof rules / sizeof rules[0], system);
    *reason = found ? found->reason : "no method applies";
    return found ? found->method : NULL;
}

const char *advise_fast(const nh_system *system, const char **reason)
{
    const nh_facts *facts = nh_system_facts(system);
    const char *advised = advise(system, reason);
    bool already = advised && strcmp(advised, "dla01") == 0;
    rule rules[] = {
        {"dla01", facts->coupled,
         "one force evaluation a step; driver and passengers are kept apart"},
        {"dla01", facts->reaction_is_linear, "one force evaluation a step, no iteration"},
        {"dla01", true, "one force evaluation a step"},
    };
    size_t count = already ? 0 : sizeof rules / sizeof rules[0];
    const rule *found = first_fitting(rules, count, system);
    *reason = found ? found->reason : NULL;
    return found ? found->method : NULL;
}

typedef struct word {
    unsigned bit;
    const char *text;
} word;

static const char *describe(unsigned bits, const word *words, size_t count, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (bits & words[i].bit)
            append(text, size, words[i].text);
    return text[0] ? text : "-";
}

const char *describe_keeps(unsigned keeps, char *text, size_t size)
{
    static const word words[] = {{NH_KEEPS_CONSTRAINTS, "constraints"},
                                 {NH_KEEPS_ENERGY, "energy"},
                                 {NH_KEEPS_SYMMETRY, "symmetry"},
                                 {NH_KEEPS_FIBRATION, "fibration"}};
    return describe(keeps, words, sizeof words / sizeof words[0], text, size);
}

const char *describe_needs(unsigned needs, char *text, size_t size)
{
    static const word words[] = {{NH_NEEDS_CONSTANT_MASS, "constant mass"},
                                 {NH_NEEDS_AFFINE_CONSTRAINTS, "affine constraints"},
                                 {NH_NEEDS_LINEAR_CONSTRAINTS, "linear constraints"},
                                 {NH_NEEDS_SEPARABLE, "separable"},
                                 {NH_NEEDS_AUTONOMOUS, "autonomous"},
                                 {NH_NEEDS_CONSERVATIVE, "no forces"},
                                 {NH_NEEDS_MECHANICAL, "L = T - V"},
                                 {NH_NEEDS_FRAME, "a frame"},
                                 {NH_NEEDS_MODEL_TEXT, "model text"}};
    return describe(needs, words, sizeof words / sizeof words[0], text, size);
}
