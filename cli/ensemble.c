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

/* Whether -o asks for a table, of statistics or of members, rather than all trajectories. */
static bool is_csv(const char *path)
{
    size_t length = strlen(path);
    return is_standard_output(path) || (length > 4 && strcmp(path + length - 4, ".csv") == 0);
}

/* ---- hooks --------------------------------------------------------------------------------- */

static void show_progress(void *user, int64_t done, int64_t all)
{
    ensemble_job *c = user;
    (void)all;
    progress_update(&c->bar, done);
}

/* ---- the request --------------------------------------------------------------------------- */

/* Random states of one energy, unless all that differs is drawn or listed. */
static bool starts_are_random(const options *given)
{
    const bool varies = given->random_count > 0 || given->members_file;
    return given->members > 0 && (!varies || !isnan(given->energy) || given->around);
}

static int check_kind(const options *given)
{
    const bool random = starts_are_random(given);
    const bool draws = random || given->random_count > 0;
    const char *listed = given->starts ? "--starts" : given->q ? "--q" : given->v ? "--v" : NULL;
    if (given->members <= 0 && !given->members_file && given->sweep_count == 0 && !given->starts)
        return complain("ensemble needs --members N, --members FILE.csv, --sweep NAME=a:b:n or "
                        "--starts FILE.csv%s",
                        given->random_count > 0 ? "; --random says what differs between members, "
                                                  "--members N how many there are"
                                                : "");
    if (random && listed)
        return complain("--members generates random starts and cannot be combined with %s", listed);
    if ((given->members > 0 || given->members_file) && given->starts)
        return complain("--members and --starts cannot be combined: both say how many members "
                        "there are");
    if (random && given->project)
        return complain(
            "random starts already satisfy the constraints; --project is for given starts");
    if (!random && (!isnan(given->energy) || given->around))
        return complain("%s applies only to random starts; give --members N",
                        given->around ? "--around" : "--energy");
    if (!draws && given->seed >= 0)
        return complain("--seed applies only to random starts and values; give --members N");
    if (given->starts && (given->q || given->v))
        return complain("--starts and --%s cannot be combined: both give start states",
                        given->q ? "q" : "v");
    if (given->observe)
        return complain(
            "--observe needs one trajectory; observables of the model are columns here");
    if (!isnan(given->after) && !given->section)
        return complain("--after needs --section EVENT, whose first states it leaves out");
    if (given->section && given->output && !is_csv(given->output))
        return complain(
            "--section of an ensemble is written as a table, to FILE.csv; %s is for all "
            "trajectories",
            given->output);
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
    const bool one = given->q || given->v;
    int answer = read_variations(c, given);
    if (answer)
        return answer;
    if (one && c->wanted.variations > 0 && c->wanted.members + given->members > 0)
        return complain("--%s cannot be combined with --members and --random; give --start",
                        given->q ? "q" : "v");
    c->wanted.starts = NH_STARTS_MODEL;
    if (starts_are_random(given))
        c->wanted.starts = NH_STARTS_RANDOM;
    else if (given->starts || one) {
        answer = given->starts ? read_starts(c, given->starts, given->project) : 0;
        if (answer)
            return answer;
        c->wanted.starts = NH_STARTS_LIST;
        c->how.q = c->list_q ? c->list_q : c->subject.q;
        c->how.v = c->list_v ? c->list_v : c->subject.v;
        c->wanted.members = c->list_members;
    }
    if (given->members > 0)
        c->wanted.members = given->members;
    if (c->wanted.members == 0)
        c->wanted.members = 1;
    return 0;
}

/* With --tolerance or without --step, members choose their own steps, and the steps of the run are
 * where their states are compared. `steps`: as counted, if a step and a length are given. */
static void choose_run(ensemble_job *c, const options *given, int64_t steps)
{
    const bool stepped = !isnan(given->step), counted = given->steps >= 0 || !isnan(given->time);
    const nh_run_options chosen = run_options(given, given->method, 0, 0);
    nh_run_options *how = &c->how;
    how->method = chosen.method;
    how->compose = chosen.compose;
    how->backend = chosen.backend;
    how->compensated = chosen.compensated;
    how->step = stepped ? given->step : 0;
    how->steps = stepped && counted ? steps : given->steps > 0 ? given->steps : stepped ? -1 : 0;
    how->time = stepped || isnan(given->time) ? 0 : given->time;
    how->tolerance = isnan(given->tolerance) ? 0 : given->tolerance;
    how->absolute =
        isnan(given->absolute) || !(how->tolerance > 0 || !stepped) ? 0 : given->absolute;
    how->every = given->every > 0 ? given->every : 0;
    how->until = given->until;
    how->t0 = given->t0;
    how->stop = is_interrupted;
}

static void fill_options(ensemble_job *c, const options *given)
{
    nh_simulation_options *wanted = &c->wanted;
    const bool archive = given->output && !is_csv(given->output);
    wanted->run = &c->how;
    wanted->model = c->subject.model;
    wanted->settings = (const char *const *)given->settings;
    wanted->setting_count = given->setting_count;
    wanted->sweep = c->sweep;
    wanted->sweeps = given->sweep_count;
    wanted->start = given->start;
    wanted->fixed_energy = !isnan(given->energy);
    wanted->energy = given->energy;
    wanted->seed = given->seed > 0 ? (uint64_t)given->seed : 0;
    wanted->section = given->section;
    wanted->section_after = isnan(given->after) ? -INFINITY : given->after;
    wanted->around_start = given->around == AROUND_START;
    wanted->project = given->project;
    wanted->fixed = given->keep;
    wanted->solve = given->solve;
    wanted->threads = given->threads > 0 ? (int)given->threads : 0;
    wanted->output = archive ? given->output : NULL;
    use_checkpoints(&c->checkpointing, wanted);
    wanted->processes = c->ranks.mpi ? &c->ranks.mpi->processes : NULL;
    wanted->user = c;
    wanted->progress = show_progress;
    wanted->member =
        given->output && !archive && !given->section && given->table != TABLE_STATISTICS
            ? add_member
            : NULL;
    wanted->keep = given->plot ? rows_to_draw(c) : NH_KEEP_ADVISED;
}

static int prepare(ensemble_job *c, const options *given, int64_t steps)
{
    int answer = 0;
    for (int i = 0; i < given->sweep_count && !answer; i++)
        answer =
            parse_sweep(given->sweeps[i], &c->sweep[i], c->sweep_name[i], sizeof c->sweep_name[i]);
    if (!answer)
        answer = subject_open(&c->subject, given);
    if (!answer)
        answer = choose_starts(c, given);
    if (!answer && given->part)
        answer = parse_part(given->part, &c->wanted.part, &c->wanted.parts);
    choose_run(c, given, steps);
    if (!answer)
        fill_options(c, given);
    return answer;
}

/* Another process writes the same table, or the table cannot be written as it is wanted. */
static int prepare_table(ensemble_job *c, const options *given)
{
    const bool table = given->output && !c->wanted.output;
    nh_report report;
    if (c->wanted.member && (given->checkpoint || given->resume))
        return complain("a table of members cannot be resumed; use -o FILE.h5");
    if (c->wanted.member && c->ranks.ranks > 1)
        return complain("a table of members is written by one process only; with several "
                        "processes, use -o FILE.h5");
    if (table && c->ranks.rank == 0 && nh_lock_take(&c->lock, given->output, &report) != NH_OK)
        return complain_report(&report);
    return c->wanted.member ? begin_member_table(c, given->output) : 0;
}

/* A report without a text: another process failed, and has said why. */
static int complain_if_ours(const nh_report *report)
{
    return report->text[0] ? complain_report(report) : 0;
}

/* ---- running it ---------------------------------------------------------------------------- */

/* Stopped early: by a failure, in this process or another one, or by a signal. */
static int tell_stop(ensemble_job *c, nh_status status, nh_report *report)
{
    const bool saves = c->wanted.checkpoint != NULL;
    if (status != NH_OK && !(status == NH_CALLBACK_STOPPED && interrupted()))
        return complain_if_ours(report) ? exit_code(status) : FAILED;
    if (saves && c->ranks.rank > 0)
        return FAILED;
    if (saves && status != NH_OK)
        return complain("interrupted before the first step"), FAILED;
    if (!saves)
        return complain("interrupted; with --checkpoint FILE an ensemble can be resumed"), FAILED;
    if (nh_simulation_finish(c->simulation, report) != NH_OK)
        return complain_report(report);
    return tell_how_to_resume(&c->checkpointing, nh_simulation_steps(c->simulation));
}

static int compute(ensemble_job *c, const options *given)
{
    nh_report report;
    progress_begin(&c->bar, c->plan->steps * nh_simulation_members(c->simulation).own,
                   given->quiet || c->ranks.rank > 0);
    work_is_to_be_saved(given->output || given->checkpoint);
    nh_status status = nh_simulation_advance(c->simulation, &report);
    progress_end(&c->bar);
    return status == NH_OK && nh_simulation_arrived(c->simulation) ? 0
                                                                   : tell_stop(c, status, &report);
}

static int write_files(ensemble_job *c, const options *given)
{
    nh_report report;
    int answer = DONE;
    if (nh_simulation_finish(c->simulation, &report) != NH_OK)
        answer = complain_report(&report);
    else if (c->table) {
        if (nh_table_commit(c->table, &report) != NH_OK)
            answer = complain_report(&report);
        c->table = NULL;
    } else if (given->output && given->section)
        answer = write_section(c, given->output);
    else if (given->output && !c->wanted.output)
        answer = write_statistics(c, given->output);
    c->output = answer ? NULL : given->output;
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
    const int64_t failures = nh_simulation_failures(c->simulation);
    const int64_t members = nh_simulation_members(c->simulation).all;
    int64_t member;
    const nh_report *first = nh_simulation_failure(c->simulation, 0, &member);
    if (!first)
        return DONE;
    complain("%lld of %lld member%s failed; the first: %s", (long long)failures, (long long)members,
             plural(members), first->text);
    return FAILED;
}

static int finish(ensemble_job *c, const options *given)
{
    int answer = write_files(c, given);
    report_beside(given->output);
    remark_simulation(c->simulation);
    if (given->json)
        print_ensemble_json(c);
    else
        print_ensemble_text(c);
    if (answer == DONE)
        nh_simulation_remove_checkpoints(c->simulation);
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
    if (!answer)
        answer = prepare_table(c, given);
    return ranks_agree(&c->ranks, answer);
}

static int create(ensemble_job *c)
{
    nh_report report;
    int answer = 0;
    if (nh_simulation_create(&c->simulation, c->subject.system, &c->wanted, &report) != NH_OK)
        answer = complain_if_ours(&report);
    else
        c->plan = nh_simulation_plan(c->simulation);
    return ranks_agree(&c->ranks, answer);
}

static int run(const options *given)
{
    ensemble_job c = {.wanted = nh_simulation_options_default(), .how = nh_run_options_default()};
    int answer = ranks_begin(&c.ranks, given);
    if (!answer)
        answer = understand(&c, given);
    if (!answer)
        answer = create(&c);
    mute(false);
    if (!answer)
        answer = compute(&c, given);
    if (!answer && c.ranks.rank == 0)
        answer = finish(&c, given);
    nh_simulation_free(c.simulation);
    nh_table_abandon(c.table);
    nh_lock_release(c.lock);
    subject_free(&c.subject);
    free(c.variation);
    free(c.variation_name);
    nh_datafile_free(c.values);
    free(c.list_q);
    free(c.list_v);
    free(c.row);
    ranks_end(&c.ranks, answer);
    return answer;
}

const command command_ensemble = {
    .name = "ensemble",
    .summary = "compute many trajectories and their statistics",
    .operands = "MODEL (--members N [--random NAME=normal(m,s)] | --members FILE.csv |\n"
                "                        --sweep NAME=a:b:n | --starts FILE) [--method METHOD]\n"
                "                        [--step H | --tolerance R] [--steps N | --time T] "
                "[OPTION...]",
    .help = "Simulates many trajectories of MODEL, called members. They start from random states\n"
            "of one energy that satisfy the constraints, or from a list of start states; or they\n"
            "are machines that differ in parameters and start values, which are drawn (--random),\n"
            "listed (--members FILE.csv) or swept. Start values off the constraints are projected\n"
            "onto them. A value that is drawn depends only on the seed, on its name and on the\n"
            "number of the member. With --section EVENT, the states at an event are kept: swept\n"
            "over a parameter, -o FILE.csv and --plot give a bifurcation diagram. Prints the\n"
            "mean, variance and range of the energy error, the constraints and the observables\n"
            "over the members. The results do not depend on the number of threads or on the order\n"
            "of the members. A member that fails is reported; the others continue.",
    .examples =
        "nonholo ensemble chaotic-particle --members 1000 --energy 1.535 --method dla01 \\\n"
        "        --step 0.2 --time 1000 -o statistics.csv --plot drift.svg\n"
        "nonholo ensemble pendulum-cvt --sweep eps=0:0.5:51 --method dla01 --step 0.1 \\\n"
        "        --time 300 -o members.csv --table members\n"
        "nonholo ensemble bicycle --members 1000 --random \"m=normal(1, 0.1)\" \\\n"
        "        --random \"lean=uniform(-5*deg, 5*deg)\" -o bicycles.h5\n"
        "nonholo ensemble driven.nh --sweep f=0.9:1.2:400 --section beat --after 200 --time 400 "
        "\\\n"
        "        --plot diagram.svg",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_OUTPUT |
               OPTIONS_ENSEMBLE | OPTIONS_KEEP | OPTIONS_TOLERANCE | OPTIONS_STOP | OPTIONS_SECTION,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
