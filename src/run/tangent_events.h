/* Derivatives at events: see tangent_events.c. Everything does nothing, successfully, for a run
 * without derivatives. */
#ifndef NH_RUN_TANGENT_EVENTS_H
#define NH_RUN_TANGENT_EVENTS_H

#include "run/events.h"
#include "run/tangent.h"

/* The state of a member at an event between two nodes, to the first of which its derivatives
 * belong, is node `at`. False if there are no derivatives, since the event's function only touches
 * zero. */
bool nh_tangent_meet(nh_run *run, int member, int event, const double *from, const double *to,
                     const double *at);
/* The event has changed the velocities to those of the node; then the member continues there. */
bool nh_tangent_change(nh_run *run, int event, const double *node);
void nh_tangent_land(nh_run *run, int member);
/* At an event at a node at which a step of the run ends, too, at this time: the derivatives from
 * now on are those of the state at the end of the step, which does not move. */
void nh_tangent_settle(nh_run *run, int member, const double *node, double time);
/* Where the method chooses its steps: the derivatives are those at a time. */
void nh_tangent_begin_own(nh_run *run, double time);
/* They follow the steps of a leg without events. */
bool nh_tangent_follow_own(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f);
/* While an event is told to the user, at a time, the derivatives of the run are those there. */
void nh_tangent_tell(nh_run *run, double t);
void nh_tangent_told(nh_run *run);
/* Steps to the next node. If they begin at an event, the step is shorter by as much as the event is
 * later. */
bool nh_tangent_step(nh_run *run, const group *g, const nh_leg *leg, const double *node,
                     nh_step_failure *f);

#endif
