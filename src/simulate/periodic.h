/* Periodic motions, as the files of nonholo_analysis.h's nh_periodic share them: one orbit by
 * Newton's method (periodic_orbit.c), and the family to which it belongs (periodic_family.c). */
#ifndef NH_SIMULATE_PERIODIC_H
#define NH_SIMULATE_PERIODIC_H

#include <complex.h>

#include "base/remarks.h"
#include "simulate/shooting.h"

typedef struct orbit { /* a point of a family */
    nh_orbit_kind kind;
    double value, period;
    double *q, *v; /* owned by q */
    double complex *multiplier;
    int multipliers;
} orbit;

struct nh_periodic {
    const nh_system *system;
    nh_shooting s;
    double residual;
    int iterations;
    double complex *multiplier; /* [dimension] */
    int multipliers;
    orbit *family;
    int64_t members, room;
    nh_remarks remarks;
    int (*progress)(void *user, double share);
    void *user;
};

/* The unknowns: (perturbation of the start in the basis, period, shifts, parameter). */
typedef struct unknowns {
    int period, shifts, parameter, count; /* where they begin; -1: not unknown */
} unknowns;

/* What Newton's method changes, to try shorter steps from the same place. */
typedef struct place {
    double *state; /* q, v, shifts */
    double period, value;
} place;

/* ---- periodic_orbit.c ---- */

/* Residuals of orbits relative to the state: what Newton's method aims at, and the largest one
 * where rounding stops it. */
#define NH_ORBIT_CLOSED 1e-12
#define NH_ORBIT_TOLERABLE 1e-8

unknowns nh_orbit_unknowns(const nh_shooting *s, bool follows);
/* d(residual)/d(unknowns) in the first `size` rows of a[..][count]. Periods and parameters are in
 * units of their own size. */
void nh_orbit_matrix(const nh_shooting *s, const unknowns *u, const double *unit, double *a);
double nh_orbit_norm(int n, const double *x);
bool nh_place_make(place *p, const nh_shooting *s);
void nh_place_save(place *p, const nh_shooting *s);
nh_status nh_place_restore(const place *p, nh_shooting *s, nh_report *report);
/* Goes by factor * step, which is in the units, and evaluates there. */
nh_status nh_orbit_go(nh_shooting *s, const unknowns *u, const double *unit, const double *step,
                      double factor, nh_report *report);
/* The shortest step that satisfies the equations best. */
bool nh_orbit_solve(int rows, int columns, const double *a, const double *b, double *x);
/* The orbit near the start, and whether it is a rest; a rest is refused in these words. */
nh_status nh_orbit_find(nh_periodic *p, nh_report *report);
nh_status nh_orbit_check_rest(const nh_periodic *p, nh_report *report);
nh_status nh_orbit_is_rest(nh_report *report);
bool nh_orbit_multipliers(const nh_shooting *s, double complex *out);

/* ---- periodic_family.c ---- */

/* Both ways from the orbit that was found. Members are in the order in which they were found. */
nh_status nh_family_follow(nh_periodic *p, const double range[2], nh_report *report);

#endif
