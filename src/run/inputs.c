/* Inputs of a run: the values that its open inputs get while it advances.
 *
 * They are part of every member's state and constant during a call of the kernel. A table changes
 * them at its points; an expression, or the caller's function, at every sample: at the multiples of
 * the period, or after every step. A run stops at the times of these changes, in the middle of a
 * step if need be (loop.c), so that no step crosses a jump. A method with memory then starts
 * afresh.
 *
 * A jump of an input in a constraint makes the velocities jump: to the nearest ones, in the mass
 * metric, that satisfy the constraint, as an impulse of the constraint's force does. They are found
 * by Newton's method, v - B d with d = (K B)^-1 k, in one step where k is affine in v. */
#include "run/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/contacts.h"
#include "run/journal.h"
#include "run/lanes.h"
#include "run/solution.h"
#include "run/tangent.h"

enum { IMPULSE_ITERATIONS = 50 };
static const double early = 1e-9; /* in steps: a sample is due this much before its time */

/* ---- creation ---- */

bool nh_inputs_move_constraints(const nh_system *system)
{
    const nh_mechanics *s = system->mechanics;
    for (int i = 0; i < s->m; i++)
        if (nh_depends(s->g, s->k[i], NH_U))
            return true;
    return false;
}

static bool list_sources(nh_run_inputs *in, const nh_problem *problem)
{
    in->source = calloc((size_t)problem->inputs + 1, sizeof *in->source);
    for (int i = 0; in->source && i < problem->inputs; i++) {
        const nh_problem_input *input = problem->input + i;
        if (input->first < 0 || input->feedback)
            continue;
        const bool given = input->table.rows > 0 || input->sampled;
        in->sampled |= input->sampled || (!given && in->function);
        in->source[in->sources++] = (nh_input_source){input, i, !given};
    }
    return in->source != NULL;
}

static bool make_room(nh_run_inputs *in, const nh_system *system)
{
    const nh_shape *s = &system->shape;
    const size_t n = (size_t)s->n, nb = (size_t)s->nb, m = (size_t)s->m, u = (size_t)s->inputs;
    const size_t all = (size_t)system->mechanics->problem->inputs;
    in->given = nh_aligned_doubles(2 * n + 2 * u + (n + nb) + 2 * m + nb + 1 + all);
    if (!in->given)
        return false;
    in->q = in->given + u;
    in->v = in->q + n;
    in->u = in->v + n;
    in->kick = in->u + u;
    in->close = in->kick + n + nb;
    in->what = in->close + 2 * m;
    in->value = in->what + nb + 1;
    return true;
}

static nh_status create(nh_run *run, const nh_run_options *options, nh_report *report)
{
    const nh_system *system = run->system;
    if (system->shape.inputs == 0)
        return options->inputs ? nh_fail(report, NH_BAD_ARGUMENT,
                                         "a function for inputs is given, but %s has no open input",
                                         system->name)
                               : NH_OK;
    nh_run_inputs *in = run->inputs = calloc(1, sizeof *in);
    if (!in)
        return nh_fail_memory(report);
    in->function = options->inputs;
    in->user = options->inputs_user;
    in->period = system->mechanics->problem->input_period;
    in->impulses = nh_inputs_move_constraints(system);
    nh_fn_set functions = NH_FN_BIT(INPUTS);
    if (in->impulses)
        functions |= NH_FN_BIT(KICK) | NH_FN_BIT(CLOSE);
    return list_sources(in, system->mechanics->problem) && make_room(in, system)
               ? nh_engine_call(&in->engine, system, nh_variant_here(), 1, functions, report)
               : nh_fail_memory(report);
}

static void free_all(nh_run *run)
{
    nh_run_inputs *in = run->inputs;
    if (!in)
        return;
    nh_engine_free(&in->engine);
    free(in->source);
    free(in->given);
    free(in);
}

/* ---- impulses ---- */

/* Projects the velocities in in->v onto the constraints with the inputs in in->u. */
static bool answer(nh_run *run, double t)
{
    nh_run_inputs *in = run->inputs;
    const nh_shape *s = &run->system->shape;
    const engine *e = &in->engine;
    double last = INFINITY;
    for (int i = 0; i < IMPULSE_ITERATIONS; i++) {
        e->call[NH_FN_KICK](e->self, NH_FN_KICK, t, in->q, in->v, NULL, in->kick, in->u);
        memcpy(in->what, in->kick + s->n, (size_t)s->nb * sizeof *in->what);
        in->what[s->nb] = 0;
        e->call[NH_FN_CLOSE](e->self, NH_FN_CLOSE, t, in->q, in->v, in->what, in->close, in->u);
        double change = 0, size = 0;
        for (int j = 0; j < s->m; j++)
            for (int c = s->b_first[j]; c < s->b_first[j + 1]; c++) {
                const double move = in->what[c] * in->close[j];
                in->v[s->b_column[c]] -= move;
                change = fmax(change, fabs(move));
            }
        for (int c = 0; c < s->n; c++)
            size = fmax(size, fabs(in->v[c]));
        if (!isfinite(change))
            return false;
        if (change <= 1e-15 * size || (change <= 1e-9 * size && change >= last))
            return true;
        last = change;
    }
    return false;
}

static nh_status answer_member(nh_run *run, int member, double t, nh_report *report)
{
    nh_run_inputs *in = run->inputs;
    const int n = run->system->shape.n;
    group *g = run->group + member / run->group[0].lanes;
    const int lane = member % g->lanes;
    nh_journal_note_inputs(run);
    nh_run_inner_state(run, member, NULL, in->q, in->v);
    nh_run_take_inputs(run, member, in->u);
    if (!answer(run, t)) {
        run->failed_member = member;
        return nh_fail(report, NH_NOT_CONVERGED,
                       "t = %.10g: an input jumped, and no velocities were found that satisfy the "
                       "constraints after the jump",
                       t);
    }
    for (int i = 0; i < n; i++) {
        g->block[(n + i) * g->lanes + lane] = in->v[i];
        g->block[(3 * n + i) * g->lanes + lane] = 0; /* v_low */
    }
    if (!nh_tangent_answer(run, member, t))
        return nh_fail(
            report, NH_NOT_CONVERGED,
            "t = %.10g: an input jumped, and the derivatives of the velocities after the "
            "jump could not be computed",
            t);
    return NH_OK;
}

/* A method's memory belongs to the old inputs. Its counts of steps are kept. */
static void begin_anew(nh_run *run)
{
    for (int i = 0; (run->memory > 0 || run->pace) && i < run->groups; i++)
        run->group[i].started = false;
}

static nh_status answer_all(nh_run *run, double t, nh_report *report)
{
    nh_status status = NH_OK;
    begin_anew(run);
    for (int i = 0; i < run->members && run->inputs->impulses && status == NH_OK; i++)
        if (!(run->group[i / run->group[0].lanes].retired >> i % run->group[0].lanes & 1))
            status = answer_member(run, i, t, report);
    if (status == NH_OK)
        status = nh_contacts_follow_jump(run, t, report);
    for (int i = 0; i < run->groups; i++)
        nh_group_follow(run, run->group + i);
    return status;
}

/* ---- samples ---- */

static bool is_sample(const nh_run *run, double step, double t)
{
    const double period = run->inputs->period;
    return !(period > 0) || fabs(t - round(t / period) * period) <= early * step;
}

/* The time of the next change after t. */
static double next_change(const nh_run *run, double step, double t)
{
    const nh_run_inputs *in = run->inputs;
    const double after = t + early * step;
    double next = INFINITY;
    for (int i = 0; i < in->sources; i++) {
        const nh_input_table *table = &in->source[i].input->table;
        const int64_t at = table->rows > 0 ? nh_input_table_find(table, after) + 1 : 0;
        if (at < table->rows)
            next = fmin(next, table->time[at]);
    }
    if (in->sampled && in->period > 0)
        next = fmin(next, (floor(after / in->period) + 1) * in->period);
    else if (in->sampled)
        next = fmin(next, t + step);
    return next;
}

/* Calls the caller's function, for inputs given by neither a table nor an expression, with the
 * state that users see. */
static nh_status ask(nh_run *run, int member, double t, const double *q, const double *v, double *u,
                     nh_report *report)
{
    nh_run_inputs *in = run->inputs;
    for (int i = 0; i < run->system->mechanics->problem->inputs; i++)
        in->value[i] = NAN;
    for (int i = 0; i < in->sources; i++)
        in->value[in->source[i].index] =
            nh_signal_value(in->source[i].input->signal, u + in->source[i].input->first, t);
    if (in->function(in->user, member, t, q, v, in->value) != 0) {
        run->failed_member = member;
        run->stopped = true;
        return nh_fail(report, NH_CALLBACK_STOPPED,
                       "t = %.10g: the function that gives the inputs asked to stop", t);
    }
    nh_solution_note_inputs(run, t, in->value, run->system->mechanics->problem->inputs);
    for (int i = 0; i < in->sources; i++) {
        const nh_problem_input *input = in->source[i].input;
        const double value = in->value[in->source[i].index];
        if (in->source[i].free && !isfinite(value))
            return nh_fail(report, NH_NOT_FINITE, "t = %.10g: the input '%s' is %g", t, input->name,
                           value);
        if (in->source[i].free)
            u[input->first] = value;
    }
    return NH_OK;
}

/* Whether a table with a slope, after which the input is constant, ends at this time. */
static bool ends_here(const nh_problem_input *input, double step, double t)
{
    const nh_input_table *table = &input->table;
    return table->rows > 1 && table->values > 1 &&
           fabs(table->time[table->rows - 1] - t) <= early * step;
}

static bool some_end_here(const nh_run *run, double step, double t)
{
    for (int i = 0; i < run->inputs->sources; i++)
        if (ends_here(run->inputs->source[i].input, step, t))
            return true;
    return false;
}

/* Puts into in->u what tables and, at a sample, expressions give in the state (in->q, in->v). */
static void take_given(nh_run *run, double step, double t, bool sample, bool first)
{
    nh_run_inputs *in = run->inputs;
    const double early_t = t + early * step;
    if (sample)
        in->engine.call[NH_FN_INPUTS](in->engine.self, NH_FN_INPUTS, t, in->q, in->v, NULL,
                                      in->given, NULL);
    for (int i = 0; i < in->sources; i++) {
        const nh_problem_input *input = in->source[i].input;
        const bool stays = in->lingers && ends_here(input, step, t);
        if (input->table.rows > 0 && !stays)
            nh_input_table_piece(&input->table, nh_input_table_find(&input->table, early_t),
                                 in->u + input->first);
        else if (stays)
            continue;
        else if (sample && (first || input->sampled))
            for (int c = 0; c < nh_signal_values(input->signal); c++)
                in->u[input->first + c] = in->given[input->first + c];
    }
}

static void put_inputs(nh_run *run, int member)
{
    int lanes;
    double *to = nh_run_inputs_at(run, member, &lanes);
    for (int i = 0; i < run->system->shape.inputs; i++)
        to[i * lanes] = run->inputs->u[i];
}

/* Sets the inputs of a member at the current time. */
static nh_status give(nh_run *run, const nh_clock *clock, int member, nh_report *report)
{
    nh_run_inputs *in = run->inputs;
    const double t = nh_inputs_now(run, clock);
    const bool sample = is_sample(run, clock->step, t);
    nh_status status = NH_OK;
    nh_journal_note_inputs(run);
    nh_run_take_inputs(run, member, in->u);
    if (sample)
        nh_run_inner_state(run, member, NULL, in->q, in->v);
    take_given(run, clock->step, t, sample, false);
    if (sample && in->function) {
        nh_run_state(run, member, NULL, in->q, in->v);
        status = ask(run, member, t, in->q, in->v, in->u, report);
    }
    if (status == NH_OK) {
        put_inputs(run, member);
        nh_tangent_give_inputs(run, member, t, t + early * clock->step, sample, false);
    }
    return status;
}

nh_status nh_run_find_start_inputs(nh_run *run, int member, double t, const double *q,
                                   const double *v, const double **u, nh_report *report)
{
    nh_run_inputs *in = run->inputs;
    *u = NULL;
    if (!in)
        return NH_OK;
    const int open = run->system->mechanics->problem->open_values;
    const double *parameter = run->system->parameter;
    for (int i = 0; i < run->system->shape.inputs; i++)
        in->u[i] = i < open || !parameter ? 0 : parameter[i - open];
    *u = in->u;
    memcpy(in->q, q, (size_t)run->system->coordinates * sizeof *q);
    nh_inner_velocities(run->system, q, v, in->v, 1);
    take_given(run, run->step, t, true, true);
    return in->function ? ask(run, member, t, q, v, in->u, report) : NH_OK;
}

/* Stores what was found for the start state. */
static void start(nh_run *run, int member)
{
    if (!run->inputs)
        return;
    run->inputs->next = next_change(run, run->step, run->time);
    run->inputs->changed = run->inputs->lingers = false;
    put_inputs(run, member);
}

bool nh_run_inputs_are_given(const nh_run *run)
{
    return run->inputs && run->inputs->function;
}

static void resume(nh_run *run, const nh_clock *clock)
{
    if (!run->inputs)
        return;
    run->inputs->next = next_change(run, clock->step, nh_inputs_now(run, clock));
    run->inputs->lingers =
        nh_journal_ends(run) && some_end_here(run, clock->step, nh_inputs_now(run, clock));
}

/* ---- in the loop ---- */

static bool is_retired(const nh_run *run, int member)
{
    const int lanes = run->group[0].lanes;
    return run->group[member / lanes].retired >> member % lanes & 1;
}

/* The run goes on beyond the end of a table: from now on the input is constant. */
static void leave_tables(nh_run *run, const nh_clock *clock)
{
    run->inputs->lingers = false;
    nh_journal_note_inputs(run);
    for (int i = 0; i < run->members; i++) {
        if (is_retired(run, i))
            continue;
        nh_run_take_inputs(run, i, run->inputs->u);
        take_given(run, clock->step, nh_inputs_now(run, clock), false, false);
        put_inputs(run, i);
    }
}

/* Applies the consequences of inputs that the caller has set, or whose tables have ended. */
static nh_status settle(nh_run *run, const nh_clock *clock, nh_report *report)
{
    if (!run->inputs || !(run->inputs->changed || run->inputs->lingers))
        return NH_OK;
    if (run->inputs->lingers) {
        nh_contacts_meet_jump(run, nh_inputs_now(run, clock));
        leave_tables(run, clock);
    }
    run->inputs->changed = false;
    const nh_status status = answer_all(run, nh_inputs_now(run, clock), report);
    nh_solution_note(run, true);
    return status;
}

static int64_t next_change_step(const nh_run *run, const nh_clock *clock)
{
    if (!run->inputs || isinf(run->inputs->next))
        return INT64_MAX;
    const double ahead = (run->inputs->next - nh_inputs_now(run, clock)) / clock->step + early;
    return ahead < 0x1p53 ? run->steps + (int64_t)floor(ahead) : INT64_MAX;
}

static int64_t next_step(nh_run *run, const nh_clock *clock)
{
    return next_change_step(run, clock);
}

static int64_t quiet(const nh_run *run)
{
    const nh_clock clock = nh_run_clock(run);
    return run->inputs && run->inputs->lingers ? run->steps : next_change_step(run, &clock) - 1;
}

static double next_time(const nh_run *run)
{
    return run->inputs ? run->inputs->next : INFINITY;
}

/* Gives all members their new inputs, if inputs change now. */
static nh_status act(nh_run *run, const nh_stop *stop, nh_report *report)
{
    nh_run_inputs *in = run->inputs;
    nh_status status = NH_OK;
    const double t = nh_inputs_now(run, stop->clock);
    if (!in || t < in->next - early * stop->clock->step)
        return NH_OK;
    in->lingers = stop->last && nh_journal_ends(run) && some_end_here(run, stop->clock->step, t);
    nh_contacts_meet_jump(run, t);
    for (int i = 0; i < run->members && status == NH_OK; i++)
        if (!is_retired(run, i))
            status = give(run, stop->clock, i, report);
    in->next = next_change(run, stop->clock->step, t);
    return status == NH_OK ? answer_all(run, t, report) : status;
}

const nh_attachment nh_attachment_inputs = {.create = create,
                                            .free = free_all,
                                            .start = start,
                                            .resume = resume,
                                            .settle = settle,
                                            .next = next_step,
                                            .quiet = quiet,
                                            .next_time = next_time,
                                            .act = act};
