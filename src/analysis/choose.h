/* Chooses rows of a matrix that are independent, by elimination. The order of the rows is an order
 * of preference. */
#ifndef NH_ANALYSIS_CHOOSE_H
#define NH_ANALYSIS_CHOOSE_H

#include <stdbool.h>

typedef struct nh_choose {
    int rows, columns;
    double *a;         /* [rows][columns] what remains of the matrix */
    bool *used;        /* [rows] */
    int *row, *column; /* [columns] the pivots */
    int count;         /* of them so far */
} nh_choose;

/* Chooses among those rows in [from, to) that are allowed (NULL: all), while one has an entry above
 * `least`: the first whose largest entry is at least `share` times the largest of all. */
void nh_choose_among(nh_choose *w, int from, int to, const bool *allowed, double least,
                     double share);

#endif
