/* The options of all commands: one table serves the parser and the help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <nonholo.h>

enum { /* groups; a command takes some of them. --json, --quiet and --help go with all */
       OPTIONS_MODEL = 1 << 0,  /* --set, --start, --q, --v, --t0, --project */
       OPTIONS_METHOD = 1 << 1, /* --method, --compose, --compensated */
       OPTIONS_TIME = 1 << 2,   /* --step, --steps, --time, --every */
       OPTIONS_SPEED = 1 << 3,  /* --backend, --threads */
       OPTIONS_OUTPUT = 1 << 4, /* -o, --plot */
       OPTIONS_ALL = 1 << 5,
       OPTIONS_METHODS = 1 << 6,    /* --methods, --compose, --compensated */
       OPTIONS_ORDER = 1 << 7,      /* --step, --time, --halvings, --steps-list, --tolerance */
       OPTIONS_PLOT = 1 << 8,       /* --plot alone */
       OPTIONS_KEEP = 1 << 10,      /* --checkpoint, --checkpoint-every, --resume */
       OPTIONS_ESTIMATE = 1 << 13,  /* --estimate, --no-estimate */
       OPTIONS_REPRODUCE = 1 << 11, /* --quick, --out, --threads */
       OPTIONS_BENCH = 1 << 12,     /* --step alone */
       OPTIONS_CACHE = 1 << 14,     /* --clear */
       OPTIONS_TOLERANCE = 1 << 15, /* --tolerance, --absolute */
       OPTIONS_DENSE = 1 << 16,     /* --times, --every-time */
       OPTIONS_JOIN = 1 << 17,      /* -o, --virtual */
       OPTIONS_VIEW = 1 << 20,      /* --port, --no-open */
       OPTIONS_COLUMNS = 1 << 21,   /* --columns, -o */
       OPTIONS_STOP = 1 << 18,      /* --stop */
       OPTIONS_SECTION = 1 << 19,   /* --section, --observe */
       OPTIONS_EXPORT = 1 << 24,    /* --format, --step, --real, --fmi, --name, -o */
       OPTIONS_CHECK = 1 << 25,     /* --latex */
       OPTIONS_EXPAND = 1 << 26,    /* --expand */
       OPTIONS_LINEARISE = 1 << 27, /* --sweep, --locate, --matrices, --keep-symmetries */
       OPTIONS_IMPORT = 1 << 22,    /* --wheels, --base, -o */
       OPTIONS_CONTROL = 1 << 28,   /* --about, --period, --weights, --noise, --matrices */
       OPTIONS_LYAPUNOV = 1 << 29,  /* --time, --step, --count, --megno, --plot */
       OPTIONS_PERIODIC = 1 << 30,  /* --period, --section, --relative, --follow, --step, --plot */
       OPTIONS_ENSEMBLE =
           1 << 9 /* --members, --random, --energy, --seed, --around, --sweep, --starts,
                     --table, --part */
};

typedef struct options {
    const char **operands;
    char **argv; /* the command line, to be printed again */
    int argc;
    int operand_count;
    int64_t member;  /* -1 when not given */
    char **settings; /* --set, split at commas: "NAME=EXPRESSION" each */
    size_t setting_count;
    char *start; /* every --start joined by commas, or NULL */
    char *keep;  /* of --project: names of velocities, or NULL */
    char *solve;
    char **methods; /* every --methods, split as described in method_list.h */
    int method_count;
    char **sweeps; /* every --sweep, as it stands */
    int sweep_count;
    char **randoms; /* every --random */
    int random_count;
    double after;             /* NaN when not given */
    const char *members_file; /* of --members, NULL if it is a number */
    const char *starts, *checkpoint, *checkpoint_every, *resume; /* NULL when not given */
    const char *folder;                                          /* --out, NULL when not given */
    const char *q, *v, *method, *compose, *output, *plot, *steps_list; /* NULL when not given */
    const char *part;                                                  /* NULL when not given */
    const char *columns;                                               /* NULL when not given */
    const char *times, *until, *section, *observe;                     /* NULL when not given */
    double step, time, tolerance, absolute, every_time, energy;        /* NaN when not given */
    double t0;
    int64_t steps, every, threads, halvings, members, seed, port;     /* -1 when not given */
    const char *name;                                                 /* NULL when not given */
    const char *locate, *matrices, *weights, *noise, *count, *follow; /* NULL when not given */
    double period;                                                    /* NaN when not given */
    int backend, compensated, around, about, table, format, real, fmi,
        progress;              /* index into the choices of the table: the standard first */
    const char *wheels, *base; /* NULL when not given */
    bool drift, megno, relative, keep_symmetries, estimate, no_estimate, no_open, quick, project,
        clear, refer, latex, expand, json, quiet, help;
} options;

struct command;

/* Returns 0, or the exit code after printing an error. options_free in any case. */
int options_parse(options *given, const struct command *asked, int argc, char **argv);
void options_free(options *given);

/* The options of a command, one line each, on standard output. */
void options_help(unsigned groups);

/* The same one by one, for other uses of the table; false past the last. */
typedef struct option_line {
    const char *name, *argument, *help; /* argument is NULL for a flag */
    char letter;                        /* 0: none */
    bool optional;                      /* the argument may be left out */
} option_line;
bool options_line(unsigned groups, int index, option_line *line);

/* numbers.c: a finite number; a whole one, "1000" or "1e6", in a range. */
#define EXACT_INTEGERS                                                                             \
    (INT64_C(1) << 53) /* beyond this, a double cannot represent every integer                     \
                        */
bool parse_real(const char *text, double *value);
bool parse_count(const char *text, int64_t least, int64_t greatest, int64_t *value);

/* --steps-list: increasing whole numbers of steps, at most `room` of them. Returns how many there
 * are, or -1 after printing an error. */
int parse_steps_list(const char *text, int room, int64_t *steps);

/* Splits "NAME=a:b:n"; the name is copied into `name`. Prints an error for anything else. */
int parse_sweep(const char *text, nh_sweep *sweep, char *name, size_t size);

/* "K/N" of --part; prints an error for anything else. */
int parse_part(const char *text, int *part, int *parts);

/* "a:b:n" of --times; prints an error for anything else. */
int parse_times(const char *text, double *from, double *to, int64_t *count);

/* A list of exactly `count` numbers from "1,2,-3"; `name` is the option that messages mention. */
int parse_list(const char *name, const char *text, int count, double *values);

#endif
