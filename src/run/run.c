/* Creates runs and returns their state; loop.c advances them. */
#include "run/contacts.h"
#include "run/health.h"
#include "run/inputs.h"
#include "run/interrupt.h"
#include "run/lanes.h"
#include "run/mixed.h"
#include "run/pace.h"
#include "run/solution.h"
#include "run/tangent.h"
#include "system/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_struct.h"
#include "base/decimal.h"
#include "base/status.h"

enum { SCRATCH_MAX = 1 << 30 };

void *nh_aligned_doubles(size_t count)
{
    void *block = NULL;
    if (count > SIZE_MAX / 16 || posix_memalign(&block, 64, (count + 8) * sizeof(double)) != 0)
        return NULL;
    memset(block, 0, (count + 8) * sizeof(double));
    return block;
}

/* ---- engines ---- */

/* Finds the tapes that the kernel calls: those of the system, and the method's own if there are
 * any. */
static nh_status find_tapes(engine *e, const nh_system *system, nh_fn_set functions,
                            const nh_run *run, nh_report *report)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        if (!nh_fn_in(functions, fn))
            continue;
        nh_status status = nh_system_tape(e->interpreter.tape + fn, system, (nh_fn)fn, report);
        if (status != NH_OK)
            return status;
    }
    const nh_method *method = run ? run->choice.method : NULL;
    if (method && method->fuse &&
        !method->fuse(e->own, &system->shape, run->choice.option, run->table, e->interpreter.tape))
        return nh_fail_memory(report);
    for (int i = 0; i < NH_OWN_MAX; i++)
        e->interpreter.tape[NH_FN_COUNT + i] = e->own[i];
    return NH_OK;
}

/* Allocates slots for all of them, with constants in place. */
static nh_status make_slots(engine *e, int lanes, nh_report *report)
{
    size_t total = 0, used = 0, width = (size_t)lanes;
    for (int fn = 0; fn < NH_CALLS; fn++)
        if (e->interpreter.tape[fn])
            total += nh_tape_room(e->interpreter.tape[fn]) * width;
    double *slots = e->slots = nh_aligned_doubles(total);
    if (!slots)
        return nh_fail_memory(report);
    for (int fn = 0; fn < NH_CALLS; fn++) {
        const nh_tape *tape = e->interpreter.tape[fn];
        if (!tape)
            continue;
        e->interpreter.slots[fn] = slots + used;
        for (size_t c = 0; c < tape->constants; c++)
            for (size_t l = 0; l < width; l++)
                slots[used + c * width + l] = tape->constant[c];
        used += nh_tape_room(tape) * width;
    }
    return NH_OK;
}

/* The functions of the system that have no tape are those that the method skips. */
static void fill_calls(engine *e, nh_call_fn *call)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        e->call[fn] = e->callbacks || e->interpreter.tape[fn] ? call : nh_call_missing;
    for (int fn = NH_FN_COUNT; fn < NH_CALLS; fn++)
        e->call[fn] = e->interpreter.tape[fn] ? call : NULL;
}

nh_status nh_engine_call_tapes(engine *e, nh_variant variant, int lanes, nh_report *report)
{
    e->self = &e->interpreter;
    const nh_status status = make_slots(e, lanes, report);
    fill_calls(e, nh_interpreter_of(variant));
    if (status == NH_OK)
        nh_machine_make(&e->machine, e->call, &e->interpreter, variant, lanes);
    return status;
}

/* For the functions of a run's method, or without a run. */
static nh_status prepare_calls(engine *e, const nh_system *system, nh_variant variant, int lanes,
                               nh_fn_set functions, const nh_run *run, nh_report *report)
{
    if (system->mechanics) {
        nh_status status = find_tapes(e, system, functions, run, report);
        return status == NH_OK ? nh_engine_call_tapes(e, variant, lanes, report) : status;
    }
    e->self = e->callbacks = nh_callback_space_create(system);
    fill_calls(e, nh_callbacks_call);
    return e->callbacks ? NH_OK : nh_fail_memory(report);
}

nh_status nh_engine_call(engine *e, const nh_system *system, nh_variant variant, int lanes,
                         nh_fn_set functions, nh_report *report)
{
    return prepare_calls(e, system, variant, lanes, functions, NULL, report);
}

/* Twice what the method asks for, so that a method that takes more is detected before it does any
 * harm. Untouched memory costs nothing. */
static bool make_scratch(engine *e, size_t size, int lanes)
{
    enum { RESERVE = 64 };
    void *block = NULL;
    size_t bytes = (2 * size + RESERVE) * (size_t)lanes * sizeof(double);
    if (posix_memalign(&block, 64, bytes) != 0)
        return false;
    e->scratch = block;
    e->scratch_size = size;
    return true;
}

/* `often`: there will be so many steps that functions of the method's own may pay off. */
static nh_status prepare_engine(engine *e, const nh_run *run, nh_variant variant, int lanes,
                                bool often, nh_report *report)
{
    const nh_method *method = run->choice.method;
    size_t scratch = method->scratch ? method->scratch(&run->system->shape, run->choice.option) : 0;
    if (scratch > SCRATCH_MAX)
        return nh_fail(
            report, NH_TOO_LARGE,
            "%s on %s would need %.0f GB of workspace; use fewer stages or another method",
            method->name, run->system->name, (double)scratch * 8e-9);
    e->kernel = nh_method_kernel(method, variant);
    if (!make_scratch(e, scratch, lanes))
        return nh_fail_memory(report);
    return prepare_calls(e, run->system, variant, lanes,
                         nh_choice_functions(&run->choice, &run->system->shape), often ? run : NULL,
                         report);
}

void nh_engine_free(engine *e)
{
    free(e->scratch);
    free(e->slots);
    nh_machine_free(&e->machine);
    nh_callback_space_free(e->callbacks);
    for (int i = 0; i < NH_OWN_MAX; i++)
        nh_tape_free(e->own[i]);
    for (int i = 0; i < NH_CALLS; i++)
        nh_tape_free(e->forward[i]);
}

/* ---- groups ---- */

static bool make_groups(nh_run *run, int lanes)
{
    int groups = (run->members + lanes - 1) / lanes;
    /* blocks begin at cache lines and are contiguous: a few steps of many groups are mostly a walk
     * through memory */
    const size_t size = (run->state_size * (size_t)lanes + 7) / 8 * 8;
    run->group = calloc((size_t)groups, sizeof *run->group);
    run->lane_state = nh_aligned_doubles(2 * run->state_size);
    run->blocks = nh_aligned_doubles(2 * (size_t)groups * size);
    if (!run->group || !run->lane_state || !run->blocks)
        return false;
    for (; run->groups < groups; run->groups++) {
        group *g = run->group + run->groups;
        *g = (group){.lanes = lanes, .first_member = run->groups * lanes};
        int used = run->members - g->first_member;
        g->retired = used < lanes ? (1u << lanes) - (1u << used) : 0;
        g->block = run->blocks + (size_t)run->groups * size;
        g->saved = g->block + (size_t)groups * size;
    }
    const size_t inputs = (size_t)run->system->shape.inputs;
    if (run->members > 1 && inputs > 0)
        run->prepared.inputs =
            nh_aligned_doubles(NH_PREPARED_CALLS * (size_t)groups * (size_t)lanes * inputs);
    return run->members == 1 || inputs == 0 || run->prepared.inputs;
}

static nh_status prepare_engines(nh_run *run, const nh_run_options *options, nh_report *report)
{
    nh_variant one = nh_variant_here(), wide = nh_variant_wide();
    /* lanes that choose their own steps are at different times, but functions get one time for all;
     * steps that follow the pace of the motion have different lengths, but kernels get one */
    bool in_step = !run->pace && (run->system->facts.autonomous || !nh_choice_adapts(&run->choice));
    bool in_lanes = run->members > 1 && run->system->mechanics && in_step && !run->crossings;
    int lanes = in_lanes ? nh_variant_lanes(wide) : 1;
    const bool is_compiled = options->backend == NH_BACKEND_COMPILED;
    const bool often = lanes > 1 ? nh_choice_adapts(&run->choice) : !is_compiled;
    nh_status status = prepare_engine(&run->own.careful, run, one, 1, often, report);
    if (status != NH_OK)
        return status;
    if (!make_groups(run, lanes))
        return nh_fail_memory(report);
    run->own.backend = NH_BACKEND_TAPE;
    run->trial.open = options->backend == NH_BACKEND_AUTO;
    run->trial.expected = options->steps;
    run->patience = (nh_patience){options->stop, options->user};
    status = nh_interrupt_prepare(run, report);
    if (status != NH_OK)
        return status;
    if (run->mixed)
        status = nh_mixed_prepare(run, options, report);
    if (is_compiled)
        return run->mixed ? status : nh_run_compile(run, report);
    if (status != NH_OK)
        return status;
    return lanes > 1 ? prepare_engine(&run->own.fast, run, wide, lanes, true, report) : NH_OK;
}

/* ---- creation ---- */

static nh_status check_options(const nh_run_options *options, nh_report *report)
{
    if (!(options->step > 0) || !isfinite(options->step))
        return nh_fail(report, NH_BAD_ARGUMENT, "the step must be a positive number, not %g",
                       options->step);
    if (options->members < 0 || options->members > 1 << 26)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the number of members must lie between 1 and %d, not %d", 1 << 26,
                       options->members);
    return NH_OK;
}

/* Makes the table of the method and, if the method uses them, the scales of the components of a
 * state: the scale of a coordinate also applies to its velocity, unless that has its own. */
static bool make_table(nh_run *run)
{
    const nh_method *method = run->choice.method;
    const nh_mechanics *mechanics = run->system->mechanics;
    const double *scale = method->scaled && mechanics ? mechanics->problem->scale : NULL;
    const size_t n = (size_t)run->system->shape.n, nq = (size_t)run->system->coordinates;
    const size_t own = method->table_size ? method->table_size(run->choice.option) : 0;
    run->table_size = own + (scale ? 2 * n : 0);
    run->table = calloc(run->table_size + 1, sizeof *run->table);
    if (run->table && method->table)
        method->table(run->choice.option, run->table);
    if (!run->table || !scale)
        return run->table != NULL;
    double *of_q = run->table + own, *of_v = of_q + n;
    of_q[-1] = 1;
    for (size_t i = 0; i < n; i++) {
        const double q = i < nq ? scale[i] : 0, v = scale[nq + i];
        of_q[i] = q > 0 ? q : 1;
        of_v[i] = v > 0 ? v : of_q[i];
    }
    return true;
}

/* In a mode there are more constraints, and conditions on positions among them. */
static size_t largest_memory(const nh_run *run)
{
    const nh_method *method = run->choice.method;
    nh_shape shape = run->system->shape;
    size_t most = method->memory ? method->memory(&shape, run->choice.option) : 0;
    for (int i = 0; i < nh_system_items(run->system) && method->memory; i++) {
        const bool contact = nh_system_item_is_contact(run->system, i);
        for (int k = 0; k < run->system->mechanics->problem->item[i].components; k++) {
            shape.m++;
            shape.positions += contact;
            const size_t size = method->memory(&shape, run->choice.option);
            most = size > most ? size : most;
        }
    }
    return most;
}

static nh_status prepare_method(nh_run *run, const nh_run_options *options, nh_report *report)
{
    const char *list;
    nh_status status = nh_composition_take(&list, NULL, options->compose, report);
    if (status == NH_OK)
        status = nh_choice_in_doubles(&run->choice, report);
    if (status == NH_OK)
        status = nh_choice_applies(&run->choice, run->system, report);
    if (status != NH_OK)
        return status;
    if (nh_choice_pace(&run->choice) > 0)
        status = nh_pace_open(&run->pace, run->system, nh_choice_pace(&run->choice), report);
    if (status != NH_OK)
        return status;
    run->parts = 1;
    run->compose = options->compose ? strdup(options->compose) : NULL;
    if (list)
        status =
            run->compose ? nh_mixed_open(&run->mixed, run, list, report) : nh_fail_memory(report);
    else if (options->compose)
        status = run->compose ? nh_composition_parts(run->compose, &run->choice, run->part,
                                                     &run->parts, report)
                              : nh_fail_memory(report);
    if (status != NH_OK)
        return status;
    const nh_method *method = run->choice.method;
    const nh_shape *shape = &run->system->shape;
    run->compensated = options->compensated == NH_ON ||
                       (options->compensated == NH_AS_ADVISED &&
                        (run->mixed ? nh_mixed_compensates(run->mixed) : method->compensate));
    run->memory = run->mixed ? 0 : largest_memory(run);
    run->state_size =
        4 * (size_t)shape->n + (size_t)shape->angles + run->memory + (size_t)shape->inputs;
    if (run->pace && !nh_pace_extend(run->pace, &run->state_size))
        return nh_fail_memory(report);
    if (!make_table(run))
        return nh_fail_memory(report);
    if (method->sizes)
        method->sizes(run->choice.option, run->size);
    return NH_OK;
}

nh_status nh_run_create(nh_run **out, const nh_system *system, const nh_run_options *options,
                        nh_report *report)
{
    *out = NULL;
    nh_run_options own;
    nh_choice choice;
    nh_status status = NH_OPTIONS_TAKE(&own, options, nh_run_options, compensated, report);
    const bool planned = own.time != 0 || own.every != 0 || own.tolerance != 0 ||
                         own.absolute != 0 || own.t0 != 0 || own.q || own.v;
    if (status == NH_OK && planned)
        status =
            nh_fail(report, NH_BAD_ARGUMENT,
                    "a run has a step and no plan: its start is set by nh_run_start, a "
                    "tolerance is an option of the method; time and every are for simulations");
    const char *list;
    if (status == NH_OK)
        status = nh_composition_take(&list, own.method, own.compose, report);
    if (status == NH_OK && list)
        own.method = own.compose = list;
    if (status == NH_OK)
        status = nh_choice_or_advised(&choice, own.method, system, report);
    return status == NH_OK ? nh_run_create_choice(out, system, &choice, &own, report) : status;
}

nh_status nh_run_create_choice(nh_run **out, const nh_system *system, const nh_choice *choice,
                               const nh_run_options *options, nh_report *report)
{
    *out = NULL;
    nh_status status = check_options(options, report);
    if (status != NH_OK)
        return status;
    nh_run *run = calloc(1, sizeof *run);
    if (!run)
        return nh_fail_memory(report);
    run->system = system;
    run->engines = &run->own;
    run->own.shape = &system->shape;
    run->choice = *choice;
    run->step = options->step;
    run->members = options->members ? options->members : 1;
    status = prepare_method(run, options, report);
    NH_EACH_ATTACHED(a, create)
    {
        if (status == NH_OK)
            status = (*a)->create(run, options, report);
    }
    if (status == NH_OK)
        status = prepare_engines(run, options, report);
    NH_EACH_ATTACHED(a, allocate)
    {
        if (status == NH_OK)
            status = (*a)->allocate(run, report);
    }
    if (status != NH_OK) {
        nh_run_free(run);
        return status;
    }
    *out = run;
    return NH_OK;
}

void nh_run_free(nh_run *run)
{
    if (!run)
        return;
    NH_EACH_ATTACHED(a, free)
    {
        (*a)->free(run);
    }
    free(run->blocks);
    free(run->own_nodes);
    free(run->compose);
    free(run->prepared.inputs);
    free(run->group);
    free(run->lane_state);
    free(run->table);
    nh_pace_free(run->pace);
    nh_mixed_free(run->mixed);
    nh_engine_free(&run->own.careful);
    nh_engine_free(&run->own.fast);
    nh_loaded_close(&run->own.loaded);
    nh_remarks_free(&run->remarks);
    free(run);
}

/* ---- state ---- */

nh_backend nh_run_backend(const nh_run *run)
{
    return run->engines->backend;
}

int64_t nh_run_steps(const nh_run *run)
{
    return run->steps;
}

bool nh_run_adapts(const nh_run *run)
{
    return run->pace || nh_choice_adapts(&run->choice);
}

nh_finer nh_run_finer(const nh_run *run, double step)
{
    const nh_method *method = run->choice.method;
    nh_finer finer;
    nh_print(finer.text, sizeof finer.text, "a smaller step (now %g)", step);
    for (int i = 0; nh_choice_adapts(&run->choice) && i < method->options; i++)
        if (strcmp(method->option[i].name, "tolerance") == 0)
            nh_print(finer.text, sizeof finer.text, "a smaller tolerance (now %g)",
                     run->choice.option[i]);
    if (run->pace)
        nh_print(finer.text, sizeof finer.text, "a smaller pace (now %g)",
                 nh_choice_pace(&run->choice));
    return finer;
}

size_t nh_run_counts_row(const nh_run *run)
{
    const nh_shape *s = &run->system->shape;
    return 4 * (size_t)s->n + (size_t)s->angles + run->choice.method->counts(s, run->choice.option);
}

void nh_run_own_steps(const nh_run *run, int member, int64_t *accepted, int64_t *rejected)
{
    *accepted = run->steps;
    *rejected = 0;
    if (!nh_run_adapts(run) || member < 0 || member >= run->members)
        return;
    const group *g = run->group + member / run->group[0].lanes;
    if (run->pace) {
        *accepted = nh_pace_steps(run, g->block);
        return;
    }
    const size_t lanes = (size_t)g->lanes, lane = (size_t)(member - g->first_member);
    const size_t at = nh_run_counts_row(run);
    *accepted = (int64_t)g->block[at * lanes + lane];
    *rejected = (int64_t)g->block[(at + 1) * lanes + lane];
}

/* Remarks on a tolerance finer than the arithmetic can resolve. */
static void remark_blur(nh_run *run)
{
    const nh_method *method = run->choice.method;
    if (!nh_choice_adapts(&run->choice) || !method->blurs)
        return;
    const size_t at = nh_run_counts_row(run) + 2;
    double blurred = 0;
    for (int i = 0; i < run->members; i++) {
        const group *g = run->group + i / run->group[0].lanes;
        blurred += g->block[at * (size_t)g->lanes + (size_t)(i - g->first_member)];
    }
    if (blurred > 0)
        nh_remarks_add(
            &run->remarks, "tolerance",
            "in %.0f of the steps chosen by the method, the estimated error is round-off and "
            "exceeds the tolerance; a smaller tolerance does not improve the result there",
            blurred);
}

double nh_run_seconds(const nh_run *run)
{
    return run->seconds;
}

int nh_run_remarks(const nh_run *run)
{
    nh_health_conclude((nh_run *)run); /* what was seen becomes remarks when they are asked for */
    remark_blur((nh_run *)run);
    nh_tangent_remark((nh_run *)run);
    return run->remarks.count;
}

const char *nh_run_remark(const nh_run *run, int index)
{
    return nh_remarks_text(&run->remarks, index);
}

/* Checks a start state with the inputs that it will have. */
static nh_status check_start(nh_run *run, int member, double t, const double *q, const double *v,
                             nh_report *report)
{
    double *own;
    nh_instant at = {.t = t};
    const double *inner = nh_inner_copy(run->system, q, v, &own, report);
    nh_status status = inner ? NH_OK : NH_NO_MEMORY;
    if (inner && nh_numbers_finite(q, (size_t)run->system->coordinates) &&
        nh_numbers_finite(inner, (size_t)run->system->velocities)) /* otherwise it is refused */
        status = nh_run_find_start_inputs(run, member, t, q, v, &at.u, report);
    if (status == NH_OK)
        status = nh_inner_check_start(run->system, at, q, inner, report);
    free(own);
    return status;
}

nh_status nh_run_start(nh_run *run, int member, double t, const double *q, const double *v,
                       nh_report *report)
{
    if (member < 0 || member >= run->members)
        return nh_fail(report, NH_BAD_ARGUMENT, "member %d of a run with %d", member, run->members);
    nh_status status = check_start(run, member, t, q, v, report);
    if (status != NH_OK)
        return status;
    int n = run->system->shape.n, lanes = run->group[0].lanes;
    group *g = run->group + member / lanes;
    int lane = member % lanes;
    for (size_t i = 0; i < run->state_size; i++)
        g->block[i * (size_t)lanes + (size_t)lane] = 0;
    for (int i = 0; i < run->system->coordinates; i++)
        g->block[i * lanes + lane] = q[i];
    nh_inner_velocities(run->system, q, v, g->block + n * lanes + lane, lanes);
    g->retired &= ~(1u << lane);
    g->given |= 1u << lane;
    run->time = t;
    run->steps = 0;
    run->prepared.until = 0;
    for (int i = 0; i < run->groups; i++)
        run->group[i].started = false;
    NH_EACH_ATTACHED(a, start)
    {
        (*a)->start(run, member);
    }
    return nh_contacts_begin(run, member, report);
}

void nh_run_retire(nh_run *run, int member)
{
    int lanes = run->group[0].lanes, lane = member % lanes, other = 0;
    group *g = run->group + member / lanes;
    run->prepared.until = 0;
    g->retired |= 1u << lane;
    while (other < lanes && g->retired >> other & 1)
        other++;
    for (size_t i = 0; other < lanes && i < run->state_size; i++)
        g->block[i * (size_t)lanes + (size_t)lane] = g->block[i * (size_t)lanes + (size_t)other];
}

void nh_run_inner_state(const nh_run *run, int member, double *t, double *q, double *v)
{
    int n = run->system->shape.n, lanes = run->group[0].lanes, lane = member % lanes;
    const group *g = run->group + member / lanes;
    if (t && !nh_crossings_ended(run, member, t))
        *t = run->time + (double)run->steps * run->step;
    for (int i = 0; q && i < run->system->coordinates; i++)
        q[i] = g->block[i * lanes + lane];
    for (int i = 0; v && i < n; i++)
        v[i] = g->block[(n + i) * lanes + lane];
}

void nh_run_wrapped_state(const nh_run *run, int member, double *t, double *q, double *v)
{
    int n = run->system->shape.n, lanes = run->group[0].lanes;
    const double *state = run->group[member / lanes].block + member % lanes;
    nh_run_inner_state(run, member, t, q, NULL);
    if (v)
        nh_show_velocities(run->system, state, state + n * lanes, lanes, v);
}

void nh_run_state(const nh_run *run, int member, double *t, double *q, double *v)
{
    const nh_shape *s = &run->system->shape;
    int lanes = run->group[0].lanes, lane = member % lanes;
    const double *revolutions = run->group[member / lanes].block + 4 * s->n * lanes;
    nh_run_wrapped_state(run, member, t, q, v);
    for (int a = 0; q && a < s->angles; a++) {
        double *angle = q + s->angle[a];
        *angle = nh_whole_angle(*angle, revolutions[a * lanes + lane]);
    }
}
