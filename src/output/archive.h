/* Internals of archives (archive.c), for joining parts of ensembles (join.c). */
#ifndef NH_OUTPUT_ARCHIVE_H
#define NH_OUTPUT_ARCHIVE_H

#include "output/hdf5.h"

/* As nh_archive_create, for a virtual file. */
nh_status nh_archive_create_over(nh_archive **out, const char *path, const nh_archive_plan *plan,
                                 const nh_hdf5_sources *sources, nh_report *report);

/* A row of an ensemble that is in the file. */
nh_status nh_archive_read(nh_archive *archive, int64_t member, int64_t record, double *value,
                          double *q, double *v, double *multipliers, nh_report *report);

/* A digest of the last rows of one trajectory, up to the `position` from nh_archive_flush: a
 * checkpoint recognises its file by it. 0 for files that cannot be read back, and for ensembles. */
nh_status nh_archive_mark(nh_archive *archive, int64_t position, uint64_t *mark, nh_report *report);

#endif
