/* Trajectories as HDF5 files that follow the NetCDF-4 conventions.
 *
 * A file left behind by a killed process must be readable. Therefore its whole structure and space
 * are created at the beginning, under a temporary name: datasets are contiguous and filled with
 * NaN, and no metadata changes afterwards. Then the file is renamed, and rows are written to fixed
 * positions. */
#ifdef NH_HAVE_HDF5

#define _GNU_SOURCE
#include "output/file.h"
#include "output/hdf5.h"
#include "output/hdf5_parts.h"
#include "output/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- failures ---- */

nh_status nh_hdf5_fail(const nh_hdf5 *file, const char *what, nh_report *report)
{
    if (errno == ENOMEM)
        return nh_fail_memory(report);
    return nh_fail(report, NH_FILE_FAILED, "%s %s: %s", what, file->path,
                   errno ? strerror(errno) : "the HDF5 library refused");
}

/* HDF5 prints errors by default; this silences it and restores the previous setting afterwards. */
void nh_hdf5_hush(nh_hdf5_silence *s)
{
    H5Eget_auto2(H5E_DEFAULT, &s->function, &s->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0;
}

void nh_hdf5_unhush(const nh_hdf5_silence *s)
{
    H5Eset_auto2(H5E_DEFAULT, s->function, s->data);
}

/* ---- the path ---- */

nh_status nh_hdf5_can_write(const char *path, nh_report *report)
{
    return nh_file_must_be_regular(path, "HDF5", report);
}

/* The space is taken at once, so it can be asked for at once. */
static nh_status check_space(const nh_hdf5 *file, nh_report *report)
{
    struct statvfs disk;
    const nh_archive_plan *p = &file->plan;
    double row = 1.0 + p->columns + nh_system_coordinates(p->system) +
                 nh_system_velocities(p->system) +
                 (p->multipliers ? nh_system_constraints(p->system) : 0);
    double bytes = 8 * row * (double)file->members * (double)file->records + 65536;
    if (statvfs(file->folder, &disk) != 0)
        return NH_OK; /* creating the file will report the error */
    double there = (double)disk.f_bavail * (double)disk.f_frsize;
    if (bytes < there)
        return NH_OK;
    return nh_fail_about(
        report,
        nh_fail(report, NH_FILE_FAILED,
                "cannot write %s: it needs %.3g MB and the disk has %.3g MB left; record fewer "
                "points",
                file->path, bytes * 1e-6, there * 1e-6),
        "every");
}

static bool name_places(nh_hdf5 *file, const char *path)
{
    char *real = realpath(path, NULL);
    file->path = real ? real : strdup(path);
    if (!file->path)
        return false;
    const char *slash = strrchr(file->path, '/');
    int folder = slash ? (int)(slash - file->path) + 1 : 0;
    file->folder = folder ? strndup(file->path, (size_t)folder) : strdup(".");
    if (file->folder && file->plan.resumable) /* the process that resumes finds it */
        return asprintf(&file->temporary, "%s.part", file->path) >= 0;
    file->temporary = nh_temporary_name(file->path);
    return file->folder && file->temporary;
}

static void release(nh_hdf5 *file)
{
    free(file->path);
    free(file->folder);
    free(file->temporary);
    free(file->column);
    free(file->statistic);
    free(file->swept);
    free(file->space);
    free(file);
}

/* ---- opening ---- */

static nh_status synchronise(const nh_hdf5 *file, const char *path, nh_report *report)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool done = descriptor >= 0 && nh_synchronise(descriptor) == 0;
    if (descriptor >= 0)
        close(descriptor);
    return done ? NH_OK : nh_hdf5_fail(file, "cannot write", report);
}

static nh_status make(nh_hdf5 *file, nh_report *report)
{
    nh_status status = check_space(file, report);
    if (status != NH_OK)
        return status;
    if (!nh_temporary_clean(file->path)) /* HDF5 locks the files that it writes */
        return nh_fail_memory(report);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_obj_track_times(creation, false); /* the same run makes the same file at any time */
    file->file = H5Fcreate(file->temporary, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    int error = errno;
    H5Pclose(creation);
    errno = error;
    if (file->file < 0)
        return nh_hdf5_fail(file, "cannot create", report);
    bool made = nh_hdf5_make_axes(file) && nh_hdf5_make_variables(file) && nh_hdf5_describe(file) &&
                H5Fflush(file->file, H5F_SCOPE_GLOBAL) >= 0;
    status = made ? synchronise(file, file->temporary, report)
                  : nh_hdf5_fail(file, "cannot write", report);
    if (status == NH_OK && rename(file->temporary, file->path) != 0)
        status = nh_hdf5_fail(file, "cannot write", report);
    file->named = status == NH_OK;
    return status;
}

static nh_status find(nh_hdf5 *file, nh_report *report)
{
    file->file = H5Fopen(file->path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file->file < 0)
        return nh_hdf5_fail(file, "cannot resume", report);
    if (nh_hdf5_find_variables(file))
        return NH_OK;
    return nh_fail(report, NH_FILE_FAILED, "cannot resume %s: it is not the file of this run",
                   file->path);
}

nh_status nh_hdf5_open(nh_hdf5 **out, const char *path, const nh_archive_plan *plan,
                       int64_t records, nh_report *report)
{
    *out = NULL;
    nh_status status = nh_hdf5_can_write(path, report);
    if (status != NH_OK)
        return status;
    nh_hdf5 *file = calloc(1, sizeof *file);
    if (!file)
        return nh_fail_memory(report);
    file->plan = *plan;
    file->members = plan->members ? plan->members : 1;
    file->records = records;
    file->file = file->q = file->v = file->multiplier = file->count = file->failed = -1;
    if (!name_places(file, path) || !nh_hdf5_make_room(file)) {
        release(file);
        return nh_fail_memory(report);
    }
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    status = plan->resume ? find(file, report) : make(file, report);
    nh_hdf5_unhush(&silence);
    if (status != NH_OK)
        nh_hdf5_leave(file, plan->resume);
    else
        *out = file;
    return status;
}

/* ---- closing ---- */

/* Closes everything that is open in the file; what the library could not write is lost with it. */
static bool close_file(nh_hdf5 *file)
{
    if (file->file < 0)
        return true;
    hid_t open[256];
    ssize_t count;
    while ((count = H5Fget_obj_ids(file->file, H5F_OBJ_DATASET | H5F_OBJ_ATTR, 256, open)) > 0)
        for (ssize_t i = 0; i < count; i++)
            H5Oclose(open[i]);
    bool closed = H5Fclose(file->file) >= 0;
    file->file = -1;
    return closed;
}

nh_status nh_hdf5_flush(nh_hdf5 *file, nh_report *report)
{
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    nh_status status = NH_OK;
    if (H5Fflush(file->file, H5F_SCOPE_GLOBAL) < 0)
        status = nh_hdf5_fail(file, "cannot write", report);
    if (status == NH_OK)
        status = synchronise(file, file->path, report);
    nh_hdf5_unhush(&silence);
    return status;
}

void nh_hdf5_leave(nh_hdf5 *file, bool keep)
{
    if (!file)
        return;
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    bool opened = file->file >= 0;
    close_file(file);
    nh_hdf5_unhush(&silence);
    unlink(file->temporary);
    if (opened && !keep && !file->plan.resume && file->named)
        unlink(file->path);
    release(file);
}

/* A trajectory that ended early: the same file with fewer records takes the place of the long one.
 */
static nh_status cut(nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report)
{
    nh_hdf5 *shorter;
    nh_archive_plan plan = file->plan;
    plan.resume = false;
    plan.steps = steps;
    nh_status status = nh_hdf5_open(&shorter, file->path, &plan, used, report);
    if (status != NH_OK)
        return status;
    status = nh_hdf5_copy(shorter, file, used, report);
    nh_report ignored;
    nh_status closed = nh_hdf5_close(shorter, used, steps, status == NH_OK ? report : &ignored);
    return status == NH_OK ? closed : status;
}

nh_status nh_hdf5_close(nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report)
{
    nh_status status = NH_OK;
    if (used < file->records)
        status = cut(file, used, steps, report);
    nh_hdf5_silence silence;
    nh_hdf5_hush(&silence);
    bool written = used < file->records || H5Fflush(file->file, H5F_SCOPE_GLOBAL) >= 0;
    bool closed = close_file(file);
    if (status == NH_OK && !(written && closed))
        status = nh_hdf5_fail(file, "cannot write", report);
    if (status == NH_OK && used == file->records)
        status = synchronise(file, file->path, report);
    nh_hdf5_unhush(&silence);
    release(file);
    return status;
}

#else /* without HDF5 */

#include "output/hdf5.h"

static nh_status refuse(nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "this nonholo was built without HDF5; .csv, .npy and .npz are available");
}

nh_status nh_hdf5_can_write(const char *path, nh_report *report)
{
    (void)path;
    return refuse(report);
}

nh_status nh_hdf5_open(nh_hdf5 **out, const char *path, const nh_archive_plan *plan,
                       int64_t records, nh_report *report)
{
    (void)path, (void)plan, (void)records;
    *out = NULL;
    return refuse(report);
}

nh_status nh_hdf5_rows(nh_hdf5 *file, const nh_rows *rows, nh_report *report)
{
    (void)file, (void)rows;
    return refuse(report);
}

nh_status nh_hdf5_member(nh_hdf5 *file, const nh_member *member, const double *swept,
                         nh_report *report)
{
    (void)file, (void)member, (void)swept;
    return refuse(report);
}

nh_status nh_hdf5_statistics(nh_hdf5 *file, const nh_ensemble *ensemble, nh_report *report)
{
    (void)file, (void)ensemble;
    return refuse(report);
}

nh_status nh_hdf5_flush(nh_hdf5 *file, nh_report *report)
{
    (void)file;
    return refuse(report);
}

nh_status nh_hdf5_close(nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report)
{
    (void)file, (void)used, (void)steps;
    return refuse(report);
}

void nh_hdf5_leave(nh_hdf5 *file, bool keep)
{
    (void)file, (void)keep;
}

#endif
