/* Derivatives of the states of a run: creation, and the steps. See tangent.h. */
#include "run/tangent.h"

#include "run/dual_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/input_table.h"

enum { CUTS_MAX = 8 };

/* ---- creation ---- */

/* The functions that the method calls, and those that events, inputs and observables need. */
nh_fn_set nh_tangent_functions(const nh_run *run, const nh_system *system)
{
    nh_fn_set all = nh_choice_functions(&run->choice, &system->shape) | NH_FN_BIT(OBSERVE);
    if (nh_system_events(system) > 0)
        all |= NH_FN_BIT(EVENTS) | NH_FN_BIT(CHANGES) | NH_FN_BIT(ACCELERATION);
    if (system->shape.inputs > 0)
        all |= NH_FN_BIT(INPUTS);
    if (system->constraints > 0)
        all |= NH_FN_BIT(KICK) | NH_FN_BIT(CLOSE);
    return all;
}

/* Parameters that become variables must not change what the equations are. */
static nh_status check_system(const nh_run *run, const nh_system *system, nh_report *report)
{
    const nh_shape *s = &system->shape, *own = &run->system->shape;
    nh_choice choice = run->choice;
    nh_report why;
    if (s->n != own->n || s->m != own->m || s->positions != own->positions ||
        s->angles != own->angles)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "derivatives by parameters of %s: the number of its equations depends on "
                       "the values of the parameters",
                       run->system->name);
    if (nh_choice_applies(&choice, system, &why) != NH_OK)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "derivatives by parameters: %s applies to %s with the present values of "
                       "its parameters, but not if they are varied: %s",
                       run->choice.method->name, run->system->name, why.text);
    return NH_OK;
}

nh_status nh_tangent_system(const nh_run *run, bool parameters, nh_system **own, nh_shape *shape,
                            nh_report *report)
{
    const bool named = run->system->mechanics->problem->fixed != NULL;
    nh_status status = NH_OK;
    *own = NULL;
    if (parameters && !named && run->system->mechanics->problem->parameters > 0) {
        status = nh_system_build_named(own, run->system, report);
        if (status == NH_OK)
            status = check_system(run, *own, report);
    }
    *shape = status == NH_OK && *own ? (*own)->shape : run->system->shape;
    /* What the run does, unless the energy is kept with the present values of the parameters only.
     */
    shape->energy_scales = run->system->shape.energy_scales && shape->energy_scales;
    return status;
}

static bool make_room(nh_tangent *t, const nh_run *run)
{
    const nh_shape *s = &t->system->shape;
    const nh_method *method = run->choice.method;
    const size_t passes = (size_t)run->members * (size_t)t->passes;
    const size_t scratch = method->scratch ? method->scratch(s, run->choice.option) : 0;
    const nh_fn_set functions = nh_tangent_functions(run, t->system);
    size_t most = 0;
    t->memory = method->memory ? method->memory(s, run->choice.option) : 0;
    t->inputs = (size_t)s->inputs;
    t->state_size = 4 * (size_t)s->n + (size_t)s->angles + t->memory + t->inputs;
    t->block_size = (t->state_size + 1) * NH_DUAL_PLACES;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        if (nh_fn_in(functions, fn) && nh_system_outputs(t->system, (nh_fn)fn) > most)
            most = nh_system_outputs(t->system, (nh_fn)fn);
    t->blocks = nh_aligned_doubles((2 * passes + 2 + 2 * (size_t)t->passes) * t->block_size);
    t->time = nh_aligned_doubles((2 * passes + (size_t)t->passes) * NH_DUAL_PLACES);
    t->engine.scratch = nh_aligned_doubles((2 * scratch + 64) * NH_DUAL_PLACES);
    t->values = nh_aligned_doubles((most + 1) * NH_DUAL_PLACES);
    t->normals = nh_aligned_doubles(((size_t)s->nb + 1 + 2 * (size_t)s->m + 2 * (size_t)s->n) *
                                    NH_DUAL_PLACES);
    t->table = calloc((size_t)t->count, sizeof *t->table);
    t->varied = calloc(t->inputs + 1, sizeof *t->varied);
    t->node = nh_aligned_doubles(NH_NODE_SIZE((size_t)s->n, (size_t)s->angles));
    if (!t->node || !t->blocks || !t->time || !t->engine.scratch || !t->values || !t->normals ||
        !t->table || !t->varied)
        return false;
    const bool repeats = t->own && nh_repeats_own_steps(run);
    t->plain = repeats ? nh_aligned_doubles(nh_own_room(run)) : NULL;
    if (repeats && !t->plain)
        return false;
    t->saved = t->blocks + passes * t->block_size;
    t->at = t->saved + passes * t->block_size;
    t->beside = t->at + t->block_size;
    t->time_saved = t->time + passes * NH_DUAL_PLACES;
    t->met_time = t->time_saved + passes * NH_DUAL_PLACES;
    t->met = t->beside + t->block_size;
    t->after = t->met + (size_t)t->passes * t->block_size;
    return true;
}

nh_status nh_tangent_applies(const nh_run *run, nh_report *report)
{
    const nh_status status = nh_dual_check(run->system, report);
    if (status != NH_OK)
        return status;
    if (run->pace)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "there are no derivatives of steps that follow the pace of the motion; use "
                       "steps of a given length, or a method with a tolerance, whose steps are "
                       "frozen");
    if (run->mixed)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "there are no derivatives of compositions of different methods; use one "
                       "method, or a composition that repeats it");
    return nh_system_refuse_items(run->system, "there are no derivatives of runs", report);
}

static nh_status make_engine(nh_tangent *t, const nh_run *run, const bool *varied,
                             nh_report *report)
{
    engine old = t->engine;
    t->engine = (engine){.kernel = old.kernel, .scratch = old.scratch};
    old.scratch = NULL;
    nh_engine_free(&old);
    t->prepared = true;
    return nh_dual_engine(&t->engine, t->system, nh_tangent_functions(run, t->system), run, varied,
                          report);
}

/* The parameters by which no direction has a derivative are numbers for the engine, which makes its
 * functions about as short as those of the run. */
nh_status nh_tangent_prepare(nh_run *run, nh_report *report)
{
    nh_tangent *t = run->tangents;
    if (t->prepared)
        return NH_OK;
    const size_t open = (size_t)run->system->mechanics->problem->open_values;
    const size_t passes = (size_t)run->members * (size_t)t->passes;
    bool more = t->engine.slots == NULL;
    for (size_t pass = 0; pass < passes; pass++) {
        const double *u =
            nh_tangent_number(t->blocks + pass * t->block_size, nh_tangent_first_input(run));
        for (size_t i = open; i < t->inputs; i++)
            for (int d = NH_DUAL_FIRST; d < NH_DUAL_PLACES && !t->varied[i - open]; d++)
                if (u[i * NH_DUAL_PLACES + (size_t)d] != 0)
                    more = t->varied[i - open] = true;
    }
    t->prepared = true;
    return more ? make_engine(t, run, t->varied, report) : NH_OK;
}

/* The same in the middle of a run, if nobody has asked for it before: without memory the next step
 * fails. */
static void prepare(nh_run *run)
{
    engine *e = &run->tangents->engine;
    if (run->tangents->prepared || nh_tangent_prepare(run, NULL) == NH_OK)
        return;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        e->call[fn] = nh_call_missing;
    e->self = &e->interpreter;
}

void nh_tangent_parameters_changed(nh_run *run)
{
    run->tangents->prepared = !run->tangents->own;
}

nh_status nh_tangent_create(nh_run *run, int count, bool parameters, nh_report *report)
{
    if (count < 1)
        return nh_fail(report, NH_BAD_ARGUMENT, "derivatives in %d directions", count);
    nh_status status = nh_tangent_applies(run, report);
    if (status != NH_OK)
        return status;
    nh_tangent *t = calloc(1, sizeof *t);
    if (!t)
        return nh_fail_memory(report);
    t->count = count;
    t->passes = (count + NH_DUAL_WIDTH - 1) / NH_DUAL_WIDTH;
    t->engine.kernel = nh_dual_kernel(run->choice.method);
    status = nh_tangent_system(run, parameters, &t->own, &t->shape, report);
    t->system = t->own ? t->own : run->system;
    if (status == NH_OK && !t->own)
        status = make_engine(t, run, NULL, report);
    if (status == NH_OK && !make_room(t, run))
        status = nh_fail_memory(report);
    if (status != NH_OK) {
        nh_tangent_free(t);
        return status;
    }
    nh_tangent_free(run->tangents);
    nh_tangent_attach(run, t);
    return NH_OK;
}

void nh_tangent_attach(nh_run *run, nh_tangent *t)
{
    run->tangents = t;
    run->differentiated = true;
    run->prepared.until = 0;
    for (int i = 0; i < run->members; i++)
        nh_tangent_reset(run, i);
}

nh_tangent *nh_tangent_detach(nh_run *run)
{
    nh_tangent *t = run->tangents;
    run->tangents = NULL;
    run->prepared.until = 0;
    return t;
}

void nh_tangent_free(nh_tangent *t)
{
    if (!t)
        return;
    for (int i = 0; t->table && i < t->count; i++)
        nh_input_table_free(&t->table[i].table);
    free(t->table);
    free(t->stretch);
    free(t->normals);
    nh_system_free(t->own);
    nh_engine_free(&t->engine);
    free(t->blocks);
    free(t->time);
    free(t->values);
    free(t->node);
    free(t->plain);
    free(t->varied);
    free(t);
}

/* ---- values ---- */

size_t nh_tangent_first_input(const nh_run *run)
{
    const nh_tangent *t = run->tangents;
    return t->state_size - t->inputs;
}

void nh_tangent_take_values(nh_run *run, const double *from, int lanes, int lane, bool inputs_only,
                            double *block)
{
    const nh_tangent *t = run->tangents;
    const nh_shape *s = &run->system->shape;
    const size_t state = 4 * (size_t)s->n + (size_t)s->angles, width = (size_t)lanes;
    const size_t kept = run->memory == t->memory ? run->memory : 0;
    const double *u = from + (state + run->memory) * width + lane;
    double *own = nh_tangent_number(block, nh_tangent_first_input(run));
    for (int i = 0; i < s->inputs; i++)
        nh_dual_set(nh_tangent_number(own, (size_t)i), u[(size_t)i * width]);
    for (size_t i = 0; i < state + kept && !inputs_only; i++)
        nh_dual_set(nh_tangent_number(block, i), from[i * width + (size_t)lane]);
}

/* Those of parameters, which come after the others. */
static void put_parameters(nh_run *run, double *block)
{
    const nh_tangent *t = run->tangents;
    const nh_problem *p = run->system->mechanics->problem;
    double *u = nh_tangent_number(block, nh_tangent_first_input(run));
    for (size_t i = (size_t)run->system->shape.inputs; i < t->inputs; i++)
        nh_dual_set(nh_tangent_number(u, i), p->parameter[i - (size_t)p->open_values].value);
}

void nh_tangent_reset(nh_run *run, int member)
{
    nh_tangent *t = run->tangents;
    if (!t)
        return;
    const group *g = run->group + member / run->group->lanes;
    for (int pass = 0; pass < t->passes; pass++) {
        double *block = nh_tangent_block(t, member, pass);
        memset(block, 0, t->block_size * sizeof *block);
        memset(t->time + (member * t->passes + pass) * NH_DUAL_PLACES, 0,
               NH_DUAL_PLACES * sizeof *t->time);
        nh_tangent_take_values(run, g->block, g->lanes, member - g->first_member, false, block);
        put_parameters(run, block);
    }
}

static void copy_all(nh_run *run, double *blocks, const double *from, double *time,
                     const double *time_from)
{
    const nh_tangent *t = run->tangents;
    const size_t passes = (size_t)run->members * (size_t)t->passes;
    memcpy(blocks, from, passes * t->block_size * sizeof *blocks);
    memcpy(time, time_from, passes * NH_DUAL_PLACES * sizeof *time);
}

void nh_tangent_save(nh_run *run)
{
    nh_tangent *t = run->tangents;
    if (t)
        copy_all(run, t->saved, t->blocks, t->time_saved, t->time);
}

void nh_tangent_restore(nh_run *run)
{
    nh_tangent *t = run->tangents;
    if (t)
        copy_all(run, t->blocks, t->saved, t->time, t->time_saved);
}

/* ---- steps ---- */

nh_kernel_io nh_tangent_arguments(nh_run *run, double *block, const nh_leg *leg, int64_t index)
{
    nh_tangent *t = run->tangents;
    const nh_shape *s = &t->shape;
    const size_t n = (size_t)s->n;
    double *at = nh_tangent_number(block, 4 * n);
    prepare(run);
    return (nh_kernel_io){
        .step = leg->clock.step,
        .time = leg->clock.time,
        .parts = run->parts,
        .part = run->part,
        .index = index,
        .q = block,
        .v = nh_tangent_number(block, n),
        .q_low = nh_tangent_number(block, 2 * n),
        .v_low = nh_tangent_number(block, 3 * n),
        .revolutions = at,
        .memory = nh_tangent_number(at, (size_t)s->angles),
        .u = nh_tangent_number(block, nh_tangent_first_input(run)),
        .scratch = t->engine.scratch,
        .scratch_peak = &t->engine.scratch_peak,
        .option = run->choice.option,
        .table = run->table,
        .size = run->size,
        .shape = s,
        .call = t->engine.call,
        .self = &t->engine.interpreter,
        .compensated = run->compensated,
    };
}

void nh_tangent_evaluate(const nh_run *run, nh_fn fn, double time, const double *moves,
                         double *block, const double *x, double *out)
{
    nh_tangent *t = run->tangents;
    double *v = nh_tangent_number(block, (size_t)t->system->shape.n);
    double *u = nh_tangent_number(block, nh_tangent_first_input(run));
    prepare((nh_run *)run);
    nh_dual_evaluate(&t->engine, fn, t->inputs, time, moves, block, v, x, out, u);
}

/* One step, in as few pieces as the equations can be solved for, as careful.c does it. */
static int step_in_pieces(nh_run *run, const nh_kernel_io *io, double *block)
{
    nh_tangent *t = run->tangents;
    double part[2 * NH_PARTS_MAX * CUTS_MAX];
    int status = NH_KERNEL_NOT_CONVERGED;
    memcpy(t->beside, block, t->block_size * sizeof *block);
    for (int cuts = 1; status == NH_KERNEL_NOT_CONVERGED && cuts <= CUTS_MAX; cuts *= 2) {
        nh_kernel_io pieces = *io;
        pieces.parts = run->parts * cuts;
        pieces.part = part;
        for (int i = 0; i < pieces.parts; i++) {
            const double length = run->parts > 1 ? run->part[i / cuts] : 1;
            const double begin = run->parts > 1 ? run->part[run->parts + i / cuts] : 0;
            part[i] = length / cuts;
            part[pieces.parts + i] = begin + i % cuts * part[i];
        }
        memcpy(block, t->beside, t->block_size * sizeof *block);
        status = nh_kernel_advance_team(t->engine.kernel, &pieces, 1, 1);
    }
    return status;
}

bool nh_repeats_own_steps(const nh_run *run)
{
    return nh_run_adapts(run) && run->choice.method->keeps_nodes;
}

size_t nh_own_room(const nh_run *run)
{
    const nh_shape *s = &run->system->shape;
    return run->state_size + NH_OWN_NODES * (size_t)NH_NODE_SIZE(s->n, s->angles);
}

int nh_take_own_step(const nh_run *run, const nh_kernel *kernel, nh_kernel_io *io, double *plain)
{
    engine *careful = &run->engines->careful; /* which keeps nothing */
    const nh_leg leg = {.clock = {io->time, io->step}};
    nh_kernel_io own = nh_kernel_arguments(run, careful, plain, 1, &leg, io->index);
    int status, of_own;
    own.bound = io->bound;
    own.node = io->node = plain + run->state_size;
    do {
        own.nodes_max = NH_OWN_NODES;
        own.nodes = io->nodes = 0;
        of_own = nh_kernel_advance_team(careful->kernel, &own, 1, 1);
        if (of_own != NH_KERNEL_OK && of_own != NH_KERNEL_FULL)
            return of_own;
        io->nodes_max = own.nodes;
        status = nh_kernel_advance_team(kernel, io, 1, 1);
    } while (of_own == NH_KERNEL_FULL && status == NH_KERNEL_FULL);
    return status;
}

/* The values of a block, as the run has them. */
static void give_values(nh_run *run, double *block, double *plain)
{
    const size_t inputs = (size_t)run->system->shape.inputs, rest = run->state_size - inputs,
                 first = nh_tangent_first_input(run);
    for (size_t i = 0; i < rest; i++)
        plain[i] = *nh_tangent_number(block, i);
    for (size_t i = 0; i < inputs; i++)
        plain[rest + i] = *nh_tangent_number(block, first + i);
}

static int take_own_steps(nh_run *run, nh_kernel_io *io, double *block, int64_t steps)
{
    nh_tangent *t = run->tangents;
    int status = NH_KERNEL_OK;
    for (int64_t i = 0; i < steps && status == NH_KERNEL_OK; i++) {
        give_values(run, block, t->plain);
        status = nh_take_own_step(run, t->engine.kernel, io, t->plain);
    }
    return status;
}

int nh_tangent_take_steps(nh_run *run, nh_kernel_io *io, double *block, const double *saved,
                          int64_t steps)
{
    nh_tangent *t = run->tangents;
    if (t->plain)
        return take_own_steps(run, io, block, steps);
    const int64_t from = io->index, to = from + steps;
    int status = nh_kernel_advance_team(t->engine.kernel, io, 1, steps);
    if (status == NH_KERNEL_NOT_CONVERGED && run->parts > 1) { /* it stopped in mid-step */
        memcpy(block, saved, t->block_size * sizeof *block);
        io->index = from;
    }
    while (status == NH_KERNEL_NOT_CONVERGED && io->index < to) {
        status = step_in_pieces(run, io, block);
        io->index += !status;
        if (!status && io->index < to && run->parts == 1)
            status = nh_kernel_advance_team(t->engine.kernel, io, 1, to - io->index);
        else if (!status && io->index < to)
            status = NH_KERNEL_NOT_CONVERGED; /* the next one, step by step */
    }
    return status;
}

static bool fails(nh_step_failure *f, int64_t index, int member)
{
    *f = (nh_step_failure){NH_FAILED_TANGENT, index, member, 0, 0};
    return false;
}

/* How the beginning and the length of the steps of a leg move. */
static void stretch_leg(const nh_tangent *t, int pass, const nh_leg *leg, double *begins,
                        double *longer, nh_kernel_io *io)
{
    if (!t->stretch)
        return;
    for (int d = 0; d < NH_DUAL_WIDTH; d++) {
        const double rate = t->stretch[pass * NH_DUAL_PLACES + d];
        begins[d] = rate * (leg->clock.time - t->origin);
        longer[d] = rate * leg->clock.step;
    }
    io->time_moves = begins;
    io->step_moves = longer;
}

/* The time of the state moves along. */
static void stretch_time(nh_tangent *t, int member, int pass, double now)
{
    double *time = t->time + (member * t->passes + pass) * NH_DUAL_PLACES;
    for (int d = 0; t->stretch && d < NH_DUAL_WIDTH; d++)
        time[d] = t->stretch[pass * NH_DUAL_PLACES + d] * (now - t->origin);
}

nh_status nh_tangent_stretch(nh_run *run, int direction, double rate, double origin,
                             nh_report *report)
{
    nh_tangent *t = run->tangents;
    const int width = NH_DUAL_WIDTH, pass = direction / width;
    if (!t->stretch)
        t->stretch = calloc((size_t)t->passes * NH_DUAL_PLACES, sizeof *t->stretch);
    if (!t->stretch)
        return nh_fail_memory(report);
    double now;
    nh_run_inner_state(run, 0, &now, NULL, NULL);
    t->stretch[pass * NH_DUAL_PLACES + direction % width] = rate;
    t->origin = origin;
    for (int member = 0; member < run->members; member++)
        stretch_time(t, member, pass, now);
    return NH_OK;
}

double nh_tangent_end_move(const nh_tangent *t, int pass, int direction, double time)
{
    return t->stretch ? t->stretch[pass * NH_DUAL_PLACES + direction] * (time - t->origin) : 0;
}

/* How the beginning of the clock of a leg and its first step move: after an event, the step ends
 * where it would without. Steps that a method chooses keep their lengths. */
static void move_first_step(const nh_run *run, int member, int pass, const nh_leg *leg,
                            double *begins, double *longer)
{
    const nh_tangent *t = run->tangents;
    const double *moves = t->time + (member * t->passes + pass) * NH_DUAL_PLACES;
    const double end = nh_clock_at(&leg->clock, leg->from + 1);
    const bool is_given = !nh_choice_adapts(&run->choice);
    for (int d = 0; d < NH_DUAL_WIDTH; d++) {
        longer[d] = is_given ? nh_tangent_end_move(t, pass, d, end) - moves[d] : 0;
        begins[d] = moves[d] - (double)leg->from * longer[d];
    }
}

bool nh_tangent_start(nh_run *run, const group *g, const nh_leg *leg, const double *before,
                      nh_step_failure *f)
{
    nh_tangent *t = run->tangents;
    for (int lane = 0; t && lane < g->lanes; lane++) {
        for (int pass = 0; pass < t->passes && !(g->retired >> lane & 1); pass++) {
            double *block = nh_tangent_block(t, g->first_member + lane, pass);
            nh_tangent_take_values(run, before, g->lanes, lane, false, block);
            nh_kernel_io io = nh_tangent_arguments(run, block, leg, leg->from);
            double begins[NH_DUAL_PLACES] = {0}, longer[NH_DUAL_PLACES] = {0};
            move_first_step(run, g->first_member + lane, pass, leg, begins, longer);
            io.time_moves = begins;
            io.step_moves = longer;
            if (nh_kernel_begin(&t->engine, &io) != NH_KERNEL_OK)
                return fails(f, leg->from, g->first_member + lane);
            nh_tangent_take_values(run, g->block, g->lanes, lane, false, block);
        }
    }
    return true;
}

/* Notes how large derivatives have become. */
static void watch_growth(nh_tangent *t, const nh_run *run, double time, const double *block)
{
    double most = 0;
    for (size_t i = 0; i < 2 * (size_t)run->system->shape.n; i++)
        for (int d = NH_DUAL_FIRST; d < NH_DUAL_PLACES; d++)
            most = fmax(most, fabs(block[i * NH_DUAL_PLACES + (size_t)d]));
    if (most > t->growth) {
        t->growth = most;
        t->grown_at = time;
    }
}

void nh_tangent_remark(nh_run *run)
{
    nh_tangent *t = run->tangents;
    double now;
    if (!t)
        return;
    nh_run_inner_state(run, 0, &now, NULL, NULL);
    for (int pass = 0; pass < t->passes; pass++) /* events and what follows them are not watched */
        watch_growth(t, run, now, nh_tangent_block(t, 0, pass));
    nh_remark_growth(&run->remarks, t->growth, t->grown_at - run->time);
}

bool nh_tangent_follow(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f)
{
    nh_tangent *t = run->tangents;
    for (int lane = 0; t && lane < g->lanes; lane++) {
        const int member = g->first_member + lane;
        for (int pass = 0; pass < t->passes && !(g->retired >> lane & 1); pass++) {
            double *block = nh_tangent_block(t, member, pass);
            nh_tangent_take_values(run, g->block, g->lanes, lane, true, block);
            memcpy(t->at, block, t->block_size * sizeof *block);
            nh_kernel_io io = nh_tangent_arguments(run, block, leg, leg->from);
            io.bound =
                nh_kernel_arguments(run, &run->engines->careful, g->block, g->lanes, leg, 0).bound;
            double begins[NH_DUAL_PLACES], longer[NH_DUAL_PLACES];
            stretch_leg(t, pass, leg, begins, longer, &io);
            if (nh_tangent_take_steps(run, &io, block, t->at, leg->to - leg->from) != NH_KERNEL_OK)
                return fails(f, io.index, member);
            nh_tangent_take_values(run, g->block, g->lanes, lane, false, block);
            stretch_time(t, member, pass, nh_clock_at(&leg->clock, leg->to));
            watch_growth(t, run, nh_clock_at(&leg->clock, leg->to), block);
        }
    }
    return true;
}
