/* The continuous symmetries of the motion among the fields
 *
 *     X(q) = L q + b
 *
 * that turn and shift: shifts of a coordinate; turning of two coordinates in their plane; turning a
 * rotation about axes fixed in space, or about its own. Combinations of them commute with the
 * motion, such as x -> -y, y -> x together with a shift of the heading. They form a Lie algebra,
 * which need not be abelian. */
#ifndef NH_ANALYSIS_GENERATORS_H
#define NH_ANALYSIS_GENERATORS_H

#include "analysis/local.h"

typedef enum nh_turn {
    NH_SHIFT, /* of coordinate i */
    NH_SPACE, /* of the rotation that begins at i, about axis j in space */
    NH_BODY,  /* about its own axis j */
    NH_PLANE  /* of coordinates i and j */
} nh_turn;

typedef struct nh_simple_field {
    nh_turn turn;
    int i, j;
} nh_simple_field;

typedef struct nh_generators {
    int coordinates, count, fields;
    nh_simple_field *field; /* [fields] */
    double *factor;         /* [count][fields] */
    char **name;            /* [count] "yaw", "R about its axis 3" */
} nh_generators;

/* Of the system near a point on the constraints: for all values of a parameter from range[0] to
 * range[1], or at its present values (parameter -1). Values at which there happen to be more
 * symmetries do not matter then. */
nh_status nh_generators_find(nh_generators *out, nh_local *s, const double *point, int parameter,
                             const double range[2], nh_report *report);
void nh_generators_free(nh_generators *g);

/* Adds factor * (L x), and where `whole` also factor * b, to out[coordinates]: with x = q and whole
 * the field itself, with x = v its rate of change. */
void nh_generator_add(const nh_generators *g, int index, double factor, const double *x, bool whole,
                      double *out);

/* Symmetries that do not move a state leave the rates of a motion through it undetermined: sets as
 * many rates as possible to zero. False if out of memory. */
bool nh_generators_settle(const nh_generators *g, const nh_local *s, const double *point,
                          double *rate);

#endif
