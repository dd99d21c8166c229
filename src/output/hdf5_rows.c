/* Writes rows to their positions in an HDF5 file. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5_parts.h"

#include <stdlib.h>
#include <string.h>

/* Writes (or reads) a box of a dataset; the memory holds just the box. */
static bool move_box(hid_t set, hid_t type, int rank, const hsize_t *from, const hsize_t *size,
                     void *data, bool reading)
{
    hid_t all = H5Dget_space(set), box = H5Screate_simple(rank, size, NULL);
    bool done = all >= 0 && box >= 0 &&
                H5Sselect_hyperslab(all, H5S_SELECT_SET, from, NULL, size, NULL) >= 0 &&
                (reading ? H5Dread(set, type, box, all, H5P_DEFAULT, data)
                         : H5Dwrite(set, type, box, all, H5P_DEFAULT, data)) >= 0;
    if (all >= 0)
        H5Sclose(all);
    if (box >= 0)
        H5Sclose(box);
    return done;
}

static bool put_vectors(hid_t set, const nh_rows *rows, int width, const double *data)
{
    hsize_t from[] = {(hsize_t)rows->first_member, (hsize_t)rows->first_record, 0};
    hsize_t size[] = {(hsize_t)rows->members, (hsize_t)rows->records, (hsize_t)width};
    return set < 0 || move_box(set, H5T_NATIVE_DOUBLE, 3, from, size, (void *)data, false);
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

static bool put_columns(nh_hdf5 *file, const nh_rows *rows)
{
    size_t count = (size_t)rows->members * (size_t)rows->records;
    hsize_t from[] = {(hsize_t)rows->first_member, (hsize_t)rows->first_record};
    hsize_t size[] = {(hsize_t)rows->members, (hsize_t)rows->records};
    bool done = grow(file, count);
    for (int c = 0; done && c < rows->columns; c++) {
        for (size_t i = 0; i < count; i++)
            file->space[i] = rows->value[i * (size_t)rows->columns + (size_t)c];
        done = move_box(file->column[c], H5T_NATIVE_DOUBLE, 2, from, size, file->space, false);
    }
    return done;
}

static bool put_counts(nh_hdf5 *file, const nh_rows *rows)
{
    int64_t count = rows->first_record + rows->records;
    bool done = true;
    for (int i = 0; done && i < rows->members; i++) {
        hsize_t from = (hsize_t)(rows->first_member + i), one = 1;
        done = move_box(file->count, H5T_NATIVE_INT64, 1, &from, &one, &count, false);
    }
    return done;
}

nh_status nh_hdf5_rows(nh_hdf5 *file, const nh_rows *rows, nh_report *report)
{
    const nh_system *s = file->plan.system;
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    bool done = put_vectors(file->q, rows, nh_system_coordinates(s), rows->q) &&
                put_vectors(file->v, rows, nh_system_velocities(s), rows->v) &&
                put_vectors(file->multiplier, rows, nh_system_constraints(s), rows->multipliers) &&
                put_columns(file, rows) && put_counts(file, rows) &&
                H5Fflush(file->file, H5F_SCOPE_LOCAL) >= 0; /* to the system, which outlives us */
    nh_status status = done ? NH_OK : nh_hdf5_fail(file, "cannot write", report);
    nh_hdf5_unhush(&silence);
    return status;
}

nh_status nh_hdf5_member(nh_hdf5 *file, const nh_member *member, const double *swept,
                         nh_report *report)
{
    signed char failed = member->status != NH_OK;
    hsize_t from = (hsize_t)member->member, one = 1;
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    bool done = move_box(file->failed, H5T_NATIVE_INT8, 1, &from, &one, &failed, false);
    for (int i = 0; done && i < file->plan.swept; i++)
        done =
            move_box(file->swept[i], H5T_NATIVE_DOUBLE, 1, &from, &one, (void *)(swept + i), false);
    nh_status status = done ? NH_OK : nh_hdf5_fail(file, "cannot write", report);
    nh_hdf5_unhush(&silence);
    return status;
}

static bool put_statistic(nh_hdf5 *file, const nh_ensemble *e, int column)
{
    size_t records = (size_t)file->records;
    hsize_t from = 0, size = (hsize_t)records;
    if (!grow(file, NH_HDF5_MEASURES * records))
        return false;
    for (size_t r = 0; r < records; r++) {
        nh_statistic s = nh_ensemble_statistic(e, (int64_t)r, column);
        double value[] = {s.mean, s.variance, s.least, s.greatest};
        for (size_t m = 0; m < NH_HDF5_MEASURES; m++)
            file->space[m * records + r] = value[m];
    }
    bool done = true;
    for (size_t m = 0; done && m < NH_HDF5_MEASURES; m++)
        done = move_box(file->statistic[(size_t)column * NH_HDF5_MEASURES + m], H5T_NATIVE_DOUBLE,
                        1, &from, &size, file->space + m * records, false);
    return done;
}

nh_status nh_hdf5_statistics(nh_hdf5 *file, const nh_ensemble *e, nh_report *report)
{
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    bool done = true;
    for (int c = 0; done && c < file->plan.columns; c++)
        done = put_statistic(file, e, c);
    nh_status status = done ? NH_OK : nh_hdf5_fail(file, "cannot write", report);
    nh_hdf5_unhush(&silence);
    return status;
}

/* ---- copying a trajectory that ended early ---- */

static bool copy_set(hid_t to, hid_t from, int rank, hsize_t width, int64_t records, double *space,
                     int64_t room)
{
    bool done = true;
    for (int64_t r = 0; done && to >= 0 && r < records; r += room) {
        int64_t count = records - r < room ? records - r : room;
        hsize_t at[] = {0, (hsize_t)r, 0}, size[] = {1, (hsize_t)count, width};
        done = move_box(from, H5T_NATIVE_DOUBLE, rank, at, size, space, true) &&
               move_box(to, H5T_NATIVE_DOUBLE, rank, at, size, space, false);
    }
    return done;
}

nh_status nh_hdf5_copy(nh_hdf5 *to, nh_hdf5 *from, int64_t records, nh_report *report)
{
    enum { ROOM = 4096 };
    const nh_system *s = to->plan.system;
    int n = nh_system_coordinates(s), k = nh_system_velocities(s), m = nh_system_constraints(s);
    size_t widest = (size_t)(n > k ? n : k);
    double *space = malloc(ROOM * (widest + 1) * sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    hsize_t first = 0, one = 1;
    bool done = copy_set(to->q, from->q, 3, (hsize_t)n, records, space, ROOM) &&
                copy_set(to->v, from->v, 3, (hsize_t)k, records, space, ROOM) &&
                copy_set(to->multiplier, from->multiplier, 3, (hsize_t)m, records, space, ROOM) &&
                move_box(to->count, H5T_NATIVE_INT64, 1, &first, &one, &records, false);
    for (int c = 0; done && c < to->plan.columns; c++)
        done = copy_set(to->column[c], from->column[c], 2, 1, records, space, ROOM);
    nh_status status = done ? NH_OK : nh_hdf5_fail(to, "cannot write", report);
    nh_hdf5_unhush(&silence);
    free(space);
    return status;
}

#endif
