/* Processes that share an ensemble: ranks other than 0 write their rows and results to files in a
 * shared folder; rank 0 reads and merges them. */
#define _GNU_SOURCE
#include "ranks.h"
#include "command.h"
#include "message.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENT_ROUNDS = 250 /* of 20 ms */, LAUNCH = 120 };

/* What a rank hands over beside its result. */
typedef struct delivery {
    int64_t rows; /* bytes of its file of rows */
    char launch[LAUNCH];
} delivery;

static bool number_of(const char *name, int *value)
{
    const char *text = getenv(name);
    char *end;
    long number = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || number < 0 || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

void find_ranks(int *rank, int *ranks)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    *rank = 0;
    *ranks = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (number_of(names[i][0], rank) && number_of(names[i][1], ranks) && *rank < *ranks)
            return;
    *rank = 0;
    *ranks = 1;
}

/* ---- the folder ---- */

/* A name that all ranks of one launch know and no other launch has; false without one. */
static bool name_launch(char launch[LAUNCH])
{
    const char *own = getenv("NONHOLO_LAUNCH"), *space = getenv("PMIX_NAMESPACE");
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    memset(launch, 0, LAUNCH);
    if (own || space)
        snprintf(launch, LAUNCH, "%s", own ? own : space);
    else if (job)
        snprintf(launch, LAUNCH, "%s.%s", job, step ? step : "");
    return launch[0] != '\0';
}

/* Where they meet: with a checkpoint also those of a later launch. */
static int name_folder(ensemble_job *c, const options *given)
{
    char launch[LAUNCH];
    const char *file = given->checkpoint ? given->checkpoint : given->resume;
    int length;
    if (!name_launch(launch))
        return complain("several ranks need a name for their launch, which this launcher does not "
                        "give: set NONHOLO_LAUNCH to one that no other launch has"),
               FAILED;
    if (file)
        length = asprintf(&c->folder, "%s.ranks", file);
    else
        length = asprintf(&c->folder, ".nonholo-%s", launch);
    for (char *at = c->folder; !file && length > 0 && *at; at++)
        *at = *at == '/' ? '_' : *at;
    return length > 0 ? 0 : (complain("out of memory"), FAILED);
}

static void path_of(const ensemble_job *c, int rank, const char *what, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%d.%s", c->folder, rank, what);
}

int ranks_begin(ensemble_job *c, const options *given, int64_t position)
{
    char path[PATH_MAX];
    if (c->wanted.ranks == 1)
        return 0;
    if (!c->folder && name_folder(c, given))
        return FAILED;
    if (mkdir(c->folder, 0777) != 0 && errno != EEXIST)
        return complain("cannot create %s: %s", c->folder, strerror(errno)), FAILED;
    path_of(c, c->wanted.rank, "result", path);
    if (!given->resume)
        unlink(path);
    if (c->wanted.rank == 0)
        return 0;
    path_of(c, c->wanted.rank, "rows", path);
    c->spill = fopen(path, given->resume && position > 0 ? "r+be" : "wbe");
    if (!c->spill || (position > 0 && (ftruncate(fileno(c->spill), position) != 0 ||
                                       fseeko(c->spill, position, SEEK_SET) != 0)))
        return complain("cannot write %s: %s", path, strerror(errno)), FAILED;
    return 0;
}

bool rank_is_done(ensemble_job *c, const options *given)
{
    char path[PATH_MAX];
    if (c->wanted.ranks == 1 || c->wanted.rank == 0 || !given->resume || name_folder(c, given))
        return false;
    path_of(c, c->wanted.rank, "result", path);
    return access(path, F_OK) == 0;
}

/* ---- rows on their way to rank 0 ---- */

static int spill(ensemble_job *c, const void *data, size_t size)
{
    return size > 0 && fwrite(data, size, 1, c->spill) != 1;
}

static size_t row_counts(const ensemble_job *c, const nh_rows *rows, size_t count[4])
{
    const nh_system *s = nh_ensemble_system(c->ensemble);
    size_t all = (size_t)rows->members * (size_t)rows->records;
    count[0] = all * (size_t)rows->columns;
    count[1] = all * (size_t)nh_system_coordinates(s);
    count[2] = all * (size_t)nh_system_velocities(s);
    count[3] = all * (size_t)nh_system_constraints(s);
    return count[0] + count[1] + count[2] + count[3];
}

int spill_rows(void *user, const nh_rows *rows)
{
    ensemble_job *c = user;
    size_t count[4];
    row_counts(c, rows, count);
    const double *part[] = {rows->value, rows->q, rows->v, rows->multipliers};
    int failed = spill(c, "R", 1) || spill(c, rows, sizeof *rows);
    for (int i = 0; i < 4 && !failed; i++)
        failed = spill(c, part[i], count[i] * sizeof(double));
    return failed;
}

int spill_member(void *user, const nh_member *member)
{
    ensemble_job *c = user;
    return spill(c, "M", 1) || spill(c, member, sizeof *member);
}

nh_status spill_flush(ensemble_job *c, int64_t *position, nh_report *report)
{
    if (fflush(c->spill) == 0 && fsync(fileno(c->spill)) == 0) {
        *position = ftello(c->spill);
        return NH_OK;
    }
    report->status = NH_FILE_FAILED;
    snprintf(report->text, sizeof report->text, "cannot write rows of rank %d: %s", c->wanted.rank,
             strerror(errno));
    return NH_FILE_FAILED;
}

/* ---- joining ---- */

static int take_rows(ensemble_job *c, FILE *file)
{
    nh_rows rows;
    size_t count[4];
    if (fread(&rows, sizeof rows, 1, file) != 1 || rows.members < 1 || rows.records < 1 ||
        rows.columns != nh_ensemble_columns(c->ensemble))
        return 1;
    size_t all = row_counts(c, &rows, count);
    double *data = malloc((all + 1) * sizeof *data);
    int failed = !data || fread(data, sizeof *data, all, file) != all;
    if (!failed) {
        rows.value = data;
        rows.q = data + count[0];
        rows.v = rows.q + count[1];
        rows.multipliers = rows.v + count[2];
        failed = c->archive && add_rows(c, &rows);
    }
    free(data);
    return failed;
}

static int take_spill(ensemble_job *c, int rank, int64_t size)
{
    char path[PATH_MAX];
    struct stat info;
    path_of(c, rank, "rows", path);
    FILE *file = fopen(path, "rbe");
    int failed = !file || fstat(fileno(file), &info) != 0 || info.st_size != size, kind;
    while (!failed && (kind = getc(file)) != EOF) {
        nh_member member;
        if (kind == 'R')
            failed = take_rows(c, file);
        else if (kind != 'M' || fread(&member, sizeof member, 1, file) != 1)
            failed = 1;
        else
            failed = c->archive && add_member_to_archive(c, &member);
    }
    if (file)
        fclose(file);
    return failed
               ? (complain("the results of rank %d could not be read from %s", rank, path), FAILED)
               : 0;
}

static int hand_over(ensemble_job *c)
{
    char path[PATH_MAX];
    nh_report report;
    delivery own;
    nh_piece piece[2] = {{0}, {&own, sizeof own}};
    name_launch(own.launch);
    nh_status status = spill_flush(c, &own.rows, &report);
    if (status == NH_OK)
        status = nh_ensemble_result(c->ensemble, &piece[0].bytes, &piece[0].size, &report);
    path_of(c, c->wanted.rank, "result", path);
    if (status == NH_OK)
        status = nh_checkpoint_write(path, piece, 2, &report);
    nh_bytes_free(piece[0].bytes);
    return status == NH_OK ? 0 : complain_report(&report);
}

static void free_pieces(nh_piece *piece, int pieces)
{
    for (int i = 0; i < pieces; i++)
        nh_bytes_free(piece[i].bytes);
}

/* The result of a rank, if it is there and of this launch; when resuming, of an earlier one too,
 * for what it is a result of stands in it. The exit code after a complaint. */
static int look_for(ensemble_job *c, const char *path, nh_piece *piece, int *pieces)
{
    char launch[LAUNCH];
    nh_report report;
    *pieces = 0;
    if (access(path, F_OK) != 0)
        return 0;
    if (nh_checkpoint_read(path, piece, pieces, &report) != NH_OK)
        return complain_report(&report);
    bool whole = *pieces == 2 && piece[1].size == sizeof(delivery);
    name_launch(launch);
    if (whole && (c->checkpointing.given->resume ||
                  memcmp(((delivery *)piece[1].bytes)->launch, launch, LAUNCH) == 0))
        return 0;
    free_pieces(piece, *pieces);
    *pieces = 0;
    return 0;
}

static int wait_for(ensemble_job *c, int rank, nh_piece *piece, int *pieces)
{
    char path[PATH_MAX];
    path_of(c, rank, "result", path);
    for (int rounds = 0;; rounds++) {
        int answer = look_for(c, path, piece, pieces);
        if (answer || *pieces > 0)
            return answer;
        if (rounds == PATIENT_ROUNDS)
            remark("rank 0 has done its part and waits for rank %d of %d, for %s", rank,
                   c->wanted.ranks, path);
        if (interrupted())
            return complain("interrupted while waiting for rank %d", rank), FAILED;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static int join(ensemble_job *c, int rank)
{
    nh_report report;
    nh_piece piece[NH_PIECES_MAX];
    int pieces, answer = wait_for(c, rank, piece, &pieces);
    if (answer)
        return answer;
    int64_t rows = ((delivery *)piece[1].bytes)->rows;
    nh_status status = nh_ensemble_join(c->ensemble, rank, piece[0].bytes, piece[0].size, &report);
    free_pieces(piece, pieces);
    return status == NH_OK ? take_spill(c, rank, rows) : complain_report(&report);
}

int ranks_end(ensemble_job *c)
{
    int answer = 0;
    if (c->wanted.ranks == 1)
        return 0;
    if (c->wanted.rank > 0)
        return hand_over(c);
    for (int rank = 1; rank < c->wanted.ranks && !answer; rank++)
        answer = join(c, rank);
    return answer;
}

void ranks_clean(const ensemble_job *c)
{
    static const char *const kinds[] = {"rows", "result"};
    char path[PATH_MAX];
    for (int rank = 1; c->folder && rank < c->wanted.ranks; rank++)
        for (int i = 0; i < 2; i++) {
            path_of(c, rank, kinds[i], path);
            unlink(path);
        }
    if (c->folder)
        rmdir(c->folder);
}

void ranks_free(ensemble_job *c)
{
    if (c->spill)
        fclose(c->spill);
    free(c->folder);
}
