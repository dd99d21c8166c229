/* Reads recorded data: a table of named columns from a file that nonholo wrote, or any similar CSV
 * or NumPy file. One member of an ensemble's archive is a table, too. */
#ifndef NH_OUTPUT_DATAFILE_H
#define NH_OUTPUT_DATAFILE_H

#include "base/arena.h"
#include "base/status.h"

#include <nonholo_analysis.h>

struct nh_datafile {
    nh_arena arena; /* of the names */
    const char *path;
    int64_t rows;
    int columns, room;
    char **name;
    double **column; /* [columns][rows], each allocated */
    int64_t members; /* of an archive; 1 elsewhere */
    int64_t bytes;   /* of the file */
    int64_t most;    /* numbers that a file of this size can hold */
    bool beyond;     /* its header claims more */
};

/* A new column of `rows` numbers, all NaN; NULL without memory, if the length differs from the
 * other columns, or if the file cannot hold that many: headers of files are not trusted.
 * nh_datafile_refuse says why. */
double *nh_datafile_add(nh_datafile *table, const char *name, size_t length, int64_t rows);
nh_status nh_datafile_refuse(const nh_datafile *table, nh_report *report);

/* To the next comma that is not between brackets, as in M[1,2]. */
size_t nh_column_length(const char *name);

/* One for each format; the table is empty before. */
typedef nh_status nh_datafile_reader(nh_datafile *table, int64_t member, nh_report *report);
nh_datafile_reader nh_datafile_read_csv, nh_datafile_read_npy, nh_datafile_read_npz,
    nh_datafile_read_hdf5;

#endif
