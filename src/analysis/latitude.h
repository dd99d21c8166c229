/* Internals of the latitude: the motion of the driver (latitude.c) and the axis or plane of
 * rotation (axis.c). */
#ifndef NH_ANALYSIS_LATITUDE_H
#define NH_ANALYSIS_LATITUDE_H

#include <nonholo_analysis.h>

#include "base/status.h"
#include "run/run.h"

enum { NH_PASSENGERS_MAX = 8 };

struct nh_latitude {
    const nh_system *system;
    engine engine; /* has all the memory it needs: an evaluation cannot run out of memory */
    int driver, passengers;
    int passenger[NH_PASSENGERS_MAX]; /* their coordinates */
    bool periodic;                    /* the driver is an angle */
    bool rotating;                    /* and makes full revolutions; otherwise it oscillates */
    double mass, energy;              /* of the driver */
    double direction;                 /* of a rotating driver: 1 or -1 */
    double left, right, bottom;       /* of the well of an oscillating one */
    double least, depth;              /* the potential at the bottom, the energy above it */
    double C[NH_PASSENGERS_MAX * NH_PASSENGERS_MAX]; /* stiffness K = C C^T */
    double centre[NH_PASSENGERS_MAX];
    int vectors;  /* 1: an axis, 2: a plane, if the number of passengers is odd */
    int modes;    /* number of terms of the vectors' Fourier series in the phase */
    double *wave; /* [modes][2][vectors][passengers + 1]: coefficients of the cosine, of the sine */
};

/* What latitude.c knows without the axis: the system and how its driver moves from a start.
 * `latitude` is filled; begin with nh_latitude_begin and end with nh_latitude_end. */
nh_status nh_latitude_begin(nh_latitude *latitude, const nh_system *system, const double *q,
                            const double *v, nh_report *report);
/* The same without springs, for passengers that have none. */
nh_status nh_latitude_begin_driver(nh_latitude *latitude, const nh_system *system, const double *q,
                                   const double *v, nh_report *report);
void nh_latitude_end(nh_latitude *latitude);

/* The driver at a phase, and psi' there; the phase of a state. */
double nh_latitude_place(const nh_latitude *latitude, double psi, double *rate);
double nh_latitude_phase(const nh_latitude *latitude, double xi, double speed);

/* V + U(0) at a position of the driver, and its slope. */
double nh_latitude_potential(const nh_latitude *latitude, double xi, double *slope);

/* The passengers' M[p * p] and A[(p - 1) * p] at a position of the driver; the unit vector of the
 * kernel of A, and M times it. */
bool nh_latitude_matrices(const nh_latitude *latitude, double xi, double *M, double *A);
bool nh_latitude_kernel(const nh_latitude *latitude, double xi, double *k, double *Mk);

/* u[passengers + 1] of a state. */
bool nh_latitude_state(const nh_latitude *latitude, const double *q, const double *v, double *u);

/* F[(cells + 1) * d * d]: F' = S F/psi' from the unit matrix, d = passengers + 1, at the ends of
 * equal cells of the phase. */
bool nh_latitude_rotations(const nh_latitude *latitude, int cells, double *F);

/* w[passengers]/psi' at a phase: the last column of S/psi'. */
bool nh_latitude_rate(const nh_latitude *latitude, double psi, double *w);

/* Fills modes and wave. */
nh_status nh_latitude_find_axis(nh_latitude *latitude, nh_report *report);

/* n(psi), or the two vectors of the plane: axis[vectors * (passengers + 1)]. */
void nh_latitude_axis(const nh_latitude *latitude, double psi, double *axis);

#endif
