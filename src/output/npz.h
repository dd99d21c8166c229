/* Named arrays in one file for numpy.load; see npz.c. */
#ifndef NH_OUTPUT_NPZ_H
#define NH_OUTPUT_NPZ_H

#include "output/file.h"

/* One array of the file. */
typedef struct nh_npz_array {
    char name[256];
    int first, columns; /* of the rows: one number each, or with `list` a list, possibly empty */
    bool list;
    const char *const *label; /* if not NULL, these words instead */
    int labels;
    const double *table; /* if not NULL, this matrix instead, of `rows` by `columns` */
    int rows;
} nh_npz_array;

/* Makes `path` from `count` rows of `width` numbers each, which were collected in a file; it
 * appears under its name when it is complete. `rows` is not changed. `lasting`: until then it has a
 * name that a later process finds and takes over. */
nh_status nh_npz_write(const char *path, nh_file *rows, int64_t count, int width,
                       const nh_npz_array *array, int arrays, bool lasting, nh_report *report);

#endif
