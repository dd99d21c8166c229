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

/* Opens the first operand with --set, --start, --q, --v, --t0 and --project applied. Whether the
 * start satisfies the constraints is not looked at. Returns 0, or the exit code after having
 * complained; subject_free in any case. */
int subject_open(subject *s, const options *given);
void subject_free(subject *s);

#endif
