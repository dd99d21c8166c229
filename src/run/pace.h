/* Steps of a symmetric method that follow the pace of the motion and are reversible in time (Hairer
 * & Soderlind 2005): their density depends on the state alone and is continued symmetrically,
 *
 *     h = eps exp(-u),   u+ - u- = eps G exp(-(u+ + u-)/2),   G = d(log P)/dt along the motion
 *
 * at each state between a step of u- and one of u+; u starts as log P. The pace P, an inverse time,
 * is what the model says (`pace expr`), or a smooth mean size of the eigenvalues of the Jacobian of
 * (q', v') (base/spectrum.h).
 *
 * The steps of the run only determine where states are asked for. Such a state is computed from the
 * last own step before it, by a step of the same method over the remaining time; it does not
 * influence the own steps. */
#ifndef NH_RUN_PACE_H
#define NH_RUN_PACE_H

#include "run/run.h"

/* Prepares steps of `eps` units of the motion's own time. */
nh_status nh_pace_open(nh_pace **out, const nh_system *system, double eps, nh_report *report);
void nh_pace_free(nh_pace *pace);

/* Enlarges a block by what a trajectory remembers: some numbers, and the state after the last own
 * step. False without memory. */
bool nh_pace_extend(nh_pace *pace, size_t *state_size);

/* These replace a kernel's start and advance, for one lane. */
int nh_pace_start(nh_run *run, const engine *e, nh_kernel_io *io);
int nh_pace_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps);

/* How many own steps a trajectory has taken; `block` is its state. */
int64_t nh_pace_steps(const nh_run *run, const double *block);

/* The pace of a state with inputs u; 0 if there is none. */
double nh_pace_at(nh_pace *pace, double t, const double *q, const double *v, const double *u);

/* Recommends a fixed step for a motion over the given time (step_advice.c). */
nh_status nh_advise_step(double *step, const nh_system *system, const nh_choice *choice, double t,
                         const double *q, const double *v, double time, nh_report *report);

#endif
