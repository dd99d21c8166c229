/* Reads variables of HDF5 files by name, between nh_hdf5_enter and nh_hdf5_exit. */
#ifndef NH_OUTPUT_HDF5_READ_H
#define NH_OUTPUT_HDF5_READ_H

#include "output/hdf5_driver.h"

/* The number of axes and their sizes; -1 if there is none with one to three. */
int nh_hdf5_size_of(hid_t file, const char *name, hsize_t size[3]);

/* A block of a variable. Texts are freed by H5free_memory. */
bool nh_hdf5_read_block(hid_t file, const char *name, hid_t type, int axes, const hsize_t *from,
                        const hsize_t *count, void *data);
hid_t nh_hdf5_text_type(void); /* to be dropped; negative on failure */

#endif
