/* Reads a part of an ensemble: its attributes, the names and sizes of its variables, and rows. */
#include "output/part.h"

#ifdef NH_HAVE_HDF5

#include "base/decimal.h"
#include "output/hdf5_driver.h"
#include "output/hdf5_parts.h"
#include "output/hdf5_read.h"

#include <stdlib.h>
#include <string.h>

struct nh_part_file {
    hid_t id;
    nh_hdf5_channel channel;
};

/* Reports a file system error as such, and not as a bad file. */
static nh_status refuse(const nh_part *part, const char *why, nh_report *report)
{
    int error = part->file->channel.error;
    if (part->out_of_memory)
        return nh_fail_memory(report);
    if (error)
        return nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", part->path, strerror(error));
    return nh_fail(report, NH_FILE_FAILED, "%s: %s", part->path, why);
}

/* ---- attributes ---- */

static bool get(hid_t file, const char *name, hid_t type, void *value)
{
    if (H5Aexists(file, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Aread(attribute, type, value) >= 0;
    nh_hdf5_drop(attribute);
    return done;
}

/* A text, from an attribute or, if it is long, from a variable; NULL if there is none. */
static char *get_text(nh_part *part, hid_t file, const char *name)
{
    hid_t type = nh_hdf5_text_type();
    char *found = NULL, *copy = NULL;
    if (!get(file, name, type, &found) && H5Lexists(file, name, H5P_DEFAULT) > 0) {
        hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
        if (set >= 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &found) < 0)
            found = NULL;
        nh_hdf5_drop(set);
    }
    if (found) {
        copy = strdup(found);
        part->out_of_memory |= !copy;
        H5free_memory(found);
    }
    nh_hdf5_drop(type);
    return copy;
}

static bool get_head(nh_part *part, hid_t file)
{
    int64_t number = 1, all = 1;
    bool divided =
        get(file, "part", H5T_NATIVE_INT64, &number) && get(file, "parts", H5T_NATIVE_INT64, &all);
    part->part = divided ? (int)number : 1;
    part->parts = divided ? (int)all : 1;
    char *identity = get_text(part, file, "identity");
    snprintf(part->identity, sizeof part->identity, "%s", identity ? identity : "");
    free(identity);
    part->model_text = get_text(part, file, "model_text");
    part->method = get_text(part, file, "method");
    part->compose = get_text(part, file, "compose");
    part->random = get(file, "seed", H5T_NATIVE_INT64, &part->seed);
    return part->model_text && part->method && get(file, "step", H5T_NATIVE_DOUBLE, &part->step) &&
           get(file, "steps", H5T_NATIVE_INT64, &part->steps) &&
           get(file, "every", H5T_NATIVE_INT64, &part->every) && part->part >= 1 &&
           part->part <= part->parts;
}

/* Returns the code that tells HDF5 to continue or to stop. */
static herr_t add_name(nh_part *part, char ***list, int *count, const char *name)
{
    char *copy = strdup(name);
    char **more = copy ? realloc(*list, (size_t)(*count + 1) * sizeof *more) : NULL;
    if (!more) {
        part->out_of_memory = true;
        free(copy);
        return -1;
    }
    *list = more;
    more[(*count)++] = copy;
    return 0;
}

static herr_t see_attribute(hid_t file, const char *name, const H5A_info_t *info, void *user)
{
    static const char prefix[] = "parameter_";
    nh_part *part = user;
    double value;
    (void)info;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        !get(file, name, H5T_NATIVE_DOUBLE, &value))
        return 0;
    char text[512];
    nh_print(text, sizeof text, "%s=%.17g", name + sizeof prefix - 1, value);
    return add_name(part, &part->setting, &part->settings, text);
}

/* ---- variables ---- */

/* Columns are the variables over members and times; swept values those over members. */
static herr_t see_variable(hid_t file, const char *name, const H5L_info_t *info, void *user)
{
    static const char prefix[] = "swept_";
    nh_part *part = user;
    hsize_t size[3];
    (void)info;
    int rank = nh_hdf5_size_of(file, name, size);
    if (rank == 2)
        return add_name(part, &part->column, &part->columns, name);
    if (rank == 1 && strncmp(name, prefix, sizeof prefix - 1) == 0)
        return add_name(part, &part->swept, &part->sweeps, name + sizeof prefix - 1);
    return 0;
}

static int width_of(const nh_part *part, hid_t file, const char *name)
{
    hsize_t size[3];
    if (nh_hdf5_size_of(file, name, size) != 3)
        return 0;
    bool fits = size[0] == (hsize_t)part->members && size[1] == (hsize_t)part->records;
    return fits && size[2] < 1 << 20 ? (int)size[2] : -1;
}

static bool get_variables(nh_part *part, hid_t file)
{
    hsize_t members[3], records[3], from = 0, one = 1;
    char name[300];
    if (nh_hdf5_size_of(file, "member", members) != 1 ||
        nh_hdf5_size_of(file, "time", records) != 1 || members[0] < 1 || records[0] < 1)
        return false;
    part->members = (int64_t)members[0];
    part->records = (int64_t)records[0];
    if (!nh_hdf5_read_block(file, "member", H5T_NATIVE_INT64, 1, &from, &one, &part->first) ||
        !nh_hdf5_read_block(file, "time", H5T_NATIVE_DOUBLE, 1, &from, &one, &part->t0))
        return false;
    part->coordinates = width_of(part, file, "q");
    part->velocities = width_of(part, file, "v");
    part->constraints = width_of(part, file, "multiplier");
    /* The native order of creation is the order of creation. If increasing order is requested, HDF5
     * makes a list first, and when a read fails it frees what it never allocated. */
    if (H5Literate(file, H5_INDEX_CRT_ORDER, H5_ITER_NATIVE, NULL, see_variable, part) < 0 ||
        H5Aiterate2(file, H5_INDEX_CRT_ORDER, H5_ITER_NATIVE, NULL, see_attribute, part) < 0 ||
        part->columns == 0)
        return false;
    snprintf(name, sizeof name, "%.280s_mean", part->column[0]); /* a single trajectory has none */
    return H5Lexists(file, name, H5P_DEFAULT) > 0 && part->coordinates >= 0 &&
           part->velocities >= 0 && part->constraints >= 0;
}

nh_status nh_part_open(nh_part *part, const char *path, nh_report *report)
{
    *part = (nh_part){.path = path, .file = calloc(1, sizeof *part->file)};
    if (!part->file)
        return nh_fail_memory(report);
    part->file->id = -1;
    nh_status status = nh_hdf5_load(report);
    if (status != NH_OK)
        return status;
    nh_hdf5_silence quiet;
    nh_hdf5_enter(&quiet);
    part->file->id = nh_hdf5_open_named(&part->file->channel, path);
    bool opened = part->file->id >= 0;
    bool ours = opened && get_head(part, part->file->id) && get_variables(part, part->file->id);
    nh_hdf5_exit(&quiet);
    if (!opened)
        return refuse(part, "cannot be read as an HDF5 file", report);
    return ours && !part->file->channel.error && !part->out_of_memory
               ? NH_OK
               : refuse(part, "this is not an ensemble written by nonholo", report);
}

static void free_list(char **list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void nh_part_close(nh_part *part)
{
    if (part->file && part->file->id >= 0) {
        nh_hdf5_silence quiet;
        nh_hdf5_enter(&quiet);
        H5Fclose(part->file->id);
        nh_hdf5_exit(&quiet);
    }
    free(part->file);
    free(part->model_text);
    free(part->method);
    free(part->compose);
    free_list(part->setting, part->settings);
    free_list(part->column, part->columns);
    free_list(part->swept, part->sweeps);
    *part = (nh_part){0};
}

/* ---- rows ---- */

nh_status nh_part_read(const nh_part *part, int64_t first, int64_t members, bool all,
                       const nh_part_rows *rows, nh_report *report)
{
    hid_t file = part->file->id;
    hsize_t from[3] = {(hsize_t)first}, count[3] = {(hsize_t)members, (hsize_t)part->records};
    size_t table = (size_t)members * (size_t)part->records;
    const struct {
        const char *name;
        int width;
        double *data;
    } vector[] = {{"q", part->coordinates, rows->q},
                  {"v", part->velocities, rows->v},
                  {"multiplier", part->constraints, rows->multipliers}};
    nh_hdf5_silence quiet;
    nh_hdf5_enter(&quiet);
    bool done =
        nh_hdf5_read_block(file, "records", H5T_NATIVE_INT64, 1, from, count, rows->count) &&
        nh_hdf5_read_block(file, "failed", H5T_NATIVE_INT8, 1, from, count, rows->failed);
    for (int i = 0; i < 3 && done && all; i++) {
        count[2] = (hsize_t)vector[i].width;
        done = vector[i].width == 0 || nh_hdf5_read_block(file, vector[i].name, H5T_NATIVE_DOUBLE,
                                                          3, from, count, vector[i].data);
    }
    for (int c = 0; c < part->columns && done; c++)
        done = nh_hdf5_read_block(file, part->column[c], H5T_NATIVE_DOUBLE, 2, from, count,
                                  rows->value + (size_t)c * table);
    for (int i = 0; i < part->sweeps && done; i++) {
        char name[300];
        snprintf(name, sizeof name, "swept_%.280s", part->swept[i]);
        done = nh_hdf5_read_block(file, name, H5T_NATIVE_DOUBLE, 1, from, count,
                                  rows->swept + (size_t)i * (size_t)members);
    }
    nh_hdf5_exit(&quiet);
    done = done && !part->file->channel.error;
    return done ? NH_OK : refuse(part, "its rows cannot be read: the file is damaged", report);
}

#else

nh_status nh_part_open(nh_part *part, const char *path, nh_report *report)
{
    *part = (nh_part){.path = path};
    return nh_fail(report, NH_BAD_ARGUMENT, "this nonholo was built without HDF5");
}

void nh_part_close(nh_part *part)
{
    (void)part;
}

nh_status nh_part_read(const nh_part *part, int64_t first, int64_t members, bool all,
                       const nh_part_rows *rows, nh_report *report)
{
    (void)part, (void)first, (void)members, (void)all, (void)rows;
    return nh_fail(report, NH_BAD_ARGUMENT, "this nonholo was built without HDF5");
}

#endif
