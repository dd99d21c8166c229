/* The machines of an ensemble as a fleet (system/fleet.h): members of different parameters then
 * run side by side, and no system is built for each. Those whose equations have another form have a
 * system and a run of their own, as all have if there is no fleet. All have the bits of a run with
 * their parameters alone, except that among more than EXACT_MOST machines those that are nearly
 * like the others (model/lineage.h) differ by round-off: systems for each would take too long. */
#include "simulate/ensemble.h"

#include <stdlib.h>

#include "base/status.h"
#include "simulate/machines.h"

/* With fewer machines, or with more starts for each, systems of their own cost less; and random
 * starts of one machine are found for many members at a time. */
enum { MACHINES_LEAST = 32, EXACT_MOST = 500, STARTS_MOST = 16, COMPARED = 2, SAMPLED = 100 };

static int64_t count_machines(const nh_ensemble *e)
{
    return e->varies_machines ? e->members : e->combinations;
}

/* What the run, its checks and the start of a member ask of a system. */
static nh_fn_set functions_of(const nh_ensemble *e)
{
    const nh_system *s = e->system;
    nh_fn_set all = nh_choice_functions(&e->choice, &s->shape) | NH_FN_BIT(OBSERVE) |
                    NH_FN_BIT(ACCELERATION) | NH_FN_BIT(MATRICES) | NH_FN_BIT(END) |
                    NH_FN_BIT(CONSTRAINT) | NH_FN_BIT(STAGE) | NH_FN_BIT(KICK) | NH_FN_BIT(CLOSE) |
                    NH_FN_BIT(INPUTS) | NH_FN_BIT(SURFACE);
    if (nh_system_events(s) > 0)
        all |= NH_FN_BIT(EVENTS) | NH_FN_BIT(CHANGES);
    if (nh_system_kinks(s) != 0)
        all |= NH_FN_BIT(KINKS);
    if (e->simulation->options.starts == NH_STARTS_RANDOM)
        all |= NH_FN_BIT(SETTLE);
    if (nh_choice_pace(&e->choice) > 0)
        all |= s->mechanics->problem->paced ? NH_FN_BIT(PACE) : NH_FN_BIT(JACOBIAN);
    return all;
}

typedef struct ranges {
    nh_fleet_range range;
    const char **name;
    double *low, *high;
} ranges;

/* The parameters among what varies. */
static bool list_parameters(const nh_simulation *s, ranges *r)
{
    const int count = s->options.sweeps + s->options.variations;
    r->name = calloc((size_t)count + 1, sizeof *r->name);
    r->low = calloc(2 * (size_t)count + 1, sizeof *r->low);
    if (!r->name || !r->low)
        return false;
    r->high = r->low + count;
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (!s->sets_parameter[i])
            continue;
        r->name[used] = i < s->options.sweeps ? s->options.sweep[i].parameter
                                              : s->options.variation[i - s->options.sweeps].name;
        nh_value_bounds(s, i, r->low + used, r->high + used);
        used++;
    }
    r->range = (nh_fleet_range){r->name, r->low, r->high, used};
    return true;
}

static nh_likeness take(const nh_ensemble *e, nh_fleet *fleet, int64_t member)
{
    enum { FEW = 32 };
    const nh_simulation *s = e->simulation;
    const int count = s->options.sweeps + s->options.variations;
    double few[FEW] = {0}, *value = count <= FEW ? few : malloc((size_t)count * sizeof *value);
    int used = 0;
    for (int i = 0; value && i < count; i++)
        if (s->sets_parameter[i])
            value[used++] = nh_value_of(s, nh_combination_of(e, member), nh_start_of(e, member), i);
    const nh_likeness fit = value ? nh_fleet_take(fleet, value) : NH_UNLIKE;
    if (value != few)
        free(value);
    return fit;
}

bool nh_ensemble_take_machine(const nh_ensemble *e, nh_fleet *fleet, int64_t member)
{
    const nh_likeness least = count_machines(e) > EXACT_MOST ? NH_NEARLY_LIKE : NH_LIKE;
    return take(e, fleet, member) >= least;
}

nh_status nh_ensemble_fleet(nh_ensemble *e, nh_fleet **out, nh_report *report)
{
    ranges r = {0};
    *out = e->fleet; /* made already */
    e->fleet = NULL;
    if (*out)
        return NH_OK;
    nh_status status = NH_NO_MEMORY;
    if (list_parameters(e->simulation, &r))
        status = nh_fleet_create(out, e->system, &r.range, functions_of(e), report);
    else
        nh_fail_memory(report);
    free(r.name);
    free(r.low);
    return status;
}

/* A machine is also built alone: its equations have to be the same, number by number. */
static nh_status compare(nh_ensemble *e, int64_t member, bool *good, nh_report *report)
{
    const int64_t start = e->varies_machines ? nh_start_of(e, member) : -1;
    nh_system *alone = NULL;
    nh_report why;
    nh_status status = NH_OK;
    *good = nh_ensemble_build(e, nh_combination_of(e, member), start, &alone, &why) == NH_OK;
    if (*good)
        status = nh_fleet_agrees(good, e->fleet, alone, report);
    nh_system_free(alone);
    return status;
}

/* Whether most machines are of the fleet, of SAMPLED ones from both ends to the middle; the first
 * of them are compared. */
static nh_status try_fleet(nh_ensemble *e, bool *good, nh_report *report)
{
    nh_status status = NH_OK;
    int compared = 0, fitting = 0;
    *good = true;
    for (int i = 0; i < SAMPLED && *good && status == NH_OK; i++) {
        const int64_t member = e->members * (i % 2 ? SAMPLED - i / 2 : i / 2 + 1) / (SAMPLED + 2);
        if (take(e, e->fleet, member) == NH_LIKE && compared++ < COMPARED)
            status = compare(e, member, good, report);
        fitting += nh_ensemble_take_machine(e, e->fleet, member);
    }
    *good = *good && compared > 0 && fitting > SAMPLED * 3 / 4;
    return status;
}

static bool may_be_fleet(const nh_ensemble *e)
{
    const nh_simulation_options *o = &e->simulation->options;
    const bool few_starts = e->each <= STARTS_MOST && o->starts != NH_STARTS_RANDOM;
    return o->model && e->system->mechanics && !e->simulation->how.compose &&
           count_machines(e) >= MACHINES_LEAST && (e->varies_machines || few_starts);
}

nh_status nh_ensemble_find_fleet(nh_ensemble *e, nh_report *report)
{
    if (!may_be_fleet(e))
        return NH_OK;
    nh_fleet *made = NULL;
    nh_status status = nh_ensemble_fleet(e, &made, report);
    if (status != NH_OK || !made)
        return status;
    e->fleet = made;
    status = try_fleet(e, &e->is_fleet, report);
    if (e->is_fleet) {
        e->stretch = e->members;
        return status;
    }
    nh_fleet_free(e->fleet);
    e->fleet = NULL;
    return status;
}
