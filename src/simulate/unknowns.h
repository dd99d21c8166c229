/* Motions that belong to values of named unknowns: parameters ("J") and start values ("start x'"),
 * with the derivatives of the start by each of them. Start expressions follow the parameters, as
 * with --set. Start values are varied along the constraints: what the model's `start solve` names
 * follows, or else all that is not varied itself, as with --project keep=. "start R.1" is how far a
 * rotation is turned from the given start: R exp(r) with the vector r = (R.1, R.2, R.3). */
#ifndef NH_SIMULATE_UNKNOWNS_H
#define NH_SIMULATE_UNKNOWNS_H

#include <nonholo.h>

#include "model/source.h"

typedef struct nh_unknown {
    const char *name;  /* "J", "start x'", as the user wrote it */
    const char *entry; /* "J", "x'" */
    int parameter;     /* -1: a start value */
    int place;         /* of a start value: the change of position, or positions + the velocity */
    int rotation;      /* it belongs to; -1: none */
    int axis;
    double value; /* at present */
    char assigned[2]
                 [NH_NAME_LONGEST + 40]; /* by what starts assign it: "x"; "body(R)", "space(R)" */
} nh_unknown;

typedef struct nh_unknowns {
    const nh_system *base;
    nh_start_options start;
    int count, positions, velocities, parameters; /* positions: directions of them */
    nh_unknown *item;
    nh_system *system; /* with the present values */
    double *q, *v;     /* its start */
    double *first;     /* q and v of the base */
    double *dq, *dv;   /* [count][positions], [count][velocities] */
    double *dp;        /* [count][parameters] */
    bool by_parameters;
} nh_unknowns;

/* All of the unknowns at the values that the base has. nh_unknowns_end in any case. The names must
 * outlive it. NH_BAD_ARGUMENT for an unknown name. */
nh_status nh_unknowns_begin(nh_unknowns *out, const nh_system *base, const nh_start_options *start,
                            int count, const char *const *name, nh_report *report);
void nh_unknowns_end(nh_unknowns *s);

/* Moves to other values. After a failure the old ones remain. */
nh_status nh_unknowns_set(nh_unknowns *s, const double *value, nh_report *report);

/* Begins a run of the present system with a direction for each unknown, from `first` on. */
nh_status nh_unknowns_start(const nh_unknowns *s, nh_run *run, int member, int first,
                            nh_report *report);

#endif
