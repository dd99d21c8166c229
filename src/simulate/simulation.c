/* A simulation: one trajectory, recorded and written to a file while it is computed, with
 * checkpoints. The states come from nh_run_sample; every sample becomes a row of the record and of
 * the file. files.c handles the files, estimate.c estimates the error. */
#include "simulate/simulation.h"
#include "base/clock.h"
#include "base/option_struct.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>

static const double default_rows = 10000, default_seconds = 60;
static const double table_limit = 32 << 20; /* numbers in a table before rows are left out */

int64_t nh_record_spacing(int64_t steps, int columns)
{
    double rows = fmin(default_rows, fmax(100, table_limit / columns));
    return (double)steps > rows ? (int64_t)ceil((double)steps / rows) : 1;
}

/* ---- creation ------------------------------------------------------------------------------ */

static nh_status check_options(const nh_simulation *s, nh_report *report)
{
    const nh_run_options *how = &s->how;
    if (how->steps < -1 || how->every < 0 || how->members > 1 || !how->q != !how->v)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a simulation needs a single trajectory, steps >= 0, every >= 0, and either "
                       "both q and v or neither");
    if (s->options.keep == NH_KEEP_ROWS && s->options.resume)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a resumed simulation cannot keep the earlier rows in memory");
    return NH_OK;
}

/* Fills in what the options left open. */
static void fill_in(nh_simulation *s)
{
    nh_simulation_options *o = &s->options;
    bool elsewhere = o->output || o->checkpoint || o->resume;
    if (o->keep == NH_KEEP_ADVISED)
        o->keep = elsewhere ? NH_KEEP_LAST_ROW : NH_KEEP_ROWS;
    if (s->how.every == 0)
        s->how.every = nh_record_spacing(s->how.steps, nh_record_columns(s->record));
    if (!(o->checkpoint_seconds > 0) && o->checkpoint_steps <= 0)
        o->checkpoint_seconds = default_seconds;
}

/* Files record the method with its options, and runs have a step. */
static nh_status make_plan(nh_simulation *s, nh_report *report)
{
    nh_status status = nh_plan_make(&s->plan, s->system, &s->how, report);
    s->how.method = s->plan.method;
    s->how.step = s->plan.step;
    s->how.steps = s->plan.steps;
    return status;
}

nh_run_options nh_simulation_stepping(const nh_simulation *s, int64_t steps)
{
    return (nh_run_options){.size = sizeof(nh_run_options),
                            .method = s->how.method,
                            .compose = s->how.compose,
                            .step = s->how.step,
                            .backend = s->how.backend,
                            .steps = steps,
                            .compensated = s->how.compensated};
}

static nh_status start(nh_simulation *s, nh_report *report)
{
    const nh_run_options *how = &s->how;
    if (how->q)
        return nh_run_start(s->run, 0, how->t0, how->q, how->v, report);
    int n = nh_system_coordinates(s->system), k = nh_system_velocities(s->system);
    double *q = malloc((size_t)(n + k + 1) * sizeof *q);
    nh_start_options at = nh_start_options_default();
    at.t = how->t0;
    nh_status status =
        q ? nh_system_begin(s->system, &at, q, q + n, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_run_start(s->run, 0, how->t0, q, q + n, report);
    free(q);
    return status;
}

bool nh_simulation_is_asked_to_stop(const nh_simulation *s)
{
    return s->how.stop && s->how.stop(s->how.user) != 0;
}

/* Adds the columns that were asked for. Two states one step apart exist only if all steps have the
 * same length and every one of them is a step of the run. */
static nh_status observe(nh_simulation *s, nh_report *report)
{
    const int n = nh_system_coordinates(s->system);
    nh_state start = {.t = s->how.t0, .q = s->motion, .wrapped_q = s->motion, .v = s->motion + n};
    nh_status status =
        nh_record_observe(s->record, s->options.observe, s->how.step, &start, report);
    if (status != NH_OK || !nh_watch_looks_back(s->record->watch))
        return status;
    if (s->in_section)
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "a quantity that compares two successive states cannot be recorded in a section");
    if (s->plan.tolerance > 0 || s->plan.pace > 0)
        return nh_fail_about(report,
                             nh_fail(report, NH_BAD_ARGUMENT,
                                     "a quantity that compares two successive states needs a fixed "
                                     "step; %s chooses its own",
                                     s->how.method),
                             "step");
    return NH_OK;
}

/* Called while waiting for the compiler. */
static int ask_to_stop(void *simulation)
{
    return nh_simulation_is_asked_to_stop(simulation);
}

static nh_status begin(nh_simulation *s, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    nh_run_options run = nh_simulation_stepping(s, s->how.steps);
    run.user = s;
    run.stop = s->how.stop ? ask_to_stop : NULL;
    run.until = s->how.until;
    run.watch_all = true;
    run.event = nh_simulation_note_event;
    run.event_functions = s->how.event_functions;
    run.event_function_count = s->how.event_function_count;
    run.inputs_user = s->how.inputs_user;
    run.inputs = s->how.inputs;
    nh_status status = nh_simulation_choose_section(s, report);
    if (status == NH_OK)
        status = nh_run_create(&s->run, s->system, &run, report);
    if (status == NH_OK)
        status = start(s, report);
    if (status == NH_OK && o->solution)
        status = nh_solution_create(&s->solution, s->run, report);
    if (status == NH_OK)
        status = nh_simulation_watch_motion(s, report);
    if (status == NH_OK && !o->resume) {
        nh_status followed =
            nh_holonomic_create(&s->holonomic, s->system, s->how.t0, s->motion, report);
        if (followed == NH_NO_MEMORY) /* otherwise there is no surface to follow */
            status = followed;
    }
    if (status == NH_OK)
        status = nh_record_create(&s->record, s->system, report);
    if (status == NH_OK && o->observe)
        status = observe(s, report);
    if (status != NH_OK)
        return status;
    fill_in(s);
    s->record->section = s->in_section != NULL;
    nh_record_keep_rows(s->record, s->options.keep == NH_KEEP_ROWS);
    status = nh_record_reserve(s->record, s->how.steps / s->how.every + 3, report);
    if (status == NH_OK)
        status = nh_simulation_open(s, report);
    s->last_steps = nh_run_steps(s->run);
    return status;
}

nh_status nh_simulation_create(nh_simulation **out, const nh_system *system,
                               const nh_simulation_options *options, nh_report *report)
{
    *out = NULL;
    nh_simulation *s = calloc(1, sizeof *s);
    if (!s)
        return nh_fail_memory(report);
    s->system = system;
    s->recorded = -1;
    s->last_time = nh_clock_seconds();
    nh_status status =
        NH_OPTIONS_TAKE(&s->options, options, nh_simulation_options, observe, report);
    if (status == NH_OK)
        status = NH_OPTIONS_TAKE(&s->how, s->options.run, nh_run_options, v, report);
    if (status == NH_OK)
        status = check_options(s, report);
    if (status == NH_OK)
        status = make_plan(s, report);
    if (status == NH_OK)
        status = begin(s, report);
    if (status == NH_OK)
        *out = s;
    else
        nh_simulation_free(s);
    return status;
}

void nh_simulation_free(nh_simulation *s)
{
    if (!s)
        return;
    nh_archive_leave(s->archive);
    nh_simulation_unlock(s);
    nh_record_free(s->record);
    free(s->event);
    free(s->in_section);
    nh_solution_free(s->solution);
    nh_run_free(s->run);
    free(s->multipliers);
    free(s->motion);
    nh_holonomic_free(s->holonomic);
    free(s);
}

/* ---- sampling ------------------------------------------------------------------------------ */

/* What nh_run_sample passes to its hooks; writing a checkpoint can fail and needs a report. */
typedef struct stretch {
    nh_simulation *simulation;
    nh_status status; /* of checkpoints */
    nh_report *report;
} stretch;

enum { SURFACE_POINTS = 256 };
static const double noticeable = 1e-3; /* a drift of positions, relative to their size */

/* Follows the condition to which holonomic constraints amount, at some of the rows. */
static void follow_surface(nh_simulation *s, const double *row)
{
    int64_t rows = s->how.steps / s->how.every + 2;
    if (!s->holonomic || (nh_record_rows(s->record) - 1) % (rows / SURFACE_POINTS + 1) != 0)
        return;
    double drift;
    if (nh_holonomic_follow(s->holonomic, row[0], row + 1, &drift, &s->surface_size, NULL) ==
        NH_OK) {
        s->surface_drift = fmax(s->surface_drift, drift);
        return;
    }
    nh_holonomic_free(s->holonomic);
    s->holonomic = NULL;
}

static void remark_drift(nh_simulation *s)
{
    double part = s->surface_drift / s->surface_size;
    if (s->holonomic && part > noticeable)
        nh_remarks_add(&s->run->remarks, "holonomic",
                       "the constraints are holonomic, and the condition on positions that they "
                       "imply drifts by %.1g (%.1g of its size); a smaller step or a method of "
                       "higher order (gauss:stages=3) drifts less",
                       s->surface_drift, part);
}

static nh_state state_in(const double *row, const double *wrapped_q, int coordinates)
{
    return (nh_state){
        .t = row[0], .q = row + 1, .wrapped_q = wrapped_q, .v = row + 1 + coordinates};
}

static nh_status take_samples(void *user, const nh_samples *samples, nh_report *report)
{
    nh_simulation *s = ((stretch *)user)->simulation;
    if (s->in_section) { /* states between the events are not recorded */
        s->recorded = samples->step;
        return s->event_status;
    }
    int n = s->record->coordinates, width = 1 + n + s->record->velocities;
    nh_status status = NH_OK;
    for (int64_t i = 0; i < samples->count && status == NH_OK; i++) {
        const double *row = samples->row + i * width, *wrapped = samples->wrapped + i * n;
        nh_state before, now = state_in(row, wrapped, n);
        if (samples->before)
            before = state_in(samples->before + i * width, samples->wrapped_before + i * n, n);
        status = nh_record_add_step(s->record, &now, samples->before ? &before : NULL,
                                    samples->inputs, report);
        if (status == NH_OK && s->archive)
            status = nh_simulation_write_row(s, wrapped, report);
        if (status == NH_OK)
            s->recorded = samples->step + i * samples->every;
        nh_simulation_note_motion(s, row + 1);
        follow_surface(s, row);
    }
    s->gap |= status != NH_OK;
    return status;
}

static int look_around(void *user, int64_t steps)
{
    stretch *now = user;
    nh_simulation *s = now->simulation;
    if (s->options.progress)
        s->options.progress(s->options.user, steps, s->how.steps);
    if (nh_simulation_checkpoint_is_due(s))
        now->status = nh_simulation_write_checkpoint(s, now->report);
    bool pauses = s->options.pause > 0 && nh_clock_seconds() >= s->pause_at;
    return now->status != NH_OK || pauses || nh_simulation_is_asked_to_stop(s);
}

nh_status nh_simulation_take_lead(nh_simulation *s, nh_report *report)
{
    const double pieces = ceil(s->options.lead / s->how.step);
    nh_status status = NH_OK;
    s->uneven |= pieces > 0;
    for (double i = 0; i < pieces && status == NH_OK; i++)
        status = nh_run_advance_by(s->run, s->options.lead / pieces, report);
    return status;
}

/* The last, shorter step, whose end is a row of its own. */
static nh_status take_rest(nh_simulation *s, nh_report *report)
{
    stretch now = {.simulation = s, .report = report};
    nh_sample_options here = {.first = true, .user = &now, .samples = take_samples};
    nh_status status = nh_run_advance_by(s->run, s->plan.rest, report);
    s->ended = s->uneven = true;
    return status == NH_OK ? nh_run_sample(s->run, &here, report) : status;
}

nh_status nh_simulation_advance(nh_simulation *s, nh_report *report)
{
    stretch now = {.simulation = s, .report = report};
    int64_t done = nh_run_steps(s->run);
    s->pause_at = nh_clock_seconds() + s->options.pause;
    nh_sample_options options = {.steps =
                                     nh_simulation_is_asked_to_stop(s) ? 0 : s->how.steps - done,
                                 .every = s->how.every,
                                 .first = s->recorded < 0,
                                 .look_back = nh_watch_looks_back(s->record->watch),
                                 .user = &now,
                                 .samples = take_samples,
                                 .pause = look_around};
    if (s->recorded < 0)
        s->status = nh_simulation_take_lead(s, report);
    if (s->status == NH_OK)
        s->status = nh_run_sample(s->run, &options, report);
    if (s->status == NH_OK)
        s->status = now.status;
    if (s->status == NH_OK && s->event_status != NH_OK) {
        s->status = s->event_status;
        if (report)
            *report = s->event_report;
    }
    const bool rests = s->plan.rest > 0 && !s->ended && nh_run_ended(s->run, 0, NULL) < 0;
    if (s->status == NH_OK && nh_run_steps(s->run) == s->how.steps && rests)
        s->status = take_rest(s, report);
    return s->status;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Records how far a run got that failed or was stopped, as its last row. */
static void record_end(nh_simulation *s)
{
    stretch now = {.simulation = s};
    nh_sample_options here = {.first = true, .user = &now, .samples = take_samples};
    if (s->recorded < nh_run_steps(s->run))
        nh_run_sample(s->run, &here, NULL); /* the failure that matters has already been reported */
}

/* Stopped, with a checkpoint from which to resume. */
static nh_status suspend(nh_simulation *s, nh_report *report)
{
    nh_status status = nh_simulation_write_checkpoint(s, report);
    nh_archive_leave(s->archive);
    s->archive = NULL;
    nh_simulation_unlock(s);
    return status;
}

/* If the process is killed after this last checkpoint, nothing remains to be computed; files only
 * have to be closed. */
static nh_status close_output(nh_simulation *s, bool complete, nh_report *report)
{
    nh_status kept = NH_OK;
    if (s->options.checkpoint && complete)
        kept = nh_simulation_write_checkpoint(s, report);
    if (kept != NH_OK) { /* the previous checkpoint is for rows that are not closed yet */
        nh_archive_leave(s->archive);
        s->archive = NULL;
        return kept;
    }
    nh_status status = nh_archive_close(s->archive, report);
    s->archive = NULL;
    if (status == NH_OK)
        s->complete = s->options.output;
    return status;
}

nh_status nh_simulation_finish(nh_simulation *s, nh_report *report)
{
    bool arrived = nh_simulation_arrived(s), failed = s->status != NH_OK;
    if (!failed && !arrived && s->options.checkpoint)
        return suspend(s, report);
    if (failed || !arrived)
        nh_simulation_unlock(s);
    /* a failure such as a full disk, not a motion that ends: leave no partial file */
    if (s->status == NH_FILE_FAILED || s->status == NH_NO_MEMORY || s->gap) {
        nh_archive_leave(s->archive);
        s->archive = NULL;
    } else if (failed || !arrived)
        record_end(s);
    remark_drift(s);
    return s->archive ? close_output(s, arrived && !failed, report) : NH_OK;
}

const nh_plan *nh_simulation_plan(const nh_simulation *s)
{
    return &s->plan;
}

const nh_run *nh_simulation_run(const nh_simulation *s)
{
    return s->run;
}

nh_solution *nh_simulation_solution(const nh_simulation *s)
{
    return s->solution;
}

const nh_record *nh_simulation_record(const nh_simulation *s)
{
    return s->record;
}

int64_t nh_simulation_every(const nh_simulation *s)
{
    return s->how.every;
}

const char *nh_simulation_output(const nh_simulation *s)
{
    return s->complete;
}
