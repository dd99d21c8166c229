/* nonholo run: one trajectory. */
#include "advice.h"
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "run_report.h"
#include "subject.h"
#include "timing.h"

static int require_method(const subject *s, const options *given)
{
    if (given->method)
        return 0;
    char names[1024];
    list_applicable(names, sizeof names, s->system);
    return complain("run needs --method; these apply to %s: %s", nh_system_name(s->system), names);
}

/* Paths that cannot be written are found out before the computation, not after it. */
static int check_paths(const options *given)
{
    nh_report report;
    if (given->output && nh_record_can_write(given->output, &report) != NH_OK)
        return complain_report(&report);
    if (given->plot && nh_record_can_plot(given->plot, &report) != NH_OK)
        return complain_report(&report);
    return 0;
}

static int prepare(journey *trip, const options *given)
{
    const subject *s = &trip->subject;
    nh_report report;
    nh_run_options wanted = run_options(given, given->method, given->step, trip->steps);
    nh_status status = nh_run_create(&trip->run, s->system, &wanted, &report);
    if (status == NH_OK)
        status = nh_run_start(trip->run, 0, s->t, s->q, s->v, &report);
    if (status == NH_OK)
        status = nh_record_create(&trip->record, s->system, &report);
    if (status != NH_OK)
        return complain_report(&report);
    nh_record_keep_rows(trip->record, given->output || given->plot);
    trip->every = settle_every(given, trip->steps, nh_record_columns(trip->record));
    return 0;
}

/* Records where the run stands. */
static nh_status record_now(journey *trip)
{
    subject *s = &trip->subject;
    nh_run_state(trip->run, 0, &s->t, s->q, s->v);
    nh_run_wrapped_state(trip->run, 0, NULL, s->wrapped_q, NULL);
    return nh_record_add(trip->record, s->t, s->q, s->v, s->wrapped_q, &trip->failure);
}

/* The steps, recording each `every`-th and the last, also the last before a failure. */
static void compute(journey *trip, bool quiet)
{
    progress bar;
    progress_begin(&bar, trip->steps, quiet);
    nh_status status = record_now(trip);
    int64_t done = 0;
    while (done < trip->steps && status == NH_OK) {
        int64_t left = trip->steps - done;
        status = nh_run_advance(trip->run, left < trip->every ? left : trip->every, &trip->failure);
        int64_t now = nh_run_steps(trip->run);
        if (now > done) {
            nh_status recorded = record_now(trip);
            status = status == NH_OK ? recorded : status;
        }
        done = now;
        progress_update(&bar, done);
    }
    progress_end(&bar);
    trip->status = status;
}

/* Writes the files; what failed to be written is named and does not stop the rest. */
static int write_files(journey *trip, const options *given)
{
    nh_report report;
    int answer = DONE;
    if (given->output && nh_record_write(trip->record, given->output, &report) != NH_OK)
        answer = complain_report(&report);
    else
        trip->output = given->output;
    char title[512];
    describe_trip(trip, title, sizeof title);
    if (given->plot && nh_record_plot(trip->record, given->plot, title, &report) != NH_OK)
        answer = complain_report(&report);
    else
        trip->plot = given->plot;
    return answer;
}

static int finish(journey *trip, const options *given)
{
    int answer = write_files(trip, given);
    if (nh_record_rows(trip->record) > 0) {
        if (given->json)
            print_json(trip);
        else
            print_text(trip);
    }
    if (trip->status == NH_OK)
        return answer;
    const char *kept = trip->output ? trip->output : trip->plot;
    long long steps = nh_run_steps(trip->run);
    if (kept)
        complain("%s; %lld step%s kept in %s", trip->failure.text, steps,
                 steps == 1 ? " is" : "s are", kept);
    else
        complain("%s; without -o FILE the steps before are not kept", trip->failure.text);
    return exit_code(trip->status);
}

static int run(const options *given)
{
    journey trip = {.step = given->step, .method = given->method};
    int answer = settle_steps("run", given, &trip.steps);
    if (!answer)
        answer = check_paths(given);
    if (!answer) {
        answer = subject_open(&trip.subject, given);
        if (!answer)
            answer = require_method(&trip.subject, given);
        if (!answer)
            answer = prepare(&trip, given);
        if (!answer) {
            compute(&trip, given->quiet);
            answer = finish(&trip, given);
        }
        nh_record_free(trip.record);
        nh_run_free(trip.run);
        subject_free(&trip.subject);
    }
    return answer;
}

const command command_run = {
    .name = "run",
    .summary = "compute one trajectory",
    .operands = "MODEL --method METHOD --step H (--steps N | --time T) [OPTION...]",
    .help = "Follows MODEL from its start state and prints where it ends, how well energy and\n"
            "constraints were kept on the way, and how long a step took. MODEL is a shipped\n"
            "model's name or the path of a .nh file.",
    .examples = "nonholo run chaplygin-sleigh --method gauss --step 0.1 --time 100\n"
                "nonholo run pendulum-cvt --set eps=0.1 --method dla01 --step 0.05 --steps 1e6\n"
                "nonholo run rolling-disk --method gauss:stages=3 --step 0.1 --steps 500 \\\n"
                "        --start \"theta'=2\" --project -o disk.csv --plot disk.svg",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_OUTPUT,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
