/* The descriptor of a command; each command defines one at the end of its file. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

/* The exit codes that users rely on. */
enum { DONE = 0, FAILED = 1, BAD_USAGE = 2 };

typedef struct command {
    const char *name;
    const char *summary;   /* one line */
    const char *operands;  /* "MODEL --method METHOD ..." as the usage line shows it */
    const char *help;      /* what it does, in a few lines */
    const char *examples;  /* a command line each */
    option_groups options; /* groups of options.h that it takes */
    int operands_least, operands_most;
    int (*run)(const options *given);
} command;

#define COMMAND(name) extern const command command_##name;
#include "commands.def"
#undef COMMAND

#endif
