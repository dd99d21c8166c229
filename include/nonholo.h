/* nonholo: mechanical systems with velocity constraints, simulated by integrators made for them.
 *
 * The way of a simulation:
 *
 *     nh_model   a text in the model language            nh_model_open, nh_model_parse
 *     nh_system  a model with its parameters settled     nh_system_build
 *                (or your own C functions)               nh_system_from_functions
 *     nh_run     a system, a method, a step, a state     nh_run_create, nh_run_start
 *                and what follows from it                nh_run_advance, nh_run_state
 *
 * A whole program in ten lines is examples/minimal.c.
 *
 * Models and systems never change once built and may be shared by threads; a run belongs to one
 * thread at a time. Functions that can fail return an nh_status and describe the failure in the
 * caller's nh_report (which may be NULL). Nothing here prints, exits or jumps. Objects come back
 * through the first parameter, which is NULL after a failure; every free function accepts NULL.
 * Lists have a function that counts and one that gives the item at an index, NULL beyond the end.
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
    NH_BAD_ARGUMENT, /* a value out of range, an unknown name, method or option */
    NH_BAD_MODEL,    /* the text is not a model; line and column say where, when there is a place */
    NH_NOT_APPLICABLE, /* the method needs something this system does not have */
    NH_BAD_START,      /* the start state does not satisfy the constraints */
    NH_TOO_LARGE,      /* beyond a limit on sizes */
    /* the computation failed: command line exit code 1 */
    NH_NO_MEMORY,
    NH_NOT_CONVERGED,         /* the equations of a step were not solved */
    NH_NOT_FINITE,            /* a state became infinite or not a number */
    NH_SINGULAR_MASS,         /* the mass matrix lost its inverse */
    NH_DEPENDENT_CONSTRAINTS, /* the constraints lost their rank */
    NH_CALLBACK_STOPPED,      /* a function of the user asked to stop */
    NH_FILE_FAILED,           /* a file could not be read or written */
    NH_NO_COMPILER,           /* no C compiler, or it refused; the tape backend works without */
    NH_BROKEN_METHOD          /* a method broke its contract: a mistake in this library */
} nh_status;

/* What went wrong. `text` is a whole message ready to be shown; for a model it holds several lines:
 * "file:line:column: what", the line of the model, and a caret under the place. Its size is part of
 * the interface and does not change. */
typedef struct nh_report {
    nh_status status;
    int line, column; /* in the model text, counted from 1; 0 when the failure has no place in it */
    int64_t step;     /* number of the step that failed, counted from 1; 0 outside a run */
    double time;      /* where the failing step began */
    double residual;  /* what was left when a solver gave up, or how far a start is off */
    const char *option; /* the option that would help, "step", "backend tape", or NULL */
    char text[2048];
} nh_report;

/* True when the status means that the request itself was wrong (exit code 2 of the command line).
 */
NH_API bool nh_status_is_usage(nh_status status);
NH_API const char *nh_status_name(nh_status status);

/* "0.1.0"; `parts` names compiled-in and missing optional parts, e.g. "portable kernels; no HDF5".
 */
NH_API const char *nh_version(void);
NH_API const char *nh_version_parts(void);

/* ---- options ----------------------------------------------------------------------------- */

/* Structs of options may be zeroed, or begin with NAME_default(), a function of each: what is zero
 * is as advised, which is what the command line does too. Every such struct begins with its size,
 * which NAME_default() sets (0 stands for the first version of the struct): a program that was
 * compiled for an older library goes on to work with a newer one that has more options. */
#define NH_OPTIONS_DEFAULT(type)                                                                   \
    static inline type type##_default(void)                                                        \
    {                                                                                              \
        type options = {0};                                                                        \
        options.size = sizeof options;                                                             \
        return options;                                                                            \
    }

/* ---- models ------------------------------------------------------------------------------ */

typedef struct nh_model nh_model;

/* A shipped model by its name, or the file at a path (anything with a '/' or ending in ".nh"). */
NH_API nh_status nh_model_open(nh_model **out, const char *name_or_path, nh_report *report);

/* A model from text in memory; `file` is the name that messages use. */
NH_API nh_status nh_model_parse(nh_model **out, const char *file, const char *text, size_t length,
                                nh_report *report);
NH_API void nh_model_free(nh_model *model);
NH_API const char *nh_model_name(const nh_model *model);
NH_API const char *nh_model_text(const nh_model *model);

NH_API int nh_shipped_model_count(void);
NH_API const char *nh_shipped_model_name(int index);
NH_API const char *nh_shipped_model_summary(int index); /* its first comment line */

/* ---- systems ----------------------------------------------------------------------------- */

typedef struct nh_system nh_system;

/* Settles the parameters ("NAME=EXPRESSION" each, overriding the model's values) and derives the
 * equations of motion. The system does not keep a pointer to the model. */
NH_API nh_status nh_system_build(nh_system **out, const nh_model *model,
                                 const char *const *settings, size_t setting_count,
                                 nh_report *report);
NH_API void nh_system_free(nh_system *system);

/* Your own functions instead of a text: L = v.M(q)v/2 - V(q), constraints A(q)v + b(q) = 0.
 * Every function returns 0 for success, > 0 for "not here, try a smaller change", < 0 to stop.
 * Matrices are row-major: M is n x n, A is m x n, dM is n x n x n with dM[i][j][k] = dM_jk/dq_i. */
typedef struct nh_functions {
    size_t size; /* see "options" above */
    const char *name;
    int coordinates, constraints;
    void *user;
    int (*mass)(void *user, const double *q, double *M);             /* NULL: the identity */
    int (*mass_derivative)(void *user, const double *q, double *dM); /* NULL: differences */
    int (*potential)(void *user, const double *q, double *V);        /* NULL: no potential */
    int (*gradient)(void *user, const double *q, double *gradV);     /* NULL: differences of V */
    int (*constraint)(void *user, const double *q, double *A, double *b); /* b is zeroed before */
    /* Optional, beside the two above: gradV, A and b at once, where they share work. */
    int (*gradient_and_constraint)(void *user, const double *q, double *gradV, double *A,
                                   double *b);
    bool constant_mass;      /* M does not depend on q: it is factorised once */
    bool reaction_is_linear; /* A and b depend only on coordinates that no reaction moves */
    /* Optional, m x n: which coordinates the reaction of each constraint moves, that is, where the
     * rows of A M^-1 are ever nonzero. What it leaves out is never computed. Read while the system
     * is built. */
    const bool *reaction_pattern;
    /* Optional, for constraints that are not ideal (with friction, say): the force with which they
     * act, N(t, q, v, psi) instead of A(q)^T psi. The SPARK methods (gauss, lobatto, euler) take
     * it. */
    int (*reaction)(void *user, double t, const double *q, const double *v, const double *psi,
                    double *force);
} nh_functions;
NH_OPTIONS_DEFAULT(nh_functions)

NH_API nh_status nh_system_from_functions(nh_system **out, const nh_functions *functions,
                                          nh_report *report);

/* `coordinates` counts q, `velocities` counts v: they differ only for systems on a Lie algebra,
 * which have velocities without coordinates. States are arrays q[coordinates], v[velocities]. */
NH_API const char *nh_system_name(const nh_system *system);
NH_API int nh_system_coordinates(const nh_system *system);
NH_API int nh_system_velocities(const nh_system *system);
NH_API int nh_system_constraints(const nh_system *system);
NH_API const char *nh_system_coordinate_name(const nh_system *system, int index);
NH_API const char *nh_system_velocity_name(const nh_system *system, int index); /* "x'", "w1" */
NH_API const char *nh_system_constraint_name(const nh_system *system, int index);
NH_API int nh_system_parameters(const nh_system *system);
NH_API const char *nh_system_parameter_name(const nh_system *system, int index);
NH_API double nh_system_parameter_value(const nh_system *system, int index);

/* Observables: driver_energy, passenger_energy where the structure is found, then the model's. */
NH_API int nh_system_observables(const nh_system *system);
NH_API const char *nh_system_observable_name(const nh_system *system, int index);

/* The model's start state, with `assignments` ("x=1, x'=0.2"; may be NULL) applied before the start
 * expressions are evaluated. Does not look at the constraints. */
NH_API nh_status nh_system_start(const nh_system *system, const char *assignments, double *q,
                                 double *v, nh_report *report);

/* NH_BAD_START with the residual in the report when the state is off the constraints. */
NH_API nh_status nh_system_check_start(const nh_system *system, double t, const double *q,
                                       const double *v, nh_report *report);

/* Moves v to the constraints, M-orthogonally. */
NH_API nh_status nh_system_project(const nh_system *system, double t, const double *q, double *v,
                                   nh_report *report);

/* Each of these may be called from several threads at once. */
NH_API nh_status nh_system_energy(const nh_system *system, double t, const double *q,
                                  const double *v, double *energy, nh_report *report);
NH_API nh_status nh_system_residual(const nh_system *system, double t, const double *q,
                                    const double *v, double *k, /* k[constraints] */
                                    nh_report *report);
NH_API nh_status nh_system_observe(const nh_system *system, double t, const double *q,
                                   const double *v, double *values, /* values[observables] */
                                   nh_report *report);

/* Driver and passenger energy of a coupled system (the first two observables): values[2]. */
NH_API nh_status nh_system_partial_energies(const nh_system *system, double t, const double *q,
                                            const double *v, double *values, nh_report *report);

/* v' and the multipliers of the continuous equations; either may be NULL. */
NH_API nh_status nh_system_acceleration(const nh_system *system, double t, const double *q,
                                        const double *v, double *acceleration, double *multipliers,
                                        nh_report *report);

/* What the system is. */
typedef enum nh_constraint_kind { NH_LINEAR, NH_AFFINE, NH_NONLINEAR } nh_constraint_kind;
typedef enum nh_answer { NH_NO, NH_YES, NH_UNKNOWN } nh_answer;

typedef struct nh_facts {
    bool constant_mass;      /* d2L/dv2 is constant */
    bool diagonal_mass;      /* and diagonal */
    bool separable;          /* forces do not depend on velocities, momenta not on coordinates */
    bool mechanical;         /* L = v.M(q)v/2 - V(q): no terms linear in v, M without v */
    bool has_frame;          /* the model gives one */
    bool autonomous;         /* nothing depends on t */
    bool conservative;       /* no external force */
    bool affine;             /* every constraint is linear or affine in the velocities */
    bool linear;             /* every constraint is linear in the velocities */
    bool reaction_is_linear; /* no reaction moves a coordinate that a constraint depends on */
    bool keeps_energy;       /* the energy is an integral of the motion */
    nh_answer reversible;    /* (q, v) -> (q, -v) reverses the motion */
    nh_answer integrable;    /* Frobenius: the constraints are holonomic */
    bool coupled;            /* driver and passengers (Modin & Verdier 2020, Def. 2.1) */
    int driver;              /* the driving coordinate, or -1 */
    int rank;                /* of the constraints at the model's start state */
    int mass_entries;        /* structural nonzeros of the mass matrix */
    int constraint_entries;  /* structural nonzeros of the constraints' velocity derivative */
    bool linear_passengers;  /* coupled, and the passengers' potential is quadratic */
} nh_facts;
NH_API const nh_facts *nh_system_facts(const nh_system *system);
NH_API nh_constraint_kind nh_system_constraint_kind(const nh_system *system, int index);
NH_API bool nh_system_constraint_depends_on_time(const nh_system *system, int index);
/* Whether constraint `index` alone is a total time derivative or proportional to one. */
NH_API nh_answer nh_system_constraint_integrable(const nh_system *system, int index);
/* The conserved quantities that were found, e.g. "energy", "momentum of x1", and their values at a
 * state: values[integrals]. */
NH_API int nh_system_integrals(const nh_system *system);
NH_API const char *nh_system_integral_name(const nh_system *system, int index);
NH_API nh_status nh_system_integral_values(const nh_system *system, double t, const double *q,
                                           const double *v, double *values, nh_report *report);

/* ---- methods ----------------------------------------------------------------------------- */

enum {                                /* what a method keeps */
       NH_KEEPS_CONSTRAINTS = 1 << 0, /* at the nodes, to round-off */
       NH_KEEPS_ENERGY = 1 << 1,      /* to round-off */
       NH_KEEPS_SYMMETRY = 1 << 2,    /* its own adjoint, so reversible on reversible systems */
       NH_KEEPS_FIBRATION = 1 << 3 /* on coupled systems the driver does not feel the passengers */
};
enum { /* what a method needs */
       NH_NEEDS_CONSTANT_MASS = 1 << 0,
       NH_NEEDS_AFFINE_CONSTRAINTS = 1 << 1,
       NH_NEEDS_SEPARABLE = 1 << 2,
       NH_NEEDS_AUTONOMOUS = 1 << 3,
       NH_NEEDS_CONSERVATIVE = 1 << 4,
       NH_NEEDS_MODEL_TEXT = 1 << 5, /* not for systems given by C functions */
       NH_NEEDS_LINEAR_CONSTRAINTS = 1 << 6,
       NH_NEEDS_MECHANICAL = 1 << 7, /* L = v.M(q)v/2 - V(q) */
       NH_NEEDS_FRAME = 1 << 8       /* a frame in the model */
};

typedef enum nh_option_type { NH_OPTION_REAL, NH_OPTION_INTEGER, NH_OPTION_CHOICE } nh_option_type;

typedef struct nh_option {
    const char *name, *help;
    nh_option_type type;
    double standard;        /* the default; for a choice its index; NaN: see `follows` */
    double least, greatest; /* inclusive */
    const char *choices;    /* "point|average" */
    const char *follows;    /* the option whose value is the default of this one */
} nh_option;

enum { NH_OPTIONS_MAX = 8 };
typedef struct nh_method nh_method;

NH_API int nh_method_count(void);
NH_API const nh_method *nh_method_at(int index);
NH_API const nh_method *nh_method_find(const char *name); /* NULL when there is none */
NH_API const char *nh_method_name(const nh_method *method);
NH_API const char *nh_method_summary(const nh_method *method);
NH_API const char *nh_method_formulas(const nh_method *method); /* several lines */
NH_API const char *nh_method_reference(const nh_method *method);
NH_API const nh_option *nh_method_options(const nh_method *method, int *count);

/* A method with its options settled, from "NAME" or "NAME:key=value,key=value". */
typedef struct nh_choice {
    const nh_method *method;
    double option[NH_OPTIONS_MAX];
} nh_choice;
NH_API nh_status nh_choice_parse(nh_choice *out, const char *text, nh_report *report);
NH_API int nh_choice_order(const nh_choice *choice); /* 0: it chooses its own steps */
NH_API unsigned nh_choice_keeps(const nh_choice *choice);
NH_API unsigned nh_choice_needs(const nh_choice *choice);
/* NH_NOT_APPLICABLE with the reason when the method cannot be used on the system. */
NH_API nh_status nh_choice_applies(const nh_choice *choice, const nh_system *system,
                                   nh_report *report);

/* The method to take for a system ("gauss:stages=2"), or NULL when none applies, and the reason in
 * a phrase; and a cheaper one where there is one, else NULL. */
NH_API const char *nh_advise(const nh_system *system, const char **reason);
NH_API const char *nh_advise_fast(const nh_system *system, const char **reason);

/* Compositions: a step made of several steps of a symmetric method, which raises the order. */
NH_API int nh_composition_count(void);
NH_API const char *nh_composition_name(int index);
NH_API const char *nh_composition_summary(int index);
/* The order of a composed method; 0 with a report when the composition is unknown or the method is
 * not symmetric or has the wrong order for it. */
NH_API int nh_composition_order(const char *name, const nh_choice *choice, nh_report *report);

/* ---- runs -------------------------------------------------------------------------------- */

typedef struct nh_run nh_run;
typedef enum nh_backend { NH_BACKEND_AUTO, NH_BACKEND_TAPE, NH_BACKEND_COMPILED } nh_backend;

typedef enum nh_switch { NH_AS_ADVISED, NH_ON, NH_OFF } nh_switch;

typedef struct nh_run_options {
    size_t size;         /* see "options" above */
    const char *method;  /* as nh_choice_parse reads it; NULL: the one that nh_advise names */
    const char *compose; /* NULL, or the name of a composition around a symmetric method */
    double step;         /* > 0 */
    nh_backend backend;  /* auto: begins on the tape and goes on compiled when that pays */
    int64_t steps;       /* how many are expected; only auto looks at it; 0: unknown */
    int members;         /* trajectories advanced together (over SIMD lanes); 0 means 1 */
    /* carry the rounding errors of the state; advised where it costs little */
    nh_switch compensated;
} nh_run_options;
NH_OPTIONS_DEFAULT(nh_run_options)

/* Everything is allocated here; nothing later, except that with NH_BACKEND_AUTO a run that takes
 * long starts the C compiler beside it and loads what it made (a compiler that fails is no error
 * then). The system must outlive the run. */
NH_API nh_status nh_run_create(nh_run **out, const nh_system *system, const nh_run_options *options,
                               nh_report *report);
NH_API void nh_run_free(nh_run *run);
/* The one in use. With NH_BACKEND_AUTO that is the tape at first; it changes at most once, while
 * the run advances. */
NH_API nh_backend nh_run_backend(const nh_run *run);

/* Sets one member's state; refuses one that is off the constraints. */
NH_API nh_status nh_run_start(nh_run *run, int member, double t, const double *q, const double *v,
                              nh_report *report);

/* Advances every member. On failure every member stays at the last step that all completed,
 * which nh_run_steps tells. */
NH_API nh_status nh_run_advance(nh_run *run, int64_t steps, nh_report *report);
NH_API int64_t nh_run_steps(const nh_run *run);
NH_API double nh_run_seconds(const nh_run *run); /* spent stepping */

/* Advances a run of one member by rows * every steps and keeps its state after each `every` of
 * them, at little more than the cost of the steps: table[rows][1 + coordinates + velocities] gets
 * t, q, v as nh_run_state gives them, wrapped[rows][coordinates] (unless NULL) q as of
 * nh_run_wrapped_state. `done` tells how many rows there are, fewer after a failure. */
NH_API nh_status nh_run_trace(nh_run *run, int64_t rows, int64_t every, double *table,
                              double *wrapped, int64_t *done, nh_report *report);

/* q with full turns of the angles added back. */
NH_API void nh_run_state(const nh_run *run, int member, double *t, double *q, double *v);
/* q with angles between -3.5 and 3.5, as they are computed with: functions of q are exact to
 * round-off there, however often an angle has turned. */
NH_API void nh_run_wrapped_state(const nh_run *run, int member, double *t, double *q, double *v);

/* All members at once: q[members][coordinates], v[members][velocities]; either may be NULL in
 * nh_run_states, which gives full turns of the angles as nh_run_state does. */
NH_API int nh_run_members(const nh_run *run);
NH_API nh_status nh_run_start_all(nh_run *run, double t, const double *q, const double *v,
                                  nh_report *report);
NH_API void nh_run_states(const nh_run *run, double *t, double *q, double *v);

/* ---- checkpoints ------------------------------------------------------------------------- */

/* Everything that a run is at a moment, as bytes: states with what rounding left out, full turns,
 * the memory of methods, and what the run is of. A run created alike goes on from it with the same
 * bits; one of another model, method, step or version is refused with the reason. `bytes` is freed
 * with nh_bytes_free. */
NH_API nh_status nh_run_save(const nh_run *run, void **bytes, size_t *size, nh_report *report);
NH_API nh_status nh_run_restore(nh_run *run, const void *bytes, size_t size, nh_report *report);
NH_API void nh_bytes_free(void *bytes);

/* A file of several such pieces, verified when it is read. It is written to FILE.part and
 * renamed: the old one is there until the new one is complete. */
typedef struct nh_piece {
    void *bytes;
    size_t size;
} nh_piece;
enum { NH_PIECES_MAX = 8 };
NH_API nh_status nh_checkpoint_write(const char *path, const nh_piece *piece, int pieces,
                                     nh_report *report);
/* Reads up to NH_PIECES_MAX pieces, each to be freed with nh_bytes_free. */
NH_API nh_status nh_checkpoint_read(const char *path, nh_piece *piece, int *pieces,
                                    nh_report *report);

/* ---- ensembles --------------------------------------------------------------------------- */

/* A random state of a given energy that satisfies the constraints. Angles are uniform; the other
 * coordinates and the velocities lie in a random direction from the centre (the origin at rest; or
 * `centre`, an array q), as far as the energy wants. Number `item` of a `seed` is always the same
 * state. NH_BAD_START when a thousand directions hold no such state. */
NH_API nh_status nh_random_start(const nh_system *system, double t, double energy, uint64_t seed,
                                 uint64_t item, const double *centre, double *q, double *v,
                                 nh_report *report);

/* Many trajectories: starts for each combination of swept parameters, advanced over SIMD lanes and
 * threads, measured at recorded times. All numbers are the same for any number of threads, and what
 * is computed of a member does not depend on the others. A member that fails is named and stays out
 * of what is measured later; the others go on. */
typedef struct nh_ensemble nh_ensemble;

typedef struct nh_sweep { /* `count` values from `from` to `to`, both included */
    const char *parameter;
    double from, to;
    int64_t count;
} nh_sweep;

typedef enum nh_starts {
    NH_STARTS_MODEL,  /* the model's start with `start` applied, for each value of a sweep */
    NH_STARTS_RANDOM, /* nh_random_start: item = number of the start, the same for all values of a
                         sweep */
    NH_STARTS_LIST    /* q[members][coordinates], v[members][velocities] */
} nh_starts;

typedef struct nh_ensemble_options {
    size_t size; /* see "options" above */
    /* Either a model with settings as of nh_system_build, or a ready system (no sweeps then;
     * functions of the user are called from several threads). */
    const nh_model *model;
    const char *const *settings;
    size_t setting_count;
    const nh_system *system;
    const nh_sweep *sweep; /* the first varies slowest */
    int sweeps;

    nh_starts starts;
    int64_t members; /* starts for each combination of swept values; 0 means 1 */
    const char *start;
    double t0;
    bool fixed_energy; /* random starts have `energy`; else that of the model's start state */
    double energy;
    uint64_t seed;
    bool around_start; /* random starts about the model's start coordinates, not the origin */
    bool project;      /* starts of the model or the list are moved to the constraints */
    const double *q, *v;

    /* As in nh_run_options. */
    const char *method, *compose;
    double step;
    nh_backend backend;
    nh_switch compensated;

    int64_t steps; /* of each member */
    int64_t every; /* recorded are the steps 0, every, 2 every, ... and the last; 0: about 500 */
    bool measure_state; /* coordinates and velocities are columns too */
    int threads;        /* 0: one for each processor that this process may use */
    int rank, ranks;    /* this process does each `ranks`-th piece from `rank` on; 0, 0: all */
} nh_ensemble_options;
NH_OPTIONS_DEFAULT(nh_ensemble_options)

/* Several consecutive members at several consecutive recorded times. Rows of a member that failed
 * are NaN. */
typedef struct nh_rows {
    int64_t first_member, first_record;
    int members, records, columns;
    const double *value;       /* [members][records][columns] */
    const double *q, *v;       /* [members][records][coordinates or velocities] */
    const double *multipliers; /* [members][records][constraints], of the continuous equations */
} nh_rows;

/* What became of one member. */
typedef struct nh_member {
    int64_t member, combination;                              /* combination: of the swept values */
    nh_status status;                                         /* NH_OK, or why it failed */
    int64_t steps;                                            /* done */
    double t, first_energy, energy_error_max, constraint_max; /* maxima over recorded times */
    const double *q, *v;                                      /* where it ended */
} nh_member;

/* What nh_ensemble_run calls on the way, one at a time but from any thread; each may be NULL. A
 * value other than 0 stops the ensemble: NH_CALLBACK_STOPPED. */
typedef struct nh_ensemble_hooks {
    size_t size; /* see "options" above */
    void *user;
    int (*rows)(void *user, const nh_rows *rows); /* in any order */
    int (*member)(void *user,
                  const nh_member *member); /* in the order of the members (of the rank) */
    int (*progress)(void *user, int64_t done, int64_t all); /* steps of all members */
    /* Whether it is time for a checkpoint; and what nh_ensemble_restore wants to go on from there,
     * with rows told of so far. */
    int (*due)(void *user, int64_t done);
    int (*checkpoint)(void *user, const void *bytes, size_t size, int64_t done);
} nh_ensemble_hooks;
NH_OPTIONS_DEFAULT(nh_ensemble_hooks)

NH_API nh_status nh_ensemble_create(nh_ensemble **out, const nh_ensemble_options *options,
                                    nh_report *report);
NH_API void nh_ensemble_free(nh_ensemble *ensemble);
/* The numbers of a failed member do not make this fail; nh_ensemble_failures tells of them. */
NH_API nh_status nh_ensemble_run(nh_ensemble *ensemble, const nh_ensemble_hooks *hooks,
                                 nh_report *report);

/* Before nh_ensemble_run: goes on from a checkpoint of an ensemble created alike (with any number
 * of threads), to the same bits. Another one is refused with the reason. */
NH_API nh_status nh_ensemble_restore(nh_ensemble *ensemble, const void *bytes, size_t size,
                                     nh_report *report);

/* After nh_ensemble_run: what one rank gathered, as bytes, and its joining to another rank's, which
 * gives the bits that one process would have gathered. */
NH_API nh_status nh_ensemble_result(nh_ensemble *ensemble, void **bytes, size_t *size,
                                    nh_report *report);
NH_API nh_status nh_ensemble_join(nh_ensemble *ensemble, int rank, const void *bytes, size_t size,
                                  nh_report *report);

NH_API int64_t nh_ensemble_members(const nh_ensemble *ensemble); /* of all combinations */
NH_API int64_t nh_ensemble_combinations(const nh_ensemble *ensemble);
NH_API int64_t nh_ensemble_every(const nh_ensemble *ensemble); /* steps between recorded ones */
NH_API int nh_ensemble_threads(const nh_ensemble *ensemble);
NH_API double nh_ensemble_swept_value(const nh_ensemble *ensemble, int64_t combination, int sweep);
/* One of the systems: that of the first combination; sizes and names are those of all. */
NH_API const nh_system *nh_ensemble_system(const nh_ensemble *ensemble);
NH_API nh_backend nh_ensemble_backend(const nh_ensemble *ensemble); /* after the run */
NH_API double nh_ensemble_seconds(const nh_ensemble *ensemble); /* stepping, summed over threads */

/* Columns: energy, energy_error (E - E of the member's start), constraint (largest |k|),
 * observables, and with measure_state coordinates and velocities. */
NH_API int64_t nh_ensemble_records(const nh_ensemble *ensemble);
NH_API double nh_ensemble_time(const nh_ensemble *ensemble, int64_t record);
NH_API int nh_ensemble_columns(const nh_ensemble *ensemble);
NH_API const char *nh_ensemble_column_name(const nh_ensemble *ensemble, int column);

/* Over the members that got as far as a recorded time. Sums are exact, so that no bit of this
 * depends on the order of members. */
typedef struct nh_statistic {
    int64_t count;
    double mean, variance, least, greatest; /* variance: about the mean, divided by count */
} nh_statistic;
NH_API nh_statistic nh_ensemble_statistic(const nh_ensemble *ensemble, int64_t record, int column);
/* Over members and recorded times. */
NH_API nh_statistic nh_ensemble_total(const nh_ensemble *ensemble, int column);

/* Members that failed, in order; the first hundred have a report. */
NH_API int64_t nh_ensemble_failures(const nh_ensemble *ensemble);
NH_API const nh_report *nh_ensemble_failure(const nh_ensemble *ensemble, int64_t index,
                                            int64_t *member);

/* ---- output ------------------------------------------------------------------------------ */

/* A recorded trajectory: a table with columns t, coordinates, velocities, energy, observables.
 * The system must outlive the record. */
typedef struct nh_record nh_record;
NH_API nh_status nh_record_create(nh_record **out, const nh_system *system, nh_report *report);
NH_API void nh_record_free(nh_record *record);

/* With `keep` false, before the first row: rows are measured and counted but only the last one is
 * kept, for long runs of which no file is wanted. */
NH_API void nh_record_keep_rows(nh_record *record, bool keep);
/* `wrapped_q` is q as nh_run_wrapped_state gives it, for energy and constraints; NULL means q. */
NH_API nh_status nh_record_add(nh_record *record, double t, const double *q, const double *v,
                               const double *wrapped_q, nh_report *report);
NH_API int64_t nh_record_rows(const nh_record *record);
NH_API int nh_record_columns(const nh_record *record);
NH_API const char *nh_record_column_name(const nh_record *record, int column);
NH_API double nh_record_value(const nh_record *record, int64_t row, int column);
NH_API double nh_record_residual(const nh_record *record, int64_t row); /* largest |k| of a row */
NH_API double nh_record_energy_error(const nh_record *record);          /* largest |E - E0| */
NH_API double nh_record_constraint_max(const nh_record *record);        /* largest |k| of all */

/* Advances `run` by `steps` and records each `every`-th state of a member and the last one, also
 * the last before a failure. A record without rows takes the state at the beginning first. */
NH_API nh_status nh_record_follow(nh_record *record, nh_run *run, int member, int64_t steps,
                                  int64_t every, nh_report *report);

/* All rows as they lie in memory, `stride` numbers from one to the next: the columns, then the
 * largest |k|. Valid until a row is added. When rows are not kept there is only the last one;
 * nh_record_kept tells how many there are. */
NH_API int64_t nh_record_kept(const nh_record *record);
NH_API const double *nh_record_table(const nh_record *record, int *stride);

/* The multipliers of the continuous equations at each row that is kept:
 * multipliers[nh_record_kept][constraints]. */
NH_API nh_status nh_record_multipliers(const nh_record *record, double *multipliers,
                                       nh_report *report);

/* What a record knows beside its rows, to go on with it in another process. */
typedef struct nh_record_state {
    int64_t rows;
    double first_energy, energy_error, constraint_max;
} nh_record_state;
NH_API nh_record_state nh_record_save(const nh_record *record);
/* For a record that has seen the start state and nothing else. Rows of before are counted and not
 * kept; the last row becomes what is at the given state. NH_BAD_ARGUMENT when the start was
 * another. */
NH_API nh_status nh_record_restore(nh_record *record, const nh_record_state *state, double t,
                                   const double *q, const double *v, const double *wrapped_q,
                                   nh_report *report);

/* Writes to a temporary name beside `path` and renames; the ending of the path (.csv) decides. */
NH_API nh_status nh_record_write(const nh_record *record, const char *path, nh_report *report);

/* A file of trajectories, written while they are computed, never more than a block of it in memory.
 *
 * - .h5, .nc: HDF5 after the conventions of NetCDF-4: q(member, time, coordinate), v(member,
 * time, velocity), multiplier(member, time, constraint), the columns (member, time), labelled axes,
 * and attributes that tell where the numbers come from. Its whole size is taken from the disk at
 * the beginning and it is there under its name from then on: a process that is killed leaves a file
 * that opens; records(member) tells how many rows of it count, the rest is NaN.
 * - .csv, .npy: a table of one trajectory: t, coordinates, velocities, columns; of .npy an array
 * with named fields. Appears under its name when it is complete.
 * - .npz: arrays of one trajectory by name, as numpy.load reads them: t, q, v, multipliers, the
 * columns, and the names coordinates, velocities, constraints. Made at the end of the rows, which
 * are kept in a file beside it. */
typedef struct nh_archive nh_archive;

typedef struct nh_archive_plan {
    size_t size; /* see "options" above */
    const nh_system *system;
    const char *model_text; /* NULL: none is kept */
    const char *method, *compose;
    double step, t0;
    int64_t steps, every; /* recorded are the steps 0, every, 2 every, ... and the last */
    int64_t members;      /* 0 means 1; more than 1 only in HDF5 */
    bool random;          /* `seed` is that of random starts */
    uint64_t seed;
    const char *const *column; /* names of what comes with each row */
    int columns;
    bool multipliers;
    bool statistics; /* room for nh_archive_statistics */
    /* Swept parameters, HDF5 only: their names, and values[members][swept]. */
    const char *const *swept_name;
    int swept;
    bool resumable; /* what is there of a file shall stay when the process ends early: FILE.part */
    int64_t position; /* with `resume`: nh_archive_position of then */
    bool resume;      /* go on with the file that is there */
} nh_archive_plan;
NH_OPTIONS_DEFAULT(nh_archive_plan)

/* The system and the texts must outlive the archive; the lists of names need not. */
NH_API nh_status nh_archive_create(nh_archive **out, const char *path, const nh_archive_plan *plan,
                                   nh_report *report);
/* Whether a path will do, asked before a long computation. */
NH_API nh_status nh_archive_can_write(const char *path, int64_t members, nh_report *report);

/* The next row of a single trajectory, or a block of an ensemble. */
NH_API nh_status nh_archive_row(nh_archive *archive, double t, const double *q, const double *v,
                                const double *values, const double *multipliers, nh_report *report);
NH_API nh_status nh_archive_rows(nh_archive *archive, const nh_rows *rows, nh_report *report);
/* The next rows of a single trajectory without columns and multipliers: a table of nh_run_trace. */
NH_API nh_status nh_archive_trace(nh_archive *archive, const double *table, int64_t rows,
                                  nh_report *report);
/* What became of a member: its row of the swept values, whether it failed. HDF5 only, else nothing.
 */
NH_API nh_status nh_archive_member(nh_archive *archive, const nh_member *member,
                                   const double *swept, nh_report *report);
NH_API nh_status nh_archive_statistics(nh_archive *archive, const nh_ensemble *ensemble,
                                       nh_report *report);

/* Everything so far to the disk; a later process may go on from here with `position`. */
NH_API nh_status nh_archive_flush(nh_archive *archive, int64_t *position, nh_report *report);

/* The end: complete, or with as many rows as there are (HDF5 is cut to them). Frees it in any case.
 */
NH_API nh_status nh_archive_close(nh_archive *archive, nh_report *report);
/* Frees it and leaves what is there of a resumable file for later; of another nothing is left. */
NH_API void nh_archive_leave(nh_archive *archive);

/* Any table of numbers, row by row: never more than a block of it is in memory. Like a record's
 * file it appears under its name when it is committed. nh_record_can_write tells whether `path`
 * will do. */
typedef struct nh_table nh_table;
NH_API nh_status nh_table_create(nh_table **out, const char *path, const char *const *names,
                                 int columns, nh_report *report);
NH_API void nh_table_add(nh_table *table, const double *row); /* failures come out at the end */
NH_API nh_status nh_table_commit(nh_table *table, nh_report *report); /* frees it in any case */
NH_API void nh_table_abandon(nh_table *table);

/* A picture of a recorded trajectory through gnuplot; the ending decides (.svg, .png, .pdf). */
NH_API nh_status nh_record_plot(const nh_record *record, const char *path, const char *title,
                                nh_report *report);

/* Whether a record's file or picture could be written to `path`, asked before a long computation:
 * NH_BAD_ARGUMENT for an unknown ending, NH_FILE_FAILED for a place that cannot be written or a
 * missing gnuplot. */
NH_API nh_status nh_record_can_write(const char *path, nh_report *report);
NH_API nh_status nh_record_can_plot(const char *path, nh_report *report);

/* ---- sampling and simulations ------------------------------------------------------------ */

/* States of one member of a run, `every` steps apart. */
typedef struct nh_samples {
    int member;
    int64_t count;
    int64_t step, every;   /* the first is the state after `step` steps */
    const double *row;     /* [count][1 + coordinates + velocities]: t, q, v of nh_run_state */
    const double *wrapped; /* [count][coordinates]: q of nh_run_wrapped_state */
    const double *before;  /* rows of the states one step earlier; NULL: there are none */
    const double *wrapped_before;
} nh_samples;

typedef struct nh_sample_options {
    size_t size;    /* see "options" above */
    int64_t steps;  /* to advance by */
    int64_t every;  /* from one sample to the next; 0 means 1 */
    int64_t origin; /* samples are taken after origin + i every steps of the run, and at the end */
    bool first;     /* the present state is a sample too */
    bool look_back; /* each sample, except the present state, comes with the state one step earlier
                     */
    void *user;
    /* Takes samples; those of one member come in order. A status other than NH_OK ends the run. */
    nh_status (*samples)(void *user, const nh_samples *samples, nh_report *report);
    /* Called every moment (about 20 times a second, or more often), with what nh_run_steps gives;
     * may be NULL. A value other than 0 stops the run. */
    int (*pause)(void *user, int64_t steps);
} nh_sample_options;
NH_OPTIONS_DEFAULT(nh_sample_options)

/* Advances a run and hands over its states in blocks, at little more than the cost of the steps
 * when the run has one member. All samples before a failure are handed over. NH_OK also when
 * `pause` stopped it: nh_run_steps tells. */
NH_API nh_status nh_run_sample(nh_run *run, const nh_sample_options *options, nh_report *report);

/* One trajectory from its start to its end: measured, recorded, written to a file while it is
 * computed, with checkpoints from which another process goes on to the same bits. This is what
 * `nonholo run` does. */
typedef struct nh_simulation nh_simulation;

typedef enum nh_keep {
    NH_KEEP_ADVISED, /* all rows, unless there is a file or a checkpoint */
    NH_KEEP_ROWS,
    NH_KEEP_LAST_ROW
} nh_keep;

typedef struct nh_simulation_options {
    size_t size; /* see "options" above */
    /* As in nh_run_options. */
    const char *method, *compose;
    double step;
    nh_backend backend;
    nh_switch compensated;
    double t0;
    const double *q, *v;  /* the start; NULL: that of the model */
    int64_t steps, every; /* recorded are the steps 0, every, 2 every, ... and the last; every = 0:
                             nh_record_spacing */
    nh_keep keep;         /* which rows of the record stay in memory */
    const char *output;   /* the file as of nh_archive_create; NULL: none */
    const char *model_text; /* kept in the file; NULL: none */
    /* Where checkpoints are written, and the one to go on from; either may be NULL. */
    const char *checkpoint, *resume;
    double checkpoint_seconds; /* from one checkpoint to the next; or, when 0, */
    int64_t checkpoint_steps;  /* so many steps; both 0: a minute */
    double pause; /* nh_simulation_advance returns after about so many seconds, to be called again;
                     0: at the end */
    void *user;
    void (*progress)(void *user, int64_t done, int64_t steps); /* every moment; may be NULL */
    int (*stop)(void *user); /* asked every moment: other than 0 stops; may be NULL */
} nh_simulation_options;
NH_OPTIONS_DEFAULT(nh_simulation_options)

/* Takes the start or the checkpoint and opens the file. The system and the texts of the options
 * must outlive the simulation. */
NH_API nh_status nh_simulation_create(nh_simulation **out, const nh_system *system,
                                      const nh_simulation_options *options, nh_report *report);
/* Frees it; a file that nh_simulation_finish has not closed is left as a process that was killed
 * leaves it. */
NH_API void nh_simulation_free(nh_simulation *simulation);

/* To the end, to the first failure, or until `stop` or `pause` end it, which is NH_OK: nh_run_steps
 * tells. Goes on when it is called again. */
NH_API nh_status nh_simulation_advance(nh_simulation *simulation, nh_report *report);

/* Closes the file, which then holds as many rows as were computed; after a stop with a checkpoint
 * it writes that instead and leaves the file to the process that resumes. Checkpoints stay until
 * nh_checkpoint_remove. */
NH_API nh_status nh_simulation_finish(nh_simulation *simulation, nh_report *report);

NH_API const nh_run *nh_simulation_run(const nh_simulation *simulation);
NH_API const nh_record *nh_simulation_record(const nh_simulation *simulation);
NH_API int64_t nh_simulation_every(const nh_simulation *simulation);
NH_API const char *nh_simulation_output(const nh_simulation *simulation); /* NULL until closed */

/* How many steps apart about 10,000 rows of so many columns are, fewer rows when they are wide. */
NH_API int64_t nh_record_spacing(int64_t steps, int columns);

/* How often: "60s", "10m", "2h" or a number of steps. The other of the two becomes 0. */
NH_API nh_status nh_interval_parse(const char *text, double *seconds, int64_t *steps,
                                   nh_report *report);

/* Removes a checkpoint that has served, and what is left of an unfinished one. NULL: nothing. */
NH_API void nh_checkpoint_remove(const char *path);

/* Shortest text that reads back as the same number; `text` holds at least 32 bytes. Returns text.
 */
NH_API char *nh_number_text(double value, char *text);

#ifdef __cplusplus
}
#endif
#endif
