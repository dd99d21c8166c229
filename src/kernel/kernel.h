/* The language in which the integrators are written.
 *
 * A method's step is C code over `real`, N and M. Built into the library, N and M are read at run
 * time and the system's functions are called through a pointer (a tape, or the user's C functions).
 * In an emitted kernel N and M are constants, the system's functions are inlined, local arrays
 * become registers, and options are literals. The mathematics and the bits are the same.
 *
 *     N, M, NB, NK      velocities, constraints, entries of B and of K
 *     POSITIONS, NG     conditions on positions, the last of the M, and their entries of K
 *     NBG               their entries of B
 *     NF                numbers in the factors of the mass matrix (FACTOR, SUBSTITUTE)
 *     ROTATIONS, ROTATION(r)   rotations, and where the quaternion of each begins
 *     LOCAL(x, count)   an array for the duration of the step
 *     EACH(i, count)    a loop, unrolled where the count is a small constant
 *     EACH_QUICKLY      the same, four at a time where it is not; for the loops of a short step
 *     CALL(FN, t, q, v, x, out)   a function of mechanics.h; leaves the step when it fails
 *     OPTION(i), TABLE  the method's options and the table it prepared
 *     WEIGHT(w)         *w in all lanes, for w in the table
 *     OPTION_INT(i)     an integer option; in an emitted kernel also for #if and sizes
 *     OPTION_IS_STANDARD(i)   in STRAIGHT: whether an option has its standard value
 *     k->q, k->v, k->memory, k->h   state, memory and step
 *
 * A step reads k->q and k->v and ends with commit(); before that it must not change the state, so
 * that a step that fails leaves everything as it was. */
#ifndef NH_KERNEL_KERNEL_H
#define NH_KERNEL_KERNEL_H

#include "kernel/straight.h"
#include "kernel/real.h"
#include "kernel/trig.h"
#include "kernel/kernel_io.h"
#include "kernel/watch.h"

/* A number of a method's table: without derivatives. */
#ifdef NH_DUAL
typedef double table_weight;
#else
typedef real table_weight;
#endif

#ifdef NH_ABREAST
#define sin_(x) watched_sin(widest, x)
#define cos_(x) watched_cos(widest, x)
#define sincos_(x, sine, cosine) watched_sincos(widest, x, sine, cosine)
#endif
#ifdef NH_QUADS /* sparse products are over one number as well as over four */
#define PRODUCT(name, out) _Generic(*(out), quad : quad_##name, default : product_##name)
#else
#define PRODUCT(name, out) product_##name
#endif
/* NH_FUNCTIONS_HERE */
#ifdef NH_ABREAST
#undef sin_
#undef cos_
#undef sincos_
#endif
#ifdef NH_EMITTED

#define SOME(count) ((count) > 0 ? (count) : 1)
#if LANES > 1 && TABLE_SIZE > 0 && TABLE_SIZE <= 320
#define WEIGHTS_AT_HAND
#endif
typedef struct kernel {
    nh_kernel_io *io;
    double h, t;
    real q[N], v[N], q_low[N], v_low[N], *memory;
    const real *u;
    const real *weight;
#ifdef NH_ABREAST
    real *widest; /* widest argument of a sine, if arguments are checked after the step: watch.h */
#endif
#ifdef NH_EXPORTED
    real *top; /* end of the scratch in use, in steps with Newton's method */
#endif
} kernel;
#ifdef NH_WITH_NEWTON
#define LOCAL(name, count)                                                                         \
    real *name = k->top;                                                                           \
    k->top += (count)
#define note_scratch(k) ((void)(k))
#else
#define LOCAL(name, count) real name[SOME(count)]
#endif
#ifdef WEIGHTS_AT_HAND
#define WEIGHT(w) (k->weight[(w)-TABLE])
#else
#define WEIGHT(w) broadcast(*(w))
#endif
#if N <= 16
#define EACH(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++)
#else
#define EACH(i, count) for (int i = 0; i < (count); i++)
#endif
#define EACH_QUICKLY EACH
#define STEP_OF(io) ((io)->step)
#define BEGIN_OF(io) ((io)->time)
#ifndef NH_CALLBACKS
#define CALL(FN, t, q, v, x, out) fn_##FN(t, q, v, x, out, k->u WATCH_OF(k))
#else
#define EVALUATE(FN, t, q, v, x, out)                                                              \
    user_call((nh_callback_space *)k->io->self, NH_FN_##FN, t, q, v, x, out)
#endif

#else

#include "mechanics/mechanics.h"
typedef struct kernel { /* with copies of what steps read often */
    nh_kernel_io *io;
    scalar h, t;
    real *q, *v, *q_low, *v_low, *memory;
    const real *u;
    real *top, *peak; /* end of the scratch in use, and the furthest it ever was */
    int n, m, nk, nb, positions, reaction_is_linear, constant_mass, compensated;
    const int *b_first, *b_column;
    const double *option, *table;
    const int *size; /* of the method: method.h */
    nh_call_fn *const *call;
    const void *self;
} kernel;
#include "kernel/general.h"
#ifndef NH_DUAL
#define STEP_OF(io) ((io)->step)
#define BEGIN_OF(io) ((io)->time)
#endif
#define EVALUATE(FN, t, q, v, x, out) call_tape(k, NH_FN_##FN, t, q, v, x, out)
/* Where the time may have derivatives, it is a number after the inputs. */
static inline int call_tape(const kernel *k, int fn, scalar t, const real *q, const real *v,
                            const real *x, real *out)
{
#ifdef NH_TIME_MOVES
    ((real *)k->u)[k->io->shape->inputs] = t;
#elif defined(NH_RECORD)
    nh_recording_here->time = t.node;
#endif
#ifdef NH_DUAL
    return k->call[fn](k->self, fn, LANE(t, 0), q, v, x, out, k->u);
#else
    return k->call[fn](k->self, fn, t, q, v, x, out, k->u);
#endif
}

/* Notes how much scratch steps take; the run compares that with what its method asked for. It is
 * noted where some of it is given back, where Newton's method was needed, and for plain steps after
 * every 16th and the last of a call: doing so after each step made the tape's steps 9% slower. */
static inline void note_scratch(kernel *k)
{
    if (k->top > k->peak)
        k->peak = k->top;
}

#endif

/* ---- what all methods share ---- */

#ifndef CALL
#define CALL(FN, t, q, v, x, out)                                                                  \
    do {                                                                                           \
        int called = EVALUATE(FN, t, q, v, x, out);                                                \
        if (__builtin_expect(called, 0))                                                           \
            return called < 0 ? NH_KERNEL_STOPPED : NH_KERNEL_REFUSED;                             \
    } while (0)
#endif

/* A part of a step that can fail: if it does, so does the step. */
#define TRY_(call)                                                                                 \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (__builtin_expect(tried, 0))                                                            \
            return tried;                                                                          \
    } while (0)

/* A part of a step that many systems do not need. The general kernel does not inline it, so that it
 * does not slow down the rest; an emitted kernel contains it only where it is needed. */
#ifdef NH_EMITTED
#define APART
#define SELDOM
#else
#define APART __attribute__((noinline))
/* few steps need it, and not every method: small and quick to compile */
#define SELDOM __attribute__((noinline, cold, unused))
#endif

/* Parts that several methods have in common: emitted kernels define them, and so does shared.c for
 * all general kernels of a variant (HAS_SHARED is defined in both); the others only declare
 * them. */
#if defined(NH_EMITTED) || defined(NH_SHARED_HERE)
#define HAS_SHARED 1
#endif
#ifdef NH_EMITTED
#define SHARED static
#else
#define SHARED
#endif

/* A part of a step that a method calls more than once, with options that are constants in emitted
 * kernels, where they reduce it to what is needed. */
#if defined(NH_EMITTED) && !defined(NH_EXPORTED)
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline
#endif

#ifndef NH_OWN_ACCUMULATE
/* x + dx with the rounding error carried in low. */
static inline void accumulate(real *x, real *low, real dx)
{
    real small = *low + dx, sum = *x + small;
    real back = sum - *x;
    *low = (*x - (sum - back)) + (small - back);
    *x = sum;
}
#endif

/* The end of a step, as expressions of the coordinate i: q += dq, v += dv where sums are
 * compensated, else q = q1, v = v1. */
#define COMMIT(i, q1, v1, dq, dv)                                                                  \
    do {                                                                                           \
        if (COMPENSATED) {                                                                         \
            EACH(i, N)                                                                             \
            {                                                                                      \
                const real dq_ = (dq), dv_ = (dv);                                                 \
                accumulate(k->q + i, k->q_low + i, dq_);                                           \
                accumulate(k->v + i, k->v_low + i, dv_);                                           \
            }                                                                                      \
        } else {                                                                                   \
            EACH(i, N)                                                                             \
            {                                                                                      \
                k->q[i] = (q1);                                                                    \
                k->v[i] = (v1);                                                                    \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline void commit(kernel *k, const real *q1, const real *v1, const real *dq, const real *dv)
{
    COMMIT(i, q1[i], v1[i], dq[i], dv[i]);
}

#include "kernel/convergence.h"
#include "kernel/advance.h"

#endif
