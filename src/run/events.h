/* Events of a run: functions g(t, q, v) of the model whose changes of sign end a member, change its
 * velocities, or are told.
 *
 * Every step of a member is an interval between two nodes, states with their accelerations: the
 * steps of the run, or those that the method chooses itself (kernel_io.h). event_nodes.c computes
 * them, event_find.c finds the changes of sign in an interval, event_advance.c goes from node to
 * node and does what is to be done there, events.c has what users see and what is kept.
 *
 * What is found is a function of the nodes of one interval alone, so it does not depend on how far
 * a run is advanced at a time. A run with events has one lane in each group. */
#ifndef NH_RUN_EVENTS_H
#define NH_RUN_EVENTS_H

#include "base/pack.h"
#include "run/failure.h"

/* Where a node has its parts: t, own steps and attempts given up, q, v, v', revolutions. */
enum { NODE_T, NODE_TAKEN, NODE_GIVEN_UP, NODE_Q };

/* What is kept of a member, all of it numbers. */
enum {
    KEPT_ENDED,  /* 1 + the event that ended it; 0: none */
    KEPT_END,    /* when */
    KEPT_NODES,  /* nodes that are known: 0, 1 (where it is), 2 (an interval around it) */
    KEPT_SEEN,   /* time up to which events of the interval were told */
    KEPT_STARTS, /* not 0: the method has been started at the present state */
    KEPT_STEPS,  /* of the run, when it ended */
    KEPT_NUMBER, /* events told so far */
    KEPT_EVENTS  /* then of each event: */
};
enum {
    OF_SIDE,  /* the sign of g at the first node, just after an event there; 0: not known yet */
    OF_LAST,  /* time of the last one */
    OF_SHORT, /* how many came one soon after the other */
    OF_GAP,   /* the time between the last two */
    OF_WIDE,  /* ... and between the first two of those that came ever faster; how many these are */
    OF_FASTER,
    OF_COUNT,
    OF_ALL
};

typedef struct nh_root { /* a change of sign */
    double x;            /* where in the interval, 0 to 1 */
    int event, direction;
} nh_root;

enum { NH_EVENT_STEPS = 64, NH_EVENT_NODES = 64 };

struct nh_crossings {
    int events; /* those of the model, then functions of the caller's */
    int model_events, n, angles;
    nh_event_function *function; /* [events - model_events] */
    const nh_system *system;
    const nh_shape *shape;
    size_t node_size, kept_size;
    const nh_problem *problem; /* NULL: the system has no model */
    bool *looked_for, *ends, *acts;
    bool needs_slope;              /* a rate depends on the acceleration */
    bool own;                      /* nodes come from the method */
    bool exactly;                  /* what lies between nodes is computed, not interpolated */
    double option[NH_OPTIONS_MAX]; /* of the method with steps as they are given */
    engine engine;                 /* EVENTS, CHANGES, ACCELERATION */
    double *kept, *kept_before;    /* [members][kept_size]; before the present chunk */
    double *rows, *wrapped;        /* states of a chunk of steps */
    double *node;                  /* [NH_EVENT_NODES][node_size] */
    nh_trace wanted;               /* rows that somebody else wants of the present chunk */
    const double *inputs;          /* of the present member */
    double *block;                 /* a state beside the run, as a group's of one lane */
    double *at, *fresh;            /* nodes: one in between, and the one behind an event */
    double *value[3];              /* g and g' at the nodes of an interval, and between them */
    double *within;                /* ... and at two places in between */
    double *of_model;              /* the same of the model's events, as they are computed */
    double *moved;                 /* q, v beside a state, and as users see them */
    double *slope;                 /* v' and multipliers */
    double *changed;               /* what CHANGES returns */
    double *q;                     /* with full revolutions */
    double *shown;                 /* q, v, v after: what an event looks like to users */
    nh_root *root;                 /* of the present interval */
    int roots, root_room;
    double *told; /* [members][2]: how many events were told, and the one that was to end it */
    double *blocks_before; /* states of all members before the present chunk */
    bool no_memory;
    bool stopped; /* a function asked for it */
    void *user;
    int (*hook)(void *user, const nh_event *event);
};

nh_status nh_crossings_create(nh_crossings **out, const nh_run *run, const nh_run_options *options,
                              nh_report *report);
void nh_crossings_free(nh_crossings *w);

/* A member starts anew. */
void nh_crossings_start(nh_run *run, int member);
static inline double *nh_crossings_kept(const nh_crossings *w, int member)
{
    return w->kept + (size_t)member * w->kept_size;
}
static inline double *nh_crossings_of(double *kept, int event)
{
    return kept + KEPT_EVENTS + event * OF_ALL;
}
/* The two nodes of a member. */
static inline double *nh_crossings_node(const nh_crossings *w, double *kept, int which)
{
    return kept + KEPT_EVENTS + w->events * OF_ALL + (size_t)which * w->node_size;
}

/* The method was started at the present state of a member. */
void nh_crossings_begin(nh_run *run, int member);
/* Whether a member has ended, and when. */
bool nh_crossings_ended(const nh_run *run, int member, double *t);
bool nh_crossings_all_ended(const nh_run *run);
int64_t nh_crossings_steps(const nh_run *run); /* when the last of them did */

/* Before a chunk of steps, and after it failed. */
void nh_crossings_save(nh_run *run);
void nh_crossings_restore(nh_run *run);

const char *nh_crossings_name(const nh_crossings *w, int event);
int nh_crossings_direction(const nh_crossings *w, int event);

/* What is kept of a member without what concerns functions: so many numbers. */
size_t nh_crossings_model_size(const nh_crossings *w);
void nh_crossings_take(const nh_run *run, double *out);
void nh_crossings_put(nh_run *run, const double *from);

/* What is kept was put there from elsewhere: events up to there have been told. */
void nh_crossings_take_up(nh_run *run);

/* A group from one step to another, with its events. */
bool nh_crossings_advance(nh_run *run, group *g, int64_t from, int64_t to, nh_failure *f);

/* Which events a run looks for and ends at, as a text to be freed; NULL without memory. */
char *nh_crossings_ends(const nh_run *run);
void nh_crossings_pack(nh_pack *p, const nh_run *run);
void nh_crossings_unpack(nh_pack *p, nh_run *run);

/* ---- between the files of this part ---- */

/* A node from a group's block of one lane, and back: a state from which the method starts, with the
 * inputs that the member has. */
void nh_node_of_block(const nh_crossings *w, const double *block, double t, double *node);
void nh_block_of_node(const nh_run *run, const double *node, double *block);
/* Values of all events and their rates at a node. */
void nh_crossings_values(nh_crossings *w, const double *node, double *value);
/* The rate of an event that is a function, from two states nearby; h: of the interval. */
double nh_crossings_rate(nh_crossings *w, const double *node, int event, double h);
/* The acceleration at a node. */
void nh_crossings_slope(nh_crossings *w, double *node);
/* The state a part x of the way from node to node, as a step of the method makes it, in w->at;
 * false where it cannot be computed. */
bool nh_crossings_between(nh_run *run, const double *from, const double *to, double x);
/* All changes of sign in an interval, in order, to w->root; sides are those at its first node.
 * False where the method fails. */
bool nh_crossings_find(nh_run *run, double *kept, double *from, double *to);

#endif
