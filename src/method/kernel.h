/* The language in which the integrators are written.
 *
 * A method's step is C over `real`, N and M. Built into the library, N and M are read at run time
 * and the system's functions are called through a pointer (a tape, or the user's C functions). In
 * an emitted kernel N and M are constants, the system's functions are inlined, local arrays become
 * registers, and options are literals. Neither the mathematics nor the bits differ.
 *
 *     N, M, NB, NK      velocities, constraints, entries of B and of K
 *     LOCAL(x, count)   an array for the duration of the step
 *     EACH(i, count)    a loop, unrolled where the count is a small constant
 *     EACH_QUICKLY      the same, four at a time where it is not; for the loops of a short step
 *     CALL(FN, t, q, v, x, out)   a function of mechanics.h; leaves the step when it fails
 *     OPTION(i), TABLE  the method's options and the table it prepared
 *     WEIGHT(w)         *w in all lanes, for w in the table
 *     OPTION_INT(i)     an integer option; in an emitted kernel also for #if and sizes
 *     k->q, k->v, k->memory, k->h   state, memory and step
 *
 * A step reads k->q and k->v and ends with commit(); before that it must not change the state, so
 * that a step that fails leaves everything as it was. */
#ifndef NH_METHOD_KERNEL_H
#define NH_METHOD_KERNEL_H

#include "base/real.h"
#include "base/trig.h"
#include "program/kernel_io.h"

/* NH_FUNCTIONS_HERE */
#ifdef NH_EMITTED

#define SOME(count) ((count) > 0 ? (count) : 1)
#if LANES > 1 && TABLE_SIZE > 0 && TABLE_SIZE <= 256
#define WEIGHTS_AT_HAND
#endif
typedef struct kernel {
    nh_kernel_io *io;
    double h, t;
    real q[N], v[N], q_low[N], v_low[N], *memory;
    const real *weight;
} kernel;
#define LOCAL(name, count) real name[SOME(count)]
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
#ifndef NH_CALLBACKS
#define CALL(FN, t, q, v, x, out) fn_##FN(t, q, v, x, out)
#else
#define EVALUATE(FN, t, q, v, x, out)                                                              \
    user_call((nh_callback_space *)k->io->self, NH_FN_##FN, t, q, v, x, out)
#endif

#else

#include "mechanics/mechanics.h"
typedef struct kernel { /* what steps read often is copied here, where the compiler keeps it at hand
                         */
    nh_kernel_io *io;
    double h, t;
    real *q, *v, *q_low, *v_low, *memory, *top;
    int n, m, nk, nb, reaction_is_linear, constant_mass, compensated;
    const int *b_first, *b_column;
    const double *option, *table;
    nh_call_fn *const *call;
    const void *self;
} kernel;
#define N (k->n)
#define M (k->m)
#define NK (k->nk)
#define NB (k->nb)
#define REACTION_IS_LINEAR (k->reaction_is_linear)
#define CONSTANT_MASS (k->constant_mass)
#define SEPARABLE (k->io->shape->separable)
#define AFFINE (k->io->shape->affine)
#define LINEAR (k->io->shape->linear)
#define PLAIN_MOMENTUM (k->io->shape->plain_momentum)
#define DRIVER (k->io->shape->driver)
#define FLAT (k->io->shape->flat)
#define SLOPE_DEGREE (k->io->shape->slope_degree)
#define NONIDEAL (k->io->shape->nonideal)
#define COMPENSATED (k->compensated)
#define OPTION(i) (k->option[i])
#define OPTION_INT(i) ((int)OPTION(i))
#define TABLE (k->table)
#define WEIGHT(w) broadcast(*(w))
#define LOCAL(name, count)                                                                         \
    real *name = k->top;                                                                           \
    k->top += (count)
#define EACH(i, count) for (int i = 0; i < (count); i++)
#define EACH_QUICKLY(i, count) _Pragma("GCC unroll 4") EACH(i, count)
#define EVALUATE(FN, t, q, v, x, out) k->call[NH_FN_##FN](k->self, NH_FN_##FN, t, q, v, x, out)

/* out += B l and out += K^T l, and S = K B; emitted kernels have these unrolled over the pattern.
 */
static inline void add_B(const kernel *k, real *restrict out, const real *B, const real *l)
{
    const int *restrict first = k->b_first, *restrict column = k->b_column;
    for (int j = 0, e = 0; j < M; j++) {
        const real lj = l[j];
        for (const int end = first[j + 1]; e < end; e++)
            out[column[e]] = fma_(B[e], lj, out[column[e]]);
    }
}

static inline void add_K(const kernel *k, real *out, const real *K, const real *l)
{
    const nh_shape *s = k->io->shape;
    for (int j = 0; j < s->m; j++)
        for (int e = s->k_first[j]; e < s->k_first[j + 1]; e++)
            out[s->k_column[e]] = fma_(K[e], l[j], out[s->k_column[e]]);
}

/* out += K x */
static inline void apply_K(const kernel *k, real *out, const real *K, const real *x)
{
    const nh_shape *s = k->io->shape;
    for (int j = 0; j < s->m; j++)
        for (int e = s->k_first[j]; e < s->k_first[j + 1]; e++)
            out[j] = fma_(K[e], x[s->k_column[e]], out[j]);
}

/* S[i * stride + j] += c (K B)_ij */
static inline void add_KB(const kernel *k, real *S, int stride, double c, const real *K,
                          const real *B)
{
    const nh_shape *s = k->io->shape;
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) {
            int pair = i * s->m + j;
            real sum = broadcast(0);
            for (int e = s->pair_first[pair]; e < s->pair_first[pair + 1]; e++)
                sum = fma_(K[s->pair_k[e]], B[s->pair_b[e]], sum);
            S[i * stride + j] = fma_(broadcast(c), sum, S[i * stride + j]);
        }
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

/* A part of a step that can fail: the step is over when it does. */
#define TRY_(call)                                                                                 \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (__builtin_expect(tried, 0))                                                            \
            return tried;                                                                          \
    } while (0)

/* x + dx with the rounding error carried in low. */
static inline void accumulate(real *x, real *low, real dx)
{
    real small = *low + dx, sum = *x + small;
    real back = sum - *x;
    *low = (*x - (sum - back)) + (small - back);
    *x = sum;
}

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

/* Watches an iteration until round-off stops it. A lane is done when the correction is a few units
 * in the last place of the scale, when the contraction seen so far promises that for the correction
 * to come, or when it no longer shrinks and is small. Lanes that are done keep their values. */
typedef struct watch {
    real previous, before, rate; /* the last two corrections, and how much the last had shrunk */
    real floor;                  /* a correction that stagnates below this is round-off as well */
    mask active;
    int iteration;
} watch;

static inline watch watch_begin(void)
{
    return (watch){.previous = broadcast(1e300),
                   .before = broadcast(1e300),
                   .floor = broadcast(0),
                   .rate = broadcast(1),
                   .active = ~less(broadcast(0), broadcast(0))};
}

static inline void watch_update(watch *w, real change, real scale)
{
    const double eps = 0x1p-52;
    real tiny = scale * eps;
    mask done = ~less(tiny, change); /* change <= eps scale */
    /* Where errors change sign from turn to turn every second correction may be the larger one
     * although all of them fall: one that is well below the last but one is not the end. */
    real small = max_(scale * 1e-10, w->floor);
    done |= ~less(change, w->previous) & ~less(change, w->before * 0.25) & less(change, small);
    /* The error left is the correction times the rate of convergence, of which the worse of the
     * last two is believed; the first correction says nothing about it. */
    real rate = change / w->previous;
    if (w->iteration == 0)
        rate = broadcast(1);
    done |= less(change * max_(rate, w->rate), tiny * 0.0625);
    w->rate = select_(w->active, rate, w->rate);
    w->before = select_(w->active, w->previous, w->before);
    w->previous = select_(w->active, change, w->previous);
    w->active &= ~done;
    w->iteration++;
}

static inline real largest(const kernel *k, const real *x, int count)
{
    (void)k;
    real most = broadcast(0);
    EACH(i, count) most = max_(most, abs_(x[i]));
    return most;
}

/* What the rounding of positions does to velocities found by iteration: a force may turn a change
 * of q within a step into as much of h v, not into more where the step is of any use. Slow motion
 * far from the origin settles no better than that. */
static inline real position_noise(const kernel *k, const real *q, int count)
{
    return largest(k, q, count) * (0x1p-48 / __builtin_fabs(k->h));
}

static inline watch watch_from(const kernel *k)
{
    watch w = watch_begin();
    w.floor = position_noise(k, k->q, N);
    return w;
}

static inline int not_converged(kernel *k, const watch *w)
{
    double most = 0;
    for (int l = 0; l < LANES; l++)
        if (!(LANE(w->previous, l) <= most))
            most = LANE(w->previous, l);
    k->io->residual = most;
    k->io->iterations = w->iteration;
    return NH_KERNEL_NOT_CONVERGED;
}

/* Angles stay within a turn of zero, so that no digits are lost in long runs: 2 pi is taken off in
 * two parts, of which multiples of the first are exact. Looked after every 16 steps. */
#define ANGLE_WIDE 3.5

static inline void wrap_angle(real *q, real *low, real *turns, int compensated)
{
    real shifted = fma_(*q, broadcast(0x1.45f306dc9c883p-3), broadcast(TRIG_ROUND));
    real full = select_(less(broadcast(ANGLE_WIDE), abs_(*q)), shifted - TRIG_ROUND, broadcast(0));
    *q = fma_(-full, broadcast(0x1.921fb544p+2), *q);
    real rest = full * -0x1.0b4611a626331p-32;
    if (compensated)
        accumulate(q, low, rest);
    else
        *q = *q + rest;
    *turns = *turns + full;
}

static inline int wide_angle(real q)
{
    return any(less(broadcast(ANGLE_WIDE), abs_(q)));
}

#ifdef NH_EMITTED

/* Element by element, so that the compiler keeps the state in registers during a step; users'
 * functions read it from memory. */
static inline void copy_reals(real *to, const real *from, int count)
{
#ifdef NH_CALLBACKS
    __builtin_memcpy(to, from, (unsigned long)count * sizeof *to);
#elif N <= 16
    _Pragma("GCC unroll 128") for (int i = 0; i < count; i++) to[i] = from[i];
#else
    EACH(i, count) to[i] = from[i];
#endif
}

/* Weights of many lanes lie on the stack, beside the arrays that they are multiplied with. As
 * constants of the program, copies of one and the same kernel took 94 or 152 ns a step, some copies
 * the one and some the other, anew in each process; from the stack always 94. (Perhaps because a
 * processor takes the load of a constant for that of an array just stored, when their addresses
 * agree in the last twelve bits; this was not found out for certain.) The compiler must not know
 * them, or it makes constants of them. */
#ifdef WEIGHTS_AT_HAND
typedef struct weights {
    real at[TABLE_SIZE];
} weights;
static inline void lay_weights(weights *w)
{
    for (int i = 0; i < TABLE_SIZE; i++)
        w->at[i] = broadcast(TABLE[i]);
    __asm__ volatile("" : "+m"(*w));
}
#define WITH_WEIGHTS                                                                               \
    weights table_;                                                                                \
    lay_weights(&table_)
#define WEIGHTS_OF(k) ((k)->weight = table_.at)
#else
#define WITH_WEIGHTS (void)0
#define WEIGHTS_OF(k) (void)0
#endif

/* What `count` kernels need beside them: room for their memory, and the weights. */
#define WITH_ROOM(count)                                                                           \
    real memory_[count][SOME(MEMORY)];                                                             \
    WITH_WEIGHTS
#define ROOM_OF(k, place) ((k)->memory = memory_[place], WEIGHTS_OF(k))

static inline void load(kernel *k, nh_kernel_io *io, double h)
{
    k->io = io;
    k->h = h;
    copy_reals(k->q, (const real *)io->q, N);
    copy_reals(k->v, (const real *)io->v, N);
    if (COMPENSATED) {
        copy_reals(k->q_low, (const real *)io->q_low, N);
        copy_reals(k->v_low, (const real *)io->v_low, N);
    }
    copy_reals(k->memory, (const real *)io->memory, MEMORY);
}

static inline void store(const kernel *k)
{
    nh_kernel_io *io = k->io;
    copy_reals((real *)io->q, k->q, N);
    copy_reals((real *)io->v, k->v, N);
    if (COMPENSATED) {
        copy_reals((real *)io->q_low, k->q_low, N);
        copy_reals((real *)io->v_low, k->v_low, N);
    }
    copy_reals((real *)io->memory, k->memory, MEMORY);
}

#define ENTER(k) (void)0

static inline void wrap_angles(kernel *k)
{
#define WRAP(place, coordinate)                                                                    \
    if (wide_angle(k->q[coordinate]))                                                              \
        wrap_angle(k->q + coordinate, k->q_low + coordinate, (real *)k->io->turns + place,         \
                   COMPENSATED);
    NH_ANGLES(WRAP)
}

#else

#define WITH_ROOM(count) (void)0
#define ROOM_OF(k, place) (void)0

static inline void load(kernel *k, nh_kernel_io *io, double h)
{
    const nh_shape *shape = io->shape;
    *k = (kernel){.io = io,
                  .h = h,
                  .q = (real *)io->q,
                  .v = (real *)io->v,
                  .q_low = (real *)io->q_low,
                  .v_low = (real *)io->v_low,
                  .memory = (real *)io->memory,
                  .top = (real *)io->scratch,
                  .n = shape->n,
                  .m = shape->m,
                  .nk = shape->nk,
                  .nb = shape->nb,
                  .reaction_is_linear = shape->reaction_is_linear,
                  .constant_mass = shape->constant_mass,
                  .compensated = io->compensated,
                  .b_first = shape->b_first,
                  .b_column = shape->b_column,
                  .option = io->option,
                  .table = io->table,
                  .call = io->call,
                  .self = io->self};
}

static inline void store(const kernel *k)
{
    (void)k;
}

#define COMPOSED(io) ((io)->parts > 1)
#define ENTER(k) ((k)->top = (real *)(k)->io->scratch)

static inline void wrap_angles(kernel *k)
{
    const nh_shape *s = k->io->shape;
    for (int a = 0; a < s->angles; a++)
        if (wide_angle(k->q[s->angle[a]]))
            wrap_angle(k->q + s->angle[a], k->q_low + s->angle[a], (real *)k->io->turns + a,
                       COMPENSATED);
}

#endif

/* A part of a step that many systems do not need. In the general kernel it is kept out of the way
 * of the others; an emitted one has it or has it not. */
#ifdef NH_EMITTED
#define APART
#else
#define APART __attribute__((noinline))
#endif

static inline int no_start(kernel *k)
{
    (void)k;
    return NH_KERNEL_OK;
}

/* The state after a step, where it is wanted on the way. */
static inline void keep_row(const kernel *k, long long index)
{
#if LANES == 1
    const nh_kernel_io *io = k->io;
    const long long place = (index - io->row_from) / io->every - 1;
    double *row = io->row + place * (1 + 2 * N);
    row[0] = io->time + (double)index * io->step;
    EACH(i, N) row[1 + i] = k->q[i];
    EACH(i, N) row[1 + N + i] = k->v[i];
    if (io->wrapped)
        EACH(i, N) io->wrapped[place * N + i] = k->q[i];
#ifdef NH_EMITTED
#define WHOLE(place, coordinate)                                                                   \
    row[1 + coordinate] = nh_whole_angle(k->q[coordinate], io->turns[place]);
    NH_ANGLES(WHOLE)
#else
    for (int a = 0; a < io->shape->angles; a++)
        row[1 + io->shape->angle[a]] = nh_whole_angle(k->q[io->shape->angle[a]], io->turns[a]);
#endif
#else
    (void)k, (void)index;
#endif
}

/* The next step after which a row is wanted, or one that never comes. */
static inline long long next_row(const nh_kernel_io *io)
{
    return io->row ? io->row_from + ((io->index - io->row_from) / io->every + 1) * io->every : -1;
}

/* Advances one group, whose state an emitted kernel keeps in registers. */
#define ADVANCE_ONE(body)                                                                          \
    static int advance_##body(nh_kernel_io *io, int groups, long long steps)                       \
    {                                                                                              \
        kernel k;                                                                                  \
        int status = NH_KERNEL_OK;                                                                 \
        long long index = io->index, last = index + steps, due = next_row(io);                     \
        double time = io->time;                                                                    \
        (void)groups;                                                                              \
        WITH_ROOM(1);                                                                              \
        ROOM_OF(&k, 0);                                                                            \
        load(&k, io, io->step);                                                                    \
        for (; index < last; index++) {                                                            \
            status = whole_##body(&k, io, time + (double)index * io->step);                        \
            if (__builtin_expect(status, 0))                                                       \
                break;                                                                             \
            if ((index & 15) == 15)                                                                \
                wrap_angles(&k);                                                                   \
            if (index + 1 == due) {                                                                \
                keep_row(&k, due);                                                                 \
                due += io->every;                                                                  \
            }                                                                                      \
        }                                                                                          \
        io->index = index;                                                                         \
        store(&k);                                                                                 \
        return status;                                                                             \
    }

/* Advances several groups, step by step in turn: a step waits for the one before it, but not for
 * those of other groups, so while one waits another computes. Their states stay side by side in
 * `team`, from which an emitted kernel takes the present one into registers; where they are too
 * large for that, each lies where the caller has it and is loaded for each step. */
#if defined(NH_EMITTED)
#if (4 * N + MEMORY) * LANES <= 4096
#define STATES_ARE_SMALL
#endif
#endif
#ifdef STATES_ARE_SMALL
enum { TEAM = NH_TEAM_MAX };
static inline void copy_state(kernel *to, const kernel *from)
{
    to->io = from->io;
    copy_reals(to->q, from->q, N);
    copy_reals(to->v, from->v, N);
    if (COMPENSATED) {
        copy_reals(to->q_low, from->q_low, N);
        copy_reals(to->v_low, from->v_low, N);
    }
    to->memory = from->memory; /* is read and written once a step */
    to->weight = from->weight;
}
#define TAKE(k, place)                                                                             \
    kernel present, *k = &present;                                                                 \
    copy_state(k, place)
#define PUT_BACK(place, k) copy_state(place, k)
#else
#ifdef NH_EMITTED
enum { TEAM = 1 };
#else
enum { TEAM = NH_TEAM_MAX };
#endif
#define TAKE(k, place) kernel *k = (place)
#define PUT_BACK(place, k) (void)0
#endif
#define ADVANCE_TEAM(body)                                                                         \
    static int advance_##body(nh_kernel_io *io, int groups, long long steps)                       \
    {                                                                                              \
        kernel team[TEAM];                                                                         \
        const double time = io->time, h = io->step;                                                \
        int status = NH_KERNEL_OK, done = 0; /* groups that have done the present step */          \
        long long index = io->index, last = index + steps;                                         \
        WITH_ROOM(TEAM);                                                                           \
        for (int g = 0; g < TEAM; g++)                                                             \
            ROOM_OF(team + g, g);                                                                  \
        for (int g = 0; g < groups && TEAM > 1; g++)                                               \
            load(team + g, io + g, h);                                                             \
        for (; index < last; index++) {                                                            \
            for (done = 0; done < groups; done++) {                                                \
                kernel *place = team + (TEAM > 1 ? done : 0);                                      \
                if (TEAM == 1)                                                                     \
                    load(place, io + done, h);                                                     \
                TAKE(k, place);                                                                    \
                k->h = h;                                                                          \
                status = whole_##body(k, io, time + (double)index * h);                            \
                if (__builtin_expect(status, 0))                                                   \
                    break;                                                                         \
                if ((index & 15) == 15)                                                            \
                    wrap_angles(k);                                                                \
                PUT_BACK(place, k);                                                                \
                if (TEAM == 1)                                                                     \
                    store(place);                                                                  \
            }                                                                                      \
            if (__builtin_expect(status, 0))                                                       \
                break;                                                                             \
        }                                                                                          \
        for (int g = 0; g < groups; g++) {                                                         \
            io[g].index = index + (status && g < done);                                            \
            if (TEAM > 1)                                                                          \
                store(team + g);                                                                   \
        }                                                                                          \
        return status;                                                                             \
    }

#if LANES > 1
#define ADVANCE ADVANCE_TEAM
#else
#define ADVANCE ADVANCE_ONE
#endif

/* Makes a kernel known under the method's name: its start (no_start for methods without memory) and
 * its step. */
#ifdef NH_EMITTED
#define KERNEL_SYMBOL(name) __attribute__((visibility("default"))) const nh_kernel nh_emitted_kernel
#else
#define KERNEL_PASTE2(name, variant) nh_kernel_##name##_##variant
#define KERNEL_PASTE(name, variant) KERNEL_PASTE2(name, variant)
#define KERNEL_SYMBOL(name) const nh_kernel KERNEL_PASTE(name, NH_VARIANT)
#endif

#define KERNEL(name, start, body)                                                                  \
    static int start_##body(nh_kernel_io *io)                                                      \
    {                                                                                              \
        kernel k;                                                                                  \
        WITH_ROOM(1);                                                                              \
        ROOM_OF(&k, 0);                                                                            \
        load(&k, io, io->step);                                                                    \
        ENTER(&k);                                                                                 \
        k.t = io->time + (double)io->index * io->step;                                             \
        int status = start(&k);                                                                    \
        store(&k);                                                                                 \
        return status;                                                                             \
    }                                                                                              \
    static inline int whole_##body(kernel *k, const nh_kernel_io *io, double t)                    \
    {                                                                                              \
        int status = NH_KERNEL_OK;                                                                 \
        k->t = t;                                                                                  \
        ENTER(k);                                                                                  \
        if (!COMPOSED(io))                                                                         \
            return body(k);                                                                        \
        for (int part = 0; part < io->parts && !status; part++) {                                  \
            ENTER(k);                                                                              \
            k->h = io->step * io->part[part];                                                      \
            k->t = t + io->step * io->part[io->parts + part];                                      \
            status = body(k);                                                                      \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    ADVANCE(body)                                                                                  \
    KERNEL_SYMBOL(name) = {start_##body, advance_##body}

#endif
