/* The equations of a system as expressions in which parameters keep their names, for formats that
 * show them.
 *
 * The text of the model is read again and built with named parameters. `mechanics` is what is
 * derived from it, with quaternion velocities where there are rotations; the expressions below are
 * in the variables that users see, with body rates in place of these velocities. */
#ifndef NH_EXPORT_NAMED_EQUATIONS_H
#define NH_EXPORT_NAMED_EQUATIONS_H

#include "system/system.h"

typedef struct nh_equations {
    nh_model *model;
    nh_mechanics *mechanics;
    const nh_problem *problem; /* of the mechanics */
    nh_graph *g;               /* likewise */
    int coordinates, velocities, constraints, positions, observables;
    nh_expr *rate; /* [coordinates] q' */
    nh_expr lagrangian, energy;
    nh_expr *force;          /* [velocities] */
    nh_expr *constraint;     /* [constraints] k(t, q, v), those on positions differentiated */
    nh_expr *position;       /* [positions] g(t, q) */
    nh_expr *mass;           /* [velocities * velocities] */
    nh_expr *acceleration;   /* [velocities] */
    nh_expr *multiplier;     /* [constraints] */
    nh_expr *observable;     /* [observables] */
    nh_expr *inner_input;    /* [open_values] defaults, in inner velocities */
    nh_expr *input;          /* [open_values] defaults */
    const nh_system *system; /* names */
    bool inputs_kept;
} nh_equations;

/* `keep_inputs`: inputs keep their names too, unless their rates matter, as far as they depend on
 * time only; `inputs_kept` says whether they did. */
nh_status nh_equations_open(nh_equations *out, const nh_system *system, bool keep_inputs,
                            nh_report *report);
void nh_equations_close(nh_equations *e);

/* Names, of nh_equations `e`. */
const char *nh_equations_coordinate(const void *e, int i);
const char *nh_equations_velocity(const void *e, int i);
const char *nh_equations_constraint(const void *e, int i);
const char *nh_equations_observable(const void *e, int i);

typedef enum nh_shape_of { NH_OUT_NUMBER, NH_OUT_VECTOR, NH_OUT_MATRIX } nh_shape_of;

/* Some of the expressions above under one name, as the formats write them. */
typedef struct nh_output {
    const char *name;   /* "accelerations" */
    const char *remark; /* what it is */
    nh_shape_of shape;
    int rows, columns;   /* 1 where the shape has none */
    const nh_expr *item; /* row by row */
} nh_output;
enum { NH_OUTPUTS = 10 };
void nh_equations_outputs(const nh_equations *e, nh_output *out);
size_t nh_output_size(const nh_output *output); /* entries */

/* How often each node below the roots is used, indexed by handle; NULL without memory. Being a root
 * counts as one more use. */
uint32_t *nh_count_uses(const nh_graph *g, const nh_expr *order, size_t count, const nh_expr *root,
                        size_t roots);

#endif
