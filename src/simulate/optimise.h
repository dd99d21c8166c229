/* Internals of nh_optimise (nonholo_analysis.h): the search (optimise.c), what was found
 * (optimum.c), and feedback along it (track.c). */
#ifndef NH_SIMULATE_OPTIMISE_H
#define NH_SIMULATE_OPTIMISE_H

#include <nonholo_analysis.h>

#include "base/remarks.h"
#include "base/text.h"
#include "simulate/pieces.h"

struct nh_optimum {
    nh_optimise_options options;
    nh_pieces p;
    int n;                     /* unknowns */
    double *x, *lower, *upper; /* the optimum, and bounds */
    double *least, *most;      /* of the rows of conditions */
    double *multiplier;        /* [rows] */
    double *best;              /* the best point of the present search */
    double best_cost, best_violation;
    double cost, violation, slope;
    int guess, iterations, reached; /* reached: guesses that led to the goal */
    int steps;                      /* in a piece, of the best guess */
    int patience;                   /* iterations of a search, at most */
    bool stopped, falls;            /* falls: the cost, without limit */
    double first_cost;              /* with the values that are given */
    int64_t motions_most;           /* until the present search ends */
    nh_status ended;                /* out of memory or stopped: nothing more is computed */
    double saved, saved_cost;       /* when options.save was written, and what */
    nh_report last;                 /* why a motion could not be computed */
    nh_system *system;              /* with the optimum as tables */
    nh_text *setting;               /* [controls] */
    double *gain;                   /* [pieces][controls][states]; NULL: not computed */
    nh_text *law;                   /* [controls] */
    nh_remarks remarks;
};

/* The largest of what the conditions lack, at the point that was computed last. */
double nh_optimum_lack(const nh_optimum *o);
/* optimum.c: settings and the system of the result. */
nh_status nh_optimum_describe(nh_optimum *o, nh_report *report);

/* Writes the inputs to a file that a setting "u:held=FILE.csv" takes. */
nh_status nh_optimum_save(const nh_optimum *o, const char *path, nh_report *report);

#endif
