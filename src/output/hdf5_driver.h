/* How the HDF5 library reads and writes a file: through a descriptor of ours, and never failing.
 *
 * After a failed write the library cannot close its file, and it crashes when the process ends. So
 * it is always told that a write succeeded; the first error is kept here, and the caller has to ask
 * for it. */
#ifndef NH_OUTPUT_HDF5_DRIVER_H
#define NH_OUTPUT_HDF5_DRIVER_H

#include <stdbool.h>

#include "hdf5_calls.h"

typedef struct nh_hdf5_channel {
    int descriptor; /* -1: files are opened by their names, for reading */
    int error;      /* the first errno, 0 if there was none */
    bool opened;    /* from then on, files it refers to are looked for in several places */
} nh_hdf5_channel;

/* The library's handle of the file, new or existing; negative on failure. The descriptor still
 * belongs to the caller. */
hid_t nh_hdf5_create_on(nh_hdf5_channel *channel, hid_t creation);
hid_t nh_hdf5_open_on(nh_hdf5_channel *channel); /* for reading */

/* Opens a file by name for reading, and those that it refers to. The channel must exist until the
 * file is closed; what was read is valid only if the channel then has no error. */
hid_t nh_hdf5_open_named(nh_hdf5_channel *channel, const char *path);

/* Closes whatever a handle stands for; negative handles stand for nothing. */
static inline void nh_hdf5_drop(hid_t handle)
{
    if (handle >= 0)
        H5Idec_ref(handle);
}

#endif
