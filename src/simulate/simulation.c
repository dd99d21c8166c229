/* A simulation: one trajectory or many, written to a file while they are computed, with
 * checkpoints. trajectory.c and ensemble.c advance them; here is what is the same for both. */
#include "base/clock.h"
#include "base/option_struct.h"
#include "run/run.h"
#include "simulate/ensemble.h"

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

static bool has_members(const nh_simulation *s)
{
    return s->options.members > 0 || s->options.sweeps > 0 || s->options.variations > 0;
}

static nh_status check_options(const nh_simulation *s, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    const nh_run_options *how = &s->how;
    if (how->steps < -1 || how->every < 0 || how->members > 1 || !how->q != !how->v ||
        o->members < 0)
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "a simulation needs steps >= 0, every >= 0, members >= 0 in its own options, "
            "and either both q and v or neither");
    if (o->keep == NH_KEEP_ROWS && o->resume)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a resumed simulation cannot keep the earlier rows in memory");
    if (has_members(s) && (o->solution || o->observe || o->sensitivity || o->lead != 0 ||
                           how->event || how->inputs || how->event_function_count > 0))
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "an ensemble has no observed quantities, no derivatives, no events that are told, "
            "no inputs from a function and no solution; these need one trajectory");
    if (has_members(s) && o->section &&
        (o->checkpoint || o->resume || o->processes || o->parts > 0 || o->output))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the section of an ensemble stays in memory: it is computed by one process "
                       "at a time, without checkpoints, parts and files of rows");
    if (!(o->lead >= 0 && isfinite(o->lead)))
        return nh_fail(report, NH_BAD_ARGUMENT, "the first state cannot be recorded %g after t0",
                       o->lead);
    return has_members(s) || s->system
               ? NH_OK
               : nh_fail(report, NH_BAD_ARGUMENT, "one trajectory needs a system");
}

/* Files record the method with its options, and runs have a step. */
nh_status nh_simulation_make_plan(nh_simulation *s, const nh_system *system, nh_report *report)
{
    nh_run_options open = s->how;
    if (has_members(s)) /* their starts are not that of the plan */
        open.q = open.v = NULL;
    nh_status status = nh_plan_make(&s->plan, system, &open, report);
    s->how.method = s->plan.method;
    if (nh_composition_is_list(s->plan.method))
        s->how.compose = s->plan.method;
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

bool nh_simulation_is_asked_to_stop(const nh_simulation *s)
{
    return s->how.stop && s->how.stop(s->how.user) != 0;
}

static nh_status begin(nh_simulation *s, nh_report *report)
{
    nh_status status = check_options(s, report);
    if (status == NH_OK && has_members(s))
        status = nh_ensemble_create(s, report);
    else if (status == NH_OK) {
        status = nh_simulation_make_plan(s, s->system, report);
        if (status == NH_OK && s->options.lead / s->how.step > 0x1p53)
            status = nh_fail(report, NH_BAD_ARGUMENT,
                             "the first recorded state is %.10g after the start, which needs too "
                             "many steps of %.10g",
                             s->options.lead, s->how.step);
        if (status == NH_OK)
            status = nh_trajectory_create(s, report);
    }
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK)
        status = nh_ranks_compare(s, report);
    if (!(s->options.checkpoint_seconds > 0) && s->options.checkpoint_steps <= 0)
        s->options.checkpoint_seconds = default_seconds;
    if (status == NH_OK)
        status = nh_simulation_open(s, report);
    s->last_steps = status == NH_OK ? nh_simulation_steps(s) : 0;
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
    nh_status status = NH_OPTIONS_TAKE(&s->options, options, nh_simulation_options, member, report);
    if (status == NH_OK)
        status = NH_OPTIONS_TAKE(&s->how, s->options.run, nh_run_options, v, report);
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
    nh_trajectory_free(s);
    nh_ensemble_free(s->ensemble);
    free(s->sets_parameter);
    free(s);
}

/* ---- the way ------------------------------------------------------------------------------- */

static bool is_over(const nh_simulation *s) /* the time until a pause */
{
    return s->options.pause > 0 && nh_clock_seconds() >= s->pause_at;
}

bool nh_simulation_is_interrupted(nh_simulation *s, int64_t done)
{
    nh_ensemble *e = s->ensemble;
    const int64_t all = s->how.steps * (e ? nh_simulation_members(s).own : 1);
    const int64_t together = e ? nh_ranks_steps(e, done) : done;
    if (s->options.progress)
        s->options.progress(s->options.user, together, all);
    const bool asked = nh_simulation_is_asked_to_stop(s);
    const bool wanted = nh_simulation_checkpoint_is_due(s, done);
    s->due |= s->options.processes ? nh_ranks_round(e, wanted, asked) : wanted;
    /* processes that share the ensemble stop together, with a checkpoint */
    s->stopped |= asked && !(s->options.processes && s->options.checkpoint);
    return s->due || s->stopped || is_over(s) || (e && e->other_failed);
}

bool nh_simulation_is_to_give_up(nh_simulation *s, int64_t done)
{
    const bool nothing = done == 0 && !s->options.processes; /* to save */
    return nh_simulation_is_asked_to_stop(s) && (!s->options.checkpoint || nothing);
}

nh_status nh_simulation_advance(nh_simulation *s, nh_report *report)
{
    s->pause_at = nh_clock_seconds() + s->options.pause;
    s->stopped = false;
    for (bool more = true; more;) {
        s->due = s->saved = false;
        s->status = s->ensemble ? nh_ensemble_advance(s->ensemble, report)
                                : nh_trajectory_advance(s, report);
        if (s->status == NH_OK && s->due)
            s->status = nh_simulation_write_checkpoint(s, report);
        more = s->status == NH_OK && s->due && !s->stopped && !is_over(s);
    }
    return s->status;
}

bool nh_simulation_arrived(const nh_simulation *s)
{
    if (s->ensemble)
        return s->ensemble->combined;
    const bool led = s->led == nh_trajectory_lead(s);
    return (led && nh_run_steps(s->run) == s->how.steps) || nh_run_ended(s->run, 0, NULL) >= 0;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void leave_output(nh_simulation *s)
{
    nh_archive_leave(s->archive);
    s->archive = NULL;
}

/* Stopped, with a checkpoint from which to resume. */
static nh_status suspend(nh_simulation *s, nh_report *report)
{
    nh_status status = s->saved ? NH_OK : nh_simulation_write_checkpoint(s, report);
    leave_output(s);
    nh_simulation_unlock(s);
    return status;
}

static nh_status write_statistics(nh_simulation *s, nh_report *report)
{
    nh_statistic *statistic = nh_ensemble_statistics(s->ensemble);
    nh_status status =
        statistic ? nh_archive_statistics(s->archive, statistic, report) : nh_fail_memory(report);
    free(statistic);
    return status;
}

/* If the process is killed after the last checkpoint of a trajectory, nothing remains to be
 * computed; its file only has to be closed. Without that checkpoint, the previous one is for rows
 * that are not closed yet. */
static nh_status close_output(nh_simulation *s, bool complete, nh_report *report)
{
    nh_status status = NH_OK;
    if (s->ensemble)
        status = write_statistics(s, report);
    else if (s->options.checkpoint && complete)
        status = nh_simulation_write_checkpoint(s, report);
    if (status != NH_OK) {
        leave_output(s);
        return status;
    }
    status = nh_archive_close(s->archive, report);
    s->archive = NULL;
    if (status == NH_OK)
        s->complete = s->options.output;
    return status;
}

nh_status nh_simulation_finish(nh_simulation *s, nh_report *report)
{
    const bool failed = s->status != NH_OK, complete = !failed && nh_simulation_arrived(s);
    /* a failure such as a full disk, not a motion that ends: leave no partial file */
    const bool broken = s->status == NH_FILE_FAILED || s->status == NH_NO_MEMORY || s->gap;
    if (!failed && !complete && s->options.checkpoint)
        return suspend(s, report);
    if (!complete)
        nh_simulation_unlock(s);
    if (broken || (s->ensemble && !complete))
        leave_output(s);
    nh_status status = NH_OK;
    if (!s->ensemble)
        nh_trajectory_conclude(s, !complete && !broken);
    else if (complete)
        status = nh_ensemble_complete_rows(s->ensemble, report);
    if (status == NH_OK && s->archive)
        status = close_output(s, complete, report);
    return status;
}

/* ---- access -------------------------------------------------------------------------------- */

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

int64_t nh_simulation_steps(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->steps_done : nh_run_steps(s->run);
}

nh_backend nh_simulation_backend(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->backend : nh_run_backend(s->run);
}

double nh_simulation_seconds(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->seconds : nh_run_seconds(s->run);
}

int nh_simulation_remarks(const nh_simulation *s)
{
    if (!s->ensemble)
        return nh_run_remarks(s->run);
    nh_ensemble_conclude(s->ensemble);
    return s->ensemble->remarks.count;
}

const char *nh_simulation_remark(const nh_simulation *s, int index)
{
    return s->ensemble ? nh_remarks_text(&s->ensemble->remarks, index)
                       : nh_run_remark(s->run, index);
}
