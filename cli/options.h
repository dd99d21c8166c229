/* The options that the commands share: one table for parsing and help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <nonholo.h>

enum { /* groups; a command takes some of them. --json, --quiet and --help go with all */
       OPTIONS_MODEL = 1 << 0,  /* --set, --start, --q, --v, --t0, --project */
       OPTIONS_METHOD = 1 << 1, /* --method, --compose, --compensated */
       OPTIONS_TIME = 1 << 2,   /* --step, --steps, --time, --every */
       OPTIONS_SPEED = 1 << 3,  /* --backend, --threads */
       OPTIONS_OUTPUT = 1 << 4, /* -o, --plot */
       OPTIONS_ALL = 1 << 5
};

typedef struct options {
    const char **operands;
    int operand_count;
    char **settings; /* --set, split at commas: "NAME=EXPRESSION" each */
    size_t setting_count;
    char *start; /* every --start joined by commas, or NULL */
    const char *q, *v, *method, *compose, *output, *plot; /* NULL when not given */
    double step, time;                                    /* NaN when not given */
    double t0;
    int64_t steps, every, threads; /* -1 when not given */
    int backend, compensated;      /* index into the choices of the table: auto first */
    bool project, json, quiet, help;
} options;

struct command;

/* Returns 0, or the exit code after having complained. options_free in any case. */
int options_parse(options *given, const struct command *asked, int argc, char **argv);
void options_free(options *given);

/* The options of a command, one line each, on standard output. */
void options_help(unsigned groups);

/* A list of exactly `count` numbers out of "1,2,-3"; `name` is the option that messages name. */
int parse_list(const char *name, const char *text, int count, double *values);

#endif
