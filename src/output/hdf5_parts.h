/* Internals of an HDF5 file: its contents (hdf5_layout.c) and the writing of rows (hdf5_rows.c). */
#ifndef NH_OUTPUT_HDF5_PARTS_H
#define NH_OUTPUT_HDF5_PARTS_H

#include <hdf5.h>

#include "output/hdf5.h"

enum { NH_HDF5_MEASURES = 4 }; /* mean, variance, min, max */

struct nh_hdf5 {
    nh_archive_plan plan;
    int64_t members, records;
    char *path, *folder, *temporary;
    bool named; /* it is there under its name */
    hid_t file;
    hid_t q, v, multiplier, count, failed; /* -1 where there is none */
    hid_t *column;                         /* [columns] */
    hid_t *statistic;                      /* [columns][NH_HDF5_MEASURES] */
    hid_t *swept;                          /* [swept] */
    double *space;                         /* a column of a block of rows */
    size_t space_size;
};

typedef struct nh_hdf5_silence {
    H5E_auto2_t function;
    void *data;
} nh_hdf5_silence;
void nh_hdf5_hush(nh_hdf5_silence *s);
void nh_hdf5_unhush(const nh_hdf5_silence *s);
nh_status nh_hdf5_fail(const nh_hdf5 *file, const char *what, nh_report *report);

bool nh_hdf5_make_room(nh_hdf5 *file);
bool nh_hdf5_make_axes(nh_hdf5 *file);
bool nh_hdf5_make_variables(nh_hdf5 *file);
bool nh_hdf5_describe(nh_hdf5 *file); /* attributes */
bool nh_hdf5_find_variables(
    nh_hdf5 *file); /* of a file that is there; false when it is another one */
nh_status nh_hdf5_copy(nh_hdf5 *to, nh_hdf5 *from, int64_t records, nh_report *report);

#endif
