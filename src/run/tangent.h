/* Derivatives of the states of a run: of the map that it computes, not of the equations.
 *
 * Every step that a run takes is repeated from its exact state by the same kernel over numbers with
 * derivatives (kernel/dual.h); the values that come out are replaced by those of the run. What the
 * run does besides steps is differentiated here: jumps of inputs (tangent_jumps.c) and events
 * (tangent_events.c).
 *
 * A member has `count` directions, NH_TANGENTS of them in each of the `passes`. The block of a pass
 * is like that of one lane of the run, with NH_DUAL_PLACES doubles for each number: its value and
 * its derivatives. If parameters are varied, the system is one in which they are inputs, after the
 * others. */
#ifndef NH_RUN_TANGENT_H
#define NH_RUN_TANGENT_H

#include "method/dual.h"
#include "run/leg.h"

struct nh_tangent {
    int count, passes;
    const nh_system *system;
    nh_system *own; /* with parameters as inputs; NULL: the run's system serves */
    const nh_kernel *kernel;
    nh_interpreter interpreter;
    nh_call_fn *call[NH_CALLS];
    double *slots, *scratch;
    long long scratch_peak;
    size_t memory, inputs, state_size; /* in numbers: of the method, given from outside, a block */
    size_t block_size;                 /* in doubles, of one pass */
    double *blocks, *saved;            /* [members][passes][block_size] */
    double *time, *time_saved;         /* [members][passes][NH_TANGENTS]: of the state's own time */
    double *at, *beside, *length;      /* blocks of one pass for events, and derivatives of a step */
    double *values;                    /* results of functions */
    double growth, grown_at;           /* the largest derivative so far, and when */
};

/* Gives a run derivatives in `count` directions, all zero at first; `parameters`: also by
 * parameters. */
nh_status nh_tangent_create(nh_run *run, int count, bool parameters, nh_report *report);
void nh_tangent_free(nh_tangent *t);

/* Everything below does nothing for a run without derivatives. */

/* A member got a state. */
void nh_tangent_reset(nh_run *run, int member);
/* What the leg began from is remembered, and restored after a failure. */
void nh_tangent_save(nh_run *run);
void nh_tangent_restore(nh_run *run);
/* The method was started at the states of a group; a leg was taken from the states to which the
 * derivatives belong to those in the group's block. False: NH_FAILED_TANGENT. */
bool nh_tangent_start(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f);
bool nh_tangent_follow(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f);

/* ---- shared by the files that differentiate a run ---- */

/* Number `index` of the block of a member's pass. */
static inline double *nh_tangent_block(const nh_tangent *t, int member, int pass)
{
    return t->blocks + (size_t)(member * t->passes + pass) * t->block_size;
}
static inline double *nh_tangent_number(double *block, size_t index)
{
    return block + index * NH_DUAL_PLACES;
}
/* The first of its inputs, parameters included. */
size_t nh_tangent_first_input(const nh_run *run);
/* Replaces the values by those of a block of the run; with `inputs_only` those of inputs. */
void nh_tangent_take_values(nh_run *run, const double *from, int lanes, int lane, bool inputs_only,
                             double *block);
/* Arguments of the kernel for a block. */
nh_kernel_io nh_tangent_arguments(nh_run *run, double *block, const nh_leg *leg, int64_t index);
/* Evaluates a function at a block's state, time t with derivatives `moves` (NULL: none). */
void nh_tangent_evaluate(const nh_run *run, nh_fn fn, double t, const double *moves,
                          const double *block, const double *x, double *out);

#endif
