/* An ensemble that is being computed, and its report. */
#ifndef CLI_ENSEMBLE_JOB_H
#define CLI_ENSEMBLE_JOB_H

#include "checkpointing.h"
#include "progress.h"
#include "ranks.h"
#include "subject.h"

enum { SWEEPS_MAX = 8 };

typedef struct ensemble_job {
    subject subject;
    nh_ensemble_options wanted;
    nh_sweep sweep[SWEEPS_MAX];
    char sweep_name[SWEEPS_MAX][128];
    double *list_q, *list_v; /* from --starts, or from --q and --v */
    int64_t list_members;
    int part, parts; /* of --part */
    nh_ensemble *ensemble;
    const char *method;
    nh_plan plan;              /* for members that choose their own steps */
    const char *output, *plot; /* files that were written, or NULL */
    nh_table *table;           /* of members, while it is written */
    double *row;               /* of that table */
    double *outcome;           /* of every member, for the picture; NULL: not needed, or too many */
    nh_archive *archive;       /* of all members' trajectories, while it is written */
    checkpointing checkpointing;
    ranks ranks;
    nh_lock *lock[3]; /* of the checkpoint, of what it resumes from, of a table */
    int64_t done;     /* steps of all members, at the last checkpoint */
    bool saved;       /* a checkpoint was made */
    progress bar;
    nh_status status; /* of the computation as a whole */
    nh_report failure;
} ensemble_job;

/* Reads start states from a file of comma-separated values: the first line names coordinates and
 * velocities; those that it omits are the subject's. Returns 0, or the exit code after printing an
 * error. */
int read_starts(ensemble_job *c, const char *path, bool project);

/* The table of -o: statistics at the end, members as they are finished. */
int begin_member_table(ensemble_job *c, const char *path);
int add_member(void *user, const nh_member *member); /* a hook */
int write_statistics(ensemble_job *c, const char *path);

/* Whether -o asks for a table, of statistics or of members, rather than all trajectories. */
bool is_csv(const char *path);

/* Trajectories of all members, in HDF5; and checkpoints. Hooks return 1 after a failure, with
 * c->failure. */
int open_ensemble_files(ensemble_job *c, const options *given);
int flush_archive(ensemble_job *c); /* the exit code after printing an error */
int add_rows(void *user, const nh_rows *rows);
int add_member_to_archive(void *user, const nh_member *member);
int ensemble_checkpoint_is_due(void *user, int64_t done);
int write_ensemble_checkpoint(void *user, const void *bytes, size_t size, int64_t done);
int close_archive(ensemble_job *c);

/* The picture: room for the outcomes of the members (false without memory), what the hook for rows
 * passes on to it, and drawing. */
bool keep_outcomes(ensemble_job *c);
void add_outcomes(ensemble_job *c, const nh_rows *rows);
int plot_ensemble(ensemble_job *c, const char *path);
void print_ensemble_text(const ensemble_job *c);
void print_ensemble_json(const ensemble_job *c);

#endif
