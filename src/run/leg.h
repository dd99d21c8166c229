/* Legs: steps of equal length of one block of states, which is a group of lanes.
 *
 * leg.c is the only caller of kernels. Whatever advances a state describes its steps as a leg: the
 * loop of a run (loop.c), events that end a step early (event_advance.c), checks that repeat steps
 * beside the run (again.c). When a kernel rejects a step, the careful engine computes it
 * (careful.c), with the same bits as if it had computed all of them. */
#ifndef NH_RUN_LEG_H
#define NH_RUN_LEG_H

#include <float.h>
#include <math.h>

#include "run/failure.h"

typedef struct nh_trace { /* where states are stored on the way, as in nh_kernel_io */
    double *row, *wrapped;
    int64_t from, every;
} nh_trace;

typedef struct nh_leg {
    nh_clock clock;
    int64_t from, to; /* steps done before it, and after it */
    nh_trace rows;    /* of a single trajectory; none if `row` is NULL */
} nh_leg;

/* By how much steps stay clear of a time t at which functions change: rounding errors do not cross
 * it. */
static inline double nh_clock_clearance(const nh_clock *clock, double t)
{
    return 4 * DBL_EPSILON * (fabs(t) + fabs(clock->time));
}

/* The engine with the kernel that takes most steps. */
engine *nh_run_fast_engine(nh_run *run);

/* Starts the method at the states of a group, from which the leg will begin. They are the same
 * after failures. */
bool nh_leg_start(nh_run *run, group *g, const nh_leg *leg, nh_step_failure *f);
/* Starts it on a single trajectory at time t, where an event has changed it, with the fast engine
 * alone. */
bool nh_leg_start_again(nh_run *run, group *g, const nh_clock *clock, double t);

/* The most groups that advance together. */
int nh_run_team(nh_run *run);

/* Advances up to so many groups together, or one; if a step fails for one of them, each
 * continues alone. The states before the leg have been saved. After a failure states are anywhere
 * between the two. */
bool nh_leg_take(nh_run *run, group *const *team, int size, const nh_leg *leg, nh_step_failure *f);

typedef struct nh_own_steps { /* the ends of steps that a method chooses */
    double *node;             /* as in nh_kernel_io */
    int64_t most, count;
    bool full;     /* there was no room for the rest of them */
    int64_t taken; /* within the present step of the run; 0 before the first call */
} nh_own_steps;
/* Continues a leg of one trajectory from step *index of the run on, until there is no room for more
 * nodes; without the careful engine. */
bool nh_leg_follow(nh_run *run, group *g, const nh_leg *leg, int64_t *index, nh_own_steps *own,
                   nh_step_failure *f);

/* Advances a state that does not belong to the run, a block of one lane, from its start: beside the
 * run, with another step size, and with other options unless NULL. This is done by the careful
 * kernel, or by the fast one, which gives the same bits in less time. False if that fails, or if
 * the fast kernel has several lanes. */
bool nh_leg_beside(nh_run *run, bool careful, const double *option, double *block, double t,
                   double step, int64_t steps);

/* ---- for the careful engine, the pace, mixed.c and calls of few steps ---- */

/* The arguments of a kernel, and its calls. */
nh_kernel_io nh_kernel_arguments(const nh_run *run, engine *e, double *block, int lanes,
                                 const nh_leg *leg, int64_t index);
int nh_kernel_start(nh_run *run, const engine *e, nh_kernel_io *io);
int nh_kernel_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps);
int nh_kernel_advance_team(const nh_kernel *kernel, nh_kernel_io *io, int groups, int64_t steps);
/* Of the method itself, also in a run that follows the pace of the motion: its start, and one step
 * of length h at time t, from its start if `afresh`. The memory of a symmetric method says where to
 * look for the solution of a step; it is useful only while a step is about as long as the one
 * before. */
int nh_kernel_begin(const engine *e, nh_kernel_io *io);
int nh_kernel_step(const engine *e, nh_kernel_io *io, double t, double h, bool afresh);
/* Wraps angles as kernels do every 16 steps. */
void nh_kernel_wrap(const nh_shape *shape, size_t lanes, nh_kernel_io *io);

/* ---- careful.c ---- */

/* One step (or the start, with `starting`) of every lane by the careful engine. */
bool nh_careful_step(nh_run *run, group *g, const nh_leg *leg, int64_t index, bool starting,
                     nh_step_failure *f);
/* Lets lanes out of use duplicate others again, after a state was set from outside. */
void nh_group_follow(const nh_run *run, group *g);

/* ---- calls of few steps: leg.c, and teams.c for several groups ---- */

typedef struct nh_group_hooks { /* functions called for some groups before and after their steps;
                                 * the latter returns whether their states are finite */
    void (*before)(void *self, const group *first, int count);
    bool (*after)(void *self, const group *first, int count);
    void *self;
} nh_group_hooks;
/* Advances by few steps if that needs nothing but the kernel; false if the loop has to do it,
 * though `hooks`, if given, may then have been called for some groups. */
bool nh_leg_take_prepared(nh_run *run, int64_t steps, const nh_group_hooks *hooks);
/* Prepares such calls, which nothing interrupts up to step `until`. */
void nh_leg_prepare(nh_run *run, int64_t until);
/* With several groups: advances all of them, or puts them back. */
bool nh_teams_advance(nh_run *run, int64_t steps, const nh_group_hooks *hooks);

#endif
