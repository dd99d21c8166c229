/* A problem under construction: shared by problem.c, assign.c, bracket.c and start_expressions.c.
 */
#ifndef NH_MODEL_BUILD_H
#define NH_MODEL_BUILD_H

#include "model/draw.h"
#include "model/expand.h"

/* A problem with data that only this folder uses. `problem` comes first, so that a pointer to one
 * is a pointer to the other. */
typedef struct nh_built {
    nh_problem problem;
    nh_arena arena;
    nh_labels *labels;  /* of its numbers in a precise build, or NULL */
    nh_symbols symbols; /* parameters, coordinates and velocities, for start assignments */
    double *parameter;
    nh_family *coordinate, *velocity, *rotation, *parameters;
    size_t start_nodes; /* nodes of the graph that start expressions may reach */
} nh_built;

/* Where an entry got its value, and how strong that assignment is: of two assignments the more
 * specific one wins (a member over its family, one under a condition over an unconditional one);
 * assignments of equal strength are an error. */
typedef struct nh_given {
    nh_place place; /* line 0: none */
    int strength;
} nh_given;

typedef struct nh_builder {
    const nh_model *model;
    nh_built *built;
    nh_problem *problem;
    nh_build_kind kind;
    nh_report *report;
    nh_expander x; /* the builder's status is x.status */
    nh_given *force, *start_q, *start_v;
    nh_expr *added_force;             /* [velocities]: forces added by forces.c */
    nh_given *driven;                 /* [coordinates]: where kinematics.c found an equation, */
    nh_expr *drive;                   /* and the velocity that it prescribes */
    nh_expr *frame_row;               /* the vector that assignments fill */
    bool frames_left_out;             /* too large to be kept */
    const nh_ast *solved;             /* the first coordinate that `start solve` names, or NULL */
    char meant[NH_NAME_LONGEST + 32]; /* the event of the present `when`, or its family */
    const char *meant_told;           /* "slips", if it is one of a contact or grip */
    const nh_hold *hold;              /* of items in the mode to be built; NULL: nothing holds */
} nh_builder;

/* problem.c: allocates memory that lives as long as the problem; an array without entries is a
 * valid pointer. */
void *nh_build_take(nh_builder *b, int64_t count, size_t size);
char *nh_build_copy(nh_builder *b, const char *text);
nh_status nh_build_memory(nh_builder *b); /* reports that memory ran out */

/* parameters.c: their values, by `count` settings or by the model; from then on they are symbols,
 * except where a number must be known; how they follow from those before them, as symbols. */
void nh_set_parameters(nh_builder *b, const char *const *settings, size_t count);
void nh_name_parameters(nh_builder *b);
void nh_define_parameters(nh_builder *b, const char *const *settings, size_t count);

/* Called once, or once for each index of the statement's loop; not at all if its condition is
 * false. */
typedef void nh_repeated(nh_builder *b, const nh_statement *s, int64_t index);
/* The number of these calls; fails only if the bounds are wrong. */
int64_t nh_repetitions(nh_builder *b, const nh_statement *s);

/* assign.c: one iteration of a statement that assigns values to coordinates and velocities. */
void nh_build_assignments(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_solve(nh_builder *b, const nh_statement *s, int64_t index);
bool nh_is_position(const nh_ast *target); /* rather than a velocity */
/* Without conditions on positions, `start solve` cannot name a position. */
nh_status nh_refuse_position(nh_report *report, const nh_source *source, const nh_ast *target);
void nh_open_frames(
    nh_builder *b); /* allocates all vectors, once the sizes of the families are known */
void nh_build_frame(nh_builder *b, const nh_statement *s, int64_t index);

/* problem.c: "x" or "y[3]", followed by `after`. */
char *nh_member_name(nh_builder *b, const nh_symbol *symbol, int64_t index, const char *after);

/* rows.c: observables and constraints. */
void nh_add_observable(nh_builder *b, char *name, nh_expr value);
void nh_build_observe(nh_builder *b, const nh_statement *s, int64_t index);
/* Settings "observe\nNAME\nEXPRESSION": observables that the library asks for, after those of the
 * model; NAME is also what messages about the expression begin with. */
bool nh_is_asked_setting(const char *text);
void nh_build_asked(nh_builder *b, const char *const *settings, size_t count);
void nh_build_constraint(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_event(nh_builder *b, const nh_statement *s, int64_t index);
/* Makes room for one more entry after the first `count`, in an array that grows by doubling. */
void *nh_build_grown(nh_builder *b, void *array, int count, size_t size);
/* k(t, q, v) = 0, or without velocities g(t, q) = 0. */
void nh_add_constraint(nh_builder *b, char *name, nh_expr value, nh_place place);
/* contact_statements.c: `contact`, `impacts in turn`, the grip of a constraint, whose rows have
 * these names and values; and, when all are known, on what their limits depend. */
void nh_build_contact(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_impacts(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_grip(nh_builder *b, const nh_statement *s, char *name, int rows, char **row_name,
                   const nh_expr *value);
void nh_finish_limits(nh_builder *b);
/* mode_equations.c: events that are told of contacts and grips, after those of the model; at the
 * end, what they mean for forces, events and observables. */
void nh_add_told_events(nh_builder *b);
void nh_finish_items(nh_builder *b);
/* rows.c: records that the constraints from `first` on are components of one vector equation. */
void nh_note_vector(nh_builder *b, const char *base, int first);
/* rows.c: whether a constraint is called `name`, in which indices may be written together. */
bool nh_row_is_called(const char *row, const char *name);
/* "no_slip"; followed by "[3]" in a loop, "[1]" for a component, "[3][1]", "[1,2]" of a matrix. */
char *nh_entry_name(nh_builder *b, const char *base, const nh_statement *s, int64_t index,
                    nh_value value, int64_t entry);
nh_expr nh_entry_of(nh_builder *b, nh_value value, int64_t i);
/* Moves conditions on positions behind all other constraints. */
void nh_order_constraints(nh_builder *b);
/* Finds the constraints whose reactions observables use. */
void nh_find_reactions(nh_builder *b);

/* forces.c: dissipation, and forces at points and on rotations; added at the end. */
void nh_build_dissipation(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_force_at(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_force_on(nh_builder *b, const nh_ast *ast, nh_value velocity, nh_value force);
void nh_add_forces(nh_builder *b);

/* kinematics.c: g' = f; at the end, adds a term to the Lagrangian that makes the mass matrix
 * regular. */
void nh_build_kinematics(nh_builder *b, const nh_statement *s, int64_t index);
void nh_add_kinematics(nh_builder *b);
/* The mean of some masses d2L/dv_i^2 in a state, rounded to a power of two; 1 if there are none.
 * `momenta` is dL/dv. */
double nh_mean_mass(nh_builder *b, const nh_partials *momenta, const double *q, const double *v,
                    int first, int count);

/* pace_statement.c */
void nh_build_pace(nh_builder *b, const nh_statement *s, int64_t index);

/* piecewise.c: the kinks that affect the motion. */
void nh_find_kinks(nh_builder *b);
/* An expression that changes its sign where a part of another one is chosen; NH_ONE if none is. */
nh_expr nh_choices_of(nh_builder *b, nh_expr e);

/* event.c: the natural length of a run, and the changes at events, which are built when all events
 * are known. */
void nh_build_span(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_when(nh_builder *b, const nh_statement *s, int64_t index);
/* Sets the value of a velocity at the events of the present `when`. */
void nh_add_scale(nh_builder *b, const nh_item *item, int64_t at, nh_expr value);
void nh_add_change(nh_builder *b, const nh_item *item, int64_t velocity, nh_expr value);

/* rotation.c: the conditions |p| = 1 and the radial masses. */
void nh_build_rotations(nh_builder *b);
void nh_build_rates(nh_builder *b); /* the rates of quaternions that a prime uses */

/* draw_forces.c: arrows of forces and velocities. `draw force` alone stands for all forces at
 * points. */
struct nh_drawn;
nh_drawn_value nh_build_drawn_vector(nh_builder *b, nh_place place, const char *what,
                                     nh_value value, int length);
bool nh_is_drawn_vector(nh_draw_shape shape);
void nh_build_drawn_force(nh_builder *b, const nh_statement *s, struct nh_drawn *drawn);
bool nh_draws_all_forces(const nh_statement *s);
struct nh_drawn *nh_build_all_forces(nh_builder *b, const nh_statement *s);
void nh_find_drawn_reactions(nh_builder *b); /* the constraints that were named */

/* draw_default.c: what a model without `draw` statements looks like. */
void nh_draw_by_default(nh_builder *b, struct nh_drawn **first);

/* draw.c: the drawing, after everything else. */
void nh_build_drawing(nh_builder *b);

/* bracket.c: all bracket statements at once. */
void nh_build_brackets(nh_builder *b);

/* Values that replace the start expressions of some entries; a NULL array replaces none. */
typedef struct nh_overrides {
    bool *has_q, *has_v;
    double *q, *v;
} nh_overrides;

/* The start state. If the start of an entry depends on itself, *culprit is that coordinate, or
 * coordinates + that velocity, and the status is NH_BAD_MODEL without a report. */
nh_status nh_start_state(const nh_built *built, const nh_overrides *overrides, double t,
                         const double *inputs, double *q, double *v, int *culprit);

#endif
