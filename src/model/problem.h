/* A problem: a model with values for its parameters, as expressions of one graph.
 *
 * Positions are inputs NH_Q, velocities NH_V, time NH_TIME. Velocity i of i < coordinates belongs
 * to coordinate i; the remaining ones (statement `velocity`) are on a Lie algebra and have none.
 */
#ifndef NH_MODEL_PROBLEM_H
#define NH_MODEL_PROBLEM_H

#include "model/graph.h"

typedef struct nh_place {
    int line, column;
} nh_place;

typedef struct nh_problem_constraint {
    char *name; /* "no_slip"; a family's carry the index, "slip[3]"; unnamed ones "constraint 1" */
    nh_expr value; /* left minus right: k(t, q, v) = 0; of a condition on positions its total time
                    * derivative, so that every constraint is one on velocities */
    nh_expr position; /* left minus right of a condition on positions, g(t, q) = 0 */
    bool on_positions;
    int vector;     /* components of one equation between vectors have one number; else 0 */
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

/* A function that the motion depends on is not smooth where this changes its sign. */
typedef struct nh_problem_kink {
    nh_expr condition;
    nh_place place; /* line 0: not known */
} nh_problem_kink;

typedef struct nh_named_expr {
    char *name;
    nh_expr value;
} nh_named_expr;
/* Points in time, and what an open input is given from each of them on. */
typedef struct nh_input_table {
    int64_t rows;
    int values;    /* of a piece */
    double *time;  /* [rows], ascending */
    double *piece; /* [rows][values] */
} nh_input_table;
/* The last point that is not after t; -1: none. And what the input is given there. */
int64_t nh_input_table_find(const nh_input_table *table, double t);
void nh_input_table_piece(const nh_input_table *table, int64_t piece, double *u);

typedef struct nh_problem_input {
    char *name;       /* "u", "u[3]" */
    nh_expr value;    /* as the equations see it */
    nh_expr given;    /* what it is unless a run is told otherwise, of time and perhaps the state */
    nh_signal signal; /* NH_SIGNAL_FORMULA: closed, its value is what is given */
    bool feedback;    /* closed, and depends on the state */
    bool sampled;     /* open, and given by its expression at every sample */
    nh_input_table table; /* open, and given by it, if it has rows */
    int first;            /* of an open one: its numbers among NH_U */
    nh_place place;
} nh_problem_input;

typedef struct nh_named_value {
    char *name;
    double value;
} nh_named_value;

typedef struct nh_problem_event { /* where a function of the motion changes its sign */
    char *name;                   /* "floor"; a family's carry the index, "hit[3]" */
    nh_expr value;                /* g(t, q, v) */
    int direction;                /* 1: from below zero, -1: from above, 0: both */
} nh_problem_event;

typedef struct nh_change { /* what `when` gives to a velocity at an event */
    int event, velocity;
    nh_expr value; /* of the state before the event */
    nh_place place;
} nh_change;

/* Some of the coordinates and of the velocities. */
typedef struct nh_selection {
    bool *q, *v; /* [coordinates], [velocities] */
} nh_selection;

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
    nh_problem_constraint *implied; /* [implieds] left out: they follow from the constraints on one
                                     * branch of them, and starts have to be on that */
    int implieds;
    nh_expr *frame; /* [frames][velocities], row by row; frames may be 0 */
    nh_place frame_place;
    nh_bracket *bracket;
    nh_expr pace; /* of the motion, where the model tells it: `paced` */
    bool paced;
    nh_problem_kink *kink; /* [kinks] that the motion meets, in the order of the text */
    int kinks;
    int rotations;
    nh_rotation *rotation;
    nh_named_expr *observable; /* extra argument i of their values: the multiplier of reaction[i] */
    nh_problem_input *input;   /* [inputs] */
    int inputs;
    int open_values;     /* numbers NH_U that a run is given for the open ones */
    double input_period; /* between samples; 0: every step */
    int *reaction;       /* [reactions] constraints whose multipliers are observed */
    int reactions;
    nh_named_value *parameter; /* values, in the order of the file */
    bool *fixed;    /* [parameters] of a named build: number, not name, in the equations */
    char **setting; /* [settings] as the problem was built with */
    size_t settings;
    /* Start expressions: positions in terms of nothing but numbers and other positions, velocities
     * in terms of positions. NH_ZERO where the model is silent. */
    nh_expr *start_q, *start_v; /* [coordinates], [velocities] */
    nh_selection solve;         /* named by `start solve` */
    struct nh_drawing *drawing; /* draw.h; NULL without `draw` statements */
    double span;                /* natural length of a run; 0: the model does not say */
    /* By which errors near zero are measured, of coordinates, then of velocities: 0 where the model
     * is silent; NULL: nowhere. */
    double *scale;
    nh_problem_event *event;
    nh_change *change;
    int events, changes;
} nh_problem;

/* `settings`: "NAME=EXPRESSION" each. */
nh_status nh_problem_build(nh_problem **out, const nh_model *model, const char *const *settings,
                           size_t setting_count, nh_report *report);
/* The same with parameters that keep their names, inputs NH_P of the graph, for equations that are
 * shown: wherever a number decides (a bound, an index, an exponent, a condition), the parameter is
 * `fixed`. Such a problem has no drawing. For tapes parameters are inputs NH_U behind those of open
 * inputs (nh_system_build_named). */
nh_status nh_problem_build_named(nh_problem **out, const nh_model *model,
                                 const char *const *settings, size_t setting_count,
                                 nh_report *report);
void nh_problem_free(nh_problem *problem);

/* Numbers that functions of the problem are given from outside: of open inputs, and of parameters
 * that have names. */
int nh_problem_given(const nh_problem *problem);

/* Numbers that a run is given for an open input: the coefficients of its polynomial and, unless it
 * is held, the time at which this begins. */
int nh_signal_values(nh_signal signal);

/* An expression in the language of models, cut short when it is long; freed by the caller. */
char *nh_expr_text(const nh_problem *problem, nh_expr e);

/* The start state at time t; `assignments` ("x=1, x'=0.2, y[1]=3, y=(1,2)", may be NULL) replace
 * the model's start expressions before any is evaluated. */
nh_status nh_problem_start(const nh_problem *problem, const char *assignments, double t, double *q,
                           double *v, nh_report *report);

/* What a list of names contains, "x, x', y[2]', w"; a family's name means all of its members.
 * Coordinates only where there are conditions on positions. `what` stands for the list in messages.
 */
nh_status nh_problem_select(const nh_problem *problem, const char *names, const char *what,
                            nh_selection chosen, nh_report *report);
/* What `assignments` give values to. */
nh_status nh_problem_assigned(const nh_problem *problem, const char *assignments,
                              nh_selection chosen, nh_report *report);

#endif
