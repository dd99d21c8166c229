/* Inputs of a run (inputs.c). Every function does nothing for a run without open inputs. */
#ifndef NH_RUN_INPUTS_H
#define NH_RUN_INPUTS_H

#include "run/run.h"

nh_status nh_run_inputs_create(nh_run_inputs **out, const nh_system *system,
                               const nh_run_options *options, nh_report *report);
void nh_run_inputs_free(nh_run_inputs *inputs);

/* Whether a jump of open inputs is one of the constraints, so that velocities have to answer. */
bool nh_inputs_move_constraints(const nh_system *system);

/* A member that has just got its state gets its inputs; and after a whole run was restored. */
nh_status nh_run_start_inputs(nh_run *run, int member, nh_report *report);
void nh_run_resume_inputs(nh_run *run);
/* Whether a function of the caller gives some of them. */
bool nh_run_inputs_are_given(const nh_run *run);

/* The last step that may be done before inputs change, and when they do. */
int64_t nh_run_inputs_until(const nh_run *run);
double nh_run_inputs_next(const nh_run *run);
/* If inputs change at the present time: all members get the new ones. */
nh_status nh_run_renew_inputs(nh_run *run, nh_report *report);
/* What follows from inputs that the caller has set. */
nh_status nh_run_settle_inputs(nh_run *run, nh_report *report);

/* Whether the inputs that the caller gives, a row for each member, are numbers to go on with. Then
 * nh_run_set_inputs for all members, or for those of some groups, from whose first the rows are. */
nh_status nh_run_check_inputs(const nh_run *run, int members, const double *value,
                              nh_report *report);
void nh_run_put_inputs(nh_run *run, const double *value);
void nh_run_put_group_inputs(nh_run *run, const group *first, int count, const double *value);
/* Whether more follows from a change of them: a method remembers something, or velocities jump. */
bool nh_run_inputs_need_answers(const nh_run *run);

/* The numbers of the open inputs of a member, shape.inputs of them; and into a block of one lane.
 */
void nh_run_take_inputs(const nh_run *run, int member, double *u);
void nh_run_place_inputs(const nh_run *run, double *block, const double *u);

#endif
