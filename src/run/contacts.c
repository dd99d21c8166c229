/* Contacts and grips of a run: its gears, one for each mode, and what is shown of them. */
#include "run/contacts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/inputs.h"

/* ---- creation ---- */

/* Steps of other lengths than the run's begin and end where the mode changes, which a pace cannot
 * know. */
static nh_status refuse_pace(const nh_run *run, nh_report *report)
{
    return run->pace ? nh_refuse_modes(run->system,
                                       "steps that follow a pace cannot end where contacts and "
                                       "grips change",
                                       report)
                     : NH_OK;
}

static bool make_arrays(nh_contacts *c)
{
    const nh_contact_layout *of = &c->layout;
    const size_t rows = (size_t)of->rows, items = (size_t)of->items, n = (size_t)of->n;
    const size_t numbers = nh_contact_numbers(of), matrix = 8 * rows * rows + 16 * rows + 4 * n;
    const size_t shown = 3 * items;
    const size_t observed =
        1 + n + rows + (size_t)c->problem->observables + (size_t)of->reactions + items + rows;
    c->room = nh_aligned_doubles(numbers + rows * rows + observed + matrix + shown);
    c->numbers = c->room;
    c->response = c->numbers + numbers;
    c->observed = c->response + rows * rows;
    c->matrix = c->observed + observed;
    c->shown = c->matrix + matrix;
    c->size = c->shown + 2 * items;
    c->hold = calloc(3 * items + 1, sizeof *c->hold);
    c->before = c->hold + items;
    c->was = c->before + items;
    c->item = calloc(items + 1, sizeof *c->item);
    c->mode = calloc(items + 1, 1);
    c->row_of = calloc(2 * items + 2 * rows + 1, sizeof *c->row_of);
    c->crossed = calloc((4 + NH_TOLD) * items + 1, sizeof *c->crossed);
    if (!c->room || !c->hold || !c->item || !c->mode || !c->row_of || !c->crossed)
        return false;
    c->kept = c->row_of + items;
    c->touches = c->crossed + items;
    c->hit = c->touches + items;
    c->excluded = c->hit + items;
    c->acting = c->excluded + items;
    c->modes = nh_mode_solver_create(of->items, of->rows);
    c->impacts = nh_impact_solver_create(of->items, of->rows);
    for (int i = 0, row = of->constraints; i < of->items; i++) {
        c->row_of[i] = row;
        row += c->problem->item[i].components;
    }
    return c->modes && c->impacts && nh_contacts_has_guide(c);
}

/* Whether nothing that items touch moves by itself, like a belt or a table. */
static bool is_at_rest(nh_mechanics *s)
{
    double zero = 0, *v = calloc((size_t)s->n + 1, sizeof *v);
    bool still = v != NULL;
    for (int i = 0; still && i < s->problem->items; i++)
        for (int k = 0; still && k < s->problem->item[i].components; k++) {
            const nh_expr speed = s->problem->item[i].speed[k];
            still = !nh_depends(s->g, speed, NH_TIME) && !nh_depends(s->g, speed, NH_U) &&
                    nh_evaluate(s->g, &speed, 1, 0, s->start, v, NULL, &zero) && zero == 0;
        }
    free(v);
    return still;
}

static nh_status create(nh_run *run, const nh_run_options *options, nh_report *report)
{
    if (nh_system_items(run->system) == 0)
        return NH_OK;
    nh_status status = refuse_pace(run, report);
    if (status != NH_OK)
        return status;
    nh_contacts *c = run->contacts = calloc(1, sizeof *c);
    if (!c)
        return nh_fail_memory(report);
    c->base = run->system;
    c->problem = run->system->mechanics->problem;
    c->layout = nh_contact_layout_of(c->problem, run->system->shape.n, run->system->shape.m);
    c->present = -1;
    c->by_energy = run->system->facts.keeps_energy && is_at_rest(run->system->mechanics);
    c->options = (nh_run_options){
        .step = run->step,
        .members = 1,
        .steps = options->steps,
        .backend = options->backend == NH_BACKEND_COMPILED ? NH_BACKEND_COMPILED : NH_BACKEND_TAPE,
        .compose = run->compose,
        .compensated = options->compensated};
    status =
        nh_engine_call(&c->engine, run->system, nh_variant_here(), 1, NH_FN_BIT(CONTACT), report);
    if (status == NH_OK && !make_arrays(c))
        status = nh_fail_memory(report);
    return status;
}

/* Its checks do not know of modes. */
static nh_status allocate(nh_run *run, nh_report *report)
{
    (void)report;
    if (run->contacts) {
        run->unwatched = true;
        run->trial.open = false;
        run->crossings->needs_slope = true;
    }
    return NH_OK;
}

static void free_all(nh_run *run)
{
    nh_contacts *c = run->contacts;
    if (!c)
        return;
    for (int i = 0; i < c->gears; i++) {
        nh_engine_free(c->gear[i].observe);
        free(c->gear[i].observe);
        nh_run_free(c->gear[i].run);
        free(c->gear[i].hold);
    }
    free(c->gear);
    nh_contacts_free_guide(c);
    nh_engine_free(&c->engine);
    nh_mode_solver_free(c->modes);
    nh_impact_solver_free(c->impacts);
    free(c->room);
    free(c->hold);
    free(c->item);
    free(c->mode);
    free(c->row_of);
    free(c->crossed);
    free(c);
    run->contacts = NULL;
}

const nh_attachment nh_attachment_contacts = {
    .create = create, .allocate = allocate, .free = free_all};

/* ---- gears ---- */

/* What the method does not do in a mode, of which the items that hold or slip are named. */
static nh_status refuse_mode(const nh_run *run, const nh_report *why, nh_report *report)
{
    const nh_contacts *c = run->contacts;
    char names[200] = "", text[600];
    for (int slips = 1; slips >= 0 && !names[0]; slips--)
        for (int i = 0; i < c->layout.items; i++)
            if (slips ? nh_slips(c->hold[i]) : nh_holds(c->hold[i]))
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%.60s' %s",
                         names[0] ? ", " : "", c->problem->item[i].name, slips ? "slips" : "holds");
    snprintf(text, sizeof text, "while %s, %.*s", names, (int)strcspn(why->text, ";"), why->text);
    return nh_refuse_modes(run->system, text, report);
}

static nh_status add_gear(nh_run *run, nh_report *report)
{
    nh_contacts *c = run->contacts;
    const size_t size = (size_t)c->layout.items * sizeof *c->hold;
    nh_gear *more = realloc(c->gear, ((size_t)c->gears + 1) * sizeof *more);
    c->gear = more ? more : c->gear;
    nh_gear made = {.hold = more ? malloc(size) : NULL};
    if (!made.hold)
        return nh_fail_memory(report);
    memcpy(made.hold, c->hold, size);
    nh_report why = {0};
    nh_status status = nh_system_mode(&made.system, c->base, c->hold, &why);
    if (status == NH_OK)
        status = nh_run_create_choice(&made.run, made.system, &run->choice, &c->options, &why);
    if (status == NH_NOT_APPLICABLE)
        refuse_mode(run, &why, report);
    else if (status != NH_OK && report)
        *report = why;
    if (status == NH_OK && made.run->memory > run->memory)
        status = nh_fail(report, NH_BROKEN_METHOD,
                         "%s needs more memory in a mode than the run has", run->system->name);
    made.observe = status == NH_OK ? calloc(1, sizeof *made.observe) : NULL;
    if (status == NH_OK && !made.observe)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_engine_call(made.observe, made.system, nh_variant_here(), 1, NH_FN_BIT(OBSERVE),
                                report);
    if (status != NH_OK) {
        if (made.observe)
            nh_engine_free(made.observe);
        free(made.observe);
        nh_run_free(made.run);
        free(made.hold);
        return status;
    }
    c->gear[c->gears++] = made;
    return NH_OK;
}

static int find_gear(const nh_contacts *c)
{
    for (int i = 0; i < c->gears; i++)
        if (memcmp(c->gear[i].hold, c->hold, (size_t)c->layout.items * sizeof *c->hold) == 0)
            return i;
    return -1;
}

static void take_holds(nh_contacts *c, const double *inputs)
{
    for (int i = 0; i < c->layout.items; i++)
        c->hold[i] =
            (nh_hold)inputs[c->problem->first_of_items + NH_ITEM_NUMBERS * i + NH_ITEM_HOLD];
}

nh_status nh_contacts_engage(nh_run *run, const double *inputs, nh_report *report)
{
    nh_contacts *c = run->contacts;
    take_holds(c, inputs);
    int index = c->present;
    if (index >= 0 &&
        memcmp(c->gear[index].hold, c->hold, (size_t)c->layout.items * sizeof *c->hold) == 0)
        return NH_OK;
    index = find_gear(c);
    if (index < 0) {
        const nh_status status = add_gear(run, report);
        if (status != NH_OK)
            return status;
        index = c->gears - 1;
    }
    nh_crossings *w = run->crossings;
    const nh_run *gear = c->gear[index].run;
    c->present = index;
    run->engines = gear->engines;
    run->prepared.until = 0;
    w->engine = gear->crossings->engine;
    w->system = gear->system;
    w->shape = run->engines->shape;
    w->problem = gear->system->mechanics->problem;
    return NH_OK;
}

static double *inputs_of(const nh_run *run, const group *g)
{
    return g->block + run->state_size - (size_t)run->system->shape.inputs;
}

bool nh_contacts_prepare(nh_run *run, const group *g, nh_step_failure *f)
{
    if (!run->contacts ||
        nh_contacts_engage(run, inputs_of(run, g), &run->contacts->report) == NH_OK)
        return true;
    *f = (nh_step_failure){NH_FAILED_CONTACT, run->steps, g->first_member, 0, 0};
    return false;
}

nh_status nh_contacts_begin(nh_run *run, int member, nh_report *report)
{
    nh_contacts *c = run->contacts;
    if (!c)
        return NH_OK;
    group *g = run->group + member;
    nh_crossings *w = run->crossings;
    nh_node_of_block(w, g->block, run->time, w->fresh);
    w->inputs = inputs_of(run, g);
    const nh_status status = nh_contacts_decide(run, w->fresh, inputs_of(run, g), true, report);
    if (status != NH_OK)
        return status;
    memcpy(g->block, w->fresh + NODE_Q, 2 * (size_t)w->n * sizeof *g->block);
    nh_contacts_guide(run, w->fresh, inputs_of(run, g));
    nh_contacts_set_sides(run, nh_crossings_kept(w, member), w->inputs);
    return NH_OK;
}

int nh_run_mode(const nh_run *run, int member, int item)
{
    const nh_contacts *c = run->contacts;
    if (!c || member < 0 || member >= run->members || item < 0 || item >= c->layout.items)
        return -1;
    return (int)nh_contact_numbers_of(c, inputs_of(run, run->group + member), item)[NH_ITEM_SHOWN];
}

int64_t nh_run_away(const nh_run *run, int member, int item, double *time)
{
    const bool away = nh_run_mode(run, member, item) == 0;
    const nh_contacts *c = run->contacts;
    double now;
    *time = 0;
    if (!c || member < 0 || member >= run->members || item < 0 || item >= c->layout.items)
        return 0;
    nh_run_state(run, member, &now, NULL, NULL);
    const double *of = nh_contact_numbers_of(c, inputs_of(run, run->group + member), item);
    *time = fabs(of[NH_ITEM_AWAY] + (away ? now : 0));
    return (int64_t)of[NH_ITEM_TIMES];
}

/* ---- energy ---- */

/* The reactions and powers of a mode in a state; the energy is the first of c->observed. */
static const double *observe(nh_contacts *c, const nh_gear *gear, double t, const double *q,
                             const double *v, const double *u)
{
    const nh_problem *p = gear->system->mechanics->problem;
    const nh_shape *s = &gear->system->shape;
    gear->observe->call[NH_FN_OBSERVE](gear->observe->self, NH_FN_OBSERVE, t, q, v, NULL,
                                       c->observed, u);
    return c->observed + 1 + s->m + s->positions + p->own_observables +
           (gear->system->facts.coupled ? NH_COUPLED_OBSERVABLES : 0);
}

const double nh_loss_place[NH_LOSS_PLACES] = {0.069431844202973712, 0.33000947820757187,
                                              0.66999052179242813, 0.93056815579702629};
const double nh_loss_weight[NH_LOSS_PLACES] = {0.17392742256872693, 0.32607257743127307,
                                               0.32607257743127307, 0.17392742256872693};

/* What every grip takes while the member goes from one node to the fraction x of the way to
 * another, by Gauss's rule with four states of the method itself. */
static void add_losses(nh_run *run, const double *from, const double *to, double x, double *u)
{
    nh_contacts *c = run->contacts;
    const nh_gear *gear = c->gear + c->present;
    const double *at = run->crossings->at;
    for (int j = 0; j < NH_LOSS_PLACES; j++) {
        if (!nh_crossings_between(run, from, to, x * nh_loss_place[j]))
            continue;
        const double *more =
            observe(c, gear, at[NODE_T], at + NODE_Q, at + NODE_Q + c->layout.n, u);
        for (int i = 0; i < c->layout.items; i++)
            nh_contact_numbers_of(c, u, i)[NH_ITEM_LOST] +=
                nh_loss_weight[j] * x * (to[NODE_T] - from[NODE_T]) * more[c->layout.reactions + i];
    }
}

void nh_contacts_lose(nh_run *run, const double *node, double time, double *u)
{
    nh_contacts *c = run->contacts;
    const double *more = observe(c, c->gear + c->present, node[NODE_T], node + NODE_Q,
                                 node + NODE_Q + c->layout.n, u);
    for (int i = 0; i < c->layout.items; i++)
        nh_contact_numbers_of(c, u, i)[NH_ITEM_LOST] += time * more[c->layout.reactions + i];
}

static int slipping_items(const nh_gear *gear, int items, int *which)
{
    int count = 0;
    for (int i = 0; i < items; i++)
        if (nh_slips(gear->hold[i])) {
            *which = i;
            count++;
        }
    return count;
}

bool nh_contacts_only_hold(const nh_run *run)
{
    const nh_contacts *c = run->contacts;
    int which;
    return c && slipping_items(c->gear + c->present, c->layout.items, &which) == 0;
}

/* Whether the energy itself tells what the only grip that slips takes. */
static bool is_told_by_energy(const nh_contacts *c, int *which)
{
    return slipping_items(c->gear + c->present, c->layout.items, which) == 1 && c->by_energy;
}

void nh_contacts_pass(nh_event_walk *k, const double *from, const double *to, double x)
{
    nh_contacts *c = k->run->contacts;
    int which = -1;
    if (c && c->present >= 0 && !is_told_by_energy(c, &which) && which >= 0)
        add_losses(k->run, from, to, x,
                   k->g->block + k->run->state_size - (size_t)k->run->system->shape.inputs);
}

/* ---- what is shown ---- */

/* The losses between the last node and a state. */
static void add_latest(const nh_run *run, int member, double t, double *u)
{
    nh_crossings *w = run->crossings;
    double *kept = nh_crossings_kept(w, member);
    const double *from = nh_crossings_node(w, kept, 0), *to = nh_crossings_node(w, kept, 1);
    if (kept[KEPT_NODES] == 2 && t > from[NODE_T] && t <= to[NODE_T]) {
        w->inputs = u;
        add_losses((nh_run *)run, from, to, (t - from[NODE_T]) / (to[NODE_T] - from[NODE_T]), u);
    }
}

void nh_contacts_show(const nh_run *run, int walked, double t, const double *q, const double *v,
                      double *u)
{
    nh_contacts *c = run->contacts;
    if (!c || u[c->problem->first_of_items + NH_ITEM_HOLD] == NH_HOLD_UNDECIDED ||
        nh_contacts_engage((nh_run *)run, u, NULL) != NH_OK)
        return;
    const int reactions = c->layout.reactions;
    int which = -1;
    const bool by_energy = is_told_by_energy(c, &which);
    if (!by_energy && which >= 0 && walked >= 0)
        add_latest(run, walked, t, u);
    const double *more = observe(c, c->gear + c->present, t, q, v, u);
    double *of_reactions = nh_contact_numbers_of(c, u, c->layout.items);
    memcpy(of_reactions, more, (size_t)reactions * sizeof *more);
    for (int i = 0; i < c->layout.items; i++) {
        double *of = nh_contact_numbers_of(c, u, i);
        of[NH_ITEM_SPENT] = of[NH_ITEM_LOST];
    }
    if (by_energy)
        nh_contact_numbers_of(c, u, which)[NH_ITEM_SPENT] +=
            *nh_contact_number_of_all(c, u, NH_ALL_ENERGY) - c->observed[0];
}
