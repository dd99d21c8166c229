/* The files that an ensemble writes while it is computed: trajectories and checkpoints. */
#define _GNU_SOURCE
#include "command.h"
#include "ensemble_job.h"
#include "message.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Something failed in a hook: the ensemble stops, and this is why. */
static int note(ensemble_job *c, nh_status status, const nh_report *report)
{
    if (status != NH_OK && c->failure.status == NH_OK)
        c->failure = *report;
    return status != NH_OK;
}

bool is_csv(const char *path)
{
    size_t length = strlen(path);
    return is_standard_output(path) || (length > 4 && strcmp(path + length - 4, ".csv") == 0);
}

/* ---- trajectories -------------------------------------------------------------------------- */

static int open_archive(ensemble_job *c, const options *given, bool resumed)
{
    int columns = nh_ensemble_columns(c->ensemble), sweeps = c->wanted.sweeps;
    const char **names = calloc((size_t)columns, sizeof *names), *swept[SWEEPS_MAX];
    if (!names)
        return complain("out of memory"), FAILED;
    for (int i = 0; i < columns; i++)
        names[i] = nh_ensemble_column_name(c->ensemble, i);
    for (int i = 0; i < sweeps; i++)
        swept[i] = c->sweep[i].parameter;
    nh_archive_plan plan = {.system = nh_ensemble_system(c->ensemble),
                            .model_text = nh_model_text(c->subject.model),
                            .method = c->method,
                            .compose = given->compose,
                            .step = c->wanted.step,
                            .t0 = given->t0,
                            .steps = c->wanted.steps,
                            .every = c->wanted.every,
                            .members = nh_ensemble_members(c->ensemble),
                            .random = c->wanted.starts == NH_STARTS_RANDOM,
                            .seed = c->wanted.seed,
                            .column = names,
                            .columns = columns,
                            .multipliers = true,
                            .statistics = true,
                            .swept_name = swept,
                            .swept = sweeps,
                            .resumable = given->checkpoint || given->resume,
                            .resume = resumed};
    nh_report report;
    nh_status status = nh_archive_create(&c->archive, given->output, &plan, &report);
    free(names);
    return status == NH_OK ? 0 : complain_report(&report);
}

int add_rows(void *user, const nh_rows *rows)
{
    ensemble_job *c = user;
    nh_report report;
    return note(c, nh_archive_rows(c->archive, rows, &report), &report);
}

int add_member_to_archive(void *user, const nh_member *member)
{
    ensemble_job *c = user;
    double swept[SWEEPS_MAX];
    nh_report report;
    for (int i = 0; i < c->wanted.sweeps; i++)
        swept[i] = nh_ensemble_swept_value(c->ensemble, member->combination, i);
    return note(c, nh_archive_member(c->archive, member, swept, &report), &report);
}

int close_archive(ensemble_job *c)
{
    nh_report report;
    nh_status status = nh_archive_statistics(c->archive, c->ensemble, &report);
    if (status == NH_OK)
        status = nh_archive_close(c->archive, &report);
    else
        nh_archive_leave(c->archive);
    c->archive = NULL;
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

int ensemble_checkpoint_is_due(void *user, int64_t done)
{
    ensemble_job *c = user;
    return interrupted() || checkpoint_is_due(&c->checkpointing, done);
}

int write_ensemble_checkpoint(void *user, const void *bytes, size_t size, int64_t done)
{
    ensemble_job *c = user;
    nh_report report;
    nh_status status = NH_OK;
    int64_t position = 0;
    c->done = done;
    if (c->archive)
        status = nh_archive_flush(c->archive, &position, &report);
    else if (c->spill)
        status = spill_flush(c, &position, &report);
    nh_piece piece[2] = {{(void *)bytes, size}, {&position, sizeof position}};
    if (status == NH_OK)
        status = nh_checkpoint_write(c->checkpoint, piece, 2, &report);
    return note(c, status, &report) || interrupted();
}

/* Each rank has a checkpoint of its own; one that had none yet begins anew. */
static char *rank_file(const ensemble_job *c, const char *path)
{
    char *name = NULL;
    if (c->wanted.ranks == 1)
        return strdup(path);
    return asprintf(&name, "%s.rank%d", path, c->wanted.rank) < 0 ? NULL : name;
}

static int restore(ensemble_job *c, const char *file, int64_t *position)
{
    nh_piece piece[NH_PIECES_MAX];
    int pieces = 0, answer = 0;
    nh_report report;
    if (nh_checkpoint_read(file, piece, &pieces, &report) != NH_OK)
        return complain_report(&report);
    if (pieces != 2 || piece[1].size != sizeof(int64_t))
        answer = complain("%s: this is not a checkpoint of 'nonholo ensemble'", file);
    else if (nh_ensemble_restore(c->ensemble, piece[0].bytes, piece[0].size, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer)
        memcpy(position, piece[1].bytes, sizeof *position);
    for (int i = 0; i < pieces; i++)
        nh_bytes_free(piece[i].bytes);
    return answer;
}

/* Nobody else writes what this process writes, or goes on from where it goes on. */
static int lock_files(ensemble_job *c, const char *resume, const char *table)
{
    nh_report report;
    nh_status status = NH_OK;
    if (c->checkpoint)
        status = nh_lock_take(&c->lock[0], c->checkpoint, &report);
    bool other = resume && !nh_lock_covers(c->lock[0], resume) && access(resume, W_OK) == 0;
    if (status == NH_OK && other)
        status = nh_lock_take(&c->lock[1], resume, &report);
    if (status == NH_OK && table)
        status = nh_lock_take(&c->lock[2], table, &report);
    return status == NH_OK ? 0 : complain_report(&report);
}

int open_ensemble_files(ensemble_job *c, const options *given)
{
    bool table = given->output && is_csv(given->output);
    int answer = 0;
    int64_t position = 0;
    bool several = c->wanted.ranks > 1;
    if (table && given->table && (given->checkpoint || given->resume))
        return complain("a table of members cannot be resumed; -o FILE.h5 can");
    if (table && given->table && several)
        return complain("a table of members is written by one process; -o FILE.h5 by several");
    char *before = given->resume ? rank_file(c, given->resume) : NULL;
    c->checkpoint = given->checkpoint ? rank_file(c, given->checkpoint) : NULL;
    bool resumed = before && (!several || access(before, F_OK) == 0);
    answer = lock_files(c, before, table && c->wanted.rank == 0 ? given->output : NULL);
    if (!answer && resumed)
        answer = restore(c, before, &position);
    if (!answer && several)
        answer = ranks_begin(c, given, position);
    if (!answer && given->output && !table && c->wanted.rank == 0)
        answer = open_archive(c, given, resumed);
    free(before);
    return answer;
}
