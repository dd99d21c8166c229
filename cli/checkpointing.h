/* Interrupts and checkpoints of long computations. */
#ifndef CLI_CHECKPOINTING_H
#define CLI_CHECKPOINTING_H

#include "options.h"

typedef struct checkpointing {
    const options *given;
    double seconds, last_time; /* from one checkpoint to the next; 0: by steps */
    int64_t steps, last_steps;
} checkpointing;

/* From here on SIGINT, SIGTERM and SIGHUP request a stop instead of ending the process; a signal
 * that comes more than a second after the first ends it. Returns 0, or the exit code after having
 * complained. */
int checkpointing_begin(checkpointing *c, const options *given);
bool interrupted(void);

/* Whether there is work that a signal must not throw away: who asks to stop is told soon
 * that it takes a while, for example until a long step is complete. At other times the process
 * ends then if it is still there. */
void work_is_to_be_saved(bool it_is);

/* Whether it is time for a checkpoint of an ensemble, with so many steps done. */
bool checkpoint_is_due(checkpointing *c, int64_t steps);

/* Prints how to resume after an interruption with a checkpoint. Returns the exit code. */
int tell_how_to_resume(const checkpointing *c, int64_t steps);

/* The work is done: the checkpoint has served. */
void remove_checkpoints(const checkpointing *c);

#endif
