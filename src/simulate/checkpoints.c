/* The files of a simulation: the output, locks, and checkpoints. A checkpoint of one trajectory
 * holds the state of its run and notes about record and file; that of an ensemble what
 * nh_ensemble_pack makes, for each of the processes that share it. Both are written once all rows
 * so far are on the disk. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"
#include "base/hash.h"
#include "output/file.h"
#include "run/inputs.h"
#include "simulate/ensemble.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a checkpoint of one trajectory contains besides the run; numbers only. */
typedef struct notes {
    int64_t steps, every, recorded, position, has_output;
    nh_record_state record;
    uint64_t mark;    /* of the output's last rows */
    int64_t ended;    /* the last, shorter step has been taken */
    uint64_t columns; /* a digest of their names */
    double lead;      /* time from the start to the first row */
    int64_t led;      /* steps of it that were taken */
} notes;

/* ---- the output ---------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* Formats without multipliers. */
static bool is_table(const char *path)
{
    return nh_file_is_output(path) || ends_with(path, ".csv") || ends_with(path, ".npy");
}

/* Energy and observables: the columns of the record after t, q and v. */
static const char **column_names(const nh_record *record, int *count)
{
    int before = nh_record_energy_column(record);
    *count = nh_record_columns(record) - before;
    const char **names = calloc((size_t)*count, sizeof *names);
    for (int i = 0; names && i < *count; i++)
        names[i] = nh_record_column_name(record, before + i);
    return names;
}

/* Whether the process was killed after the file was complete and before the checkpoint was removed:
 * then nothing is left to do. */
static bool is_finished(const nh_simulation *s)
{
    const char *output = s->options.output;
    char part[PATH_MAX];
    bool renamed = is_table(output) || ends_with(output, ".npz");
    return renamed && nh_run_steps(s->run) == s->how.steps && access(output, F_OK) == 0 &&
           snprintf(part, sizeof part, "%s.part", output) < (int)sizeof part &&
           access(part, F_OK) != 0;
}

/* What the rows of both have in common. */
static nh_archive_plan plan_archive(const nh_simulation *s)
{
    const nh_simulation_options *o = &s->options;
    return (nh_archive_plan){.size = sizeof(nh_archive_plan),
                             .system = s->system,
                             .model_text = o->model_text,
                             .method = s->how.method,
                             .compose = s->how.compose,
                             .step = s->how.step,
                             .t0 = s->how.t0,
                             .steps = s->how.steps,
                             .every = s->how.every,
                             .resumable = o->checkpoint || o->resume};
}

static nh_status open_trajectory(nh_simulation *s, const notes *before, nh_report *report)
{
    const char *output = s->options.output;
    nh_archive_plan plan = plan_archive(s);
    const char **names = column_names(s->record, &plan.columns);
    plan.column = names;
    plan.multipliers = !is_table(output);
    plan.resume = before != NULL;
    plan.position = before ? before->position : 0;
    plan.mark = before ? before->mark : 0;
    if (plan.multipliers)
        s->multipliers = calloc((size_t)s->record->constraints + 1, sizeof *s->multipliers);
    bool enough = names && (!plan.multipliers || s->multipliers);
    nh_status status =
        enough ? nh_archive_create(&s->archive, output, &plan, report) : nh_fail_memory(report);
    free(names);
    return status;
}

static nh_status open_members(nh_simulation *s, bool resume, nh_report *report)
{
    const nh_ensemble *e = s->ensemble;
    const nh_simulation_options *o = &s->options;
    const nh_members members = nh_simulation_members(s);
    const int values = nh_simulation_values(s);
    const char **names = calloc((size_t)(e->columns + values) + 1, sizeof *names);
    char *identity = nh_ensemble_identity(e);
    nh_archive_plan plan = plan_archive(s);
    for (int i = 0; names && i < e->columns; i++)
        names[i] = nh_simulation_column_name(s, i);
    for (int i = 0; names && i < values; i++)
        names[e->columns + i] = nh_simulation_value_name(s, i);
    plan.members = members.own;
    plan.first_member = members.first;
    plan.random = o->starts == NH_STARTS_RANDOM || o->variations > 0;
    plan.seed = o->seed;
    plan.column = names;
    plan.columns = e->columns;
    plan.multipliers = plan.statistics = true;
    plan.swept_name = names ? names + e->columns : NULL;
    plan.swept = values;
    plan.resume = resume;
    plan.shared = nh_ranks_is_helper(s);
    plan.part = o->part;
    plan.parts = o->parts;
    plan.identity = identity;
    nh_status status = names && identity ? nh_archive_create(&s->archive, o->output, &plan, report)
                                         : nh_fail_memory(report);
    free(identity);
    free(names);
    return status;
}

/* Rank 0 creates the file before the others open it. */
static nh_status open_output(nh_simulation *s, const notes *before, nh_report *report)
{
    if (!s->ensemble)
        return open_trajectory(s, before, report);
    const bool helper = nh_ranks_is_helper(s);
    nh_status status = helper ? NH_OK : open_members(s, s->options.resume, report);
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK && helper)
        status = open_members(s, true, report);
    return status == NH_OK ? nh_ranks_agree(s, status, report) : status;
}

/* ---- locks --------------------------------------------------------------------------------- */

/* Makes sure that nobody else writes the checkpoint, or resumes from the one that we resume
 * from. */
static nh_status lock_checkpoints(nh_simulation *s, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    nh_status status = NH_OK;
    if (o->checkpoint)
        status = nh_lock_take(&s->lock[0], o->checkpoint, report);
    if (status == NH_OK && o->checkpoint && nh_file_is_special(o->checkpoint))
        status = nh_fail(report, NH_FILE_FAILED,
                         "cannot write %s: a checkpoint needs a regular file", o->checkpoint);
    /* if it cannot be written, nobody else can write it either */
    bool other = o->resume && !nh_lock_covers(s->lock[0], o->resume);
    if (status == NH_OK && other && access(o->resume, W_OK) == 0)
        status = nh_lock_take(&s->lock[1], o->resume, report);
    return status;
}

void nh_simulation_unlock(nh_simulation *s)
{
    for (int i = 0; i < 2; i++) {
        nh_lock_release(s->lock[i]);
        s->lock[i] = NULL;
    }
}

void nh_simulation_remove_checkpoints(nh_simulation *s)
{
    nh_checkpoint_remove(s->options.checkpoint);
    nh_checkpoint_remove(s->options.resume);
    nh_simulation_unlock(s);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

bool nh_simulation_checkpoint_is_due(nh_simulation *s, int64_t steps)
{
    const nh_simulation_options *o = &s->options;
    if (!o->checkpoint)
        return false;
    bool by_time = o->checkpoint_seconds > 0;
    double now = by_time ? nh_clock_seconds() : 0;
    bool due = by_time ? now - s->last_time >= o->checkpoint_seconds
                       : steps - s->last_steps >= o->checkpoint_steps;
    if (due) {
        s->last_time = now;
        s->last_steps = steps;
    }
    return due;
}

/* Of the names of the columns, with the NUL at the end of each. */
static uint64_t digest_columns(const nh_record *record)
{
    uint64_t digest = NH_HASH_START;
    for (int i = 0; i < record->columns; i++) {
        const char *name = nh_record_column_name(record, i);
        digest = nh_hash(digest, name, strlen(name) + 1);
    }
    return digest;
}

static nh_status write_trajectory(nh_simulation *s, int64_t position, nh_report *report)
{
    notes now = {.steps = s->how.steps,
                 .every = s->how.every,
                 .recorded = s->recorded,
                 .position = position,
                 .has_output = s->archive != NULL,
                 .record = nh_record_save(s->record),
                 .ended = s->ended,
                 .columns = digest_columns(s->record),
                 .lead = s->options.lead,
                 .led = s->led};
    nh_status status = NH_OK;
    if (s->archive)
        status = nh_archive_mark(s->archive, now.position, &now.mark, report);
    nh_piece piece[3] = {{0}, {&now, sizeof now}, s->begun};
    if (status == NH_OK)
        status = nh_run_save(s->run, &piece[0].bytes, &piece[0].size, report);
    if (status == NH_OK)
        status = nh_checkpoint_write(s->options.checkpoint, piece, s->begun.bytes ? 3 : 2, report);
    nh_bytes_free(piece[0].bytes);
    return status;
}

/* Rank 0 writes the bytes of all processes, one after another, and their sizes. */
static nh_status write_members(nh_simulation *s, nh_report *report)
{
    const size_t ranks = (size_t)nh_ranks_count(s);
    size_t *sizes = calloc(ranks, sizeof *sizes);
    nh_piece own = {0};
    nh_status status = nh_ensemble_pack(s->ensemble, &own, report);
    nh_piece piece[2] = {{0}, {sizes, ranks * sizeof *sizes}};
    if (status == NH_OK && !sizes)
        status = nh_fail_memory(report);
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK) {
        piece[0].bytes = nh_ranks_gather(s, own.bytes, own.size, sizes);
        for (size_t i = 0; i < ranks; i++)
            piece[0].size += sizes[i];
        if (!nh_ranks_is_helper(s))
            status = piece[0].bytes ? nh_checkpoint_write(s->options.checkpoint, piece, 2, report)
                                    : nh_fail_memory(report);
        status = nh_ranks_agree(s, status, report);
    }
    nh_bytes_free(own.bytes);
    free(piece[0].bytes);
    free(sizes);
    return status;
}

nh_status nh_simulation_write_checkpoint(nh_simulation *s, nh_report *report)
{
    int64_t position = 0;
    nh_status status = s->archive ? nh_archive_flush(s->archive, &position, report) : NH_OK;
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK)
        status = s->ensemble ? write_members(s, report) : write_trajectory(s, position, report);
    s->saved = status == NH_OK;
    s->stopped |= s->saved && nh_ranks_stopping(s);
    return status;
}

/* A file that grows with the run needs the same plan; a run without such a file may become
 * longer. */
static nh_status check_notes(const nh_simulation *s, const notes *before, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    if (!o->output != !before->has_output)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s belongs to a run %s an output file; only such a run can resume from it",
                       o->resume, before->has_output ? "with" : "without");
    if (o->output && (before->steps != s->how.steps || before->every != s->how.every))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s belongs to a run of %lld steps, recorded every %lld; with an output "
                       "file these must stay the same",
                       o->resume, (long long)before->steps, (long long)before->every);
    if (o->output && before->columns != digest_columns(s->record))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s belongs to a run with other columns; with an output file the observed "
                       "quantities must stay the same",
                       o->resume);
    if (before->ended && before->steps != s->how.steps)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s was written after a last, shorter step; such a run cannot become longer",
                       o->resume);
    if (nh_run_steps(s->run) > s->how.steps)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s was written after %lld steps, more than the %lld requested", o->resume,
                       (long long)nh_run_steps(s->run), (long long)s->how.steps);
    return NH_OK;
}

/* Records the current state of the run, or takes it as restored; `space` has room for it. */
static nh_status record_present(nh_simulation *s, const notes *before, double *space,
                                nh_report *report)
{
    double t, *q = space, *v = q + s->record->coordinates, *wrapped = v + s->record->velocities;
    nh_run_state(s->run, 0, &t, q, v);
    nh_run_wrapped_state(s->run, 0, NULL, wrapped, NULL);
    nh_run_take_inputs(s->run, 0, wrapped + s->record->coordinates);
    const double *u = s->system->shape.inputs > 0 ? wrapped + s->record->coordinates : NULL;
    return before ? nh_record_restore(s->record, &before->record, t, q, v, wrapped, u, report)
                  : nh_record_add(s->record, t, q, v, wrapped, u, report);
}

/* The first row, from which others are measured, is that of the run at the start or, after a way to
 * the first row, in a piece of its own. */
static nh_status take_first_row(nh_simulation *s, const nh_piece *begun, double *space,
                                nh_report *report)
{
    nh_status status = NH_OK;
    if (s->options.lead > 0) {
        status = nh_run_restore(s->run, begun->bytes, begun->size, report);
        if (status == NH_OK)
            status = nh_run_save(s->run, &s->begun.bytes, &s->begun.size, report);
    }
    return status == NH_OK ? record_present(s, NULL, space, report) : status;
}

static nh_status take_pieces(nh_simulation *s, const nh_piece *piece, int pieces, notes *before,
                             nh_report *report)
{
    size_t size = 1 + 2 * (size_t)s->record->coordinates + (size_t)s->record->velocities +
                  (size_t)s->system->shape.inputs;
    if (pieces < 2 || piece[1].size != sizeof *before)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: this is not a checkpoint of a single run",
                       s->options.resume);
    memcpy(before, piece[1].bytes, sizeof *before);
    const bool begun = before->recorded >= 0, leads = s->options.lead > 0;
    if (before->lead != s->options.lead || before->led < 0 || before->led > nh_trajectory_lead(s) ||
        pieces != (begun && leads ? 3 : 2))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s belongs to a run whose first recorded state is %.10g after its start; "
                       "only such a run can resume from it",
                       s->options.resume, before->lead);
    double *space = malloc(size * sizeof *space);
    nh_status status = space ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && begun)
        status = take_first_row(s, piece + 2, space, report);
    if (status == NH_OK)
        status = nh_run_restore(s->run, piece[0].bytes, piece[0].size, report);
    if (status == NH_OK && begun)
        status = record_present(s, before, space, report);
    s->led = before->led;
    s->uneven |= s->led > 0;
    free(space);
    return status;
}

/* Whether the first piece consists of parts that have the sizes in the second one. */
static bool is_of_members(const nh_piece *piece, int pieces)
{
    if (pieces != 2 || piece[1].size < sizeof(int64_t) || piece[1].size % sizeof(int64_t) != 0)
        return false;
    size_t left = piece[0].size;
    for (size_t i = 0; i < piece[1].size / sizeof(int64_t); i++) {
        int64_t size = ((const int64_t *)piece[1].bytes)[i];
        if (size < 0 || (uint64_t)size > left)
            return false;
        left -= (size_t)size;
    }
    return left == 0;
}

/* The bytes of the processes that made the checkpoint, however many they were. */
static nh_status take_members(nh_simulation *s, const nh_piece *piece, nh_report *report)
{
    const int64_t *sizes = piece[1].bytes;
    const char *bytes = piece[0].bytes;
    nh_status status = nh_ensemble_restore(s->ensemble, bytes, (size_t)sizes[0], report);
    for (size_t i = 1; i < piece[1].size / sizeof *sizes && status == NH_OK; i++) {
        bytes += sizes[i - 1];
        status = nh_ensemble_join(s->ensemble, bytes, (size_t)sizes[i], report);
    }
    return status;
}

static nh_status read_checkpoint(const nh_simulation *s, nh_piece *piece, int *pieces,
                                 nh_report *report)
{
    nh_status status = nh_checkpoint_read(s->options.resume, piece, pieces, report);
    if (status == NH_OK && s->ensemble && !is_of_members(piece, *pieces))
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s: this is not a checkpoint of an ensemble",
                         s->options.resume);
    return status;
}

/* Rank 0 reads the file, and all processes get what is in it. */
static nh_status restore(nh_simulation *s, notes *before, nh_report *report)
{
    nh_piece piece[NH_PIECES_MAX] = {0};
    int pieces = 0;
    nh_status status = nh_ranks_is_helper(s) ? NH_OK : read_checkpoint(s, piece, &pieces, report);
    status = nh_ranks_agree(s, status, report);
    for (int i = 0; i < 2 && status == NH_OK && s->options.processes; i++)
        piece[i].bytes = s->options.processes->broadcast(piece[i].bytes, &piece[i].size);
    if (status == NH_OK)
        status = s->ensemble ? take_members(s, piece, report)
                             : take_pieces(s, piece, pieces, before, report);
    for (int i = 0; i < NH_PIECES_MAX; i++)
        nh_bytes_free(piece[i].bytes);
    if (status == NH_OK && !s->ensemble) {
        s->recorded = before->recorded;
        s->ended = before->ended;
        status = check_notes(s, before, report);
    }
    return nh_ranks_agree(s, status, report);
}

nh_status nh_simulation_open(nh_simulation *s, nh_report *report)
{
    notes before = {0};
    bool resumes = s->options.resume != NULL;
    nh_status status = nh_ranks_is_helper(s) ? NH_OK : lock_checkpoints(s, report);
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK && resumes)
        status = restore(s, &before, report);
    if (status != NH_OK || !s->options.output)
        return status;
    if (resumes && !s->ensemble && is_finished(s)) {
        nh_lock *last; /* the process that finished it may have left it */
        status = nh_lock_take(&last, s->options.output, report);
        nh_lock_release(last);
        s->complete = s->options.output;
        return status;
    }
    return open_output(s, resumes ? &before : NULL, report);
}
