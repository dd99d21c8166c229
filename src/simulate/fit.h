/* Least squares for a model and data: internals of nh_fit (nonholo_analysis.h). The residuals are
 * those of values that are there, times the roots of their weights. */
#ifndef NH_SIMULATE_FIT_H
#define NH_SIMULATE_FIT_H

#include <nonholo_analysis.h>

#include "base/remarks.h"
#include "base/text.h"
#include "model/suggest.h"
#include "simulate/unknowns.h"

typedef struct nh_fit_column { /* what is measured */
    enum { NH_FIT_POSITION, NH_FIT_VELOCITY, NH_FIT_ENERGY, NH_FIT_OBSERVABLE } kind;
    int index;
    bool angle; /* only known up to whole turns */
} nh_fit_column;

typedef struct nh_fit_run { /* one table of data */
    const nh_fit_data *data;
    nh_fit_column *column;
    nh_unknowns varied;
    int *unknown;             /* of each of its varied values, which one it is */
    double *room;             /* of the arrays that follow */
    double *model, *residual; /* [rows][columns] computed last; NaN where a value is missing */
    double *kept_model, *kept_residual; /* those that were kept */
    nh_plan plan;
    int64_t *steps; /* [rows] up to each, if the method chooses them */
    double longest; /* ... no longer than this */
    int64_t first;  /* of its residuals */
} nh_fit_run;

typedef struct nh_fit_problem {
    const nh_system *system;
    nh_start_options start;
    nh_run_options how;
    nh_fit_run *run;
    int runs, count; /* unknowns, those of starts for each run */
    char **name;     /* [count] */
    int *given;      /* [count] which of the unknowns of the options */
    int64_t values;  /* that are not missing */
    double *r, *J;   /* [values], [values][count], of model - data */
    double *factor;  /* [values] of robust weights; NULL: 1 */
    double *x;       /* [count] where they were computed */
    nh_remarks *remarks;
} nh_fit_problem;

/* What a name means: a coordinate, a velocity, an observable or "energy". */
bool nh_fit_find_column(const nh_system *system, const char *name, nh_fit_column *out);
/* Which one a misspelt name may have meant. */
nh_suggest_text nh_fit_suggest_column(const nh_system *system, const char *name);

/* Looks up names and counts values. nh_fit_problem_end in any case. */
nh_status nh_fit_problem_begin(nh_fit_problem *p, const nh_system *system,
                               const nh_fit_options *options, nh_remarks *remarks,
                               nh_report *report);
void nh_fit_problem_end(nh_fit_problem *p);

/* Moves the runs to values of the unknowns. */
nh_status nh_fit_move(nh_fit_problem *p, const double *x, nh_report *report);

/* Chooses the steps for the present values, if the method would choose its own. */
nh_status nh_fit_freeze_steps(nh_fit_problem *p, nh_report *report);

/* Residuals and their derivatives for values of the unknowns. */
nh_status nh_fit_evaluate(nh_fit_problem *p, const double *x, nh_report *report);

/* Keeps the residuals of all runs that were computed last, for users. */
void nh_fit_keep(nh_fit_problem *p);

/* What data cannot tell: `flat` has `dimension` rows, changes of `count` unknowns with the values x
 * that change no residual. Writes a sentence for each, "m and J only occur as J/m". */
void nh_fit_describe_flat(int count, char *const *name, const double *x, int dimension,
                          const double *flat, nh_text *text);

#endif
