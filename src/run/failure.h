/* What ended a run, and how it is reported (failure.c). */
#ifndef NH_RUN_FAILURE_H
#define NH_RUN_FAILURE_H

#include "run/run.h"

typedef struct nh_step_failure {
    int kernel_status; /* 0: none; or one of the values below */
    int64_t index;     /* steps done before the failing one */
    int member, iterations;
    double residual;
} nh_step_failure;

enum {
    NH_FAILED_NOT_FINITE = -1,
    NH_FAILED_ACCUMULATION = -2, /* events that accumulate; `iterations` is which one */
    NH_FAILED_CHANGE = -3,       /* no velocities after the event satisfy the constraints */
    NH_FAILED_GRAZING = -6, /* an event that only touches zero has no derivative; as the first */
    NH_FAILED_TANGENT = -5, /* its derivatives do not follow */
    NH_FAILED_CHATTER = -4, /* `iterations` is the kink; `residual` is when */
    NH_FAILED_INTERRUPTED = -7, /* the caller wants it to stop (interrupt.h) */
    NH_FAILED_TOO_MANY = -8,    /* own steps; `residual` is the length of the last one */
    NH_FAILED_UNRESOLVED = -9,  /* the zeros of an event; `iterations` is which one */
    NH_FAILED_CONTACT = -10     /* contacts and grips: run->contacts has the report */
};

/* The run is at the step that failed. Returns the status to report. */
nh_status nh_describe_failure(nh_run *run, const nh_clock *clock, const nh_step_failure *f,
                              nh_report *report);

/* A member whose motion is not determined at the start: NH_SINGULAR_MASS, or
 * NH_DEPENDENT_CONSTRAINTS, of which `dependent` is one. */
nh_status nh_describe_singular_start(nh_run *run, const nh_clock *clock, int member,
                                     nh_status status, int dependent, nh_report *report);

#endif
