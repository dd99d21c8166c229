/* nonholo run: one trajectory. */
#include "advice.h"
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "run_file.h"
#include "subject.h"
#include "timing.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_NUMBERS = 1 << 15 }; /* of points that are computed before they are recorded */

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
    if (given->output && nh_archive_can_write(given->output, 1, &report) != NH_OK)
        return complain_report(&report);
    if (given->plot && nh_record_can_plot(given->plot, &report) != NH_OK)
        return complain_report(&report);
    return 0;
}

static int make_table(journey *trip)
{
    size_t width = (size_t)(1 + trip->subject.coordinates + trip->subject.velocities);
    trip->room = width < TABLE_NUMBERS ? (int64_t)(TABLE_NUMBERS / width) : 1;
    trip->table = malloc((size_t)trip->room * width * sizeof *trip->table);
    trip->wrapped = malloc((size_t)trip->room * width * sizeof *trip->wrapped);
    return trip->table && trip->wrapped ? 0 : (complain("out of memory"), FAILED);
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
    nh_record_keep_rows(trip->record, given->plot);
    trip->every = settle_every(given, trip->steps, nh_record_columns(trip->record));
    trip->recorded = -1;
    int answer = make_table(trip);
    return answer ? answer : open_files(trip, given);
}

/* Records the state that the subject has now, that of this step. */
static nh_status record_state(journey *trip, int64_t step, nh_report *report)
{
    const subject *s = &trip->subject;
    nh_status status = nh_record_add(trip->record, s->t, s->q, s->v, s->wrapped_q, report);
    if (status == NH_OK)
        status = write_point(trip, report);
    if (status == NH_OK)
        trip->recorded = step;
    return status;
}

/* Records where the run stands, once. */
static nh_status record_now(journey *trip)
{
    subject *s = &trip->subject;
    if (trip->recorded == nh_run_steps(trip->run))
        return NH_OK;
    nh_run_state(trip->run, 0, &s->t, s->q, s->v);
    nh_run_wrapped_state(trip->run, 0, NULL, s->wrapped_q, NULL);
    return record_state(trip, nh_run_steps(trip->run), &trip->failure);
}

/* As many points at once as the piece and the table have room for, from a recorded one on. */
static nh_status advance_points(journey *trip, int64_t points)
{
    subject *s = &trip->subject;
    int n = s->coordinates, k = s->velocities;
    int64_t done = 0, from = nh_run_steps(trip->run);
    nh_report report;
    nh_status recorded = NH_OK;
    nh_status status = nh_run_trace(trip->run, points, trip->every, trip->table, trip->wrapped,
                                    &done, &trip->failure);
    for (int64_t i = 0; i < done && recorded == NH_OK; i++) {
        const double *row = trip->table + i * (1 + n + k);
        s->t = row[0];
        memcpy(s->q, row + 1, (size_t)n * sizeof *row);
        memcpy(s->v, row + 1 + n, (size_t)k * sizeof *row);
        memcpy(s->wrapped_q, trip->wrapped + i * n, (size_t)n * sizeof *row);
        recorded = record_state(trip, from + (i + 1) * trip->every, &report);
    }
    if (recorded != NH_OK) /* it comes before what stopped the run */
        trip->failure = report;
    return recorded != NH_OK ? recorded : status;
}

/* How many steps at a time: about a twentieth of a second, so that an interruption is soon heard.
 * The results do not depend on it. */
static int64_t adapt(int64_t piece, double seconds)
{
    if (seconds < 0.02 && piece < INT64_C(1) << 40)
        return 2 * piece;
    return seconds > 0.1 && piece > 1 ? piece / 2 : piece;
}

/* How many points may be computed before they are recorded; fewer than 2 are not worth it. */
static int64_t points_at_once(const journey *trip, int64_t piece)
{
    int64_t done = nh_run_steps(trip->run), left = (trip->steps - done) / trip->every;
    int64_t most = piece / trip->every < trip->room ? piece / trip->every : trip->room;
    return done % trip->every != 0 ? 0 : left < most ? left : most;
}

/* As many points as the piece has; else to the next point to be recorded, or as far as the piece
 * goes. */
static nh_status advance_piece(journey *trip, int64_t *piece)
{
    int64_t done = nh_run_steps(trip->run), next = (done / trip->every + 1) * trip->every;
    int64_t left = (next < trip->steps ? next : trip->steps) - done;
    int64_t points = points_at_once(trip, *piece);
    double begun = clock_seconds();
    nh_status status =
        points > 1 ? advance_points(trip, points)
                   : nh_run_advance(trip->run, left < *piece ? left : *piece, &trip->failure);
    if (left >= *piece || points > 1)
        *piece = adapt(*piece, clock_seconds() - begun);
    done = nh_run_steps(trip->run);
    bool wanted = done == trip->steps || done % trip->every == 0;
    if (status == NH_OK && wanted)
        status = record_now(trip);
    return status;
}

/* The steps, recording each `every`-th and the last, also the last before a failure. */
static void compute(journey *trip, bool quiet)
{
    progress bar;
    progress_begin(&bar, trip->steps, quiet);
    bar.first = nh_run_steps(trip->run);
    int64_t piece = 64;
    nh_status status = nh_run_steps(trip->run) == 0 ? record_now(trip) : NH_OK;
    trip->keeper.last_steps = nh_run_steps(trip->run);
    while (nh_run_steps(trip->run) < trip->steps && status == NH_OK && !keeper_interrupted()) {
        status = advance_piece(trip, &piece);
        bar.energy_error = nh_record_energy_error(trip->record);
        progress_update(&bar, nh_run_steps(trip->run));
        if (status == NH_OK && keeper_due(&trip->keeper, nh_run_steps(trip->run)))
            status = write_checkpoint(trip, &trip->failure);
    }
    progress_end(&bar);
    trip->status = status;
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool is_complete(const journey *trip)
{
    return nh_run_steps(trip->run) == trip->steps;
}

/* What failed to be written is named and does not stop the rest. */
static int write_files(journey *trip, const options *given)
{
    nh_report report;
    int answer = DONE;
    if (trip->status == NH_FILE_FAILED) { /* the disk is full, or the like: no half of a file */
        nh_archive_leave(trip->archive);
        trip->archive = NULL;
    } else if (trip->status != NH_OK || !is_complete(trip))
        record_now(trip); /* how far it came */
    /* From here on a process that was killed has nothing left to compute, only to tell. */
    if (trip->archive && given->checkpoint && is_complete(trip) && trip->status == NH_OK &&
        write_checkpoint(trip, &report) != NH_OK)
        answer = complain_report(&report);
    if (trip->archive && nh_archive_close(trip->archive, &report) != NH_OK)
        answer = complain_report(&report);
    else if (trip->archive)
        trip->output = given->output;
    trip->archive = NULL;
    char title[512];
    describe_trip(trip, title, sizeof title);
    if (given->plot && nh_record_plot(trip->record, given->plot, title, &report) != NH_OK)
        answer = complain_report(&report);
    else
        trip->plot = given->plot;
    return answer;
}

/* Interrupted, with somewhere to keep what is needed to go on. */
static int stop_here(journey *trip)
{
    nh_report report;
    if (write_checkpoint(trip, &report) != NH_OK)
        return complain_report(&report);
    nh_archive_leave(trip->archive);
    trip->archive = NULL;
    return keeper_tell(&trip->keeper, nh_run_steps(trip->run));
}

static int tell_failure(const journey *trip)
{
    const char *kept = trip->output ? trip->output : trip->plot;
    long long steps = nh_run_steps(trip->run);
    if (trip->status == NH_FILE_FAILED)
        complain("%s", trip->failure.text);
    else if (kept)
        complain("%s; %lld step%s kept in %s", trip->failure.text, steps,
                 steps == 1 ? " is" : "s are", kept);
    else
        complain("%s; without -o FILE the steps before are not kept", trip->failure.text);
    return exit_code(trip->status);
}

static int finish(journey *trip, const options *given)
{
    bool interrupted = trip->status == NH_OK && !is_complete(trip);
    if (interrupted && given->checkpoint)
        return stop_here(trip);
    int answer = write_files(trip, given);
    report_beside(given->output);
    if (nh_record_rows(trip->record) > 0) {
        if (given->json)
            print_json(trip);
        else
            print_text(trip);
    }
    if (trip->status != NH_OK)
        return tell_failure(trip);
    if (interrupted) {
        complain("interrupted after %lld of %lld step%s; with --checkpoint FILE it could go on",
                 (long long)nh_run_steps(trip->run), (long long)trip->steps, plural(trip->steps));
        return FAILED;
    }
    if (answer == DONE)
        keeper_end(&trip->keeper);
    return answer;
}

static int run(const options *given)
{
    journey trip = {.step = given->step, .method = given->method};
    int answer = subject_find(&trip.subject, given);
    if (!answer)
        answer = settle_steps("run", given, &trip.steps);
    if (!answer)
        answer = check_paths(given);
    if (!answer)
        answer = keeper_begin(&trip.keeper, given);
    if (!answer)
        answer = subject_open(&trip.subject, given);
    if (!answer)
        answer = require_method(&trip.subject, given);
    if (!answer)
        answer = prepare(&trip, given);
    if (!answer) {
        compute(&trip, given->quiet);
        answer = finish(&trip, given);
    }
    nh_archive_leave(trip.archive);
    free(trip.table);
    free(trip.wrapped);
    free(trip.row);
    free(trip.multipliers);
    nh_record_free(trip.record);
    nh_run_free(trip.run);
    subject_free(&trip.subject);
    return answer;
}

const command command_run = {
    .name = "run",
    .summary = "compute one trajectory",
    .operands = "MODEL --method METHOD --step H (--steps N | --time T) [OPTION...]",
    .help = "Follows MODEL from its start state and prints where it ends, how well energy and\n"
            "constraints were kept on the way, and how long a step took. MODEL is a shipped\n"
            "model's name or the path of a .nh file; '-' reads one from standard input.",
    .examples = "nonholo run chaplygin-sleigh --method gauss --step 0.1 --time 100\n"
                "nonholo run pendulum-cvt --set eps=0.1 --method dla01 --step 0.05 --steps 1e6\n"
                "nonholo run rolling-disk --method gauss:stages=3 --step 0.1 --steps 500 \\\n"
                "        --start \"theta'=2\" --project -o disk.h5 --plot disk.svg\n"
                "nonholo models chaplygin-sleigh | sed 's/J = 8/J = 2/' | \\\n"
                "        nonholo run - --method gauss --step 0.1 --steps 500 -o - >sleigh.csv",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_OUTPUT |
               OPTIONS_KEEP,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
