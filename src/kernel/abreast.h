/* Groups abreast: several groups of a team advance in one stretch of code, in which the operations
 * of their steps alternate.
 *
 * Groups that take their steps in turn (advance.h) wait less than a single group does, but a
 * processor looks ahead only so far for something to do: Zen 3 holds 64 floating-point operations
 * that wait for their operands, about half a step. Here the compiler has interleaved the operations
 * already. It is given two steps of each group, because the end of one step and the beginning of
 * the next may be independent of each other; and four groups where few values are live at a time,
 * otherwise two. On the CVT, dla01 took 4.4 ns per step and trajectory in turn and takes 3.0
 * abreast; on the rolling disk 6.6 and 4.5. */
#ifndef NH_KERNEL_ABREAST_H
#define NH_KERNEL_ABREAST_H

#ifdef NH_ABREAST

/* Copies the state and the memory; the originals remain for a step that has to be repeated. */
static inline void load_abreast(kernel *k, real *memory, nh_kernel_io *io, real *widest)
{
    const real *at = (const real *)io->q;
    k->io = io;
    k->h = io->step;
    k->memory = memory;
    k->u = at + 4 * N + ANGLES + MEMORY;
    k->widest = widest;
    load_state(k, at, at + N, at + 2 * N, at + 3 * N);
    copy_reals(memory, at + 4 * N + ANGLES, MEMORY);
}

static inline void store_abreast(const kernel *k)
{
    real *at = (real *)k->io->q;
    store_state(k, at, at + N, at + 2 * N, at + 3 * N);
    copy_reals(at + 4 * N + ANGLES, k->memory, MEMORY);
    k->io->index += 2;
}

#if NH_PAIRS > 0 || COMPENSATED
#define ABREAST 2
#define ABREAST_EACH(X, body) X(0, body) X(1, body)
#else
#define ABREAST 4
#define ABREAST_EACH(X, body) X(0, body) X(1, body) X(2, body) X(3, body)
#endif
#define ABREAST_LOAD(g, body)                                                                      \
    kernel k##g;                                                                                   \
    real memory##g[SOME(MEMORY)];                                                                  \
    WEIGHTS_OF(&k##g);                                                                             \
    load_abreast(&k##g, memory##g, io + done + g, &widest);
#define ABREAST_STEP(g, body) status |= whole_##body(&k##g, io, t);
#define ABREAST_WRAP(g, body) wrap_angles(&k##g);
#define ABREAST_STORE(g, body) store_abreast(&k##g);

/* Advances from an even index, two steps at a time, as far as that is possible. When a wide
 * argument stops it, some groups may be two steps ahead of others. */
#define ADVANCE_ABREAST(body)                                                                      \
    __attribute__((flatten)) ADVANCE_IN_TURN(body, in_turn_##body)                                 \
        __attribute__((flatten)) static void abreast_##body(nh_kernel_io *io, long long last)      \
    {                                                                                              \
        const double time = io->time, h = io->step;                                                \
        int status = NH_KERNEL_OK;                                                                 \
        WITH_WEIGHTS;                                                                              \
        for (long long index = io->index; index + 2 <= last; index += 2)                           \
            for (int done = 0; done < NH_TEAM; done += ABREAST) {                                  \
                real widest = broadcast(0);                                                        \
                double t = time + (double)index * h;                                               \
                ABREAST_EACH(ABREAST_LOAD, body)                                                   \
                ABREAST_EACH(ABREAST_STEP, body)                                                   \
                t = time + (double)(index + 1) * h;                                                \
                ABREAST_EACH(ABREAST_STEP, body)                                                   \
                if (__builtin_expect(status || !all_less(widest, broadcast(TRIG_WIDE)), 0))        \
                    return;                                                                        \
                if ((index & 15) == 14) {                                                          \
                    ABREAST_EACH(ABREAST_WRAP, body)                                               \
                }                                                                                  \
                ABREAST_EACH(ABREAST_STORE, body)                                                  \
            }                                                                                      \
    }                                                                                              \
    static int advance_##body(nh_kernel_io *io, int groups, long long steps)                       \
    {                                                                                              \
        const long long last = io->index + steps;                                                  \
        int status = NH_KERNEL_OK;                                                                 \
        if (groups == NH_TEAM && steps > 1) {                                                      \
            if (io->index & 1)                                                                     \
                status = in_turn_##body(io, groups, 1);                                            \
            if (!status)                                                                           \
                abreast_##body(io, last);                                                          \
        }                                                                                          \
        if (status || io[0].index == io[groups - 1].index)                                         \
            return status ? status : in_turn_##body(io, groups, last - io->index);                 \
        for (int g = 0; g < groups && !status; g++)                                                \
            status = in_turn_##body(io + g, 1, last - io[g].index);                                \
        return status;                                                                             \
    }

#endif

#endif
