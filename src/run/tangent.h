/* Derivatives of the states of a run: of the map that it computes, not of the equations.
 *
 * Every step that a run takes is repeated from its exact state by the same kernel over numbers with
 * derivatives (kernel/dual.h); the values that come out are replaced by those of the run. What the
 * run does besides steps is differentiated here: jumps of inputs (tangent_jumps.c) and events
 * (tangent_events.c).
 *
 * A member has `count` directions, NH_DUAL_WIDTH of them in each of the `passes`. The block of a
 * pass is like that of one lane of the run, with NH_DUAL_PLACES doubles for each number, of which
 * the derivatives begin at NH_DUAL_FIRST, and with room for the time at its end. If parameters are
 * varied, the system is one in which they are inputs, after the others. */
#ifndef NH_RUN_TANGENT_H
#define NH_RUN_TANGENT_H

#include "method/dual_kernels.h"
#include "run/leg.h"

typedef struct nh_tangent_table { /* the derivative of an input by a value of its table */
    int input;
    nh_input_table table; /* no rows: the direction is another one */
} nh_tangent_table;

struct nh_tangent {
    int count, passes;
    const nh_system *system;
    nh_system *own;         /* with parameters as inputs; NULL: the run's system serves */
    nh_shape shape;         /* of that system */
    engine engine;          /* over numbers with derivatives: nh_tangent_prepare */
    bool prepared, *varied; /* ... for these parameters; NULL: for all */
    size_t memory, inputs, state_size; /* in numbers: of the method, given from outside, a block */
    size_t block_size;                 /* in doubles, of one pass */
    double *blocks, *saved;            /* [members][passes][block_size] */
    double *time, *time_saved;      /* [members][passes][NH_DUAL_PLACES]: of the state's own time */
    double *at, *beside;            /* blocks of one pass */
    double *values;                 /* results of functions */
    double *normals;                /* for jumps of velocities: B, 0; d, k; two velocities */
    nh_tangent_table *table;        /* [count] */
    double *met, *after, *met_time; /* of the last event: blocks before and after it, [passes] */
    bool meets;                     /* they are known */
    bool tells;                     /* an event is being told: derivatives are those there */
    double told_at;                 /* its time */
    double *stretch;                /* [passes][NH_DUAL_PLACES]; NULL: no direction has one */
    double origin;                  /* of the times that are stretched */
    double growth, grown_at;        /* the largest derivative so far, and when */
    double reached, met_at; /* where methods choose their steps: the time of the derivatives, and of
                               the last event */
    double *node;           /* the state there, as for events */
    double *plain; /* where parameters are varied and the method chooses its steps: a block of
                      values, and nodes */
};

/* Gives a run derivatives in `count` directions, all zero at first; `parameters`: also by
 * parameters. */
nh_status nh_tangent_create(nh_run *run, int count, bool parameters, nh_report *report);
void nh_tangent_free(nh_tangent *t);
/* Takes them from the run, or gives them back to it, all zero, at its present state. */
nh_tangent *nh_tangent_detach(nh_run *run);
void nh_tangent_attach(nh_run *run, nh_tangent *t);

int nh_run_directions(const nh_run *run); /* 0: it has no derivatives */
/* Replaces the directions by combinations of them: new_i = sum over j of matrix[i * count + j]
 * old_j, as an orthonormalisation does. */
nh_status nh_run_mix_tangents(nh_run *run, int member, const double *matrix, nh_report *report);

/* Everything below does nothing for a run without derivatives. */

/* A member got a state. */
void nh_tangent_reset(nh_run *run, int member);
/* What the leg began from is remembered, and restored after a failure. */
void nh_tangent_save(nh_run *run);
void nh_tangent_restore(nh_run *run);
/* The method was started at the states of a group, in the block `before`; a leg was taken from the
 * states to which the derivatives belong to those in the group's block. False: NH_FAILED_TANGENT.
 */
bool nh_tangent_start(nh_run *run, const group *g, const nh_leg *leg, const double *before,
                      nh_step_failure *f);
bool nh_tangent_follow(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f);

/* Says that derivatives have no correct digit, if they reach that size within a time; those of a
 * run so far. */
void nh_remark_growth(nh_remarks *remarks, double most, double time);
void nh_tangent_remark(nh_run *run);

/* ---- tangent_jumps.c ---- */

/* How the end of a step moves: it stays where it is unless times are stretched. */
double nh_tangent_end_move(const nh_tangent *t, int pass, int direction, double time);

/* Lets a direction be the derivative by a point of an input's table. */
nh_status nh_tangent_vary_table(nh_run *run, int direction, int input, int64_t point,
                                nh_report *report);
/* Lets a direction lengthen all steps, and all times since `origin`, in proportion to `rate`. */
nh_status nh_tangent_stretch(nh_run *run, int direction, double rate, double origin,
                             nh_report *report);
/* The present values of all observables, and their derivatives in every direction:
 * moves[observables][directions]. For a run of one member. */
void nh_tangent_observe(nh_run *run, double *values, double *moves);
/* The inputs of a member were given their values at a time: those of tables in the piece of time
 * `when`, at a sample those of expressions, at the start (`first`) all defaults. */
void nh_tangent_give_inputs(nh_run *run, int member, double time, double when, bool sample,
                            bool first);
/* Its velocities jumped to satisfy constraints with new inputs; false: no derivatives. */
bool nh_tangent_answer(nh_run *run, int member, double time);
/* Moves the velocities of a block to the nearest ones that satisfy the constraints, at a time with
 * derivatives. */
bool nh_tangent_project(nh_run *run, double time, const double *moves, double *block);

/* ---- shared by the files that differentiate a run ---- */

/* Whether a run can be differentiated; the system that serves for it: with parameters as inputs,
 * *own, or NULL if the run's own does, and its sizes; and the functions that are called. */
nh_status nh_tangent_applies(const nh_run *run, nh_report *report);
nh_status nh_tangent_system(const nh_run *run, bool parameters, nh_system **own, nh_shape *shape,
                            nh_report *report);
nh_fn_set nh_tangent_functions(const nh_run *run, const nh_system *system);

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
/* The steps of a kernel, for which `saved` is the block before them; those that are not solved are
 * repeated in pieces. */
int nh_tangent_take_steps(nh_run *run, nh_kernel_io *io, double *block, const double *saved,
                          int64_t steps);
/* One step of a method that chooses its own, by a kernel over numbers with derivatives or recorded
 * ones, from the state `plain` of the run: in the same own steps, since what varies parameters has
 * values that differ by round-off, which decides about steps at fine tolerances. `plain` is one
 * block, and has room for NH_OWN_NODES nodes behind it. */
enum { NH_OWN_NODES = 32 };
bool nh_repeats_own_steps(const nh_run *run);
size_t nh_own_room(const nh_run *run);
int nh_take_own_step(const nh_run *run, const nh_kernel *kernel, nh_kernel_io *io, double *plain);
/* Derivatives by parameters were set: what computes steps has to know which are not 0. */
void nh_tangent_parameters_changed(nh_run *run);
/* Makes it, at the latest before the first step. */
nh_status nh_tangent_prepare(nh_run *run, nh_report *report);
/* Arguments of the kernel for a block. */
nh_kernel_io nh_tangent_arguments(nh_run *run, double *block, const nh_leg *leg, int64_t index);
/* Evaluates a function at a block's state, time t with derivatives `moves` (NULL: none). */
void nh_tangent_evaluate(const nh_run *run, nh_fn fn, double t, const double *moves, double *block,
                         const double *x, double *out);

#endif
