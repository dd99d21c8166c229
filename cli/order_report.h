/* The report of nonholo order as text, JSON and plot. */
#ifndef CLI_ORDER_REPORT_H
#define CLI_ORDER_REPORT_H

#include <nonholo_analysis.h>

#include "method_list.h"

enum { STEP_SIZES_MAX = 40 };

/* One method at all step sizes. */
typedef struct series {
    const candidate *method;
    double error[STEP_SIZES_MAX]; /* the largest of the end state's components; NaN: failed */
    nh_point mark[STEP_SIZES_MAX];
    char failure[STEP_SIZES_MAX][400]; /* why, or "" */
    nh_order order;
} series;

typedef struct survey {
    subject subject;
    candidate *methods;
    int method_count;
    const char *compose, *plot;
    double time;                   /* from the start to where the error is measured */
    int sizes;                     /* of steps */
    int64_t steps[STEP_SIZES_MAX]; /* rising */
    double h[STEP_SIZES_MAX];
    double tolerance;
    nh_convergence *reference;
    series *series;
    bool no_memory;           /* for some run */
    bool leaves_out, refused; /* methods that meet a mode which they cannot follow; the last did */
} survey;

void order_print_text(const survey *s);
void order_print_json(const survey *s);
int order_draw(const survey *s, const char *path); /* 0, or the exit code after a complaint */

#endif
