/* Creating runs and looking at them; advance.c moves them. */
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "method/embedded.h"
#include "code/emit.h"

/* Compiling takes a tenth of a second and more; auto does it when the tape would take longer. */
#define COMPILE_PAYS_SECONDS 0.25
#define TAPE_SECONDS_AN_INSTRUCTION 2e-9
enum { COMPILE_INSTRUCTIONS_MAX = 20000, SCRATCH_MAX = 1 << 30 };

void *nh_aligned_doubles(size_t count)
{
    void *block = NULL;
    if (count > SIZE_MAX / 16 || posix_memalign(&block, 64, (count + 8) * sizeof(double)) != 0)
        return NULL;
    memset(block, 0, (count + 8) * sizeof(double));
    return block;
}

/* ---- engines ---- */

/* Slots for every tape that the kernel calls, constants in place. */
static nh_status prepare_tapes(engine *e, const nh_system *system, int lanes, unsigned functions,
                               nh_report *report)
{
    size_t total = 0, used = 0, width = (size_t)lanes;
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        if (!(functions >> fn & 1))
            continue;
        e->interpreter.tape[fn] = nh_system_tape(system, (nh_fn)fn, report);
        if (!e->interpreter.tape[fn])
            return NH_NO_MEMORY;
        total += (e->interpreter.tape[fn]->slots + 1) * width;
    }
    double *slots = e->slots = nh_aligned_doubles(total);
    if (!slots)
        return nh_fail_memory(report);
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        const nh_tape *tape = e->interpreter.tape[fn];
        if (!tape)
            continue;
        e->interpreter.slots[fn] = slots + used;
        for (size_t c = 0; c < tape->constants; c++)
            for (size_t l = 0; l < width; l++)
                slots[used + c * width + l] = tape->constant[c];
        used += (tape->slots + 1) * width;
    }
    return NH_OK;
}

static void fill_calls(engine *e, nh_call_fn *call)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        e->call[fn] = call;
}

nh_status nh_engine_call(engine *e, const nh_system *system, nh_variant variant, int lanes,
                         unsigned functions, nh_report *report)
{
    if (system->mechanics) {
        fill_calls(e, nh_interpreter_of(variant));
        e->self = &e->interpreter;
        nh_status status = prepare_tapes(e, system, lanes, functions, report);
        if (status == NH_OK)
            nh_machine_make(&e->machine, e->call, &e->interpreter, variant, lanes);
        return status;
    }
    fill_calls(e, nh_callbacks_call);
    e->self = e->callbacks = nh_callback_space_create(system);
    return e->callbacks ? NH_OK : nh_fail_memory(report);
}

static nh_status prepare_engine(engine *e, const nh_run *run, nh_variant variant, int lanes,
                                nh_report *report)
{
    const nh_method *method = run->choice.method;
    size_t scratch = method->scratch ? method->scratch(&run->system->shape, run->choice.option) : 0;
    if (scratch > SCRATCH_MAX)
        return nh_fail(
            report, NH_TOO_LARGE,
            "%s on %s would need %.0f GB of workspace; fewer stages or another method needs less",
            method->name, run->system->name, (double)scratch * 8e-9);
    e->kernel = nh_method_kernel(method, variant);
    e->scratch = nh_aligned_doubles(scratch * (size_t)lanes);
    if (!e->scratch)
        return nh_fail_memory(report);
    return nh_engine_call(e, run->system, variant, lanes,
                          nh_choice_functions(&run->choice, &run->system->shape), report);
}

void nh_engine_free(engine *e)
{
    free(e->scratch);
    free(e->slots);
    nh_machine_free(&e->machine);
    nh_callback_space_free(e->callbacks);
}

/* An engine whose kernel is compiled for this system, which calls nothing but functions of the
 * user. */
static nh_status compile_engine(engine *e, nh_loaded *loaded, const nh_run *run, nh_variant variant,
                                int lanes, nh_report *report)
{
    const nh_method *method = run->choice.method;
    nh_text source = {0};
    const nh_system *system = run->system;
    nh_emission what = {.shape = &system->shape,
                        .identity_mass = !system->functions.mass,
                        .kernel = nh_method_source(method),
                        .callbacks = system->mechanics ? NULL : nh_embedded_kernel("callbacks.h"),
                        .trig = nh_embedded_kernel("trig.h"),
                        .quads = method->quads,
                        .option = run->choice.option,
                        .table = run->table,
                        .table_size = run->table_size,
                        .memory = run->memory,
                        .lanes = lanes,
                        .compensated = run->compensated,
                        .composed = run->parts > 1};
    memcpy(what.tape, run->careful.interpreter.tape, sizeof what.tape);
    nh_status status = nh_emit(&source, &what, report);
    if (status == NH_OK)
        status = nh_compile(loaded, &source, variant, report);
    nh_text_free(&source);
    e->kernel = loaded->kernel;
    e->self = run->careful.self;
    return status;
}

/* ---- backend ---- */

static double tape_seconds(const nh_run *run, int64_t steps)
{
    double instructions = 20;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        if (run->careful.interpreter.tape[fn])
            instructions += (double)run->careful.interpreter.tape[fn]->instructions;
    if (instructions > COMPILE_INSTRUCTIONS_MAX)
        return 0;
    return instructions * TAPE_SECONDS_AN_INSTRUCTION * (double)steps * run->members;
}

static void choose_backend(nh_run *run, const nh_run_options *options)
{
    run->backend = options->backend;
    if (run->backend == NH_BACKEND_AUTO)
        run->backend =
            tape_seconds(run, options->steps) > COMPILE_PAYS_SECONDS && nh_compiler_exists()
                ? NH_BACKEND_COMPILED
                : NH_BACKEND_TAPE;
}

static bool make_groups(nh_run *run, int lanes)
{
    int groups = (run->members + lanes - 1) / lanes;
    run->group = calloc((size_t)groups, sizeof *run->group);
    run->lane_state = nh_aligned_doubles(run->state_size);
    if (!run->group || !run->lane_state)
        return false;
    for (; run->groups < groups; run->groups++) {
        group *g = run->group + run->groups;
        *g = (group){.lanes = lanes, .first_member = run->groups * lanes};
        int used = run->members - g->first_member;
        g->retired = used < lanes ? (1u << lanes) - (1u << used) : 0;
        g->block = nh_aligned_doubles(2 * run->state_size * (size_t)lanes);
        if (!g->block)
            return false;
        g->saved = g->block + run->state_size * (size_t)lanes;
    }
    return true;
}

static nh_status prepare_engines(nh_run *run, const nh_run_options *options, nh_report *report)
{
    nh_variant one = nh_variant_here(), wide = (nh_variant)(one + 1);
    nh_status status = prepare_engine(&run->careful, run, one, 1, report);
    if (status != NH_OK)
        return status;
    choose_backend(run, options);
    bool compiled = run->backend == NH_BACKEND_COMPILED;
    bool in_lanes = run->members > 1 && run->system->mechanics;
    int lanes = in_lanes ? NH_LANES : 1;
    if (!make_groups(run, lanes))
        return nh_fail_memory(report);
    if (compiled)
        return compile_engine(&run->fast, &run->loaded, run, in_lanes ? wide : one, lanes, report);
    return in_lanes ? prepare_engine(&run->fast, run, wide, lanes, report) : NH_OK;
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
    if (!options->method)
        return nh_fail(report, NH_BAD_ARGUMENT, "no method given");
    return NH_OK;
}

static nh_status choose_method(nh_run *run, const nh_run_options *options, nh_report *report)
{
    nh_status status = nh_choice_parse(&run->choice, options->method, report);
    if (status == NH_OK)
        status = nh_choice_applies(&run->choice, run->system, report);
    if (status != NH_OK)
        return status;
    run->parts = 1;
    if (options->compose)
        status =
            nh_composition_parts(options->compose, &run->choice, run->part, &run->parts, report);
    if (status != NH_OK)
        return status;
    const nh_method *method = run->choice.method;
    const nh_shape *shape = &run->system->shape;
    run->compensated = options->compensated == NH_YES ||
                       (options->compensated == NH_UNKNOWN && method->compensate);
    run->memory = method->memory ? method->memory(shape, run->choice.option) : 0;
    run->state_size = 4 * (size_t)shape->n + (size_t)shape->angles + run->memory;
    run->table_size = method->table_size ? method->table_size(run->choice.option) : 0;
    run->table = calloc(run->table_size + 1, sizeof *run->table);
    if (!run->table)
        return nh_fail_memory(report);
    if (method->table)
        method->table(run->choice.option, run->table);
    return NH_OK;
}

nh_status nh_run_create(nh_run **out, const nh_system *system, const nh_run_options *options,
                        nh_report *report)
{
    *out = NULL;
    nh_status status = check_options(options, report);
    if (status != NH_OK)
        return status;
    nh_run *run = calloc(1, sizeof *run);
    if (!run)
        return nh_fail_memory(report);
    run->system = system;
    run->step = options->step;
    run->members = options->members ? options->members : 1;
    status = choose_method(run, options, report);
    if (status == NH_OK)
        status = prepare_engines(run, options, report);
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
    for (int i = 0; run->group && i < run->groups; i++)
        free(run->group[i].block);
    free(run->group);
    free(run->lane_state);
    free(run->table);
    nh_engine_free(&run->careful);
    nh_engine_free(&run->fast);
    nh_loaded_close(&run->loaded);
    free(run);
}

/* ---- state ---- */

nh_backend nh_run_backend(const nh_run *run)
{
    return run->backend;
}

int64_t nh_run_steps(const nh_run *run)
{
    return run->steps;
}

double nh_run_seconds(const nh_run *run)
{
    return run->seconds;
}

nh_status nh_run_start(nh_run *run, int member, double t, const double *q, const double *v,
                       nh_report *report)
{
    if (member < 0 || member >= run->members)
        return nh_fail(report, NH_BAD_ARGUMENT, "member %d of a run with %d", member, run->members);
    nh_status status = nh_system_check_start(run->system, t, q, v, report);
    if (status != NH_OK)
        return status;
    int n = run->system->shape.n, lanes = run->group[0].lanes;
    group *g = run->group + member / lanes;
    int lane = member % lanes;
    for (size_t i = 0; i < run->state_size; i++)
        g->block[i * (size_t)lanes + (size_t)lane] = 0;
    for (int i = 0; i < run->system->coordinates; i++)
        g->block[i * lanes + lane] = q[i];
    for (int i = 0; i < n; i++)
        g->block[(n + i) * lanes + lane] = v[i];
    g->retired &= ~(1u << lane);
    run->time = t;
    run->steps = 0;
    for (int i = 0; i < run->groups; i++)
        run->group[i].started = false;
    return NH_OK;
}

void nh_run_retire(nh_run *run, int member)
{
    int lanes = run->group[0].lanes, lane = member % lanes, other = 0;
    group *g = run->group + member / lanes;
    g->retired |= 1u << lane;
    while (other < lanes && g->retired >> other & 1)
        other++;
    for (size_t i = 0; other < lanes && i < run->state_size; i++)
        g->block[i * (size_t)lanes + (size_t)lane] = g->block[i * (size_t)lanes + (size_t)other];
}

void nh_run_wrapped_state(const nh_run *run, int member, double *t, double *q, double *v)
{
    int n = run->system->shape.n, lanes = run->group[0].lanes, lane = member % lanes;
    const group *g = run->group + member / lanes;
    if (t)
        *t = run->time + (double)run->steps * run->step;
    for (int i = 0; q && i < run->system->coordinates; i++)
        q[i] = g->block[i * lanes + lane];
    for (int i = 0; v && i < n; i++)
        v[i] = g->block[(n + i) * lanes + lane];
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
