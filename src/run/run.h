/* The state of a run: trajectories in groups of lanes, and the kernel that advances them. */
#ifndef NH_RUN_RUN_H
#define NH_RUN_RUN_H

#include "method/compose.h"
#include "method/method.h"
#include "code/compile.h"
#include "code/machine.h"
#include "system/attitude.h"

typedef struct group { /* `lanes` trajectories side by side, in one block of memory */
    int lanes, first_member;
    bool started;     /* the kernel's start has seen the state */
    unsigned retired; /* a bit for each lane that only keeps another one company */
    unsigned given;   /* a bit for each lane that has a state */
    double *block;    /* q, v, q_low, v_low, revolutions, memory, inputs: the state */
    double *saved;    /* the state before the present chunk of steps */
} group;

/* What evaluates the system for kernels of one variant. */
typedef struct engine {
    const nh_kernel *kernel;    /* NULL: none */
    nh_call_fn *call[NH_CALLS]; /* NULL: the method does without this function of its own */
    void *self;                 /* nh_interpreter or nh_callback_space */
    nh_interpreter interpreter;
    nh_machine machine;
    nh_callback_space *callbacks;
    double *scratch;
    size_t scratch_size;    /* in reals, as the method asks for it; there is as much again */
    long long scratch_peak; /* what its steps took of it, at most */
    void *slots;
    nh_tape *own[NH_OWN_MAX]; /* of the method: method.h */
} engine;

typedef struct nh_trial { /* of the tape, until it is known whether compiling pays: backend.c */
    bool open;
    int64_t expected, steps;       /* announced, and done on the tape */
    int64_t chunk;                 /* steps between two looks at the clock */
    double seconds;                /* that they took */
    double next_look;              /* compiling is considered again when they are so many */
    double begin, processor_begin; /* what the clocks said before the first step */
    bool not_cached;               /* the kernel was looked for in the cache, in vain */
    nh_compilation *compilation;
    double wait; /* so many seconds more for it; then the tape goes on */
} nh_trial;

typedef struct nh_trace { /* as in nh_kernel_io */
    double *row, *wrapped;
    int64_t from, every;
} nh_trace;

enum { NH_BRIEF_CALLS = 16 };
typedef struct nh_brief { /* what calls of few steps keep for the next: brief.c */
    const engine *engine;
    const nh_kernel *kernel; /* that it had then */
    nh_kernel_io io;
    int64_t until;  /* steps done, up to which it serves */
    double seconds; /* that a step takes; negative: not known yet */
    bool unwatched; /* as the run's, when it was prepared */
    /* Of several groups: the calls since their states were saved. */
    int calls;
    int64_t taken[NH_BRIEF_CALLS]; /* steps */
    double *inputs;                /* [NH_BRIEF_CALLS][members][inputs]; NULL without inputs */
} nh_brief;

typedef struct nh_health nh_health;         /* health.h */
typedef struct nh_run_inputs nh_run_inputs; /* inputs.h */
typedef struct nh_pace nh_pace;             /* pace.h */
struct nh_failure;                          /* failure.h */
typedef struct nh_crossings nh_crossings;   /* events.h */

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
    int size[NH_SIZES];                    /* of the method */
    size_t table_size, memory, state_size; /* state_size: reals in a group's block */
    nh_pace *pace;                         /* by which it chooses its own steps; or NULL */
    engine careful; /* one lane, built in, with Newton: serves steps the fast one gives back */
    engine fast;    /* lanes or compiled or both; without a kernel the careful one does it all */
    nh_loaded loaded;
    nh_trial trial;
    nh_patience patience;  /* with the compiler */
    int failed_member;     /* of the last failure */
    bool stopped;          /* by the user's function, which is not to be called again */
    int64_t numbering;     /* messages count members from here */
    double *lane_state;    /* one lane's block, for the careful engine, and room for another */
    nh_remarks remarks;    /* doubts about the motion */
    nh_health *health;     /* what they come from */
    bool unwatched;        /* nothing is looked at */
    nh_run_inputs *inputs; /* NULL: none is open */
    nh_trace trace;        /* where states are kept on the way: trace.c */
    double *blocks;        /* of all groups */
    nh_brief brief;
    nh_crossings *crossings; /* events that are looked for; NULL: none */
    nh_solution *solution;   /* that follows it; NULL: none */
};

void *nh_aligned_doubles(size_t count); /* zeroed; NULL without memory */

/* As nh_run_create, for a choice at hand and options of this version, whose method is not looked
 * at.
 */
nh_status nh_run_create_choice(nh_run **out, const nh_system *system, const nh_choice *choice,
                               const nh_run_options *options, nh_report *report);

/* What calls the given functions of a system, without a kernel. Freed also after
 * failures. */
nh_status nh_engine_call(engine *e, const nh_system *system, nh_variant variant, int lanes,
                         nh_fn_set functions, nh_report *report);
void nh_engine_free(engine *e);

/* NH_BAD_ARGUMENT for a negative number of steps, and for a run with members that have no state. */
nh_status nh_run_check_started(const nh_run *run, int64_t steps, nh_report *report);

/* Whether its members have steps of their own within those of the run. */
bool nh_run_adapts(const nh_run *run);

/* Gives the run a kernel that is compiled for its system. */
nh_status nh_run_compile(nh_run *run, nh_report *report);
/* How many steps to do at most before the run is looked at again, and what comes after them: the
 * run may go on with a compiled kernel. */
int64_t nh_trial_chunk(nh_run *run);
void nh_trial_note(nh_run *run, int64_t steps, double seconds);

typedef struct nh_around { /* what is called with some groups before and after their steps; the
                             latter tells whether their states are finite */
    void (*before)(void *self, const group *first, int count);
    bool (*after)(void *self, const group *first, int count);
    void *self;
} nh_around;
/* Advances by few steps where that needs nothing but the kernel; false when it has to be done the
 * long way, though `around`, if given, may have seen some groups. The other keeps what the kernel
 * is handed for that. */
bool nh_brief_advance(nh_run *run, int64_t steps, const nh_around *around);
void nh_brief_prepare(nh_run *run, const engine *e, const nh_kernel_io *io);

/* Takes a member out: its lane follows a neighbour from here on and cannot fail by itself. A group
 * without members left is not advanced. nh_run_start brings a member back. */
void nh_run_retire(nh_run *run, int member);
/* nh_run_wrapped_state with inner velocities (system/attitude.h). */
void nh_run_inner_state(const nh_run *run, int member, double *t, double *q, double *v);
/* ... and the lanes out of use follow again after a state was set from outside. */
void nh_group_follow(const nh_run *run, group *g);

/* What a kernel gets for a block of states (advance.c), and a group from step `index` to step `to`,
 * its state before step `from` being saved. */
nh_kernel_io nh_run_io(const nh_run *run, engine *e, double *block, int lanes, int64_t index);
engine *nh_run_fast_engine(nh_run *run);
bool nh_group_start(nh_run *run, group *g, struct nh_failure *f);
bool nh_group_advance(nh_run *run, group *g, int64_t from, int64_t index, int64_t to,
                      struct nh_failure *f);

/* Advances a state that does not belong to the run, a block of one lane, from its start: beside the
 * run, with another step. Done by the careful kernel, or by the fast one to the same bits in less
 * time. False when that fails, as it does where the fast one has several lanes. */
bool nh_run_advance_beside(nh_run *run, bool careful, double *block, double t, double step,
                           int64_t steps);

#endif
