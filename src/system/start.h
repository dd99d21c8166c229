/* Start states, shared by start.c and project.c. */
#ifndef NH_SYSTEM_START_H
#define NH_SYSTEM_START_H

#include "system/attitude.h"

/* Conditions on positions; or all constraints on velocities, including their time derivatives. */
typedef enum nh_level { NH_POSITIONS, NH_VELOCITIES } nh_level;

/* Every residual, g of the conditions on positions or k of all constraints, and how much it may be
 * changed by numbers that are off by this fraction of their size. */
nh_status nh_residual_spreads(const nh_system *system, nh_level level, nh_instant at,
                              const double *q, const double *v, double relative, double *k,
                              double *spread, nh_report *report);

/* The constraint that a state violates most, with its residual; -1 if it satisfies all. */
nh_status nh_find_worst(const nh_system *system, nh_level level, nh_instant at, const double *q,
                        const double *v, int *worst, double *residual, nh_report *report);

/* The ranks of the matrices in a state (rank.c). NH_DEPENDENT_CONSTRAINTS or NH_SINGULAR_MASS,
 * without a report, where a rank is lost: from there the motion is not determined. */
nh_status nh_inner_ranks(const nh_system *system, nh_instant at, const double *q, const double *v,
                         nh_ranks *ranks, nh_report *report);

/* About how far rounding errors alone move positions and velocities within some time from a state
 * with default inputs: moved[2 n]; and whether the forces cancel there, up to such errors
 * (rounding.c). NH_NO_MEMORY, or NH_OK. */
nh_status nh_inner_rounding(const nh_system *system, double t, const double *q, const double *v,
                            double time, double *moved, bool *balanced, nh_report *report);

/* The functions of nonholo.h with these names, but with inner velocities (attitude.h). The options
 * of a start have the velocities that users see. */
nh_status nh_inner_check_start(const nh_system *system, nh_instant at, const double *q,
                               const double *v, nh_report *report);
nh_status nh_inner_begin(const nh_system *system, const nh_start_options *options, double *q,
                         double *v, nh_report *report);
/* The first part of nh_inner_begin, before velocities or positions are moved; and what may then be
 * moved: as the options say, else what the model's `start solve` names. */
nh_status nh_inner_given(const nh_system *system, const nh_start_options *options, double *q,
                         double *v, nh_report *report);
nh_status nh_start_choose(const nh_system *system, const nh_start_options *options,
                          nh_selection may, nh_report *report);
/* What a projection may move. */
nh_status nh_projection_choose(const nh_system *system, const nh_projection *how, nh_selection may,
                               nh_report *report);
nh_status nh_inner_project_by(const nh_system *system, const nh_projection *how, nh_instant at,
                              const double *q, double *v, nh_report *report);
nh_status nh_inner_project_state(const nh_system *system, const nh_projection *how, nh_instant at,
                                 double *q, double *v, nh_report *report);
nh_status nh_inner_energy(const nh_system *system, double t, const double *q, const double *v,
                          double *energy, nh_report *report);
bool nh_inner_solves(const nh_system *system, int index);

/* The entries that a list of names contains ("x, x', y[2]', w1"); `what` is its name in
 * messages. */
nh_status nh_select(const nh_system *system, const char *text, const char *what,
                    nh_selection chosen, nh_report *report);

/* Moves the velocities that may change (NULL: all) to the nearest that satisfy the constraints;
 * `thorough`: also searches for nearer ones elsewhere, which costs several times as much if
 * constraints are nonlinear, and verifies that the result satisfies the constraints. */
nh_status nh_project(const nh_system *system, const bool *may_change, bool thorough, nh_instant at,
                     const double *q, double *v, nh_report *report);

/* The same for the positions, with the masses that they have in the state (q, v). */
nh_status nh_project_positions(const nh_system *system, const bool *may_change, bool thorough,
                               nh_instant at, double *q, const double *v, nh_report *report);

/* The metric of a projection, restricted to the unknowns `free`[f]: the lower factor L of L L^T,
 * [f][f], from the mass matrix M[n][n]. False: M is not positive definite there, and the metric
 * only has its units. */
bool nh_projection_metric(int n, const double *M, int f, const int *free, double *L);

/* Removes from a displacement what some constraints, affine in the velocities, do not admit:
 * A dq = 0 afterwards, with the smallest change in the mass metric. */
nh_status nh_project_displacement(const nh_system *system, const bool *constraint, double t,
                                  const double *q, double *displacement, nh_report *report);

#endif
