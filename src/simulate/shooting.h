/* The motion over a time as a map of the start, with its derivatives, for periodic motions: the end
 * state, brought back by a symmetry if that is wanted, minus the start.
 *
 * Perturbations x are in users' coordinates (analysis/tangent_space.h), with velocities in the unit
 * `pace`: without it, what a fast or slow motion does to positions would be lost beside velocities,
 * or they beside it. */
#ifndef NH_SIMULATE_SHOOTING_H
#define NH_SIMULATE_SHOOTING_H

#include <nonholo_analysis.h>

#include "analysis/generators.h"
#include "analysis/tangent_space.h"

typedef struct nh_shooting {
    const nh_system *system; /* as given */
    nh_system *own;          /* with another value of the parameter; NULL: as given */
    nh_run_options how;      /* method, step or tolerance */
    int parameter;           /* by which it is differentiated, too; -1: none */
    double value;            /* of the parameter */
    bool forced, relative;   /* the equations depend on time; up to a symmetry */
    double t0, period;
    double pace;  /* 1, or a power of two near the frequency, if that is far from 1; 0: not known */
    double scale; /* of the positions of the first start; at most 1 */
    double *q, *v; /* the start */
    int coordinates, velocities, positions, size, dimension, symmetries;
    nh_tangent_space space;
    nh_local local; /* of the present system */
    nh_generators generators;
    double *shift;                      /* [symmetries] by which the end is brought back */
    double *residual, *rate, *by_value; /* [size]; of the end, by the time and by the parameter */
    double *flow, *moved; /* [size] the rate of change at the start; end minus start, unwrapped */
    double *images;       /* [dimension][size] of the basis */
    double *fields;       /* [symmetries][size] at the end that was brought back */
    double *memory;
} nh_shooting;

/* The start is `q`, `v`. nh_shooting_end in either case. */
nh_status nh_shooting_begin(nh_shooting *s, const nh_system *system, const nh_run_options *how,
                            const double *q, const double *v, bool relative, int parameter,
                            nh_report *report);
void nh_shooting_end(nh_shooting *s);

/* Another value of the parameter; a system with periodic coefficients gets their period. */
nh_status nh_shooting_set(nh_shooting *s, double value, nh_report *report);

/* Computes everything from the present start, period and shift. */
nh_status nh_shooting_evaluate(nh_shooting *s, nh_report *report);

/* Adds a perturbation to a start and moves it back to the constraints. */
nh_status nh_shooting_move(nh_shooting *s, const double *by, nh_report *report);

/* Chooses the unit at the first call, and changes what was computed, the basis too, to it. */
void nh_shooting_use_units(nh_shooting *s);
/* What `pace` is for a frequency. */
double nh_shooting_pace(double frequency);
/* Beside which residuals are judged. */
double nh_shooting_size(const nh_shooting *s);

/* A time after which the motion comes back near its start, for a first guess; 0: none is found. */
nh_status nh_shooting_guess(nh_shooting *s, double *period, nh_report *report);

#endif
