/* A figure as read from its file: what is computed, what is plotted, what is expected.
 *
 * Every case is computed with every method; the outcomes are series over time (or over step sizes),
 * which are plotted in panels and measured by findings. */
#ifndef NH_FIGURE_FIGURE_H
#define NH_FIGURE_FIGURE_H

#include <nonholo_analysis.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/source.h"

enum {
    NH_FIGURE_OPERATIONS = 8, /* of one chain */
    NH_FIGURE_ITEMS = 24,     /* of a set or start statement, of a sweep; points of a panel */
    NH_FIGURE_LIST = 48       /* cases, methods, panels */
};

/* "mean 30 error energy": operations on a series, applied from right to left. */
typedef enum nh_series_op {
    NH_SERIES_ERROR,       /* y - y(0) */
    NH_SERIES_RELATIVE,    /* (y - y(0))/y(0) */
    NH_SERIES_LOG,         /* log(y/y(0)) */
    NH_SERIES_ABS,         /* |y| */
    NH_SERIES_MEAN,        /* running mean over `value` */
    NH_SERIES_PER,         /* divided by h^value, or by the quantity `by` */
    NH_SERIES_VARIANCE,    /* over the members */
    NH_SERIES_MEAN_SQUARE, /* over the members */
    NH_SERIES_EACH,        /* every member on its own */
    NH_OPERATIONS
} nh_series_op;

typedef struct nh_chain {
    nh_series_op op[NH_FIGURE_OPERATIONS];
    double value[NH_FIGURE_OPERATIONS];
    const char *by[NH_FIGURE_OPERATIONS]; /* the quantity of `per`, or NULL: a power of the step */
    int ops;
    const char *quantity;
    nh_place place;
} nh_chain;

/* What is computed. A case begins with the settings of the figure and changes some of them. */
typedef struct nh_setup {
    const char *model, *compose;
    const char *set[NH_FIGURE_ITEMS], *start[NH_FIGURE_ITEMS]; /* NAME=EXPRESSION */
    int sets, starts;
    bool project;
    double step, time, quick_time; /* NaN when not given */
    int64_t every;                 /* 0: a suitable number of points */
    int members, quick_members;    /* 0: one */
    double energy;                 /* of random starts */
    uint64_t seed;
    const char *swept; /* the parameter that makes the members differ, or NULL */
    double sweep[NH_FIGURE_ITEMS];
    int quick_halvings; /* 0: the same number */
    int halvings;       /* > 0: errors at the end, for `step` and this many halvings of it */
    nh_place place;
} nh_setup;

typedef struct nh_case {
    const char *name, *label;
    nh_setup setup;
} nh_case;

typedef struct nh_contestant {
    const char *text, *label, *compose; /* compose: NULL, or its own */
    double step;                        /* its own, or NaN */
    nh_place place;
} nh_contestant;

typedef struct nh_figure_panel { /* a panel */
    const char *title, *x_label, *y_label;
    nh_chain y, x;
    bool has_x, x_log, y_log, equal, marks;
    bool in_case[NH_FIGURE_LIST], by_method[NH_FIGURE_LIST]; /* what is drawn */
    bool some_case, some_method;                             /* false: all */
    double y_range[2], x_range[2];                           /* NaN: chosen by the data */
    double guide; /* a line of this slope through 0, or of this power on logarithmic scales; NaN:
                     none */
    double guide_factor;
    double point_x[NH_FIGURE_ITEMS], point_y[NH_FIGURE_ITEMS]; /* single points, marked */
    int points;
    nh_place place;
} nh_figure_panel;

typedef enum nh_finding_kind {
    NH_MEASURE_MAX,      /* the largest |y| */
    NH_MEASURE_LAST,     /* y at the end */
    NH_MEASURE_SLOPE,    /* of a line fitted insensitively to oscillations */
    NH_MEASURE_DRIFT,    /* its size */
    NH_MEASURE_LINE,     /* the slope of the plain least-squares line */
    NH_MEASURE_RATE,     /* of a mean square that grows like rate*t */
    NH_MEASURE_EXPONENT, /* of t, with which it grows */
    NH_MEASURE_ORDER,    /* of the errors over step sizes */
    NH_MEASURE_GROWTH,   /* the factor per step, while y is small */
    NH_MEASURE_VERDICT,
    NH_MEASURES
} nh_finding_kind;

typedef struct nh_measurement {
    nh_finding_kind measure;
    nh_chain chain;
    int by_case, by_method; /* by_case -1: every case */
} nh_measurement;

typedef enum nh_tolerance {
    NH_WITHIN_SHARE,
    NH_WITHIN_FACTOR,
    NH_WITHIN_SIZE,
    NH_WITHIN_BAND
} nh_tolerance;

typedef struct nh_finding_role {
    bool needs_time; /* cannot be checked in quick runs */
    bool is_claim;   /* of others */
    bool is_test;    /* fails if it does not hold; else only reported */
} nh_finding_role;

typedef struct nh_expectation { /* an expected result */
    const char *text;
    nh_measurement left, right;
    char relation; /* '=', '<', '>', 'i' for is */
    bool compared; /* `right` is a measurement; else `value` */
    nh_finding_role role;
    double value, allowed, band[2];
    nh_tolerance tolerance;
    const char *verdict;
    nh_place place;
} nh_expectation;

typedef struct nh_figure_table { /* instead of panels: methods by cases and quantities */
    nh_finding_kind measure;
    nh_chain column[NH_FIGURE_LIST];
    int columns;
} nh_figure_table;

/* One method on one case. */
typedef struct nh_outcome {
    nh_status status; /* NH_NOT_APPLICABLE: the method does not apply to the case */
    nh_report report;
    int members, names;
    const char **name; /* what was measured, in the order of the data */
    int64_t points, steps;
    double step;
    double *t;      /* [points] */
    double *data;   /* [members][names][points] */
    int halvings;   /* of the step; 0: a series over time */
    nh_order order; /* of a study of step sizes */
} nh_outcome;

/* The end state with which those of a case are compared; computed once. Each method sets
 * the system. */
typedef struct nh_target {
    bool known;
    nh_status status;
    nh_report report;
    nh_convergence *reference;
} nh_target;

struct nh_figure {
    nh_arena arena;
    nh_source source;
    const char *name, *title, *credit;
    nh_setup setup; /* what cases begin with */
    nh_case *cases;
    nh_contestant *methods;
    nh_figure_panel *panels;
    nh_expectation *findings;
    nh_figure_table table;
    bool has_table;
    int case_count, method_count, panel_count, finding_count;
    bool quick_is_shorter;
    nh_target *target;   /* [cases] while and after a run */
    nh_outcome *outcome; /* [cases][methods] after a run, else NULL */
    bool quick;          /* how it was run */
    nh_finding *result;  /* for each finding; `in every case` makes several */
    int result_count;
    double seconds;
};

enum { NH_FINDINGS_MOST = 200 };

/* parse.c: reads figure->source; statement.c: what each statement means. */
nh_status nh_figure_read(nh_figure *figure, nh_report *report);

/* series.c: the series of a chain for one member; a chain that combines members uses all of
 * them. */
typedef struct nh_series {
    int64_t count;
    double *x, *y;
} nh_series;
nh_status nh_series_make(nh_series *out, const nh_outcome *outcome, const nh_chain *chain,
                         int member);
void nh_series_free(nh_series *series);
bool nh_chain_has(const nh_chain *chain, nh_series_op op);
int nh_outcome_find(const nh_outcome *outcome, const char *name); /* -1: not measured */

/* study.c, errors.c, drifts.c: fill one outcome; threads call it with different ones. */
nh_status nh_study(const nh_figure *figure, int by_case, int by_method, nh_outcome *out);
nh_status nh_study_errors(nh_target *target, const nh_setup *setup, const nh_contestant *method,
                          const nh_system *system, double time, const double *q, const double *v,
                          nh_outcome *out);
/* Names the columns of an outcome over the sizes of steps, and makes room for them. */
nh_status nh_outcome_of_sizes(nh_outcome *out, const char *const *names, int count, int sizes);
bool nh_wants_drifts(const nh_outcome *outcome);
nh_status nh_study_drifts(const nh_setup *setup, const nh_contestant *method,
                          const nh_system *system, double time, const double *q, const double *v,
                          nh_outcome *out);
void nh_outcome_free(nh_outcome *outcome);

/* finding.c: measures every finding. */
nh_status nh_figure_check(nh_figure *figure, nh_report *report);
double nh_measure_outcome(const nh_outcome *outcome, nh_finding_kind measure, const nh_chain *chain,
                          nh_judgement *judgement);

/* verdict_table.c */
nh_status nh_figure_draw_table(const nh_figure *figure, const char *path, nh_report *report);
nh_status nh_figure_write_table(const nh_figure *figure, const char *path, nh_report *report);

static inline nh_outcome *nh_figure_outcome(const nh_figure *figure, int by_case, int by_method)
{
    return figure->outcome + by_case * figure->method_count + by_method;
}

#endif
