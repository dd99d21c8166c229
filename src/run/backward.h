/* Derivatives of a number by everything that a run depends on, backwards through the whole run.
 *
 * The run is advanced in moves, each of which is one of its steps or a step of another length. Now
 * and then its state is kept. On the way back, from the last state that was kept to the first, the
 * moves are repeated, which gives the same bits, and what the run did is noted (journal.h). Then
 * each step is taken backwards by its recording (adjoint.h). A step in which more happened, at an
 * event or with inputs, is repeated with derivatives in all directions (tangent.h) instead, so that
 * what those differentiate need not be written a second time.
 *
 * Derivatives d are one number for each of a block of nh_backward_adjoint, and one by the time that
 * the state itself has at an event. */
#ifndef NH_RUN_BACKWARD_H
#define NH_RUN_BACKWARD_H

#include "run/adjoint.h"

typedef struct nh_backward nh_backward;

/* From the present state of a run with one member. About so much memory is used for states;
 * `parameters`: they are varied, too. */
nh_status nh_backward_create(nh_backward **out, nh_run *run, bool parameters, size_t memory,
                             nh_report *report);
void nh_backward_free(nh_backward *s);
/* Begins again, from the present state of the run. */
void nh_backward_restart(nh_backward *s);

/* Advances the run by so many moves: by its own steps, or, unless `length` is 0, by steps of this
 * length. Less if an event ends it. */
nh_status nh_backward_advance(nh_backward *s, int64_t moves, double length, nh_report *report);
/* The run ends after so many moves: there, inputs keep the values from the left. */
void nh_backward_plan(nh_backward *s, int64_t moves);
int64_t nh_backward_moves(const nh_backward *s);
/* Whether the last move was more than a step: because of an event, or only of inputs that were
 * given new values at its end. */
bool nh_backward_breaks(const nh_backward *s, bool *inputs);
/* Of states, as much as was in use at once. */
size_t nh_backward_memory(const nh_backward *s);

/* What the number depends on besides the last state; every function may be NULL. */
typedef struct nh_backward_hooks {
    void *user;
    /* Adds to d what the state at a node, after so many moves, adds. From the last one to the
     * first. */
    void (*at_node)(void *user, int64_t node, double t, const double *block, double *d);
    /* The same for the state at the end of a move, before its inputs are given new values. Called
     * for those moves after which at_node sees another state. */
    void (*at_end)(void *user, int64_t node, double t, const double *block, double *d);
    /* So many moves are done; nonzero: stop, NH_CALLBACK_STOPPED. */
    int (*progress)(void *user, int64_t moves);
} nh_backward_hooks;
/* Carries d from the last state back to the first. The run is at its last state again. */
nh_status nh_backward_back(nh_backward *s, const nh_backward_hooks *hooks, double *d,
                           nh_report *report);

nh_adjoint *nh_backward_adjoint(nh_backward *s);
/* After the way back: the derivative by the value of a point of an input's table, besides that by
 * what the input was at the start. */
nh_status nh_backward_by_point(const nh_backward *s, int input, int64_t point, double *out,
                               nh_report *report);

#endif
