/* The options of all commands: one table serves the parser and the help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <nonholo.h>

/* Groups of options; a command takes some of them. --json, --quiet and --help go with all. */
typedef uint64_t option_groups;
#define OPTION_GROUP(number) (UINT64_C(1) << (number))
#define OPTIONS_MODEL OPTION_GROUP(0)  /* --set, --start, --q, --v, --t0, --project */
#define OPTIONS_METHOD OPTION_GROUP(1) /* --method, --compose, --compensated */
#define OPTIONS_TIME OPTION_GROUP(2)   /* --step, --steps, --time, --every */
#define OPTIONS_SPEED OPTION_GROUP(3)  /* --backend, --threads */
#define OPTIONS_OUTPUT OPTION_GROUP(4) /* -o, --plot */
#define OPTIONS_ALL OPTION_GROUP(5)
#define OPTIONS_METHODS OPTION_GROUP(6) /* --methods, --compose, --compensated */
#define OPTIONS_ORDER OPTION_GROUP(7)   /* --step, --time, --halvings, --steps-list, --tolerance */
#define OPTIONS_PLOT OPTION_GROUP(8)    /* --plot alone */
#define OPTIONS_ENSEMBLE                                                                           \
    OPTION_GROUP(9) /* --members, --random, --energy, --seed, --around, --sweep, --starts,         \
                       --table, --part */
#define OPTIONS_KEEP OPTION_GROUP(10)      /* --checkpoint, --checkpoint-every, --resume */
#define OPTIONS_REPRODUCE OPTION_GROUP(11) /* --quick, --out, --threads */
#define OPTIONS_BENCH OPTION_GROUP(12)     /* --step alone */
#define OPTIONS_ESTIMATE OPTION_GROUP(13)  /* --estimate, --sensitivity, --precision */
#define OPTIONS_CACHE OPTION_GROUP(14)     /* --clear */
#define OPTIONS_TOLERANCE OPTION_GROUP(15) /* --tolerance, --absolute */
#define OPTIONS_DENSE OPTION_GROUP(16)     /* --times, --every-time */
#define OPTIONS_JOIN OPTION_GROUP(17)      /* -o, --virtual */
#define OPTIONS_STOP OPTION_GROUP(18)      /* --stop */
#define OPTIONS_SECTION OPTION_GROUP(19)   /* --section, --observe */
#define OPTIONS_VIEW OPTION_GROUP(20)      /* --port, --no-open */
#define OPTIONS_COLUMNS OPTION_GROUP(21)   /* --columns, -o */
#define OPTIONS_IMPORT OPTION_GROUP(22)    /* --wheels, --base, -o */
#define OPTIONS_FILM OPTION_GROUP(23)      /* --fps, --speed, --camera, --caption */
#define OPTIONS_EXPORT OPTION_GROUP(24)    /* --format, --step, --real, ..., --jacobian, -o */
#define OPTIONS_CHECK OPTION_GROUP(25)     /* --latex */
#define OPTIONS_EXPAND OPTION_GROUP(26)    /* --expand */
#define OPTIONS_LINEARISE OPTION_GROUP(27) /* --sweep, --locate, --matrices, --keep-symmetries */
#define OPTIONS_CONTROL OPTION_GROUP(28)   /* --about, --period, --weights, --noise, --matrices */
#define OPTIONS_LYAPUNOV OPTION_GROUP(29)  /* --time, --step, --count, --megno, --plot */
#define OPTIONS_PERIODIC                                                                           \
    OPTION_GROUP(30)                 /* --period, --section, --relative, --follow, --step, --plot */
#define OPTIONS_FIT OPTION_GROUP(31) /* --fit, --weights, --robust, --step, --plot */
#define OPTIONS_GRADIENT OPTION_GROUP(40) /* --of, --at, --by, --memory */
#define OPTIONS_OPTIMISE                                                                           \
    OPTION_GROUP(32) /* --control, --pieces, --minimise, --end, --along, --time, --vary, --tries,  \
                        --seed, --step, --inputs, --track, --weights, -o, --plot */

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
    const char *times, *until, *section, *observe, *sensitivity;       /* NULL when not given */
    double step, time, tolerance, absolute, every_time, energy;        /* NaN when not given */
    double t0;
    int64_t steps, every, threads, halvings, members, seed, port;     /* -1 when not given */
    const char *name;                                                 /* NULL when not given */
    const char *size, *camera, *caption;                              /* NULL when not given */
    double font, fps, speed;                                          /* NaN when not given */
    const char *locate, *matrices, *weights, *noise, *count, *follow; /* NULL when not given */
    const char *fit;                                                  /* NULL when not given */
    const char *of, *at, *by, *memory;                                /* NULL when not given */
    const char *control, *minimise, *end, *along, *length, *vary, *inputs, *track; /* the same */
    int64_t pieces, tries; /* -1 when not given */
    double period;         /* NaN when not given */
    int backend, compensated, precision, around, about, table, format, real, fmi,
        progress;              /* index into the choices of the table: the standard first */
    const char *wheels, *base; /* NULL when not given */
    bool settable, jacobian, verify, no_title, drift, megno, relative, robust, keep_symmetries,
        estimate, no_estimate, no_open, quick, project, clear, refer, latex, expand, json, quiet,
        help;
} options;

struct command;

/* Returns 0, or the exit code after printing an error. options_free in any case. */
int options_parse(options *given, const struct command *asked, int argc, char **argv);
void options_free(options *given);

/* The options of a command, one line each, on standard output. */
void options_help(option_groups groups);

/* The same one by one, for other uses of the table; false past the last. */
typedef struct option_line {
    const char *name, *argument, *help; /* argument is NULL for a flag */
    char letter;                        /* 0: none */
    bool optional;                      /* the argument may be left out */
} option_line;
bool options_line(option_groups groups, int index, option_line *line);

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
