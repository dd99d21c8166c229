#include "run_file.h"
#include "command.h"
#include "message.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a checkpoint holds beside the run; numbers only. */
typedef struct notes {
    int64_t steps, every, recorded, position, has_output;
    nh_record_state record;
} notes;

/* ---- the file of points -------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* Formats without multipliers. */
static bool is_table(const char *path)
{
    return is_standard_output(path) || ends_with(path, ".csv") || ends_with(path, ".npy");
}

/* Energy and observables: the columns of the record after t, q and v. */
static const char **column_names(const journey *trip, int *count)
{
    int before = 1 + trip->subject.coordinates + trip->subject.velocities;
    *count = nh_record_columns(trip->record) - before;
    const char **names = calloc((size_t)*count, sizeof *names);
    for (int i = 0; names && i < *count; i++)
        names[i] = nh_record_column_name(trip->record, before + i);
    return names;
}

/* Killed after the file was complete and before the checkpoint was removed: nothing is left to do.
 */
static bool is_finished(const journey *trip, const options *given)
{
    char part[PATH_MAX];
    bool renamed = is_table(given->output) || ends_with(given->output, ".npz");
    return renamed && nh_run_steps(trip->run) == trip->steps && access(given->output, F_OK) == 0 &&
           snprintf(part, sizeof part, "%s.part", given->output) < (int)sizeof part &&
           access(part, F_OK) != 0;
}

static int open_archive(journey *trip, const options *given, const notes *before)
{
    const subject *s = &trip->subject;
    int columns;
    const char **names = column_names(trip, &columns);
    bool table = is_table(given->output);
    size_t constraints = (size_t)nh_system_constraints(s->system);
    trip->row = calloc((size_t)columns + 1, sizeof *trip->row);
    trip->multipliers = table ? NULL : calloc(constraints + 1, sizeof *trip->multipliers);
    if (!names || !trip->row || (!table && !trip->multipliers)) {
        free(names);
        return complain("out of memory"), FAILED;
    }
    nh_archive_plan plan = {.system = s->system,
                            .model_text = nh_model_text(s->model),
                            .method = trip->method,
                            .compose = given->compose,
                            .step = trip->step,
                            .t0 = given->t0,
                            .steps = trip->steps,
                            .every = trip->every,
                            .column = names,
                            .columns = columns,
                            .multipliers = !table,
                            .resumable = given->checkpoint || given->resume,
                            .resume = before != NULL,
                            .position = before ? before->position : 0};
    nh_report report;
    nh_status status = nh_archive_create(&trip->archive, given->output, &plan, &report);
    free(names);
    return status == NH_OK ? 0 : complain_report(&report);
}

nh_status write_point(journey *trip, nh_report *report)
{
    const subject *s = &trip->subject;
    if (!trip->archive)
        return NH_OK;
    int before = 1 + s->coordinates + s->velocities,
        columns = nh_record_columns(trip->record) - before;
    int64_t last = nh_record_rows(trip->record) - 1;
    for (int i = 0; i < columns; i++)
        trip->row[i] = nh_record_value(trip->record, last, before + i);
    if (trip->multipliers)
        nh_system_acceleration(s->system, s->t, s->wrapped_q, s->v, NULL, trip->multipliers,
                               report);
    return nh_archive_row(trip->archive, s->t, s->q, s->v, trip->row, trip->multipliers, report);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

nh_status write_checkpoint(journey *trip, nh_report *report)
{
    notes now = {.steps = trip->steps,
                 .every = trip->every,
                 .recorded = trip->recorded,
                 .has_output = trip->archive != NULL,
                 .record = nh_record_save(trip->record)};
    nh_status status = NH_OK;
    if (trip->archive)
        status = nh_archive_flush(trip->archive, &now.position, report);
    nh_piece piece[2] = {{0}, {&now, sizeof now}};
    if (status == NH_OK)
        status = nh_run_save(trip->run, &piece[0].bytes, &piece[0].size, report);
    if (status == NH_OK)
        status = nh_checkpoint_write(trip->keeper.given->checkpoint, piece, 2, report);
    nh_bytes_free(piece[0].bytes);
    return status;
}

/* Files that grow with the run need the same plan; a run without one may become longer. */
static int check_notes(const journey *trip, const options *given, const notes *before)
{
    if (!given->output != !before->has_output)
        return complain("%s is of a run %s -o; the same command line goes on with it",
                        given->resume, before->has_output ? "with" : "without");
    if (given->output && (before->steps != trip->steps || before->every != trip->every))
        return complain(
            "%s is of a run of %lld step%s, recorded every %lld; with -o these must stay",
            given->resume, (long long)before->steps, plural(before->steps),
            (long long)before->every);
    if (nh_run_steps(trip->run) > trip->steps)
        return complain("%s is %lld step%s on the way already, more than %lld", given->resume,
                        (long long)nh_run_steps(trip->run), plural(nh_run_steps(trip->run)),
                        (long long)trip->steps);
    return 0;
}

static void take_state(journey *trip)
{
    subject *s = &trip->subject;
    nh_run_state(trip->run, 0, &s->t, s->q, s->v);
    nh_run_wrapped_state(trip->run, 0, NULL, s->wrapped_q, NULL);
}

static int restore(journey *trip, const options *given, notes *before)
{
    nh_piece piece[NH_PIECES_MAX];
    int pieces = 0, answer = 0;
    nh_report report;
    nh_status status = nh_checkpoint_read(given->resume, piece, &pieces, &report);
    if (status != NH_OK)
        return complain_report(&report);
    take_state(trip); /* the start */
    status = nh_record_add(trip->record, trip->subject.t, trip->subject.q, trip->subject.v,
                           trip->subject.wrapped_q, &report);
    if (status != NH_OK)
        answer = complain_report(&report);
    else if (pieces != 2 || piece[1].size != sizeof *before)
        answer = complain("%s: this is not a checkpoint of 'nonholo run'", given->resume);
    if (!answer && nh_run_restore(trip->run, piece[0].bytes, piece[0].size, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer) {
        subject *s = &trip->subject;
        memcpy(before, piece[1].bytes, sizeof *before);
        take_state(trip);
        if (nh_record_restore(trip->record, &before->record, s->t, s->q, s->v, s->wrapped_q,
                              &report) != NH_OK)
            answer = complain_report(&report);
    }
    if (!answer) {
        trip->recorded = before->recorded;
        answer = check_notes(trip, given, before);
    }
    for (int i = 0; i < pieces; i++)
        nh_bytes_free(piece[i].bytes);
    return answer;
}

int open_files(journey *trip, const options *given)
{
    notes before = {0};
    int answer = 0;
    if (given->resume && given->plot)
        return complain("--plot draws the points that one process recorded: not with --resume");
    if (given->resume)
        answer = restore(trip, given, &before);
    if (!answer && given->resume && given->output && is_finished(trip, given)) {
        trip->output = given->output;
        return 0;
    }
    if (!answer && given->output)
        answer = open_archive(trip, given, given->resume ? &before : NULL);
    return answer;
}
