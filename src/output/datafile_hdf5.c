/* Reads tables from HDF5 files of trajectories: one member of an archive. */
#include "output/datafile.h"

#ifdef NH_HAVE_HDF5

#include "output/hdf5_driver.h"
#include "output/hdf5_parts.h"
#include "output/hdf5_read.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    nh_datafile *table;
    hid_t file;
    int64_t member;
    bool failed, out_of_memory;
} reader;

/* [members][rows] or [members][rows][width]: the rows of one member, column by column. */
static bool read_member(const reader *r, const char *name, const hsize_t *shape, int axes,
                        double **to)
{
    const hsize_t rows = shape[1], width = axes > 2 ? shape[2] : 1;
    const hsize_t from[3] = {(hsize_t)r->member, 0, 0}, count[3] = {1, rows, width};
    double *block = malloc((size_t)(rows * width + 1) * sizeof *block);
    const bool good =
        block && nh_hdf5_read_block(r->file, name, H5T_NATIVE_DOUBLE, axes, from, count, block);
    for (hsize_t i = 0; good && i < rows; i++)
        for (hsize_t c = 0; c < width; c++)
            to[c][i] = block[i * width + c];
    free(block);
    return good;
}

/* The names of the columns of q or v. */
static void rename_columns(reader *r, const char *list, int first, int count)
{
    nh_datafile *t = r->table;
    const hsize_t from = 0, all = (hsize_t)count;
    hsize_t shape[3];
    if (nh_hdf5_size_of(r->file, list, shape) != 1 || shape[0] != all)
        return;
    hid_t type = nh_hdf5_text_type();
    char **text = calloc((size_t)count + 1, sizeof *text);
    r->out_of_memory |= !text;
    r->failed |= text && !nh_hdf5_read_block(r->file, list, type, 1, &from, &all, text);
    for (int i = 0; text && i < count; i++) {
        char *copy = text[i] ? nh_arena_text(&t->arena, text[i], strlen(text[i])) : NULL;
        r->out_of_memory |= text[i] && !copy;
        t->name[first + i] = copy ? copy : t->name[first + i];
        H5free_memory(text[i]);
    }
    free(text);
    nh_hdf5_drop(type);
}

static void read_variable(reader *r, const char *name)
{
    nh_datafile *t = r->table;
    hsize_t shape[3];
    const int axes = nh_hdf5_size_of(r->file, name, shape), first = t->columns;
    const bool ours = axes >= 2 && shape[1] == (hsize_t)t->rows && r->member < (int64_t)shape[0] &&
                      strcmp(name, "multiplier") != 0;
    const hsize_t width = axes > 2 ? shape[2] : 1;
    for (hsize_t c = 0; ours && c < width && !r->failed; c++)
        r->failed = !nh_datafile_add(t, name, strlen(name), t->rows);
    if (ours && !r->failed)
        r->failed = !read_member(r, name, shape, axes, t->column + first);
    if (ours && !r->failed && axes > 2)
        rename_columns(r, strcmp(name, "q") == 0 ? "coordinate" : "velocity", first, (int)width);
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

/* The times and the number of members. */
static bool read_axes(reader *r)
{
    nh_datafile *t = r->table;
    const hsize_t from = 0;
    hsize_t times[3], members[3];
    double *column = nh_hdf5_size_of(r->file, "time", times) == 1
                         ? nh_datafile_add(t, "t", 1, (int64_t)times[0])
                         : NULL;
    if (column && nh_hdf5_size_of(r->file, "member", members) == 1)
        t->members = (int64_t)members[0];
    return column &&
           nh_hdf5_read_block(r->file, "time", H5T_NATIVE_DOUBLE, 1, &from, times, column);
}

nh_status nh_datafile_read_hdf5(nh_datafile *t, int64_t member, nh_report *report)
{
    const nh_status loaded = nh_hdf5_load(report);
    if (loaded != NH_OK)
        return loaded;
    nh_hdf5_channel channel;
    nh_hdf5_silence quiet;
    nh_hdf5_enter(&quiet);
    reader r = {.table = t, .file = nh_hdf5_open_named(&channel, t->path), .member = member};
    bool good = r.file >= 0 && read_axes(&r);
    bool exists = member >= 0 && member < t->members;
    if (good && exists) {
        read_variable(&r, "q");
        read_variable(&r, "v");
        H5Literate(r.file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, &r);
    }
    if (r.file >= 0)
        H5Fclose(r.file);
    nh_hdf5_exit(&quiet);
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
