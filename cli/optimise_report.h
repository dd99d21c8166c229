/* What nonholo optimise prints and writes. */
#ifndef CLI_OPTIMISE_REPORT_H
#define CLI_OPTIMISE_REPORT_H

#include <nonholo_analysis.h>

#include "subject.h"

typedef struct optimise_job {
    const options *given;
    subject subject;
    nh_control *control;
    nh_fit_unknown *vary;
    int controls, varied;
    char *names[2]; /* theirs */
    nh_optimum *optimum;
    bool tracked;
} optimise_job;

/* 0, or an error was printed. */
int file_can_be_written(const char *path);

/* Computes the gains of --track. The exit code. */
int given_track(optimise_job *j);
/* The table of inputs, the feedback, the motion and the picture. The exit code. */
int write_optimum(optimise_job *j);
void optimum_text(const optimise_job *j);
void optimum_json(const optimise_job *j);

#endif
