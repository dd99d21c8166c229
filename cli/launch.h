/* Several processes, launched by MPI, that share one ensemble (nh_processes). Without a launcher
 * there is one rank, and all of this does nothing. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "nonholo_mpi.h"
#include "options.h"

typedef struct ranks {
    nonholo_mpi *mpi; /* NULL: no launcher */
    void *module;
    int rank, ranks;
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

#endif
