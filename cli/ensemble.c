/* nonholo ensemble: computes many trajectories and their statistics. */
#define _GNU_SOURCE
#include <nonholo_analysis.h>

#include "command.h"
#include "ensemble_job.h"
#include "message.h"
#include "method_list.h"
#include "timing.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TABLE_STATISTICS = 0, AROUND_START = 1 };

/* ---- the request --------------------------------------------------------------------------- */

static int check_kind(const options *given)
{
    bool random = given->members > 0;
    if (!random && given->sweep_count == 0 && !given->starts)
        return complain("ensemble needs --members N, --sweep NAME=a:b:n or --starts FILE.csv");
    if (random && (given->starts || given->q || given->v))
        return complain("--members generates random starts and cannot be combined with %s",
                        given->starts ? "--starts"
                        : given->q    ? "--q"
                                      : "--v");
    if (random && given->project)
        return complain(
            "random starts already satisfy the constraints; --project is for given starts");
    if (!random && (!isnan(given->energy) || given->seed >= 0 || given->around))
        return complain("%s applies only to random starts; give --members N",
                        given->seed >= 0 ? "--seed"
                        : given->around  ? "--around"
                                         : "--energy");
    if (given->starts && (given->q || given->v))
        return complain("--starts and --%s cannot be combined: both give start states",
                        given->q ? "q" : "v");
    if (given->sweep_count > SWEEPS_MAX)
        return complain("an ensemble has at most %d sweeps", SWEEPS_MAX);
    return 0;
}

static int check_paths(const options *given)
{
    nh_report report;
    nh_status status = NH_OK;
    if (given->output)
        status = is_csv(given->output) ? nh_record_can_write(given->output, &report)
                                       : nh_archive_can_write(given->output, 2, &report);
    if (status != NH_OK)
        return complain_report(&report);
    if (given->output && !is_csv(given->output) && given->table)
        return complain("--table applies only to -o FILE.csv; %s contains everything",
                        given->output);
    if (given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        return complain_report(&report);
    if (given->part && (!given->output || is_csv(given->output)))
        return complain("--part needs -o FILE.h5, which 'nonholo join' joins with the other parts");
    return 0;
}

/* --q and --v are a list with one entry. */
static int choose_starts(ensemble_job *c, const options *given)
{
    c->wanted.starts = NH_STARTS_MODEL;
    if (given->members > 0)
        c->wanted.starts = NH_STARTS_RANDOM;
    else if (given->starts || given->q || given->v) {
        int answer = given->starts ? read_starts(c, given->starts, given->project) : 0;
        if (answer)
            return answer;
        c->wanted.starts = NH_STARTS_LIST;
        c->wanted.q = c->list_q ? c->list_q : c->subject.q;
        c->wanted.v = c->list_v ? c->list_v : c->subject.v;
    }
    c->wanted.members = given->members > 0 ? given->members : c->list_members;
    return 0;
}

/* With --tolerance or without --step, members choose their own steps, and the steps of the run are
 * where their states are compared. */
static int plan_steps(ensemble_job *c, const options *given, double *step, int64_t *steps)
{
    const bool counted = given->steps >= 0 || !isnan(given->time);
    *step = given->step;
    if (given->method && !isnan(given->step) && counted && isnan(given->tolerance))
        return 0; /* nothing is open */
    nh_report report;
    nh_run_options open = nh_run_options_default();
    open.method = given->method;
    open.step = isnan(given->step) ? 0 : given->step;
    open.time = isnan(given->time) ? 0 : given->time;
    open.steps = given->steps > 0 ? given->steps : open.step > 0 && !counted ? -1 : 0;
    open.t0 = given->t0;
    open.tolerance = isnan(given->tolerance) ? 0 : given->tolerance;
    open.absolute = isnan(given->absolute) ? 0 : given->absolute;
    if (nh_plan_make(&c->plan, c->subject.system, &open, &report) != NH_OK)
        return complain_report(&report);
    c->method = c->plan.method;
    *step = c->plan.step;
    *steps = isnan(given->step) || !counted ? c->plan.steps : *steps;
    return 0;
}

static void fill_options(ensemble_job *c, const options *given, double step, int64_t steps)
{
    nh_run_options run = run_options(given, c->method, step, steps);
    c->wanted.size = sizeof c->wanted;
    c->wanted.model = c->subject.model;
    c->wanted.settings = (const char *const *)given->settings;
    c->wanted.setting_count = given->setting_count;
    c->wanted.sweep = c->sweep;
    c->wanted.sweeps = given->sweep_count;
    c->wanted.start = given->start;
    c->wanted.t0 = given->t0;
    c->wanted.fixed_energy = !isnan(given->energy);
    c->wanted.energy = given->energy;
    c->wanted.seed = given->seed > 0 ? (uint64_t)given->seed : 0;
    c->wanted.around_start = given->around == AROUND_START;
    c->wanted.project = given->project;
    c->wanted.keep = given->keep;
    c->wanted.solve = given->solve;
    c->wanted.method = run.method;
    c->wanted.compose = run.compose;
    c->wanted.step = run.step;
    c->wanted.backend = run.backend;
    c->wanted.compensated = run.compensated;
    c->wanted.steps = steps;
    c->wanted.every = given->every > 0 ? given->every : 0;
    c->wanted.threads = given->threads > 0 ? (int)given->threads : 0;
    c->wanted.part = given->part ? c->part : 0;
    c->wanted.parts = given->part ? c->parts : 0;
    c->wanted.processes = c->ranks.ranks;
    c->wanted.helper = c->ranks.rank > 0;
}

static int prepare(ensemble_job *c, const options *given, int64_t steps)
{
    int answer = 0;
    double step = 0;
    for (int i = 0; i < given->sweep_count && !answer; i++)
        answer =
            parse_sweep(given->sweeps[i], &c->sweep[i], c->sweep_name[i], sizeof c->sweep_name[i]);
    if (!answer)
        answer = subject_open(&c->subject, given);
    if (!answer)
        answer = plan_steps(c, given, &step, &steps);
    if (!answer)
        answer = choose_starts(c, given);
    if (!answer && given->part)
        answer = parse_part(given->part, &c->part, &c->parts);
    if (answer)
        return answer;
    fill_options(c, given, step, steps);
    nh_report report;
    if (nh_ensemble_create(&c->ensemble, &c->wanted, &report) != NH_OK)
        return complain_report(&report);
    c->wanted.every = nh_ensemble_every(c->ensemble);
    c->wanted.threads = nh_ensemble_threads(c->ensemble);
    return 0;
}

/* ---- running it ---------------------------------------------------------------------------- */

static int show_progress(void *user, int64_t done, int64_t all)
{
    ensemble_job *c = user;
    bool nothing = done == 0 && !c->ranks.mpi; /* to save: it may be compiling */
    (void)all;
    progress_update(&c->bar, ranks_steps(&c->ranks, done));
    return c->ranks.other_failed ||
           (interrupted() && (!c->checkpointing.given->checkpoint || nothing));
}

/* Reports why it stopped early: an interruption, a file, or an impossible start. */
static int tell_stop(ensemble_job *c, const nh_report *report)
{
    bool stopped = c->status == NH_CALLBACK_STOPPED && ranks_stopping(&c->ranks);
    if (c->failure.status != NH_OK)
        return complain_report(&c->failure);
    if ((c->ranks.rank > 0 && c->ranks.together) || c->ranks.other_failed) /* reported there */
        return FAILED;
    if (stopped && c->saved)
        return tell_how_to_resume(&c->checkpointing, c->done);
    if (stopped && c->checkpointing.given->checkpoint)
        return complain("interrupted before the first step"), FAILED;
    if (stopped)
        return complain("interrupted; with --checkpoint FILE an ensemble can be resumed"), FAILED;
    return complain_report(report);
}

static int compute(ensemble_job *c, const options *given)
{
    bool members = given->output && !c->archive && given->table != TABLE_STATISTICS;
    if (members) {
        int answer = begin_member_table(c, given->output);
        if (answer)
            return answer;
    }
    bool several = c->ranks.mpi != NULL;
    if (given->plot && !keep_outcomes(c))
        return complain("out of memory"), FAILED;
    nh_ensemble_hooks hooks = {.size = sizeof hooks,
                               .user = c,
                               .progress = show_progress,
                               .member = members      ? add_member
                                         : c->archive ? add_member_to_archive
                                                      : NULL,
                               .rows = c->archive || c->outcome ? add_rows : NULL,
                               .due = given->checkpoint ? ensemble_checkpoint_is_due : NULL,
                               .checkpoint = given->checkpoint ? write_ensemble_checkpoint : NULL,
                               .fetch_add = several ? ranks_fetch_add : NULL,
                               .meet = several ? ranks_meet : NULL};
    nh_report report;
    progress_begin(&c->bar, c->wanted.steps * nh_ensemble_own_members(c->ensemble),
                   given->quiet || c->ranks.rank > 0);
    work_is_to_be_saved(given->output || given->checkpoint);
    c->status = nh_ensemble_run(c->ensemble, &hooks, &report);
    progress_end(&c->bar);
    int answer = c->status == NH_OK ? ranks_finish(c) : RANKS_STOPPED;
    if (answer != RANKS_STOPPED)
        return answer;
    if (c->status == NH_OK) { /* others were still working */
        c->status = NH_CALLBACK_STOPPED;
        report = (nh_report){.status = NH_CALLBACK_STOPPED, .text = "stopped"};
    }
    return tell_stop(c, &report);
}

static int write_files(ensemble_job *c, const options *given)
{
    nh_report report;
    int answer = DONE;
    if (c->archive) {
        answer = close_archive(c);
        c->output = answer ? NULL : given->output;
    } else if (given->output && c->table) {
        if (nh_table_commit(c->table, &report) != NH_OK)
            answer = complain_report(&report);
        else
            c->output = given->output;
        c->table = NULL;
    } else if (given->output) {
        answer = write_statistics(c, given->output);
        c->output = answer ? NULL : given->output;
    }
    if (given->plot) {
        int drawn = plot_ensemble(c, given->plot);
        c->plot = drawn ? NULL : given->plot;
        answer = answer ? answer : drawn;
    }
    return answer;
}

/* Reports the members that failed; the other results are valid, and the exit code is 1. */
static int name_failures(const ensemble_job *c)
{
    int64_t failures = nh_ensemble_failures(c->ensemble), member;
    const nh_report *first = nh_ensemble_failure(c->ensemble, 0, &member);
    if (!first)
        return DONE;
    complain("%lld of %lld member%s failed; the first: %s", (long long)failures,
             (long long)nh_ensemble_members(c->ensemble), plural(nh_ensemble_members(c->ensemble)),
             first->text);
    return FAILED;
}

static int finish(ensemble_job *c, const options *given)
{
    int answer = write_files(c, given);
    report_beside(given->output);
    remark_ensemble(c->ensemble);
    if (given->json)
        print_ensemble_json(c);
    else
        print_ensemble_text(c);
    if (answer == DONE)
        remove_checkpoints(&c->checkpointing);
    int failed = name_failures(c);
    return answer ? answer : failed;
}

/* Everything that all ranks should determine in the same way; if it fails, only one of them reports
 * it. */
static int understand(ensemble_job *c, const options *given)
{
    int64_t steps = 0;
    int answer = subject_find(&c->subject, given);
    if (!answer && !isnan(given->step) && (given->steps >= 0 || !isnan(given->time)))
        answer = count_steps("ensemble", given, &steps);
    if (!answer)
        answer = check_kind(given);
    if (!answer)
        answer = check_paths(given);
    if (!answer)
        answer = checkpointing_begin(&c->checkpointing, given);
    if (!answer)
        answer = prepare(c, given, steps);
    answer = ranks_agree(&c->ranks, answer);
    return answer ? answer : ranks_compare(&c->ranks, c->ensemble);
}

static int run(const options *given)
{
    ensemble_job c = {.method = given->method};
    int answer = ranks_begin(&c.ranks, given);
    if (!answer)
        answer = understand(&c, given);
    if (!answer)
        answer = open_ensemble_files(&c, given);
    mute(false);
    if (!answer)
        answer = compute(&c, given);
    if (!answer && c.ranks.rank == 0)
        answer = finish(&c, given);
    nh_archive_leave(c.archive);
    nh_table_abandon(c.table);
    nh_ensemble_free(c.ensemble);
    subject_free(&c.subject);
    for (int i = 0; i < 3; i++)
        nh_lock_release(c.lock[i]);
    free(c.list_q);
    free(c.list_v);
    free(c.row);
    free(c.outcome);
    ranks_end(&c.ranks, answer);
    return answer;
}

const command command_ensemble = {
    .name = "ensemble",
    .summary = "compute many trajectories and their statistics",
    .operands = "MODEL (--members N | --sweep NAME=a:b:n | --starts FILE) [--method METHOD]\n"
                "                        [--step H | --tolerance R] [--steps N | --time T] "
                "[OPTION...]",
    .help = "Simulates many trajectories of MODEL, called members. They start from random states\n"
            "of one energy that satisfy the constraints, or from a list of start states, or they\n"
            "take a range of parameter values, or combinations of starts and values. Prints the\n"
            "mean, variance and range of the energy error, the constraints and the observables\n"
            "over the members. The results do not depend on the number of threads or on the order\n"
            "of the members. A member that fails is reported; the others continue.",
    .examples =
        "nonholo ensemble chaotic-particle --members 1000 --energy 1.535 --method dla01 \\\n"
        "        --step 0.2 --time 1000 -o statistics.csv --plot drift.svg\n"
        "nonholo ensemble pendulum-cvt --sweep eps=0:0.5:51 --method dla01 --step 0.1 \\\n"
        "        --time 300 -o members.csv --table members",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_OUTPUT |
               OPTIONS_ENSEMBLE | OPTIONS_KEEP | OPTIONS_TOLERANCE,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
