/* An ensemble that is being computed, and its report. */
#ifndef CLI_ENSEMBLE_JOB_H
#define CLI_ENSEMBLE_JOB_H

#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "progress.h"
#include "launch.h"
#include "subject.h"

enum { SWEEPS_MAX = 8 };

typedef struct ensemble_job {
    subject subject;
    nh_run_options how; /* as requested */
    nh_simulation_options wanted;
    nh_sweep sweep[SWEEPS_MAX];
    char sweep_name[SWEEPS_MAX][128];
    nh_variation *variation; /* of --random, or the columns of --members FILE */
    char (*variation_name)[128];
    nh_datafile *values;     /* of that file */
    double *list_q, *list_v; /* from --starts, or from --q and --v */
    int64_t list_members;
    nh_simulation *simulation;
    const nh_plan *plan;       /* the simulation's */
    const char *output, *plot; /* files that were written, or NULL */
    nh_table *table;           /* of members, while it is written */
    nh_lock *lock;             /* of a table */
    double *row;               /* of that table */
    checkpointing checkpointing;
    ranks ranks;
    progress bar;
} ensemble_job;

/* Reads start states from a file of comma-separated values: the first line names coordinates and
 * velocities; those that it omits are the subject's. Returns 0, or the exit code after printing an
 * error. */
int read_starts(ensemble_job *c, const char *path, bool project);

/* What --random and --members FILE say about the members. Returns 0, or the exit code after
 * printing an error. */
int read_variations(ensemble_job *c, const options *given);

/* The table of -o: statistics at the end, members as they are finished. */
int begin_member_table(ensemble_job *c, const char *path);
int add_member(void *user, const nh_member *member); /* a hook */
int write_statistics(ensemble_job *c, const char *path);
int write_section(ensemble_job *c, const char *path);

/* The picture: which rows it needs, and drawing. */
nh_keep rows_to_draw(const ensemble_job *c);
int plot_ensemble(ensemble_job *c, const char *path);
/* How the members take their steps: "step 0.1", "tolerance 1e-09". */
int method_length(const ensemble_job *c);
void describe_steps(const ensemble_job *c, char *text, size_t size);
void print_ensemble_text(const ensemble_job *c);
void print_ensemble_json(const ensemble_job *c);

#endif
