/* How the start state of a model changes with parameters, with single start values and with
 * inputs: the derivative of what nh_system_begin computes.
 *
 * Start expressions follow, as with settings of parameters; what was given by assignments or as
 * arrays stays. A projection, or the model's `start solve`, is differentiated with its minimum of
 * the distance. If the constraints still do not hold then, the state moves to the nearest one that
 * satisfies them, as nh_projection does, with the varied start value kept. */
#ifndef NH_ANALYSIS_START_MOVES_H
#define NH_ANALYSIS_START_MOVES_H

#include "run/dual_engine.h"
#include "system/start.h"

typedef struct nh_start_moves {
    const nh_system *system;
    nh_system *named; /* with parameters as inputs */
    const nh_problem *problem;
    nh_start_options how; /* texts and arrays belong to the caller */
    engine engine;
    int n, coordinates, constraints, positions, inputs, open;
    size_t size;          /* of a state with inputs: q[n] v[n] u[inputs], inner velocities */
    double *given, *z;    /* [size] before and after all projections */
    nh_selection held;    /* given by assignments or arrays */
    nh_selection may;     /* what the start itself moves; and what a projection moves */
    nh_selection project; /* ... without further choices */
    struct nh_start_slope *slope; /* [coordinates + n + inputs] of start expressions */
    double *room;
} nh_start_moves;

/* Of the present start; z has its result. nh_start_moves_end in either case. */
nh_status nh_start_moves_begin(nh_start_moves *s, const nh_system *system,
                               const nh_start_options *how, nh_report *report);
void nh_start_moves_end(nh_start_moves *s);

/* What is varied: one of these. */
typedef struct nh_start_cause {
    const double *parameters; /* changes, of those that follow too; NULL: none */
    const double *inputs;     /* changes of the open inputs' numbers; NULL: none */
    int position, velocity;   /* as users count changes of states, plus one; 0: none */
} nh_start_cause;

/* The change of the state, [directions] and [velocities of users]. NH_BAD_ARGUMENT if the
 * constraints do not let a start value change by itself. */
nh_status nh_start_moves_find(nh_start_moves *s, const nh_start_cause *cause, double *q, double *v,
                              nh_report *report);

/* How all parameters follow one of them, change[parameters]; the first that decides the form of
 * the equations is returned, or -1. */
nh_status nh_start_moves_parameter(nh_start_moves *s, int parameter, double *change, int *form,
                                   nh_report *report);

/* ---- nearest_moves.c ---- */

/* Moves the unknowns `may` of a change dz[size] so that the positions, or the velocities, of
 * `found` remain the nearest ones to those of `given` that satisfy the constraints. *worst is the
 * constraint that cannot be satisfied, or -1. */
nh_status nh_nearest_moves_find(nh_start_moves *s, nh_level level, const bool *may,
                                const double *given, const double *found, double *dz, int *worst,
                                nh_report *report);

#endif
