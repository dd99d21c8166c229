/* Writes rows to their places in an HDF5 file. The HDF5 library has told where the numbers of each
 * variable begin; they are stored there in C order, in the machine's own format. */
#ifdef NH_HAVE_HDF5

#include "output/file.h"
#include "output/hdf5_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the first error; after it nothing more is written. */
static void put(nh_hdf5 *file, int64_t at, const void *data, size_t size)
{
    if (!file->channel.error)
        file->channel.error = nh_write_at(file->channel.descriptor, at, data, size);
}

static nh_status conclude(const nh_hdf5 *file, nh_report *report)
{
    int error = file->channel.error;
    return error ? nh_hdf5_fail(file, "cannot write", error, report) : NH_OK;
}

static bool grow(nh_hdf5 *file, size_t size)
{
    if (size <= file->space_size)
        return true;
    double *space = realloc(file->space, size * sizeof *space);
    if (!space)
        return false;
    file->space = space;
    file->space_size = size;
    return true;
}

/* The row of a member in the file of its part. */
static int64_t row_of(const nh_hdf5 *file, int64_t member)
{
    return member - file->plan.first_member;
}

/* The records of each member are consecutive, `width` numbers each; if all records are there, so
 * are the members. */
static void put_rows(nh_hdf5 *file, int64_t place, const nh_rows *rows, int width,
                     const double *data)
{
    size_t size = (size_t)rows->records * (size_t)width * sizeof *data;
    bool all = rows->records == file->records;
    if (all)
        size *= (size_t)rows->members;
    for (int64_t i = 0; place > 0 && i < (all ? 1 : rows->members); i++) {
        int64_t record =
            (row_of(file, rows->first_member) + i) * file->records + rows->first_record;
        put(file, place + record * width * (int64_t)sizeof *data,
            (const char *)data + (size_t)i * size, size);
    }
}

static void put_columns(nh_hdf5 *file, const nh_rows *rows)
{
    size_t count = (size_t)rows->members * (size_t)rows->records, columns = (size_t)rows->columns;
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < count; i++)
            file->space[i] = rows->value[i * columns + c];
        put_rows(file, file->column[c], rows, 1, file->space);
    }
}

/* Writes how many records there are: after the records themselves, for those who read the file
 * meanwhile. */
static void put_counts(nh_hdf5 *file, const nh_rows *rows)
{
    int64_t *count = (int64_t *)file->space;
    for (int64_t i = 0; i < rows->members; i++)
        count[i] = rows->first_record + rows->records;
    put(file, file->count + row_of(file, rows->first_member) * (int64_t)sizeof *count, count,
        (size_t)rows->members * sizeof *count);
}

nh_status nh_hdf5_rows(nh_hdf5 *file, const nh_rows *rows, nh_report *report)
{
    const nh_system *s = file->plan.system;
    if (!grow(file, (size_t)rows->members * (size_t)rows->records))
        return nh_fail_memory(report);
    put_rows(file, file->q, rows, nh_system_coordinates(s), rows->q);
    put_rows(file, file->v, rows, nh_system_velocities(s), rows->v);
    put_rows(file, file->multiplier, rows, nh_system_constraints(s), rows->multipliers);
    put_columns(file, rows);
    put_counts(file, rows);
    return conclude(file, report);
}

nh_status nh_hdf5_member(nh_hdf5 *file, const nh_member *member, const double *swept,
                         nh_report *report)
{
    signed char failed = member->status != NH_OK;
    int64_t row = row_of(file, member->member);
    if (failed) /* the file was created with 0; a member that failed will fail again */
        put(file, file->failed + row, &failed, sizeof failed);
    for (int i = 0; i < file->plan.swept; i++)
        put(file, file->swept[i] + row * (int64_t)sizeof *swept, swept + i, sizeof *swept);
    return conclude(file, report);
}

nh_status nh_hdf5_read(nh_hdf5 *file, int64_t record, void *data, size_t room, size_t *size,
                       nh_report *report)
{
    const nh_system *s = file->plan.system;
    const struct {
        int64_t place;
        int width;
    } part[] = {{file->v, nh_system_velocities(s)}, {file->q, nh_system_coordinates(s)}};
    *size = 0;
    for (int i = 0; i < 2 && part[i].place > 0 && !file->channel.error; i++) {
        size_t bytes = (size_t)part[i].width * sizeof(double), got = 0;
        bytes = bytes < room - *size ? bytes : room - *size;
        int64_t at = part[i].place + record * part[i].width * (int64_t)sizeof(double);
        file->channel.error =
            nh_read_at(file->channel.descriptor, at, (char *)data + *size, bytes, &got);
        *size += got;
    }
    int error = file->channel.error;
    return error ? nh_hdf5_fail(file, "cannot read again", error, report) : NH_OK;
}

nh_status nh_hdf5_read_row(nh_hdf5 *file, int64_t member, int64_t record, double *value, double *q,
                           double *v, double *multipliers, nh_report *report)
{
    const nh_system *s = file->plan.system;
    const int64_t row = row_of(file, member) * file->records + record;
    const struct {
        int64_t place;
        int width;
        double *to;
    } part[] = {{file->q, nh_system_coordinates(s), q},
                {file->v, nh_system_velocities(s), v},
                {file->multiplier, nh_system_constraints(s), multipliers}};
    const int parts = 3, columns = file->plan.columns;
    for (int i = 0; i < parts + columns && !file->channel.error; i++) {
        const bool column = i >= parts;
        const int width = column ? 1 : part[i].width;
        const int64_t place = column ? file->column[i - parts] : part[i].place;
        size_t size = (size_t)width * sizeof(double), got = size;
        if (place > 0)
            file->channel.error =
                nh_read_at(file->channel.descriptor, place + row * (int64_t)size,
                           (char *)(column ? value + i - parts : part[i].to), size, &got);
        if (!file->channel.error && got < size)
            file->channel.error = ENODATA;
    }
    int error = file->channel.error;
    return error ? nh_hdf5_fail(file, "cannot read again", error, report) : NH_OK;
}

static void put_statistic(nh_hdf5 *file, const nh_statistic *statistic, int column)
{
    size_t records = (size_t)file->records;
    for (size_t r = 0; r < records; r++) {
        nh_statistic s = statistic[r * (size_t)file->plan.columns + (size_t)column];
        double value[] = {s.mean, s.variance, s.least, s.greatest};
        for (size_t m = 0; m < NH_HDF5_MEASURES; m++)
            file->space[m * records + r] = value[m];
    }
    for (size_t m = 0; m < NH_HDF5_MEASURES; m++)
        put(file, file->statistic[(size_t)column * NH_HDF5_MEASURES + m], file->space + m * records,
            records * sizeof *file->space);
}

nh_status nh_hdf5_statistics(nh_hdf5 *file, const nh_statistic *statistic, nh_report *report)
{
    if (!grow(file, NH_HDF5_MEASURES * (size_t)file->records))
        return nh_fail_memory(report);
    for (int c = 0; c < file->plan.columns; c++)
        put_statistic(file, statistic, c);
    return conclude(file, report);
}

/* ---- copying a trajectory that ended early ---- */

enum { ROOM = 1 << 16 }; /* numbers at once */

static void copy_numbers(nh_hdf5 *to, const nh_hdf5 *from, int64_t there, int64_t here,
                         int64_t numbers)
{
    for (int64_t i = 0; there > 0 && i < numbers && !to->channel.error; i += ROOM) {
        size_t size = (size_t)(numbers - i < ROOM ? numbers - i : ROOM) * sizeof *to->space,
               got = 0;
        int64_t at = i * (int64_t)sizeof *to->space;
        int error = nh_read_at(from->channel.descriptor, here + at, to->space, size, &got);
        to->channel.error = error ? error : got < size ? ENODATA : 0;
        put(to, there + at, to->space, size);
    }
}

nh_status nh_hdf5_copy(nh_hdf5 *to, const nh_hdf5 *from, int64_t records, nh_report *report)
{
    const nh_system *s = to->plan.system;
    if (!grow(to, ROOM))
        return nh_fail_memory(report);
    copy_numbers(to, from, to->q, from->q, records * nh_system_coordinates(s));
    copy_numbers(to, from, to->v, from->v, records * nh_system_velocities(s));
    copy_numbers(to, from, to->multiplier, from->multiplier, records * nh_system_constraints(s));
    for (int c = 0; c < to->plan.columns; c++)
        copy_numbers(to, from, to->column[c], from->column[c], records);
    put(to, to->count, &records, sizeof records);
    return conclude(to, report);
}

#endif
