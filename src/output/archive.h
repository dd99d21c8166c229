/* Internals of archives (archive.c): files that simulations resume and share, and joining (join.c).
 */
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

/* Writes a block of an ensemble. */
nh_status nh_archive_rows(nh_archive *archive, const nh_rows *rows, nh_report *report);

/* Writes the outcome of a member: its swept values and whether it failed. Only HDF5 stores it; for
 * other formats the function does nothing. */
nh_status nh_archive_member(nh_archive *archive, const nh_member *member, const double *swept,
                            nh_report *report);

/* statistic[records][columns] */
nh_status nh_archive_statistics(nh_archive *archive, const nh_statistic *statistic,
                                nh_report *report);

/* Writes all data so far to the disk; a later process can continue from here with `position`. */
nh_status nh_archive_flush(nh_archive *archive, int64_t *position, nh_report *report);

#endif
