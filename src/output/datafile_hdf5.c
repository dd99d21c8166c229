/* Reads tables from HDF5 files of trajectories: one member of an archive. */
#include "output/datafile.h"

#ifdef NH_HAVE_HDF5

#include "output/hdf5.h"
#include "output/hdf5_driver.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    nh_datafile *table;
    hid_t file;
    int64_t member;
    bool failed, out_of_memory;
} reader;

static int axes_of(hid_t data, hsize_t shape[3])
{
    hid_t space = H5Dget_space(data);
    int axes = space >= 0 && H5Sget_simple_extent_ndims(space) <= 3
                   ? H5Sget_simple_extent_dims(space, shape, NULL)
                   : -1;
    nh_hdf5_drop(space);
    return axes;
}

/* [members][rows] or [members][rows][width]: the rows of one member, column by column. */
static bool read_member(const reader *r, hid_t data, const hsize_t *shape, int axes, double **to)
{
    hsize_t rows = shape[1], width = axes > 2 ? shape[2] : 1;
    hsize_t from[3] = {(hsize_t)r->member, 0, 0}, count[3] = {1, rows, width};
    double *block = malloc((size_t)(rows * width + 1) * sizeof *block);
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(axes, count, NULL);
    bool good = block && space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, block) >= 0;
    for (hsize_t i = 0; good && i < rows; i++)
        for (hsize_t c = 0; c < width; c++)
            to[c][i] = block[i * width + c];
    nh_hdf5_drop(space);
    nh_hdf5_drop(memory);
    free(block);
    return good;
}

/* The names of the columns of q or v. */
static void rename_columns(reader *r, const char *list, int first, int count)
{
    nh_datafile *t = r->table;
    hid_t data = H5Dopen2(r->file, list, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    char **text = calloc((size_t)count + 1, sizeof *text);
    hsize_t shape[3] = {0};
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const bool named = data >= 0 && axes_of(data, shape) == 1 && shape[0] == (hsize_t)count;
    r->out_of_memory |= !text;
    r->failed |= named && text && H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
    for (int i = 0; text && i < count; i++) {
        char *copy = text[i] ? nh_arena_text(&t->arena, text[i], strlen(text[i])) : NULL;
        r->out_of_memory |= text[i] && !copy;
        t->name[first + i] = copy ? copy : t->name[first + i];
        H5free_memory(text[i]);
    }
    free(text);
    H5Tclose(type);
    nh_hdf5_drop(data);
}

static void read_variable(reader *r, const char *name)
{
    nh_datafile *t = r->table;
    hsize_t shape[3] = {0};
    hid_t data = H5Dopen2(r->file, name, H5P_DEFAULT);
    int axes = data >= 0 ? axes_of(data, shape) : -1, first = t->columns;
    bool ours = axes >= 2 && shape[1] == (hsize_t)t->rows && r->member < (int64_t)shape[0] &&
                strcmp(name, "multiplier") != 0;
    hsize_t width = axes > 2 ? shape[2] : 1;
    for (hsize_t c = 0; ours && c < width && !r->failed; c++)
        r->failed = !nh_datafile_add(t, name, strlen(name), t->rows);
    if (ours && !r->failed)
        r->failed = !read_member(r, data, shape, axes, t->column + first);
    if (ours && !r->failed && axes > 2)
        rename_columns(r, strcmp(name, "q") == 0 ? "coordinate" : "velocity", first, (int)width);
    nh_hdf5_drop(data);
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group, (void)info;
    reader *r = user;
    bool first = strcmp(name, "q") == 0 || strcmp(name, "v") == 0 || strcmp(name, "time") == 0;
    if (!first)
        read_variable(r, name);
    return r->failed ? -1 : 0;
}

static bool read_time(reader *r)
{
    nh_datafile *t = r->table;
    hsize_t shape[3] = {0};
    hid_t data = H5Dopen2(r->file, "time", H5P_DEFAULT);
    double *column = data >= 0 && axes_of(data, shape) == 1
                         ? nh_datafile_add(t, "t", 1, (int64_t)shape[0])
                         : NULL;
    bool good =
        column && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column) >= 0;
    nh_hdf5_drop(data);
    return good;
}

static void count_members(reader *r)
{
    hsize_t shape[3] = {0};
    hid_t data = H5Dopen2(r->file, "member", H5P_DEFAULT);
    if (data >= 0 && axes_of(data, shape) == 1)
        r->table->members = (int64_t)shape[0];
    nh_hdf5_drop(data);
}

nh_status nh_datafile_read_hdf5(nh_datafile *t, int64_t member, nh_report *report)
{
    H5E_auto2_t function;
    void *user;
    const nh_status loaded = nh_hdf5_load(report);
    if (loaded != NH_OK)
        return loaded;
    H5Eget_auto2(H5E_DEFAULT, &function, &user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    nh_hdf5_channel channel;
    reader r = {.table = t, .file = nh_hdf5_open_named(&channel, t->path), .member = member};
    bool good = r.file >= 0 && read_time(&r);
    if (good)
        count_members(&r);
    bool exists = member >= 0 && member < t->members;
    if (good && exists) {
        read_variable(&r, "q");
        read_variable(&r, "v");
        H5Literate(r.file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, &r);
    }
    if (r.file >= 0)
        H5Fclose(r.file);
    H5Eset_auto2(H5E_DEFAULT, function, user);
    if (channel.error)
        return nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", t->path,
                       strerror(channel.error));
    if (good && !exists)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has members 0 to %lld; there is no member %lld",
                       t->path, (long long)t->members - 1, (long long)member);
    if (t->beyond || r.out_of_memory)
        return nh_datafile_refuse(t, report);
    if (!good || r.failed)
        return nh_fail(report, NH_FILE_FAILED,
                       "%s is not an HDF5 file of trajectories written by nonholo", t->path);
    return NH_OK;
}

#else

nh_status nh_datafile_read_hdf5(nh_datafile *t, int64_t member, nh_report *report)
{
    (void)member;
    return nh_fail(report, NH_FILE_FAILED, "%s: this nonholo was built without HDF5", t->path);
}

#endif
