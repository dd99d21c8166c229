/* Advancing: how a kernel loads its state, takes many steps, and is declared. This is the second
 * half of kernel.h, which includes it; methods use only KERNEL and no_start from it. */
#ifndef NH_KERNEL_ADVANCE_H
#define NH_KERNEL_ADVANCE_H

/* Angles stay within a revolution of zero, so that no digits are lost in long runs: 2 pi is
 * subtracted in two parts, and multiples of the first part are exact. This is done every 16
 * steps. */
#define ANGLE_WIDE 3.5

static inline void wrap_angle(real *q, real *low, real *revolutions, int compensated)
{
    real shifted = fma_(*q, broadcast(0x1.45f306dc9c883p-3), broadcast(TRIG_ROUND));
    real full = select_(less(broadcast(ANGLE_WIDE), abs_(*q)), shifted - TRIG_ROUND, broadcast(0));
    full = frozen_(full);
    *q = fma_(-full, broadcast(0x1.921fb544p+2), *q);
    real rest = full * -0x1.0b4611a626331p-32;
    if (compensated)
        accumulate(q, low, rest);
    else
        *q = *q + rest;
    *revolutions = *revolutions + full;
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

/* In kernels of many lanes the weights are on the stack, next to the arrays that they multiply.
 * When they were constants of the program, copies of one and the same kernel took either 94 or 152
 * ns per step, differently in each process; with weights on the stack they always take 94. (Perhaps
 * a processor mistakes the load of a constant for that of an array just stored if their addresses
 * agree in the last twelve bits; this was not established.) The compiler must not know the values,
 * or it turns them into constants again. */
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

/* What a kernel needs besides itself: room for its memory, and the weights. */
#define WITH_ROOM                                                                                  \
    real memory_[SOME(MEMORY)];                                                                    \
    WITH_WEIGHTS
#define ROOM_OF(k) ((k)->memory = memory_, WEIGHTS_OF(k))

static inline void load_state(kernel *k, const real *q, const real *v, const real *q_low,
                              const real *v_low)
{
    copy_reals(k->q, q, N);
    copy_reals(k->v, v, N);
    if (COMPENSATED) {
        copy_reals(k->q_low, q_low, N);
        copy_reals(k->v_low, v_low, N);
    }
}

static inline void store_state(const kernel *k, real *q, real *v, real *q_low, real *v_low)
{
    copy_reals(q, k->q, N);
    copy_reals(v, k->v, N);
    if (COMPENSATED) {
        copy_reals(q_low, k->q_low, N);
        copy_reals(v_low, k->v_low, N);
    }
}

static inline void load(kernel *k, nh_kernel_io *io, scalar h)
{
    k->io = io;
    k->h = h;
    k->u = (const real *)io->u;
    UNWATCHED(k);
    load_state(k, (const real *)io->q, (const real *)io->v, (const real *)io->q_low,
               (const real *)io->v_low);
    copy_reals(k->memory, (const real *)io->memory, MEMORY);
}

static inline void store(const kernel *k)
{
    const nh_kernel_io *io = k->io;
    store_state(k, (real *)io->q, (real *)io->v, (real *)io->q_low, (real *)io->v_low);
    copy_reals((real *)io->memory, k->memory, MEMORY);
}

#define ENTER(k) (void)0
#define NOTE_SCRATCH(k) (void)0

static inline void wrap_angles(kernel *k)
{
#define WRAP(place, coordinate)                                                                    \
    if (wide_angle(k->q[coordinate]))                                                              \
        wrap_angle(k->q + coordinate, k->q_low + coordinate, (real *)k->io->revolutions + place,   \
                   COMPENSATED);
    NH_ANGLES(WRAP)
}

#else

#define WITH_ROOM (void)0
#define ROOM_OF(k) (void)0

static inline void load(kernel *k, nh_kernel_io *io, scalar h)
{
    const nh_shape *shape = io->shape;
    *k = (kernel){.io = io,
                  .h = h,
                  .q = (real *)io->q,
                  .v = (real *)io->v,
                  .q_low = (real *)io->q_low,
                  .v_low = (real *)io->v_low,
                  .memory = (real *)io->memory,
                  .u = (const real *)io->u,
                  .top = (real *)io->scratch,
                  .peak = (real *)io->scratch,
                  .n = shape->n,
                  .m = shape->m,
                  .nk = shape->nk,
                  .nb = shape->nb,
                  .positions = shape->positions,
                  .reaction_is_linear = shape->reaction_is_linear,
                  .constant_mass = shape->constant_mass,
                  .compensated = io->compensated,
                  .b_first = shape->b_first,
                  .b_column = shape->b_column,
                  .option = io->option,
                  .table = io->table,
                  .size = io->size,
                  .call = io->call,
                  .self = io->self};
}

static inline void store(const kernel *k)
{
    const real *peak = k->top > k->peak ? k->top : k->peak;
    const long long taken = peak - (const real *)k->io->scratch;
    if (taken > *k->io->scratch_peak)
        *k->io->scratch_peak = taken;
}

#define COMPOSED(io) ((io)->parts > 1)
#define ENTER(k) ((k)->top = (real *)(k)->io->scratch)
#define NOTE_SCRATCH(k) note_scratch(k)

static inline void wrap_angles(kernel *k)
{
    const nh_shape *s = k->io->shape;
    for (int a = 0; a < s->angles; a++)
        if (wide_angle(k->q[s->angle[a]]))
            wrap_angle(k->q + s->angle[a], k->q_low + s->angle[a], (real *)k->io->revolutions + a,
                       COMPENSATED);
}

#endif

static inline int no_start(kernel *k)
{
    (void)k;
    return NH_KERNEL_OK;
}

/* Stores the state after a step, if the caller asked for it. */
static inline void keep_row(const kernel *k, long long index)
{
#if LANES == 1 && !defined(NH_DUAL)
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
    row[1 + coordinate] = nh_whole_angle(k->q[coordinate], io->revolutions[place]);
    NH_ANGLES(WHOLE)
#else
    for (int a = 0; a < io->shape->angles; a++)
        row[1 + io->shape->angle[a]] =
            nh_whole_angle(k->q[io->shape->angle[a]], io->revolutions[a]);
#endif
#else
    (void)k, (void)index;
#endif
}

/* The next step after which a row is to be stored; a step that is never reached if there is
 * none. */
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
        const scalar time = BEGIN_OF(io), h = STEP_OF(io);                                         \
        (void)groups;                                                                              \
        WITH_ROOM;                                                                                 \
        ROOM_OF(&k);                                                                               \
        load(&k, io, h);                                                                           \
        for (; index < last; index++) {                                                            \
            status = whole_##body(&k, io, time + (double)index * h);                               \
            if (__builtin_expect(status, 0))                                                       \
                break;                                                                             \
            if ((index & 15) == 15) {                                                              \
                wrap_angles(&k);                                                                   \
                NOTE_SCRATCH(&k);                                                                  \
            }                                                                                      \
            if (index + 1 == due) {                                                                \
                keep_row(&k, due);                                                                 \
                due += io->every;                                                                  \
            }                                                                                      \
        }                                                                                          \
        io->index = index;                                                                         \
        store(&k);                                                                                 \
        return status;                                                                             \
    }

/* Advances several groups, one step of each in turn: a step waits for the previous step of its
 * group, but not for those of other groups, so one group computes while another waits. The states
 * stay in the caller's memory; an emitted kernel loads the current one into registers, from
 * contiguous memory (kernel_io.h): with a second pointer, to the memory of the method, leapfrog
 * took a tenth longer. */
#ifdef NH_EMITTED
#define ADVANCE_IN_TURN(body, name)                                                                \
    static int name(nh_kernel_io *io, int groups, long long steps)                                 \
    {                                                                                              \
        real *state[NH_TEAM];                                                                      \
        const double time = io->time, h = io->step;                                                \
        int status = NH_KERNEL_OK, done = 0; /* groups that have done the present step */          \
        const long long last = io->index + steps;                                                  \
        long long index = io->index;                                                               \
        WITH_WEIGHTS;                                                                              \
        for (int g = 0; g < groups; g++)                                                           \
            state[g] = (real *)io[g].q;                                                            \
        for (; index < last; index++) {                                                            \
            for (done = 0; done < groups; done++) {                                                \
                kernel present, *k = &present;                                                     \
                real *at = state[done];                                                            \
                k->io = io + done;                                                                 \
                k->h = h;                                                                          \
                k->memory = at + 4 * N + ANGLES;                                                   \
                k->u = k->memory + MEMORY;                                                         \
                UNWATCHED(k);                                                                      \
                WEIGHTS_OF(k);                                                                     \
                load_state(k, at, at + N, at + 2 * N, at + 3 * N);                                 \
                status = whole_##body(k, io, time + (double)index * h);                            \
                if (__builtin_expect(status, 0))                                                   \
                    break;                                                                         \
                if ((index & 15) == 15)                                                            \
                    wrap_angles(k);                                                                \
                store_state(k, at, at + N, at + 2 * N, at + 3 * N);                                \
            }                                                                                      \
            if (__builtin_expect(status, 0))                                                       \
                break;                                                                             \
        }                                                                                          \
        for (int g = 0; g < groups; g++)                                                           \
            io[g].index = index + (status && g < done);                                            \
        return status;                                                                             \
    }
#define ADVANCE_TEAM(body) ADVANCE_IN_TURN(body, advance_##body)
#else
#define ADVANCE_TEAM(body)                                                                         \
    static int advance_##body(nh_kernel_io *io, int groups, long long steps)                       \
    {                                                                                              \
        kernel team[NH_TEAM];                                                                      \
        int status = NH_KERNEL_OK, done = 0; /* groups that have done the present step */          \
        const long long last = io->index + steps;                                                  \
        long long index = io->index;                                                               \
        for (int g = 0; g < groups; g++)                                                           \
            load(team + g, io + g, io->step);                                                      \
        for (; index < last; index++) {                                                            \
            for (done = 0; done < groups; done++) {                                                \
                kernel *k = team + done;                                                           \
                k->h = io->step;                                                                   \
                status = whole_##body(k, io, io->time + (double)index * io->step);                 \
                if (__builtin_expect(status, 0))                                                   \
                    break;                                                                         \
                if ((index & 15) == 15) {                                                          \
                    wrap_angles(k);                                                                \
                    NOTE_SCRATCH(k);                                                               \
                }                                                                                  \
            }                                                                                      \
            if (__builtin_expect(status, 0))                                                       \
                break;                                                                             \
        }                                                                                          \
        for (int g = 0; g < groups; g++) {                                                         \
            io[g].index = index + (status && g < done);                                            \
            store(team + g);                                                                       \
        }                                                                                          \
        return status;                                                                             \
    }
#endif

#include "kernel/abreast.h"
#include "kernel/pairs.h"

#ifdef NH_ABREAST
#define ADVANCE ADVANCE_ABREAST
#elif LANES > 1
#define ADVANCE ADVANCE_TEAM
#else
#define ADVANCE ADVANCE_ONE
#endif

/* Declares a kernel under the method's name: its start (no_start for methods without memory) and
 * its step. */
#ifdef NH_EMITTED
#define KERNEL_SYMBOL(name) __attribute__((visibility("default"))) const nh_kernel nh_emitted_kernel
#else
#define KERNEL_SYMBOL(name) const nh_kernel OF_VARIANT(nh_kernel_##name)
#endif

#ifdef GROUP_LANES
#define KERNEL(name, start, body)                                                                  \
    KERNEL_FUNCTIONS(start, body)                                                                  \
    static int start_paired(nh_kernel_io *io)                                                      \
    {                                                                                              \
        return start_in_pairs(io, start_##body);                                                   \
    }                                                                                              \
    static int advance_paired(nh_kernel_io *io, int groups, long long steps)                       \
    {                                                                                              \
        return advance_in_pairs(io, groups, steps, advance_##body);                                \
    }                                                                                              \
    KERNEL_SYMBOL(name) = {start_paired, advance_paired, NH_TEAM_MAX}
#else
#define KERNEL(name, start, body)                                                                  \
    KERNEL_FUNCTIONS(start, body)                                                                  \
    KERNEL_SYMBOL(name) = {start_##body, advance_##body, NH_KERNEL_TEAM}
#endif

/* start_BODY and advance_BODY. */
#define KERNEL_FUNCTIONS(start, body)                                                              \
    static int start_##body(nh_kernel_io *io)                                                      \
    {                                                                                              \
        kernel k;                                                                                  \
        WITH_ROOM;                                                                                 \
        ROOM_OF(&k);                                                                               \
        load(&k, io, STEP_OF(io));                                                                 \
        ENTER(&k);                                                                                 \
        k.t = BEGIN_OF(io) + (double)io->index * STEP_OF(io);                                      \
        int status = start(&k);                                                                    \
        store(&k);                                                                                 \
        return status;                                                                             \
    }                                                                                              \
    static inline int whole_##body(kernel *k, const nh_kernel_io *io, scalar t)                    \
    {                                                                                              \
        int status = NH_KERNEL_OK;                                                                 \
        k->t = t;                                                                                  \
        ENTER(k);                                                                                  \
        if (!COMPOSED(io))                                                                         \
            return body(k);                                                                        \
        for (int part = 0; part < io->parts && !status; part++) {                                  \
            ENTER(k);                                                                              \
            k->h = STEP_OF(io) * io->part[part];                                                   \
            k->t = t + STEP_OF(io) * io->part[io->parts + part];                                   \
            status = body(k);                                                                      \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    ADVANCE(body)

#endif
