/* The contents of an HDF5 file: axes, variables, attributes. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5_parts.h"
#include "output/hdf5_read.h"

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

/* Handles are negative if something failed, and so is everything made from them. */
static bool put_attribute(hid_t where, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        done = H5Aclose(attribute) >= 0 && done;
    nh_hdf5_drop(space);
    return done;
}

static bool put_text(hid_t where, const char *name, const char *text)
{
    hid_t type = nh_hdf5_text_type();
    bool done = type >= 0 && put_attribute(where, name, type, &text);
    nh_hdf5_drop(type);
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

/* ---- axes ---- */

/* Early allocation, contiguous, no time stamps: the metadata never change again. What is not
 * written is NaN, or 0. */
static hid_t creation_of(bool reals, bool virtual)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    double none = NAN;
    bool done =
        creation >= 0 &&
        (virtual || (H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 &&
                     H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0 &&
                     H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC) >= 0)) &&
        H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        (!reals || H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &none) >= 0);
    if (done)
        return creation;
    nh_hdf5_drop(creation);
    return -1;
}

/* Refers to the same variable in the files that hold its members, along the first axis. */
static bool refer(hid_t creation, hid_t space, const nh_hdf5_sources *sources, const char *name,
                  int rank, const hsize_t *size)
{
    bool done = true;
    for (int i = 0; done && i < sources->count; i++) {
        const nh_hdf5_source *s = sources->source + i;
        hsize_t from[3] = {(hsize_t)s->first}, count[3] = {(hsize_t)s->members};
        for (int k = 1; k < rank; k++)
            count[k] = size[k];
        hid_t there = H5Screate_simple(rank, count, NULL);
        done = there >= 0 &&
               H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
               H5Pset_virtual(creation, space, s->path, name, there) >= 0;
        nh_hdf5_drop(there);
    }
    return done && H5Sselect_all(space) >= 0;
}

static hid_t make_set(const nh_hdf5 *file, const char *name, hid_t type, int rank,
                      const hsize_t *size, const nh_hdf5_sources *sources)
{
    hid_t space = H5Screate_simple(rank, size, NULL),
          creation = creation_of(type == H5T_NATIVE_DOUBLE, sources != NULL);
    hid_t set = -1;
    if (sources && space >= 0 && creation >= 0 &&
        !refer(creation, space, sources, name, rank, size)) {
        H5Sclose(space);
        space = -1;
    }
    if (space >= 0 && creation >= 0)
        set = H5Dcreate2(file->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    nh_hdf5_drop(creation);
    nh_hdf5_drop(space);
    return set;
}

/* Writes consecutive numbers, a few at a time: there may be more than fit into memory. */
static bool put_numbers(hid_t set, int64_t first, int64_t count)
{
    enum { ROOM = 1 << 12 };
    int64_t number[ROOM];
    hid_t there = H5Dget_space(set);
    bool done = there >= 0;
    for (int64_t at = 0; done && at < count; at += ROOM) {
        hsize_t from = (hsize_t)at, size = (hsize_t)(count - at < ROOM ? count - at : ROOM);
        hid_t here = H5Screate_simple(1, &size, NULL);
        for (int64_t i = 0; i < (int64_t)size; i++)
            number[i] = first + at + i;
        done = here >= 0 &&
               H5Sselect_hyperslab(there, H5S_SELECT_SET, &from, NULL, &size, NULL) >= 0 &&
               H5Dwrite(set, H5T_NATIVE_INT64, here, there, H5P_DEFAULT, number) >= 0;
        nh_hdf5_drop(here);
    }
    nh_hdf5_drop(there);
    return done;
}

/* An axis with its labels; NULL: the labels are the numbers of the members. */
static bool make_axis(const nh_hdf5 *file, const char *name, hid_t type, int64_t size,
                      const void *label)
{
    hsize_t count = (hsize_t)size;
    hid_t set = make_set(file, name, type, 1, &count, NULL);
    bool done = set >= 0 && (label ? H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, label) >= 0
                                   : put_numbers(set, file->plan.first_member, size));
    done = done && H5DSset_scale(set, name) >= 0;
    return set >= 0 && H5Dclose(set) >= 0 && done;
}

typedef const char *name_fn(const nh_system *system, int index);

static bool make_names(const nh_hdf5 *file, const char *axis, int count, name_fn *name)
{
    if (count == 0)
        return true;
    const char **label = calloc((size_t)count, sizeof *label);
    hid_t type = nh_hdf5_text_type();
    for (int i = 0; label && i < count; i++)
        label[i] = name(file->plan.system, i);
    bool done = label && type >= 0 && make_axis(file, axis, type, count, label);
    nh_hdf5_drop(type);
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

static bool make_axes(nh_hdf5 *file)
{
    const nh_system *s = file->plan.system;
    return make_axis(file, "member", H5T_NATIVE_INT64, file->members, NULL) && make_times(file) &&
           make_names(file, "coordinate", nh_system_coordinates(s), nh_system_coordinate_name) &&
           make_names(file, "velocity", nh_system_velocities(s), nh_system_velocity_name) &&
           make_names(file, "constraint", nh_system_constraints(s), nh_system_constraint_name);
}

/* ---- variables ---- */

/* A variable over one to three axes, and where its position in the file is stored. */
typedef struct variable {
    const char *name;
    hid_t type;
    const char *axis[3];
    hsize_t size[3];
    int rank;
    int64_t *place;
} variable;

typedef bool visit_fn(const nh_hdf5 *file, const variable *v);

/* Renames columns whose names mean something else here. */
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

static bool visit_vectors(nh_hdf5 *file, visit_fn *visit)
{
    const nh_system *s = file->plan.system;
    int constraints = file->plan.multipliers ? nh_system_constraints(s) : 0;
    const struct {
        const char *name, *axis;
        int width;
        int64_t *place;
    } vector[] = {{"q", "coordinate", nh_system_coordinates(s), &file->q},
                  {"v", "velocity", nh_system_velocities(s), &file->v},
                  {"multiplier", "constraint", constraints, &file->multiplier}};
    bool done = true;
    for (int i = 0; done && i < 3; i++) {
        variable v = {
            .name = vector[i].name,
            .type = H5T_NATIVE_DOUBLE,
            .axis = {"member", "time", vector[i].axis},
            .size = {(hsize_t)file->members, (hsize_t)file->records, (hsize_t)vector[i].width},
            .rank = 3,
            .place = vector[i].place};
        done = vector[i].width == 0 || visit(file, &v);
    }
    return done;
}

static bool visit_columns(nh_hdf5 *file, visit_fn *visit)
{
    bool done = true;
    for (int c = 0; done && c < file->plan.columns; c++) {
        char name[256], of[300];
        name_of_column(file, c, name, sizeof name);
        variable v = {.name = name,
                      .type = H5T_NATIVE_DOUBLE,
                      .axis = {"member", "time"},
                      .size = {(hsize_t)file->members, (hsize_t)file->records},
                      .rank = 2,
                      .place = file->column + c};
        done = visit(file, &v);
        for (int m = 0; done && file->plan.statistics && m < NH_HDF5_MEASURES; m++) {
            variable over_time = {.name = of,
                                  .type = H5T_NATIVE_DOUBLE,
                                  .axis = {"time"},
                                  .size = {(hsize_t)file->records},
                                  .rank = 1,
                                  .place = file->statistic + c * NH_HDF5_MEASURES + m};
            snprintf(of, sizeof of, "%s_%s", name, measures[m]);
            done = visit(file, &over_time);
        }
    }
    return done;
}

static bool visit_members(nh_hdf5 *file, visit_fn *visit)
{
    variable v = {.axis = {"member"}, .size = {(hsize_t)file->members}, .rank = 1};
    v.name = "records";
    v.type = H5T_NATIVE_INT64;
    v.place = &file->count;
    bool done = visit(file, &v);
    v.name = "failed";
    v.type = H5T_NATIVE_INT8;
    v.place = &file->failed;
    done = done && visit(file, &v);
    for (int i = 0; done && i < file->plan.swept; i++) {
        char name[256];
        snprintf(name, sizeof name, "swept_%.200s", file->plan.swept_name[i]);
        v.name = name;
        v.type = H5T_NATIVE_DOUBLE;
        v.place = file->swept + i;
        done = visit(file, &v);
    }
    return done;
}

static bool visit_all(nh_hdf5 *file, visit_fn *visit)
{
    return visit_vectors(file, visit) && visit_columns(file, visit) && visit_members(file, visit);
}

static bool attach(const nh_hdf5 *file, hid_t set, const char *axis, int dimension)
{
    hid_t scale = H5Dopen2(file->file, axis, H5P_DEFAULT);
    bool done = scale >= 0 && H5DSattach_scale(set, scale, (unsigned)dimension) >= 0;
    return scale >= 0 && H5Dclose(scale) >= 0 && done;
}

/* The sources of a variable that a virtual file finds elsewhere, or NULL. */
static const nh_hdf5_sources *sources_of(const nh_hdf5 *file, const variable *v)
{
    return strcmp(v->axis[0], "member") == 0 ? file->sources : NULL;
}

static bool make(const nh_hdf5 *file, const variable *v)
{
    hid_t set = make_set(file, v->name, v->type, v->rank, v->size, sources_of(file, v));
    bool done = set >= 0;
    for (int i = 0; done && i < v->rank; i++)
        done = attach(file, set, v->axis[i], i);
    if (done && v->place == &file->count)
        done = put_text(set, "long_name",
                        "how many records of the member were written; the rest is NaN");
    return set >= 0 && H5Dclose(set) >= 0 && done;
}

/* Finds where the numbers of a variable are, if it is laid out as we do it. */
static bool find(const nh_hdf5 *file, const variable *v)
{
    if (sources_of(file, v))
        return true;
    hid_t set = H5Dopen2(file->file, v->name, H5P_DEFAULT);
    hid_t space = set >= 0 ? H5Dget_space(set) : -1, type = set >= 0 ? H5Dget_type(set) : -1;
    hsize_t size[3];
    bool same = space >= 0 && type >= 0 && H5Tequal(type, v->type) > 0 &&
                H5Sget_simple_extent_ndims(space) == v->rank &&
                H5Sget_simple_extent_dims(space, size, NULL) == v->rank &&
                memcmp(size, v->size, (size_t)v->rank * sizeof *size) == 0;
    haddr_t place = same ? H5Dget_offset(set) : HADDR_UNDEF;
    nh_hdf5_drop(type);
    nh_hdf5_drop(space);
    nh_hdf5_drop(set);
    *v->place = (int64_t)place;
    return place != HADDR_UNDEF && place > 0;
}

bool nh_hdf5_find_variables(nh_hdf5 *file)
{
    return visit_all(file, find);
}

/* ---- attributes of the file ---- */

/* A text too long for an attribute is a variable. */
static bool put_long_text(const nh_hdf5 *file, const char *name, const char *text)
{
    if (strlen(text) < ATTRIBUTE_MAX)
        return put_text(file->file, name, text);
    hid_t type = nh_hdf5_text_type(), space = H5Screate(H5S_SCALAR);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), set = -1;
    if (type >= 0 && space >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0)
        set = H5Dcreate2(file->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    bool done = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    if (set >= 0)
        done = H5Dclose(set) >= 0 && done;
    nh_hdf5_drop(creation);
    nh_hdf5_drop(space);
    nh_hdf5_drop(type);
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

/* All options, also those that were not given, because defaults may change. */
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

static bool describe(const nh_hdf5 *file)
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

static bool describe_part(const nh_hdf5 *file)
{
    const nh_archive_plan *p = &file->plan;
    return p->parts <= 1 || (put_integer(file->file, "part", p->part) &&
                             put_integer(file->file, "parts", p->parts) &&
                             put_text(file->file, "identity", p->identity ? p->identity : ""));
}

bool nh_hdf5_lay_out(nh_hdf5 *file)
{
    return make_axes(file) && visit_all(file, make) && describe(file) && describe_part(file);
}

#endif
