/* The state of a run: trajectories in groups of lanes, and the kernel that advances them. */
#ifndef NH_RUN_RUN_H
#define NH_RUN_RUN_H

#include "method/compose.h"
#include "method/method.h"
#include "code/compile.h"
#include "code/machine.h"
#include "system/system.h"

typedef struct group { /* `lanes` trajectories side by side, in one block of memory */
    int lanes, first_member;
    bool started;     /* the kernel's start has seen the state */
    unsigned retired; /* a bit for each lane that only keeps another one company */
    double *block;    /* q, v, q_low, v_low, full revolutions, memory: the state */
    double *saved;    /* the state before the present chunk of steps */
} group;

/* What evaluates the system for kernels of one variant. */
typedef struct engine {
    const nh_kernel *kernel; /* NULL: none */
    nh_call_fn *call[NH_FN_COUNT];
    void *self; /* nh_interpreter or nh_callback_space */
    nh_interpreter interpreter;
    nh_machine machine;
    nh_callback_space *callbacks;
    double *scratch;
    void *slots;
} engine;

typedef struct nh_trace { /* as in nh_kernel_io */
    double *row, *wrapped;
    int64_t from, every;
} nh_trace;

struct nh_run {
    const nh_system *system;
    nh_choice choice;
    double step, time;
    int64_t steps; /* done */
    double seconds;
    nh_backend backend;
    bool compensated;
    int parts; /* of a composed step, else 1 */
    double part[2 * NH_PARTS_MAX];
    int members, groups;
    group *group;
    double *table;
    size_t table_size, memory, state_size; /* state_size: reals in a group's block */
    engine careful; /* one lane, built in, with Newton: serves steps the fast one gives back */
    engine fast;    /* lanes or compiled or both; without a kernel the careful one does it all */
    nh_loaded loaded;
    int failed_member;  /* of the last failure */
    int64_t numbering;  /* messages count members from here */
    double *lane_state; /* one lane's block, for the careful engine */
    nh_trace trace;     /* where states are kept on the way: trace.c */
};

void *nh_aligned_doubles(size_t count); /* zeroed; NULL without memory */

/* What calls the given functions (NH_USES) of a system, without a kernel. Freed also after
 * failures. */
nh_status nh_engine_call(engine *e, const nh_system *system, nh_variant variant, int lanes,
                         unsigned functions, nh_report *report);
void nh_engine_free(engine *e);

/* Takes a member out: its lane follows a neighbour from here on and cannot fail by itself. A group
 * without members left is not advanced. nh_run_start brings a member back. */
void nh_run_retire(nh_run *run, int member);
/* ... and the lanes out of use follow again after a state was set from outside. */
void nh_group_follow(const nh_run *run, group *g);

#endif
