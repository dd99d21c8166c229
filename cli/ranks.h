/* Several processes that share one ensemble. A launcher (mpirun, srun and others) starts them and
 * sets their ranks in the environment. They communicate through files in a shared folder; no MPI
 * library is needed. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "ensemble_job.h"

/* Rank and number of ranks out of the environment; 0 of 1 when there is no launcher. */
void find_ranks(int *rank, int *ranks);

/* Makes the folder and opens the file for rows of ranks other than 0, at `position`. Returns 0, or
 * the exit code after having complained. */
int ranks_begin(ensemble_job *c, const options *given, int64_t position);
bool rank_is_done(ensemble_job *c,
                  const options *given); /* in an earlier process that was interrupted */

int spill_rows(void *user, const nh_rows *rows); /* hooks of ranks other than 0 */
int spill_member(void *user, const nh_member *member);
nh_status spill_flush(ensemble_job *c, int64_t *position, nh_report *report);

/* The end: other ranks hand over, rank 0 waits for all and joins. */
int ranks_end(ensemble_job *c);
/* Rank 0, when its files stand: nothing of the others is needed any more. */
void ranks_clean(const ensemble_job *c);
void ranks_free(ensemble_job *c);

#endif
