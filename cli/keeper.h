/* Interruptions and checkpoints of long computations. */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "options.h"

typedef struct keeper {
    const options *given;
    double seconds, last_time; /* from one checkpoint to the next; 0: by steps */
    int64_t steps, last_steps;
} keeper;

/* From here on SIGINT and SIGTERM ask to stop instead of ending the process; a second one ends it.
 * Returns 0, or the exit code after having complained. */
int keeper_begin(keeper *k, const options *given);
bool keeper_interrupted(void);

/* Whether it is time for a checkpoint, with so many steps done. */
bool keeper_due(keeper *k, int64_t steps);

/* After an interruption with a checkpoint: how to go on. Returns the exit code. */
int keeper_tell(const keeper *k, int64_t steps);

/* The work is done: the checkpoint has served. */
void keeper_end(const keeper *k);

#endif
