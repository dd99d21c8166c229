/* Events of a run: functions g(t, q, v) of the model whose changes of sign end a member, change its
 * velocities, or are only reported.
 *
 * Every step of a member is an interval between two nodes, which are states with their
 * accelerations: the steps of the run, or those that the method chooses itself (kernel_io.h).
 * event_nodes.c computes them, event_find.c finds the changes of sign in an interval, event_act.c
 * acts on them, event_advance.c goes from node to node, events.c has the public functions and what
 * is stored.
 *
 * What is found depends only on the two nodes of an interval, so it does not depend on how far a
 * run is advanced at a time. A run with events has one lane in each group. */
#ifndef NH_RUN_EVENTS_H
#define NH_RUN_EVENTS_H

#include "run/attach.h"

/* The layout of a node: t, own steps taken and attempts rejected, the length of the last one, q, v,
 * v', revolutions. */
enum { NODE_T, NODE_TAKEN, NODE_GIVEN_UP, NODE_LENGTH, NODE_Q };

/* What is stored about a member, all as numbers. */
enum {
    KEPT_ENDED,  /* 1 + the event that ended it; 0: none */
    KEPT_END,    /* when */
    KEPT_NODES,  /* number of known nodes: 0, 1 (the current state), 2 (an interval around it) */
    KEPT_SEEN,   /* time up to which events of the interval have been reported */
    KEPT_STARTS, /* not 0: the method has been started at the current state */
    KEPT_STEPS,  /* steps of the run when it ended */
    KEPT_NUMBER, /* events reported so far */
    KEPT_EVENTS  /* followed, for each event, by: */
};
enum {
    OF_SIDE,  /* the sign of g at the first node, just after an event there; 0: not known yet */
    OF_LAST,  /* time of the last event */
    OF_SHORT, /* how many followed closely upon each other */
    OF_YOUNG = OF_SHORT, /* of what is watched of a mode: it began at zero and is still there */
    OF_GAP,              /* the time between the last two */
    OF_WIDE, /* ... and between the first two that came faster and faster; how many did */
    OF_FASTER,
    OF_COUNT,
    OF_ALL
};

typedef struct nh_root { /* a change of sign */
    double x;            /* where in the interval, 0 to 1 */
    int event, direction;
    bool
        zero; /* no event otherwise: g passes through infinity, or an angle jumps by a revolution */
} nh_root;

enum { NH_EVENT_STEPS = 64, NH_EVENT_NODES = 64 };

struct nh_crossings {
    int events; /* those of the model, then those that are functions of the caller */
    int model_events, n, angles;
    nh_event_function *function; /* [events - model_events] */
    const nh_system *system;
    const nh_shape *shape;
    size_t node_size, kept_size;
    const nh_problem *problem; /* NULL: the system has no model */
    bool *looked_for, *ends, *acts;
    bool *wraps;                   /* jumps of an angle (atan2) are not events */
    bool *branches;                /* may jump, because the model says so (if, sign) */
    bool needs_slope;              /* a rate depends on the acceleration */
    bool own;                      /* the method chooses its own steps, which are the nodes */
    bool exactly;                  /* states between nodes are computed, not interpolated */
    double option[NH_OPTIONS_MAX]; /* options of the method for steps of given length */
    engine own_engine, *engine;    /* EVENTS, CHANGES, ACCELERATION; the latter is in use */
    double *room;                  /* of all the arrays of numbers below */
    double *kept, *kept_before;    /* [members][kept_size]; the latter before the current chunk */
    double *rows, *wrapped;        /* states of a chunk of steps */
    double *node;                  /* [NH_EVENT_NODES][node_size] */
    const double *inputs;          /* of the current member */
    double *block;                 /* a state beside the run, as a block of one lane */
    double *at, *fresh;            /* nodes: one in between, and the one after an event */
    double *at_told, *told;        /* the former while an event is told, and the inputs told */
    double *moved_node;            /* one near another */
    double *value[3];              /* g and g' at the nodes of an interval, and between them */
    double *within;                /* ... and at two points in between */
    double *of_model;              /* the same for the model's events, as they are computed */
    double *moved;                 /* q, v near a state, and as users see them */
    double *slope;                 /* v' and multipliers */
    double *changed;               /* what CHANGES returns */
    double *q;                     /* with full revolutions */
    double *outside;               /* q, v, v after: the event as users see it */
    nh_root *root;                 /* in the current interval */
    int roots, root_room;
    double *reported;      /* [members][2]: how many events were reported, and which is to end it */
    double *blocks_before; /* states of all members before the current chunk */
    int unresolved;        /* 1 + the event whose zeros cannot be told apart; 0: none */
    int grazed;            /* 1 + the event that only touches zero where derivatives are wanted */
    double grazed_at, grazing_rate; /* when, and the rate of its function */
    bool no_memory;
    bool stopped; /* a function asked to stop */
    void *user;
    int (*hook)(void *user, const nh_event *event);
};

/* Whether an event belongs to contacts and grips and has no name for the user. */
static inline bool nh_crossings_is_watched(const nh_crossings *w, int event)
{
    return event < w->model_events && event >= nh_problem_named_events(w->problem);
}

/* Whether it is told when a mode changes, and is no function to be looked at. */
static inline bool nh_crossings_is_told(const nh_crossings *w, int event)
{
    return w->problem && event >= w->problem->model_events &&
           event < nh_problem_named_events(w->problem);
}

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

/* Whether a member has ended, and when. */
bool nh_crossings_ended(const nh_run *run, int member, double *t);
bool nh_crossings_all_ended(const nh_run *run);

const char *nh_crossings_name(const nh_crossings *w, int event);
int nh_crossings_direction(const nh_crossings *w, int event);

/* How many of the numbers stored about a member do not concern the caller's functions. */
size_t nh_crossings_model_size(const nh_crossings *w);
void nh_crossings_take(const nh_run *run, double *out);
void nh_crossings_put(nh_run *run, const double *from);

/* Takes a leg of a group, with its events. */
bool nh_crossings_walk(nh_run *run, group *g, const nh_leg *leg, nh_step_failure *f);

/* The events that a run looks for and ends at, as a text to be freed; NULL without memory. */
char *nh_crossings_ends(const nh_run *run);

/* ---- shared by the event files ---- */

/* A node from a group's block of one lane, and back: a state from which the method starts, with the
 * member's inputs. */
void nh_node_of_block(const nh_crossings *w, const double *block, double t, double *node);
void nh_block_of_node(const nh_run *run, const double *node, double *block);
/* Values of all events and their rates at a node. */
void nh_crossings_values(nh_crossings *w, const double *node, double *value);
/* Whether the value of an event at a node is zero, up to rounding errors of the state. */
bool nh_crossings_on_zero(const nh_crossings *w, int event, const double *node, double value);
/* The rate of an event that is a function, from two nearby states; h is the length of the
 * interval. */
double nh_crossings_rate(nh_crossings *w, const double *node, int event, double h);
/* The acceleration at a node. */
void nh_crossings_slope(nh_crossings *w, double *node);
/* Computes the state at the fraction x between two nodes with a step of the method, into w->at;
 * false if that is not possible. */
bool nh_crossings_between(nh_run *run, const double *from, const double *to, double x);
/* Whether nothing but a mode is watched, and that is far from its end in an interval of which the
 * values of events have been computed. */
bool nh_crossings_are_far(nh_run *run, double *kept, const double *from, const double *to);
/* Finds all changes of sign in an interval, in order, into w->root; sides are those at its first
 * node. False if the method fails, or where one only touches zero, up to a time, and derivatives
 * are wanted. */
bool nh_crossings_find(nh_run *run, double *kept, double *from, double *to, double until);

typedef struct nh_event_walk { /* a member between two steps of the run */
    nh_run *run;
    nh_crossings *w;
    group *g;
    const nh_leg *leg; /* what the loop asks for */
    int member;
    double *kept;
    int64_t index; /* steps of the run completed so far */
    bool changed;  /* an event has changed its velocities since the last whole step */
    nh_step_failure *f;
    bool counted; /* what grips took until the event that is told */
} nh_event_walk;

/* Notes why it cannot go on; false. */
bool nh_event_walk_fails(nh_event_walk *k, int status, int event, double t);
/* Where the method's memory counts its own steps; NULL: the method takes the steps of the run. */
double *nh_event_walk_counts(const nh_event_walk *k);
/* Finds the events of an interval and reports those up to a time; *event is the first root at which
 * the state changes or the member ends, which is not yet reported, -1 if there is none. */
bool nh_event_walk_look(nh_event_walk *k, double *from, double *to, double until, int *event);
/* Reports an event at a node, with the velocities after it; true if the caller wants the member to
 * end. Ends the member there if it is one of those that do. */
bool nh_event_walk_change(nh_event_walk *k, int event, double *node);
bool nh_event_walk_change(nh_event_walk *k, int event, double *node);
bool nh_event_walk_tell(nh_event_walk *k, int event, const double *node, const double *after);
/* Carries out that root and those at the same time. The block gets the state after them. */
bool nh_event_walk_happen(nh_event_walk *k, int first, const double *from, const double *to);
/* Sets every side to that after the changes of sign up to a point of the interval. */
void nh_event_walk_take_sides(nh_event_walk *k, double upto);

#endif
