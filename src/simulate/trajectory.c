/* One trajectory: the states come from nh_run_sample; every sample becomes a row of the record and
 * of the file. */
#include "analysis/sensitivity.h"
#include "simulate/simulation.h"
#include "base/clock.h"
#include "base/option_struct.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>

/* ---- creation ------------------------------------------------------------------------------ */

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

/* Adds the columns that were asked for. Two states one step apart exist only if all steps have the
 * same length and every one of them is a step of the run. */
static nh_status observe(nh_simulation *s, nh_report *report)
{
    const int n = nh_system_coordinates(s->system);
    nh_state start = {.t = s->how.t0, .q = s->motion, .wrapped_q = s->motion, .v = s->motion + n};
    nh_status status =
        nh_record_observe(s->record, s->run, s->options.observe, s->how.step, &start, report);
    if (status != NH_OK || !s->record->watch || !nh_watch_looks_back(s->record->watch))
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

nh_status nh_trajectory_create(nh_simulation *s, nh_report *report)
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
    if (status == NH_OK && o->sensitivity)
        status = nh_sensitivity_begin(o->sensitivity, s->run, 0, report);
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
    if (status == NH_OK && o->sensitivity)
        status = nh_record_differentiate(s->record, s->run, o->sensitivity, report);
    if (status != NH_OK)
        return status;
    if (s->options.keep == NH_KEEP_ADVISED) {
        const bool elsewhere = s->options.output || s->options.checkpoint || s->options.resume;
        s->options.keep = elsewhere ? NH_KEEP_LAST_ROW : NH_KEEP_ROWS;
    }
    if (s->how.every == 0)
        s->how.every = nh_record_spacing(s->how.steps, nh_record_columns(s->record));
    s->record->section = s->in_section != NULL;
    nh_record_keep_rows(s->record, s->options.keep == NH_KEEP_ROWS);
    return nh_record_reserve(s->record, s->how.steps / s->how.every + 3, report);
}

void nh_trajectory_free(nh_simulation *s)
{
    nh_record_free(s->record);
    nh_bytes_free(s->begun.bytes);
    free(s->event);
    free(s->event_moves);
    free(s->in_section);
    nh_solution_free(s->solution);
    nh_run_free(s->run);
    free(s->multipliers);
    free(s->motion);
    nh_holonomic_free(s->holonomic);
}

/* ---- rows ---------------------------------------------------------------------------------- */

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
                       "imply drifts by %.1g (%.1g of its size); %s or a method of higher order "
                       "(gauss:stages=3) drifts less",
                       s->surface_drift, part, nh_run_finer(s->run, s->how.step).text);
}

nh_status nh_trajectory_write_row(nh_simulation *s, const double *wrapped_q, nh_report *report)
{
    const nh_record *record = s->record;
    const double *row = record->table + (nh_record_kept(record) - 1) * record->width;
    const double *q = row + 1, *v = q + record->coordinates;
    nh_status status = NH_OK;
    if (s->multipliers)
        status = nh_system_acceleration_with(s->system, row[0], wrapped_q, v, s->record->u, NULL,
                                             s->multipliers, report);
    if (status == NH_NO_MEMORY)
        return status;
    for (int i = 0; status != NH_OK && i < s->record->constraints; i++)
        s->multipliers[i] = NAN; /* there are none, for instance in a singular state */
    return nh_archive_row(s->archive, row[0], q, v, row + nh_record_energy_column(record),
                          s->multipliers, report);
}

static nh_state state_in(const double *row, const double *wrapped_q, int coordinates)
{
    return (nh_state){
        .t = row[0], .q = row + 1, .wrapped_q = wrapped_q, .v = row + 1 + coordinates};
}

static nh_status take_samples(void *user, const nh_samples *samples, nh_report *report)
{
    nh_simulation *s = user;
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
            status = nh_trajectory_write_row(s, wrapped, report);
        if (status == NH_OK)
            s->recorded = samples->step + i * samples->every;
        nh_simulation_note_motion(s, row + 1);
        follow_surface(s, row);
    }
    s->gap |= status != NH_OK;
    return status;
}

/* ---- the way ------------------------------------------------------------------------------- */

static int look_around(void *simulation, int64_t steps)
{
    return nh_simulation_is_interrupted(simulation, steps);
}

int64_t nh_trajectory_lead(const nh_simulation *s)
{
    return (int64_t)ceil(s->options.lead / s->how.step);
}

/* From the start to the first row, or until it is interrupted on the way. */
static nh_status take_lead(nh_simulation *s, nh_report *report)
{
    static const double apart = 0.05; /* seconds */
    const int64_t steps = nh_trajectory_lead(s);
    double looked = nh_clock_seconds();
    bool interrupted = false;
    nh_status status = NH_OK;
    s->uneven |= steps > 0;
    while (status == NH_OK && s->led < steps && !interrupted) {
        status = nh_run_advance_by(s->run, s->options.lead / (double)steps, report);
        s->led += status == NH_OK;
        if (nh_clock_seconds() - looked < apart)
            continue;
        interrupted = nh_simulation_is_interrupted(s, 0);
        looked = nh_clock_seconds();
    }
    if (status == NH_OK && steps > 0 && s->led == steps && s->options.checkpoint)
        status = nh_run_save(s->run, &s->begun.bytes, &s->begun.size, report);
    return status;
}

/* The last, shorter step, whose end is a row of its own. */
static nh_status take_rest(nh_simulation *s, nh_report *report)
{
    nh_sample_options here = {.first = true, .user = s, .samples = take_samples};
    nh_status status = nh_run_advance_by(s->run, s->plan.rest, report);
    s->ended = s->uneven = true;
    return status == NH_OK ? nh_run_sample(s->run, &here, report) : status;
}

static nh_status advance(nh_simulation *s, nh_report *report)
{
    const bool asked = nh_simulation_is_asked_to_stop(s);
    nh_sample_options options = {.steps = asked ? 0 : s->how.steps - nh_run_steps(s->run),
                                 .every = s->how.every,
                                 .first = s->recorded < 0,
                                 .look_back = nh_watch_looks_back(s->record->watch),
                                 .user = s,
                                 .samples = take_samples,
                                 .pause = look_around};
    nh_status status = s->recorded < 0 && !asked ? take_lead(s, report) : NH_OK;
    if (status == NH_OK && s->led < nh_trajectory_lead(s)) /* it was interrupted on the way */
        return NH_OK;
    if (status == NH_OK)
        status = nh_run_sample(s->run, &options, report);
    if (status == NH_OK && s->event_status != NH_OK) {
        status = s->event_status;
        if (report)
            *report = s->event_report;
    }
    const bool rests = s->plan.rest > 0 && !s->ended && nh_run_ended(s->run, 0, NULL) < 0;
    if (status == NH_OK && nh_run_steps(s->run) == s->how.steps && rests)
        status = take_rest(s, report);
    return status;
}

nh_status nh_trajectory_advance(nh_simulation *s, nh_report *report)
{
    const nh_status status = advance(s, report);
    if (status != NH_CALLBACK_STOPPED || !s->run->interrupted)
        return status;
    s->stopped = true; /* within a step that takes long */
    return NH_OK;
}

/* Records how far a run got that failed or was stopped, as its last row. */
void nh_trajectory_conclude(nh_simulation *s, bool ended_early)
{
    nh_sample_options here = {.first = true, .user = s, .samples = take_samples};
    if (ended_early && s->recorded < nh_run_steps(s->run))
        nh_run_sample(s->run, &here, NULL); /* the failure that matters has already been reported */
    remark_drift(s);
}
