/* nonholo: simulates mechanical systems with velocity constraints, using integrators designed for
 * them.
 *
 * The objects of a simulation, in the order in which they are created:
 *
 *     nh_model   a text in the model language            nh_model_open, nh_model_parse
 *     nh_system  a model with values for its parameters  nh_system_build
 *                (or your own C functions)               nh_system_from_functions
 *     nh_run     a system with a method, a step size     nh_run_create, nh_run_start
 *                and the current state                   nh_run_advance, nh_run_state
 *
 * examples/minimal.c is a complete program in ten lines.
 *
 * The sections of this file: status and reports, options, models, systems, methods, runs,
 * solutions, compiled kernels, checkpoints, ensembles, output (records, tables and archives),
 * sampling and simulations. Fits, verdicts, pictures and figures are in nonholo_analysis.h.
 *
 * Models and systems are immutable and may be shared between threads; a run may be used by only one
 * thread at a time. Functions that can fail return an nh_status and describe the failure in the
 * caller's nh_report (which may be NULL). No function prints, exits or calls longjmp. New objects
 * are returned through the first parameter, which is set to NULL on failure; every free function
 * accepts NULL. Each list has a function that returns its length and one that returns the item at
 * an index, or NULL past the end.
 */
#ifndef NONHOLO_H
#define NONHOLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NH_API __attribute__((visibility("default")))
#else
#define NH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and reports ------------------------------------------------------------------ */

typedef enum nh_status {
    NH_OK = 0,
    /* the request was wrong: command line exit code 2 */
    NH_BAD_ARGUMENT,   /* a value out of range, an unknown name, method or option */
    NH_BAD_MODEL,      /* an error in a model text; line and column say where, if known */
    NH_NOT_APPLICABLE, /* the method requires a property that this system does not have */
    NH_BAD_START,      /* the start state does not satisfy the constraints */
    NH_TOO_LARGE,      /* exceeds a size limit */
    /* the computation failed: command line exit code 1 */
    NH_NO_MEMORY,
    NH_NOT_CONVERGED,         /* the solver for the equations of a step did not converge */
    NH_NOT_FINITE,            /* a state became infinite or NaN */
    NH_SINGULAR_MASS,         /* the mass matrix became singular */
    NH_DEPENDENT_CONSTRAINTS, /* the constraints became linearly dependent */
    NH_CALLBACK_STOPPED,      /* a user-supplied function requested a stop */
    NH_FILE_FAILED,           /* a file could not be read or written */
    NH_NO_COMPILER,           /* no C compiler, or it failed; the tape backend needs none */
    NH_BROKEN_METHOD          /* a method violated its contract: a bug in this library */
} nh_status;

/* Describes a failure. `text` is a complete message for the user; for an error in a model it has
 * several lines: "file:line:column: what", the line of the model, and a caret under the position.
 * The size of `text` is part of the interface and will not change. */
typedef struct nh_report {
    nh_status status;
    int line, column; /* in the model text, counted from 1; 0 if the error has no position there */
    int64_t step;     /* number of the step that failed, counted from 1; 0 outside a run */
    double time;      /* at the beginning of the step that failed */
    double residual;  /* of the solver when it gave up, or of the constraints at a bad start */
    const char *option; /* the option to change, e.g. "step" or "backend tape", or NULL */
    char text[2048];
} nh_report;

/* True if the status means that the request itself was wrong (command line exit code 2). */
NH_API bool nh_status_is_usage(nh_status status);
NH_API const char *nh_status_name(nh_status status);
/* Replaces what a terminal must not get: control characters and bytes that are not UTF-8 become
 * '?'. Reports and remarks are printable already. */
NH_API void nh_make_printable(char *text);

/* nh_version returns e.g. "0.1.0"; nh_version_parts lists the optional parts that are compiled in
 * and those that are missing, e.g. "portable kernels; no HDF5". */
NH_API const char *nh_version(void);
NH_API const char *nh_version_parts(void);

/* ---- options ----------------------------------------------------------------------------- */

/* An option struct can be zero-initialised or initialised with its function NAME_default(). A
 * member that is zero selects the recommended default, the same that the command line uses. The
 * first member of each option struct is its size, which NAME_default() sets (0 stands for the
 * first version of the struct), so a program compiled against an older version of the library
 * continues to work with a newer one that has more options. */
#define NH_OPTIONS_DEFAULT(type)                                                                   \
    static inline type type##_default(void)                                                        \
    {                                                                                              \
        type advised = {0};                                                                        \
        advised.size = sizeof advised;                                                             \
        return advised;                                                                            \
    }

/* ---- models ------------------------------------------------------------------------------ */

typedef struct nh_model nh_model;

/* Opens a shipped model by name, or a file by path (a path contains a '/' or ends in ".nh"). */
NH_API nh_status nh_model_open(nh_model **out, const char *name_or_path, nh_report *report);

/* Reads a model from text in memory; `file` is the file name used in messages. */
NH_API nh_status nh_model_parse(nh_model **out, const char *file, const char *text, size_t length,
                                nh_report *report);
NH_API void nh_model_free(nh_model *model);
NH_API const char *nh_model_name(const nh_model *model);
NH_API const char *nh_model_text(const nh_model *model);
/* The same with ordinary statements in place of bodies, wheels, blades and springs: another text
 * with the same results, bit for bit. Without such statements, the text itself. */
NH_API const char *nh_model_expanded(const nh_model *model);

NH_API int nh_shipped_model_count(void);
NH_API const char *nh_shipped_model_name(int index);
NH_API const char *nh_shipped_model_summary(int index); /* its first comment line */

/* ---- systems ----------------------------------------------------------------------------- */

typedef struct nh_system nh_system;

/* Sets the parameters (each of `settings` is "NAME=EXPRESSION" and overrides the model's value) and
 * derives the equations of motion. The system does not keep a pointer to the model. */
NH_API nh_status nh_system_build(nh_system **out, const nh_model *model,
                                 const char *const *settings, size_t setting_count,
                                 nh_report *report);
NH_API void nh_system_free(nh_system *system);

/* A system given by C functions instead of a model text: L = v.M(q)v/2 - V(q), with constraints
 * A(q)v + b(q) = 0. Every function returns 0 on success, > 0 if it cannot be evaluated at this
 * point (the solver then tries a smaller change), and < 0 to stop.
 * Matrices are row-major: M is n x n, A is m x n, dM is n x n x n with dM[i][j][k] = dM_jk/dq_i. */
typedef struct nh_functions {
    size_t size; /* see "options" above */
    const char *name;
    int coordinates, constraints;
    void *user;
    int (*mass)(void *user, const double *q, double *M);             /* NULL: the identity */
    int (*mass_derivative)(void *user, const double *q, double *dM); /* NULL: finite differences */
    int (*potential)(void *user, const double *q, double *V);        /* NULL: no potential */
    int (*gradient)(void *user, const double *q, double *gradV);     /* NULL: finite differences */
    int (*constraint)(void *user, const double *q, double *A, double *b); /* b is zero on entry */
    /* Optional, in addition to the two above: gradV, A and b in one call, if they share work. */
    int (*gradient_and_constraint)(void *user, const double *q, double *gradV, double *A,
                                   double *b);
    bool constant_mass;      /* M does not depend on q: it is factorised once */
    bool reaction_is_linear; /* A and b depend only on coordinates on which no reaction acts */
    /* Optional, m x n: the coordinates on which the reaction of each constraint acts, that is, the
     * structural nonzeros of A M^-1. The other entries are never computed. Read only while the
     * system is being built. */
    const bool *reaction_pattern;
    /* Optional, for constraints that are not ideal (e.g. with friction): the constraint force
     * N(t, q, v, psi), instead of A(q)^T psi. Supported by the SPARK methods (gauss, lobatto,
     * euler). */
    int (*reaction)(void *user, double t, const double *q, const double *v, const double *psi,
                    double *force);
} nh_functions;
NH_OPTIONS_DEFAULT(nh_functions)

NH_API nh_status nh_system_from_functions(nh_system **out, const nh_functions *functions,
                                          nh_report *report);

/* Remarks: warnings about a result that is returned nevertheless. Each says what was observed,
 * where, and what to try. The remarks of a system concern the model, those of a run the motion
 * computed so far. */
NH_API int nh_system_remarks(const nh_system *system);
NH_API const char *nh_system_remark(const nh_system *system, int index);

/* `coordinates` is the length of q and `velocities` that of v. They differ for systems on a Lie
 * algebra, which have velocities without coordinates, and for those with rotations: each has the
 * four numbers of a unit quaternion in q and the three of its body rate in v. A state consists of
 * the arrays q[coordinates] and v[velocities]. */
NH_API const char *nh_system_name(const nh_system *system);
NH_API int nh_system_coordinates(const nh_system *system);
NH_API int nh_system_velocities(const nh_system *system);
NH_API int nh_system_constraints(const nh_system *system);
NH_API int nh_system_positions(const nh_system *system); /* how many constraints are on positions */
NH_API int nh_system_rotations(const nh_system *system); /* each adds one such constraint */
NH_API const char *nh_system_coordinate_name(const nh_system *system, int index);
NH_API bool nh_system_is_angle(const nh_system *system, int index); /* with period 2 pi */
NH_API const char *nh_system_velocity_name(const nh_system *system, int index); /* "x'", "w1" */
NH_API const char *nh_system_constraint_name(const nh_system *system, int index);
NH_API int nh_system_parameters(const nh_system *system);
NH_API const char *nh_system_parameter_name(const nh_system *system, int index);
NH_API double nh_system_parameter_value(const nh_system *system, int index);

/* Observables: driver_energy and passenger_energy if the system is coupled, then those of the
 * model. */
NH_API int nh_system_observables(const nh_system *system);
NH_API const char *nh_system_observable_name(const nh_system *system, int index);

/* Inputs of the model: what acts on the system from outside. A setting "u=EXPRESSION" of
 * nh_system_build defines an input in terms of t, the parameters and, if the input occurs only in
 * forces, the state. A setting "u:held", "u:linear" or "u:spline" leaves it open: its values are
 * then supplied while a run advances. A setting that begins with "input " may only name an input.
 * An input without a setting has the model's default. */
NH_API int nh_system_inputs(const nh_system *system);
NH_API const char *nh_system_input_name(const nh_system *system, int index);
/* The expression of an input, shortened if it is long; for an open input, its default. Freed by the
 * caller. */
NH_API char *nh_system_input_text(const nh_system *system, int index);

/* The model's start state at time 0, with `assignments` ("x=1, x'=0.2"; may be NULL) applied before
 * the start expressions are evaluated. If the model has `start solve`, the velocities named there
 * are solved for, except those assigned here. Otherwise the constraints are not checked. */
NH_API nh_status nh_system_start(const nh_system *system, const char *assignments, double *q,
                                 double *v, nh_report *report);
/* Whether the model's `start solve` names velocity `index`. */
NH_API bool nh_system_solves(const nh_system *system, int index);
NH_API bool nh_system_solves_position(const nh_system *system, int index); /* ... coordinate */

/* Returns NH_BAD_START, with the residual in the report, if the state violates the constraints,
 * that is, if no relative change of 1e-9 in its numbers could make the residuals vanish. */
NH_API nh_status nh_system_check_start(const nh_system *system, double t, const double *q,
                                       const double *v, nh_report *report);

/* The rank of the constraints in a state; -1: not known. Returns NH_DEPENDENT_CONSTRAINTS or
 * NH_SINGULAR_MASS if a rank is lost there: no method starts in such a state. */
NH_API nh_status nh_system_rank(const nh_system *system, double t, const double *q, const double *v,
                                int *rank, nh_report *report);

/* Replaces v by the nearest velocities that satisfy the constraints, in the mass metric at the
 * given state. Fails with NH_BAD_START if there are none (or none are found, for constraints
 * nonlinear in the velocities); v is then unchanged. */
NH_API nh_status nh_system_project(const nh_system *system, double t, const double *q, double *v,
                                   nh_report *report);

/* The same with some velocities fixed. Names are separated by commas ("x', y[2]', w1"); the name of
 * a family means all of its members. At most one of the lists may be given; without either, the
 * velocities named by the model's `start solve` may change, or all if it has none. */
typedef struct nh_projection {
    size_t size;       /* see "options" above */
    const char *keep;  /* these stay as they are, all others may change */
    const char *solve; /* only these may change */
} nh_projection;
NH_OPTIONS_DEFAULT(nh_projection)
NH_API nh_status nh_system_project_by(const nh_system *system, const nh_projection *how, double t,
                                      const double *q, double *v, nh_report *report);
/* The same, after moving the positions to the nearest ones that satisfy the conditions on them. */
NH_API nh_status nh_system_project_state(const nh_system *system, const nh_projection *how,
                                         double t, double *q, double *v, nh_report *report);

/* A start state from all that may determine it, in this order: the model's start with assignments,
 * whole vectors, and then the projection or, without one, the model's `start solve`. */
typedef struct nh_start_options {
    size_t size; /* see "options" above */
    double t;
    const char *assignments;  /* as in nh_system_start */
    const double *q, *v;      /* NULL: those of the model */
    bool project;             /* also if keep or solve is given */
    const char *keep, *solve; /* as in nh_projection */
    const double *inputs;     /* values at t of the inputs left to the caller; NAN elsewhere, NULL:
                                 their     defaults */
} nh_start_options;
NH_OPTIONS_DEFAULT(nh_start_options)
NH_API nh_status nh_system_begin(const nh_system *system, const nh_start_options *options,
                                 double *q, double *v, nh_report *report);

/* These functions may be called from several threads at once. */
NH_API nh_status nh_system_energy(const nh_system *system, double t, const double *q,
                                  const double *v, double *energy, nh_report *report);
NH_API nh_status nh_system_residual(const nh_system *system, double t, const double *q,
                                    const double *v, double *k, /* k[constraints] */
                                    nh_report *report);
/* Conditions on positions g(t, q) = 0: g[positions]. They are the last of the constraints; their
 * entries of k are the time derivatives of g. */
NH_API nh_status nh_system_position_residual(const nh_system *system, double t, const double *q,
                                             double *g, nh_report *report);
/* The largest of all |k| and |g|; NaN if one is. */
NH_API nh_status nh_system_largest_residual(const nh_system *system, double t, const double *q,
                                            const double *v, double *largest, nh_report *report);
NH_API nh_status nh_system_observe(const nh_system *system, double t, const double *q,
                                   const double *v, double *values, /* values[observables] */
                                   nh_report *report);

/* The natural length of a run, from the model's `span`; 0 if it has none. */
NH_API double nh_system_span(const nh_system *system);

/* Events of the model: functions of the motion whose changes of sign a run detects. An event acts
 * if it changes velocities (`when`). */
NH_API int nh_system_events(const nh_system *system);
NH_API const char *nh_system_event_name(const nh_system *system, int index);
NH_API bool nh_system_event_acts(const nh_system *system, int index);

/* Contacts, which can open, and constraints with a grip, which can slip, in the order of the model.
 * Runs record for each of them the columns NAME.mode (as nh_run_mode) and NAME.dissipated. */
NH_API int nh_system_items(const nh_system *system);
NH_API const char *nh_system_item_name(const nh_system *system, int index);
NH_API bool nh_system_item_is_contact(const nh_system *system, int index);
/* "closed" or "open" for a contact, "held", "slipping" or "free" (without load) for a grip, from
 * the number that nh_run_mode returns. */
NH_API const char *nh_system_mode_name(const nh_system *system, int index, int mode);

/* v' and the Lagrange multipliers of the continuous equations of motion; either may be NULL. */
NH_API nh_status nh_system_acceleration(const nh_system *system, double t, const double *q,
                                        const double *v, double *acceleration, double *multipliers,
                                        nh_report *report);

/* Properties of a system. */
typedef enum nh_constraint_kind { NH_LINEAR, NH_AFFINE, NH_NONLINEAR } nh_constraint_kind;
typedef enum nh_answer { NH_NO, NH_YES, NH_UNKNOWN } nh_answer;

typedef struct nh_facts {
    bool constant_mass;      /* d2L/dv2 is constant */
    bool diagonal_mass;      /* and diagonal */
    bool separable;          /* forces do not depend on velocities, momenta not on coordinates */
    bool mechanical;         /* L = v.M(q)v/2 - V(q): no terms linear in v, M without v */
    bool has_frame;          /* the model defines a frame */
    bool autonomous;         /* nothing depends on t */
    bool conservative;       /* no external force */
    bool affine;             /* every constraint is linear or affine in the velocities */
    bool linear;             /* every constraint is linear in the velocities */
    bool reaction_is_linear; /* no reaction acts on a coordinate that a constraint depends on */
    bool keeps_energy;       /* the energy is an integral of the motion */
    nh_answer reversible;    /* (q, v) -> (q, -v) reverses the motion */
    nh_answer integrable;    /* Frobenius: the constraints are holonomic */
    bool coupled;            /* a driver and passengers (Modin & Verdier 2020, Def. 2.1) */
    int driver;              /* index of the driving coordinate, or -1 */
    int rank;                /* of the constraints at the model's start state */
    int mass_entries;        /* structural nonzeros of the mass matrix */
    int constraint_entries;  /* structural nonzeros of the constraints' velocity derivative */
    bool linear_passengers;  /* coupled, and the passengers' potential is quadratic */
    bool sprung_passengers;  /* and has a minimum: each of them has a restoring force */
    int holonomic;           /* conditions on positions among the constraints; -1: unknown */
    bool symmetries;         /* integrals linear in the momenta are searched for */
    bool definite_mass;      /* d2L/dv2 is definite near the start; not so for L = x' y' */
    bool constant_inertia;   /* d2L/dv2 is constant, in terms of body rates for rotations */
    bool mass_waits;         /* M is so dense that solving for it waits until a run needs it */
    int passenger_rank;      /* with linear passengers, U = x.K x/2 - f.x: the rank of K */
    bool passenger_pull;     /* ... and f is not in the range of K: they have no equilibrium */
    bool nonideal;           /* forces depend on reactions: the constraints do work */
    bool quadratic;          /* L = v.M v/2 - x.K x/2 + f.x with constant M, K, f, and linear
                                constraints on velocities only; if coupled, of the passengers:
                                there is a leapfrog_invariant */
} nh_facts;
NH_API const nh_facts *nh_system_facts(const nh_system *system);

/* The fibration of a coupled system with linear passengers over its driver (Modin & Verdier 2020,
 * table 1): a group acts on y = kappa x, where K = kappa^T kappa, and on the speed v of the
 * passengers; the part of x that y does not determine is the fibre. If the driver moves
 * periodically, the motion of (y, v, xi, xi') has the given numbers of integrals and angles (if the
 * group is R, only if the mean of the force along the admissible direction is zero). Returns false
 * for other systems. */
typedef struct nh_fibration {
    char group[24];        /* SO(3), SE(2), R, 1, ... */
    int fibre;             /* dimension of the kernel of kappa */
    int integrals, angles; /* -1: unknown */
} nh_fibration;
NH_API bool nh_system_fibration(const nh_system *system, nh_fibration *out);
NH_API nh_constraint_kind nh_system_constraint_kind(const nh_system *system, int index);
NH_API bool nh_system_constraint_depends_on_time(const nh_system *system, int index);
/* Whether constraint `index` alone is a total time derivative or proportional to one. */
NH_API nh_answer nh_system_constraint_integrable(const nh_system *system, int index);

/* Integrability near a state, which need not be the model's start. `growth` has the ranks of D,
 * D + [D, D], D + [D, D] + [D, [D, D]], ... for the distribution D of the velocities that satisfy
 * the constraints; if they stop growing below the number of dimensions, the difference is the
 * number of holonomic conditions. */
enum { NH_GROWTH_MAX = 16 };
typedef struct nh_integrability {
    nh_answer integrable; /* all constraints together */
    int holonomic;        /* how many conditions on positions they imply; -1: unknown */
    bool sought;          /* the constraints are affine, and few enough to be analysed */
    bool with_time;       /* the ranks count time as one more dimension */
    int growths;          /* 0: not computed */
    int growth[NH_GROWTH_MAX];
} nh_integrability;
NH_API nh_status nh_system_integrability(const nh_system *system, double t, const double *q,
                                         const double *v, nh_integrability *out, nh_report *report);
/* Conditions on positions that were found in closed form, e.g. "x^2 + y^2", constant along every
 * motion. */
NH_API int nh_system_surfaces(const nh_system *system);
NH_API const char *nh_system_surface(const nh_system *system, int index);

/* The conserved quantities that were found, e.g. "energy" or "momentum of x1", and their values at
 * a state: values[integrals]. None of systems with contacts or grips, whose modes keep different
 * things. */
NH_API int nh_system_integrals(const nh_system *system);
NH_API const char *nh_system_integral_name(const nh_system *system, int index);
NH_API nh_status nh_system_integral_values(const nh_system *system, double t, const double *q,
                                           const double *v, double *values, nh_report *report);

/* ---- methods ----------------------------------------------------------------------------- */

enum {                                /* what a method preserves */
       NH_KEEPS_CONSTRAINTS = 1 << 0, /* at the time steps, to round-off */
       NH_KEEPS_ENERGY = 1 << 1,      /* to round-off */
       NH_KEEPS_SYMMETRY = 1 << 2,    /* self-adjoint, hence reversible on reversible systems */
       NH_KEEPS_FIBRATION = 1 << 3,   /* of coupled systems: the driver is independent */
       NH_KEEPS_POSITIONS = 1 << 4    /* conditions on positions at both levels, to round-off */
};
enum { /* what a method requires of the system */
       NH_NEEDS_CONSTANT_MASS = 1 << 0,
       NH_NEEDS_AFFINE_CONSTRAINTS = 1 << 1,
       NH_NEEDS_SEPARABLE = 1 << 2,
       NH_NEEDS_AUTONOMOUS = 1 << 3,
       NH_NEEDS_CONSERVATIVE = 1 << 4,
       NH_NEEDS_MODEL_TEXT = 1 << 5, /* not for systems given by C functions */
       NH_NEEDS_LINEAR_CONSTRAINTS = 1 << 6,
       NH_NEEDS_MECHANICAL = 1 << 7,        /* L = v.M(q)v/2 - V(q) */
       NH_NEEDS_FRAME = 1 << 8,             /* the model defines a frame */
       NH_NEEDS_DEFINITE_MASS = 1 << 9,     /* M is positive or negative definite */
       NH_NEEDS_ROTATIONS = 1 << 10,        /* and no conditions on positions but theirs */
       NH_NEEDS_CONSTANT_INERTIA = 1 << 11, /* in terms of (x', body rates) */
       NH_NEEDS_COUPLED = 1 << 12           /* a driver that moves independently of all else */
};

typedef enum nh_option_type { NH_OPTION_REAL, NH_OPTION_INTEGER, NH_OPTION_CHOICE } nh_option_type;

typedef struct nh_option {
    const char *name, *help;
    nh_option_type type;
    double standard;        /* the default; for a choice, its index; NaN: see `follows` */
    double least, greatest; /* inclusive */
    const char *choices;    /* "point|average" */
    const char *follows;    /* the option whose value is the default of this one */
} nh_option;

enum { NH_OPTIONS_MAX = 8 };
typedef struct nh_method nh_method;

NH_API int nh_method_count(void);
NH_API const nh_method *nh_method_at(int index);
NH_API const char *nh_method_name(const nh_method *method);
NH_API const char *nh_method_summary(const nh_method *method);
NH_API const char *nh_method_formulas(const nh_method *method); /* several lines */
NH_API const char *nh_method_reference(const nh_method *method);
NH_API const nh_option *nh_method_options(const nh_method *method, int *count);

/* A method with values for its options, from "NAME" or "NAME:key=value,key=value". */
typedef struct nh_choice { /* `pace`, an option of all symmetric methods, is the last entry */
    const nh_method *method;
    double option[NH_OPTIONS_MAX];
} nh_choice;
NH_API nh_status nh_choice_parse(nh_choice *out, const char *text, nh_report *report);
NH_API int nh_choice_order(const nh_choice *choice); /* 0: adaptive step size */
NH_API unsigned nh_choice_keeps(const nh_choice *choice);
NH_API unsigned nh_choice_needs(const nh_choice *choice);
/* Returns NH_NOT_APPLICABLE, with the reason, if the method cannot be used with the system. */
NH_API nh_status nh_choice_applies(const nh_choice *choice, const nh_system *system,
                                   nh_report *report);

/* nh_advise: the recommended method for a system (e.g. "gauss:stages=2"), with the reason in a
 * phrase, or NULL if no method applies. nh_advise_fast: a cheaper alternative, or NULL. */
NH_API const char *nh_advise(const nh_system *system, const char **reason);
NH_API const char *nh_advise_fast(const nh_system *system, const char **reason);

/* Compositions: each step consists of several steps of a symmetric method, which raises the order.
 * Or it is a list of different methods, "METHOD:FRACTION, METHOD:FRACTION, ...", each of which
 * takes its fraction of the step: "dla:1/4, gauss:stages=1:1/2, dla:1/4". Such a list takes the
 * place of the method; it is symmetric if it reads the same backwards and its methods are
 * symmetric. */
NH_API int nh_composition_count(void);
NH_API const char *nh_composition_name(int index);
/* The order of a composed method; 0, with a report, if the composition is unknown or the method is
 * not symmetric or has the wrong order for it. Of a list the least order, whatever the choice,
 * which may be NULL. */
NH_API int nh_composition_order(const char *name, const nh_choice *choice, nh_report *report);
/* What it preserves, in the bits of nh_choice_keeps. */
NH_API unsigned nh_composition_keeps(const char *name, const nh_choice *choice);
/* Whether the text is a list of different methods. */
NH_API bool nh_composition_is_list(const char *text);

/* ---- runs -------------------------------------------------------------------------------- */

typedef struct nh_run nh_run;
typedef enum nh_backend { NH_BACKEND_AUTO, NH_BACKEND_TAPE, NH_BACKEND_COMPILED } nh_backend;

typedef enum nh_switch { NH_AS_ADVISED, NH_ON, NH_OFF } nh_switch;

/* An event of a run: a change of sign of one of the model's functions, located to round-off. */
typedef struct nh_event {
    int event; /* its index in the system; your own event functions follow */
    const char *name;
    int direction; /* 1: the function rises, -1: it falls */
    int member;
    double t;
    const double *q, *v;     /* the state there, with full revolutions of the angles */
    const double *v_after;   /* v after the event's `when`; the same as v without one */
    const double *wrapped_q; /* as in nh_run_wrapped_state */
    const double *inputs;    /* the numbers of the member's inputs, contacts and grips */
} nh_event;

/* An event of your own: a function of time and state whose changes of sign are located like those
 * of a model's events, also for systems given by C functions. q includes full revolutions of the
 * angles. A nonzero return value stops the run. */
typedef struct nh_event_function {
    const char *name; /* for use in `until`, `watch` and `section` */
    int direction;    /* 1: only where it rises, -1: only where it falls, 0: both */
    void *user;
    int (*value)(void *user, double t, const double *q, const double *v, double *value);
} nh_event_function;

/* The choices of a run. nh_run_create needs a step; nh_plan_make, nh_simulation_create and
 * nh_export choose what is left open: if no step is given, the method is one that chooses its own
 * steps, and `steps` is the number of states, at equal intervals of time. */
typedef struct nh_run_options {
    size_t size;         /* see "options" above */
    const char *method;  /* in the syntax of nh_choice_parse; NULL: as advised */
    const char *compose; /* a composition of this symmetric method, or of different methods in place
                            of it; NULL: none */
    double step;         /* > 0; 0, where a plan is made: not given */
    nh_backend backend;  /* auto: starts on the tape and switches to compiled code if that pays */
    /* nh_run_create: the expected number of steps, used only by auto; 0: unknown. Where a plan is
     * made: the number of steps, if a step is given without a time (-1: for the natural length);
     * otherwise the number of states. */
    int64_t steps;
    int members; /* of nh_run_create: trajectories advanced together (in SIMD lanes); 0 means 1 */
    /* compensated summation of the state; by default, used where it costs little */
    nh_switch compensated;
    /* called several times a second while waiting for the compiler; nonzero: stop; may be NULL */
    void *user;
    int (*stop)(void *user);
    /* Supplies the open inputs that have neither a table nor an expression. Called with a member's
     * state at the start and at every sample, which is after each step or at multiples of P with
     * the setting "input-period=P". u has an entry for each of nh_system_inputs; those of open
     * inputs hold the present values, and what is stored there is used until the next sample.
     * Nonzero: stop. NULL: inputs keep their defaults at the start until nh_run_set_inputs changes
     * them. */
    void *inputs_user;
    int (*inputs)(void *user, int member, double t, const double *q, const double *v, double *u);
    /* Events. Those with a `when` act in every run. A member ends at the first event of `until`;
     * the events of `until` and `watch` are passed to `event`. Both are lists of names separated by
     * commas; the name of a family means all of its members. NULL: none. */
    const char *until, *watch;
    bool watch_all; /* all events of the model */
    /* Called for each event, in the order of time for each member; nonzero: the member ends there.
     * May be NULL. The arrays are valid during the call. */
    int (*event)(void *user, const nh_event *event);
    /* Events of your own, which are always detected. Their indices follow those of the model's
     * events. The array is copied; the strings must outlive the run. */
    const nh_event_function *event_functions;
    int event_function_count;
    /* What nh_plan_make, nh_simulation_create and nh_export also need; nh_run_create refuses it. */
    double time;      /* length of the run; 0: not given. A simulation ends exactly then, with a
                         shorter last step if necessary */
    int64_t every;    /* steps 0, every, 2 every, ... and the last are recorded; 0: as advised */
    double tolerance; /* of a method that chooses its own steps; 0: 1e-9, if no step is given */
    double absolute;  /* for components near zero; 0: the tolerance */
    double t0;        /* time and state of the start; q = NULL: that of the model */
    const double *q, *v;
} nh_run_options;
NH_OPTIONS_DEFAULT(nh_run_options)

/* A stepper: a run that is advanced from your own loop. It keeps the inputs and states of all
 * members in arrays that do not move. Set inputs in nh_stepper_inputs, step, read the states:
 *
 *     u[0] = -k * q[1];
 *     nh_stepper_step(stepper, 1, NULL);
 *
 * Entries of inputs that are not open, or that have a table or an expression, are ignored. */
typedef struct nh_stepper nh_stepper;
NH_API nh_status nh_stepper_create(nh_stepper **out, const nh_system *system,
                                   const nh_run_options *options, nh_report *report);
NH_API void nh_stepper_free(nh_stepper *stepper);
/* Sets the state of a member; all need one before the first step. If one of several members is
 * started again later, it continues at the time of the others. */
NH_API nh_status nh_stepper_start(nh_stepper *stepper, int member, double t, const double *q,
                                  const double *v, nh_report *report);
NH_API nh_status nh_stepper_step(nh_stepper *stepper, int64_t steps, nh_report *report);
NH_API double *nh_stepper_inputs(nh_stepper *stepper);        /* [members][inputs] */
NH_API const double *nh_stepper_q(const nh_stepper *stepper); /* [members][coordinates] */
NH_API const double *nh_stepper_v(const nh_stepper *stepper); /* [members][velocities] */
NH_API const double *nh_stepper_time(const nh_stepper *stepper);
NH_API nh_run *nh_stepper_run(nh_stepper *stepper); /* for its backend, remarks and seconds */

typedef struct nh_plan {
    char method[512]; /* with its options */
    double step;      /* `steps` steps of this size, then a shorter one if `rest` > 0 */
    int64_t steps;
    double rest;
    double tolerance;      /* 0: the steps are those of the run */
    bool advised, natural; /* the method and the time were chosen */
    double pace;        /* the method's option: its own steps adapt to the motion; 0: they do not */
    bool step_advised;  /* the step was chosen, for a method with a fixed step */
    const char *reason; /* why the method was advised, in a phrase; NULL: it was given */
} nh_plan;
/* Chooses what the options leave open. NH_BAD_ARGUMENT for negative values and for a tolerance
 * given to a method that has none; NH_NOT_APPLICABLE if no method applies. If no time is given, it
 * is the model's span or, without one, estimated from short runs. */
NH_API nh_status nh_plan_make(nh_plan *out, const nh_system *system, const nh_run_options *options,
                              nh_report *report);

/* A trajectory of quadruple precision: all numbers have 113 bits, about 34 digits, from the
 * expressions of the model and the coefficients of the method to the state. Every `double` of the
 * options stands for its shortest decimal: a step of 0.1 is a tenth. Without a step the method is
 * "reference" with a tolerance of 1e-28. `start`: how the start is found; NULL: as the options say
 * (t0, q, v). Contacts, events that change the state, compositions and inputs that change are
 * refused, and so are systems of C functions. NH_NOT_APPLICABLE also where libquadmath is missing.
 */
typedef struct nh_precise_run nh_precise_run;
NH_API nh_status nh_precise_run_create(nh_precise_run **out, const nh_system *system,
                                       const nh_run_options *options, const nh_start_options *start,
                                       nh_report *report);
NH_API void nh_precise_run_free(nh_precise_run *run);
/* At most `steps` steps; the shorter last one of the plan, if there is one, is a call of its own.
 */
NH_API nh_status nh_precise_run_advance(nh_precise_run *run, int64_t steps, nh_report *report);
NH_API bool nh_precise_run_is_over(const nh_precise_run *run);
NH_API const nh_plan *nh_precise_run_plan(const nh_precise_run *run);
/* Steps of the run so far; those of a method that chooses its own (NULL: not wanted). */
NH_API int64_t nh_precise_run_steps(const nh_precise_run *run, int64_t *accepted,
                                    int64_t *rejected);
/* The present state in columns: t, coordinates, velocities, energy, observables. As a decimal that
 * reads back as the same number, valid until the next call. */
NH_API int nh_precise_run_columns(const nh_precise_run *run);
NH_API const char *nh_precise_run_column_name(const nh_precise_run *run, int column);
NH_API const char *nh_precise_run_text(nh_precise_run *run, int column);
/* The largest in the states after each call of nh_precise_run_advance. */
NH_API double nh_precise_run_energy_error(const nh_precise_run *run);
NH_API double nh_precise_run_constraint_max(const nh_precise_run *run);
NH_API double nh_precise_run_seconds(const nh_precise_run *run); /* of the processor, stepping */

/* Allocates all memory that the run needs. The only exception is NH_BACKEND_AUTO: a long run starts
 * the C compiler in the background and loads the compiled code (a failure of the compiler is a
 * remark in this case, see nh_run_remarks, not an error). The system must outlive the run. */
NH_API nh_status nh_run_create(nh_run **out, const nh_system *system, const nh_run_options *options,
                               nh_report *report);
NH_API void nh_run_free(nh_run *run);
/* Sets the open inputs of a member for the steps to come; `value` has an entry for each of
 * nh_system_inputs; entries of inputs given otherwise are ignored. If an input occurs in a
 * constraint on velocities, the velocities may jump, as if by an impulse of the constraint. */
NH_API nh_status nh_run_set_inputs(nh_run *run, int member, const double *value, nh_report *report);
/* The present values of all inputs of a member. */
NH_API nh_status nh_run_get_inputs(const nh_run *run, int member, double *value, nh_report *report);
/* Methods with a tolerance choose steps of their own within those of the run: how many a member has
 * taken and how many were rejected. Other methods take the steps of the run. */
NH_API void nh_run_own_steps(const nh_run *run, int member, int64_t *accepted, int64_t *rejected);
/* Takes one step of a different length, which nh_run_steps does not count. Later steps continue
 * from its end. */
NH_API nh_status nh_run_advance_by(nh_run *run, double length, nh_report *report);
/* The backend in use. With NH_BACKEND_AUTO it is the tape at first. While the run advances it can
 * become the compiled kernel, which is compared with the tape for a few milliseconds. */
NH_API nh_backend nh_run_backend(const nh_run *run);

/* Sets the state of one member; fails with NH_BAD_START if it violates the constraints. */
NH_API nh_status nh_run_start(nh_run *run, int member, double t, const double *q, const double *v,
                              nh_report *report);

/* Advances every member. After a failure every member is at the last step that all members
 * completed, whose number nh_run_steps returns. */
NH_API nh_status nh_run_advance(nh_run *run, int64_t steps, nh_report *report);
NH_API int64_t nh_run_steps(const nh_run *run);
NH_API double nh_run_seconds(const nh_run *run); /* of the processor, spent stepping */

/* The event that ended a member, and its time; -1 if none did. The member stays in the state of the
 * event. A run whose members have all ended does not advance any further. */
NH_API int nh_run_ended(const nh_run *run, int member, double *t);
/* How often an event has happened to a member. Only events that the run detects are counted. */
NH_API int64_t nh_run_event_count(const nh_run *run, int member, int event);
/* The mode of a contact or grip of a member that was started: 1 closed or held, 0 open or slipping,
 * -1 free. */
NH_API int nh_run_mode(const nh_run *run, int member, int item);
/* How often a grip has slipped or a contact has been open since the start, and for how long. */
NH_API int64_t nh_run_away(const nh_run *run, int member, int item, double *time);
/* The name of an event, including your own event functions; NULL past the end. */
NH_API const char *nh_run_event_name(const nh_run *run, int event);

NH_API int nh_run_remarks(const nh_run *run); /* see nh_system_remarks */
NH_API const char *nh_run_remark(const nh_run *run, int index);

/* Advances a run of one member by rows * every steps and stores the state after every `every`
 * steps, at little more than the cost of the steps: table[rows][1 + coordinates + velocities]
 * receives t, q, v as in nh_run_state, and wrapped[rows][coordinates], unless it is NULL, receives
 * q as in nh_run_wrapped_state. `done` receives the number of rows stored, which is less than
 * `rows` after a failure. */
NH_API nh_status nh_run_trace(nh_run *run, int64_t rows, int64_t every, double *table,
                              double *wrapped, int64_t *done, nh_report *report);

/* The state with q including full revolutions of the angles. */
NH_API void nh_run_state(const nh_run *run, int member, double *t, double *q, double *v);
/* The state with angles between -3.5 and 3.5, the form in which the run computes: functions of q
 * remain accurate to round-off however many revolutions an angle has made. */
NH_API void nh_run_wrapped_state(const nh_run *run, int member, double *t, double *q, double *v);

/* ---- derivatives of a run ------------------------------------------------------------------ */

/* The derivatives of a run's states by its start, by parameters of the model and by inputs: of what
 * the run computes, not of the equations, so that they agree with differences of the program to
 * round-off. A run has any number of directions; in each, the derivative of the present state is
 * known after every step. The steps themselves keep their bits.
 *
 *     nh_run_create(&run, system, &options, report);
 *     nh_run_start(run, 0, t, q, v, report);
 *     nh_run_tangents(run, 2, true, report);
 *     nh_run_set_tangent(run, 0, 0, &(nh_direction){.v = dv}, report);
 *     nh_run_set_tangent(run, 0, 1, &(nh_direction){.parameters = dp}, report);
 *     nh_run_advance(run, 1000, report);
 *     nh_run_tangent(run, 0, 0, NULL, q_by_start, v_by_start);
 *
 * Changes of positions are nh_system_directions numbers: a rotation has three, along its axes in
 * the body, dR = R [d]x, in place of its four coordinates. Changes of velocities are as in a state.
 * They have to satisfy the constraints, as the state does. Steps that a method chooses by a
 * tolerance are frozen. */
typedef struct nh_direction { /* NULL: zero */
    const double *q, *v;      /* of the state; [nh_system_directions], [velocities] */
    const double *parameters; /* [nh_system_parameters], in the equations from now on */
    const double *inputs;     /* of open inputs from now on: their numbers in nh_problem order */
} nh_direction;

NH_API int nh_system_directions(const nh_system *system);
/* Gives a run derivatives in so many directions, all of them zero, in place of those that it has.
 * `parameters`: some will be by parameters, which takes longer to prepare. */
NH_API nh_status nh_run_tangents(nh_run *run, int directions, bool parameters, nh_report *report);
/* Sets a direction at the present state; nh_run_start sets all of a member to zero. */
NH_API nh_status nh_run_set_tangent(nh_run *run, int member, int direction, const nh_direction *to,
                                    nh_report *report);
/* The derivative of the present state, as changes q[nh_system_directions] and v[velocities]; *t is
 * that of its time, which is not zero only where an event ended the member. Any may be NULL. */
NH_API void nh_run_tangent(const nh_run *run, int member, int direction, double *t, double *q,
                           double *v);
/* The derivative of the energy, followed by those of the observables. */
NH_API nh_status nh_run_observe_tangent(const nh_run *run, int member, int direction,
                                        double *observed, nh_report *report);

/* What a run is differentiated by, with names as in `nonholo run --sensitivity`, separated by
 * commas: a parameter "J"; a start value "start x", "start x'"; "start R" for a rotation, which has
 * three directions R.1 to R.3 along its body axes; an input that is given by a table, "push", with
 * a direction for each of its values, push[0] and so on, or one of them, "push[3]". Stars stand for
 * any letters ("m*", "start *"), "all" for everything. Patterns leave out what cannot be varied; a
 * name that cannot be is NH_BAD_ARGUMENT, with the reason.
 *
 * Start expressions follow the parameters, and parameters those in terms of which they are defined,
 * as with settings; start values that are given stay. If constraints determine a start value
 * together with others, those named by the model's `start solve` change with it, otherwise the
 * state moves to the nearest one that satisfies the constraints, as nh_projection does with this
 * value kept. */
typedef struct nh_sensitivity nh_sensitivity;
typedef enum nh_varied_kind {
    NH_BY_PARAMETER,
    NH_BY_POSITION, /* of the start */
    NH_BY_VELOCITY,
    NH_BY_INPUT
} nh_varied_kind;
typedef struct nh_varied {
    const char *name; /* "J", "start x'", "start R.1", "push[3]" */
    nh_varied_kind kind;
    int index;     /* of the parameter; of the change as nh_system_directions counts, or of the
                      velocity; of the input */
    int64_t point; /* of the input's table */
    double value;  /* at present; NAN for a rotation, which has no number to be changed */
} nh_varied;

/* `start` is how the start of the runs is found; NULL: as the model says. */
NH_API nh_status nh_sensitivity_create(nh_sensitivity **out, const nh_system *system,
                                       const char *names, const nh_start_options *start,
                                       nh_report *report);
NH_API void nh_sensitivity_free(nh_sensitivity *sensitivity);
NH_API int nh_sensitivity_variables(const nh_sensitivity *sensitivity);
NH_API const nh_varied *nh_sensitivity_variable(const nh_sensitivity *sensitivity, int index);
NH_API int nh_sensitivity_outputs(const nh_sensitivity *sensitivity);
NH_API const char *nh_sensitivity_output_name(const nh_sensitivity *sensitivity, int index);

/* The map of a number of steps, with products of its derivative: what programs that optimise or
 * learn need of it. A change of the state is as in nh_direction, with three numbers for a rotation;
 * states and their changes have to satisfy the constraints. Inputs are constant during the steps.
 * `parameters` are names as for nh_sensitivity_create, of parameters only; NULL: none. In options,
 * the length of a step, the method and how its steps are computed count. Here the step may be
 * negative: then time goes backwards. */
typedef struct nh_map nh_map;
NH_API nh_status nh_map_create(nh_map **out, const nh_system *system, const nh_run_options *options,
                               const char *parameters, nh_report *report);
NH_API void nh_map_free(nh_map *map);
NH_API int nh_map_parameters(const nh_map *map);
NH_API const char *nh_map_parameter(const nh_map *map, int index);
/* From a state and inputs (an entry for each of nh_system_inputs; NULL: their defaults) to the
 * state after some steps; q1, v1 may be NULL. */
NH_API nh_status nh_map_apply(nh_map *map, double t, const double *q, const double *v,
                              const double *inputs, int64_t steps, double *q1, double *v1,
                              nh_report *report);
/* At the state of the last nh_map_apply: how the end changes with changes in `count` directions,
 * each an array [count][..] or NULL (zero); and how a sum of changes of the end, weighted with q
 * and v, changes with everything, each of which may be NULL. By inputs: those of nh_system_inputs
 * that are open. */
NH_API nh_status nh_map_forward(nh_map *map, int count, const double *q, const double *v,
                                const double *inputs, const double *parameters, double *q1,
                                double *v1, nh_report *report);
NH_API nh_status nh_map_backward(nh_map *map, const double *q1, const double *v1, double *q,
                                 double *v, double *inputs, double *parameters, nh_report *report);

/* ---- solutions --------------------------------------------------------------------------- */

/* The motion of a run of one member as a function of time, from the run's present state to wherever
 * it is advanced. The run stores a state now and then, at almost no cost. The state at a requested
 * time is computed from the last stored state before it: by the steps that the run took, with the
 * same bits, and then a shorter step of the method that ends at that time (methods that choose
 * their own steps interpolate). It therefore has the order of the method and satisfies the
 * constraints as the run's states do. After nh_run_start and nh_run_restore the solution begins
 * anew. It may be evaluated while the run is being advanced and after the run has been freed; the
 * system must outlive it. */
typedef struct nh_solution nh_solution;
NH_API nh_status nh_solution_create(nh_solution **out, nh_run *run, nh_report *report);
NH_API void nh_solution_free(nh_solution *solution);
/* The interval of time in which the solution is known; NaN if it is empty. */
NH_API void nh_solution_range(const nh_solution *solution, double *from, double *to);
/* The states at `count` times in any order: q[count][coordinates] and v[count][velocities] as in
 * nh_run_state; either may be NULL. Where velocities jump, they are those after the jump.
 * NH_BAD_ARGUMENT for a time outside the range. */
NH_API nh_status nh_solution_states(nh_solution *solution, int64_t count, const double *t,
                                    double *q, double *v, nh_report *report);

/* ---- export ------------------------------------------------------------------------------ */

/* A system as a program or as equations, for use without this library. */
typedef struct nh_export_options {
    size_t size;        /* see "options" above */
    const char *format; /* one of nh_export_format; NULL: "c" */
    const char *name;   /* prefix of public names; NULL: from the name of the file or the model */
    /* For programs that take steps; NULL: as advised. Without a step it is a thousandth of the time
     * that nh_plan_make proposes. */
    const nh_run_options *run;
    bool single;   /* a C program in single precision */
    bool excerpt;  /* LaTeX: only Lagrangian, constraints and equations of motion, for pasting */
    int fmi;       /* version of an FMU: 2 or 3; 0: 3 */
    bool settable; /* parameters of a C program can be set while it runs */
    bool jacobian; /* a C program has the derivatives of its accelerations */
} nh_export_options;
NH_OPTIONS_DEFAULT(nh_export_options)

NH_API int nh_export_formats(void);
NH_API const char *nh_export_format(int index);
/* Writes the file (NAME.c and NAME.h for C), which appears complete or not at all; "-" is standard
 * output, for texts. If report->text is not empty after NH_OK, it is a remark, such as that an FMU
 * was written without a binary because there is no C compiler. */
NH_API nh_status nh_export(const nh_system *system, const nh_export_options *options,
                           const char *path, nh_report *report);
/* The same as text, to be freed by nh_bytes_free; for C, the header followed by the program. */
NH_API nh_status nh_export_text(char **out, const nh_system *system,
                                const nh_export_options *options, nh_report *report);

/* ---- compiled kernels -------------------------------------------------------------------- */

/* Compiled kernels are cached on disk. When they exceed the limit (256 MB, or NONHOLO_CACHE_MB in
 * the environment), the least recently used ones are removed. */
typedef struct nh_cache {
    char folder[4096];
    int64_t kernels, bytes, limit; /* the limit in bytes */
} nh_cache;
NH_API nh_status nh_cache_look(nh_cache *out, nh_report *report);
/* Removes all kernels; `out` receives what was removed. */
NH_API nh_status nh_cache_clear(nh_cache *out, nh_report *report);

/* ---- checkpoints ------------------------------------------------------------------------- */

/* The complete state of a run as bytes: the states with their compensation terms, the revolutions
 * of the angles, what methods store between steps, and an identification of the run. A run created
 * with the same options continues from it bit for bit; restoring into a run of another model,
 * method, step or version fails, with the reason. Free `bytes` with nh_bytes_free. */
NH_API nh_status nh_run_save(const nh_run *run, void **bytes, size_t *size, nh_report *report);
NH_API nh_status nh_run_restore(nh_run *run, const void *bytes, size_t size, nh_report *report);
NH_API void nh_bytes_free(void *bytes);

/* A checkpoint file holds several such pieces, whose integrity is verified on reading. It is
 * written to FILE.part and then renamed, so the old file exists until the new one is complete. */
typedef struct nh_piece {
    void *bytes;
    size_t size;
} nh_piece;
enum { NH_PIECES_MAX = 8 };
NH_API nh_status nh_checkpoint_write(const char *path, const nh_piece *piece, int pieces,
                                     nh_report *report);
/* Reads up to NH_PIECES_MAX pieces; free each with nh_bytes_free. */
NH_API nh_status nh_checkpoint_read(const char *path, nh_piece *piece, int *pieces,
                                    nh_report *report);

/* A lock on a file that this process is going to write, once or repeatedly. Fails at once with
 * NH_FILE_FAILED if `path` cannot be written, or if another process holds the lock; the message
 * names it. The lock is advisory: nonholo takes it for the files of nh_archive and nh_simulation,
 * and `nonholo ensemble` for its own; other programs ignore it. It ends with nh_lock_release or
 * with the process. Devices and pipes are not locked: `out` is then NULL. */
typedef struct nh_lock nh_lock;
NH_API nh_status nh_lock_take(nh_lock **out, const char *path, nh_report *report);
NH_API void nh_lock_release(nh_lock *lock); /* may be NULL */

/* ---- rows of members ------------------------------------------------------------------------ */

/* Several consecutive members at several consecutive recorded times. Rows of a member that failed
 * are NaN. */
typedef struct nh_rows {
    int64_t first_member, first_record;
    int64_t members, records;
    int columns;
    const double *value;       /* [members][records][columns] */
    const double *q, *v;       /* [members][records][coordinates or velocities] */
    const double *multipliers; /* [members][records][constraints], of the continuous equations */
} nh_rows;

/* The outcome of one member. */
typedef struct nh_member {
    int64_t member, combination;                              /* index of the swept values */
    nh_status status;                                         /* NH_OK, or why it failed */
    int64_t steps;                                            /* completed */
    double t, first_energy, energy_error_max, constraint_max; /* maxima over recorded times */
    const double *q, *v;                                      /* the final state */
    int event; /* that ended it, see `until` of nh_run_options; -1: none */
} nh_member;

/* Statistics over the members that reached a recorded time. The sums are exact, so the result does
 * not depend on the order of the members. */
typedef struct nh_statistic {
    int64_t count;
    double mean, variance, least, greatest; /* variance: about the mean, divided by count */
} nh_statistic;

/* ---- output ------------------------------------------------------------------------------ */

/* A recorded trajectory: a table with the columns t, coordinates, velocities, energy, observables.
 * It belongs to a simulation. */
typedef struct nh_record nh_record;
NH_API int64_t nh_record_rows(const nh_record *record);
NH_API int nh_record_columns(const nh_record *record);
NH_API const char *nh_record_column_name(const nh_record *record, int column);
NH_API double nh_record_value(const nh_record *record, int64_t row, int column);
NH_API double nh_record_energy_error(const nh_record *record);   /* largest |E - E0| */
NH_API double nh_record_constraint_max(const nh_record *record); /* largest |k| of all */

/* All rows in memory, `stride` numbers apart: the columns, then the largest |k|. The pointer is
 * valid until a row is added. nh_record_kept returns the number of rows: if rows are not kept,
 * there is only the last one. */
NH_API int64_t nh_record_kept(const nh_record *record);
NH_API const double *nh_record_table(const nh_record *record, int *stride);

/* The Lagrange multipliers of the continuous equations of motion at each row that is kept:
 * multipliers[nh_record_kept][constraints]. */
NH_API nh_status nh_record_multipliers(const nh_record *record, double *multipliers,
                                       nh_report *report);

/* Writes the record to a file whose format the extension of `path` selects (.csv). The file is
 * written under a temporary name in the same directory and then renamed. */
NH_API nh_status nh_record_write(const nh_record *record, const char *path, nh_report *report);

/* A file of trajectories, written while they are computed, so that only one block is in memory at a
 * time. The extension selects the format:
 *
 * - .h5, .nc: HDF5 that follows the NetCDF-4 conventions: q(member, time, coordinate), v(member,
 * time, velocity), multiplier(member, time, constraint), the columns (member, time), labelled axes,
 * and attributes that record how the numbers were computed. The file has its final name and size
 * from the beginning: a process that is killed leaves a readable file, in which records(member) is
 * the number of valid rows and the remaining rows are NaN.
 * - .csv, .npy: a table of one trajectory with t, coordinates, velocities and columns; in .npy an
 * array with named fields. The file gets its final name when it is complete.
 * - .npz: named arrays of one trajectory for numpy.load: t, q, v, multipliers, the columns, and the
 * names in coordinates, velocities and constraints. It is created at the end from the rows, which
 * are kept in a temporary file in the same directory until then. */
typedef struct nh_archive nh_archive;

typedef struct nh_archive_plan {
    size_t size; /* see "options" above */
    const nh_system *system;
    const char *model_text; /* stored in the file; NULL: none */
    const char *method, *compose;
    double step, t0;
    int64_t steps, every; /* steps 0, every, 2 every, ... and the last are recorded */
    int64_t members;      /* 0 means 1; more than 1 only in HDF5 */
    bool random;          /* `seed` is that of random starts */
    uint64_t seed;
    const char *const *column; /* names of the additional values in each row */
    int columns;
    bool multipliers;
    bool statistics; /* reserve space for nh_archive_statistics */
    /* Swept parameters, HDF5 only: their names, and values[members][swept]. */
    const char *const *swept_name;
    int swept;
    bool resumable;   /* keep the incomplete file, FILE.part, if the process ends early */
    int64_t position; /* with `resume`: where the rows of a checkpoint end */
    bool resume;      /* continue the existing file */
    uint64_t mark;    /* with `resume`: if not 0, the mark that the file must have */
    /* Ensembles. `shared`: the file exists already; another process of the same ensemble created it
     * and holds its lock. A part has `members` members from `first_member` on, and the `identity`
     * of the ensemble (of model, parameters, method, steps, starts and version), by which
     * nh_archive_join recognises it. */
    bool shared;
    int part, parts; /* 0, 0 or 1, 1: not a part */
    int64_t first_member;
    const char *identity;
} nh_archive_plan;
NH_OPTIONS_DEFAULT(nh_archive_plan)

/* The system and the strings must outlive the archive; the arrays of names need not. */
NH_API nh_status nh_archive_create(nh_archive **out, const char *path, const nh_archive_plan *plan,
                                   nh_report *report);
/* Checks before a long computation whether `path` can be written. */
NH_API nh_status nh_archive_can_write(const char *path, int64_t members, nh_report *report);

/* Writes the next row of a single trajectory. */
NH_API nh_status nh_archive_row(nh_archive *archive, double t, const double *q, const double *v,
                                const double *values, const double *multipliers, nh_report *report);
/* Writes the next rows of a single trajectory without columns and multipliers from a table of
 * nh_run_trace. */
NH_API nh_status nh_archive_trace(nh_archive *archive, const double *table, int64_t rows,
                                  nh_report *report);

/* Completes the file with the rows written so far (HDF5 is truncated to them). Frees the archive in
 * any case. */
NH_API nh_status nh_archive_close(nh_archive *archive, nh_report *report);
/* Frees the archive without completing the file. A resumable file is kept so that it can be
 * continued; any other file is deleted. */
NH_API void nh_archive_leave(nh_archive *archive);

/* Joins the parts of an ensemble, HDF5 files in any order, into one file with the same bytes that a
 * single process would write. With `refer`, the file is a virtual one that refers to the parts, and
 * nothing is copied. If a part is missing, repeated or of another ensemble, the call fails with a
 * message that names it. */
typedef struct nh_join_options {
    size_t size; /* see "options" above */
    bool refer;  /* the parts stay where they are and are needed to read the file */
    void *user;
    int (*progress)(void *user, int64_t members, int64_t all); /* nonzero stops */
} nh_join_options;
NH_OPTIONS_DEFAULT(nh_join_options)
typedef struct nh_joined {
    int64_t members, failed;
    int parts;
} nh_joined;
NH_API nh_status nh_archive_join(const char *path, const char *const *parts, int count,
                                 const nh_join_options *options, nh_joined *joined,
                                 nh_report *report);

/* An arbitrary table of numbers, written row by row, so that only one block is in memory at a time.
 * The file gets its final name when the table is committed. nh_record_can_write checks whether
 * `path` can be written. */
typedef struct nh_table nh_table;
NH_API nh_status nh_table_create(nh_table **out, const char *path, const char *const *names,
                                 int columns, nh_report *report);
NH_API void nh_table_add_texts(nh_table *table, const char *const *row); /* as they are */
NH_API void nh_table_add(nh_table *table, const double *row); /* nh_table_commit reports failures */
NH_API nh_status nh_table_commit(nh_table *table, nh_report *report); /* always frees the table */
NH_API void nh_table_abandon(nh_table *table);

/* How a picture, a page or a film is drawn; what is zero or NULL is chosen to suit it. Pixels are
 * 1/96 of an inch. Pictures measured in millimetres are for papers: letters have their height in
 * points whatever the width, and panels are beside each other as far as there is room. */
typedef struct nh_picture {
    size_t size;          /* see "options" */
    const char *title;    /* NULL or "": none */
    double width, height; /* of the whole picture */
    bool millimetres;     /* width and height are in millimetres */
    double font;          /* in points: 10, in files for papers (.pdf, .eps, .tex) 8 */
    /* Films, and in pages the camera and the speed. */
    double rate;              /* pictures a second */
    double speed;             /* units of time of the model in a second */
    double azimuth, altitude; /* of the camera, in degrees, if `looks` */
    double zoom;
    bool looks;
    const char *caption; /* below the picture; {t} stands for the time */
} nh_picture;
NH_OPTIONS_DEFAULT(nh_picture)

/* Whether such a picture can be drawn into a file of this kind: NH_BAD_ARGUMENT says what does not
 * suit it. */
NH_API nh_status nh_picture_fits(const nh_picture *picture, const char *path, nh_report *report);

/* Draws a recorded trajectory; the extension selects the format: .svg, .png, .pdf, .eps, .tex (for
 * pgfplots), .html, and of models that can be drawn the films .gif, .mp4 and .webm. nh_record_plot
 * is the same with nothing but a title. */
NH_API nh_status nh_record_draw(const nh_record *record, const char *path,
                                const nh_picture *picture, nh_report *report);
NH_API nh_status nh_record_plot(const nh_record *record, const char *path, const char *title,
                                nh_report *report);

/* Checks before a long computation whether the file or plot of a record can be written to `path`:
 * NH_BAD_ARGUMENT for an unknown extension, NH_FILE_FAILED if the path is not writable or gnuplot
 * is missing. */
NH_API nh_status nh_record_can_write(const char *path, nh_report *report);
NH_API nh_status nh_record_can_plot(const char *path, nh_report *report);

/* ---- sampling and simulations ------------------------------------------------------------ */

/* States of one member of a run, `every` steps apart. */
typedef struct nh_samples {
    int member;
    int64_t count;
    int64_t step, every;   /* the first sample is the state after `step` steps */
    const double *row;     /* [count][1 + coordinates + velocities]: t, q, v as in nh_run_state */
    const double *wrapped; /* [count][coordinates]: q as in nh_run_wrapped_state */
    const double *before;  /* rows of the states one step earlier, or NULL */
    const double *wrapped_before;
    const double *inputs; /* values of open inputs for nh_record_add, or NULL */
} nh_samples;

typedef struct nh_sample_options {
    size_t size;    /* see "options" above */
    int64_t steps;  /* number of steps to advance */
    int64_t every;  /* steps from one sample to the next; 0 means 1 */
    int64_t origin; /* samples are taken after origin + i*every steps of the run, and at the end */
    bool first;     /* the current state is a sample too */
    bool look_back; /* with each sample but the current state, pass the state one step before */
    void *user;
    /* Receives samples; those of one member arrive in order. A status other than NH_OK stops the
     * run. */
    nh_status (*samples)(void *user, const nh_samples *samples, nh_report *report);
    /* Called periodically (about 20 times a second, or more often) with the value of nh_run_steps;
     * may be NULL. A nonzero return value stops the run. */
    int (*pause)(void *user, int64_t steps);
} nh_sample_options;
NH_OPTIONS_DEFAULT(nh_sample_options)

/* Advances a run and passes its states to `samples` in blocks, at little more than the cost of the
 * steps if the run has one member. All samples before a failure are passed on. Returns NH_OK also
 * if `pause` stopped the run: nh_run_steps returns the number of steps completed. */
NH_API nh_status nh_run_sample(nh_run *run, const nh_sample_options *options, nh_report *report);

/* A simulation: one trajectory or many, from start to end, measured, recorded, and written to a
 * file while they are computed, with checkpoints from which another process continues bit for bit.
 * This is what `nonholo run` and `nonholo ensemble` do.
 *
 * One trajectory has a record, events, inputs and a solution. Many are an ensemble: a set of start
 * states for each combination of swept parameters, advanced in parallel in SIMD lanes and threads
 * and measured at recorded times. The results are the same for any number of threads, and those of
 * a member do not depend on the other members. A member that fails is reported and excluded from
 * later measurements; the others continue. */
typedef struct nh_simulation nh_simulation;

typedef enum nh_keep {
    NH_KEEP_ADVISED, /* one trajectory: all rows, unless a file or checkpoints are written; of an
                        ensemble, none */
    NH_KEEP_ROWS,
    NH_KEEP_LAST_ROW /* of every member */
} nh_keep;

typedef struct nh_sweep {  /* `count` values from `from` to `to`, both included */
    const char *parameter; /* or, for an ensemble, a start value: x or x' */
    double from, to;
    int64_t count;
} nh_sweep;

/* How a parameter or a start value differs from member to member. What is drawn depends only on the
 * seed, the name, and the number of the member's start. */
typedef enum nh_distribution {
    NH_LISTED,    /* values[members] */
    NH_NORMAL,    /* mean `first`, standard deviation `second` */
    NH_UNIFORM,   /* between `first` and `second` */
    NH_LOGUNIFORM /* the same for the logarithm; both are positive */
} nh_distribution;
typedef struct nh_variation {
    const char *name;
    nh_distribution distribution;
    double first, second;
    const double *values;
} nh_variation;

/* Reads "NAME=normal(mean, deviation)", "NAME=uniform(from, to)" or "NAME=loguniform(from, to)";
 * the name is stored in `name`, which has room for `size` bytes. */
NH_API nh_status nh_variation_read(nh_variation *out, char *name, size_t size, const char *text,
                                   nh_report *report);

typedef enum nh_starts {
    NH_STARTS_MODEL,  /* the model's start with `start` applied, for each value of a sweep */
    NH_STARTS_RANDOM, /* random states of one energy that satisfy the constraints; they depend on
                         the seed and the number of the start, and are the same for all values of a
                         sweep */
    NH_STARTS_LIST    /* q[members][coordinates], v[members][velocities] of nh_run_options */
} nh_starts;

/* Processes that share an ensemble: they take blocks of members from one counter, write to one file
 * and make checkpoints together; the process of rank 0 gets the results of all. The functions are
 * called by one thread at a time. */
typedef enum nh_counter { /* numbers that every process can read and add to at any time */
                          NH_COUNTER_ITEMS,  /* items of work that were handed out */
                          NH_COUNTER_ROUND,  /* checkpoints that rank 0 called for */
                          NH_COUNTER_STOP,   /* processes that were asked to stop */
                          NH_COUNTER_DONE,   /* processes without work */
                          NH_COUNTER_STEPS,  /* of all processes but rank 0 */
                          NH_COUNTER_FAILED, /* processes whose failure makes all of them end; the
                                                caller adds to it */
                          NH_COUNTER_LEFT,   /* those that have since put their files in order; for
                                                the caller's own use */
                          NH_COUNTERS
} nh_counter;
typedef struct nh_processes {
    int rank, ranks;
    bool agreed; /* set by the library: all processes know that they fail or stop */
    int64_t (*fetch_add)(nh_counter counter, int64_t count); /* returns the previous value */
    /* All wait for each other: the answer of the first one whose answer is not 0, and its rank. */
    int (*agree)(int answer, int *first);
    /* Rank 0 gets the bytes of all, one after another, in memory that it frees, with their sizes in
     * size[ranks]; the others get NULL. NULL on rank 0: out of memory. */
    void *(*gather)(const void *bytes, size_t size, size_t *sizes);
    /* The bytes of rank 0 to all, in memory that every process except rank 0 frees. */
    void *(*broadcast)(void *bytes, size_t *size);
} nh_processes;

typedef struct nh_simulation_options {
    size_t size; /* see "options" above */
    /* NULL: all as advised. Its `stop` is also called periodically while the simulation advances.
     * One trajectory: all events of the model are detected, and it ends at the first event of
     * `until`. An ensemble takes whole steps. */
    const nh_run_options *run;
    nh_keep keep;           /* which rows stay in memory */
    const char *output;     /* output file, see nh_archive_create; NULL: none */
    const char *model_text; /* stored in the file; NULL: none, or that of `model` */
    /* The file for checkpoints, and the checkpoint to continue from; either may be NULL. */
    const char *checkpoint, *resume;
    double checkpoint_seconds; /* time from one checkpoint to the next or, if it is 0, */
    int64_t checkpoint_steps;  /* the number of steps; both 0: one minute */
    double pause; /* nh_simulation_advance returns after about this many seconds, to be called
                     again; 0: only at the end */
    /* Called one at a time but, for an ensemble, from any thread; each may be NULL. A nonzero
     * return value is a failure, NH_CALLBACK_STOPPED. */
    void *user;
    void (*progress)(void *user, int64_t done, int64_t steps); /* periodically; of all members */

    /* One trajectory. */
    double lead;         /* time from t0 to the first recorded state; 0: record the start */
    const char *section; /* only the states at events of this name are recorded */
    bool solution;       /* keep the data for nh_simulation_solution */
    /* Names of quantities (nh_system_quantities in nonholo_analysis.h), separated by commas, which
     * become further columns; NULL: none. Those of two states one step apart need a fixed step, and
     * are NaN where no whole step came before: at the start and after a shorter last step. */
    const char *observe;

    /* An ensemble, if there are members or sweeps. The members have the given system or, if there
     * is a model, one that is built from it with settings as for nh_system_build; the system then
     * serves the plan only and may be NULL. C functions are called from several threads. */
    int64_t members; /* starts for each combination of swept values */
    const nh_model *model;
    const char *const *settings;
    size_t setting_count;
    const nh_sweep *sweep; /* the first varies slowest */
    int sweeps;
    nh_starts starts;
    const char *start;
    bool fixed_energy; /* random starts have `energy`, otherwise that of the model's start state */
    double energy;
    uint64_t seed;
    bool around_start; /* random starts around the model's start coordinates, not the origin */
    bool project;      /* project starts of the model or the list onto the constraints ... */
    const char *fixed, *solve; /* ... as nh_projection's keep and solve */
    int threads;               /* 0: one for each processor available to this process */
    int part, parts; /* compute part `part` of `parts`, counted from 1: consecutive members; 0, 0:
                        all of them */
    nh_processes *processes;                      /* that share the ensemble; NULL: only this one */
    int (*rows)(void *user, const nh_rows *rows); /* in any order */
    int (*member)(void *user, const nh_member *member); /* in the order of the members */
    /* Values that differ between the starts of a combination. A member whose parameters vary is a
     * machine of its own: if its system or its start is impossible, it fails and the others
     * continue. Start values that are off the constraints are projected onto them, and varied ones
     * are kept where that is possible. */
    const nh_variation *variation;
    int variations;
    /* Of `section`, which in an ensemble is kept beside the rows: states before this time are left
     * out. A member that ends at an event of `until` keeps that state in its later rows. */
    double section_after;
    /* One trajectory: derivatives of the states, which become columns "d(x)/d(J)" of all rows. The
     * start of the simulation has to be the one for which they were created. */
    const nh_sensitivity *sensitivity;
} nh_simulation_options;
NH_OPTIONS_DEFAULT(nh_simulation_options)

/* Sets the start state or restores the checkpoint, and opens the file. The system, the model and
 * all that the options point to (sweeps, settings, texts) must outlive the simulation. */
NH_API nh_status nh_simulation_create(nh_simulation **out, const nh_system *system,
                                      const nh_simulation_options *options, nh_report *report);
/* Frees the simulation. A file not yet closed by nh_simulation_finish is left in the state in which
 * a killed process would leave it. */
NH_API void nh_simulation_free(nh_simulation *simulation);

/* Advances to the end, to the first failure, or until `stop` or `pause` interrupts it, which
 * returns NH_OK; nh_simulation_arrived tells which. Call it again to continue. A member of an
 * ensemble that fails is not a failure of the simulation, see nh_simulation_failures. If another
 * process failed, the report has no text. */
NH_API nh_status nh_simulation_advance(nh_simulation *simulation, nh_report *report);
NH_API bool nh_simulation_arrived(const nh_simulation *simulation);

/* Closes the file, which then contains the rows computed so far. If the simulation was stopped and
 * has a checkpoint file, a checkpoint is written instead and the file is left for the process
 * that resumes; without one, an ensemble's file is removed. Checkpoints are kept until
 * nh_simulation_remove_checkpoints. */
NH_API nh_status nh_simulation_finish(nh_simulation *simulation, nh_report *report);
/* The simulation is complete: removes the checkpoints that it was resumed from and wrote. */
NH_API void nh_simulation_remove_checkpoints(nh_simulation *simulation);

NH_API const nh_plan *nh_simulation_plan(const nh_simulation *simulation);
NH_API int64_t nh_simulation_every(const nh_simulation *simulation);
NH_API int64_t nh_simulation_steps(const nh_simulation *simulation);      /* done, of all members */
NH_API const char *nh_simulation_output(const nh_simulation *simulation); /* NULL until closed */
NH_API nh_backend nh_simulation_backend(const nh_simulation *simulation);
NH_API double nh_simulation_seconds(const nh_simulation *simulation); /* summed over threads */
NH_API int nh_simulation_remarks(const nh_simulation *simulation);    /* see nh_system_remarks */
NH_API const char *nh_simulation_remark(const nh_simulation *simulation, int index);

/* ---- one trajectory ---- */

/* NULL for an ensemble. */
NH_API const nh_run *nh_simulation_run(const nh_simulation *simulation);
NH_API const nh_record *nh_simulation_record(const nh_simulation *simulation);
/* The motion as a function of time, from the start or from the checkpoint that was resumed. It
 * belongs to the simulation. NULL unless the options ask for it. */
NH_API nh_solution *nh_simulation_solution(const nh_simulation *simulation);

/* The events so far, in order of time. The first million are listed; all are counted. */
typedef struct nh_event_place {
    int event, direction; /* as in nh_event */
    double t;
} nh_event_place;
NH_API int64_t nh_simulation_events(const nh_simulation *simulation);
NH_API const nh_event_place *nh_simulation_event(const nh_simulation *simulation, int64_t index);

/* How the time of an event changes with a variable of the simulation's nh_sensitivity; NAN without
 * one, and for events whose function only touches zero. */
NH_API double nh_simulation_event_moves(const nh_simulation *simulation, int64_t index,
                                        int variable);

/* How good the end state is: its distance from solutions with other steps, see
 * nh_simulation_estimate. */
typedef struct nh_estimate {
    double error;    /* the largest component, relative to the size of its motion over the run (an
                        angle's: at most a revolution); NaN: not estimated */
    int component;   /* which one: an index of q, and beyond q of v; -1: none */
    bool converging; /* the solutions approach each other with the order of the method or nearly
                        so; if not, the error is at least as large as stated */
    double order;    /* the order that they show; NaN: none */
    const double *q, *v; /* the estimated error of each component, in its own unit; NULL without an
                            estimate. They belong to the simulation */
} nh_estimate;

/* Estimates the error at the end of a complete simulation. This runs the simulation again with half
 * and a quarter of the number of steps, and with twice as many if these do not agree; with ten
 * times the tolerance and a tenth of it if the method chooses its own steps. What was recorded does
 * not change. NH_AS_ADVISED: only if this takes less than a second. NH_ON: in any
 * case, and NH_NOT_APPLICABLE if it is impossible, as for a simulation that was resumed. An error
 * of more than a tenth of the motion adds a remark to the run. */
NH_API nh_status nh_simulation_estimate(nh_simulation *simulation, nh_switch when,
                                        nh_estimate *estimate, nh_report *report);

/* ---- ensembles ---- */

/* Members are numbered combination by combination. Those that belong to this part are consecutive.
 */
typedef struct nh_members {
    int64_t all, combinations; /* of swept values */
    int64_t first, own;        /* of this part */
    int threads;
} nh_members;
NH_API nh_members nh_simulation_members(const nh_simulation *simulation);
/* What differs between members, swept values and then variations: how many, their names, and the
 * value of a member. */
NH_API int nh_simulation_values(const nh_simulation *simulation);
NH_API const char *nh_simulation_value_name(const nh_simulation *simulation, int index);
NH_API double nh_simulation_value(const nh_simulation *simulation, int64_t member, int index);
/* The section of an ensemble: member, time, coordinates, velocities and observables at the events,
 * sorted by member and time. */
NH_API int nh_simulation_section_columns(const nh_simulation *simulation);
NH_API const char *nh_simulation_section_column_name(const nh_simulation *simulation, int column);
NH_API int64_t nh_simulation_section_points(const nh_simulation *simulation);
NH_API const double *nh_simulation_section_point(nh_simulation *simulation, int64_t index);

/* Columns: energy, energy_error (E - E0, with E0 at the start of the member), constraint (largest
 * |k|) and observables. */
NH_API int64_t nh_simulation_records(const nh_simulation *simulation);
NH_API double nh_simulation_time(const nh_simulation *simulation, int64_t record);
NH_API int nh_simulation_columns(const nh_simulation *simulation);
NH_API const char *nh_simulation_column_name(const nh_simulation *simulation, int column);

/* The rows that stay in memory: those of the members of this part. They belong to the simulation;
 * what is not known yet is NaN. NULL if none are kept. */
NH_API const nh_rows *nh_simulation_rows(const nh_simulation *simulation);

NH_API nh_statistic nh_simulation_statistic(const nh_simulation *simulation, int64_t record,
                                            int column);
/* Over all members and recorded times. */
NH_API nh_statistic nh_simulation_total(const nh_simulation *simulation, int column);

/* The members that failed, in order; the first hundred have a report. */
NH_API int64_t nh_simulation_failures(const nh_simulation *simulation);
NH_API const nh_report *nh_simulation_failure(const nh_simulation *simulation, int64_t index,
                                              int64_t *member);

/* The results of a part as bytes, and a function that merges them into those of another part of the
 * same ensemble. The merged results are bit-identical to those of a single process. */
NH_API nh_status nh_simulation_result(nh_simulation *simulation, void **bytes, size_t *size,
                                      nh_report *report);
NH_API nh_status nh_simulation_join(nh_simulation *simulation, const void *bytes, size_t size,
                                    nh_report *report);

/* ---- intervals ---- */

/* The number of steps between rows that gives about 10,000 rows, or fewer if there are many
 * columns. */
NH_API int64_t nh_record_spacing(int64_t steps, int columns);

/* Parses an interval: "60s", "10m", "2h" or a number of steps. Sets either `seconds` or `steps` and
 * the other one to 0. */
NH_API nh_status nh_interval_parse(const char *text, double *seconds, int64_t *steps,
                                   nh_report *report);

/* Removes a checkpoint file and any incomplete FILE.part. Does nothing if `path` is NULL. */
NH_API void nh_checkpoint_remove(const char *path);

/* Writes the shortest text that reads back as the same number to `text`, which must have room for
 * at least 32 bytes. Returns `text`. */
NH_API char *nh_number_text(double value, char *text);

#ifdef __cplusplus
}
#endif
#endif
