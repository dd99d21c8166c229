/* Interrupts and checkpoints of long computations. */
#ifndef CLI_CHECKPOINTING_H
#define CLI_CHECKPOINTING_H

#include <nonholo.h>

#include "options.h"

typedef struct checkpointing {
    const options *given;
    double seconds; /* from one checkpoint to the next; 0: by steps */
    int64_t steps;
} checkpointing;

/* From here on SIGINT, SIGTERM and SIGHUP request a stop instead of ending the process; a signal
 * more than a second after the first ends it. Returns 0, or the exit code after printing an
 * error. */
int checkpointing_begin(checkpointing *c, const options *given);
bool interrupted(void);
int is_interrupted(void *user); /* the same as a hook */
/* The files and the interval, as requested. */
void use_checkpoints(const checkpointing *c, nh_simulation_options *wanted);

/* Whether there is work that a signal must not discard: then a user who asks to stop is soon told
 * that it takes a while, for example until a long step is complete. Otherwise the process ends at
 * that point if it is still running. */
void work_is_to_be_saved(bool it_is);

/* Prints how to resume after an interruption with a checkpoint. Returns the exit code. */
int tell_how_to_resume(const checkpointing *c, int64_t steps);

#endif
