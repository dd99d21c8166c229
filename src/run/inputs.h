/* Inputs of a run (inputs.c). Every function does nothing for a run without open inputs. */
#ifndef NH_RUN_INPUTS_H
#define NH_RUN_INPUTS_H

#include "run/run.h"

nh_status nh_run_inputs_create(nh_run_inputs **out, const nh_system *system,
                               const nh_run_options *options, nh_report *report);
void nh_run_inputs_free(nh_run_inputs *inputs);

/* Whether open inputs that jump occur in constraints, so that velocities have to follow. */
bool nh_inputs_move_constraints(const nh_system *system);

/* The numbers of the open inputs in a start state of a member, NULL without any; they stay valid
 * until the next call, and the second function stores them when the member has got that state. The
 * third is called after a whole run was restored. */
nh_status nh_run_find_start_inputs(nh_run *run, int member, double t, const double *q,
                                   const double *v, const double **u, nh_report *report);
void nh_run_start_inputs(nh_run *run, int member);
void nh_run_resume_inputs(nh_run *run);
/* Whether some of them are given by a function of the caller. */
bool nh_run_inputs_are_given(const nh_run *run);

/* The last step that may be taken before inputs change, and when they change. */
int64_t nh_run_inputs_until(const nh_run *run);
double nh_run_inputs_next(const nh_run *run);
/* Gives all members their new inputs, if inputs change at the current time. */
nh_status nh_run_renew_inputs(nh_run *run, nh_report *report);
/* Applies the consequences of inputs that the caller has set. */
nh_status nh_run_settle_inputs(nh_run *run, nh_report *report);

/* Checks that the inputs that the caller gives, one row per member, are finite. The next two then
 * set them as nh_run_set_inputs does, for all members, or for some groups, whose first member has
 * the first row. */
nh_status nh_run_check_inputs(const nh_run *run, int members, const double *value,
                              nh_report *report);
void nh_run_put_inputs(nh_run *run, const double *value);
void nh_run_put_group_inputs(nh_run *run, const group *first, int count, const double *value);
/* Whether a change of inputs has further consequences: the method has memory, or velocities
 * jump. */
bool nh_run_inputs_need_answers(const nh_run *run);

/* Copies the numbers of a member's open inputs, shape.inputs of them; the second function copies
 * them into a block of one lane. */
void nh_run_take_inputs(const nh_run *run, int member, double *u);
void nh_run_place_inputs(const nh_run *run, double *block, const double *u);

#endif
