/* Joins the parts of an ensemble into one file.
 *
 * Each part says what it is a part of, so the plan of the whole file is known from the first part,
 * and the joined file is laid out exactly as a single process would lay it out. Statistics are sums
 * of integers: recomputed from the rows, they too equal those of a single process. */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exact.h"
#include "base/option_struct.h"
#include "base/text.h"
#include "output/archive.h"
#include "output/part.h"
#include "simulate/ensemble.h"

typedef struct joining {
    nh_join_options options;
    nh_part *part; /* [count], by first member */
    int count;
    int64_t members; /* of all */
    nh_model *model;
    nh_system *system;
    nh_archive *archive;
    nh_gathering *sum; /* [records][columns] */
    nh_joined done;
} joining;

/* ---- which parts there are ---- */

static nh_status open_parts(joining *j, const char *const *paths, int count, nh_report *report)
{
    nh_status status = NH_OK;
    j->part = calloc((size_t)count, sizeof *j->part);
    if (!j->part)
        return nh_fail_memory(report);
    for (int i = 0; i < count && status == NH_OK; i++) {
        j->count = i + 1;
        status = nh_part_open(j->part + i, paths[i], report);
    }
    return status;
}

/* Why two files do not belong to one ensemble, as far as their attributes show. */
static const char *difference(const nh_part *a, const nh_part *b)
{
    bool composed = a->compose && b->compose;
    return strcmp(a->model_text, b->model_text) != 0         ? "model"
           : strcmp(a->method, b->method) != 0               ? "method"
           : a->step != b->step                              ? "step"
           : a->steps != b->steps                            ? "number of steps"
           : a->every != b->every                            ? "number of steps between records"
           : a->seed != b->seed                              ? "seed"
           : a->parts != b->parts                            ? "number of parts"
           : !a->compose != !b->compose                      ? "composition"
           : composed && strcmp(a->compose, b->compose) != 0 ? "composition"
                                                             : NULL;
}

static nh_status check_identities(const joining *j, nh_report *report)
{
    const nh_part *a = j->part;
    for (int i = 1; i < j->count; i++) {
        const nh_part *b = j->part + i;
        bool alike = strcmp(a->identity, b->identity) == 0 && a->parts == b->parts &&
                     a->records == b->records && a->columns == b->columns &&
                     a->coordinates == b->coordinates && a->velocities == b->velocities &&
                     a->constraints == b->constraints && a->sweeps == b->sweeps;
        const char *what = difference(a, b);
        if (what)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s and %s are not parts of one ensemble: their %s differs", a->path,
                           b->path, what);
        if (!alike)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s and %s are not parts of one ensemble: their members, parameters, "
                           "starts, processor level or version of nonholo differ",
                           a->path, b->path);
    }
    return NH_OK;
}

static int compare_parts(const void *a, const void *b)
{
    int first = ((const nh_part *)a)->part, second = ((const nh_part *)b)->part;
    return (first > second) - (first < second);
}

static nh_status check_complete(joining *j, nh_report *report)
{
    nh_text missing = {0};
    int next = 1, parts = j->part->parts, lacking = 0;
    qsort(j->part, (size_t)j->count, sizeof *j->part, compare_parts);
    for (int i = 1; i < j->count; i++)
        if (j->part[i].part == j->part[i - 1].part)
            return nh_fail(report, NH_BAD_ARGUMENT, "%s and %s are both part %d of %d",
                           j->part[i - 1].path, j->part[i].path, j->part[i].part, parts);
    for (int i = 0; i <= j->count; i++) {
        int here = i < j->count ? j->part[i].part : parts + 1;
        for (; next < here && lacking < 10; next++, lacking++)
            nh_text_add(&missing, "%s%d", lacking ? ", " : "", next);
        next = here + 1;
    }
    nh_status status = NH_OK;
    if (lacking > 0)
        status =
            nh_fail(report, NH_BAD_ARGUMENT, "part%s %s%s of %d %s missing",
                    lacking == 1 ? "" : "s", missing.data ? missing.data : "",
                    parts - j->count > lacking ? ", ..." : "", parts, lacking == 1 ? "is" : "are");
    nh_text_free(&missing);
    return status;
}

static nh_status check_members(joining *j, nh_report *report)
{
    for (int i = 0; i < j->count; i++) {
        if (j->part[i].first != j->members)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s begins with member %lld, not %lld: it is damaged", j->part[i].path,
                           (long long)j->part[i].first, (long long)j->members);
        j->members += j->part[i].members;
    }
    return NH_OK;
}

/* ---- the file ---- */

/* The path of a part relative to the folder of the file that refers to it; NULL without memory. */
static char *relative_path(const char *path, const char *part)
{
    char *there = realpath(part, NULL), *above = strdup(path), *name = NULL;
    char *slash = above ? strrchr(above, '/') : NULL;
    if (slash)
        slash[slash == above] = '\0';
    char *folder = above ? realpath(slash ? above : ".", NULL) : NULL;
    if (there && folder) {
        const size_t length = strlen(folder);
        const bool below = strncmp(there, folder, length) == 0 && there[length] == '/';
        name = strdup(below ? there + length + 1 : there);
    }
    free(above);
    free(folder);
    free(there);
    return name;
}

static nh_status create(joining *j, const char *path, nh_report *report)
{
    const nh_part *p = j->part;
    nh_archive_plan plan = {.size = sizeof plan,
                            .system = j->system,
                            .model_text = p->model_text,
                            .method = p->method,
                            .compose = p->compose,
                            .step = p->step,
                            .t0 = p->t0,
                            .steps = p->steps,
                            .every = p->every,
                            .members = j->members,
                            .random = p->random,
                            .seed = (uint64_t)p->seed,
                            .column = (const char *const *)p->column,
                            .columns = p->columns,
                            .multipliers = p->constraints > 0,
                            .statistics = true,
                            .swept_name = (const char *const *)p->swept,
                            .swept = p->sweeps};
    if (!j->options.refer)
        return nh_archive_create(&j->archive, path, &plan, report);
    nh_hdf5_source *source = calloc((size_t)j->count, sizeof *source);
    bool done = source != NULL;
    for (int i = 0; done && i < j->count; i++) {
        source[i] = (nh_hdf5_source){relative_path(path, j->part[i].path), j->part[i].first,
                                     j->part[i].members};
        done = source[i].path != NULL;
    }
    nh_hdf5_sources sources = {source, j->count};
    nh_status status = done ? nh_archive_create_over(&j->archive, path, &plan, &sources, report)
                            : nh_fail_memory(report);
    for (int i = 0; source && i < j->count; i++)
        free((char *)source[i].path);
    free(source);
    return status;
}

static nh_status build_system(joining *j, nh_report *report)
{
    const nh_part *p = j->part;
    nh_status status =
        nh_model_parse(&j->model, p->path, p->model_text, strlen(p->model_text), report);
    if (status == NH_OK)
        status = nh_system_build(&j->system, j->model, (const char *const *)p->setting,
                                 (size_t)p->settings, report);
    return status;
}

/* ---- rows ---- */

enum { BLOCK_BYTES = 1 << 24 };

typedef struct block {
    int64_t members; /* room */
    nh_part_rows rows;
    double *mixed; /* [members][records][columns] */
} block;

static bool make_block(const joining *j, block *b)
{
    const nh_part *p = j->part;
    size_t records = (size_t)p->records;
    size_t width = (size_t)(p->coordinates + p->velocities + p->constraints + 2 * p->columns);
    size_t fitting = BLOCK_BYTES / (records * (width + 1) * sizeof(double)) + 1;
    size_t members = fitting < (size_t)j->members ? fitting : (size_t)j->members;
    b->members = (int64_t)members;
    size_t rows = members * records;
    b->rows.q = calloc(rows * (size_t)p->coordinates + 1, sizeof(double));
    b->rows.v = calloc(rows * (size_t)p->velocities + 1, sizeof(double));
    b->rows.multipliers = calloc(rows * (size_t)p->constraints + 1, sizeof(double));
    b->rows.value = calloc(rows * (size_t)p->columns + 1, sizeof(double));
    b->rows.swept = calloc(members * (size_t)p->sweeps + 1, sizeof(double));
    b->rows.count = calloc(members, sizeof *b->rows.count);
    b->rows.failed = calloc(members, sizeof *b->rows.failed);
    b->mixed = calloc(rows * (size_t)p->columns + 1, sizeof *b->mixed);
    return b->rows.q && b->rows.v && b->rows.multipliers && b->rows.value && b->rows.swept &&
           b->rows.count && b->rows.failed && b->mixed;
}

static void free_block(block *b)
{
    free(b->rows.q);
    free(b->rows.v);
    free(b->rows.multipliers);
    free(b->rows.value);
    free(b->rows.swept);
    free(b->rows.count);
    free(b->rows.failed);
    free(b->mixed);
}

/* From their failure on, members have rows of NaN, which the statistics leave out. */
static bool lives(const joining *j, const block *b, size_t member, size_t row)
{
    const nh_part *p = j->part;
    bool nothing = true;
    if (!b->rows.failed[member])
        return true;
    for (int c = 0; nothing && c < p->columns; c++)
        nothing = isnan(b->mixed[row * (size_t)p->columns + (size_t)c]);
    return !nothing;
}

static void gather(joining *j, const block *b, size_t members)
{
    size_t columns = (size_t)j->part->columns, records = (size_t)j->part->records;
    size_t table = members * records;
    for (size_t row = 0; row < table; row++)
        for (size_t c = 0; c < columns; c++)
            b->mixed[row * columns + c] = b->rows.value[c * table + row];
    for (size_t row = 0; row < table; row++)
        for (size_t c = 0; lives(j, b, row / records, row) && c < columns; c++)
            nh_gather(j->sum + row % records * columns + c, b->mixed[row * columns + c]);
}

static nh_status write_outcomes(joining *j, const nh_part *p, const block *b, int64_t first,
                                int64_t members, nh_report *report)
{
    nh_status status = NH_OK;
    double *swept = calloc((size_t)p->sweeps + 1, sizeof *swept);
    if (!swept)
        return nh_fail_memory(report);
    for (int64_t i = 0; i < members && status == NH_OK; i++) {
        for (int s = 0; s < p->sweeps; s++)
            swept[s] = b->rows.swept[s * members + i];
        nh_member member = {.member = first + i,
                            .status = b->rows.failed[i] ? NH_NOT_FINITE : NH_OK};
        j->done.failed += b->rows.failed[i] != 0;
        if (!j->options.refer)
            status = nh_archive_member(j->archive, &member, swept, report);
    }
    free(swept);
    return status;
}

static nh_status check_counts(const nh_part *p, const block *b, int64_t first, int64_t members,
                              nh_report *report)
{
    for (int64_t i = 0; i < members; i++)
        if (b->rows.count[i] != p->records)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s is not complete: member %lld has %lld of %lld records; resume it, "
                           "or compute this part again",
                           p->path, (long long)(first + i), (long long)b->rows.count[i],
                           (long long)p->records);
    return NH_OK;
}

static nh_status copy_some(joining *j, const nh_part *p, block *b, int64_t at, int64_t members,
                           nh_report *report)
{
    int64_t first = p->first + at;
    nh_status status = nh_part_read(p, at, members, !j->options.refer, &b->rows, report);
    if (status == NH_OK)
        status = check_counts(p, b, first, members, report);
    if (status != NH_OK)
        return status;
    gather(j, b, (size_t)members);
    nh_rows rows = {.first_member = first,
                    .members = (int)members,
                    .records = (int)p->records,
                    .columns = p->columns,
                    .value = b->mixed,
                    .q = b->rows.q,
                    .v = b->rows.v,
                    .multipliers = b->rows.multipliers};
    if (!j->options.refer)
        status = nh_archive_rows(j->archive, &rows, report);
    return status == NH_OK ? write_outcomes(j, p, b, first, members, report) : status;
}

static nh_status copy_all(joining *j, nh_report *report)
{
    block b = {0};
    nh_status status = make_block(j, &b) ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < j->count && status == NH_OK; i++) {
        const nh_part *p = j->part + i;
        for (int64_t at = 0; at < p->members && status == NH_OK; at += b.members) {
            int64_t left = p->members - at, members = left < b.members ? left : b.members;
            status = copy_some(j, p, &b, at, members, report);
            j->done.members += members;
            if (status == NH_OK && j->options.progress &&
                j->options.progress(j->options.user, j->done.members, j->members) != 0)
                status = nh_fail(report, NH_CALLBACK_STOPPED, "stopped");
        }
    }
    free_block(&b);
    return status;
}

static nh_status write_statistics(joining *j, nh_report *report)
{
    size_t cells = (size_t)j->part->records * (size_t)j->part->columns;
    nh_statistic *table = calloc(cells, sizeof *table);
    for (size_t i = 0; table && i < cells; i++)
        table[i] = nh_statistic_of(j->sum[i]);
    nh_status status =
        table ? nh_archive_statistics(j->archive, table, report) : nh_fail_memory(report);
    free(table);
    return status;
}

/* ---- the whole ---- */

static nh_status join(joining *j, const char *path, const char *const *parts, int count,
                      nh_report *report)
{
    nh_status status = open_parts(j, parts, count, report);
    if (status == NH_OK)
        status = check_identities(j, report);
    if (status == NH_OK)
        status = check_complete(j, report);
    if (status == NH_OK)
        status = check_members(j, report);
    if (status == NH_OK)
        status = build_system(j, report);
    size_t cells = status == NH_OK ? (size_t)j->part->records * (size_t)j->part->columns : 0;
    if (status == NH_OK && !(j->sum = calloc(cells, sizeof *j->sum)))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = create(j, path, report);
    if (status == NH_OK)
        status = copy_all(j, report);
    if (status == NH_OK)
        status = write_statistics(j, report);
    if (status != NH_OK)
        return status;
    status = nh_archive_close(j->archive, report);
    j->archive = NULL;
    return status;
}

nh_status nh_archive_join(const char *path, const char *const *parts, int count,
                          const nh_join_options *options, nh_joined *joined, nh_report *report)
{
    joining j = {0};
    *joined = (nh_joined){0};
    nh_status status = NH_OPTIONS_TAKE(&j.options, options, nh_join_options, progress, report);
    if (status == NH_OK && count < 1)
        status = nh_fail(report, NH_BAD_ARGUMENT, "there are no parts to join");
    if (status == NH_OK)
        status = nh_archive_can_write(path, 2, report);
    if (status == NH_OK)
        status = join(&j, path, parts, count, report);
    j.done.parts = j.count;
    *joined = j.done;
    nh_archive_leave(j.archive);
    for (int i = 0; i < j.count; i++)
        nh_part_close(j.part + i);
    free(j.part);
    free(j.sum);
    nh_system_free(j.system);
    nh_model_free(j.model);
    return status;
}
