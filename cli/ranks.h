/* Several processes that share one ensemble, launched by MPI: they take blocks of members from one
 * counter, so that slow members hold up nobody, write to one file, make checkpoints together, and
 * rank 0 joins their results. Without a launcher there is one rank, and all of this does nothing.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "nonholo_mpi.h"
#include "options.h"

struct ensemble_job;

typedef struct ranks {
    const nonholo_mpi *mpi; /* NULL: no launcher */
    void *module;
    int rank, ranks;
    int64_t round;      /* of checkpoints that this rank took part in */
    int64_t steps_told; /* for the progress bar */
    int64_t steps_of_others;
    double looked, counted; /* at the counters for checkpoints and for steps, when */
    bool stop_told;
    bool together;     /* all ranks end by themselves */
    bool other_failed; /* when this rank last looked: it is to end, and the other has said why */
} ranks;

/* Finds out whether a launcher started this process as one of several, and joins the others.
 * Returns 0, or the exit code after having complained. */
int ranks_begin(ranks *r, const options *given);
/* The end of every rank. Where the exit code says that this one failed, all are to end: they are
 * told, get some seconds to put their files in order, and then MPI ends those that are left. */
void ranks_end(ranks *r, int code);

/* All ranks wait for each other. If the answer of any is not 0, all get it and are to end; the
 * first of them tells its complaint, which was kept if it is not rank 0. */
int ranks_agree(ranks *r, int answer);
/* Bytes of rank 0 for all. False without memory; `*bytes` is freed by the caller. */
bool ranks_receive(ranks *r, void **bytes, size_t *size);
/* Whether this rank is about to compute the same as rank 0: 0, or the exit code after having
 * complained. Their machines may differ, or the files there, or the command lines. */
int ranks_compare(ranks *r, const nh_ensemble *ensemble);

/* Hooks of the ensemble, with the job as user. */
int64_t ranks_fetch_add(void *user, int64_t count);
int ranks_meet(void *user);
/* Steps of all ranks, of which this rank has done `own`; known on rank 0 only, and as they were
 * when it last looked. Looks for ranks that failed, too. */
int64_t ranks_steps(ranks *r, int64_t own);
/* Whether a checkpoint is to be made; on rank 0 `wanted` says so. */
bool ranks_round(ranks *r, bool wanted);
/* Whether a rank was interrupted. */
bool ranks_stopping(ranks *r);
/* The bytes of all ranks, on rank 0, which frees them. */
void *ranks_gather(ranks *r, const void *bytes, size_t size, size_t *sizes);

/* After this rank's work: takes part in checkpoints until all ranks are done, then joins the
 * results on rank 0. Returns 0, RANKS_STOPPED after an interruption or a checkpoint that failed, or
 * the exit code after having complained. */
enum { RANKS_STOPPED = -1 };
int ranks_finish(struct ensemble_job *c);

#endif
