/* nonholo: measuring, assessing and plotting the results of simulations: quantities by name,
 * reference solutions, fits, verdicts, plots in panels, figures.
 *
 * This part of the interface is less stable than nonholo.h: it may change between minor versions.
 * The conventions are the same. */
#ifndef NONHOLO_ANALYSIS_H
#define NONHOLO_ANALYSIS_H

#include "nonholo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measuring --------------------------------------------------------------------------- */

/* The latitude: the hidden integral of a coupled system whose driver moves periodically and whose
 * passengers are at least two linear oscillators (Modin & Verdier 2020, sec. 3.2): the component of
 * their state along the axis of the rotation that one period causes or, if their number is odd, the
 * length of its part in the plane that this rotation turns least. It has no closed form; it is
 * computed numerically for the driver energy of the given state. For other systems
 * nh_latitude_create returns NH_NOT_APPLICABLE, with the reason. nh_latitude_value expects wrapped
 * angles, as nh_run_wrapped_state returns them, and may be called from several threads at once. */
typedef struct nh_latitude nh_latitude;
NH_API nh_status nh_latitude_create(nh_latitude **out, const nh_system *system, const double *q,
                                    const double *v, nh_report *report);
NH_API void nh_latitude_free(nh_latitude *latitude);
NH_API double nh_latitude_value(const nh_latitude *latitude, const double *q, const double *v);

/* Quantities by name, as `observe` of a simulation and figures take them: "t", a coordinate, a
 * velocity, "energy", an observable, "latitude"; "constraint", the largest |k|,
 * "relative_constraint", the largest |k| relative to what the kinetic energy could make it, and
 * "constraint:NAME", the k of one constraint; "momentum of ..." as listed by
 * nh_system_integral_name; "rho1", "rho2", ..., the momenta in the model's frame. Where the energy
 * is not an integral, "power": its rate of change, caused by forces, moving constraints and terms
 * that depend on time.
 *
 * "shifted_energy", the modified energy that shifted:force=5/24 keeps up to step^4 where the mass
 * is constant, nothing depends on time, and the constraints are linear in the velocities
 * (docs/theory.md): E - step^2 ((r.M^-1 r - F.M^-1 F)/16 + v.V''v/24), F the force, r the reaction.
 *
 * Quantities of two states one step apart: "midpoint_constraint" and "midpoint:NAME", k at the
 * midpoint, and "leapfrog_invariant", see nh_leapfrog_invariant; "energy_balance", the change of
 * the energy minus the work of that power, per unit of time: the energy that the method itself adds
 * or removes.
 *
 * The names of a system list those of two states last. The latitude may be listed although it does
 * not exist for a particular start. A name is valid until the next call in the same thread. */
NH_API int nh_system_quantities(const nh_system *system);
NH_API const char *nh_system_quantity_name(const nh_system *system, int index);

/* A state of a run. */
typedef struct nh_state {
    double t;
    const double *q, *wrapped_q, *v; /* wrapped_q as in nh_run_wrapped_state */
} nh_state;

/* Leapfrog's invariant of two states one step apart: v.M v/2 + x0.K x1/2 - f.(x0 + x1)/2 with
 * v = (x1 - x0)/step. Leapfrog keeps it exactly where the mass is constant, the potential is
 * U = x.K x/2 - f.x and the constraints are linear in the velocities (`quadratic` of nh_facts); x
 * are all coordinates, or the passengers of a coupled system. It can be evaluated along runs of any
 * method. `size`, which may be NULL, is raised to the size of its terms, allowing for the rounding
 * errors of x1 - x0. NH_NOT_APPLICABLE for other systems. */
NH_API nh_status nh_leapfrog_invariant(const nh_system *system, double step, const nh_state *now,
                                       const nh_state *before, double *value, double *size,
                                       nh_report *report);

/* Maps that turn motions backwards: q[i] becomes sign[i] q[from[i]] + offset[i], and v[i] becomes
 * -sign[i] v[from[i]]. nh_system_reversals tries all changes of signs, exchanges of two coordinates
 * and half turns of angles, and returns how many of them reverse the motion, at most `room`; -1 if
 * it cannot tell (more than 6 coordinates, constraints that are not linear, dependence on time,
 * forces, conditions on positions), -2 without memory. */
typedef struct nh_reversal {
    int coordinates;
    int from[6], sign[6];
    double offset[6];
} nh_reversal;
NH_API int nh_system_reversals(const nh_system *system, const double *q, const double *v,
                               nh_reversal *list, int room);

/* Where the passengers of a coupled system have no springs: the mean over a period of the driver
 * of the force along the direction that the constraints leave them (for unit mass), and the mean of
 * its size. If the mean is not 0, the passengers become faster without bound. */
NH_API nh_status nh_system_mean_force(const nh_system *system, const double *q, const double *v,
                                      double *mean, double *size, nh_report *report);

/* The motion of a coupled system from a start: the driver's period, and the angles from 0 to pi,
 * ascending, by which one period turns the passengers' state in the planes that it keeps (0: an
 * axis that it keeps). The frequencies are 2 pi/period and angle/period. `nondegenerate`: whether
 * no fixed relation holds between them at all energies of the driver. NH_NOT_APPLICABLE as for the
 * latitude, except that angles may coincide. */
typedef struct nh_frequencies {
    bool rotating; /* the driver; otherwise it oscillates */
    double period;
    int modes;
    double angle[9];
    nh_answer nondegenerate;
} nh_frequencies;
NH_API nh_status nh_system_frequencies(nh_frequencies *out, const nh_system *system,
                                       const double *q, const double *v, nh_report *report);

/* The drift of the passengers' energy of a coupled system, as predicted from the equations of a
 * method (docs/theory.md). It needs two to eight linear passengers with springs, one admissible
 * direction, and a driver that moves periodically from this start; otherwise NH_NOT_APPLICABLE.
 *
 * Over a period of the driver the passengers' state is rotated; each mode of that rotation, an axis
 * (angle 0 or pi) or a plane that turns by an angle, grows by itself. `share` is the energy that
 * the start has in a mode. */
typedef struct nh_drift nh_drift;
NH_API nh_status nh_drift_create(nh_drift **out, const nh_system *system, const double *q,
                                 const double *v, nh_report *report);
NH_API void nh_drift_free(nh_drift *drift);
NH_API double nh_drift_period(const nh_drift *drift);
NH_API int nh_drift_modes(const nh_drift *drift);
NH_API double nh_drift_angle(const nh_drift *drift, int mode);
NH_API double nh_drift_share(const nh_drift *drift, int mode);

/* What is predicted for a method: to leading order the energy[i] of a mode grows like
 * exp((growth[i] + next[i] step) step^power t), `next` being 0 if it is not known; `coefficient` is
 * the rate of the whole energy at the start over step^power. Without modes that rate is constant.
 * NH_NOT_APPLICABLE: no formula is known. */
typedef struct nh_drift_law {
    int power;            /* 0: no drift at any order */
    const char *formula;  /* of the rate, as in docs/theory.md */
    const char *standing; /* "proved", "sketched", ... */
    double coefficient;
    int modes;
    double energy[9], growth[9], next[9];
} nh_drift_law;
NH_API nh_status nh_drift_law_of(nh_drift_law *out, const nh_drift *drift, const char *method,
                                 nh_report *report);
/* The change of the energy that it predicts after the time t. */
NH_API double nh_drift_change(const nh_drift_law *law, double step, double t);

/* Runs a method and fits the slope of the passengers' energy, `error` being the uncertainty of the
 * fit; `predicted` is the slope of the change that the law predicts, NaN if `law` is NULL.
 * NH_NOT_APPLICABLE: there are no passengers whose energy is conserved. */
typedef struct nh_drift_rate {
    double measured, error, predicted;
} nh_drift_rate;
NH_API nh_status nh_drift_measure(nh_drift_rate *out, const nh_system *system,
                                  const nh_run_options *how, double t, const double *q,
                                  const double *v, const nh_drift_law *law, nh_report *report);

/* A reference solution: nh_reference_method() with the step refined until two successive solutions
 * agree to `tolerance` (relative to the largest of all positions or velocities, which masses make
 * comparable), or until round-off prevents better agreement. Returns NH_NOT_CONVERGED if they do
 * not agree even to 1e-6. */
typedef struct nh_accuracy {
    double error;  /* estimate, relative in the same sense */
    int64_t steps; /* of the returned solution */
    bool reached;  /* the tolerance was reached */
} nh_accuracy;
NH_API nh_status nh_reference(const nh_system *system, double t0, const double *q, const double *v,
                              double t1, double tolerance, double *q1, double *v1,
                              nh_accuracy *accuracy, nh_report *report);
NH_API const char *nh_reference_method(void);

/* How the error of methods at the end of a motion depends on the step. Errors are the largest
 * differences of the components of the end state from those of a reference solution, each relative
 * to how far it moves, so that units do not matter. What is found at first is read here. */
typedef struct nh_convergence {
    const nh_system *system; /* may be replaced by another one that was built in the same way */
    int coordinates, velocities;
    double t0, time;
    const double *q0, *v0;
    double *q, *v; /* the end state of the reference solution */
    nh_accuracy accuracy;
    double *scales; /* [coordinates + velocities]; 0: the component does not move */
    double scale;   /* size of the end state itself in these units; at least 1 */
} nh_convergence;
typedef struct nh_convergence_options {
    size_t size; /* see "options" in nonholo.h */
    double t0, time;
    const double *q, *v; /* the start */
    double tolerance;    /* of the reference solution; 0: 1e-13 */
    bool unscaled;       /* all scales are 1, and `scale` may be less */
} nh_convergence_options;
NH_OPTIONS_DEFAULT(nh_convergence_options)
NH_API nh_status nh_convergence_create(nh_convergence **out, const nh_system *system,
                                       const nh_convergence_options *options, nh_report *report);
NH_API void nh_convergence_free(nh_convergence *c);
/* The error with so many steps of the method that `how` names; its `stop` is called on the way.
 * `seconds`, if not NULL: the least time of some such runs. */
NH_API nh_status nh_convergence_error(const nh_convergence *c, const nh_run_options *how,
                                      int64_t steps, double *error, double *seconds,
                                      nh_report *report);
/* The level of such errors at which rounding begins: it adds up like a random walk. */
NH_API double nh_convergence_level(const nh_convergence *c, int64_t steps);

/* Running sums of a series y(x): initialise with {0}. `largest` is the largest |y|, `mean_y` the
 * mean of y. */
typedef struct nh_trend {
    int64_t count;
    double largest, mean_x, mean_y, xx, xy, yy;
} nh_trend;
NH_API void nh_trend_add(nh_trend *trend, double x, double y);

/* A fitted line. nh_trend_line: by least squares; `slope_error` is one standard deviation, assuming
 * independent residuals. nh_fit_slope: for a time series with increasing x; the weights decrease
 * towards both ends, so that oscillations with five or more periods do not affect the slope, and
 * `slope_error` allows for correlated noise (it is slightly too small: for pure noise the slope
 * exceeds it in 38 to 43% of cases instead of 32%). The result is NaN if there are too few
 * points. */
typedef struct nh_line {
    double slope, intercept, slope_error;
} nh_line;
NH_API nh_line nh_trend_line(const nh_trend *trend);
NH_API nh_line nh_fit_slope(const double *x, const double *y, int64_t count);

/* How an error behaves over time. */
typedef enum nh_verdict {
    NH_VERDICT_ROUND_OFF,   /* never above the level of round-off */
    NH_VERDICT_BOUNDED,     /* oscillates without drift */
    NH_VERDICT_LINEAR,      /* drifts at a constant rate */
    NH_VERDICT_EXPONENTIAL, /* grows exponentially */
    NH_VERDICT_RANDOM_WALK, /* grows like the square root of time */
    NH_VERDICT_NOT_FINITE,  /* became infinite or NaN */
    NH_VERDICT_UNKNOWN,     /* too few points to tell, or none of these */
    NH_VERDICT_LOST         /* the quantity has vanished, or its error is as large as it is */
} nh_verdict;

/* `rate` is the slope of a linear drift, the exponent of exponential growth, the standard deviation
 * of a random walk after one unit of x, and NaN otherwise. `text` is one line, e.g. "drifts by
 * 1.79e-05 per unit of time". */
typedef struct nh_judgement {
    nh_verdict verdict;
    double largest; /* largest |y| */
    double rate, rate_error;
    nh_line line; /* from nh_fit_slope */
    char text[160];
} nh_judgement;
/* The same for the error y = quantity - start of a quantity whose terms have the given size; the
 * verdict may be NH_VERDICT_LOST. */
NH_API nh_judgement nh_judge_quantity(const double *x, const double *y, int64_t count, double start,
                                      double size, double round_off);
/* Raises integrals[integrals] and constraints[constraints], either of which may be NULL, to the
 * size of the terms that the integrals and the constraints consist of at a state. */
NH_API nh_status nh_system_term_sizes(const nh_system *system, double t, const double *q,
                                      const double *v, double *integrals, double *constraints,
                                      nh_report *report);
/* Holonomic constraints that are written in velocities: a method keeps them as they are written,
 * but the equivalent condition on positions drifts. nh_holonomic_create returns NH_NOT_APPLICABLE
 * if the system has none that are known, or more than 64 coordinates. nh_holonomic_follow, called
 * for positions in order of time (angles with their revolutions), computes how far the condition is
 * violated: the largest of the integrated constraints, which is 0 for exact solutions. `size` is
 * raised to the size of their terms. */
typedef struct nh_holonomic nh_holonomic;
NH_API nh_status nh_holonomic_create(nh_holonomic **out, const nh_system *system, double t,
                                     const double *q, nh_report *report);
NH_API nh_status nh_holonomic_follow(nh_holonomic *holonomic, double t, const double *q,
                                     double *drift, double *size, nh_report *report);
NH_API void nh_holonomic_free(nh_holonomic *holonomic);

NH_API const char *nh_verdict_name(nh_verdict verdict); /* "bounded", "linear drift" */
/* The round-off level of a quantity of the given size after the given number of steps. */
NH_API double nh_round_off_level(double size, int64_t steps);

/* Estimates the order of a method from its errors at decreasing steps h. `level` is the round-off
 * level of each point. The fit uses the range in which the local orders agree; mark[count] records
 * how each point was used. */
typedef enum nh_order_verdict {
    NH_ORDER_MEASURED,  /* from three or more points that agree */
    NH_ORDER_ROUGH,     /* from two points only */
    NH_ORDER_ROUND_OFF, /* the errors are at round-off level: no order can be measured */
    NH_ORDER_IRREGULAR, /* the errors do not decrease like a power of h */
    NH_ORDER_FAILED     /* every point failed */
} nh_order_verdict;
typedef enum nh_point {
    NH_POINT_LEFT_OUT,
    NH_POINT_USED,
    NH_POINT_ROUND_OFF,
    NH_POINT_FAILED
} nh_point;
typedef struct nh_order {
    double order, uncertainty; /* NaN when there is none */
    int points;                /* number of points in the fit */
    nh_order_verdict verdict;
} nh_order;
NH_API nh_order nh_fit_order(const double *h, const double *error, const double *level, int count,
                             nh_point *mark);
NH_API double nh_local_order(double h0, double error0, double h1, double error1);

/* The number of evaluations of system functions per step of a method, measured from this state. */
NH_API nh_status nh_evaluations(const nh_system *system, const char *method, double step, double t,
                                const double *q, const double *v, double *per_step,
                                nh_report *report);

/* ---- linearisation ------------------------------------------------------------------------ */

/* The linear motion x' = A x + B u, y = C x + D u about the steady motion that is nearest to the
 * start: a rest, or a motion along symmetries of the system, such as straight riding, rolling on a
 * circle or precession, whose velocities are constant in axes that move along. A perturbation stays
 * within the constraints, and shifts along the symmetries are divided out (unless
 * keep_symmetries). x are perturbations of coordinates and velocities, u those of the inputs, y
 * those of the model's observables. The derivatives are exact. Rotations R have the perturbations
 * R.1, R.2, R.3: small turns about the body's axes.
 *
 * NH_NOT_CONVERGED: no steady motion was found; NH_NOT_APPLICABLE: the system depends on time, is
 * given by C functions, or the library was built without LAPACK. */
typedef struct nh_linearise_options {
    size_t size;
    const nh_start_options *start; /* NULL: the model's */
    bool keep_symmetries;
    void *user;
    int (*stop)(void *user); /* asked between the values of a sweep; nonzero: stop there */
} nh_linearise_options;
NH_OPTIONS_DEFAULT(nh_linearise_options)
typedef struct nh_linearisation nh_linearisation;
NH_API nh_status nh_linearise(nh_linearisation **out, const nh_system *system,
                              const nh_linearise_options *options, nh_report *report);
NH_API void nh_linearisation_free(nh_linearisation *l);

/* The system, and the numbers of x, u and y, and their names. */
NH_API const nh_system *nh_linearisation_system(const nh_linearisation *l);
NH_API int nh_linearisation_order(const nh_linearisation *l);
NH_API int nh_linearisation_inputs(const nh_linearisation *l);
NH_API int nh_linearisation_outputs(const nh_linearisation *l);
NH_API const char *nh_linearisation_state_name(const nh_linearisation *l, int index);
NH_API const char *nh_linearisation_input_name(const nh_linearisation *l, int index);
NH_API const char *nh_linearisation_output_name(const nh_linearisation *l, int index);
/* 'A', 'B', 'C' or 'D', row-major. */
NH_API const double *nh_linearisation_matrix(const nh_linearisation *l, char name);

/* Writes A, B, C, D, the names of x, u and y (`names`, `inputs`, `outputs`), the steady motion
 * (`q`, `v`) and the eigenvalues (columns re, im) to a file for numpy.load. */
NH_API nh_status nh_linearisation_write(const nh_linearisation *l, const char *path,
                                        nh_report *report);

/* The steady motion: its state, whether the start was it, the largest residual of its equations
 * relative to their terms; and the symmetries, with the rates of the motion along them. */
NH_API void nh_linearisation_state(const nh_linearisation *l, double *q, double *v);
NH_API bool nh_linearisation_kept_start(const nh_linearisation *l);
NH_API double nh_linearisation_residual(const nh_linearisation *l);
NH_API int nh_linearisation_symmetries(const nh_linearisation *l);
NH_API const char *nh_linearisation_symmetry_name(const nh_linearisation *l, int index);
NH_API double nh_linearisation_symmetry_rate(const nh_linearisation *l, int index);

/* Eigenvalues of A other than zeros, those with larger real parts first. `damping` is -re/|value|;
 * `condition` says by how much errors of A are magnified, `error` estimates the effect of rounding;
 * the eigenvector of x has the parts vector_re[order], vector_im[order], and is valid as long as
 * the linearisation. */
typedef struct nh_mode {
    double re, im, frequency, damping, condition, error;
    const double *vector_re, *vector_im;
} nh_mode;
NH_API int nh_linearisation_modes(const nh_linearisation *l);
NH_API nh_mode nh_linearisation_mode(const nh_linearisation *l, int index);
/* Zeros, by where they come from: a symmetry that was divided out, a family of steady motions
 * (named by the parameter or the variable that changes in it), or a chain. */
NH_API int nh_linearisation_zeros(const nh_linearisation *l);
NH_API const char *nh_linearisation_zero_name(const nh_linearisation *l, int index);
NH_API int nh_linearisation_zero_multiplicity(const nh_linearisation *l, int index);
NH_API int nh_linearisation_remarks(const nh_linearisation *l);
NH_API const char *nh_linearisation_remark(const nh_linearisation *l, int index);

/* Linearises for each value of a parameter, on which the start may depend, and locates between them
 * the points named by `locate`: where a pair of eigenvalues crosses the imaginary axis (NH_HOPF),
 * where a real eigenvalue crosses zero, or a pair turns from one axis onto the other there
 * (NH_ZERO_CROSSING), where real eigenvalues become complex (NH_DOUBLE), and where imaginary pairs
 * meet (NH_COLLISION). `frequency` is the imaginary part there; (rate_re, rate_im) the derivative
 * of the eigenvalue by the parameter, not finite where eigenvalues meet. */
typedef enum nh_point_kind {
    NH_HOPF = 1,
    NH_ZERO_CROSSING = 2,
    NH_DOUBLE = 4,
    NH_COLLISION = 8,
    NH_ALL_POINTS = 15
} nh_point_kind;
typedef struct nh_located {
    nh_point_kind kind;
    double value, frequency, re, rate_re, rate_im;
} nh_located;
NH_API const char *nh_point_kind_name(nh_point_kind kind); /* "hopf", "zero", ... */
typedef struct nh_stability nh_stability;
NH_API nh_status nh_linearise_sweep(nh_stability **out, const nh_system *system,
                                    const nh_linearise_options *options, const nh_sweep *sweep,
                                    unsigned locate, nh_report *report);
NH_API void nh_stability_free(nh_stability *s);
NH_API bool nh_stability_was_stopped(const nh_stability *s); /* by `stop`: `count` is smaller */
NH_API int64_t nh_stability_count(const nh_stability *s);
NH_API double nh_stability_value(const nh_stability *s, int64_t index);
/* The number of eigenvalues other than zeros, -1 where no steady motion was found; and one. */
NH_API int nh_stability_eigenvalues(const nh_stability *s, int64_t index);
NH_API void nh_stability_eigenvalue(const nh_stability *s, int64_t index, int eigenvalue,
                                    double *re, double *im);
/* At the values of the parameters with which the system was built; NULL if nothing steady was found
 * there. */
NH_API const nh_linearisation *nh_stability_here(const nh_stability *s);
NH_API int nh_stability_located(const nh_stability *s);
NH_API nh_located nh_stability_located_at(const nh_stability *s, int index);
NH_API int nh_stability_remarks(const nh_stability *s);
NH_API const char *nh_stability_remark(const nh_stability *s, int index);

/* ---- chaos --------------------------------------------------------------------------------- */

/* Lyapunov exponents of the motion from the start of a run: the mean rates at which perturbations
 * within the constraints grow, largest first, from the last nine tenths of the time. `bar` is their
 * standard deviation, from averages over blocks of time that become longer as long as that makes a
 * difference; `converged` says whether that was found. After a failure or a stop, what was computed
 * until then is returned beside the status. */
typedef struct nh_lyapunov_options {
    size_t size;               /* see "options" in nonholo.h */
    const nh_run_options *run; /* method, step or tolerance (1e-10), time, start */
    int count;                 /* how many exponents; 0: all up to 4; -1: all */
    void *user;
    int (*progress)(void *user, int64_t done, int64_t all); /* nonzero: stop */
} nh_lyapunov_options;
NH_OPTIONS_DEFAULT(nh_lyapunov_options)
typedef struct nh_lyapunov nh_lyapunov;
NH_API nh_status nh_lyapunov_compute(nh_lyapunov **out, const nh_system *system,
                                     const nh_lyapunov_options *options, nh_report *report);
NH_API void nh_lyapunov_free(nh_lyapunov *l);
typedef struct nh_exponent {
    double value, bar;
    bool converged;
} nh_exponent;
NH_API int nh_lyapunov_count(const nh_lyapunov *l);
NH_API int nh_lyapunov_dimension(const nh_lyapunov *l); /* of the states that are possible */
NH_API nh_exponent nh_lyapunov_exponent(const nh_lyapunov *l, int index);
NH_API double nh_lyapunov_sum(const nh_lyapunov *l); /* NaN unless all were computed */
/* The mean exponential growth factor of nearby orbits: tends to 2 for regular motions, and grows in
 * proportion to the largest exponent for others. */
NH_API double nh_lyapunov_megno(const nh_lyapunov *l);
NH_API const nh_plan *nh_lyapunov_plan(const nh_lyapunov *l);
/* The exponents as they were after each of many intervals of time, from the beginning. */
NH_API int64_t nh_lyapunov_intervals(const nh_lyapunov *l);
NH_API double nh_lyapunov_so_far(const nh_lyapunov *l, int64_t interval, int index, double *t);
NH_API int nh_lyapunov_remarks(const nh_lyapunov *l);
NH_API const char *nh_lyapunov_remark(const nh_lyapunov *l, int index);

/* ---- periodic motions ---------------------------------------------------------------------- */

/* The periodic motion nearest to a start: Newton's method on the map of a period, whose derivative
 * is that of the run. Forces that are sines and cosines of time give the period; otherwise it is
 * unknown, and a first guess is given or found. Where periodic motions form a family, the shortest
 * steps are taken. With `relative`, the motion is periodic up to a symmetry.
 *
 * NH_NOT_CONVERGED: none was found; the report says how near the motion came. */
typedef struct nh_periodic_options {
    size_t size;               /* see "options" in nonholo.h */
    const nh_run_options *run; /* method, step or tolerance (1e-12), start */
    double period;             /* or a first guess of it; 0: none */
    bool relative;
    const char *follow; /* a parameter along which the family is followed, between these values */
    double from, to;
    void *user;
    int (*progress)(void *user, double share); /* nonzero: stop */
} nh_periodic_options;
NH_OPTIONS_DEFAULT(nh_periodic_options)
typedef struct nh_periodic nh_periodic;
NH_API nh_status nh_periodic_find(nh_periodic **out, const nh_system *system,
                                  const nh_periodic_options *options, nh_report *report);
NH_API void nh_periodic_free(nh_periodic *p);
NH_API double nh_periodic_period(const nh_periodic *p);
NH_API double nh_periodic_residual(const nh_periodic *p); /* relative to the state */
NH_API int nh_periodic_iterations(const nh_periodic *p);
NH_API void nh_periodic_state(const nh_periodic *p, double *q, double *v);
/* The symmetries of a relative motion, and by how much each moves the state in a period. */
NH_API int nh_periodic_symmetries(const nh_periodic *p);
NH_API const char *nh_periodic_symmetry_name(const nh_periodic *p, int index);
NH_API double nh_periodic_shift(const nh_periodic *p, int index);
/* Multipliers of perturbations within the constraints; those that are exactly 1 come last. */
NH_API int nh_periodic_multipliers(const nh_periodic *p);
NH_API void nh_periodic_multiplier(const nh_periodic *p, int index, double *re, double *im);
/* The family along a parameter, upwards from the motion and then downwards, with the points where
 * it turns back (a real multiplier passes 1), where one passes -1, and where a pair leaves the unit
 * circle. The arrays live as long as the result. */
typedef enum nh_orbit_kind {
    NH_ORBIT_REGULAR,
    NH_ORBIT_FOLD,
    NH_ORBIT_DOUBLING,
    NH_ORBIT_TORUS
} nh_orbit_kind;
typedef struct nh_orbit {
    nh_orbit_kind kind;
    double value, period; /* value: of the parameter */
    const double *q, *v;
    int multipliers;
} nh_orbit;
NH_API const char *nh_orbit_kind_name(nh_orbit_kind kind);
NH_API int64_t nh_periodic_family(const nh_periodic *p);
NH_API nh_orbit nh_periodic_member(const nh_periodic *p, int64_t index);
NH_API void nh_periodic_member_multiplier(const nh_periodic *p, int64_t member, int index,
                                          double *re, double *im);
NH_API int nh_periodic_remarks(const nh_periodic *p);
NH_API const char *nh_periodic_remark(const nh_periodic *p, int index);

/* ---- volumes -------------------------------------------------------------------------------- */

/* Whether the motion keeps volumes of the positions and velocities that the constraints admit, as
 * the kinetic energy measures them, judged in states near the given one. If not, there may be a
 * density with which it does (an invariant measure). `measure` is NH_YES if a function of the
 * positions is such a density near the state, and NH_NO if none that has the symmetries of the
 * system can be: in a steady motion or everywhere volumes shrink or grow, or there are no forces
 * and no function of the positions is one. NH_UNKNOWN of systems with contacts, events that change
 * velocities, constraints that depend on time, more than 24 velocities or very long equations. */
typedef struct nh_volume {
    nh_answer kept, measure;
    double divergence;  /* of the flow in the given state: the rate of volumes; NaN: unknown */
    const char *reason; /* of `measure`, in words; NULL if volumes are kept */
} nh_volume;
NH_API nh_status nh_system_volume(const nh_system *system, double t, const double *q,
                                  const double *v, nh_volume *out, nh_report *report);

/* ---- the equations of motion in many states ------------------------------------------------ */

/* M v' = F + (reactions of constraints), evaluated in many states at once, several at a time in the
 * lanes of vector registers, with values of the inputs that are data. Not for use by several
 * threads at once; the system must live as long. NH_NOT_APPLICABLE for systems of C functions. */
typedef struct nh_dynamics nh_dynamics;
NH_API nh_status nh_dynamics_create(nh_dynamics **out, const nh_system *system, nh_report *report);
NH_API void nh_dynamics_free(nh_dynamics *d);

typedef struct nh_states {
    int64_t count;
    const double *t;      /* [count]; NULL: 0 */
    const double *q, *v;  /* [count][coordinates], [count][velocities] */
    const double *inputs; /* [count][inputs]; not finite, in all states: as the system gives them;
                             NULL: all are */
} nh_states;
/* v'[count][velocities] and multipliers[count][constraints], one of which may be NULL; M, symmetric
 * [count][velocities][velocities]; F [count][velocities]. */
NH_API nh_status nh_dynamics_acceleration(nh_dynamics *d, const nh_states *at, double *acceleration,
                                          double *multipliers, nh_report *report);
NH_API nh_status nh_dynamics_mass(nh_dynamics *d, const nh_states *at, double *mass,
                                  nh_report *report);
NH_API nh_status nh_dynamics_forces(nh_dynamics *d, const nh_states *at, double *forces,
                                    nh_report *report);
/* The derivatives of v' by positions, velocities and inputs, row-major [count][velocities][..].
 * There are as many positions as coordinates, but three for a rotation: small turns about the axes
 * of the body. Inputs that are given are held; derivatives by inputs are those of held ones. Any of
 * the three may be NULL. */
NH_API int nh_dynamics_positions(const nh_dynamics *d);
NH_API nh_status nh_dynamics_jacobian(nh_dynamics *d, const nh_states *at, double *by_position,
                                      double *by_velocity, double *by_input, nh_report *report);

/* ---- fits ---------------------------------------------------------------------------------- */

/* The parameters and start values that explain measured data: those for which the sum of the
 * weighted squares of (data - model) is smallest, by the method of Levenberg and Marquardt on
 * derivatives of the runs, within bounds. Several tables of data are several runs, which share the
 * parameters; each has start values of its own.
 *
 * An unknown is a parameter ("J") or a start value ("start x'"). Start expressions follow the
 * parameters. A start value is varied along the constraints: the velocities that `start solve`
 * names follow, or else all others. Angles are only compared up to whole turns.
 *
 * NH_BAD_ARGUMENT: names, times, or fewer data than unknowns. NH_NOT_CONVERGED: nothing better was
 * found, or the data cannot tell the unknowns: the report names their combinations ("m and J only
 * occur as J/m"). */
typedef struct nh_fit_unknown {
    const char *name;
    double guess;        /* NaN: its value in the system or its start */
    double lower, upper; /* may be infinite */
} nh_fit_unknown;
typedef struct nh_fit_data { /* all of it must outlive the fit */
    const char *name;        /* for messages, such as the path of a file */
    int64_t rows;
    int columns;
    const char *const *column; /* coordinates, velocities, observables, "energy" */
    const double *t;           /* [rows], ascending from the start of the run or later */
    const double *value;       /* [rows][columns]; NaN: missing */
    const double *weight;      /* [rows][columns]; NULL: 1 */
} nh_fit_data;
typedef struct nh_fit_options {
    size_t size; /* see "options" in nonholo.h */
    const nh_fit_unknown *unknown;
    int unknowns;
    const nh_fit_data *data;
    int runs;
    const nh_start_options *start; /* NULL: the model's */
    const nh_run_options *run;     /* method, step or tolerance (1e-11) */
    bool robust; /* large residuals count less: by their size, not by its square (Huber) */
    void *user;
    int (*progress)(void *user, int iteration, double sum); /* nonzero: stop there */
} nh_fit_options;
NH_OPTIONS_DEFAULT(nh_fit_options)
typedef struct nh_fit nh_fit;
NH_API nh_status nh_fit_compute(nh_fit **out, const nh_system *system,
                                const nh_fit_options *options, nh_report *report);
NH_API void nh_fit_free(nh_fit *f);
/* In the order of the options; start values of several runs one after the other, with the names of
 * their data: "start x (two.csv)". */
NH_API int nh_fit_unknowns(const nh_fit *f);
NH_API const char *nh_fit_name(const nh_fit *f, int index);
NH_API double nh_fit_value(const nh_fit *f, int index);
/* The covariance of the estimates [unknowns][unknowns], s^2 (J^T J)^-1 with s^2 = sum / (values -
 * unknowns); NaN for what is at a bound. Deviations are the roots of its diagonal. */
NH_API double nh_fit_deviation(const nh_fit *f, int index);
NH_API const double *nh_fit_covariance(const nh_fit *f);
NH_API const double *nh_fit_correlation(const nh_fit *f);
/* Of a run, [rows][columns]: data - model, NaN where a value is missing, and the model. */
NH_API const double *nh_fit_residuals(const nh_fit *f, int run);
NH_API const double *nh_fit_model(const nh_fit *f, int run);
NH_API int64_t nh_fit_values(const nh_fit *f); /* data that are not missing */
NH_API double nh_fit_sum(const nh_fit *f);     /* of the weighted squares of residuals */
NH_API int nh_fit_iterations(const nh_fit *f);
NH_API bool nh_fit_was_stopped(const nh_fit *f); /* by `progress` */
NH_API const nh_plan *nh_fit_plan(const nh_fit *f);
NH_API int nh_fit_remarks(const nh_fit *f);
NH_API const char *nh_fit_remark(const nh_fit *f, int index);

/* Checks derivatives of an end state, derivative[outputs][variables] of nh_sensitivity_values,
 * against central differences of the program, extrapolated from two increments; of several
 * increments the best counts, since each is wrong by truncation or by round-off. It takes four runs
 * or more for each variable. Start values that no start options give, as a single rate of a body
 * with constraints, are left out. */
typedef struct nh_verified {
    double difference; /* the largest, relative to the largest entry of the column or 1 */
    int worst;         /* the variable; -1: none was checked */
    int checked;       /* how many */
    double doubt;      /* how far the differences by the worst one differ among increments */
} nh_verified;
NH_API nh_status nh_sensitivity_verify(nh_verified *out, const nh_sensitivity *sensitivity,
                                       const nh_start_options *start, const nh_run_options *run,
                                       const nh_plan *plan, const double *derivative,
                                       nh_report *report);

/* ---- gradients ----------------------------------------------------------------------------- */

/* The derivative of one number by any number of parameters, start values and inputs, backwards
 * through a run: at the cost of a few runs, however many there are. It is the derivative of what
 * the program computes, as that of nh_sensitivity is, and agrees with it to round-off. States are
 * kept in a given amount of memory; the others are computed again, with the same bits. */
typedef enum nh_gradient_at {
    NH_GRADIENT_END,      /* the number is that of the end state */
    NH_GRADIENT_INTEGRAL, /* its integral over the time of the run */
    NH_GRADIENT_DATA      /* the weighted sum of squares of the differences from data */
} nh_gradient_at;
typedef struct nh_gradient_options {
    size_t size;    /* see "options" in nonholo.h */
    const char *of; /* a coordinate, a velocity, "energy" or an observable; for data also several,
                       separated by commas; NULL: all columns of the data */
    nh_gradient_at at;
    const nh_fit_data *data;       /* for NH_GRADIENT_DATA */
    const char *by;                /* as for nh_sensitivity_create; NULL: "all" */
    size_t memory;                 /* bytes for states; 0: 100 million */
    const nh_start_options *start; /* NULL: the model's */
    const nh_run_options *run;     /* how it is computed; with q = NULL the start is `start` */
    void *user;
    int (*progress)(void *user, int64_t done, int64_t all); /* nonzero: stop */
} nh_gradient_options;
NH_OPTIONS_DEFAULT(nh_gradient_options)
typedef struct nh_gradient nh_gradient;
NH_API nh_status nh_gradient_compute(nh_gradient **out, const nh_system *system,
                                     const nh_gradient_options *options, nh_report *report);
NH_API void nh_gradient_free(nh_gradient *g);
NH_API double nh_gradient_value(const nh_gradient *g);
NH_API int nh_gradient_variables(const nh_gradient *g);
NH_API const nh_varied *nh_gradient_variable(const nh_gradient *g, int index);
NH_API double nh_gradient_by(const nh_gradient *g, int index);
NH_API const nh_plan *nh_gradient_plan(const nh_gradient *g);
NH_API double nh_gradient_end(const nh_gradient *g); /* the time of the last state */
NH_API int64_t nh_gradient_steps(const nh_gradient *g);
NH_API size_t nh_gradient_memory(const nh_gradient *g); /* bytes of states, at most at once */
NH_API double nh_gradient_seconds(const nh_gradient *g, bool back); /* of the run; of its sweep */
NH_API int nh_gradient_remarks(const nh_gradient *g);
NH_API const char *nh_gradient_remark(const nh_gradient *g, int index);
/* ---- optimal inputs ----------------------------------------------------------------------- */

/* The inputs for which a motion reaches its goal at the least cost. Time is divided into pieces of
 * equal length; in each of them an input is held, or goes linearly from one value to the next. All
 * iterates are motions of the system: they satisfy its constraints. IPOPT searches, on derivatives
 * of the runs; the search begins at the inputs' defaults and at random guesses, and the best of
 * what was found is returned.
 *
 * Expressions are those of the model language. `minimise` is "EXPRESSION", at the end, "integral
 * EXPRESSION", or a sum of both; there and in conditions, `time` is the length of the motion.
 * Conditions are "x = 1, x' = 0, y <= 2".
 *
 * All that the options point to must outlive the optimum.
 *
 * NH_BAD_ARGUMENT: names, expressions, bounds. NH_NOT_APPLICABLE: IPOPT is missing, or the model
 * cannot be differentiated. NH_NOT_CONVERGED: no motion was found that satisfies the conditions,
 * or some of them are moved by no input: the report names them. */
typedef enum nh_control_kind {
    NH_CONTROL_AUTO, /* linear, if it turns directions in constraints, otherwise held */
    NH_CONTROL_HELD,
    NH_CONTROL_LINEAR
} nh_control_kind;
typedef struct nh_control {
    const char *name; /* of an input */
    nh_control_kind kind;
    double lower, upper; /* may be infinite */
} nh_control;
typedef struct nh_optimise_options {
    size_t size; /* see "options" in nonholo.h */
    const nh_control *control;
    int controls, pieces;       /* pieces: 0 means 20 */
    const nh_fit_unknown *vary; /* parameters and start values to be chosen, too */
    int varied;
    const char *minimise; /* NULL: the integral of the sum of the squares of the inputs */
    const char *end;      /* conditions; NULL: none */
    const char *along;    /* conditions at the ends of all pieces */
    double time;          /* 0: the model's span */
    bool free_time;       /* between these, if they are not 0 */
    double time_least, time_most;
    const nh_start_options *start; /* NULL: the model's */
    const nh_run_options *run;     /* method; step: the longest one, or tolerance (1e-9) */
    int tries;                     /* guesses from which the search begins; 0: 8 */
    uint64_t seed;
    int iterations; /* at most, for each guess; 0: 500 */
    void *user;
    /* Nonzero: stop there. `violation` is the largest of the conditions'. */
    int (*progress)(void *user, int guess, int iteration, double cost, double violation);
    /* A table of the best inputs so far, as nh_optimum_save writes it: about once a second, and at
     * the end, so that they outlive the process. NULL: none. */
    const char *save;
} nh_optimise_options;
NH_OPTIONS_DEFAULT(nh_optimise_options)
typedef struct nh_optimum nh_optimum;
NH_API nh_status nh_optimise(nh_optimum **out, const nh_system *system,
                             const nh_optimise_options *options, nh_report *report);
NH_API void nh_optimum_free(nh_optimum *o);
/* Solves it again from another start state, first inputs being the last ones moved forward by
 * `shift` pieces: a receding horizon. `iterations`: at most; 0: as before. After NH_NOT_CONVERGED
 * the inputs are the best ones that were found. */
NH_API nh_status nh_optimise_again(nh_optimum *o, double t, const double *q, const double *v,
                                   int shift, int iterations, nh_report *report);

NH_API double nh_optimum_cost(const nh_optimum *o);
NH_API double nh_optimum_time(const nh_optimum *o);      /* the length of the motion */
NH_API double nh_optimum_violation(const nh_optimum *o); /* largest, of the conditions */
/* By how much the cost still changes within the conditions and bounds, relatively, with a relative
 * change of what is chosen. */
NH_API double nh_optimum_slope(const nh_optimum *o);
NH_API int nh_optimum_iterations(const nh_optimum *o); /* of all guesses together */
NH_API int nh_optimum_motions(const nh_optimum *o);    /* runs with derivatives */
NH_API int nh_optimum_guesses(const nh_optimum *o);    /* how many led to the goal */
NH_API bool nh_optimum_was_stopped(const nh_optimum *o);
NH_API const char *nh_optimum_method(const nh_optimum *o);
NH_API int nh_optimum_steps(const nh_optimum *o); /* in each piece */
NH_API int nh_optimum_pieces(const nh_optimum *o);
/* Of a control: how many values it has, pieces or pieces + 1 if it is linear; the values, and the
 * times from which they hold, or at which they are taken. */
NH_API int nh_optimum_points(const nh_optimum *o, int control);
NH_API const double *nh_optimum_inputs(const nh_optimum *o, int control);
NH_API double nh_optimum_point_time(const nh_optimum *o, int point);
NH_API double nh_optimum_value(const nh_optimum *o, int varied); /* of what is varied */
/* The state at the beginning of a piece, or at the end (`pieces`), before inputs jump. */
NH_API void nh_optimum_state(const nh_optimum *o, int piece, double *t, double *q, double *v);
/* The largest jump of velocities where inputs jump, relative to the largest velocity. */
NH_API double nh_optimum_impulse(const nh_optimum *o);
/* The system with these inputs as tables and with the values of what was varied, whose runs from
 * state 0 follow the optimum. Belongs to the optimum. */
NH_API const nh_system *nh_optimum_system(const nh_optimum *o);
/* The setting that gives an input these values: "u:held=[0 1; 0.1 2; ...]". */
NH_API const char *nh_optimum_setting(const nh_optimum *o, int control);
NH_API int nh_optimum_remarks(const nh_optimum *o);
NH_API const char *nh_optimum_remark(const nh_optimum *o, int index);

/* Feedback that keeps a system near an optimum: u = u_k - K_k (x - x_k) at the beginning of each
 * piece, with the gains that minimise the sum of dx^T Q dx + du^T R du over all pieces and
 * dx^T F dx at the end (the discrete Riccati equation over the derivatives of the pieces). States
 * are changes of positions (three for a rotation), then of velocities; weights are diagonal, NULL:
 * 1, and 100 at the end. Only for inputs that are held. gain[pieces][controls][states]. */
typedef struct nh_tracking_options {
    size_t size;             /* see "options" in nonholo.h */
    const double *Q, *R, *F; /* [states], [controls], [states] */
} nh_tracking_options;
NH_OPTIONS_DEFAULT(nh_tracking_options)
NH_API nh_status nh_optimum_track(nh_optimum *o, const nh_tracking_options *options,
                                  nh_report *report);
NH_API const double *nh_optimum_gain(const nh_optimum *o, int piece); /* NULL: not computed */
/* The feedback as an expression of t and the state, for a setting "u:held=EXPRESSION" with the
 * period of the pieces; NULL if the model has rotations. */
NH_API const char *nh_optimum_law(const nh_optimum *o, int control);

/* ---- regulators --------------------------------------------------------------------------- */

/* Feedback that keeps a system near a steady motion: inputs u = u0 - K (x - x0) are computed every
 * `period` and held in between, with the gain K that minimises the sum of x^T Q x + u^T R u over
 * all samples. A, B, C, D are those of the sampled system. Directions of x that no input moves and
 * that neither grow nor decay are left out, and named in a remark. With `noise`, an estimator
 * x+ = A x + B u, x = x + L (y - C x - D u) as well, which weighs disturbances
 * against errors of the measured outputs.
 *
 * NH_NOT_CONVERGED: the inputs cannot stabilise the motion, or the outputs do not show it. */
typedef struct nh_regulator_options {
    size_t size; /* see "options" in nonholo.h */
    double period;
    const double *Q, *R;       /* row-major, symmetric; NULL: unit matrices */
    const double *disturbance; /* standard deviations of what is added in a period to each state,
                                  then to each input; NULL: 1 for inputs */
    const double *noise;       /* standard deviations of the outputs, infinite: not measured; NULL:
                                  no estimator */
} nh_regulator_options;
NH_OPTIONS_DEFAULT(nh_regulator_options)
typedef struct nh_regulator nh_regulator;
/* The linearisation must live as long as the regulator. */
NH_API nh_status nh_regulate(nh_regulator **out, const nh_linearisation *l,
                             const nh_regulator_options *options, nh_report *report);
NH_API void nh_regulator_free(nh_regulator *r);
/* 'A', 'B', 'C', 'D', 'K' [inputs][order], 'P' of Riccati's equation, 'L' [order][outputs] (NULL
 * without an estimator), row-major. */
NH_API const double *nh_regulator_matrix(const nh_regulator *r, char name);
NH_API double nh_regulator_period(const nh_regulator *r);
NH_API const nh_linearisation *nh_regulator_linearisation(const nh_regulator *r);
/* The eigenvalues of a sample of the closed loop ('K': A - B K) and of the estimator's error ('L'),
 * as many as states. */
NH_API void nh_regulator_eigenvalue(const nh_regulator *r, char loop, int index, double *re,
                                    double *im);
/* The feedback on an input as an expression, for the setting "input NAME" together with
 * "input-period"; NULL if it cannot be written as one: a remark says why. */
NH_API const char *nh_regulator_law(const nh_regulator *r, int input);
NH_API int nh_regulator_remarks(const nh_regulator *r);
NH_API const char *nh_regulator_remark(const nh_regulator *r, int index);
/* Writes all of this to a file for numpy.load. */
NH_API nh_status nh_regulator_write(const nh_regulator *r, const char *path, nh_report *report);

/* ---- pictures ----------------------------------------------------------------------------- */

/* A plot of arbitrary curves in panels; the file extension selects the format, as in
 * nh_record_draw. Curves with the same index have the same colour in all panels, and the legend
 * shows the names from the first panel, unless panels have names of their own. NaN leaves a gap, as
 * do values <= 0 on a logarithmic scale. */
typedef struct nh_curve {
    const char *name;
    const double *x, *y;
    int64_t count;
    bool marked;         /* with a marker at each point */
    bool guide;          /* thin, grey and dashed: a line for comparison */
    bool faint;          /* thin: one of many curves */
    bool dots;           /* marks without a line, such as equilibria */
    bool cloud;          /* small dots without a line, in any order */
    bool bars;           /* bars from zero, one at each x */
    const double *upper; /* if not NULL, the band between y and this is filled */
} nh_curve;
typedef struct nh_panel {
    const char *title, *x_label, *y_label;
    bool x_log, y_log;
    const nh_curve *curve;
    int curves;
    bool equal;                      /* equal scales on both axes */
    const double *x_range, *y_range; /* two numbers each; NULL: chosen to fit the curves */
    const char *note;                /* small, below the curves; may be NULL */
    bool own_names;                  /* its curves are named above it */
    bool x_angle, y_angle;           /* angles between -pi and pi */
} nh_panel;
NH_API nh_status nh_panels_draw(const nh_panel *panel, int panels, const char *path,
                                const nh_picture *picture, nh_report *report);
/* Checks whether such a plot can be written to this path, as nh_record_can_plot does for
 * nh_record_draw. */
NH_API nh_status nh_panels_can_plot(const char *path, nh_report *report);

/* A recorded table read from a file (.csv, .npy, .npz, .h5) that nonholo wrote; from an ensemble,
 * one member. nh_datafile_draw draws it: in panels that suit it, or the named columns ("x,y"
 * together over time, "y/x" one over the other) if `columns` is not NULL. */
typedef struct nh_datafile nh_datafile;
NH_API nh_status nh_datafile_read(nh_datafile **out, const char *path, int64_t member,
                                  nh_report *report);
NH_API void nh_datafile_free(nh_datafile *table);
NH_API int64_t nh_datafile_rows(const nh_datafile *table);
NH_API int64_t nh_datafile_members(const nh_datafile *table); /* of the file */
NH_API int nh_datafile_columns(const nh_datafile *table);
NH_API const char *nh_datafile_column_name(const nh_datafile *table, int column);
NH_API const double *nh_datafile_column(const nh_datafile *table, int column); /* [rows] */
NH_API nh_status nh_datafile_draw(const nh_datafile *table, const char *columns, const char *path,
                                  const nh_picture *picture, nh_report *report);

/* ---- drawings ---------------------------------------------------------------------------- */

/* What a model's `draw` statements show. The scene is JSON: {"dimensions": 2 or 3, "channels": n,
 * "shapes": [{"shape": "wheel", "at": [...], "radius": ..., "color": ..., ...}]}; a number in it is
 * either a constant, or [channel] if it moves. nh_system_drawn_numbers is the number of channels, 0
 * if nothing moves, -1 if the model has no drawing; nh_system_draw evaluates them in a state. Free
 * the text with nh_bytes_free. */
NH_API int nh_system_drawn_numbers(const nh_system *system);
NH_API nh_status nh_system_draw(const nh_system *system, double t, const double *q, const double *v,
                                double *numbers, nh_report *report);
NH_API nh_status nh_system_scene(const nh_system *system, char **json, nh_report *report);

/* ---- figures ----------------------------------------------------------------------------- */

/* A figure described by a text: what is computed, what is plotted, and what results are expected
 * (nonholo-figure(5)). The text cannot execute code; it can only use the arithmetic of models. */
typedef struct nh_figure nh_figure;

/* Opens a shipped figure by name, or a file by path (a path contains a '/' or ends in ".fig"). */
NH_API nh_status nh_figure_open(nh_figure **out, const char *name_or_path, nh_report *report);
NH_API nh_status nh_figure_parse(nh_figure **out, const char *file, const char *text, size_t length,
                                 nh_report *report);
NH_API void nh_figure_free(nh_figure *figure);
NH_API const char *nh_figure_name(const nh_figure *figure);
NH_API const char *nh_figure_title(const nh_figure *figure);
NH_API int nh_figure_runs(const nh_figure *figure); /* methods times cases */
NH_API int nh_shipped_figure_count(void);
NH_API const char *nh_shipped_figure_name(int index);

typedef struct nh_figure_options {
    size_t size; /* see "options" in nonholo.h */
    bool quick;  /* use the shorter times and fewer members that the figure specifies for this */
    int threads; /* 0: one for each processor; the results do not depend on it */
    /* called after each run, one call at a time; a nonzero return value stops the figure */
    int (*progress)(void *user, int done, int all);
    void *user;
} nh_figure_options;
NH_OPTIONS_DEFAULT(nh_figure_options)

/* Computes everything and checks the findings. A finding that does not hold is a result, not a
 * failure of this function; neither is a method that does not apply to a case or does not reach the
 * end (see nh_figure_remark). */
NH_API nh_status nh_figure_run(nh_figure *figure, const nh_figure_options *options,
                               nh_report *report);
NH_API double nh_figure_seconds(const nh_figure *figure); /* duration of the last run */
NH_API int nh_figure_remarks(const nh_figure *figure);
NH_API const char *nh_figure_remark(const nh_figure *figure, int index);

typedef struct nh_finding {
    const char *text;    /* as written in the figure's file */
    const char *in_case; /* label of the case; "" if the figure has only one case */
    bool checked;        /* false: it needs the full time, and this was a quick run */
    bool passed;
    bool is_claim; /* a published claim, shown next to the measured value */
    bool is_test;  /* a failure if it does not hold; not of claims that are only reported */
    double measured, expected; /* NaN for verdicts */
    char measured_text[160], expected_text[80];
} nh_finding;
NH_API int nh_figure_findings(const nh_figure *figure);
NH_API const nh_finding *nh_figure_finding(const nh_figure *figure, int index);

/* To be called after nh_figure_run: nh_figure_draw writes the picture (.svg, .png, .pdf, .html),
 * nh_figure_write the plotted curves (.csv with columns panel, curve, x, y). */
NH_API nh_status nh_figure_draw(const nh_figure *figure, const char *path, nh_report *report);
NH_API nh_status nh_figure_write(const nh_figure *figure, const char *path, nh_report *report);

/* ---- robots from URDF files ---- */

typedef struct nh_import_options {
    size_t size;
    const char
        *wheels;      /* links or joints that are wheels, "left,right=0.1": a name, perhaps with the
                         radius; NULL: cylinders that touch the ground, if there are several */
    const char *base; /* "fixed", "planar" or "floating"; NULL: planar with wheels, else fixed */
} nh_import_options;
NH_OPTIONS_DEFAULT(nh_import_options)

/* A model text for the robot that a URDF file describes, to be freed with nh_bytes_free. Needs
 * a library that was built with Expat. */
NH_API nh_status nh_import_urdf(char **text, const char *path, const nh_import_options *options,
                                nh_report *report);

#ifdef __cplusplus
}
#endif
#endif
