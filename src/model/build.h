/* A problem under construction: shared by problem.c, assign.c, bracket.c and start.c. */
#ifndef NH_MODEL_BUILD_H
#define NH_MODEL_BUILD_H

#include "model/expand.h"

/* A problem with what only this folder knows of it. `problem` comes first: one pointer is both. */
typedef struct nh_built {
    nh_problem problem;
    nh_arena arena;
    nh_symbols symbols; /* parameters, coordinates and velocities, for start assignments */
    double *parameter;
    nh_family *coordinate, *velocity, *rotation;
    size_t start_nodes; /* nodes of the graph that start expressions may reach */
} nh_built;

/* Where an entry got its value, and how strong that is: of two assignments the more special one
 * wins (a member over its family, under a condition over always), equal ones are an error. */
typedef struct nh_given {
    nh_place place; /* line 0: none */
    int strength;
} nh_given;

typedef struct nh_builder {
    const nh_model *model;
    nh_built *built;
    nh_problem *problem;
    bool named; /* parameters keep their names */
    nh_report *report;
    nh_expander x; /* its status is the builder's */
    nh_given *force, *start_q, *start_v;
    nh_expr *added_force;        /* [velocities]: what forces.c adds */
    nh_given *driven;            /* [coordinates]: where kinematics.c found an equation, */
    nh_expr *drive;              /* and what the velocity is by it */
    nh_expr *frame_row;          /* the vector that assignments fill */
    bool frames_left_out;        /* too large to be kept */
    const nh_ast *solved;        /* the first coordinate that `start solve` names, or NULL */
    int first_event, last_event; /* those that the present `when` is about */
} nh_builder;

/* problem.c: memory that lives as long as the problem; an array of no entries is a valid pointer.
 */
void *nh_build_take(nh_builder *b, int64_t count, size_t size);
char *nh_build_copy(nh_builder *b, const char *text);
nh_status nh_build_memory(nh_builder *b); /* fails for lack of it */

/* Once, or once for each index of the statement's loop, and not at all when its condition fails. */
typedef void nh_repeated(nh_builder *b, const nh_statement *s, int64_t index);
void nh_repeat(nh_builder *b, const nh_statement *s, nh_repeated *build);
/* How often that is; fails only when the bounds are wrong. */
int64_t nh_repetitions(nh_builder *b, const nh_statement *s);

/* assign.c: one iteration of a statement that gives values to coordinates and velocities. */
void nh_build_assignments(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_solve(nh_builder *b, const nh_statement *s, int64_t index);
bool nh_is_position(const nh_ast *target); /* rather than a velocity */
/* Where there are no conditions on positions, no position is solved for. */
nh_status nh_refuse_position(nh_report *report, const nh_source *source, const nh_ast *target);
void nh_open_frames(
    nh_builder *b); /* room for all vectors, once the sizes of the families are known */
void nh_build_frame(nh_builder *b, const nh_statement *s, int64_t index);

/* problem.c: "x" or "y[3]", with what follows it. */
char *nh_member_name(nh_builder *b, const nh_symbol *symbol, int64_t index, const char *after);

/* rows.c: observables and constraints. */
void nh_add_observable(nh_builder *b, char *name, nh_expr value);
void nh_build_observe(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_constraint(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_event(nh_builder *b, const nh_statement *s, int64_t index);
/* Room for one more entry behind `count` of them, in an array that doubles. */
void *nh_build_grown(nh_builder *b, void *array, int count, size_t size);
/* k(t, q, v) = 0, or without velocities g(t, q) = 0. */
void nh_add_constraint(nh_builder *b, char *name, nh_expr value, nh_place place);
/* Conditions on positions go behind all others. */
void nh_order_constraints(nh_builder *b);
/* Which constraints the reactions that observables ask for belong to. */
void nh_find_reactions(nh_builder *b);

/* forces.c: dissipation, and forces at points and on rotations; added at the end. */
void nh_build_dissipation(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_force_at(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_force_on(nh_builder *b, const nh_ast *ast, nh_value velocity, nh_value force);
void nh_add_forces(nh_builder *b);

/* kinematics.c: g' = f; at the end the Lagrangian gets what makes the mass matrix regular. */
void nh_build_kinematics(nh_builder *b, const nh_statement *s, int64_t index);
void nh_add_kinematics(nh_builder *b);
/* The mean of some masses d2L/dv_i^2 in a state, rounded to a power of two; 1 where there is none.
 * `momenta` is dL/dv. */
double nh_mean_mass(nh_builder *b, const nh_partials *momenta, const double *q, const double *v,
                    int first, int count);

/* pace.c */
void nh_build_pace(nh_builder *b, const nh_statement *s, int64_t index);

/* kinks.c: the kinks that the motion sees. */
void nh_find_kinks(nh_builder *b);

/* event.c: the natural length of a run, and what changes at events; the latter when all events are
 * known. */
void nh_build_span(nh_builder *b, const nh_statement *s, int64_t index);
void nh_build_when(nh_builder *b, const nh_statement *s, int64_t index);
/* A velocity gets a value at the events of the present `when`. */
void nh_add_scale(nh_builder *b, const nh_item *item, int64_t at, nh_expr value);
void nh_add_change(nh_builder *b, const nh_item *item, int64_t velocity, nh_expr value);

/* rotation.c: the unit conditions and the radial masses. */
void nh_build_rotations(nh_builder *b);
void nh_build_rates(nh_builder *b); /* what a prime takes for the rates of quaternions */

/* draw.c: the drawing, behind everything else. */
void nh_build_drawing(nh_builder *b);

/* bracket.c: all bracket statements at once. */
void nh_build_brackets(nh_builder *b);

/* Values given to some entries instead of the start expressions; NULL arrays: to none. */
typedef struct nh_overrides {
    bool *has_q, *has_v;
    double *q, *v;
} nh_overrides;

/* The start state. When the start of an entry depends on itself, *culprit is that coordinate, or
 * coordinates + that velocity, and the status is NH_BAD_MODEL without a report. */
nh_status nh_start_state(const nh_built *built, const nh_overrides *overrides, double t, double *q,
                         double *v, int *culprit);

#endif
