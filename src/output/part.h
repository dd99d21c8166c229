/* Reading a part of an ensemble: an HDF5 file as hdf5_layout.c lays it out. */
#ifndef NH_OUTPUT_PART_H
#define NH_OUTPUT_PART_H

#include "base/status.h"

enum { NH_IDENTITY_TEXT = 65 };

/* What is in the file besides the rows. */
typedef struct nh_part {
    const char *path;
    int part, parts; /* 1 of 1: a whole ensemble */
    char identity[NH_IDENTITY_TEXT];
    int64_t first, members, records;
    int coordinates, velocities,
        constraints;                     /* widths of the rows; constraints: with multipliers */
    char *model_text, *method, *compose; /* compose NULL: none */
    double step, t0;
    int64_t steps, every, seed;
    bool random, out_of_memory;
    char **setting; /* "NAME=VALUE", all parameters of the model */
    char **column, **swept;
    int settings, columns, sweeps;
    struct nh_part_file *file; /* open for reading */
} nh_part;

nh_status nh_part_open(nh_part *part, const char *path, nh_report *report);
void nh_part_close(nh_part *part);

/* Rows of all recorded times of `members` members from `first` on, counted within the part. The
 * caller provides the memory: q[members][records][coordinates] and so on,
 * value[columns][members][records], and for each member how many records there are, whether it
 * failed, and its swept[sweeps][members]. */
typedef struct nh_part_rows {
    double *q, *v, *multipliers, *value, *swept;
    int64_t *count;
    signed char *failed;
} nh_part_rows;
/* `all` false: values and outcomes only. */
nh_status nh_part_read(const nh_part *part, int64_t first, int64_t members, bool all,
                       const nh_part_rows *rows, nh_report *report);

#endif
