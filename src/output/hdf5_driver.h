/* How the HDF5 library reads and writes a file: through a descriptor of ours, without failing.
 *
 * After a write that failed, the library cannot close its file, and crashes when the process ends.
 * So it is told that all is well, and the first error is kept here for the caller, who has to ask
 * for it. */
#ifndef NH_OUTPUT_HDF5_DRIVER_H
#define NH_OUTPUT_HDF5_DRIVER_H

#include <hdf5.h>
#include <stdbool.h>

typedef struct nh_hdf5_channel {
    int descriptor; /* -1: files are opened by their names, for reading */
    int error;      /* the first errno, 0 when all is well */
    bool opened; /* files that this one refers to are looked for in several places from then on */
} nh_hdf5_channel;

/* The library's handle of the file, new or as it is; negative on failure. The descriptor stays the
 * caller's. */
hid_t nh_hdf5_create_on(nh_hdf5_channel *channel, hid_t creation);
hid_t nh_hdf5_open_on(nh_hdf5_channel *channel); /* for reading */

/* A file of this name, for reading, and those that it refers to. The channel has to stay until the
 * file is closed; what was read is good only if it has no error then. */
hid_t nh_hdf5_open_named(nh_hdf5_channel *channel, const char *path);

#endif
