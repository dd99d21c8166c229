/* A system computes the functions of mechanics.h, from a model or from the user's C functions. It
 * is built once and then shared; its tapes are created on first use, protected by a lock. */
#ifndef NH_SYSTEM_SYSTEM_H
#define NH_SYSTEM_SYSTEM_H

#include <pthread.h>

#include "base/remarks.h"
#include "code/interpret.h"
#include "code/variant.h"

struct nh_system {
    nh_mechanics *mechanics; /* NULL when the system is made of C functions */
    nh_functions functions;  /* those, else all zero */
    double *mass_factor;     /* of C functions with constant mass: Cholesky factor, or NULL */
    bool diagonal_mass;      /* ... which is diagonal */
    char *name;
    char **name_of_coordinate, **name_of_velocity; /* of C functions: "q1", "q1'" */
    int coordinates, velocities, constraints;
    int shown; /* velocities that users see, fewer with rotations (attitude.h) */
    nh_shape shape;
    nh_facts facts;
    nh_remarks remarks; /* doubts about the model */
    pthread_mutex_t lock;
    nh_tape *tape[NH_FN_COUNT];
};

/* The tape of a function; NULL with a report when it cannot be made. */
const nh_tape *nh_system_tape(const nh_system *system, nh_fn fn, nh_report *report);

/* How many numbers a function returns. */
size_t nh_system_outputs(const nh_system *system, nh_fn fn);

/* Evaluates a function once, for one lane. Status of the user's functions as NH_CALLBACK_STOPPED.
 */
nh_status nh_system_evaluate(const nh_system *system, nh_fn fn, double t, const double *q,
                             const double *v, const double *x, double *out, nh_report *report);

/* ---- user's C functions ---- */

typedef struct nh_callback_space nh_callback_space; /* of a run: callbacks.h */
nh_callback_space *nh_callback_space_create(const nh_system *system);
void nh_callback_space_free(nh_callback_space *space);
nh_call_fn nh_callbacks_call; /* self is an nh_callback_space */

/* Factorises a constant mass matrix; NH_BAD_ARGUMENT when it is not positive definite. */
nh_status nh_callbacks_prepare(nh_system *system, nh_report *report);

#endif
