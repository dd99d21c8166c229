/* A file driver of the HDF5 library on an open descriptor; see hdf5_driver.h. */
#ifdef NH_HAVE_HDF5

#include "output/hdf5_driver.h"
#include "output/file.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct driven {
    H5FD_t base; /* the library's part */
    nh_hdf5_channel *channel;
    int descriptor;
    haddr_t end, allocated;
} driven;

static void note(driven *file, int error)
{
    if (!file->channel->error)
        file->channel->error = error;
}

/* ---- what the library calls ---- */

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t limit)
{
    (void)limit;
    nh_hdf5_channel *const *channel = H5Pget_driver_info(access);
    driven *file = channel ? calloc(1, sizeof *file) : NULL;
    struct stat info;
    if (!file)
        return NULL;
    file->channel = *channel;
    file->descriptor = file->channel->descriptor;
    bool named = file->descriptor < 0;
    if (named) /* do not wait for a pipe that nobody writes to */
        file->descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool tried = named && file->channel->opened && file->descriptor < 0 && errno == ENOENT;
    if (!tried && (file->descriptor < 0 || fstat(file->descriptor, &info) != 0))
        note(file, errno);
    if (named && (file->descriptor < 0 || file->channel->error || !S_ISREG(info.st_mode))) {
        if (file->descriptor >= 0)
            close(file->descriptor);
        free(file);
        return NULL;
    }
    file->channel->opened = true;
    if (file->channel->error)
        return &file->base;
    if (!(flags & H5F_ACC_TRUNC))
        file->end = (haddr_t)info.st_size;
    return &file->base;
}

static herr_t close_file(H5FD_t *base)
{
    driven *file = (driven *)base;
    if (file->descriptor != file->channel->descriptor)
        close(file->descriptor); /* nothing was written to it */
    free(file);
    return 0;
}

/* For files that this one refers to; the library frees it. */
static void *get_access(H5FD_t *base)
{
    nh_hdf5_channel **channel = malloc(sizeof *channel);
    if (channel)
        *channel = ((driven *)base)->channel;
    return channel;
}

static herr_t query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *base, H5FD_mem_t kind)
{
    (void)kind;
    return ((const driven *)base)->allocated;
}

static herr_t set_allocated(H5FD_t *base, H5FD_mem_t kind, haddr_t end)
{
    (void)kind;
    ((driven *)base)->allocated = end;
    return 0;
}

static haddr_t get_end(const H5FD_t *base, H5FD_mem_t kind)
{
    (void)kind;
    return ((const driven *)base)->end;
}

static herr_t read_file(H5FD_t *base, H5FD_mem_t kind, hid_t how, haddr_t at, size_t size,
                        void *data)
{
    (void)kind, (void)how;
    driven *file = (driven *)base;
    size_t done = 0;
    int error = nh_read_at(file->descriptor, (int64_t)at, data, size, &done);
    memset((char *)data + done, 0, size - done); /* zeros beyond the end, as the library expects */
    if (error)
        note(file, error);
    return error ? -1 : 0;
}

static herr_t write_file(H5FD_t *base, H5FD_mem_t kind, hid_t how, haddr_t at, size_t size,
                         const void *data)
{
    (void)kind, (void)how;
    driven *file = (driven *)base;
    if (!file->channel->error)
        note(file, nh_write_at(file->descriptor, (int64_t)at, data, size));
    file->end = at + size > file->end ? at + size : file->end;
    return 0;
}

static herr_t truncate_file(H5FD_t *base, hid_t how, hbool_t closing)
{
    (void)how, (void)closing;
    driven *file = (driven *)base;
    if (file->end != file->allocated && !file->channel->error &&
        ftruncate(file->descriptor, (off_t)file->allocated) != 0)
        note(file, errno);
    file->end = file->allocated;
    return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = H5_VFD_RESERVED + 1,
#endif
    .name = "nonholo",
    .maxaddr = HADDR_MAX,
    .fc_degree = H5F_CLOSE_STRONG, /* closing a file closes what is open in it */
    .fapl_size = sizeof(nh_hdf5_channel *),
    .fapl_get = get_access,
    .open = open_file,
    .close = close_file,
    .query = query,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* ---- what we call ---- */

/* The driver stays registered, because the library uses it even after the last of its files is
 * closed. Registered again if somebody closed the library in the meantime. */
static hid_t registered(void)
{
    static hid_t id = H5I_INVALID_HID;
    if (H5Iget_type(id) != H5I_VFL)
        id = H5FDregister(&driver);
    return id;
}

static hid_t begin(nh_hdf5_channel *channel, const char *name, bool new, hid_t creation)
{
    hid_t id = registered(), access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (id >= 0 && access >= 0 && H5Pset_driver(access, id, &channel) >= 0)
        file = new ? H5Fcreate(name, H5F_ACC_TRUNC, creation, access)
                   : H5Fopen(name, H5F_ACC_RDONLY, access);
    nh_hdf5_drop(access);
    return file;
}

hid_t nh_hdf5_create_on(nh_hdf5_channel *channel, hid_t creation)
{
    return begin(channel, "nonholo", true, creation);
}

hid_t nh_hdf5_open_on(nh_hdf5_channel *channel)
{
    return begin(channel, "nonholo", false, H5P_DEFAULT);
}

hid_t nh_hdf5_open_named(nh_hdf5_channel *channel, const char *path)
{
    *channel = (nh_hdf5_channel){.descriptor = -1};
    return begin(channel, path, false, H5P_DEFAULT);
}

#endif
