/* nonholo run --precision quad: a trajectory with numbers of 34 digits. */
#include "run_precise.h"
#include "checkpointing.h"
#include "command.h"
#include "duration.h"
#include "json.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "subject.h"
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_USUAL = 10000, SHOWN = 12 };
static const double usual_tolerance = 1e-28; /* of states at given times, as in the library */

typedef struct precise_job {
    subject subject;
    nh_precise_run *run;
    const nh_plan *plan;
    nh_table *table; /* NULL: nothing is recorded */
    const char **cell;
    char *room; /* their texts */
    int64_t every, rows;
    int columns;
    nh_status status;
    nh_report failure;
} precise_job;

enum { CELL = 48 };

/* What such a run does not do. */
static int refuse(const options *given)
{
    const struct {
        bool is;
        const char *name;
    } other[] = {
        {given->plot, "--plot"},
        {given->until, "--stop"},
        {given->section, "--section"},
        {given->observe, "--observe"},
        {given->estimate, "--estimate"},
        {given->sensitivity, "--sensitivity"},
        {given->checkpoint, "--checkpoint"},
        {given->resume, "--resume"},
        {given->compose, "--compose"},
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].is)
            return complain("%s is not available with --precision quad", other[i].name);
    const size_t length = given->output ? strlen(given->output) : 0;
    const bool csv = is_standard_output(given->output) ||
                     (length > 4 && strcmp(given->output + length - 4, ".csv") == 0);
    if (given->output && !csv)
        return complain("%s: numbers of quadruple precision are written to files ending in .csv",
                        given->output);
    return 0;
}

/* The subject's system is the same with doubles; the run takes the start as it was given. */
static int prepare(precise_job *job, const options *given)
{
    nh_report report;
    nh_run_options how = nh_run_options_default(), chosen = run_options(given, given->method, 0, 0);
    double lead = 0;
    int answer = choose_timing(given, &how, &lead);
    if (answer)
        return answer;
    if (lead > 0)
        return complain("--times must begin at the start, t = %.10g, with --precision quad",
                        given->t0);
    if (isnan(given->tolerance) && how.tolerance > 0)
        how.tolerance = usual_tolerance;
    how.method = chosen.method;
    how.backend = chosen.backend;
    how.compensated = chosen.compensated;
    how.stop = is_interrupted;
    if (given->times) { /* the time is a decimal, and the step a quotient */
        how.time = how.step * (double)how.steps;
        how.step = 0;
    }
    if (nh_precise_run_create(&job->run, job->subject.system, &how, &job->subject.start, &report) !=
        NH_OK)
        return complain_report(&report);
    job->plan = nh_precise_run_plan(job->run);
    job->columns = nh_precise_run_columns(job->run);
    job->every = how.every > 0 ? how.every : 1 + (job->plan->steps - 1) / ROWS_USUAL;
    job->cell = calloc((size_t)job->columns, sizeof *job->cell);
    job->room = calloc((size_t)job->columns, CELL);
    if (!job->cell || !job->room)
        return complain("out of memory"), FAILED;
    for (int i = 0; i < job->columns; i++)
        job->cell[i] = nh_precise_run_column_name(job->run, i);
    if (given->output &&
        nh_table_create(&job->table, given->output, job->cell, job->columns, &report) != NH_OK)
        return complain_report(&report);
    return 0;
}

static void add_row(precise_job *job)
{
    for (int i = 0; i < job->columns; i++) {
        char *text = job->room + (size_t)i * CELL;
        snprintf(text, CELL, "%s", nh_precise_run_text(job->run, i));
        job->cell[i] = text;
    }
    if (job->table)
        nh_table_add_texts(job->table, job->cell);
    job->rows++;
}

/* Steps are long: they end when the user asks to stop. */
static void compute(precise_job *job, bool quiet)
{
    progress bar = {.unit = NULL};
    work_is_to_be_saved(job->table != NULL);
    progress_begin(&bar, job->plan->steps, quiet);
    bar.energy_error = NAN;
    add_row(job);
    while (!nh_precise_run_is_over(job->run) && job->status == NH_OK && !interrupted()) {
        job->status = nh_precise_run_advance(job->run, 1, &job->failure);
        const int64_t steps = nh_precise_run_steps(job->run, NULL, NULL);
        const bool due = steps % job->every == 0 || nh_precise_run_is_over(job->run);
        if (job->status == NH_OK && due)
            add_row(job);
        progress_update(&bar, steps);
    }
    progress_end(&bar);
}

/* ---- the report ---- */

static double nanoseconds_per_step(const precise_job *job)
{
    int64_t accepted;
    nh_precise_run_steps(job->run, &accepted, NULL);
    return accepted > 0 ? 1e9 * nh_precise_run_seconds(job->run) / (double)accepted : NAN;
}

static void print_text(const precise_job *job)
{
    int64_t accepted;
    char lengths[64];
    const nh_plan *plan = job->plan;
    nh_precise_run_steps(job->run, &accepted, NULL);
    if (plan->tolerance > 0)
        snprintf(lengths, sizeof lengths, "tolerance %.3g", plan->tolerance);
    else
        snprintf(lengths, sizeof lengths, "step %.10g%s", plan->step,
                 plan->step_advised ? " (chosen)" : "");
    printf("%s, %s, %s, %lld step%s to t = %s, quadruple precision\n",
           nh_system_name(job->subject.system), plan->method, lengths, (long long)accepted,
           plural(accepted), nh_precise_run_text(job->run, 0));
    for (int i = 1; i < job->columns && i < 2 * SHOWN; i++)
        printf("  %-12s  %s\n", nh_precise_run_column_name(job->run, i),
               nh_precise_run_text(job->run, i));
    if (job->columns > 2 * SHOWN)
        printf("  %-12s  (%d more; -o FILE.csv and --json show all)\n", "...",
               job->columns - 2 * SHOWN);
    printf("  %-12s  largest %s %.3g\n", "energy",
           nh_system_facts(job->subject.system)->keeps_energy ? "error" : "change",
           nh_precise_run_energy_error(job->run));
    if (nh_system_constraints(job->subject.system) > 0)
        printf("  %-12s  largest residual %.3g\n", "constraints",
               nh_precise_run_constraint_max(job->run));
    printf("  %-12s  %s per step, %s\n", "cost", duration(1e-9 * nanoseconds_per_step(job)).text,
           duration(nh_precise_run_seconds(job->run)).text);
}

/* Columns first .. first + count - 1, an array. */
static void print_numbers(json *j, precise_job *job, const char *key, int first, int count)
{
    json_row(j, key);
    for (int i = 0; i < count; i++)
        json_digits(j, NULL, nh_precise_run_text(job->run, first + i));
    json_close_row(j);
}

static void print_json(precise_job *job, const char *output)
{
    const subject *s = &job->subject;
    const nh_plan *plan = job->plan;
    const int energy = 1 + s->coordinates + s->velocities;
    const bool own = plan->tolerance > 0;
    int64_t accepted, rejected, steps = nh_precise_run_steps(job->run, &accepted, &rejected);
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->system));
    json_text(&j, "method", plan->method);
    json_text(&j, "precision", "quad");
    json_real(&j, "step", own ? NAN : plan->step);
    json_integer(&j, "steps", own ? accepted : steps);
    json_digits(&j, "t", nh_precise_run_text(job->run, 0));
    print_numbers(&j, job, "q", 1, s->coordinates);
    print_numbers(&j, job, "v", 1 + s->coordinates, s->velocities);
    json_digits(&j, "energy", nh_precise_run_text(job->run, energy));
    json_real(&j, "energy_error_max", nh_precise_run_energy_error(job->run));
    json_real(&j, "constraint_max", nh_precise_run_constraint_max(job->run));
    json_object(&j, "observables");
    for (int i = energy + 1; i < job->columns; i++)
        json_digits(&j, nh_precise_run_column_name(job->run, i), nh_precise_run_text(job->run, i));
    json_close_object(&j);
    json_real(&j, "seconds", nh_precise_run_seconds(job->run));
    json_real(&j, "ns_per_step", nanoseconds_per_step(job));
    json_boolean(&j, "advised", plan->advised);
    json_boolean(&j, "natural_time", plan->natural);
    json_real(&j, "tolerance", own ? plan->tolerance : NAN);
    json_integer(&j, "accepted", accepted);
    json_integer(&j, "rejected", rejected);
    json_text(&j, "event", NULL);
    json_text(&j, "backend", "tape");
    json_integer(&j, "every", job->every);
    json_integer(&j, "rows", job->rows);
    json_real(&j, "estimate", NAN);
    put_system(&j, s->system);
    json_text(&j, "output", output);
    json_text(&j, "plot", NULL);
    json_remarks(&j);
    if (job->status != NH_OK) {
        json_object(&j, "failure");
        json_text(&j, "status", nh_status_name(job->status));
        json_text(&j, "text", job->failure.text);
        json_integer(&j, "step", job->failure.step);
        json_real(&j, "time", job->failure.time);
        json_real(&j, "residual", job->failure.residual);
        json_close_object(&j);
    }
    json_end(&j);
}

static int finish(precise_job *job, const options *given)
{
    nh_report report;
    const bool written = job->table != NULL;
    int answer = DONE;
    if (job->table && nh_table_commit(job->table, &report) != NH_OK)
        answer = complain_report(&report);
    job->table = NULL;
    report_beside(given->output);
    const bool stopped = job->status == NH_CALLBACK_STOPPED && interrupted();
    if (job->status != NH_OK && !stopped) {
        complain("%s%s%s", job->failure.text, written ? "; the steps before it are saved in " : "",
                 written ? given->output : "");
        answer = exit_code(job->status);
    } else if (!nh_precise_run_is_over(job->run)) {
        complain("interrupted after %lld of %lld steps",
                 (long long)nh_precise_run_steps(job->run, NULL, NULL),
                 (long long)job->plan->steps);
        answer = FAILED;
    }
    if (given->json)
        print_json(job, written ? given->output : NULL);
    else
        print_text(job);
    return answer;
}

int run_precisely(const options *given)
{
    precise_job job = {.rows = 0};
    checkpointing signals;
    int answer = subject_find(&job.subject, given);
    if (!answer)
        answer = refuse(given);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = subject_open(&job.subject, given);
    if (!answer)
        answer = prepare(&job, given);
    if (!answer) {
        compute(&job, given->quiet);
        answer = finish(&job, given);
    }
    nh_table_abandon(job.table);
    nh_precise_run_free(job.run);
    free(job.cell);
    free(job.room);
    subject_free(&job.subject);
    return answer;
}
