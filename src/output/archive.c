/* Trajectory files that are written while the trajectories are computed: HDF5, or a table of one
 * trajectory as text (.csv), as a NumPy array with named fields (.npy) or as named arrays (.npz).
 * */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/option_struct.h"
#include "base/text.h"
#include "output/archive.h"
#include "output/file.h"
#include "output/npz.h"

typedef enum format { HDF5, NETCDF, CSV, NPY, NPZ } format;
static const char *const endings[] = {".h5", ".nc", ".csv", ".npy", ".npz", NULL};

enum { BLOCK_NUMBERS = 1 << 16 };

struct nh_archive {
    nh_archive_plan plan;
    format format;
    int64_t planned; /* records */
    int n, k, m, columns;
    int64_t rows; /* of a single trajectory */
    double last_time;
    nh_lock *lock;
    nh_file *file; /* the table; or the rows from which .npz is made at the end */
    char *path;
    double *row;
    size_t header; /* bytes of .npy before the numbers */
    nh_hdf5 *hdf5;
    int buffered, room; /* rows for HDF5 */
    double *q, *v, *value, *multiplier;
    const char **column, **swept; /* copies of the plan's lists, which the caller need not keep */
};

static bool is_hdf5(format f)
{
    return f == HDF5 || f == NETCDF;
}

static nh_status find_format(const char *path, int64_t members, format *out, nh_report *report)
{
    int ending = nh_file_is_output(path) ? (int)CSV : nh_file_ending(path, endings);
    if (ending < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: data is written to files ending in .h5, .nc, .csv, .npy or .npz", path);
    *out = (format)ending;
    if (is_hdf5(*out) && !nh_hdf5_built())
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "this nonholo was built without HDF5; .csv, .npy and .npz are available");
    const nh_status loaded = is_hdf5(*out) ? nh_hdf5_built()->load(report) : NH_OK;
    if (loaded != NH_OK)
        return loaded;
    if (members > 1 && !is_hdf5(*out))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: trajectories of several members need .h5 or .nc", path);
    return NH_OK;
}

nh_status nh_archive_can_write(const char *path, int64_t members, nh_report *report)
{
    format f = CSV;
    nh_status status = find_format(path, members, &f, report);
    if (status == NH_OK && is_hdf5(f))
        status = nh_file_must_be_regular(path, "HDF5", report);
    if (status == NH_OK && f == NPZ)
        status = nh_file_must_be_regular(path, ".npz", report);
    return status == NH_OK ? nh_file_can_begin(path, report) : status;
}

/* ---- tables ---- */

static int table_columns(const nh_archive *a)
{
    return 1 + a->n + a->k + a->columns;
}

static const char *table_column(const nh_archive *a, int column)
{
    if (column == 0)
        return "t";
    if (column <= a->n)
        return nh_system_coordinate_name(a->plan.system, column - 1);
    if (column <= a->n + a->k)
        return nh_system_velocity_name(a->plan.system, column - 1 - a->n);
    return a->plan.column[column - 1 - a->n - a->k];
}

/* How many numbers a row has: only .npz has room for multipliers, which come last. */
static int row_width(const nh_archive *a)
{
    return table_columns(a) + (a->format == NPZ ? a->m : 0);
}

/* The dictionary in the header of .npy; its length does not depend on the number of rows. */
static void describe_npy(const nh_archive *a, int64_t rows, nh_text *out)
{
    bool little = *(const char *)&(const int){1};
    nh_text_add(out, "{'descr': [");
    for (int i = 0; i < table_columns(a); i++)
        nh_text_add(out, "(\"%s\", '%cf8'), ", table_column(a, i), little ? '<' : '>');
    nh_text_add(out, "], 'fortran_order': False, 'shape': (%lld,), }", (long long)rows);
}

/* Version 2.0 of the format: magic, version, length of the rest in 4 bytes, the dictionary, spaces
 * up to a multiple of 64 bytes. */
static bool make_npy_header(const nh_archive *a, int64_t rows, char **bytes, size_t *size)
{
    nh_text text = {0};
    describe_npy(a, INT64_MAX, &text); /* the longest */
    bool measured = !text.failed;
    *size = (12 + text.length + 64) / 64 * 64;
    nh_text_free(&text);
    describe_npy(a, rows, &text);
    *bytes = measured && !text.failed ? malloc(*size) : NULL;
    if (*bytes) {
        size_t length = *size - 12;
        memcpy(*bytes, "\x93NUMPY\x02\x00", 8);
        for (int i = 0; i < 4; i++)
            (*bytes)[8 + i] = (char)(length >> 8 * i & 255);
        memset(*bytes + 12, ' ', length);
        memcpy(*bytes + 12, text.data, text.length);
        (*bytes)[*size - 1] = '\n';
    }
    nh_text_free(&text);
    return *bytes != NULL;
}

static nh_status write_table_header(nh_archive *a, nh_report *report)
{
    if (a->format == NPZ)
        return NH_OK;
    if (a->format == CSV) {
        for (int i = 0; i < table_columns(a); i++) {
            nh_file_text(a->file, i ? "," : "");
            nh_file_column(a->file, table_column(a, i));
        }
        nh_file_write(a->file, "\n", 1);
        return NH_OK;
    }
    char *bytes;
    if (!make_npy_header(a, 0, &bytes, &a->header))
        return nh_fail_memory(report);
    nh_file_write(a->file, bytes, a->header);
    free(bytes);
    return NH_OK;
}

/* Determines how many rows an array to be continued has, from its length. */
static nh_status count_rows_before(nh_archive *a, nh_report *report)
{
    char *bytes;
    if (a->format == NPZ)
        a->rows = a->plan.position / (int64_t)sizeof(double) / row_width(a);
    if (a->format != NPY)
        return NH_OK;
    if (!make_npy_header(a, 0, &bytes, &a->header))
        return nh_fail_memory(report);
    free(bytes);
    a->rows = (a->plan.position - (int64_t)a->header) / (int64_t)sizeof(double) / table_columns(a);
    return NH_OK;
}

/* Rows that will not be continued have a name of their own: the temporary name of PATH is that of
 * the file made from them. */
static nh_status begin_rows(nh_archive *a, nh_report *report)
{
    nh_text name = {0};
    nh_text_add(&name, "%s.rows", a->path);
    nh_status status =
        name.failed ? nh_fail_memory(report) : nh_file_begin(&a->file, name.data, report);
    nh_text_free(&name);
    return status;
}

/* Whether a later process may continue with what is there if this one cannot. */
static bool can_be_resumed(const nh_archive *a)
{
    return a->plan.resumable || a->plan.resume;
}

static void give_up(nh_archive *a)
{
    if (can_be_resumed(a))
        nh_file_leave(a->file);
    else
        nh_file_abandon(a->file);
}

static nh_status open_table(nh_archive *a, const char *path, nh_report *report)
{
    const nh_archive_plan *p = &a->plan;
    a->row = calloc((size_t)row_width(a), sizeof *a->row);
    if (!a->row)
        return nh_fail_memory(report);
    if (p->resume) {
        nh_status status = nh_file_resume(&a->file, path, p->position, report);
        return status == NH_OK ? count_rows_before(a, report) : status;
    }
    nh_status status = p->resumable       ? nh_file_begin_part(&a->file, path, report)
                       : a->format == NPZ ? begin_rows(a, report)
                                          : nh_file_begin(&a->file, path, report);
    return status == NH_OK ? write_table_header(a, report) : status;
}

static void write_table_row(nh_archive *a, double t, const double *q, const double *v,
                            const double *values, const double *multipliers)
{
    double *row = a->row;
    int columns = row_width(a);
    row[0] = t;
    memcpy(row + 1, q, (size_t)a->n * sizeof *row);
    memcpy(row + 1 + a->n, v, (size_t)a->k * sizeof *row);
    if (a->columns > 0)
        memcpy(row + 1 + a->n + a->k, values, (size_t)a->columns * sizeof *row);
    if (columns > table_columns(a))
        memcpy(row + table_columns(a), multipliers, (size_t)a->m * sizeof *row);
    if (a->format != CSV) {
        nh_file_write(a->file, (const char *)row, (size_t)columns * sizeof *row);
        return;
    }
    nh_file_numbers(a->file, row, columns);
}

/* ---- .npz: rows become arrays at the end ---- */

static bool is_taken(const char *name, const nh_npz_array *array, int arrays)
{
    for (int i = 0; i < arrays; i++)
        if (strcmp(array[i].name, name) == 0)
            return true;
    return false;
}

enum { FIXED_ARRAYS = 7 };

/* t, q, v, multipliers, the names along their second axes, and an array for each column. */
static int describe_arrays(const nh_archive *a, nh_npz_array *array, const char **names)
{
    const nh_system *system = a->plan.system;
    const char **coordinate = names, **velocity = names + a->n, **constraint = velocity + a->k;
    for (int i = 0; i < a->n; i++)
        coordinate[i] = nh_system_coordinate_name(system, i);
    for (int i = 0; i < a->k; i++)
        velocity[i] = nh_system_velocity_name(system, i);
    for (int i = 0; i < a->m; i++)
        constraint[i] = nh_system_constraint_name(system, i);
    nh_npz_array fixed[FIXED_ARRAYS] = {
        {.name = "t", .first = 0, .columns = 1},
        {.name = "q", .first = 1, .columns = a->n, .list = true},
        {.name = "v", .first = 1 + a->n, .columns = a->k, .list = true},
        {.name = "multipliers", .first = table_columns(a), .columns = a->m, .list = true},
        {.name = "coordinates", .label = coordinate, .labels = a->n},
        {.name = "velocities", .label = velocity, .labels = a->k},
        {.name = "constraints", .label = constraint, .labels = a->m}};
    memcpy(array, fixed, sizeof fixed);
    int count = FIXED_ARRAYS;
    for (int i = 0; i < a->columns; i++, count++) {
        const char *name = a->plan.column[i];
        snprintf(array[count].name, sizeof array[count].name, "%s%.200s",
                 is_taken(name, fixed, FIXED_ARRAYS) ? "observable_" : "", name);
        array[count].first = 1 + a->n + a->k + i;
        array[count].columns = 1;
    }
    return count;
}

static nh_status write_npz(nh_archive *a, nh_report *report)
{
    nh_npz_array *array = calloc((size_t)(FIXED_ARRAYS + a->columns), sizeof *array);
    const char **names = calloc((size_t)(a->n + a->k + a->m) + 1, sizeof *names);
    nh_status status = array && names ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK) {
        int arrays = describe_arrays(a, array, names);
        status = nh_npz_write(a->path, a->file, a->rows, row_width(a), array, arrays,
                              can_be_resumed(a), report);
    }
    free(array);
    free(names);
    if (status == NH_OK)
        nh_file_abandon(a->file); /* the rows */
    else
        give_up(a);
    return status;
}

static nh_status close_table(nh_archive *a, nh_report *report)
{
    if (a->format == NPZ)
        return write_npz(a, report);
    char *bytes = NULL;
    size_t size;
    if (a->format == NPY && make_npy_header(a, a->rows, &bytes, &size))
        nh_file_patch(a->file, 0, bytes, size);
    bool failed = a->format == NPY && !bytes;
    free(bytes);
    if (failed) {
        give_up(a);
        return nh_fail_memory(report);
    }
    if (can_be_resumed(a))
        nh_file_keep(a->file);
    return nh_file_commit(a->file, report);
}

/* ---- rows of one trajectory for HDF5 ---- */

static bool make_buffers(nh_archive *a)
{
    size_t width = (size_t)(a->n + a->k + a->m + a->columns);
    a->room = width < BLOCK_NUMBERS ? (int)(BLOCK_NUMBERS / width) : 1;
    size_t room = (size_t)a->room;
    a->q = malloc((room * (size_t)a->n + 1) * sizeof *a->q);
    a->v = malloc((room * (size_t)a->k + 1) * sizeof *a->v);
    a->value = malloc((room * (size_t)a->columns + 1) * sizeof *a->value);
    a->multiplier = malloc((room * (size_t)a->m + 1) * sizeof *a->multiplier);
    return a->q && a->v && a->value && a->multiplier;
}

static nh_status write_buffered(nh_archive *a, nh_report *report)
{
    if (a->buffered == 0)
        return NH_OK;
    nh_rows rows = {.first_record = a->rows - a->buffered,
                    .members = 1,
                    .records = a->buffered,
                    .columns = a->columns,
                    .value = a->value,
                    .q = a->q,
                    .v = a->v,
                    .multipliers = a->multiplier};
    a->buffered = 0;
    return nh_hdf5_built()->rows(a->hdf5, &rows, report);
}

/* ---- the archive ---- */

static nh_status open_file(nh_archive *a, const char *path, const nh_hdf5_sources *sources,
                           nh_report *report)
{
    if (!is_hdf5(a->format))
        return open_table(a, path, report);
    if (!make_buffers(a))
        return nh_fail_memory(report);
    a->rows = a->plan.resume ? a->plan.position : 0;
    return nh_hdf5_built()->open(&a->hdf5, path, &a->plan, a->planned, sources, report);
}

nh_status nh_archive_mark(nh_archive *a, int64_t position, uint64_t *mark, nh_report *report)
{
    char end[4096];
    *mark = 0;
    if (position <= (int64_t)a->header || a->plan.members > 1 || nh_file_is_special(a->path))
        return NH_OK;
    nh_status status = NH_OK;
    int64_t rows = position - (int64_t)a->header; /* the header changes at the end */
    size_t size = rows < (int64_t)sizeof end ? (size_t)rows : sizeof end;
    if (!is_hdf5(a->format))
        status = nh_file_read(a->file, position - (int64_t)size, end, size, report);
    else
        status = nh_hdf5_built()->read(a->hdf5, position - 1, end, sizeof end, &size, report);
    if (status == NH_OK)
        *mark = nh_hash(NH_HASH_START, end, size);
    return status;
}

/* Once the rows are known to be ours, anything after those that count is cut off. */
static nh_status recognise(nh_archive *a, nh_report *report)
{
    uint64_t mark = a->plan.mark;
    nh_status status = mark ? nh_archive_mark(a, a->plan.position, &mark, report) : NH_OK;
    if (status == NH_OK && mark != a->plan.mark)
        status = nh_fail(report, NH_FILE_FAILED,
                         "cannot resume %s: its last rows are not those of the checkpoint; another "
                         "run may have written the file since then",
                         a->path);
    return status == NH_OK && a->file ? nh_file_cut(a->file, report) : status;
}

static bool copy_list(const char ***out, const char *const *list, int count)
{
    *out = calloc((size_t)count + 1, sizeof **out);
    for (int i = 0; *out && i < count; i++)
        (*out)[i] = list[i];
    return *out != NULL;
}

static void release(nh_archive *a)
{
    free(a->column);
    free(a->swept);
    free(a->row);
    free(a->path);
    free(a->q);
    free(a->v);
    free(a->value);
    free(a->multiplier);
    nh_lock_release(a->lock);
    free(a);
}

nh_status nh_archive_create(nh_archive **out, const char *path, const nh_archive_plan *plan,
                            nh_report *report)
{
    return nh_archive_create_over(out, path, plan, NULL, report);
}

nh_status nh_archive_create_over(nh_archive **out, const char *path, const nh_archive_plan *plan,
                                 const nh_hdf5_sources *sources, nh_report *report)
{
    *out = NULL;
    format f = CSV;
    nh_archive_plan own;
    nh_status status = NH_OPTIONS_TAKE(&own, plan, nh_archive_plan, resume, report);
    if (status == NH_OK)
        status = find_format(path, own.members, &f, report);
    plan = &own;
    if (status != NH_OK)
        return status;
    if (plan->every < 1 || plan->steps < 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "a record every %lld of %lld steps",
                       (long long)plan->every, (long long)plan->steps);
    nh_archive *a = calloc(1, sizeof *a);
    if (!a)
        return nh_fail_memory(report);
    a->plan = *plan;
    a->format = f;
    a->planned = plan->steps / plan->every + 1 + (plan->steps % plan->every != 0);
    a->n = nh_system_coordinates(plan->system);
    a->k = nh_system_velocities(plan->system);
    a->m = plan->multipliers ? nh_system_constraints(plan->system) : 0;
    a->columns = plan->columns;
    a->last_time = plan->t0;
    status = copy_list(&a->column, plan->column, plan->columns) &&
                     copy_list(&a->swept, plan->swept_name, plan->swept)
                 ? NH_OK
                 : nh_fail_memory(report);
    a->plan.column = a->column;
    a->plan.swept_name = a->swept;
    a->path = strdup(path);
    if (status == NH_OK && !a->path)
        status = nh_fail_memory(report);
    if (status == NH_OK && !plan->shared)
        status = nh_lock_take(&a->lock, path, report);
    if (status == NH_OK)
        status = open_file(a, path, sources, report);
    if (status == NH_OK && plan->resume)
        status = recognise(a, report);
    if (status != NH_OK) {
        give_up(a);
        release(a);
        return status;
    }
    *out = a;
    return NH_OK;
}

nh_status nh_archive_row(nh_archive *a, double t, const double *q, const double *v,
                         const double *values, const double *multipliers, nh_report *report)
{
    a->rows++;
    a->last_time = t;
    if (!is_hdf5(a->format)) {
        write_table_row(a, t, q, v, values, multipliers);
        return NH_OK;
    }
    size_t at = (size_t)a->buffered++;
    memcpy(a->q + at * (size_t)a->n, q, (size_t)a->n * sizeof *q);
    memcpy(a->v + at * (size_t)a->k, v, (size_t)a->k * sizeof *v);
    if (a->columns > 0)
        memcpy(a->value + at * (size_t)a->columns, values, (size_t)a->columns * sizeof *values);
    if (a->m > 0)
        memcpy(a->multiplier + at * (size_t)a->m, multipliers, (size_t)a->m * sizeof *multipliers);
    return a->buffered == a->room ? write_buffered(a, report) : NH_OK;
}

nh_status nh_archive_rows(nh_archive *a, const nh_rows *rows, nh_report *report)
{
    return nh_hdf5_built()->rows(a->hdf5, rows, report);
}

static void write_table_rows(nh_archive *a, const double *table, int64_t rows)
{
    int width = row_width(a);
    if (a->format != CSV)
        nh_file_write(a->file, (const char *)table, (size_t)(rows * width) * sizeof *table);
    for (int64_t i = 0; i < rows && a->format == CSV; i++)
        nh_file_numbers(a->file, table + i * width, width);
}

nh_status nh_archive_trace(nh_archive *a, const double *table, int64_t rows, nh_report *report)
{
    if (a->columns > 0 || a->m > 0 || a->plan.members > 1)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "this file needs more values per row than the state of one trajectory");
    nh_status status = NH_OK;
    int width = 1 + a->n + a->k;
    if (is_hdf5(a->format)) {
        for (int64_t i = 0; i < rows && status == NH_OK; i++) {
            const double *row = table + i * width;
            status = nh_archive_row(a, row[0], row + 1, row + 1 + a->n, NULL, NULL, report);
        }
        return status;
    }
    write_table_rows(a, table, rows);
    a->rows += rows;
    if (rows > 0)
        a->last_time = table[(rows - 1) * width];
    return NH_OK;
}

nh_status nh_archive_member(nh_archive *a, const nh_member *member, const double *swept,
                            nh_report *report)
{
    return a->hdf5 ? nh_hdf5_built()->member(a->hdf5, member, swept, report) : NH_OK;
}

nh_status nh_archive_read(nh_archive *a, int64_t member, int64_t record, double *value, double *q,
                          double *v, double *multipliers, nh_report *report)
{
    return nh_hdf5_built()->read_row(a->hdf5, member, record, value, q, v, multipliers, report);
}

nh_status nh_archive_statistics(nh_archive *a, const nh_statistic *statistic, nh_report *report)
{
    return a->hdf5 ? nh_hdf5_built()->statistics(a->hdf5, statistic, report) : NH_OK;
}

/* For a table the position is its length; for HDF5 it is the number of rows. */
nh_status nh_archive_flush(nh_archive *a, int64_t *position, nh_report *report)
{
    if (!is_hdf5(a->format))
        return nh_file_flush(a->file, position, report);
    nh_status status = write_buffered(a, report);
    *position = a->rows;
    return status == NH_OK ? nh_hdf5_built()->flush(a->hdf5, report) : status;
}

nh_status nh_archive_close(nh_archive *a, nh_report *report)
{
    nh_status status = NH_OK;
    bool single = a->plan.members <= 1 && !a->plan.statistics; /* not an ensemble of one */
    if (is_hdf5(a->format)) {
        status = write_buffered(a, report);
        int64_t steps = llround((a->last_time - a->plan.t0) / a->plan.step);
        int64_t used = single && a->rows < a->planned ? a->rows : a->planned;
        nh_report second;
        nh_status closed =
            nh_hdf5_built()->close(a->hdf5, used, steps, status == NH_OK ? report : &second);
        status = status == NH_OK ? closed : status;
    } else
        status = close_table(a, report);
    release(a);
    return status;
}

void nh_archive_leave(nh_archive *a)
{
    if (!a)
        return;
    nh_report ignored;
    if (is_hdf5(a->format)) {
        if (can_be_resumed(a))
            write_buffered(a, &ignored);
        nh_hdf5_built()->leave(a->hdf5, can_be_resumed(a));
    } else
        give_up(a);
    release(a);
}
