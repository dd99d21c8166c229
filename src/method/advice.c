/* Which method to take for a system: rules in the order of preference. */
#include <string.h>

#include "base/status.h"
#include "method/method.h"

static bool applies(const char *text, const nh_system *system)
{
    nh_choice choice;
    return nh_choice_parse(&choice, text, NULL) == NH_OK &&
           nh_choice_applies(&choice, system, NULL) == NH_OK;
}

enum { LARGE = 100 }; /* velocities from which on dense algebra in every step is too dear */

typedef struct advice_rule {
    const char *method;
    bool fits;
    const char *reason;
} advice_rule;

/* The first rule that fits. A method that is not compiled in never applies. */
static const advice_rule *first_fitting(const advice_rule *rules, size_t count,
                                        const nh_system *system)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].fits && applies(rules[i].method, system))
            return &rules[i];
    return NULL;
}

const char *nh_advise(const nh_system *system, const char **reason)
{
    const nh_facts *facts = nh_system_facts(system);
    bool large = nh_system_velocities(system) > LARGE;
    bool exact = facts->keeps_energy && facts->linear && facts->autonomous && !large;
    advice_rule rules[] = {
        {"discrete-gradient", exact && facts->coupled,
         "it keeps energy, driver energy, passenger energy and constraints to round-off"},
        {"discrete-gradient", exact && nh_system_constraints(system) > 0,
         "it keeps energy and constraints to round-off"},
        {"discrete-gradient", exact, "it keeps the energy to round-off"},
        {"dla01", large, "so many coordinates want a step whose cost grows no faster than they do"},
        {"gauss:stages=2", true, "it takes any Lagrangian, force and constraint, at order 4"},
        {"rk4", true, "it takes any system, but does not keep the constraints"},
    };
    const advice_rule *found = first_fitting(rules, sizeof rules / sizeof rules[0], system);
    *reason = found ? found->reason : "no method applies";
    return found ? found->method : NULL;
}

const char *nh_advise_fast(const nh_system *system, const char **reason)
{
    const nh_facts *facts = nh_system_facts(system);
    const char *advised = nh_advise(system, reason);
    bool already = advised && strcmp(advised, "dla01") == 0;
    advice_rule rules[] = {
        {"dla01", facts->coupled,
         "one force evaluation a step; driver and passengers are kept apart"},
        {"dla01", facts->reaction_is_linear, "one force evaluation a step, no iteration"},
        {"dla01", true, "one force evaluation a step"},
    };
    size_t count = already ? 0 : sizeof rules / sizeof rules[0];
    const advice_rule *found = first_fitting(rules, count, system);
    *reason = found ? found->reason : NULL;
    return found ? found->method : NULL;
}

nh_status nh_choice_or_advised(nh_choice *out, const char *text, const nh_system *system,
                               nh_report *report)
{
    const char *reason;
    if (!text)
        text = nh_advise(system, &reason);
    return text ? nh_choice_parse(out, text, report)
                : nh_fail(report, NH_NOT_APPLICABLE, "no method applies to %s",
                          nh_system_name(system));
}
