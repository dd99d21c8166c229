/* The report of nonholo compare as text, JSON and plot. */
#ifndef CLI_COMPARE_REPORT_H
#define CLI_COMPARE_REPORT_H

#include <nonholo_analysis.h>

#include "json.h"
#include "method_list.h"

enum { PANELS_MAX = 9, BINS = 1000 };        /* of the picture: quantities, and points in time */
enum { JUDGED = 32, JUDGED_POINTS = 20000 }; /* quantities with a verdict, and its points */
enum { SURFACE_POINTS = 512 };               /* where integrated constraints are evaluated */
enum { SIZED_POINTS = 64 };                  /* where the size of their terms is evaluated */

/* One method: the errors of each quantity. The quantities are the integrals of the system; the
 * latitude if there is one; leapfrog's discrete energy if there is one; if there are constraints,
 * the largest |k|, whose error is its value; and if they are holonomic, the largest integrated
 * constraint, which is evaluated less often. */
typedef struct course {
    const candidate *method;
    nh_trend *trend; /* [quantities] of the error in time */
    double *last;    /* [quantities] the error at the end */
    double *start;   /* [integrals] their values at the start */
    double *size;    /* [quantities] size of their terms; the last is for all constraints */
    double *series;  /* [JUDGED + 1][JUDGED_POINTS]: the errors, and last the times */
    int64_t points;
    nh_holonomic *holonomic; /* NULL: nothing to follow, or it was lost */
    double *surface;         /* [2][SURFACE_POINTS]: the integrated constraints, and the times */
    int64_t surface_points;
    nh_judgement *judgement; /* [JUDGED] */
    double *bins;            /* [PANELS_MAX][BINS] largest errors, NaN where there is none */
    double *bin_times;       /* [BINS] */
    int64_t steps;           /* done */
    double ns_per_step, seconds;
    const char *backend;
    nh_status status;
    nh_report failure;
    char doubt[512]; /* the first remark of its run, or nothing */
} course;

typedef struct contest {
    subject subject;
    candidate *methods;
    int method_count;
    const char *compose, *plot;
    bool leaves_out;   /* methods that meet a mode which they cannot follow */
    bool brief;        /* only verdicts are needed: no second run for the cost, and no remarks */
    double step, time; /* time: the length of a run */
    int64_t steps, every;
    int conserved;         /* integrals that have a formula */
    int integrals;         /* with latitude and discrete energy */
    int quantities;        /* and with those of constraints */
    bool discrete;         /* the last of the integrals is leapfrog's discrete energy */
    bool holonomic;        /* the last quantity is the integrated constraints */
    nh_latitude *latitude; /* NULL: there is none */
    double *start;         /* [integrals] at the start; the discrete energy has none */
    course *courses;
} contest;

/* compare.c: runs the comparison that the options describe. Returns 0, or the exit code after
 * printing an error; a method that fails is a result. contest_free in any case. */
int contest_run(contest *c, const options *given);
void contest_free(contest *c);

/* The index of the integrated constraints, if c->holonomic. */
int integrated_constraints(const contest *c);

const char *quantity_name(const contest *c, int quantity);

void compare_print_text(const contest *c);
void compare_print_json(const contest *c);
void compare_put_json(json *j, const contest *c);     /* the members of an object */
int compare_draw(const contest *c, const char *path); /* 0, or an exit code after an error */

#endif
