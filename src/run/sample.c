/* Samples of a run: a run is advanced in short pieces, and its states at regular steps are passed
 * on in blocks. Everything that records, measures or plots a trajectory gets its states from here.
 *
 * A run of one member stores the states of a block itself (trace.c), which is much faster than
 * stopping for each. Otherwise the run stops at every sample. Both give the same states. */
#include "base/clock.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "run/inputs.h"
#include "run/events.h"

#include <stdlib.h>

enum { BLOCK_NUMBERS = 1 << 15, FIRST_PIECE = 64 };

/* The table begins with the states one step earlier, one row per member; the samples follow. In a
 * block of consecutive steps, each sample is the earlier state of the next one. */
typedef struct sampler {
    nh_run *run;
    const nh_sample_options *options;
    int coordinates, width, members;
    int64_t every, last;     /* the step to end at */
    int64_t room;            /* samples for which the table has room */
    double *table, *wrapped; /* [members + room][width or coordinates] */
    double *inputs;          /* of a member */
    int64_t piece;           /* steps that take about a twentieth of a second */
} sampler;

/* Copies the states of all members to the table, from row `at` on. */
static void take_states(const sampler *s, int64_t at)
{
    for (int member = 0; member < s->members; member++) {
        double *row = s->table + (at + member) * s->width;
        double *wrapped = s->wrapped + (at + member) * s->coordinates;
        nh_run_state(s->run, member, row, row + 1, row + 1 + s->coordinates);
        nh_run_wrapped_state(s->run, member, NULL, wrapped, NULL);
    }
}

/* Passes on `count` samples of a member, which follow the `members` earlier states in the table. */
static nh_status hand_over(const sampler *s, int member, int64_t count, int64_t step, bool back,
                           nh_report *report)
{
    int64_t at = s->members + member;
    nh_samples samples = {.member = member,
                          .count = count,
                          .step = step,
                          .every = s->every,
                          .row = s->table + at * s->width,
                          .wrapped = s->wrapped + at * s->coordinates};
    if (s->run->system->shape.inputs > 0) { /* one sample at a time: see block_size */
        nh_run_take_inputs(s->run, member, s->inputs);
        samples.inputs = s->inputs;
    }
    if (back) {
        samples.before = s->table + (int64_t)member * s->width;
        samples.wrapped_before = s->wrapped + (int64_t)member * s->coordinates;
    }
    return s->options->samples(s->options->user, &samples, report);
}

/* Passes on the current state of every member as a sample. */
static nh_status sample_here(const sampler *s, bool back, nh_report *report)
{
    nh_status status = NH_OK;
    take_states(s, s->members);
    for (int member = 0; member < s->members && status == NH_OK; member++)
        status = hand_over(s, member, 1, nh_run_steps(s->run), back, report);
    return status;
}

/* How many samples may be computed before they are passed on. */
static int64_t block_size(const sampler *s)
{
    int64_t done = nh_run_steps(s->run), left = (s->last - done) / s->every;
    int64_t most = s->piece / s->every < s->room ? s->piece / s->every : s->room;
    bool aligned = (done - s->options->origin) % s->every == 0;
    if (s->members > 1 || !aligned || s->run->system->shape.inputs > 0 || s->run->has_columns ||
        (s->options->look_back && s->every > 1))
        return 0;
    return left < most ? left : most;
}

/* An error while passing on samples takes precedence over what stopped the run. */
static nh_status sample_block(sampler *s, int64_t count, nh_report *report)
{
    bool back = s->options->look_back;
    int64_t from = nh_run_steps(s->run), done = 0;
    nh_report failure;
    if (back)
        take_states(s, 0);
    nh_status status = nh_run_trace(s->run, count, s->every, s->table + s->width,
                                    s->wrapped + s->coordinates, &done, &failure);
    nh_status taken = done > 0 ? hand_over(s, 0, done, from + s->every, back, report) : NH_OK;
    if (taken == NH_OK && status != NH_OK && report)
        *report = failure;
    return taken != NH_OK ? taken : status;
}

/* Advances to the next sample, or to the end of the piece. A sample that includes the state before
 * it needs a stop one step earlier. `whole`: the piece was used up. */
static nh_status advance_to_sample(sampler *s, bool *whole, nh_report *report)
{
    int64_t done = nh_run_steps(s->run), ahead = s->every - (done - s->options->origin) % s->every;
    int64_t next = ahead < s->last - done ? done + ahead : s->last;
    bool back = s->options->look_back, at_last_step = back && done == next - 1;
    int64_t left = (back && !at_last_step ? next - 1 : next) - done;
    *whole = left >= s->piece;
    if (at_last_step)
        take_states(s, 0);
    nh_status status = nh_run_advance(s->run, *whole ? s->piece : left, report);
    if (status == NH_OK && nh_run_steps(s->run) == next)
        status = sample_here(s, back, report);
    return status;
}

/* A piece takes about a twentieth of a second, so that the caller soon notices an interruption. */
static int64_t adapt(int64_t piece, double seconds)
{
    if (seconds < 0.02 && piece < INT64_C(1) << 40)
        return 2 * piece;
    return seconds > 0.1 && piece > 1 ? piece / 2 : piece;
}

static nh_status advance_piece(sampler *s, nh_report *report)
{
    double begun = nh_clock_seconds();
    int64_t count = block_size(s);
    bool whole = true;
    nh_status status =
        count > 1 ? sample_block(s, count, report) : advance_to_sample(s, &whole, report);
    if (whole)
        s->piece = adapt(s->piece, nh_clock_seconds() - begun);
    return status;
}

static nh_status sample(sampler *s, nh_report *report)
{
    const nh_sample_options *o = s->options;
    nh_status status = o->first ? sample_here(s, false, report) : NH_OK;
    bool stopped = false, over = nh_crossings_all_ended(s->run), was_over = over;
    while (nh_run_steps(s->run) < s->last && status == NH_OK && !stopped && !over) {
        status = advance_piece(s, report);
        over = nh_crossings_all_ended(s->run);
        stopped = status == NH_OK && o->pause && o->pause(o->user, nh_run_steps(s->run)) != 0;
    }
    if (over && !was_over && status == NH_OK) /* the states at the events that ended it */
        status = sample_here(s, false, report);
    return status;
}

nh_status nh_run_sample(nh_run *run, const nh_sample_options *given, nh_report *report)
{
    nh_sample_options own, *options = &own;
    nh_status taken = NH_OPTIONS_TAKE(&own, given, nh_sample_options, pause, report);
    if (taken != NH_OK)
        return taken;
    int64_t done = nh_run_steps(run);
    if (options->steps < 0 || options->steps > INT64_MAX - done || options->every < 0 ||
        options->origin < 0 || options->origin > done)
        return nh_fail(report, NH_BAD_ARGUMENT, "cannot sample every %lld-th of %lld steps",
                       (long long)options->every, (long long)options->steps);
    sampler s = {.run = run,
                 .options = options,
                 .coordinates = run->system->coordinates,
                 .width = 1 + run->system->coordinates + run->system->user_velocities,
                 .members = run->members,
                 .every = options->every ? options->every : 1,
                 .last = done + options->steps,
                 .piece = FIRST_PIECE};
    s.room = s.members == 1 ? BLOCK_NUMBERS / s.width : 1;
    s.room = s.room > s.members ? s.room : s.members;
    size_t rows = (size_t)(s.members + s.room), inputs = (size_t)run->system->shape.inputs;
    s.table = malloc((rows * (size_t)(s.width + s.coordinates) + inputs) * sizeof *s.table);
    if (!s.table)
        return nh_fail_memory(report);
    s.wrapped = s.table + rows * (size_t)s.width;
    s.inputs = s.wrapped + rows * (size_t)s.coordinates;
    nh_status status = sample(&s, report);
    free(s.table);
    return status;
}
