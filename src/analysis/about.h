/* The linearisation of a system at any values of its parameters, with all that it is made of. */
#ifndef NH_ANALYSIS_ABOUT_H
#define NH_ANALYSIS_ABOUT_H

#include "analysis/reduced.h"
#include "analysis/eigenvalues.h"

typedef struct nh_about {
    nh_start_options start;
    bool keep_symmetries;
    int zeros; /* how many eigenvalues are zero, if that is known; otherwise -1 */
    nh_local local;
    nh_generators generators;
    nh_steady steady;
    nh_reduced reduced;
    nh_spectrum spectrum;
    double *point; /* the start */
} nh_about;

/* nh_about_end in either case. */
nh_status nh_about_begin(nh_about *s, const nh_system *system, const nh_start_options *start,
                         bool keep_symmetries, nh_report *report);
void nh_about_end(nh_about *s);

/* The index of a parameter that may be varied; otherwise -1, with the reason. */
int nh_about_parameter(const nh_about *s, const char *name, nh_report *report);

/* Prepares for values of a parameter between two: only symmetries that all of them have count. */
nh_status nh_about_vary(nh_about *s, int parameter, const double range[2], nh_report *report);

/* Sets a parameter; -1: none. Finds the steady motion and linearises. */
nh_status nh_about_find(nh_about *s, int parameter, double value, nh_report *report);

/* How the start's q and v change with a parameter, as a direction of points. */
nh_status nh_about_start_along(nh_about *s, int parameter, double *direction, nh_report *report);

/* How A changes with a parameter along the steady motions, [order][order]. */
nh_status nh_about_along(nh_about *s, int parameter, double *change, nh_report *report);

#endif
