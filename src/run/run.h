/* The state of a run: trajectories in groups of lanes, and the kernel that advances them. */
#ifndef NH_RUN_RUN_H
#define NH_RUN_RUN_H

#include "method/compose.h"
#include "method/method.h"
#include "code/compile.h"
#include "code/machine.h"
#include "system/attitude.h"

/* When steps happen: step i begins at time + i * step. */
typedef struct nh_clock {
    double time, step;
} nh_clock;

static inline double nh_clock_at(const nh_clock *clock, int64_t index)
{
    return clock->time + (double)index * clock->step;
}

typedef struct group { /* `lanes` trajectories side by side, in one block of memory */
    int lanes, first_member;
    bool started;     /* the kernel's start has seen the state */
    unsigned retired; /* a bit for each lane that only duplicates another one */
    unsigned given;   /* a bit for each lane that was given a state */
    double *block;    /* q, v, q_low, v_low, revolutions, memory, inputs: the state */
    double *saved;    /* the state before the current chunk of steps */
} group;

/* What evaluates the system for kernels of one variant. */
typedef struct engine {
    const nh_kernel *kernel;    /* NULL: none */
    nh_call_fn *call[NH_CALLS]; /* NULL: the method's own function does not exist */
    void *self;                 /* nh_interpreter or nh_callback_space */
    nh_interpreter interpreter;
    nh_machine machine;
    nh_callback_space *callbacks;
    double *scratch;
    size_t scratch_size;    /* in reals, as the method asks for it; twice as much is allocated */
    long long scratch_peak; /* the most that its steps took of it */
    void *slots;
    nh_tape *own[NH_OWN_MAX];   /* of the method: see method.h */
    nh_tape *forward[NH_CALLS]; /* with derivatives: see dual_engine.h */
} engine;

/* What takes the steps of a system: of the run's own, or of the present mode (contacts.h). */
typedef struct nh_engines {
    const nh_shape *shape;
    engine careful;  /* one lane, built in, with Newton: for steps that the fast one gives back */
    engine fast;     /* over lanes; without a kernel, the careful one does it all */
    engine compiled; /* takes its place if that is the backend */
    nh_loaded loaded;
    nh_backend backend;
} nh_engines;

typedef struct nh_trial { /* times the tape, to decide whether compiling pays: backend.c */
    bool open;
    int64_t expected, steps; /* steps that were announced, and steps done on the tape */
    int64_t chunk;           /* steps between two readings of the clock */
    double seconds;          /* the time these steps took */
    double begun;            /* when the present leg began */
    double next_look;        /* compiling is considered again after this many seconds */
    struct {                 /* what these were when it was last considered */
        int64_t steps;
        double seconds, clock, processor;
    } last;
    bool not_cached; /* the kernel was not found in the cache */
    nh_compilation *compilation;
    double wait; /* how many more seconds to wait for it; then the tape continues */
    /* Then tape and compiled kernel take turns, and the faster one continues. */
    int turns;              /* that are left */
    int64_t turn_steps;     /* of the present turn */
    double turn_seconds;    /* likewise */
    double step_seconds[3]; /* of the best turn, by nh_backend */
} nh_trial;

enum { NH_PREPARED_CALLS = 16 };
typedef struct nh_prepared { /* what calls of few steps keep for the next call: leg.c */
    const engine *engine;
    const nh_kernel *kernel; /* the run's kernel at that time */
    nh_kernel_io io;
    int64_t until;  /* up to this step it can be used */
    double seconds; /* time of a step; negative: not known yet */
    int untimed;    /* calls since then */
    bool unwatched; /* that of the run when it was prepared */
    /* With several groups: the calls since their states were saved. */
    int calls;
    int64_t taken[NH_PREPARED_CALLS]; /* steps of each call */
    double *inputs; /* [NH_PREPARED_CALLS][members][inputs]; NULL without inputs */
} nh_prepared;

enum {
#define NH_ATTACHMENT(name) NH_ATTACHED_##name,
#include "run/attach.def"
#undef NH_ATTACHMENT
    NH_ATTACHMENTS
};

typedef struct nh_health nh_health;         /* health.h */
typedef struct nh_run_inputs nh_run_inputs; /* inputs.h */
typedef struct nh_switches nh_switches;     /* switches.c */
typedef struct nh_chatter nh_chatter;       /* chatter.c */
typedef struct nh_pace nh_pace;             /* pace.h */
typedef struct nh_mixed nh_mixed;           /* mixed.h */
typedef struct nh_crossings nh_crossings;   /* events.h */
typedef struct nh_tangent nh_tangent;       /* tangent.h */
typedef struct nh_journal nh_journal;       /* journal.h */
typedef struct nh_contacts nh_contacts;     /* contacts.h */

struct nh_run {
    const nh_system *system;
    nh_choice choice;
    double step, time;
    int64_t steps; /* steps done */
    double seconds;
    bool compensated;
    char *compose;   /* the composition, NULL: none */
    nh_mixed *mixed; /* if it is one of different methods, of which `choice` is the first */
    int parts;       /* of a composed step of one method, else 1 */
    double part[2 * NH_PARTS_MAX];
    int members, groups;
    group *group;
    double *table;
    int size[NH_SIZES];                    /* of the method */
    size_t table_size, memory, state_size; /* state_size: reals in a group's block */
    nh_pace *pace;                         /* by which it chooses its own steps, or NULL */
    nh_engines own, *engines;              /* the latter are in use */
    nh_trial trial;
    nh_patience patience;  /* how long to wait for the compiler, and for steps that take long */
    double asked;          /* the clock when it was asked last */
    bool interrupted;      /* it said that the run is to stop */
    double *own_nodes;     /* interrupt.c; or NULL */
    int failed_member;     /* whose failure was the last */
    bool stopped;          /* by the user's function, which must not be called again */
    int64_t numbering;     /* number of the first member in messages */
    double *lane_state;    /* one lane's block for the careful engine, and room for a second one */
    nh_remarks remarks;    /* about the motion and the steps */
    nh_health *health;     /* what remarks are made from */
    bool unwatched;        /* no health checks */
    nh_run_inputs *inputs; /* NULL: there are no open inputs */
    nh_chatter *chatter;   /* NULL: it is not looked for */
    nh_switches *switches; /* NULL: no function changes abruptly at a known time */
    double *blocks;        /* of all groups */
    nh_prepared prepared;
    nh_crossings *crossings;        /* events that are looked for, or NULL */
    nh_tangent *tangents;           /* derivatives that follow the run, or NULL */
    bool differentiated;            /* it has, or had, some, or is swept backwards */
    nh_journal *journal;            /* what it does is noted here, or NULL */
    nh_contacts *contacts;          /* contacts and grips, or NULL */
    nh_solution *solution;          /* the solution that follows the run, or NULL */
    void *attached[NH_ATTACHMENTS]; /* what an attachment without a field of its own keeps here */
    bool has_columns;               /* of attachments: they tell their present values only */
};

/* The clock of the run itself; steps of another length have one of their own. */
static inline nh_clock nh_run_clock(const nh_run *run)
{
    return (nh_clock){run->time, run->step};
}

void *nh_aligned_doubles(size_t count); /* zeroed; NULL without memory */

/* As nh_run_create, for a choice already made and options of this version, whose method is
 * ignored. */
nh_status nh_run_create_choice(nh_run **out, const nh_system *system, const nh_choice *choice,
                               const nh_run_options *options, nh_report *report);

/* Prepares an engine that calls the given functions of a system, without a kernel. To be freed also
 * after failures. */
nh_status nh_engine_call(engine *e, const nh_system *system, nh_variant variant, int lanes,
                         nh_fn_set functions, nh_report *report);
/* The same for tapes that are in the engine's interpreter already, and stay the caller's. */
nh_status nh_engine_call_tapes(engine *e, nh_variant variant, int lanes, nh_report *report);
void nh_engine_free(engine *e);

/* NH_BAD_ARGUMENT for a negative number of steps, and for a run with members that have no state. */
nh_status nh_run_check_started(const nh_run *run, int64_t steps, nh_report *report);

/* Whether its members choose their own steps within those of the run. */
bool nh_run_adapts(const nh_run *run);
/* What makes a run finer, for advice: "a smaller step (now 0.1)", or a tolerance if the method
 * chooses its own steps. */
typedef struct nh_finer {
    char text[64];
} nh_finer;
nh_finer nh_run_finer(const nh_run *run, double step);

/* Gives the run a kernel compiled for its system. */
nh_status nh_run_compile(nh_run *run, nh_report *report);

/* Takes a member out: from here on its lane duplicates a neighbour and cannot fail by itself. A
 * group without members is not advanced. nh_run_start brings a member back. */
void nh_run_retire(nh_run *run, int member);
/* As nh_run_wrapped_state, with inner velocities (system/attitude.h). */
void nh_run_inner_state(const nh_run *run, int member, double *t, double *q, double *v);
/* The row of a block from which on a method that chooses its own steps counts them: accepted,
 * rejected, blurred. */
size_t nh_run_counts_row(const nh_run *run);

#endif
