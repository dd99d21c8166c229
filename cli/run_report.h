/* One run from start to end, and its report. */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "subject.h"

typedef struct run_job {
    subject subject; /* its state is the start and, in the report, the last recorded one */
    nh_simulation *simulation;
    const nh_run *run;       /* the simulation's */
    const nh_record *record; /* the simulation's */
    nh_run_options how;      /* as requested */
    nh_simulation_options wanted;
    nh_sensitivity *sensitivity; /* NULL: not wanted */
    nh_verified verified;        /* if `verifies` */
    bool verifies;
    const nh_plan *plan; /* the simulation's */
    checkpointing checkpointing;
    const char *output, *plot; /* files that were written, or NULL */
    nh_estimate estimate;      /* of the error at the end */
    nh_status status;          /* of the computation */
    nh_report failure;         /* when it is not NH_OK */
} run_job;

void describe_run(const run_job *job, char *text, size_t size); /* a line */
void print_text(const run_job *job);
void print_json(const run_job *job);

#endif
