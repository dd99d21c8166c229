/* A system computes the functions of mechanics.h, from a model or from the user's C functions. It
 * is built once and then shared; its tapes are created on first use, protected by a lock. */
#ifndef NH_SYSTEM_SYSTEM_H
#define NH_SYSTEM_SYSTEM_H

#include <pthread.h>

#include "base/remarks.h"
#include "code/interpret.h"
#include "code/variant.h"

struct nh_system {
    nh_mechanics *mechanics; /* NULL if the system is given by C functions */
    nh_functions functions;  /* these functions, otherwise all zero */
    double *mass_factor;     /* for C functions with constant mass: Cholesky factor, or NULL */
    bool diagonal_mass;      /* ... which is diagonal */
    char *name;
    char **name_of_coordinate, **name_of_velocity; /* of C functions: "q1", "q1'" */
    int coordinates, velocities, constraints;
    int user_velocities; /* velocities that users see, fewer with rotations (attitude.h) */
    nh_shape shape;
    nh_facts facts;
    nh_remarks remarks;      /* about the model */
    const double *parameter; /* of one with named parameters: their present values, instead of those
                                with which it was built; of one for several machines (fleet.h): the
                                numbers of the present one; or NULL */
    bool closed;             /* no more functions are derived */
    pthread_mutex_t lock;
    nh_tape *tape[NH_FN_COUNT];
    nh_tape *drawing;       /* the channels of the model's drawing (drawn.c) */
    struct nh_mode_system { /* of contacts and grips, derived when they are needed (mode_systems.c)
                             */
        nh_hold *hold;
        nh_system *system;
    } * mode;
    int modes;
};

/* The system of a mode, hold[items]; it belongs to the given one. */
nh_status nh_system_mode(const nh_system **out, const nh_system *system, const nh_hold *hold,
                         nh_report *report);
/* nh_system_items is 0 for it. */
void nh_system_free_modes(nh_system *system);
/* Takes ownership of the problem, also on failure. */
nh_status nh_system_build_on(nh_system **out, nh_problem *problem, nh_report *report);

/* The same model and settings with parameters as arguments: after the open inputs there are
 * shape.inputs - problem->open_values of them; those that the problem marks as fixed are not
 * read. */
nh_status nh_system_build_named(nh_system **out, const nh_system *system, nh_report *report);
/* The same with inputs open and held, so that their values are arguments, too: those that are
 * marked, or (NULL) all. */
nh_status nh_system_build_open(nh_system **out, const nh_system *system, const bool *input,
                               nh_report *report);

/* The same with numbers of 34 digits (model/labels.h), for functions that are evaluated with as
 * many. */
nh_status nh_system_build_precise(nh_system **out, const nh_system *system, nh_report *report);
/* The same with more settings. */
nh_status nh_system_build_more(nh_system **out, const nh_system *system, const char *const *setting,
                               size_t count, nh_report *report);

/* The same with other values of parameters; with another value of one. */
nh_status nh_system_build_with(nh_system **out, const nh_system *system, int count,
                               const char *const *parameter, const double *value,
                               nh_report *report);
nh_status nh_system_build_set(nh_system **out, const nh_system *system, const char *parameter,
                              double value, nh_report *report);

/* The tape of a function; NULL with a report if it cannot be made. */
nh_status nh_system_tape(const nh_tape **out, const nh_system *system, nh_fn fn, nh_report *report);
/* The same of a system with parameters as arguments, in which those that are not `varied` are
 * numbers; to be freed by the caller. */
nh_status nh_system_tape_of_varied(nh_tape **out, const nh_system *system, nh_fn fn,
                                   const bool *varied, nh_report *report);

/* NH_NOT_APPLICABLE for systems with contacts or grips; `missing`: "there are no derivatives of
 * runs". */
nh_status nh_system_refuse_items(const nh_system *system, const char *missing, nh_report *report);

/* How many numbers a function returns. */
size_t nh_system_outputs(const nh_system *system, nh_fn fn);
/* Kinks of the motion, and the lines of the model where they occur; 0: unknown. */
int nh_system_kinks(const nh_system *system);
int nh_system_kink_line(const nh_system *system, int index);

/* Evaluates a function once, for one lane. A failure of the user's functions is
 * NH_CALLBACK_STOPPED. */
nh_status nh_system_evaluate(const nh_system *system, nh_fn fn, double t, const double *q,
                             const double *v, const double *x, double *out, nh_report *report);
/* Open inputs have their default values there; here, others: */
nh_status nh_system_evaluate_with(const nh_system *system, nh_fn fn, double t, const double *q,
                                  const double *v, const double *x, const double *u, double *out,
                                  nh_report *report);

/* The numbers of the open inputs, shape.inputs of them, that their tables and expressions give in a
 * state. */
nh_status nh_system_default_inputs(const nh_system *system, double t, const double *q,
                                   const double *v, double *u, nh_report *report);

/* When a state is looked at: the time, and the numbers of the open inputs; NULL: the defaults. */
typedef struct nh_instant {
    double t;
    const double *u;
} nh_instant;
nh_status nh_system_evaluate_at(const nh_system *system, nh_fn fn, nh_instant at, const double *q,
                                const double *v, double *out, nh_report *report);

/* nh_system_observe at an instant. */
nh_status nh_system_observe_at(const nh_system *system, nh_instant at, const double *q,
                               const double *v, double *values, nh_report *report);

/* nh_system_acceleration with other inputs; NULL: the defaults. */
nh_status nh_system_acceleration_with(const nh_system *system, double t, const double *q,
                                      const double *v, const double *u, double *acceleration,
                                      double *multipliers, nh_report *report);

/* Runs any tape once, for one lane. */
nh_status nh_evaluate_tape(const nh_tape *tape, double t, const double *q, const double *v,
                           const double *x, const double *u, double *out);

/* The model's drawing, NULL without one. */
struct nh_drawing;
const struct nh_drawing *nh_system_drawing(const nh_system *system);

/* ---- user's C functions ---- */

typedef struct nh_callback_space nh_callback_space; /* of a run: callbacks.h */
nh_callback_space *nh_callback_space_create(const nh_system *system);
void nh_callback_space_free(nh_callback_space *space);
nh_call_fn nh_callbacks_call; /* self is an nh_callback_space */

/* Factorises a constant mass matrix; NH_BAD_ARGUMENT if it is not positive definite. */
nh_status nh_callbacks_prepare(nh_system *system, nh_report *report);

/* Driver and passenger energy of a coupled system (the first two observables): values[2]. */
nh_status nh_system_partial_energies(const nh_system *system, double t, const double *q,
                                     const double *v, double *values, nh_report *report);

nh_signal nh_system_input_signal(const nh_system *system, int index);

#endif
