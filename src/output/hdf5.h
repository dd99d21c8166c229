/* HDF5 files of trajectories, used by archive.c. */
#ifndef NH_OUTPUT_HDF5_H
#define NH_OUTPUT_HDF5_H

#include "base/status.h"

typedef struct nh_hdf5 nh_hdf5;

/* The files to which a virtual file refers: where the rows of consecutive members are. */
typedef struct nh_hdf5_source {
    const char *path; /* as seen from the folder of the virtual file */
    int64_t first, members;
} nh_hdf5_source;
typedef struct nh_hdf5_sources {
    const nh_hdf5_source *source;
    int count;
} nh_hdf5_sources;

/* `records` is the planned number; with plan->resume the file must exist and match. With `sources`
 * (or NULL) it is a virtual file, without room for rows of its own. */
nh_status nh_hdf5_open(nh_hdf5 **out, const char *path, const nh_archive_plan *plan,
                       int64_t records, const nh_hdf5_sources *sources, nh_report *report);
nh_status nh_hdf5_rows(nh_hdf5 *file, const nh_rows *rows, nh_report *report);
nh_status nh_hdf5_member(nh_hdf5 *file, const nh_member *member, const double *swept,
                         nh_report *report);
/* statistic[records][columns] */
nh_status nh_hdf5_statistics(nh_hdf5 *file, const nh_statistic *statistic, nh_report *report);
/* Reads the beginning of a record of a single trajectory, v and q, as much as there is room for. */
nh_status nh_hdf5_read(nh_hdf5 *file, int64_t record, void *data, size_t room, size_t *size,
                       nh_report *report);
/* A row that is in the file. */
nh_status nh_hdf5_read_row(nh_hdf5 *file, int64_t member, int64_t record, double *value, double *q,
                           double *v, double *multipliers, nh_report *report);
nh_status nh_hdf5_flush(nh_hdf5 *file, nh_report *report);
/* `used`: how many records of a single trajectory there are; if fewer than planned, the file is
 * cut, and `steps` is the last step recorded. */
nh_status nh_hdf5_close(nh_hdf5 *file, int64_t used, int64_t steps, nh_report *report);
void nh_hdf5_leave(nh_hdf5 *file, bool keep);

/* Loads the HDF5 library, which starting a process waits for only where a file needs it. Everything
 * above and below presupposes that this has succeeded. */
nh_status nh_hdf5_load(nh_report *report);

/* These functions; NULL if the library was built without HDF5. */
typedef struct nh_hdf5_access {
    __typeof__(nh_hdf5_load) *load;
    __typeof__(nh_hdf5_open) *open;
    __typeof__(nh_hdf5_rows) *rows;
    __typeof__(nh_hdf5_member) *member;
    __typeof__(nh_hdf5_statistics) *statistics;
    __typeof__(nh_hdf5_read) *read;
    __typeof__(nh_hdf5_read_row) *read_row;
    __typeof__(nh_hdf5_flush) *flush;
    __typeof__(nh_hdf5_close) *close;
    __typeof__(nh_hdf5_leave) *leave;
} nh_hdf5_access;
const nh_hdf5_access *nh_hdf5_built(void);

#endif
