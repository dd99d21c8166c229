/* Steps of quadruple precision, as the rest of the library sees them: what is compiled with
 * kernel/quadruple.h has structures of its own, and only pointers to them and the numbers
 * themselves pass this border. */
#ifndef NH_METHOD_PRECISE_STEP_H
#define NH_METHOD_PRECISE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/precise.h"

#ifdef NH_HAVE_PRECISE

struct nh_tape;
typedef struct nh_precise_stepper nh_precise_stepper;

/* What a stepper is made for. */
typedef struct nh_precise_setup {
    const char *method;
    const nh_precise *option; /* all of the method's, and the pace */
    int options;
    const void *shape;            /* an nh_shape */
    nh_precise size_of_positions; /* as in nh_shape */
    /* The tapes of the functions that steps call, others NULL, and their constants. */
    const struct nh_tape *const *tape;
    const nh_precise *const *constant;
    int functions;
    nh_precise step, time;
    bool compensated;
    int (*stop)(void *user); /* asked now and then within steps; may be NULL */
    void *user;
} nh_precise_setup;

/* NULL if out of memory. The shape and the tapes must outlive it. */
nh_precise_stepper *nh_precise_stepper_create(const nh_precise_setup *setup);
void nh_precise_stepper_free(nh_precise_stepper *stepper);

/* The state, which the caller may set before it starts: q[n], v[n], u[inputs]. */
nh_precise *nh_precise_stepper_q(nh_precise_stepper *stepper);
nh_precise *nh_precise_stepper_v(nh_precise_stepper *stepper);
nh_precise *nh_precise_stepper_u(nh_precise_stepper *stepper);
/* Both return a status of kernel_io.h. */
int nh_precise_stepper_start(nh_precise_stepper *stepper);
int nh_precise_stepper_advance(nh_precise_stepper *stepper, int64_t steps);
int64_t nh_precise_stepper_steps(const nh_precise_stepper *stepper);
/* Of a step that failed: the last correction and the iterations; 1 + the function that a method
 * called without having said so, or 0. */
nh_precise nh_precise_stepper_residual(const nh_precise_stepper *stepper, int *iterations,
                                       int *missing);
/* Of a method that chooses its own steps. */
void nh_precise_stepper_counts(const nh_precise_stepper *stepper, int64_t *accepted,
                               int64_t *rejected);

/* Evaluates one of its functions. `slots` has room for nh_tape_room numbers. */
void nh_precise_evaluate(const struct nh_tape *tape, const nh_precise *constant, nh_precise *slots,
                         nh_precise t, const nh_precise *q, const nh_precise *v,
                         const nh_precise *x, const nh_precise *u, nh_precise *out);

/* Dense algebra: nh_dense_factor and nh_dense_solve. */
bool nh_precise_factor(int n, nh_precise *a, int *pivot);
void nh_precise_solve(int n, const nh_precise *lu, const int *pivot, nh_precise *x);

#endif
#endif
