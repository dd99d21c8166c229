/* One trajectory of quadruple precision: its system is built once more with numbers of 34 digits
 * (model/labels.h), its functions are tapes that the interpreter runs, and its steps are those of
 * the methods' general kernels, compiled over such numbers (kernel/quadruple.h). Where a caller
 * gives a `double`, its shortest decimal is meant. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "method/method.h"
#include "run/run.h"
#include "simulate/precise_run.h"

#ifdef NH_HAVE_PRECISE

static const double usual_tolerance = 1e-28;
enum { USUAL_STATES = 100 };

struct nh_precise_run {
    nh_system *system; /* in these numbers */
    nh_choice choice;
    nh_plan plan;
    nh_precise_tapes tapes;
    nh_precise option[NH_OPTIONS_MAX];
    nh_precise_stepper *stepper;
    nh_precise t0, step, rest;
    nh_precise step_above, step_below; /* the step as a fraction of whole numbers, or over 1 */
    nh_precise whole; /* the time of all steps, where that is what was given; else 0 */
    int64_t steps, accepted, rejected; /* of the run; the method's own, of steppers before */
    bool ended;                        /* the rest has been taken */
    bool compensated;
    nh_precise *row, *values; /* what the columns show; what OBSERVE gives */
    nh_precise *before;       /* q and v before a step */
    int (*stop)(void *user);
    void *user;
    nh_precise energy, energy_error, residual;
    double seconds;
    char text[NH_PRECISE_TEXT];
};

/* ---- what cannot be done ---- */

static nh_status refuse(const char *what, nh_report *report)
{
    return nh_fail(report, NH_NOT_APPLICABLE, "quadruple precision is not available for %s", what);
}

static nh_status check(const nh_system *system, const nh_run_options *o, nh_report *report)
{
    if (!nh_have_precise())
        return nh_fail_precise(report);
    if (!system->mechanics)
        return refuse("systems of C functions", report);
    const nh_problem *p = system->mechanics->problem;
    if (p->items > 0)
        return refuse("contacts and grips", report);
    if (p->changes > 0)
        return refuse("events that change the state", report);
    for (int i = 0; i < p->inputs; i++)
        if (p->input[i].first >= 0 && !nh_input_is_free(p->input + i))
            return refuse("inputs given by tables, samples or feedback", report);
    if (o->compose || nh_composition_is_list(o->method))
        return refuse("composed methods", report);
    if (o->until || o->watch || o->watch_all || o->event_function_count > 0)
        return refuse("events", report);
    return o->backend == NH_BACKEND_COMPILED ? refuse("compiled kernels", report) : NH_OK;
}

/* ---- creation ---- */

/* Without a step, the method that solves everything. */
static nh_status make_plan(nh_precise_run *run, const nh_system *system,
                           const nh_run_options *given, const nh_start_options *start,
                           nh_report *report)
{
    const size_t n = (size_t)nh_system_coordinates(system);
    double *state = malloc((n + (size_t)nh_system_velocities(system) + 1) * sizeof *state);
    nh_run_options o = *given;
    nh_status status =
        state ? nh_system_begin(system, start, state, state + n, report) : nh_fail_memory(report);
    const bool chosen = o.method && strcmp(o.method, "auto") != 0;
    const bool stepped = o.step > 0;
    nh_choice choice = {0};
    o.t0 = start->t;
    o.q = state;
    o.v = state + n;
    if (!chosen)
        o.method = stepped && !(o.tolerance > 0) ? NULL : "reference";
    if (status == NH_OK && o.method)
        status = nh_choice_parse(&choice, o.method, report);
    const bool may_adapt = choice.method && choice.method->adapts;
    const bool adapts = may_adapt && (!stepped || nh_choice_adapts(&choice));
    if (adapts && !(o.tolerance > 0) && !strstr(o.method, "tolerance="))
        o.tolerance = usual_tolerance;
    if (!stepped && o.steps == 0)
        o.steps = USUAL_STATES;
    if (status == NH_OK)
        status = nh_plan_make(&run->plan, system, &o, report);
    if (status == NH_OK)
        status = nh_choice_parse(&run->choice, run->plan.method, report);
    if (status == NH_OK)
        status = nh_choice_applies(&run->choice, system, report);
    if (status == NH_OK && run->plan.pace > 0)
        status = refuse("steps that follow the pace of the motion", report);
    run->plan.advised = !chosen;
    free(state);
    return status;
}

/* 12 digits tell which decimal was divided. */
static nh_precise whole_time(double time)
{
    char text[40];
    nh_print(text, sizeof text, "%.12g", time);
    return nh_precise_read(text, NULL);
}

/* A decimal as a fraction of whole numbers; others are divided by 1. */
static void find_fraction(nh_precise x, nh_precise *above, nh_precise *below)
{
    *above = x;
    *below = 1;
    for (nh_precise power = 1; power < 1e30Q; power *= 10) {
        const nh_precise large = x * power;
        const long long whole = large < 1e15Q ? (long long)(large + 0.5Q) : 0;
        if (whole > 0 && nh_precise_abs(large - whole) <= 4 * NH_PRECISE_UNIT * whole) {
            *above = whole;
            *below = power;
            return;
        }
    }
}

/* The step and the rest with all digits: given lengths are decimals, and others are quotients. */
static void take_steps(nh_precise_run *run, const nh_run_options *o)
{
    const nh_plan *plan = &run->plan;
    const bool quotient = o->time > 0 || !(o->step > 0 || plan->step_advised);
    const nh_precise steps = plan->steps;
    nh_precise step = nh_precise_decimal(plan->step);
    if (plan->steps > 0 && !(plan->rest > 0) && quotient) {
        run->whole = o->time > 0 ? nh_precise_decimal(o->time)
                                 : whole_time(plan->step * (double)plan->steps);
        step = run->whole / steps;
    }
    run->step = step;
    if (plan->rest > 0)
        run->rest = nh_precise_decimal(o->time) - steps * step;
    find_fraction(step, &run->step_above, &run->step_below);
    for (int i = 0; i < NH_OPTIONS_MAX; i++)
        run->option[i] = nh_precise_decimal(run->choice.option[i]);
}

static nh_status make_stepper(nh_precise_run *run, nh_precise step, nh_precise t, nh_report *report)
{
    const nh_system *system = run->system;
    const nh_fn_set called = nh_choice_functions(&run->choice, &system->shape);
    const nh_tape *tape[NH_FN_COUNT];
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        tape[fn] = nh_fn_in(called, fn) ? run->tapes.tape[fn] : NULL;
    const nh_precise_setup setup = {.method = run->choice.method->name,
                                    .option = run->option,
                                    .options = NH_OPTIONS_MAX,
                                    .shape = &system->shape,
                                    .size_of_positions = system->shape.size_of_positions,
                                    .tape = tape,
                                    .constant = (const nh_precise *const *)run->tapes.constant,
                                    .functions = NH_FN_COUNT,
                                    .step = step,
                                    .time = t,
                                    .stop = run->stop,
                                    .user = run->user,
                                    .compensated = run->compensated};
    run->stepper = nh_precise_stepper_create(&setup);
    return run->stepper ? NH_OK : nh_fail_memory(report);
}

/* The values of inputs, which nothing changes later. */
static void take_inputs(const nh_precise_run *run, nh_precise *u)
{
    const nh_precise_place at = {&run->tapes, run->t0, nh_precise_stepper_q(run->stepper),
                                 nh_precise_stepper_v(run->stepper), u};
    if (run->system->shape.inputs > 0)
        nh_precise_call(&at, NH_FN_INPUTS, u);
}

/* Multiples of a decimal step are decimals, too: 3 times 0.1 is 0.3. */
static nh_precise now(const nh_precise_run *run)
{
    const bool over = run->steps == run->plan.steps && run->whole > 0;
    const nh_precise passed = over ? run->whole : run->steps * run->step_above / run->step_below;
    return run->t0 + passed + (run->ended ? run->rest : 0);
}

static void larger(nh_precise *most, nh_precise x)
{
    const nh_precise size = nh_precise_abs(x);
    if (!(size <= *most))
        *most = size;
}

/* What the columns show. */
static void measure(nh_precise_run *run)
{
    const nh_system *s = run->system;
    const nh_precise *q = nh_precise_stepper_q(run->stepper);
    const nh_precise *v = nh_precise_stepper_v(run->stepper);
    const nh_precise_place at = {&run->tapes, now(run), q, v, nh_precise_stepper_u(run->stepper)};
    const int residuals = s->constraints + s->shape.positions;
    nh_precise *to = run->row;
    nh_precise_call(&at, NH_FN_OBSERVE, run->values);
    *to++ = at.t;
    memcpy(to, q, (size_t)s->coordinates * sizeof *to);
    to += s->coordinates;
    nh_precise_show(s, q, v, to);
    to += s->user_velocities;
    *to++ = run->values[0];
    memcpy(to, run->values + 1 + residuals, (size_t)nh_system_observables(s) * sizeof *to);
    for (int i = 0; i < residuals; i++)
        larger(&run->residual, run->values[1 + i]);
    larger(&run->energy_error, run->values[0] - run->energy);
}

static nh_status begin(nh_precise_run *run, const nh_start_options *start, nh_report *report)
{
    nh_precise *q = nh_precise_stepper_q(run->stepper), *v = nh_precise_stepper_v(run->stepper);
    nh_precise *u = nh_precise_stepper_u(run->stepper);
    nh_status status = nh_precise_begin(run->system, &run->tapes, start, u, q, v, report);
    if (status != NH_OK)
        return status;
    take_inputs(run, u);
    const size_t n = (size_t)run->system->velocities;
    double *state = calloc(2 * n + 1, sizeof *state); /* whether it satisfies the constraints */
    for (size_t i = 0; state && i < n; i++) {
        state[i] = (double)q[i];
        state[n + i] = (double)v[i];
    }
    status = state ? nh_inner_check_start(run->system, (nh_instant){start->t, NULL}, state,
                                          state + n, report)
                   : nh_fail_memory(report);
    free(state);
    if (status == NH_OK && nh_precise_stepper_start(run->stepper) != 0)
        status =
            nh_fail(report, NH_NOT_CONVERGED, "%s cannot start in this state", run->plan.method);
    if (status != NH_OK)
        return status;
    measure(run);
    run->energy = run->values[0];
    run->energy_error = 0;
    return NH_OK;
}

static nh_status create(nh_precise_run *run, const nh_system *system, const nh_run_options *o,
                        const nh_start_options *start, nh_report *report)
{
    nh_status status = make_plan(run, system, o, start, report);
    if (status == NH_OK)
        status = nh_system_build_precise(&run->system, system, report);
    if (status != NH_OK)
        return status;
    const nh_fn_set functions = nh_choice_functions(&run->choice, &run->system->shape) |
                                NH_PRECISE_START |
                                (run->system->shape.inputs > 0 ? NH_FN_BIT(INPUTS) : 0);
    take_steps(run, o);
    run->t0 = nh_precise_decimal(start->t);
    run->compensated = o->compensated == NH_ON ||
                       (o->compensated == NH_AS_ADVISED && run->choice.method->compensate);
    status = nh_precise_create_tapes(&run->tapes, run->system, functions, report);
    run->row = nh_precise_numbers((size_t)nh_precise_run_columns(run));
    run->values = nh_precise_numbers(nh_system_outputs(run->system, NH_FN_OBSERVE));
    run->before = nh_precise_numbers(2 * (size_t)run->system->velocities);
    run->stop = o->stop;
    run->user = o->user;
    if (status == NH_OK && !(run->row && run->values && run->before))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = make_stepper(run, run->step, run->t0, report);
    return status == NH_OK ? begin(run, start, report) : status;
}

nh_status nh_precise_run_create(nh_precise_run **out, const nh_system *system,
                                const nh_run_options *options, const nh_start_options *start,
                                nh_report *report)
{
    nh_run_options o;
    nh_start_options from = nh_start_options_default();
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_run_options, v, report);
    if (status == NH_OK && start)
        status = NH_OPTIONS_TAKE(&from, start, nh_start_options, solve, report);
    if (!start) {
        from.t = o.t0;
        from.q = o.q;
        from.v = o.v;
    }
    if (status == NH_OK)
        status = check(system, &o, report);
    nh_precise_run *run = status == NH_OK ? aligned_alloc(16, (sizeof *run + 15) / 16 * 16) : NULL;
    if (!run)
        return status == NH_OK ? nh_fail_memory(report) : status;
    memset(run, 0, sizeof *run);
    status = create(run, system, &o, &from, report);
    if (status == NH_OK)
        *out = run;
    else
        nh_precise_run_free(run);
    return status;
}

void nh_precise_run_free(nh_precise_run *run)
{
    if (!run)
        return;
    nh_precise_stepper_free(run->stepper);
    nh_precise_free_tapes(&run->tapes);
    nh_system_free(run->system);
    free(run->row);
    free(run->values);
    free(run->before);
    free(run);
}

/* ---- steps ---- */

static nh_status fail_step(const nh_precise_run *run, int kernel_status, nh_report *report)
{
    int iterations, missing;
    const double residual =
        (double)nh_precise_stepper_residual(run->stepper, &iterations, &missing);
    const double t = (double)now(run);
    nh_status status;
    if (missing > 0)
        return nh_fail(report, NH_CALLBACK_STOPPED,
                       "%s called a function that it declares never to call", run->plan.method);
    if (kernel_status == NH_KERNEL_STOPPED)
        status =
            nh_fail(report, NH_CALLBACK_STOPPED, "step %lld, t = %.10g: the caller asked to stop",
                    (long long)run->steps + 1, t);
    else if (kernel_status == NH_KERNEL_STUCK)
        status = nh_fail(report, NH_NOT_CONVERGED,
                         "step %lld (at t = %.10g): the steps of %s became too short; try another "
                         "tolerance",
                         (long long)run->steps + 1, t, run->plan.method);
    else
        status = nh_fail(report, NH_NOT_CONVERGED,
                         "step %lld (at t = %.10g) of %s did not converge to 34 digits: after %d "
                         "iterations the last correction was %.2g; try a shorter step",
                         (long long)run->steps + 1, t, run->plan.method, iterations, residual);
    if (report) {
        report->step = run->steps + 1;
        report->time = t;
        report->residual = residual;
    }
    return status;
}

/* One step. If it fails, the state is that before it: a method's own steps may have ended within.
 */
static int advance(nh_precise_run *run)
{
    const double from = nh_clock_cpu();
    const size_t n = (size_t)run->system->velocities, bytes = n * sizeof(nh_precise);
    nh_precise *q = nh_precise_stepper_q(run->stepper), *v = nh_precise_stepper_v(run->stepper);
    memcpy(run->before, q, bytes);
    memcpy(run->before + n, v, bytes);
    const int status = nh_precise_stepper_advance(run->stepper, 1);
    if (status) {
        memcpy(q, run->before, bytes);
        memcpy(v, run->before + n, bytes);
    }
    run->seconds += nh_clock_cpu() - from;
    return status;
}

static nh_status take(nh_precise_run *run, int64_t steps, nh_report *report)
{
    int status = 0;
    for (int64_t left = steps; left > 0 && !status; left--) {
        status = advance(run);
        run->steps += !status;
    }
    return status ? fail_step(run, status, report) : NH_OK;
}

/* The last, shorter step has a stepper of its own. */
static nh_status take_rest(nh_precise_run *run, nh_report *report)
{
    const size_t n = (size_t)run->system->velocities, inputs = (size_t)run->system->shape.inputs;
    nh_precise_stepper *whole = run->stepper;
    nh_status status = make_stepper(run, run->rest, now(run), report);
    if (status != NH_OK) {
        run->stepper = whole;
        return status;
    }
    memcpy(nh_precise_stepper_q(run->stepper), nh_precise_stepper_q(whole), n * sizeof(nh_precise));
    memcpy(nh_precise_stepper_v(run->stepper), nh_precise_stepper_v(whole), n * sizeof(nh_precise));
    memcpy(nh_precise_stepper_u(run->stepper), nh_precise_stepper_u(whole),
           inputs * sizeof(nh_precise));
    nh_precise_stepper_counts(whole, &run->accepted, &run->rejected);
    nh_precise_stepper_free(whole);
    if (nh_precise_stepper_start(run->stepper) != 0)
        return fail_step(run, NH_KERNEL_NOT_CONVERGED, report);
    const int failed = advance(run);
    run->ended = !failed;
    return failed ? fail_step(run, failed, report) : NH_OK;
}

nh_status nh_precise_run_advance(nh_precise_run *run, int64_t steps, nh_report *report)
{
    const int64_t left = run->plan.steps - run->steps;
    nh_status status = NH_OK;
    if (steps > 0 && left > 0)
        status = take(run, steps < left ? steps : left, report);
    else if (steps > 0 && run->rest > 0 && !run->ended)
        status = take_rest(run, report);
    measure(run);
    return status;
}

bool nh_precise_run_is_over(const nh_precise_run *run)
{
    return run->steps >= run->plan.steps && (run->ended || !(run->rest > 0));
}

/* ---- what it shows ---- */

const nh_plan *nh_precise_run_plan(const nh_precise_run *run)
{
    return &run->plan;
}

int64_t nh_precise_run_steps(const nh_precise_run *run, int64_t *accepted, int64_t *rejected)
{
    int64_t own, given_up;
    nh_precise_stepper_counts(run->stepper, &own, &given_up);
    if (accepted)
        *accepted = run->accepted + own;
    if (rejected)
        *rejected = run->rejected + given_up;
    return run->steps + run->ended;
}

double nh_precise_run_seconds(const nh_precise_run *run)
{
    return run->seconds;
}

int nh_precise_run_columns(const nh_precise_run *run)
{
    const nh_system *s = run->system;
    return 2 + s->coordinates + s->user_velocities + nh_system_observables(s);
}

const char *nh_precise_run_column_name(const nh_precise_run *run, int column)
{
    const nh_system *s = run->system;
    int at = column - 1;
    if (column < 0 || column >= nh_precise_run_columns(run))
        return NULL;
    if (column == 0)
        return "t";
    if (at < s->coordinates)
        return nh_system_coordinate_name(s, at);
    at -= s->coordinates;
    if (at < s->user_velocities)
        return nh_system_velocity_name(s, at);
    at -= s->user_velocities;
    return at == 0 ? "energy" : nh_system_observable_name(s, at - 1);
}

static const char *text_of(nh_precise_run *run, nh_precise x)
{
    nh_precise_print(x, run->text);
    return run->text;
}

const char *nh_precise_run_text(nh_precise_run *run, int column)
{
    return column >= 0 && column < nh_precise_run_columns(run) ? text_of(run, run->row[column])
                                                               : NULL;
}

double nh_precise_run_energy_error(const nh_precise_run *run)
{
    return (double)run->energy_error;
}

double nh_precise_run_constraint_max(const nh_precise_run *run)
{
    return (double)run->residual;
}

#else

/* A build without such numbers makes no runs, so nothing else is called. */
nh_status nh_precise_run_create(nh_precise_run **out, const nh_system *system,
                                const nh_run_options *options, const nh_start_options *start,
                                nh_report *report)
{
    (void)system, (void)options, (void)start;
    *out = NULL;
    return nh_fail_precise(report);
}

void nh_precise_run_free(nh_precise_run *run)
{
    (void)run;
}

nh_status nh_precise_run_advance(nh_precise_run *run, int64_t steps, nh_report *report)
{
    (void)run, (void)steps;
    return nh_fail_precise(report);
}

bool nh_precise_run_is_over(const nh_precise_run *run)
{
    return run == NULL;
}

const nh_plan *nh_precise_run_plan(const nh_precise_run *run)
{
    return (void)run, NULL;
}

int64_t nh_precise_run_steps(const nh_precise_run *run, int64_t *accepted, int64_t *rejected)
{
    return (void)run, (void)accepted, (void)rejected, 0;
}

double nh_precise_run_seconds(const nh_precise_run *run)
{
    return (void)run, NAN;
}

int nh_precise_run_columns(const nh_precise_run *run)
{
    return (void)run, 0;
}

const char *nh_precise_run_column_name(const nh_precise_run *run, int column)
{
    return (void)run, (void)column, NULL;
}

const char *nh_precise_run_text(nh_precise_run *run, int column)
{
    return (void)run, (void)column, NULL;
}

double nh_precise_run_energy_error(const nh_precise_run *run)
{
    return (void)run, NAN;
}

double nh_precise_run_constraint_max(const nh_precise_run *run)
{
    return (void)run, NAN;
}

#endif
