/* The contents of an HDF5 file: axes, variables, attributes. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5_parts.h"

#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const measures[NH_HDF5_MEASURES] = {"mean", "variance", "min", "max"};
enum { ATTRIBUTE_MAX = 60000 }; /* HDF5's limit is 64 kB */

bool nh_hdf5_make_room(nh_hdf5 *file)
{
    size_t columns = (size_t)file->plan.columns;
    file->column = calloc(columns + 1, sizeof *file->column);
    file->statistic = calloc(NH_HDF5_MEASURES * columns + 1, sizeof *file->statistic);
    file->swept = calloc((size_t)file->plan.swept + 1, sizeof *file->swept);
    return file->column && file->statistic && file->swept;
}

/* ---- attributes ---- */

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

static bool put_attribute(hid_t where, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return done;
}

static bool put_text(hid_t where, const char *name, const char *text)
{
    hid_t type = text_type();
    bool done = put_attribute(where, name, type, &text);
    H5Tclose(type);
    return done;
}

static bool put_real(hid_t where, const char *name, double value)
{
    return put_attribute(where, name, H5T_NATIVE_DOUBLE, &value);
}

static bool put_integer(hid_t where, const char *name, int64_t value)
{
    return put_attribute(where, name, H5T_NATIVE_INT64, &value);
}

/* A text too long for an attribute is a variable. */
static bool put_long_text(nh_hdf5 *file, const char *name, const char *text)
{
    if (strlen(text) < ATTRIBUTE_MAX)
        return put_text(file->file, name, text);
    hid_t type = text_type(), space = H5Screate(H5S_SCALAR);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, false);
    hid_t set = H5Dcreate2(file->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    bool done = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
    H5Tclose(type);
    return done;
}

static bool put_parameters(const nh_hdf5 *file)
{
    const nh_system *system = file->plan.system;
    bool done = true;
    for (int i = 0; done && i < nh_system_parameters(system); i++) {
        char name[256];
        snprintf(name, sizeof name, "parameter_%.200s", nh_system_parameter_name(system, i));
        done = put_real(file->file, name, nh_system_parameter_value(system, i));
    }
    return done;
}

/* Also those that were not given: defaults may change. */
static bool put_options(const nh_hdf5 *file)
{
    nh_choice choice;
    int count;
    bool done = true;
    if (!file->plan.method || nh_choice_parse(&choice, file->plan.method, NULL) != NH_OK)
        return true;
    const nh_option *option = nh_method_options(choice.method, &count);
    for (int i = 0; done && i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "method_%.200s", option[i].name);
        done = put_real(file->file, name, choice.option[i]);
    }
    return done;
}

bool nh_hdf5_describe(nh_hdf5 *file)
{
    const nh_archive_plan *p = &file->plan;
    char source[512];
    snprintf(source, sizeof source, "nonholo %s", nh_version());
    return put_text(file->file, "source", source) &&
           put_text(file->file, "build", nh_version_parts()) &&
           put_text(file->file, "model", nh_system_name(p->system)) &&
           put_text(file->file, "method", p->method ? p->method : "") && put_options(file) &&
           (!p->compose || put_text(file->file, "compose", p->compose)) &&
           put_real(file->file, "step", p->step) && put_integer(file->file, "steps", p->steps) &&
           put_integer(file->file, "every", p->every) &&
           (!p->random || put_integer(file->file, "seed", (int64_t)p->seed)) &&
           put_parameters(file) &&
           (!p->model_text || put_long_text(file, "model_text", p->model_text));
}

/* ---- axes ---- */

/* Early allocation, contiguous, no times: the metadata never change again. */
static hid_t creation_of(bool reals)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    double none = NAN;
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC);
    H5Pset_obj_track_times(creation, false);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (reals)
        H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &none);
    return creation;
}

static hid_t make_set(const nh_hdf5 *file, const char *name, hid_t type, int rank,
                      const hsize_t *size)
{
    bool reals = H5Tequal(type, H5T_NATIVE_DOUBLE) > 0;
    hid_t space = rank ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
    hid_t creation = creation_of(reals);
    hid_t set = H5Dcreate2(file->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return set;
}

/* An axis with its labels. */
static bool make_axis(const nh_hdf5 *file, const char *name, hid_t type, int64_t size,
                      const void *label)
{
    hsize_t count = (hsize_t)size;
    hid_t set = make_set(file, name, type, 1, &count);
    bool done = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, label) >= 0 &&
                H5DSset_scale(set, name) >= 0;
    if (set >= 0)
        H5Dclose(set);
    return done;
}

typedef const char *name_fn(const nh_system *system, int index);

static bool make_names(const nh_hdf5 *file, const char *axis, int count, name_fn *name)
{
    if (count == 0)
        return true;
    const char **label = calloc((size_t)count, sizeof *label);
    hid_t type = text_type();
    for (int i = 0; label && i < count; i++)
        label[i] = name(file->plan.system, i);
    bool done = label && make_axis(file, axis, type, count, label);
    H5Tclose(type);
    free(label);
    return done;
}

static bool make_times(const nh_hdf5 *file)
{
    const nh_archive_plan *p = &file->plan;
    double *time = malloc(((size_t)file->records + 1) * sizeof *time);
    for (int64_t r = 0; time && r < file->records; r++) {
        int64_t step = r * p->every < p->steps ? r * p->every : p->steps;
        time[r] = p->t0 + (double)step * p->step;
    }
    bool done = time && make_axis(file, "time", H5T_NATIVE_DOUBLE, file->records, time);
    free(time);
    return done;
}

static bool make_members(const nh_hdf5 *file)
{
    int64_t *member = malloc(((size_t)file->members + 1) * sizeof *member);
    for (int64_t i = 0; member && i < file->members; i++)
        member[i] = i;
    bool done = member && make_axis(file, "member", H5T_NATIVE_INT64, file->members, member);
    free(member);
    return done;
}

bool nh_hdf5_make_axes(nh_hdf5 *file)
{
    const nh_system *s = file->plan.system;
    return make_members(file) && make_times(file) &&
           make_names(file, "coordinate", nh_system_coordinates(s), nh_system_coordinate_name) &&
           make_names(file, "velocity", nh_system_velocities(s), nh_system_velocity_name) &&
           make_names(file, "constraint", nh_system_constraints(s), nh_system_constraint_name);
}

/* ---- variables ---- */

/* A variable over the named axes, NULL at the end. */
static hid_t make_variable(const nh_hdf5 *file, const char *name, hid_t type,
                           const char *const *axis, const hsize_t *size)
{
    int rank = 0;
    while (axis[rank])
        rank++;
    hid_t set = make_set(file, name, type, rank, size);
    for (int i = 0; set >= 0 && i < rank; i++) {
        hid_t scale = H5Dopen2(file->file, axis[i], H5P_DEFAULT);
        bool attached = scale >= 0 && H5DSattach_scale(set, scale, (unsigned)i) >= 0;
        if (scale >= 0)
            H5Dclose(scale);
        if (!attached) {
            H5Dclose(set);
            return -1;
        }
    }
    return set;
}

/* Names of columns that are names of something else here. */
static void name_of_column(const nh_hdf5 *file, int column, char *name, size_t size)
{
    static const char *const taken[] = {"member",     "time",   "coordinate", "velocity",
                                        "constraint", "q",      "v",          "multiplier",
                                        "records",    "failed", "model_text", NULL};
    const char *own = file->plan.column[column], *prefix = "";
    for (int i = 0; taken[i]; i++)
        if (strcmp(own, taken[i]) == 0 && strcmp(own, "constraint") != 0)
            prefix = "observable_";
    if (strcmp(own, "constraint") == 0)
        own = "constraint_residual"; /* what ensembles call the largest |k| */
    snprintf(name, size, "%s%.200s", prefix, own);
}

static bool make_columns(nh_hdf5 *file)
{
    static const char *const axes[] = {"member", "time", NULL};
    static const char *const time[] = {"time", NULL};
    hsize_t size[] = {(hsize_t)file->members, (hsize_t)file->records};
    for (int c = 0; c < file->plan.columns; c++) {
        char name[256], of[300];
        name_of_column(file, c, name, sizeof name);
        file->column[c] = make_variable(file, name, H5T_NATIVE_DOUBLE, axes, size);
        if (file->column[c] < 0)
            return false;
        for (int m = 0; file->plan.statistics && m < NH_HDF5_MEASURES; m++) {
            snprintf(of, sizeof of, "%s_%s", name, measures[m]);
            hid_t set = make_variable(file, of, H5T_NATIVE_DOUBLE, time, size + 1);
            file->statistic[c * NH_HDF5_MEASURES + m] = set;
            if (set < 0)
                return false;
        }
    }
    return true;
}

static bool make_member_variables(nh_hdf5 *file)
{
    static const char *const axes[] = {"member", NULL};
    hsize_t size = (hsize_t)file->members;
    file->count = make_variable(file, "records", H5T_NATIVE_INT64, axes, &size);
    file->failed = make_variable(file, "failed", H5T_NATIVE_INT8, axes, &size);
    bool done = file->count >= 0 && file->failed >= 0;
    for (int i = 0; done && i < file->plan.swept; i++) {
        char name[256];
        snprintf(name, sizeof name, "swept_%.200s", file->plan.swept_name[i]);
        file->swept[i] = make_variable(file, name, H5T_NATIVE_DOUBLE, axes, &size);
        done = file->swept[i] >= 0;
    }
    return done && put_text(file->count, "long_name",
                            "how many records of the member were written; the rest is NaN");
}

bool nh_hdf5_make_variables(nh_hdf5 *file)
{
    static const char *const q[] = {"member", "time", "coordinate", NULL};
    static const char *const v[] = {"member", "time", "velocity", NULL};
    static const char *const l[] = {"member", "time", "constraint", NULL};
    const nh_system *s = file->plan.system;
    int n = nh_system_coordinates(s), k = nh_system_velocities(s), m = nh_system_constraints(s);
    hsize_t size[] = {(hsize_t)file->members, (hsize_t)file->records, 0};
    bool done = true;
    size[2] = (hsize_t)n;
    if (n > 0)
        done = (file->q = make_variable(file, "q", H5T_NATIVE_DOUBLE, q, size)) >= 0;
    size[2] = (hsize_t)k;
    done = done && (file->v = make_variable(file, "v", H5T_NATIVE_DOUBLE, v, size)) >= 0;
    size[2] = (hsize_t)m;
    if (done && m > 0 && file->plan.multipliers)
        done =
            (file->multiplier = make_variable(file, "multiplier", H5T_NATIVE_DOUBLE, l, size)) >= 0;
    return done && make_columns(file) && make_member_variables(file);
}

/* ---- going on with a file ---- */

static bool has_size(hid_t set, int rank, const hsize_t *size)
{
    hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    hsize_t found[3];
    bool same = space >= 0 && H5Sget_simple_extent_ndims(space) == rank &&
                H5Sget_simple_extent_dims(space, found, NULL) == rank &&
                memcmp(found, size, (size_t)rank * sizeof *size) == 0;
    if (space >= 0)
        H5Sclose(space);
    return same;
}

static hid_t find_set(const nh_hdf5 *file, const char *name, int rank, const hsize_t *size)
{
    hid_t set = H5Dopen2(file->file, name, H5P_DEFAULT);
    if (set >= 0 && !has_size(set, rank, size)) {
        H5Dclose(set);
        set = -1;
    }
    return set;
}

static bool find_columns(nh_hdf5 *file, const hsize_t *size)
{
    for (int c = 0; c < file->plan.columns; c++) {
        char name[256], of[300];
        name_of_column(file, c, name, sizeof name);
        if ((file->column[c] = find_set(file, name, 2, size)) < 0)
            return false;
        for (int m = 0; file->plan.statistics && m < NH_HDF5_MEASURES; m++) {
            snprintf(of, sizeof of, "%s_%s", name, measures[m]);
            if ((file->statistic[c * NH_HDF5_MEASURES + m] = find_set(file, of, 1, size + 1)) < 0)
                return false;
        }
    }
    return true;
}

bool nh_hdf5_find_variables(nh_hdf5 *file)
{
    const nh_system *s = file->plan.system;
    int n = nh_system_coordinates(s), m = nh_system_constraints(s);
    hsize_t size[] = {(hsize_t)file->members, (hsize_t)file->records, (hsize_t)n};
    bool done = n == 0 || (file->q = find_set(file, "q", 3, size)) >= 0;
    size[2] = (hsize_t)nh_system_velocities(s);
    done = done && (file->v = find_set(file, "v", 3, size)) >= 0;
    size[2] = (hsize_t)m;
    if (done && m > 0 && file->plan.multipliers)
        done = (file->multiplier = find_set(file, "multiplier", 3, size)) >= 0;
    done = done && find_columns(file, size) &&
           (file->count = find_set(file, "records", 1, size)) >= 0 &&
           (file->failed = find_set(file, "failed", 1, size)) >= 0;
    for (int i = 0; done && i < file->plan.swept; i++) {
        char name[256];
        snprintf(name, sizeof name, "swept_%.200s", file->plan.swept_name[i]);
        done = (file->swept[i] = find_set(file, name, 1, size)) >= 0;
    }
    return done;
}

#endif
