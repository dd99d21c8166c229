/* A trajectory of quadruple precision under way: what precise_run.c, precise_start.c and
 * precise_tapes.c share. */
#ifndef NH_SIMULATE_PRECISE_RUN_H
#define NH_SIMULATE_PRECISE_RUN_H

#include "method/precise_step.h"
#include "system/start.h"

#ifdef NH_HAVE_PRECISE

/* Functions of a system, in these numbers. */
typedef struct nh_precise_tapes {
    const nh_tape *tape[NH_FN_COUNT]; /* NULL: not wanted */
    nh_precise *constant[NH_FN_COUNT];
    nh_precise *slots; /* enough for each of them */
} nh_precise_tapes;
/* To be freed also after failures. */
nh_status nh_precise_create_tapes(nh_precise_tapes *tapes, const nh_system *system,
                                  nh_fn_set functions, nh_report *report);
void nh_precise_free_tapes(nh_precise_tapes *tapes);

/* Where functions are evaluated, and how: t, q[n], v[n], u[inputs]. */
typedef struct nh_precise_place {
    const nh_precise_tapes *tapes;
    nh_precise t;
    const nh_precise *q, *v, *u;
} nh_precise_place;
void nh_precise_call(const nh_precise_place *at, nh_fn fn, nh_precise *out);

/* `count` numbers, aligned; NULL if out of memory. */
nh_precise *nh_precise_numbers(size_t count);

/* The inner start state of a system that was built in these numbers. Its tapes are those of
 * NH_PRECISE_START. */
#define NH_PRECISE_START (NH_FN_BIT(MATRICES) | NH_FN_BIT(OBSERVE))
nh_status nh_precise_begin(const nh_system *system, const nh_precise_tapes *tapes,
                           const nh_start_options *options, const nh_precise *u, nh_precise *q,
                           nh_precise *v, nh_report *report);

/* Velocities as users see them (attitude.h). */
void nh_precise_show(const nh_system *system, const nh_precise *q, const nh_precise *inner,
                     nh_precise *shown);

#endif
#endif
