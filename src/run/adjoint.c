/* Steps backwards: see adjoint.h. */
#include "run/adjoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "code/reverse.h"
#include "method/dual_kernels.h"
#include "run/tangent.h"

enum { WIDTH = sizeof(nh_recorded) / sizeof(double) };

enum { WHOLE_MAX = 200000 }; /* instructions of a step, above which it is recorded each time */

/* Convergence is at least as fast as this until it was seen to be slower. */
static const double rate_expected = 0.1;

/* ---- creation ---- */

/* The functions of the system, with machine code, and the same for their products. */
static nh_status make_functions(nh_adjoint *a, nh_fn_set functions, nh_report *report)
{
    nh_status status =
        nh_engine_call(&a->plain, a->system, nh_variant_here(), 1, functions, report);
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        const nh_tape *tape = a->plain.interpreter.tape[fn];
        a->engine.call[fn] = tape ? nh_recorder_call : nh_call_missing;
        if (status != NH_OK || !tape || tape->inputs == 0)
            continue;
        a->product.interpreter.tape[fn] = nh_tape_reverse(tape, NH_U, (uint32_t)a->inputs);
        if (!a->product.interpreter.tape[fn])
            status = nh_fail_memory(report);
    }
    if (status == NH_OK)
        status = nh_engine_call_tapes(&a->product, nh_variant_here(), 1, report);
    a->engine.self = &a->recorder;
    a->recorder.tape = a->plain.interpreter.tape;
    a->recorder.call = a->plain.call;
    a->recorder.self = a->plain.self;
    a->recorder.product = a->product.call;
    a->recorder.product_self = a->product.self;
    a->recorder.inputs = a->inputs;
    a->recorder.recording.rate = rate_expected;
    return status;
}

static nh_status make_room(nh_adjoint *a, nh_report *report)
{
    const nh_run *run = a->run;
    const nh_method *method = run->choice.method;
    const size_t scratch = method->scratch ? method->scratch(&a->shape, run->choice.option) : 0;
    const size_t memory = method->memory ? method->memory(&a->shape, run->choice.option) : 0;
    if (memory != run->memory)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "derivatives by parameters: the equations of %s have another form if its "
                       "parameters are varied, in which %s keeps other numbers from step to step",
                       run->system->name, method->name);
    a->numbers = run->state_size - (size_t)run->system->shape.inputs + a->inputs;
    a->block = nh_aligned_doubles(a->numbers * WIDTH);
    a->values = nh_aligned_doubles(a->numbers);
    a->moved = nh_aligned_doubles(a->numbers + 1);
    a->engine.scratch = nh_aligned_doubles((2 * scratch + 64) * WIDTH);
    const bool repeats = nh_repeats_own_steps(run);
    a->own_steps = repeats ? nh_aligned_doubles(nh_own_room(run)) : NULL;
    return a->block && a->values && a->moved && a->engine.scratch && (a->own_steps || !repeats) &&
                   nh_recorder_open(&a->recorder, (size_t)a->shape.n)
               ? NH_OK
               : nh_fail_memory(report);
}

nh_status nh_adjoint_create(nh_adjoint **out, const nh_run *run, bool parameters, nh_report *report)
{
    *out = NULL;
    nh_status status = nh_tangent_applies(run, report);
    nh_adjoint *a = status == NH_OK ? calloc(1, sizeof *a) : NULL;
    if (!a)
        return status == NH_OK ? nh_fail_memory(report) : status;
    a->run = run;
    a->engine.kernel = nh_recording_kernel(run->choice.method);
    status = nh_tangent_system(run, parameters, &a->own, &a->shape, report);
    a->system = a->own ? a->own : run->system;
    a->inputs = (size_t)a->shape.inputs;
    if (status == NH_OK)
        status = make_functions(a, nh_tangent_functions(run, a->system), report);
    if (status == NH_OK)
        status = make_room(a, report);
    if (status == NH_OK)
        *out = a;
    else
        nh_adjoint_free(a);
    return status;
}

void nh_adjoint_free(nh_adjoint *a)
{
    if (!a)
        return;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        nh_tape_free((nh_tape *)a->product.interpreter.tape[fn]);
    nh_tape_free((nh_tape *)a->whole.interpreter.tape[0]);
    nh_tape_free(a->step_tape);
    nh_engine_free(&a->whole);
    free(a->values);
    free(a->moved);
    nh_engine_free(&a->plain);
    nh_engine_free(&a->product);
    free(a->engine.scratch);
    free(a->own_steps);
    nh_recorder_close(&a->recorder);
    nh_system_free(a->own);
    free(a->block);
    free(a);
}

/* ---- steps ---- */

/* The numbers of a block, all varied but for rounding errors and revolutions taken off. */
static void take_block(nh_adjoint *a, const double *before)
{
    const nh_shape *s = &a->shape;
    const size_t low = 2 * (size_t)s->n, end = 2 * low + (size_t)s->angles;
    const size_t given = a->run->state_size;
    const nh_problem *p = a->system->mechanics->problem;
    for (size_t i = 0; i < given; i++)
        a->block[i] = (nh_recorded){before[i], (uint32_t)i + 1, 0};
    for (size_t i = given; i < a->numbers; i++)
        a->block[i] = (nh_recorded){p->parameter[i - given].value, (uint32_t)i + 1, 0};
    for (size_t i = low; i < end; i++)
        a->block[i].node = 0;
    nh_recorder_begin(&a->recorder, (uint32_t)a->numbers);
}

static nh_kernel_io arguments(nh_adjoint *a, const nh_leg *leg, double bound)
{
    nh_kernel_io io =
        nh_kernel_arguments(a->run, &a->engine, (double *)a->block, WIDTH, leg, leg->from);
    io.shape = &a->shape;
    io.row = NULL;
    io.bound = bound;
    return io;
}

/* Records what `take` does from the state before, and carries d back through it. */
static bool record(nh_adjoint *a, const nh_leg *leg, double bound, const double *before, double *d,
                   int (*take)(nh_adjoint *a, nh_kernel_io *io))
{
    nh_recorder *r = &a->recorder;
    take_block(a, before);
    nh_kernel_io io = arguments(a, leg, bound);
    const int status = take(a, &io);
    if (!nh_recorder_end(r) || status != NH_KERNEL_OK)
        return false;
    for (size_t i = 0; i < a->numbers; i++)
        r->adjoint[a->block[i].node] += d[i];
    nh_recorder_sweep(r);
    memcpy(d, r->adjoint + 1, a->numbers * sizeof *d);
    return true;
}

static int take_step(nh_adjoint *a, nh_kernel_io *io)
{
    if (a->own_steps)
        return nh_take_own_step(a->run, a->engine.kernel, io, a->own_steps);
    return nh_kernel_advance_team(a->engine.kernel, io, 1, 1);
}

static int take_start(nh_adjoint *a, nh_kernel_io *io)
{
    return nh_kernel_begin(&a->engine, io);
}

/* ---- a step as a tape ---- */

/* The tape of a step of this length, unless what it does depends on values. */
static nh_tape *trace(nh_adjoint *a, const nh_leg *leg, double bound, const double *before)
{
    nh_recorder *r = &a->recorder;
    const nh_leg first = {.clock = {nh_clock_at(&leg->clock, leg->from), leg->clock.step}, .to = 1};
    take_block(a, before);
    nh_recorder_begin_tape(r);
    for (size_t i = 0; i < a->numbers && r->recording.tape; i++)
        if (a->block[i].node != 0)
            a->block[i].node = nh_recorder_argument(r, NH_X, (uint32_t)i);
    nh_kernel_io io = arguments(a, &first, bound);
    if (r->recording.tape && nh_kernel_advance_team(a->engine.kernel, &io, 1, 1) != NH_KERNEL_OK)
        r->recording.decides = true;
    return nh_recorder_end_tape(r, a->block, a->numbers);
}

/* Makes the tape of a step backwards, with machine code. */
static void make_whole(nh_adjoint *a, const nh_leg *leg, double bound, const double *before)
{
    a->step_length = leg->clock.step;
    a->step_tape = trace(a, leg, bound, before);
    if (!a->step_tape || a->step_tape->instructions > WHOLE_MAX)
        return;
    nh_tape *back = nh_tape_reverse(a->step_tape, NH_V, 0);
    a->whole.interpreter.tape[0] = back;
    if (back && nh_engine_call_tapes(&a->whole, nh_variant_here(), 1, NULL) != NH_OK)
        a->whole.self = NULL;
    const nh_problem *p = a->system->mechanics->problem;
    for (size_t i = a->run->state_size; i < a->numbers; i++)
        a->values[i] = p->parameter[i - a->run->state_size].value;
}

static bool has_whole(nh_adjoint *a, const nh_leg *leg, double bound, const double *before)
{
    if (!a->own_steps && a->recorded < NH_WHOLE_FROM && ++a->recorded == NH_WHOLE_FROM)
        make_whole(a, leg, bound, before);
    return a->whole.self && leg->clock.step == a->step_length;
}

static void take_whole(nh_adjoint *a, const nh_leg *leg, const double *before, double *d)
{
    const nh_tape *tape = a->step_tape;
    memcpy(a->values, before, a->run->state_size * sizeof *before);
    a->whole.call[0](a->whole.self, 0, nh_clock_at(&leg->clock, leg->from), NULL, d, a->values,
                     a->moved, NULL);
    memset(d, 0, a->numbers * sizeof *d);
    for (size_t i = 0; i < tape->inputs; i++)
        if (tape->input[i].kind == NH_X)
            d[tape->input[i].index] = a->moved[i];
}

bool nh_adjoint_step(nh_adjoint *a, const nh_leg *leg, double bound, const double *before,
                     double *d)
{
    if (has_whole(a, leg, bound, before)) {
        take_whole(a, leg, before, d);
        return true;
    }
    if (a->own_steps)
        memcpy(a->own_steps, before, a->run->state_size * sizeof *before);
    return record(a, leg, bound, before, d, take_step);
}

bool nh_adjoint_start(nh_adjoint *a, const nh_leg *leg, double bound, const double *before,
                      double *d)
{
    return record(a, leg, bound, before, d, take_start);
}

/* ---- functions ---- */

/* Where a number that a function reads is in a block. */
static size_t place_of(const nh_adjoint *a, const nh_tape_input *in)
{
    const size_t n = (size_t)a->shape.n;
    return in->index + (in->kind == NH_Q ? 0 : in->kind == NH_V ? n : a->numbers - a->inputs);
}

static void take_arguments(nh_adjoint *a, const double *block, bool whole)
{
    nh_recorder *r = &a->recorder;
    const size_t n = (size_t)a->shape.n;
    take_block(a, block);
    for (size_t i = 0; i < n; i++) {
        r->q[i] = a->block[i].value;
        r->v[i] = a->block[n + i].value;
    }
    for (int i = 0; i < a->shape.angles && whole; i++)
        r->q[a->shape.angle[i]] =
            nh_whole_angle(block[a->shape.angle[i]], block[4 * n + (size_t)i]);
    for (size_t i = 0; i < a->inputs; i++)
        r->u[i] = a->block[a->numbers - a->inputs + i].value;
}

void nh_adjoint_values(nh_adjoint *a, nh_fn fn, double t, const double *block, bool whole,
                       double *out)
{
    nh_recorder *r = &a->recorder;
    take_arguments(a, block, whole);
    r->call[fn](r->self, fn, t, r->q, r->v, r->x, r->out, r->u);
    memcpy(out, r->out, r->tape[fn]->outputs * sizeof *out);
}

void nh_adjoint_function(nh_adjoint *a, nh_fn fn, double t, const double *block, bool whole,
                         const double *weight, double *d, double *by_time)
{
    nh_recorder *r = &a->recorder;
    const nh_tape *tape = r->tape[fn];
    if (tape->inputs == 0)
        return;
    take_arguments(a, block, whole);
    memcpy(r->u + a->inputs, weight, tape->outputs * sizeof *weight);
    r->product[fn](r->product_self, fn, t, r->q, r->v, r->x, r->out, r->u);
    for (size_t i = 0; i < tape->inputs; i++)
        *(tape->input[i].kind == NH_TIME ? by_time : d + place_of(a, tape->input + i)) += r->out[i];
}
