/* Measured data for `nonholo fit`: tables with a time and columns that the model computes. */
#ifndef CLI_FIT_DATA_H
#define CLI_FIT_DATA_H

#include <nonholo_analysis.h>

#include "subject.h"

typedef struct fit_data {
    nh_fit_data data; /* whose arrays are these: */
    char **column;
    double *t, *value, *weight;
} fit_data;

/* Reads a CSV file whose first line names the columns: t, and coordinates, velocities, observables
 * or energy of the model; an empty cell is a missing value. `weights` (may be NULL) is the name of
 * a column with the weight of each row, or NAME=WEIGHT,... with numbers or names of columns.
 * Returns 0, or the exit code after an error with file, line and column; fit_data_free in any
 * case. */
int fit_data_read(fit_data *out, const subject *s, const char *path, const char *weights);
void fit_data_free(fit_data *d);

#endif
