/* Conserved quantities that are linear in the momenta, with simple fields, and moving energies. */
#ifndef NH_MECHANICS_SYMMETRIES_H
#define NH_MECHANICS_SYMMETRIES_H

#include "mechanics/probe.h"

/* A term of p.xi: c f(q) p_j, with f = 1, q_i, cos q_i or sin q_i, or c times the angular momentum
 * of a rotation about an axis of space or of the body. */
typedef enum nh_field_kind {
    NH_FIELD_ONE,
    NH_FIELD_LINEAR,
    NH_FIELD_COS,
    NH_FIELD_SIN,
    NH_FIELD_SPACE,
    NH_FIELD_BODY
} nh_field_kind;
typedef struct nh_field_term {
    nh_field_kind kind;
    int of, velocity; /* i and j; of rotations the number of the rotation and of the axis */
    int first;        /* of rotations: the first number of the quaternion */
    double c;
} nh_field_term;

typedef struct nh_found_integral {
    bool energy; /* the energy is added: a moving energy */
    nh_field_term *term;
    int terms;
} nh_found_integral;

/* The number of velocities up to which they are searched for. */
enum { NH_SYMMETRIES_MAX = 40 };

/* Appends what is found to mechanics->conserved and mechanics->found; runs only once. False if out
 * of memory. */
bool nh_find_symmetries(nh_mechanics *mechanics);

double nh_found_value(const nh_found_integral *found, double energy, const double *q,
                      const double *p);

/* States on the constraints and the motion there, by dense algebra with pivoting. */
typedef struct nh_motion {
    nh_mechanics *s;
    nh_probe probe;
    nh_expr_list list;
    double *value; /* of the list */
    double *q, *v, *a, *lambda;
    double *p, *p_rate, *p_rate_size;        /* p and p' = F + K^T lambda */
    const double *force;                     /* F */
    double energy, energy_rate, energy_size; /* size: of the terms of the rate */
    double *space;
    int *pivot;
} nh_motion;
bool nh_motion_init(nh_motion *w, nh_mechanics *s);
void nh_motion_free(nh_motion *w);
/* False if there is no such state near the start, or no acceleration. */
bool nh_motion_at(nh_motion *w, int index);

#endif
