/* One run from start to end, and how it is told. */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include "keeper.h"
#include "subject.h"

typedef struct journey {
    subject subject; /* its state is that of the last recorded point */
    nh_run *run;
    nh_record *record;
    const char *method;
    double step;
    int64_t steps, every;
    nh_archive *archive;       /* of -o, while it is written */
    double *row, *multipliers; /* what goes to it beside the state */
    int64_t recorded;          /* the last step that was */
    double *table, *wrapped;   /* points on the way, as of nh_run_trace */
    int64_t room;              /* for so many of them */
    keeper keeper;
    const char *output, *plot; /* files that were written, or NULL */
    nh_status status;          /* of the computation */
    nh_report failure;         /* when it is not NH_OK */
} journey;

void describe_trip(const journey *trip, char *text, size_t size); /* a line */
void print_text(const journey *trip);
void print_json(const journey *trip);

#endif
