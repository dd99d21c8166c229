/* Trajectories as HDF5 files that follow the NetCDF-4 conventions.
 *
 * A file left behind by a killed process must be readable, and a write that fails must not harm
 * more than itself. Therefore the HDF5 library only lays out the file, under a temporary name:
 * datasets are contiguous and filled with NaN. The library tells where the numbers are stored and
 * closes the file, which is then renamed; rows are written to these places without the library
 * (hdf5_rows.c), so that the structure of the file never changes. Only one thread at a time uses
 * the library. */
#ifdef NH_HAVE_HDF5

#define _GNU_SOURCE
#include "output/file.h"
#include "output/hdf5.h"
#include "output/hdf5_parts.h"
#include "output/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- failures ---- */

nh_status nh_hdf5_fail(const nh_hdf5 *file, const char *what, int error, nh_report *report)
{
    if (error == ENOMEM)
        return nh_fail_memory(report);
    return nh_fail(report, NH_FILE_FAILED, "%s %s: %s", what, file->path,
                   error ? strerror(error) : "the HDF5 library refused");
}

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

void nh_hdf5_enter(nh_hdf5_silence *s)
{
    pthread_mutex_lock(&library);
    H5Eget_auto2(H5E_DEFAULT, &s->function, &s->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0;
}

void nh_hdf5_exit(const nh_hdf5_silence *s)
{
    int error = errno;
    H5Eset_auto2(H5E_DEFAULT, s->function, s->data);
    pthread_mutex_unlock(&library);
    errno = error;
}

/* ---- the path ---- */

/* The space is allocated at once, so whether there is enough can be checked in advance. */
static nh_status check_space(const nh_hdf5 *file, nh_report *report)
{
    struct statvfs disk;
    const nh_archive_plan *p = &file->plan;
    double row = 1.0 + p->columns + nh_system_coordinates(p->system) +
                 nh_system_velocities(p->system) +
                 (p->multipliers ? nh_system_constraints(p->system) : 0);
    double rows = file->sources ? 0 : (double)file->members * (double)file->records;
    double bytes = 8 * row * rows + 65536;
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
    file->temporary = nh_temporary_name(file->path);
    return file->folder && file->temporary;
}

static void release(nh_hdf5 *file)
{
    if (file->channel.descriptor >= 0)
        close(file->channel.descriptor);
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

static hid_t creation_of_file(void)
{
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    /* without time stamps: the same run always makes the same file */
    if (creation >= 0 && H5Pset_link_creation_order(creation, order) >= 0 &&
        H5Pset_attr_creation_order(creation, order) >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0)
        return creation;
    nh_hdf5_drop(creation);
    return -1;
}

/* Lays the file out, closes it and finds where everything is. */
static bool lay_out(nh_hdf5 *file)
{
    hid_t creation = creation_of_file();
    if (creation >= 0)
        file->file = nh_hdf5_create_on(&file->channel, creation);
    bool done = file->file >= 0 && nh_hdf5_lay_out(file) && nh_hdf5_find_variables(file);
    if (file->file >= 0)
        done = H5Fclose(file->file) >= 0 && done;
    nh_hdf5_drop(creation);
    return done && !file->channel.error;
}

/* A new file under the temporary name. */
static nh_status make(nh_hdf5 *file, nh_report *report)
{
    nh_status status = check_space(file, report);
    if (status != NH_OK)
        return status;
    if (!nh_temporary_clean(file->path))
        return nh_fail_memory(report);
    file->channel.descriptor = nh_temporary_open(file->temporary);
    if (file->channel.descriptor < 0)
        return nh_hdf5_fail(file, "cannot create", errno, report);
    nh_hdf5_silence quiet;
    nh_hdf5_enter(&quiet);
    bool made = lay_out(file);
    nh_hdf5_exit(&quiet);
    int error = file->channel.error ? file->channel.error : errno;
    return made ? NH_OK : nh_hdf5_fail(file, "cannot write", error, report);
}

/* Makes sure that what was written is on the disk, and gives the file its name. */
static nh_status publish(nh_hdf5 *file, nh_report *report)
{
    int error = nh_synchronise(file->channel.descriptor);
    if (!error && rename(file->temporary, file->path) != 0)
        error = errno;
    file->named = !error;
    return error ? nh_hdf5_fail(file, "cannot write", error, report) : NH_OK;
}

/* Opens the file of an earlier process. */
static nh_status find(nh_hdf5 *file, nh_report *report)
{
    file->channel.descriptor = open(file->path, O_RDWR | O_CLOEXEC);
    if (file->channel.descriptor < 0)
        return nh_hdf5_fail(file, "cannot resume", errno, report);
    if (!nh_temporary_clean(file->path))
        return nh_fail_memory(report);
    nh_hdf5_silence quiet;
    nh_hdf5_enter(&quiet);
    file->file = nh_hdf5_open_on(&file->channel);
    bool opened = file->file >= 0, same = opened && nh_hdf5_find_variables(file);
    if (opened)
        same = H5Fclose(file->file) >= 0 && same;
    nh_hdf5_exit(&quiet);
    if (same && !file->channel.error)
        return NH_OK;
    int error = file->channel.error ? file->channel.error : errno;
    if (!opened || error == ENOMEM)
        return nh_hdf5_fail(file, "cannot resume", error, report);
    return nh_fail(report, NH_FILE_FAILED, "cannot resume %s: it is not the file of this run",
                   file->path);
}

static nh_status begin(nh_hdf5 **out, const char *path, const nh_archive_plan *plan,
                       int64_t records, const nh_hdf5_sources *sources, nh_report *report)
{
    *out = NULL;
    nh_hdf5 *file = calloc(1, sizeof *file);
    if (!file)
        return nh_fail_memory(report);
    file->plan = *plan;
    file->members = plan->members ? plan->members : 1;
    file->records = records;
    file->sources = sources;
    file->file = -1;
    file->channel.descriptor = -1;
    nh_status status =
        name_places(file, path) && nh_hdf5_make_room(file) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = plan->resume ? find(file, report) : make(file, report);
    if (status != NH_OK)
        nh_hdf5_leave(file, true);
    else
        *out = file;
    return status;
}

nh_status nh_hdf5_open(nh_hdf5 **out, const char *path, const nh_archive_plan *plan,
                       int64_t records, const nh_hdf5_sources *sources, nh_report *report)
{
    *out = NULL;
    nh_status status = nh_file_must_be_regular(path, "HDF5", report);
    if (status == NH_OK)
        status = begin(out, path, plan, records, sources, report);
    if (status == NH_OK && !plan->resume)
        status = publish(*out, report);
    if (status != NH_OK) {
        nh_hdf5_leave(*out, true);
        *out = NULL;
    }
    return status;
}

/* ---- closing ---- */

nh_status nh_hdf5_flush(nh_hdf5 *file, nh_report *report)
{
    if (!file->channel.error)
        file->channel.error = nh_synchronise(file->channel.descriptor);
    int error = file->channel.error;
    return error ? nh_hdf5_fail(file, "cannot write", error, report) : NH_OK;
}

void nh_hdf5_leave(nh_hdf5 *file, bool keep)
{
    if (!file)
        return;
    if (!file->plan.resume && !file->named && file->channel.descriptor >= 0)
        unlink(file->temporary);
    if (!file->plan.resume && file->named && !keep)
        unlink(file->path);
    release(file);
}

/* A trajectory that ended early: a file with fewer records replaces the long one. */
static nh_status cut(const nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report)
{
    nh_hdf5 *shorter;
    nh_archive_plan plan = file->plan;
    plan.resume = false;
    plan.steps = steps;
    nh_status status = begin(&shorter, file->path, &plan, used, NULL, report);
    if (status == NH_OK)
        status = nh_hdf5_copy(shorter, file, used, report);
    if (status == NH_OK)
        status = publish(shorter, report);
    nh_hdf5_leave(shorter, true);
    return status;
}

nh_status nh_hdf5_close(nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report)
{
    nh_status status =
        used < file->records ? cut(file, used, steps, report) : nh_hdf5_flush(file, report);
    int descriptor = file->channel.descriptor;
    file->channel.descriptor = -1;
    if (close(descriptor) != 0 && status == NH_OK && used == file->records)
        status = nh_hdf5_fail(file, "cannot write", errno, report);
    release(file);
    return status;
}

const nh_hdf5_access *nh_hdf5_built(void)
{
    static const nh_hdf5_access access = {.load = nh_hdf5_load,
                                          .open = nh_hdf5_open,
                                          .rows = nh_hdf5_rows,
                                          .member = nh_hdf5_member,
                                          .statistics = nh_hdf5_statistics,
                                          .read = nh_hdf5_read,
                                          .read_row = nh_hdf5_read_row,
                                          .flush = nh_hdf5_flush,
                                          .close = nh_hdf5_close,
                                          .leave = nh_hdf5_leave};
    return &access;
}

#else /* without HDF5 */

#include "output/hdf5.h"

#include <stddef.h>

const nh_hdf5_access *nh_hdf5_built(void)
{
    return NULL;
}

#endif
