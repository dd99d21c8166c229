/* Internals of an HDF5 file: its contents (hdf5_layout.c) and the writing of rows (hdf5_rows.c). */
#ifndef NH_OUTPUT_HDF5_PARTS_H
#define NH_OUTPUT_HDF5_PARTS_H

#include "output/hdf5.h"
#include "output/hdf5_driver.h"

enum { NH_HDF5_MEASURES = 4 }; /* mean, variance, min, max */

struct nh_hdf5 {
    nh_archive_plan plan;
    const nh_hdf5_sources *sources; /* of a virtual file, while it is laid out */
    int64_t members, records;
    char *path, *folder, *temporary;
    bool named; /* it exists under its final name */
    nh_hdf5_channel channel;
    hid_t file;                              /* while the HDF5 library has it open, or -1 */
    int64_t q, v, multiplier, count, failed; /* where their numbers begin; 0: there are none */
    int64_t *column;                         /* [columns] */
    int64_t *statistic;                      /* [columns][NH_HDF5_MEASURES] */
    int64_t *swept;                          /* [swept] */
    double *space;                           /* a column of a block of rows */
    size_t space_size;
};

/* By default HDF5 prints errors. While we use it, printing is off, and no other thread of ours uses
 * it. */
typedef struct nh_hdf5_silence {
    H5E_auto2_t function;
    void *data;
} nh_hdf5_silence;
void nh_hdf5_enter(nh_hdf5_silence *s);
/* Preserves errno, in which the library may leave the reason of a failure. */
void nh_hdf5_exit(const nh_hdf5_silence *s);

/* "cannot write PATH: reason", where the reason is an errno or else the HDF5 library's. */
nh_status nh_hdf5_fail(const nh_hdf5 *file, const char *what, int error, nh_report *report);

bool nh_hdf5_make_room(nh_hdf5 *file);
/* Axes, variables and attributes of a new file. */
bool nh_hdf5_lay_out(nh_hdf5 *file);
/* Finds where everything is; false if the file is not laid out as ours are. */
bool nh_hdf5_find_variables(nh_hdf5 *file);
/* The first records of a trajectory that ended early. */
nh_status nh_hdf5_copy(nh_hdf5 *to, const nh_hdf5 *from, int64_t records, nh_report *report);

#endif
