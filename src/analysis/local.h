/* The equations of motion in the neighbourhood of one state, as numbers: residuals, the matrix of
 * their first derivatives, and how that matrix changes in a direction. Inputs and parameters are
 * arguments like coordinates, so one nh_local serves all values of the parameters.
 *
 * A point, and a direction, is an array of `width` numbers
 *
 *     q[n]  v[n]  u[given]  l[m]  a[n]
 *
 * of coordinates (those of velocities without coordinates are unused), inner velocities, inputs
 * followed by parameters, multipliers and accelerations. The residuals are `rows` numbers
 *
 *     balance[n]  drift[m]  k[m]  g[positions]  defaults of the inputs[given] */
#ifndef NH_ANALYSIS_LOCAL_H
#define NH_ANALYSIS_LOCAL_H

#include "run/run.h"
#include "system/system.h"

typedef struct nh_local {
    nh_system *system; /* own, with inputs and parameters open */
    const nh_graph *g; /* of its equations */
    const nh_problem *problem;
    double t;
    double *parameter; /* values of the parameters, [parameters]; the graph reads them, too */
    int n, m, coordinates, positions, given, open;
    int rows, width;
    int q, v, u, l, a;              /* where the parts of a point begin */
    int drift, k, g_row, inputs;    /* where the parts of the residuals begin */
    engine engine, second, outputs; /* EQUATIONS and their derivatives; the others on demand */
    nh_variant variant;             /* which evaluates `lanes` directions at once */
    int lanes;
    int *output, output_count; /* observables other than inputs */
    double *place, *x, *out;   /* its arguments q, v, u; x; results */
    double *work, *followed;
    bool held; /* the inputs do not follow the state */
} nh_local;

/* With all inputs open, which follow the state as they are given; or with those that `given` marks,
 * which are held. NH_NOT_APPLICABLE if there are no equations. nh_local_end in either case. */
nh_status nh_local_begin(nh_local *s, const nh_system *system, const bool *given, double t,
                         nh_report *report);
void nh_local_end(nh_local *s);

/* Puts the parameters and the defaults of the inputs into a point with its q and v. */
void nh_local_inputs(nh_local *s, double *point);

void nh_local_values(nh_local *s, const double *point, double *out);
void nh_local_along(nh_local *s, const double *point, const double *direction, double *out);

/* Whether the residuals in certain rows are no more than what rounding, and uncertainties of the
 * point's numbers by this fraction, make of their terms. */
nh_status nh_local_is_balanced(nh_local *s, const double *point, const bool *row, double fraction,
                               bool *is, nh_report *report);

/* The changes of the outputs. */
nh_status nh_local_outputs_along(nh_local *s, const double *point, const double *direction,
                                 double *out, nh_report *report);

/* The matrix of first derivatives, [rows][width], with `parameter` (-1: none) as the only parameter
 * whose column is filled. Inputs that are functions of the state follow it: their part is added to
 * the columns of q, v and the parameter, so that u changes only where it is varied itself. */
void nh_local_jacobian(nh_local *s, const double *point, int parameter, double *jacobian);

/* Lets the open inputs follow a direction in which they do not move themselves. */
void nh_local_follow(const nh_local *s, const double *jacobian, double *direction);

/* How that matrix changes if the point moves in a direction, with inputs that follow. */
nh_status nh_local_jacobian_along(nh_local *s, const double *point, const double *jacobian,
                                  const double *direction, double *change, nh_report *report);

/* Finds the multipliers and accelerations of a point. False: there are none. */
bool nh_local_accelerate(nh_local *s, double *point, double *jacobian);

/* Moves q and v to the constraints by the shortest steps; of them only where `may` is true (NULL:
 * everywhere). False if that fails. */
bool nh_local_land(nh_local *s, double *point, const bool *may);

/* From a matrix of first derivatives: [n + m][2 n + given], how (a, l) change with q, v and u on
 * the motion. False if the equations cannot be solved for them. */
bool nh_local_solve(const nh_local *s, const double *jacobian, double *change);

#endif
