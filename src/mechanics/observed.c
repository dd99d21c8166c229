/* Functions that report on a state, as expressions: observables, inputs, events, power and
 * energies. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

/* The multipliers that observables and forces use, in the order of problem->reaction; NULL if out
 * of memory. */
static nh_expr *find_reactions(nh_mechanics *s, nh_expr *work)
{
    const nh_problem *problem = s->problem;
    nh_expr *reaction = calloc((size_t)problem->reactions + 1, sizeof *reaction);
    nh_expr_list all = {0};
    bool any = false;
    for (int i = 0; i < problem->reactions; i++)
        any |= problem->reaction[i] >= 0;
    bool ok = reaction && (!any || nh_derive_acceleration(s, work, &all));
    for (int i = 0; ok && i < problem->reactions; i++)
        if (problem->reaction[i] >= 0)
            reaction[i] = all.item[s->n + problem->reaction[i]];
    nh_expr_list_free(&all);
    if (!ok)
        free(reaction);
    return ok ? reaction : NULL;
}

bool nh_derive_observe(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *problem = s->problem;
    nh_expr *reaction = find_reactions(s, work);
    if (!reaction)
        return false;
    bool ok = nh_expr_list_push(out, s->energy) && nh_expr_list_push_all(out, s->k, s->m) &&
              nh_expr_list_push_all(out, s->position, s->positions);
    if (s->facts.coupled)
        ok = ok && nh_expr_list_push(out, s->driver_energy) &&
             nh_expr_list_push(out, s->passenger_energy);
    for (int i = 0; ok && i < problem->observables; i++)
        ok = nh_expr_list_push(out, nh_substitute(s->g, problem->observable[i].value, NH_X,
                                                  reaction, (size_t)problem->reactions));
    free(reaction);
    return ok;
}

/* The value, slope zero, and the present time as the beginning. */
bool nh_derive_inputs(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    const nh_problem *p = s->problem;
    nh_expr *value = calloc((size_t)p->open_values + 1, sizeof *value);
    for (int i = 0; value && i < p->inputs; i++) {
        const nh_problem_input *input = p->input + i;
        if (input->first < 0 || input->feedback)
            continue;
        const int last = input->first + nh_signal_values(input->signal) - 1;
        value[last] = nh_variable(s->g, NH_TIME, 0);
        value[input->first] = input->given;
    }
    bool ok = value && nh_expr_list_push_all(out, value, p->open_values);
    for (int i = p->open_values; ok && i < nh_problem_given(p); i++)
        ok = nh_expr_list_push(out, nh_number(s->g, p->parameter[i - p->open_values].value));
    free(value);
    return ok;
}

/* The total time derivative of a function of the state; the acceleration is the extra argument. */
static nh_expr rate_of(nh_mechanics *s, nh_expr f)
{
    nh_partials by_v;
    nh_expr rate = nh_total_derivative(s->g, f);
    if (!nh_expr_gradient(s->g, f, NH_V, &by_v)) {
        nh_graph_fail(s->g);
        return NH_ZERO;
    }
    for (size_t i = 0; i < by_v.count; i++) {
        nh_expr a = nh_variable(s->g, NH_X, by_v.entry[i].index);
        rate = nh_add(s->g, rate, nh_multiply(s->g, by_v.entry[i].value, a));
    }
    nh_partials_free(&by_v);
    return rate;
}

bool nh_derive_power(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    nh_expr_list motion = {0};
    bool ok = nh_derive_acceleration(s, work, &motion);
    if (ok)
        ok = nh_expr_list_push(
            out, nh_substitute(s->g, rate_of(s, s->energy), NH_X, motion.item, (size_t)s->n));
    nh_expr_list_free(&motion);
    return ok;
}

/* The values of all events, with reactions in terms of the state. */
static bool event_values(nh_mechanics *s, nh_expr *work, nh_expr *value)
{
    const nh_problem *problem = s->problem;
    nh_expr *reaction = NULL;
    bool ok = true;
    for (int i = 0; ok && i < problem->events; i++) {
        value[i] = problem->event[i].value;
        if (!nh_depends(s->g, value[i], NH_X))
            continue;
        ok = reaction || (reaction = find_reactions(s, work));
        if (ok)
            value[i] = nh_substitute(s->g, value[i], NH_X, reaction, (size_t)problem->reactions);
    }
    free(reaction);
    return ok && !nh_graph_failed(s->g);
}

bool nh_derive_events(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *problem = s->problem;
    const size_t events = (size_t)problem->events;
    nh_expr *value = malloc((events + 1) * sizeof *value);
    bool ok = value && event_values(s, work, value);
    for (size_t i = 0; ok && i < events; i++)
        ok = nh_expr_list_push(out, value[i]);
    for (size_t i = 0; ok && i < events; i++)
        ok = nh_expr_list_push(out, rate_of(s, value[i]));
    free(s->event_value);
    s->event_value = value;
    return ok;
}

bool nh_derive_changes(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    bool ok = true;
    for (int i = 0; ok && i < s->problem->changes; i++)
        ok = nh_expr_list_push(out, s->problem->change[i].value);
    return ok;
}

bool nh_derive_kinks(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *problem = s->problem;
    nh_expr *reaction = find_reactions(s, work);
    bool ok = reaction;
    for (int i = 0; ok && i < problem->kinks; i++)
        ok = nh_expr_list_push(out, nh_substitute(s->g, problem->kink[i].condition, NH_X, reaction,
                                                  (size_t)problem->reactions));
    free(reaction);
    return ok;
}

bool nh_derive_energy(nh_mechanics *s, nh_expr *b, nh_expr_list *out)
{
    for (int i = 0; i < s->problem->brackets; i++) {
        nh_bracket c = s->problem->bracket[i];
        nh_expr w = nh_variable(s->g, NH_V, (uint32_t)c.a);
        nh_expr term = nh_scale(s->g, c.c, nh_multiply(s->g, w, s->p[c.result]));
        b[c.b] = nh_add(s->g, b[c.b], term);
    }
    return nh_expr_list_push(out, s->energy) && nh_expr_list_push_all(out, b, s->n);
}

/* V(q) = energy at rest. `zero` is a vector of zeros. */
bool nh_derive_potential(nh_mechanics *s, nh_expr *zero, nh_expr_list *out)
{
    nh_expr V = nh_substitute(s->g, s->energy, NH_V, zero, (size_t)s->n);
    nh_partials slope;
    if (!nh_expr_gradient(s->g, V, NH_Q, &slope))
        return false;
    bool ok = nh_expr_list_push(out, V);
    for (int i = 0; ok && i < s->n; i++)
        ok = nh_expr_list_push(out, nh_partial_of(&slope, (uint32_t)i));
    nh_partials_free(&slope);
    return ok;
}
