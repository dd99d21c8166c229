/* The files that an ensemble writes while it is computed: trajectories and checkpoints. */
#define _GNU_SOURCE
#include "command.h"
#include "ensemble_job.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Something failed in a hook: stops the ensemble, and keeps the reason. */
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
    nh_archive_plan plan = {.size = sizeof plan,
                            .system = nh_ensemble_system(c->ensemble),
                            .model_text = nh_model_text(c->subject.model),
                            .method = c->method,
                            .compose = given->compose,
                            .step = c->wanted.step,
                            .t0 = given->t0,
                            .steps = c->wanted.steps,
                            .every = c->wanted.every,
                            .members = nh_ensemble_own_members(c->ensemble),
                            .random = c->wanted.starts == NH_STARTS_RANDOM,
                            .seed = c->wanted.seed,
                            .column = names,
                            .columns = columns,
                            .multipliers = true,
                            .statistics = true,
                            .swept_name = swept,
                            .swept = sweeps,
                            .resumable = given->checkpoint || given->resume,
                            .resume = resumed,
                            .shared = c->ranks.rank > 0,
                            .part = c->wanted.part,
                            .parts = c->wanted.parts,
                            .first_member = nh_ensemble_first_member(c->ensemble),
                            .identity = nh_ensemble_identity(c->ensemble)};
    nh_report report;
    if (!plan.identity) {
        free(names);
        complain("out of memory");
        return FAILED;
    }
    nh_status status = nh_archive_create(&c->archive, given->output, &plan, &report);
    nh_bytes_free((char *)plan.identity);
    free(names);
    return status == NH_OK ? 0 : complain_report(&report);
}

int add_rows(void *user, const nh_rows *rows)
{
    ensemble_job *c = user;
    nh_report report;
    add_outcomes(c, rows);
    return c->archive ? note(c, nh_archive_rows(c->archive, rows, &report), &report) : 0;
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
    bool wanted = c->ranks.rank == 0 && checkpoint_is_due(&c->checkpointing, done);
    return ranks_round(&c->ranks, wanted);
}

int flush_archive(ensemble_job *c)
{
    nh_report report;
    int64_t position;
    nh_status status = nh_archive_flush(c->archive, &position, &report);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* The bytes of all ranks, one after another, and their sizes. */
static nh_status write_checkpoint(ensemble_job *c, void *all, int64_t *sizes, nh_report *report)
{
    nh_piece piece[2] = {{all, 0}, {sizes, (size_t)c->ranks.ranks * sizeof *sizes}};
    for (int i = 0; i < c->ranks.ranks; i++)
        piece[0].size += (size_t)sizes[i];
    return nh_checkpoint_write(c->checkpointing.given->checkpoint, piece, 2, report);
}

int write_ensemble_checkpoint(void *user, const void *bytes, size_t size, int64_t done)
{
    ensemble_job *c = user;
    nh_report report;
    nh_status status = NH_OK;
    c->done = done;
    c->saved = true;
    int failed = c->archive ? flush_archive(c) : 0;
    if (failed)
        ranks_end(&c->ranks, failed);
    size_t *sizes = calloc((size_t)c->ranks.ranks, sizeof *sizes);
    void *all = sizes ? ranks_gather(&c->ranks, bytes, size, sizes) : NULL;
    if (c->ranks.rank == 0 && !all)
        failed = (complain("out of memory"), FAILED);
    else if (c->ranks.rank == 0 && !failed)
        status = write_checkpoint(c, all, (int64_t *)sizes, &report);
    free(all);
    free(sizes);
    failed = note(c, status, &report) || failed;
    return ranks_agree(&c->ranks, failed || ranks_stopping(&c->ranks));
}

/* Restores a checkpoint: the bytes of the ranks that made it, however many they were. */
static nh_status restore_pieces(ensemble_job *c, const nh_piece *piece, nh_report *report)
{
    const int64_t *sizes = piece[1].bytes;
    size_t at = 0, count = piece[1].size / sizeof *sizes;
    nh_status status = NH_OK;
    for (size_t i = 0; i < count && status == NH_OK; at += (size_t)sizes[i++]) {
        const char *bytes = (const char *)piece[0].bytes + at;
        size_t left = piece[0].size - at,
               size = (uint64_t)sizes[i] < left ? (size_t)sizes[i] : left;
        status = i == 0 ? nh_ensemble_restore(c->ensemble, bytes, size, report)
                        : nh_ensemble_join(c->ensemble, bytes, size, report);
    }
    return status;
}

static bool is_sound(const nh_piece *piece, int pieces)
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

/* Rank 0 reads the file, and all ranks get what is in it. */
static int restore(ensemble_job *c, const char *file)
{
    nh_piece piece[NH_PIECES_MAX] = {0};
    int pieces = 0, answer = 0;
    nh_report report;
    if (c->ranks.rank == 0 && nh_checkpoint_read(file, piece, &pieces, &report) != NH_OK)
        answer = complain_report(&report);
    else if (c->ranks.rank == 0 && !is_sound(piece, pieces))
        answer = complain("%s: this is not a checkpoint of 'nonholo ensemble'", file);
    answer = ranks_agree(&c->ranks, answer);
    for (int i = 0; i < 2 && !answer; i++)
        if (!ranks_receive(&c->ranks, &piece[i].bytes, &piece[i].size))
            answer = (complain("out of memory"), FAILED);
    if (!answer && restore_pieces(c, piece, &report) != NH_OK)
        answer = complain_report(&report);
    for (int i = 0; i < NH_PIECES_MAX; i++)
        nh_bytes_free(piece[i].bytes);
    return ranks_agree(&c->ranks, answer);
}

/* Makes sure that nobody else writes what this process writes, or resumes from the same
 * checkpoint. */
static int lock_files(ensemble_job *c, const options *given, bool table)
{
    nh_report report;
    nh_status status = NH_OK;
    const char *resume = given->resume;
    if (given->checkpoint)
        status = nh_lock_take(&c->lock[0], given->checkpoint, &report);
    bool other = resume && !nh_lock_covers(c->lock[0], resume) && access(resume, W_OK) == 0;
    if (status == NH_OK && other)
        status = nh_lock_take(&c->lock[1], resume, &report);
    if (status == NH_OK && table)
        status = nh_lock_take(&c->lock[2], given->output, &report);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* Rank 0 creates the file before the others open it. */
static int open_archives(ensemble_job *c, const options *given)
{
    int answer = c->ranks.rank == 0 ? open_archive(c, given, given->resume) : 0;
    answer = ranks_agree(&c->ranks, answer);
    if (!answer && c->ranks.rank > 0)
        answer = open_archive(c, given, true);
    return ranks_agree(&c->ranks, answer);
}

int open_ensemble_files(ensemble_job *c, const options *given)
{
    bool table = given->output && is_csv(given->output);
    int answer = 0;
    if (table && given->table && (given->checkpoint || given->resume))
        answer = complain("a table of members cannot be resumed; use -o FILE.h5");
    else if (table && given->table && c->ranks.ranks > 1)
        answer = complain("a table of members is written by one process only; with several "
                          "processes, use -o FILE.h5");
    else if (c->ranks.rank == 0)
        answer = lock_files(c, given, table);
    answer = ranks_agree(&c->ranks, answer);
    if (!answer && given->resume)
        answer = restore(c, given->resume);
    if (!answer && given->output && !table)
        answer = open_archives(c, given);
    return answer;
}
