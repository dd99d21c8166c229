/* The files of a simulation: the output file, which receives each row of the record, and
 * checkpoints, which contain the state of the run and of the files. */
#define _POSIX_C_SOURCE 200809L
#include "simulate/simulation.h"
#include "run/inputs.h"
#include "base/clock.h"
#include "base/hash.h"
#include "output/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a checkpoint contains besides the run; numbers only. */
typedef struct notes {
    int64_t steps, every, recorded, position, has_output;
    nh_record_state record;
    uint64_t mark;    /* of the output's last rows */
    int64_t ended;    /* the last, shorter step has been taken */
    uint64_t columns; /* a digest of their names */
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

static nh_status open_output(nh_simulation *s, const notes *before, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    int columns;
    const char **names = column_names(s->record, &columns);
    bool table = is_table(o->output);
    if (!table)
        s->multipliers = calloc((size_t)s->record->constraints + 1, sizeof *s->multipliers);
    nh_archive_plan plan = {.size = sizeof plan,
                            .system = s->system,
                            .model_text = o->model_text,
                            .method = s->how.method,
                            .compose = s->how.compose,
                            .step = s->how.step,
                            .t0 = s->how.t0,
                            .steps = s->how.steps,
                            .every = s->how.every,
                            .column = names,
                            .columns = columns,
                            .multipliers = !table,
                            .resumable = o->checkpoint || o->resume,
                            .resume = before != NULL,
                            .position = before ? before->position : 0,
                            .mark = before ? before->mark : 0};
    bool enough = names && (table || s->multipliers);
    nh_status status =
        enough ? nh_archive_create(&s->archive, o->output, &plan, report) : nh_fail_memory(report);
    free(names);
    return status;
}

nh_status nh_simulation_write_row(nh_simulation *s, const double *wrapped_q, nh_report *report)
{
    const nh_record *record = s->record;
    const double *row = record->table + (nh_record_kept(record) - 1) * record->width;
    const double *q = row + 1, *v = q + record->coordinates;
    nh_status status = NH_OK;
    if (s->multipliers)
        status = nh_system_acceleration_with(s->system, row[0], wrapped_q, v, s->record->u, NULL,
                                             s->multipliers, report);
    if (status == NH_NO_MEMORY)
        return status;
    for (int i = 0; status != NH_OK && i < s->record->constraints; i++)
        s->multipliers[i] = NAN; /* there are none, for instance in a singular state */
    return nh_archive_row(s->archive, row[0], q, v, row + nh_record_energy_column(record),
                          s->multipliers, report);
}

/* ---- locks --------------------------------------------------------------------------------- */

nh_status nh_simulation_lock(nh_simulation *s, nh_report *report)
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

bool nh_simulation_checkpoint_is_due(nh_simulation *s)
{
    const nh_simulation_options *o = &s->options;
    if (!o->checkpoint)
        return false;
    bool by_time = o->checkpoint_seconds > 0;
    double now = by_time ? nh_clock_seconds() : 0;
    int64_t steps = nh_run_steps(s->run);
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

nh_status nh_simulation_write_checkpoint(nh_simulation *s, nh_report *report)
{
    notes now = {.steps = s->how.steps,
                 .every = s->how.every,
                 .recorded = s->recorded,
                 .has_output = s->archive != NULL,
                 .record = nh_record_save(s->record),
                 .ended = s->ended,
                 .columns = digest_columns(s->record)};
    nh_status status = NH_OK;
    if (s->archive)
        status = nh_archive_flush(s->archive, &now.position, report);
    if (s->archive && status == NH_OK)
        status = nh_archive_mark(s->archive, now.position, &now.mark, report);
    nh_piece piece[2] = {{0}, {&now, sizeof now}};
    if (status == NH_OK)
        status = nh_run_save(s->run, &piece[0].bytes, &piece[0].size, report);
    if (status == NH_OK)
        status = nh_checkpoint_write(s->options.checkpoint, piece, 2, report);
    nh_bytes_free(piece[0].bytes);
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
    return before ? nh_record_restore_with(s->record, &before->record, t, q, v, wrapped, u, report)
                  : nh_record_add_with(s->record, t, q, v, wrapped, u, report);
}

static nh_status take_pieces(nh_simulation *s, const nh_piece *piece, int pieces, notes *before,
                             nh_report *report)
{
    size_t size = 1 + 2 * (size_t)s->record->coordinates + (size_t)s->record->velocities +
                  (size_t)s->system->shape.inputs;
    if (pieces != 2 || piece[1].size != sizeof *before)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: this is not a checkpoint of a single run",
                       s->options.resume);
    double *space = malloc(size * sizeof *space);
    nh_status status = space ? nh_simulation_take_lead(s, report) : nh_fail_memory(report);
    if (status == NH_OK) /* the first row */
        status = record_present(s, NULL, space, report);
    if (status == NH_OK)
        status = nh_run_restore(s->run, piece[0].bytes, piece[0].size, report);
    if (status == NH_OK) {
        memcpy(before, piece[1].bytes, sizeof *before);
        status = record_present(s, before, space, report);
    }
    free(space);
    return status;
}

static nh_status restore(nh_simulation *s, notes *before, nh_report *report)
{
    nh_piece piece[NH_PIECES_MAX];
    int pieces = 0;
    nh_status status = nh_checkpoint_read(s->options.resume, piece, &pieces, report);
    if (status != NH_OK)
        return status;
    status = take_pieces(s, piece, pieces, before, report);
    for (int i = 0; i < pieces; i++)
        nh_bytes_free(piece[i].bytes);
    if (status != NH_OK)
        return status;
    s->recorded = before->recorded;
    s->ended = before->ended;
    return check_notes(s, before, report);
}

nh_status nh_simulation_open(nh_simulation *s, nh_report *report)
{
    notes before = {0};
    bool resumes = s->options.resume != NULL;
    nh_status status = nh_simulation_lock(s, report);
    if (status == NH_OK && resumes)
        status = restore(s, &before, report);
    if (status != NH_OK || !s->options.output)
        return status;
    if (resumes && is_finished(s)) {
        nh_lock *last; /* the process that finished it may have left it */
        status = nh_lock_take(&last, s->options.output, report);
        nh_lock_release(last);
        s->complete = s->options.output;
        return status;
    }
    return open_output(s, resumes ? &before : NULL, report);
}
