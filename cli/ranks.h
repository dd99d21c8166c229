/* Several processes, launched by MPI, that share one ensemble: they take blocks of members from one
 * counter, so that slow members delay nobody, write to one file, and make checkpoints together;
 * rank 0 combines their results. Without a launcher there is one rank, and all of this does
 * nothing. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "nonholo_mpi.h"
#include "options.h"

struct ensemble_job;

typedef struct ranks {
    const nonholo_mpi *mpi; /* NULL: no launcher */
    void *module;
    int rank, ranks;
    int64_t round;      /* number of checkpoints in which this rank took part */
    int64_t steps_told; /* for the progress bar */
    int64_t steps_of_others;
    double looked, counted; /* when it last read the counters for checkpoints and for steps */
    bool stop_told;
    bool together;     /* all ranks end by themselves */
    bool other_failed; /* at the last reading: this rank has to end, and another one has said why */
} ranks;

/* Finds out whether a launcher started this process as one of several, and joins the others.
 * Returns 0, or the exit code after printing an error. */
int ranks_begin(ranks *r, const options *given);
/* Ends a rank. If the exit code says that this one failed, all have to end: they are notified, get
 * some seconds to put their files in order, and then MPI ends those that are left. */
void ranks_end(ranks *r, int code);

/* All ranks wait for each other. If any rank's answer is not 0, all get that answer and have to
 * end; the first such rank prints its complaint, which was held back if it is not rank 0. */
int ranks_agree(ranks *r, int answer);
/* Bytes from rank 0 to all. False without memory; `*bytes` is freed by the caller. */
bool ranks_receive(ranks *r, void **bytes, size_t *size);
/* Checks that this rank is about to compute the same as rank 0: 0, or the exit code after printing
 * an error. The machines, their files, or the command lines may differ. */
int ranks_compare(ranks *r, const nh_ensemble *ensemble);

/* Hooks of the ensemble, with the job as user. */
int64_t ranks_fetch_add(void *user, int64_t count);
int ranks_meet(void *user);
/* Steps of all ranks, of which this rank has done `own`; known on rank 0 only, as of its last
 * reading. Also checks for ranks that failed. */
int64_t ranks_steps(ranks *r, int64_t own);
/* Whether to make a checkpoint; on rank 0 `wanted` decides. */
bool ranks_round(ranks *r, bool wanted);
/* Whether a rank was interrupted. */
bool ranks_stopping(ranks *r);
/* The bytes of all ranks, on rank 0, which frees them. */
void *ranks_gather(ranks *r, const void *bytes, size_t size, size_t *sizes);

/* After this rank's work: takes part in checkpoints until all ranks are done, then combines the
 * results on rank 0. Returns 0, RANKS_STOPPED after an interruption or a checkpoint that failed, or
 * the exit code after printing an error. */
enum { RANKS_STOPPED = -1 };
int ranks_finish(struct ensemble_job *c);

#endif
