/* Tracks which values of a tape the vector registers hold while machine code is written. Part of
 * machine.c, on x86-64 only. */
#ifndef NH_CODE_REGISTERS_H
#define NH_CODE_REGISTERS_H

#include "code/interpret.h"
#include "code/x86.h"

enum { CACHED = 15, SIGN = 15, NOT_HELD = -1 }; /* 0 .. 14 hold values, 15 the sign */

/* The register that points to each array: those in which the caller passes the arguments of
 * nh_call_fn or, if the code itself makes calls, registers that calls preserve. */
static const int argument_base[NH_PLACE_ARRAYS] = {
    [NH_Q] = RDX, [NH_V] = RCX, [NH_X] = R8, [NH_PLACE_OUT] = R9, [NH_PLACE_SLOTS] = RDI};
static const int lasting_base[NH_PLACE_ARRAYS] = {
    [NH_Q] = RBX, [NH_V] = RBP, [NH_X] = R12, [NH_PLACE_OUT] = R13, [NH_PLACE_SLOTS] = R14};

typedef struct writer {
    assembler x;
    nh_op_function *const *operation;
    const int *base;
    nh_place_of_value
        held[CACHED];         /* what each vector register holds; array NH_PLACE_ARRAYS: nothing */
    size_t used[CACHED], now; /* when it was last used */
    bool unsaved[CACHED];     /* its slot in memory does not have the value yet */
    /* of the present tape */
    const nh_tape *tape;
    bool calls, loops, has_sign, reads_time, touches[NH_PLACE_ARRAYS];
    /* in the present loop: r11 is this multiple of the counter; 0: something else */
    int32_t multiple;
} writer;

/* ---- places ---- */

/* In a loop a register counts the bytes of one step. If there are calls, it is one that they
 * preserve. */
static inline int counter(const writer *w)
{
    return w->calls ? R15 : R10;
}

/* The address of a place. The processor itself multiplies the counter by 1, 2, 4 or 8; other
 * multiples are computed in r11 beforehand. */
static inline memory_operand address_of(writer *w, nh_place_of_value place)
{
    const int32_t step = place.step;
    memory_operand at = {.base = w->base[place.array],
                         .displacement =
                             (uint64_t)place.index * (uint64_t)w->x.lanes * sizeof(double)};
    if (step == 1 || step == 2 || step == 4 || step == 8) {
        at.index = counter(w);
        at.scale = (unsigned)step;
    } else if (step != 0) {
        if (w->multiple != step)
            imul(&w->x, R11, counter(w), (uint32_t)step);
        w->multiple = step;
        at.index = R11;
        at.scale = 1;
    }
    return at;
}

/* ---- moves: scalar for one lane, otherwise whole registers ---- */

static inline void load(writer *w, int reg, nh_place_of_value place)
{
    on_memory(&w->x, VMOV_LOAD, reg, NO_REGISTER, address_of(w, place));
}

static inline void store(writer *w, int reg, nh_place_of_value place)
{
    on_memory(&w->x, VMOV_STORE, reg, NO_REGISTER, address_of(w, place));
}

/* ---- values in registers ---- */

static inline bool same(nh_place_of_value a, nh_place_of_value b)
{
    return a.array == b.array && a.index == b.index && a.step == b.step;
}

/* Frees the register; the value that it held is discarded. */
static inline void drop(writer *w, int r)
{
    w->held[r].array = NH_PLACE_ARRAYS;
    w->used[r] = 0;
    w->unsaved[r] = false;
}

static inline void forget(writer *w)
{
    for (int r = 0; r < CACHED; r++)
        drop(w, r);
}

static inline void save(writer *w, int r)
{
    if (w->unsaved[r])
        store(w, r, w->held[r]);
    w->unsaved[r] = false;
}

static inline int free_register(writer *w)
{
    int oldest = 0;
    for (int r = 1; r < CACHED; r++)
        if (w->used[r] < w->used[oldest])
            oldest = r;
    save(w, oldest);
    drop(w, oldest);
    w->used[oldest] = ++w->now;
    return oldest;
}

static inline int register_of(const writer *w, nh_place_of_value place)
{
    for (int r = 0; r < CACHED; r++)
        if (same(w->held[r], place))
            return r;
    return NOT_HELD;
}

static inline int value_of(writer *w, nh_place_of_value place)
{
    int r = register_of(w, place);
    if (r == NOT_HELD) {
        r = free_register(w);
        load(w, r, place);
        w->held[r] = place;
    }
    w->used[r] = ++w->now;
    return r;
}

static inline void save_all(writer *w)
{
    for (int r = 0; r < CACHED; r++)
        save(w, r);
}

/* Records that a place has a new value in this register, and that no other register holds it.
 * Outputs and values that are read outside this iteration are stored at once, others only when
 * their register is needed. */
static inline void keep(writer *w, int reg, nh_place_of_value place)
{
    for (int r = 0; r < CACHED; r++)
        if (r != reg && same(w->held[r], place))
            drop(w, r);
    save(w, reg);
    w->held[reg] = place;
    w->used[reg] = ++w->now;
    w->unsaved[reg] = place.array == NH_PLACE_SLOTS && place.step == 0;
    if (!w->unsaved[reg])
        store(w, reg, place);
}

#endif
