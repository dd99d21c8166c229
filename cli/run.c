/* nonholo run: computes one trajectory. */
#include "checkpointing.h"
#include "command.h"
#include "message.h"
#include "run_precise.h"
#include "method_list.h"
#include "appearance.h"
#include "progress.h"
#include "run_report.h"
#include "timing.h"

#include <math.h>
#include <stdlib.h>

/* Paths that cannot be written are detected before the computation, not after it. */
static int check_paths(const options *given)
{
    nh_report report;
    if (given->output && nh_archive_can_write(given->output, 1, &report) != NH_OK)
        return complain_report(&report);
    if (given->plot && nh_record_can_plot(given->plot, &report) != NH_OK)
        return complain_report(&report);
    if (given->resume && given->plot)
        return complain("--plot needs all recorded points and cannot be used with --resume");
    if (given->verify && !given->sensitivity)
        return complain("--verify compares the derivatives of --sensitivity NAME,...");
    if (given->estimate && given->no_estimate)
        return complain("--estimate and --no-estimate contradict each other");
    return 0;
}

/* ---- hooks --------------------------------------------------------------------------------- */

typedef struct hook_view { /* what the hooks look at */
    run_job *job;
    progress bar;
} hook_view;

static void show_progress(void *user, int64_t done, int64_t steps)
{
    (void)steps;
    hook_view *shown = user;
    shown->bar.energy_error = nh_record_energy_error(shown->job->record);
    progress_update(&shown->bar, done);
}

/* ---- the computation ----------------------------------------------------------------------- */

static int prepare(run_job *job, hook_view *shown, const options *given)
{
    const subject *s = &job->subject;
    nh_report report;
    nh_simulation_options *wanted = &job->wanted;
    nh_run_options *how = &job->how, chosen = run_options(given, given->method, 0, 0);
    how->method = chosen.method;
    how->compose = chosen.compose;
    how->backend = chosen.backend;
    how->compensated = chosen.compensated;
    how->t0 = s->t;
    how->q = s->q;
    how->v = s->v;
    how->until = given->until;
    how->stop = is_interrupted;
    wanted->run = how;
    wanted->section = given->section;
    wanted->observe = given->observe;
    if (given->sensitivity &&
        nh_sensitivity_create(&job->sensitivity, s->system, given->sensitivity, &s->start,
                              &report) != NH_OK)
        return complain_report(&report);
    wanted->sensitivity = job->sensitivity;
    wanted->keep = given->plot ? NH_KEEP_ROWS : NH_KEEP_LAST_ROW;
    wanted->output = given->output;
    wanted->model_text = nh_model_text(s->model);
    use_checkpoints(&job->checkpointing, wanted);
    wanted->user = shown;
    wanted->progress = show_progress;
    if (nh_simulation_create(&job->simulation, s->system, wanted, &report) != NH_OK)
        return complain_report(&report);
    job->run = nh_simulation_run(job->simulation);
    job->record = nh_simulation_record(job->simulation);
    job->plan = nh_simulation_plan(job->simulation);
    return 0;
}

static void compute(run_job *job, hook_view *shown, bool quiet)
{
    progress_begin(&shown->bar, job->plan->steps, quiet);
    shown->bar.first = nh_run_steps(job->run);
    work_is_to_be_saved(job->wanted.output || job->wanted.checkpoint);
    job->status = nh_simulation_advance(job->simulation, &job->failure);
    progress_end(&shown->bar);
}

/* ---- the end ------------------------------------------------------------------------------- */

/* The last recorded state, for the report. */
static void take_last_row(run_job *job)
{
    subject *s = &job->subject;
    int64_t last = nh_record_rows(job->record) - 1;
    if (last < 0)
        return;
    s->t = nh_record_value(job->record, last, 0);
    for (int i = 0; i < s->coordinates; i++)
        s->q[i] = nh_record_value(job->record, last, 1 + i);
    for (int i = 0; i < s->velocities; i++)
        s->v[i] = nh_record_value(job->record, last, 1 + s->coordinates + i);
}

/* What cannot be written is named and does not stop the rest. */
static int write_files(run_job *job, const options *given)
{
    nh_report report;
    int answer = DONE;
    nh_status finished = nh_simulation_finish(job->simulation, &report);
    work_is_to_be_saved(false);
    if (finished != NH_OK)
        answer = complain_report(&report);
    job->output = nh_simulation_output(job->simulation);
    take_last_row(job);
    char title[512];
    describe_run(job, title, sizeof title);
    if (given->plot &&
        nh_record_draw(job->record, given->plot, picture_titled(title), &report) != NH_OK)
        answer = complain_report(&report);
    else
        job->plot = given->plot;
    return answer;
}

/* Interrupted, with a checkpoint from which to resume. */
static int stop_here(run_job *job)
{
    nh_report report;
    if (nh_simulation_finish(job->simulation, &report) != NH_OK)
        return complain_report(&report);
    return tell_how_to_resume(&job->checkpointing, nh_run_steps(job->run));
}

/* Estimates how accurate the end state is. Only users who asked for an estimate are told why there
 * is none. */
static void estimate_error(run_job *job, const options *given)
{
    nh_report report;
    nh_switch when = given->estimate ? NH_ON : given->no_estimate ? NH_OFF : NH_AS_ADVISED;
    if (nh_simulation_estimate(job->simulation, when, &job->estimate, &report) != NH_OK)
        remark("%s", report.text);
}

/* Compares the derivatives at the end with differences. */
static int verify(run_job *job)
{
    const nh_sensitivity *s = job->sensitivity;
    const int count = nh_sensitivity_outputs(s) * nh_sensitivity_variables(s);
    const int64_t last = nh_record_rows(job->record) - 1;
    const int first = nh_record_columns(job->record) - count;
    nh_report report;
    double *derivative = malloc(((size_t)count + 1) * sizeof *derivative);
    if (!derivative)
        return complain("out of memory"), FAILED;
    for (int i = 0; i < count; i++)
        derivative[i] = nh_record_value(job->record, last, first + i);
    const nh_status status = nh_sensitivity_verify(&job->verified, s, &job->subject.start,
                                                   &job->how, job->plan, derivative, &report);
    free(derivative);
    job->verifies = status == NH_OK;
    return status == NH_OK ? 0 : complain_report(&report);
}

static int tell_failure(const run_job *job)
{
    const char *kept = job->output ? job->output : job->plot;
    long long steps = nh_run_steps(job->run);
    bool nothing = steps == 0 && !kept;
    if (job->status == NH_FILE_FAILED || job->status == NH_NO_MEMORY || nothing)
        complain("%s", job->failure.text);
    else if (kept)
        complain("%s; %lld step%s saved in %s", job->failure.text, steps,
                 steps == 1 ? " is" : "s are", kept);
    else
        complain("%s; without -o FILE the earlier steps are not saved", job->failure.text);
    return exit_code(job->status);
}

static int finish(run_job *job, const options *given)
{
    bool ended = nh_run_ended(job->run, 0, NULL) >= 0;
    bool stopped = job->status == NH_OK && !ended && nh_run_steps(job->run) < job->plan->steps;
    if (stopped && given->checkpoint)
        return stop_here(job);
    int answer = write_files(job, given);
    report_beside(given->output);
    if (stopped) /* nobody waits for it */
        job->estimate.error = NAN;
    else
        estimate_error(job, given);
    if (job->status != NH_OK) /* before mere remarks */
        answer = tell_failure(job);
    else if (given->verify && !stopped && verify(job) != 0)
        answer = FAILED;
    remark_simulation(job->simulation);
    if (nh_record_rows(job->record) > 0) {
        if (given->json)
            print_json(job);
        else
            print_text(job);
    }
    if (job->status != NH_OK)
        return answer;
    if (stopped) {
        complain(
            "interrupted after %lld of %lld step%s; with --checkpoint FILE a run can be resumed",
            (long long)nh_run_steps(job->run), (long long)job->plan->steps,
            plural(job->plan->steps));
        return FAILED;
    }
    if (answer == DONE)
        nh_simulation_remove_checkpoints(job->simulation);
    return answer;
}

static int run(const options *given)
{
    if (given->precision)
        return run_precisely(given);
    run_job job = {.wanted = nh_simulation_options_default(), .how = nh_run_options_default()};
    hook_view shown = {.job = &job};
    int answer = subject_find(&job.subject, given);
    if (!answer)
        answer = choose_timing(given, &job.how, &job.wanted.lead);
    if (!answer)
        answer = check_paths(given);
    if (!answer)
        answer = checkpointing_begin(&job.checkpointing, given);
    if (!answer)
        answer = subject_open(&job.subject, given);
    if (!answer)
        answer = prepare(&job, &shown, given);
    if (!answer) {
        compute(&job, &shown, given->quiet);
        answer = finish(&job, given);
    }
    nh_simulation_free(job.simulation);
    nh_sensitivity_free(job.sensitivity);
    subject_free(&job.subject);
    return answer;
}

const command command_run = {
    .name = "run",
    .summary = "compute one trajectory",
    .operands = "MODEL [--method METHOD] [--step H | --tolerance R] [--time T | --steps N] "
                "[OPTION...]",
    .help = "Simulates MODEL from its start state and prints the final state, the errors in\n"
            "energy and constraints, and the time per step. Without --step, the method chooses\n"
            "its own steps; the default is dop853 with tolerance 1e-9. Without --time, the\n"
            "duration is the model's span or about a dozen times the time scale of the motion.\n"
            "MODEL is the name of a shipped model or the path of a .nh file; '-' reads a model\n"
            "from standard input.",
    .examples = "nonholo run rattleback\n"
                "nonholo run rolling-coin --tolerance 1e-11 --times 0:10:501 -o coin.csv\n"
                "nonholo run chaplygin-sleigh --method gauss --step 0.1 --time 100\n"
                "nonholo run pendulum-cvt --set eps=0.1 --method dla01 --step 0.05 --steps 1e6\n"
                "nonholo run rolling-disk --method gauss:stages=3 --step 0.1 --steps 500 \\\n"
                "        --start \"theta'=2\" --project -o disk.h5 --plot disk.svg\n"
                "nonholo models chaplygin-sleigh | sed 's/J = 8/J = 2/' | \\\n"
                "        nonholo run - --method gauss --step 0.1 --steps 500 -o - >sleigh.csv",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_OUTPUT |
               OPTIONS_KEEP | OPTIONS_ESTIMATE | OPTIONS_TOLERANCE | OPTIONS_DENSE | OPTIONS_STOP |
               OPTIONS_SECTION | OPTIONS_FILM,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
