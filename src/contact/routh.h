/* The impact of one contact with friction, followed along its normal impulse. */
#ifndef NH_CONTACT_ROUTH_H
#define NH_CONTACT_ROUTH_H

#include "contact/modes.h"

/* Row 0 is the contact; the grips follow, in the order of `components`. */
typedef struct nh_routh_problem {
    int grips, rows;
    const int *components; /* [grips] */
    double restitution;
    const double *response;       /* [rows][rows] */
    const double *kinetic, *held; /* [rows][rows]: limits of impulses, linear in impulses */
} nh_routh_problem;

typedef struct nh_routh nh_routh;
nh_routh *nh_routh_create(int grips, int rows);
void nh_routh_free(nh_routh *routh);

/* Changes the velocities u by an impact, which is returned. `steps` counts steps of extrapolation.
 */
nh_status nh_routh_solve(nh_routh *routh, const nh_routh_problem *problem, double *u,
                         double *impulse, int *steps, nh_report *report);

#endif
