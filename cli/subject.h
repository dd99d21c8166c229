/* What a command works on: a model with values for its parameters, and a start state. */
#ifndef CLI_SUBJECT_H
#define CLI_SUBJECT_H

#include "options.h"

typedef struct subject {
    nh_model *model;
    nh_system *system;
    int coordinates, velocities;
    double t, *q, *v;  /* the start state, projected when that was asked for */
    double *wrapped_q; /* room for q with angles wrapped */
} subject;

/* A shipped model's name, the path of a file, or '-' for standard input. Returns 0, or the exit
 * code after having complained, with NULL in *out. */
int open_model(nh_model **out, const char *operand);

/* The model alone, for commands that look at other things before they open the rest: that there is
 * no such model is what a user wants to know first. subject_free in any case. */
int subject_find(subject *s, const options *given);

/* Opens the first operand with --set, --start, --q, --v, --t0 and --project applied. Whether the
 * start satisfies the constraints is not looked at. Returns 0, or the exit code after having
 * complained; subject_free in any case. `s` is zero, or was given to subject_find. */
int subject_open(subject *s, const options *given);
void subject_free(subject *s);

#endif
