/* What a command works on: a model with values for its parameters, and a start state. */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "json.h"
#include "options.h"

typedef struct subject {
    nh_model *model;
    nh_system *system;
    int coordinates, velocities;
    double t, *q, *v;       /* the start state, projected if requested */
    double *wrapped_q;      /* room for q with angles wrapped */
    nh_start_options start; /* what it was found from, with whole vectors that are given: */
    double *given_q, *given_v;
} subject;

/* A shipped model's name, the path of a file, or '-' for standard input. Returns 0, or the exit
 * code after printing an error, with NULL in *out. */
int open_model(nh_model **out, const char *operand);

/* Only opens the model, for commands that check other things before the rest: a user first wants to
 * know if the model does not exist. subject_free in any case. */
int subject_find(subject *s, const options *given);

/* Opens the first operand with --set, --start, --q, --v, --t0 and --project applied. Does not check
 * whether the start satisfies the constraints. Returns 0, or the exit code after printing an error;
 * subject_free in any case. `s` is zero, or was passed to subject_find. */
int subject_open(subject *s, const options *given);
void subject_free(subject *s);

/* Prints the text of the first operand; with --expand, with ordinary statements in place of bodies,
 * wheels, blades and springs. Returns the exit code. */
int print_model(const options *given);

/* For --json: the names of a list of the system; its parameters, coordinates and velocities. */
void put_names(json *j, const char *key, const nh_system *system,
               const char *(*name)(const nh_system *, int), int count);
void put_system(json *j, const nh_system *system);

#endif
