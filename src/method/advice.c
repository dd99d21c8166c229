/* Which method to recommend for a system: rules in order of preference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "method/compose.h"
#include "method/method.h"
#include "system/system.h"

static bool applies(const char *text, const nh_system *system)
{
    nh_choice choice;
    return nh_choice_parse(&choice, text, NULL) == NH_OK &&
           nh_choice_applies(&choice, system, NULL) == NH_OK;
}

/* Evaluates K at q0 + i d, i = 0, 1, 2, for an arbitrary direction d: whether it changes other than
 * linearly. */
static bool bends(const nh_system *system, const double *q0, int trial)
{
    int n = system->velocities, m = system->constraints;
    size_t outputs = nh_system_outputs(system, NH_FN_MATRICES), first = (size_t)(n * n);
    double *q = calloc(2 * (size_t)n + 3 * outputs + 1, sizeof *q), *v = q + n, *out = v + n;
    bool found = false;
    nh_status status = q ? NH_OK : NH_NO_MEMORY;
    for (int i = 0; i < 3 && status == NH_OK; i++) {
        for (int c = 0; c < n; c++)
            q[c] = q0[c] + i * (0.3 + 0.2 * sin(1 + 7.3 * c + 2.9 * trial));
        status = nh_system_evaluate(system, NH_FN_MATRICES, 0, q, v, NULL,
                                    out + (size_t)i * outputs, NULL);
    }
    for (size_t k = first; k < first + (size_t)(n * m) && status == NH_OK; k++) {
        double a = out[k], b = out[outputs + k], c = out[2 * outputs + k];
        found = found || fabs(a - 2 * b + c) > 1e-9 * (fabs(a) + fabs(b) + fabs(c));
    }
    free(q);
    return found;
}

/* Whether the constraints are holonomic and fix something other than a polynomial of second degree:
 * such constraints are preserved by methods that evaluate the constraints at the midpoint of the
 * step. */
static bool fixes_curved_surface(const nh_system *system)
{
    int n = nh_system_coordinates(system);
    bool holonomic =
        nh_system_constraints(system) > 0 && nh_system_facts(system)->integrable == NH_YES;
    if (!holonomic || n != system->velocities || !system->mechanics)
        return false;
    const double *start = system->mechanics->start;
    return bends(system, start, 0) || bends(system, start, 1);
}

enum { LARGE = 100 }; /* velocities from which on dense algebra in every step is too expensive */

typedef struct advice_rule {
    const char *method;
    bool fits;
    const char *reason;
} advice_rule;

/* The first rule that applies. A method that is not compiled in never applies. */
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
    bool large = system->velocities > LARGE;
    bool exact = facts->keeps_energy && facts->linear && facts->autonomous && !large;
    bool on_positions = system->shape.positions > 0;
    bool curved = !large && !on_positions && fixes_curved_surface(system);
    advice_rule rules[] = {
        {"dop853", system->shape.nonideal && on_positions,
         "it preserves conditions on positions when forces depend on reactions, at order 8"},
        {"dop853", nh_system_items(system) > 0,
         "it follows contacts and grips, which change the equations, at order 8"},
        {"gauss:stages=3", curved,
         "the constraints are holonomic, and the positions that they restrict drift least at a "
         "high order"},
        {"discrete-gradient", exact && facts->coupled,
         "it preserves energy, driver energy, passenger energy and constraints to round-off"},
        {"discrete-gradient", exact && on_positions,
         "it preserves energy, constraints and conditions on positions to round-off"},
        {"discrete-gradient", exact && nh_system_constraints(system) > 0,
         "it preserves energy and constraints to round-off"},
        {"discrete-gradient", exact, "it preserves the energy to round-off"},
        {"dla01", large,
         "with this many coordinates, the cost of a step should grow no faster than their number"},
        {"gauss-lobatto", on_positions,
         "it preserves conditions on positions to round-off at its nodes, for any Lagrangian and "
         "force, at order 4"},
        {"gauss:stages=2", true, "it applies to any Lagrangian, force and constraint, at order 4"},
        {"rk4", true, "it applies to any system, but does not preserve the constraints"},
    };
    const advice_rule *found = first_fitting(rules, sizeof rules / sizeof rules[0], system);
    *reason = found ? found->reason : "no method applies";
    return found ? found->method : NULL;
}

const char *nh_advise_fast(const nh_system *system, const char **reason)
{
    const nh_facts *facts = nh_system_facts(system);
    const char *advised = nh_advise(system, reason);
    if (nh_system_items(system) > 0) /* it would not follow grips that slip */
        return NULL;
    bool already = advised && strcmp(advised, "dla01") == 0;
    bool on_positions = system->shape.positions > 0;
    advice_rule rules[] = {
        {"dla01", on_positions,
         "one force evaluation per step; impulses at both ends preserve the conditions on "
         "positions"},
        {"lobatto-ab", on_positions,
         "two stages that preserve the conditions on positions at both ends: RATTLE"},
        {"shifted", facts->sprung_passengers,
         "one force evaluation per step; keeps the driver independent of the passengers, whose "
         "energy drifts by h^4 at most (staggered:passengers=whole: not at all)"},
        {"shifted", facts->quadratic && facts->reaction_is_linear,
         "one force evaluation per step, no iteration; a modified energy is kept up to h^4"},
        {"dla01", facts->coupled,
         "one force evaluation per step; keeps the driver independent of the passengers"},
        {"dla01", facts->reaction_is_linear, "one force evaluation per step, no iteration"},
        {"dla01", true, "one force evaluation per step"},
    };
    size_t count = already ? 0 : sizeof rules / sizeof rules[0];
    const advice_rule *found = first_fitting(rules, count, system);
    *reason = found ? found->reason : NULL;
    return found ? found->method : NULL;
}

nh_status nh_refuse_all(const nh_system *system, nh_report *report)
{
    nh_choice choice;
    nh_report why = {.text = "no method fits"};
    nh_status status = nh_choice_parse(&choice, "gauss", &why);
    if (status == NH_OK)
        status = nh_choice_applies(&choice, system, &why);
    return nh_fail(report, NH_NOT_APPLICABLE, "no method applies to %s: %.1800s",
                   nh_system_name(system), why.text);
}

nh_status nh_choice_or_advised(nh_choice *out, const char *text, const nh_system *system,
                               nh_report *report)
{
    const char *reason;
    if (!text || strcmp(text, "auto") == 0)
        text = nh_advise(system, &reason);
    return text ? nh_choice_or_first(out, text, report) : nh_refuse_all(system, report);
}
