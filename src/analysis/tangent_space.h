/* The perturbations of a state that its constraints admit, in users' coordinates: changes of
 * positions (three for a rotation), then of velocities. */
#ifndef NH_ANALYSIS_TANGENT_SPACE_H
#define NH_ANALYSIS_TANGENT_SPACE_H

#include "analysis/local.h"

typedef struct nh_tangent_space {
    int positions, velocities, size; /* size: of a perturbation */
    int dimension;
    double *basis; /* [dimension][size], orthonormal */
} nh_tangent_space;

/* NH_NOT_APPLICABLE without LAPACK or for a system of C functions. nh_tangent_space_free in either
 * case. */
nh_status nh_tangent_space_find(nh_tangent_space *out, const nh_system *system, double t,
                                const double *q, const double *v, nh_report *report);
void nh_tangent_space_free(nh_tangent_space *s);

#endif
