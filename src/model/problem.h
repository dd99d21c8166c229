/* A problem: a model with values for its parameters, as expressions of one graph.
 *
 * Positions are inputs NH_Q, velocities NH_V, time NH_TIME. Velocity i of i < coordinates belongs
 * to coordinate i; the remaining ones (statement `velocity`) are on a Lie algebra and have no
 * coordinates. */
#ifndef NH_MODEL_PROBLEM_H
#define NH_MODEL_PROBLEM_H

#include "model/graph.h"

typedef struct nh_place {
    int line, column; /* in the text as it was written */
    int at;           /* offset in the text that is read, which decides what comes first */
} nh_place;

typedef struct nh_problem_constraint {
    char *name; /* "no_slip"; in a family with the index, "slip[3]"; unnamed ones "constraint 1" */
    nh_expr value; /* left minus right: k(t, q, v) = 0; for a condition on positions, its total time
                      derivative, so that every constraint is one on velocities */
    nh_expr position; /* left minus right of a condition on positions, g(t, q) = 0 */
    bool on_positions;
    int vector;     /* the same number for all components of a vector equation; otherwise 0 */
    char *combined; /* of its first two: the name of a combination (mechanics/turning.c) */
    nh_place place;
} nh_problem_constraint;

typedef struct nh_bracket { /* [w_a, w_b] contains c * w_result; both orders are listed */
    int a, b, result;       /* indices of velocities */
    double c;
} nh_bracket;

typedef struct nh_rotation { /* coordinates first .. first + 3, a unit quaternion */
    char *name;
    char *rate_name[3]; /* "R.w1", the angular velocity in body axes */
    int first;
    nh_place place;
} nh_rotation;

/* A function that the motion depends on is not smooth where this expression changes its sign. */
typedef struct nh_problem_kink {
    nh_expr condition;
    nh_place place; /* line 0: unknown */
} nh_problem_kink;

typedef struct nh_named_expr {
    char *name;
    nh_expr value;
} nh_named_expr;
/* Times, and the values that an open input takes from each of them on. */
typedef struct nh_input_table {
    int64_t rows;
    int values;    /* number of values of a piece */
    double *time;  /* [rows], ascending */
    double *piece; /* [rows][values] */
} nh_input_table;
/* The last point that is not after t; -1: none. And the values of the input there. */
int64_t nh_input_table_find(const nh_input_table *table, double t);
void nh_input_table_piece(const nh_input_table *table, int64_t piece, double *u);

typedef enum nh_signal {
    NH_SIGNAL_FORMULA, /* an expression */
    NH_SIGNAL_HELD,    /* a value that is kept until the next one */
    NH_SIGNAL_LINEAR,  /* straight lines between values */
    NH_SIGNAL_SPLINE   /* cubic polynomials between values */
} nh_signal;

typedef struct nh_problem_input {
    char *name;           /* "u", "u[3]" */
    const char *declared; /* as in the text, "u" */
    nh_expr value;        /* as it appears in the equations */
    nh_expr given;        /* its default, a function of time and perhaps the state */
    nh_signal signal;     /* NH_SIGNAL_FORMULA: closed, `value` is `given` */
    bool feedback;        /* closed, and depends on the state */
    bool sampled;         /* open, and its expression is evaluated at every sample */
    nh_input_table table; /* open, and given by this table, if it has rows */
    int first;            /* if open: the first of its numbers among NH_U */
    nh_place place;
} nh_problem_input;

typedef struct nh_named_value {
    char *name;
    double value;
} nh_named_value;

typedef struct nh_problem_event { /* where a function of the motion changes its sign */
    char *name;                   /* "floor"; in a family with the index, "hit[3]" */
    nh_expr value;                /* g(t, q, v) */
    int direction;                /* 1: from below zero, -1: from above, 0: both */
} nh_problem_event;

typedef struct nh_change { /* the value that `when` assigns to a velocity at an event */
    int event, velocity;
    nh_expr value; /* of the state before the event */
    nh_place place;
} nh_change;

/* A set of coordinates and velocities. */
typedef struct nh_selection {
    bool *q, *v; /* [coordinates], [velocities] */
} nh_selection;

/* Contacts and grips: conditions that hold only as long as the reactions allow it. In a mode each
 * of them is one or the other; every mode is a problem of its own, with the same coordinates. */
typedef enum nh_hold {
    NH_HOLD_UNDECIDED,
    NH_HOLD_NONE,     /* an open contact; a grip without load */
    NH_HOLD_FIRM,     /* a closed contact; a grip that holds: a constraint */
    NH_HOLD_FORWARD,  /* a grip that slips; with one component, forward or backward */
    NH_HOLD_BACKWARD, /* so that the force has no jump within a mode */
    /* It holds, but some of its rows follow from others that hold and are no constraints. */
    NH_HOLD_FIRST, /* only the first component is one */
    NH_HOLD_SECOND,
    NH_HOLD_IMPLIED /* none is */
} nh_hold;

static inline bool nh_holds(nh_hold hold)
{
    return hold == NH_HOLD_FIRM || hold >= NH_HOLD_FIRST;
}
static inline bool nh_slips(nh_hold hold)
{
    return hold == NH_HOLD_FORWARD || hold == NH_HOLD_BACKWARD;
}
/* Whether component c is a constraint. */
static inline bool nh_is_held_row(nh_hold hold, int c)
{
    return hold == NH_HOLD_FIRM || (hold == NH_HOLD_FIRST && c == 0) ||
           (hold == NH_HOLD_SECOND && c == 1);
}

typedef struct nh_problem_item {
    char *name; /* "ground", "roll[3]" */
    bool contact;
    int components;             /* of a grip: 1 or 2; of a contact 1 */
    nh_expr gap;                /* of a contact */
    nh_expr speed[2];           /* its time derivative; the slip of a grip */
    nh_expr limit[2], still[2]; /* of the force of a grip that slips, and of one that holds */
    bool ellipse;               /* the two limits are the half axes of an ellipse */
    bool *loads, constant;      /* [reactions]: what the limit consists of */
    bool bilateral;             /* the limit needs a reaction that may have either sign */
    double restitution;
    int reaction[2]; /* numbers of its reactions among the arguments NH_X */
    nh_hold hold;    /* in this problem */
    nh_place place;
} nh_problem_item;

enum { NH_TURNS = 8 };
/* The numbers NH_U of an item, from `first_of_items` on; after all items the reactions follow, in
 * the order of their numbers. */
enum {
    NH_ITEM_HOLD,  /* nh_hold */
    NH_ITEM_SHOWN, /* the same for the user: 1, 0 or -1 */
    NH_ITEM_SPENT, /* energy lost so far, as it is shown */
    NH_ITEM_LOST,  /* energy lost in slip and impacts up to the last change of the mode */
    NH_ITEM_TIMES, /* how often it has slipped or been open */
    NH_ITEM_AWAY,  /* how long, less the present time while it does */
    NH_ITEM_EDGE,  /* the square of the slip below which a grip that slips may grip again */
    NH_ITEM_ALONG, /* [2] a very small slip in the direction in which it began */
    NH_ITEM_HITS = NH_ITEM_ALONG + 2, /* impacts of a contact that follow each other faster and
                                         faster; the speeds after the first and the last */
    NH_ITEM_FIRST,
    NH_ITEM_LAST,
    NH_ITEM_RATIO, /* of the last two */
    NH_ITEM_PULL,  /* how much the acceleration of a slip changes with its direction */
    NH_ITEM_TURN,  /* [NH_TURNS] how far that direction turns, see run/contact_guide.c */
    NH_ITEM_NUMBERS = NH_ITEM_TURN + NH_TURNS
};
/* The last numbers concern all items: since when and how often the mode has changed with no time
 * passing, the energy when it changed last, whether reactions are not determined; whether the
 * directions of slips with two components are functions of time (1 or 0), from when to when, and
 * one divided by how long. */
enum {
    NH_ALL_SINCE,
    NH_ALL_STALLED,
    NH_ALL_ENERGY,
    NH_ALL_REDUNDANT,
    NH_ALL_GUIDED,
    NH_ALL_FROM,
    NH_ALL_UNTIL,
    NH_ALL_RATE,
    NH_ALL_NUMBERS
};
/* What is told of an item, as events by name: "ground opens", "roll slips". */
enum { NH_TOLD = 3 };
enum { NH_TOLD_OPENS, NH_TOLD_HITS, NH_TOLD_CLOSES };
extern const char *const nh_told[2][NH_TOLD]; /* of a grip; of a contact */
enum { NH_TOLD_SLIPS, NH_TOLD_GRIPS, NH_TOLD_REVERSES };
/* What is watched of an item: that its mode remains possible, and that its limit is positive. */
enum { NH_WATCHED = 2 };

typedef struct nh_problem {
    char *name, *file, *text; /* of the model */
    nh_graph *graph;
    int coordinates, velocities, constraints, frames, brackets, observables, parameters;
    int positions;          /* how many constraints are conditions on positions: the last ones */
    char **coordinate_name; /* "x", "y[3]" */
    char **velocity_name;   /* "x'", "y[3]'", "w1" */
    bool *angle;            /* [coordinates] */
    nh_expr lagrangian;
    nh_place lagrangian_place;
    nh_expr *force; /* [velocities]; NH_ZERO where none */
    nh_problem_constraint *constraint;
    nh_problem_constraint *implied; /* [implieds] constraints left out because they follow from the
                                       others on one branch of their solutions; starts have to be on
                                       that branch */
    int implieds;
    nh_expr *frame; /* [frames][velocities], row by row; frames may be 0 */
    nh_place frame_place;
    nh_bracket *bracket;
    nh_expr pace; /* of the motion, if the model gives it (`paced`) */
    bool paced;
    nh_problem_kink *kink; /* [kinks] that affect the motion, in the order of the text */
    int kinks;
    int rotations;
    nh_rotation *rotation;
    nh_named_expr *observable; /* their extra argument i is the multiplier of reaction[i] */
    nh_problem_input *input;   /* [inputs] */
    int inputs;
    int open_values;     /* how many numbers NH_U a run supplies for the open ones */
    double input_period; /* between samples; 0: every step */
    int *reaction;       /* [reactions] constraints whose multipliers are observed */
    int reactions;
    nh_named_value *parameter; /* values, in the order of the file */
    bool *fixed; /* [parameters] of a named build: a number, not a symbol, in the equations */
    nh_expr *definition; /* [parameters] of a named build: in terms of earlier parameters */
    char **setting;      /* [settings] with which the problem was built */
    size_t settings;
    /* Start expressions: positions in terms of numbers and other positions, velocities in terms of
     * positions. NH_ZERO if the model gives none. */
    nh_expr *start_q, *start_v; /* [coordinates], [velocities] */
    nh_selection solve;         /* named by `start solve` */
    struct nh_drawing *drawing; /* draw.h; NULL without `draw` statements */
    double span;                /* natural length of a run; 0: the model gives none */
    /* The scales by which errors near zero are measured, of coordinates, then of velocities: 0
     * where the model gives none; NULL: none at all. */
    double *scale;
    nh_problem_event *event;
    nh_change *change;
    int events, changes;
    /* Contacts and grips. The events of the model are followed by those that are told of items and
     * by those that are watched, both in the order of items; observables by two for each item, and
     * in a mode by all reactions and the power that each item takes. */
    nh_problem_item *item;
    int items;
    int model_events;    /* without those of items */
    int first_of_items;  /* the first of their numbers among NH_U; the last one is the energy at
                            the last change of the mode */
    int own_observables; /* those that users see */
    bool impacts_in_turn;
    bool is_mode;            /* of one mode; otherwise nothing is closed or held */
    nh_expr *reaction_value; /* [reactions] in terms of those of constraints; NULL without items */
} nh_problem;

/* Parameters are numbers; or keep their names (nh_problem_build_named); or are numbers, like all of
 * the problem, with 34 digits (labels.h); or numbers of which it is noted what follows from them
 * (lineage.h). Only the first has a drawing. */
typedef enum nh_build_kind {
    NH_BUILD_NUMBERS,
    NH_BUILD_NAMED,
    NH_BUILD_PRECISE,
    NH_BUILD_DESCENT
} nh_build_kind;

/* Each of `settings` is "NAME=EXPRESSION". */
nh_status nh_problem_build(nh_problem **out, const nh_model *model, const char *const *settings,
                           size_t setting_count, nh_report *report);
/* The same, with parameters that keep their names, as inputs NH_P of the graph, for equations to be
 * displayed. Where a number is needed (a bound, an index, an exponent, a condition), the parameter
 * becomes `fixed`. Such a problem has no drawing. For tapes, parameters are inputs NH_U after those
 * of open inputs (nh_system_build_named). */
nh_status nh_problem_build_named(nh_problem **out, const nh_model *model,
                                 const char *const *settings, size_t setting_count,
                                 nh_report *report);
/* The same with numbers of 34 digits. Fails where there are none. */
nh_status nh_problem_build_precise(nh_problem **out, const nh_model *model,
                                   const char *const *settings, size_t setting_count,
                                   nh_report *report);
/* The same as nh_problem_build, and what follows from the parameters of the lineage, which
 * outlives the problem, is noted there. `settings` give these parameters their first values. */
nh_status nh_problem_build_descent(nh_problem **out, const nh_model *model,
                                   const char *const *settings, size_t setting_count,
                                   nh_lineage *lineage, nh_report *report);
/* When nothing is derived any more: calls `visit` with every number that the graph and the
 * parameters have, where it may be changed; from then on nothing is noted. */
typedef void nh_visit_number(void *self, double *number);
void nh_problem_end_descent(nh_problem *problem, nh_visit_number *visit, void *self);
/* One mode: hold[items]. */
nh_status nh_problem_build_mode(nh_problem **out, const nh_model *model,
                                const char *const *settings, size_t setting_count,
                                const nh_hold *hold, nh_report *report);
void nh_problem_free(nh_problem *problem);

/* The first event told or watched of an item. */
static inline int nh_problem_told(const nh_problem *p, int item)
{
    return p->model_events + NH_TOLD * item;
}
static inline int nh_problem_watched(const nh_problem *p, int item)
{
    return p->model_events + NH_TOLD * p->items + NH_WATCHED * item;
}
/* Events that have names for the user. */
static inline int nh_problem_named_events(const nh_problem *p)
{
    return p->model_events + NH_TOLD * p->items;
}

/* How many numbers functions of the problem need from outside: those of open inputs, and named
 * parameters. */
int nh_problem_given(const nh_problem *problem);

/* How many numbers a run supplies for an open input: the coefficients of its polynomial and, unless
 * it is held, the time at which the polynomial begins. */
int nh_signal_values(nh_signal signal);
/* The value of an input at time t, from its numbers. */
double nh_signal_value(nh_signal signal, const double *u, double t);

/* An expression in the model language, shortened if it is long; freed by the caller. */
char *nh_expr_text(const nh_problem *problem, nh_expr e);

/* Whether the values of an open input are left to the caller. */
static inline bool nh_input_is_free(const nh_problem_input *input)
{
    return input->first >= 0 && !input->feedback && !input->sampled && input->table.rows == 0;
}

/* The start state at time t; `assignments` ("x=1, x'=0.2, y[1]=3, y=(1,2)", may be NULL) replace
 * the model's start expressions before any is evaluated. `inputs`: values of the inputs that are
 * left to the caller; where they are NAN, and with NULL, their defaults are used. */
nh_status nh_problem_start(const nh_problem *problem, const char *assignments, double t,
                           const double *inputs, double *q, double *v, nh_report *report);

/* The entries that a list of names contains, "x, x', y[2]', w"; a family's name means all of its
 * members. Coordinates are allowed only if there are conditions on positions. `what` is the name of
 * the list in messages. */
nh_status nh_problem_select(const nh_problem *problem, const char *names, const char *what,
                            nh_selection chosen, nh_report *report);
/* The entries to which `assignments` give values. */
nh_status nh_problem_assigned(const nh_problem *problem, const char *assignments,
                              nh_selection chosen, nh_report *report);

#endif
