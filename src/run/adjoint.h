/* Derivatives of a run backwards: from those of a number by the state after a step to those by the
 * state before it, by inputs and by parameters.
 *
 * A step is repeated from its exact state by the same kernel over numbers that are recorded
 * (kernel/recording.h), and the recording is swept. The block of a state is like that of one lane
 * of the run; if parameters are varied, the system is one in which they are inputs, after the
 * others (tangent.h), and their values follow. Derivatives are one number for each number of a
 * block. */
#ifndef NH_RUN_ADJOINT_H
#define NH_RUN_ADJOINT_H

#include "code/recorder.h"
#include "run/leg.h"

enum { NH_WHOLE_FROM = 20 };

typedef struct nh_adjoint {
    const nh_run *run;
    const nh_system *system;
    nh_system *own;         /* with parameters as inputs; NULL: the run's system serves */
    nh_shape shape;         /* of that system */
    engine plain, product;  /* its functions, and their derivatives backwards */
    engine engine;          /* that of the kernel, which calls the recorder */
    engine whole;           /* its first function is a whole step backwards, where that is a tape */
    nh_tape *step_tape;     /* that step forwards; NULL: there is none */
    double step_length;     /* its length */
    int recorded;           /* steps so far; from NH_WHOLE_FROM on the tape pays */
    double *values, *moved; /* of a block with parameters; results of the tape */
    nh_recorder recorder;
    nh_recorded *block;     /* the state of a step */
    double *own_steps;      /* room for steps that the method chooses; NULL: they need none */
    size_t inputs, numbers; /* with parameters: given from outside, and in a block */
} nh_adjoint;

nh_status nh_adjoint_create(nh_adjoint **out, const nh_run *run, bool parameters,
                            nh_report *report);
void nh_adjoint_free(nh_adjoint *a);

/* Replaces the derivatives d[numbers] by the state after step `index` + 1 by those at the state
 * before it, which is a block of one lane of the run; `bound` as in nh_kernel_io. False: the step
 * has no derivatives. */
bool nh_adjoint_step(nh_adjoint *a, const nh_leg *leg, double bound, const double *before,
                     double *d);
/* Likewise for the start of the method, where its memory is computed. */
bool nh_adjoint_start(nh_adjoint *a, const nh_leg *leg, double bound, const double *before,
                      double *d);

/* The results of a function at a state; of the angles with their revolutions if `whole`. */
void nh_adjoint_values(nh_adjoint *a, nh_fn fn, double t, const double *block, bool whole,
                       double *out);
/* Adds to d the derivatives of their weighted sum, and to *by_time that by the time. */
void nh_adjoint_function(nh_adjoint *a, nh_fn fn, double t, const double *block, bool whole,
                         const double *weight, double *d, double *by_time);

#endif
