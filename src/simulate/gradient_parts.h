/* What the files of a gradient share; see nh_gradient in nonholo_analysis.h. */
#ifndef NH_SIMULATE_GRADIENT_PARTS_H
#define NH_SIMULATE_GRADIENT_PARTS_H

#include "analysis/sensitivity.h"
#include "run/backward.h"
#include "simulate/fit.h"

typedef struct nh_gradient_row { /* of the data */
    int64_t node;
    double *residual; /* [columns], times the weight */
} nh_gradient_row;

typedef struct nh_gradient_break { /* a node at which the number is not smooth */
    int64_t node;
    bool inputs; /* they got new values there: it has two values */
} nh_gradient_break;

struct nh_gradient {
    nh_gradient_options options;
    const nh_system *system;
    nh_sensitivity *by;
    nh_plan plan;
    nh_run *run;
    nh_backward *backward;
    nh_fit_column *column; /* [columns] of the data, or the one */
    int *in_data;          /* [columns] the data's columns */
    int columns;
    nh_gradient_row *row; /* [rows] */
    int64_t rows_left;    /* that the way back has not met */
    nh_gradient_break *breaks;
    int64_t breaks_count, breaks_left;
    double time, value;
    double *gradient;           /* [variables] */
    double *d, *weight, *start; /* by numbers of a block; of results of OBSERVE; the first block */
    int64_t moves_planned;
    double seconds[2];
    size_t numbers, memory;
    nh_remarks remarks;
};

/* ---- gradient_number.c: the number ---- */

/* Which number is wanted. */
nh_status nh_gradient_choose(nh_gradient *g, nh_report *report);
/* Its value at a state, and weight times its derivatives, which are added to d. */
double nh_gradient_number(nh_gradient *g, const nh_fit_column *c, double t, const double *block);
void nh_gradient_differentiate(nh_gradient *g, const nh_fit_column *c, double t,
                               const double *block, double weight, double *d);

/* ---- gradient_sum.c: what states contribute ---- */

/* Runs to the end, with all that has to be known for the way back. */
nh_status nh_gradient_run(nh_gradient *g, nh_report *report);
nh_status nh_gradient_sweep(nh_gradient *g, nh_report *report);

#endif
