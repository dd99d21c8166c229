/* nonholo run --precision quad. */
#ifndef CLI_RUN_PRECISE_H
#define CLI_RUN_PRECISE_H

#include "options.h"

/* Returns the exit code. */
int run_precisely(const options *given);

#endif
