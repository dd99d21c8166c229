/* Instructions of x86-64 byte by byte, and which values of a tape its vector registers hold. Part
 * of machine.c, where no other processor's compiler looks. */
#ifndef NH_CODE_REGISTERS_H
#define NH_CODE_REGISTERS_H

#include <stdlib.h>

#include "code/interpret.h"

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { MAP_0F = 1, MAP_0F38 = 2 };          /* VEX: table of instructions */
enum { PP_NONE = 0, PP_66 = 1, PP_F2 = 3 }; /* VEX: prefix that is part of the instruction */
enum { CACHED = 15, SIGN = 15, NONE = 0, NOT_HELD = -1 }; /* 0 .. 14 hold values, 15 the sign */
enum { DISPLACEMENT_MAX = 1 << 30 };

/* Which register points to each array: those that the caller passes as arguments of nh_call_fn, and
 * where the code makes calls itself, those that calls leave alone. */
static const int argument_base[NH_PLACE_ARRAYS] = {
    [NH_Q] = RDX, [NH_V] = RCX, [NH_X] = R8, [NH_PLACE_OUT] = R9, [NH_PLACE_SLOTS] = RDI};
static const int lasting_base[NH_PLACE_ARRAYS] = {
    [NH_Q] = RBX, [NH_V] = RBP, [NH_X] = R12, [NH_PLACE_OUT] = R13, [NH_PLACE_SLOTS] = R14};

typedef struct writer {
    unsigned char *byte;
    size_t length, room;
    bool failed;
    int lanes;
    nh_op_function *const *operation;
    const int *base;
    nh_place_of_value
        held[CACHED];         /* what each vector register holds; array NH_PLACE_ARRAYS: nothing */
    size_t used[CACHED], now; /* when it was last wanted */
    bool unsaved[CACHED];     /* its place in the slots does not have it yet */
    /* of the present tape */
    const nh_tape *tape;
    bool calls, loops, has_sign, reads_time, touches[NH_PLACE_ARRAYS];
    /* of the present loop: r11 has this many times what the turns have counted; 0: something else
     */
    int32_t multiple;
} writer;

/* ---- bytes ---- */

static inline void put(writer *w, unsigned value)
{
    if (w->length == w->room) {
        size_t room = w->room ? 2 * w->room : 4096;
        unsigned char *byte = realloc(w->byte, room);
        if (!byte) {
            w->failed = true;
            return;
        }
        w->byte = byte, w->room = room;
    }
    w->byte[w->length++] = (unsigned char)value;
}

static inline void put_number(writer *w, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put(w, (unsigned)(value >> 8 * i & 255));
}

/* In a loop a register counts, turn by turn, the bytes of one step. Calls leave it alone where
 * there are any. */
static inline int counter(const writer *w)
{
    return w->calls ? R15 : R10;
}

/* Which register says how far a place has moved; NONE for places that do not move. The processor
 * multiplies the counter by 1, 2, 4 or 8 itself; other multiples are made in r11 beforehand. */
static inline int moved_by(const nh_place_of_value *place, const writer *w)
{
    int32_t step = place->step;
    return step == 0 ? NONE : step == 1 || step == 2 || step == 4 || step == 8 ? counter(w) : R11;
}

static inline void make_multiple(writer *w, nh_place_of_value place)
{
    if (moved_by(&place, w) != R11 || w->multiple == place.step)
        return;
    put(w, 0x4D), put(w, 0x69), put(w, 0xD8u | (unsigned)(counter(w) & 7)); /* imul r11, counter */
    put_number(w, (uint32_t)place.step, 4);
    w->multiple = place.step;
}

/* ModRM with a place in memory: [base + displacement], in a loop [base + moved + displacement]. */
static inline void put_memory(writer *w, int reg, nh_place_of_value place)
{
    int base = w->base[place.array], moved = moved_by(&place, w);
    uint64_t displacement = (uint64_t)place.index * (uint64_t)w->lanes * sizeof(double);
    const bool near = displacement < 128;
    unsigned mode = (near ? 0x40u : 0x80u) | (unsigned)(reg & 7) << 3;
    if (moved != NONE) {
        unsigned scale = moved == R11 ? 0 : (unsigned)__builtin_ctz((unsigned)place.step);
        put(w, mode | 4);
        put(w, scale << 6 | (unsigned)(moved & 7) << 3 | (unsigned)(base & 7));
    } else {
        put(w, mode | (unsigned)(base & 7));
        if ((base & 7) == RSP)
            put(w, 0x24); /* that base needs a second byte */
    }
    w->failed |= displacement > DISPLACEMENT_MAX;
    put_number(w, displacement, near ? 1 : 4);
}

/* The prefix of a vector instruction: `rm` is the register whose high bit it carries, and so does
 * `moved` of an address. */
static inline void put_vex(writer *w, int map, int pp, int wide, int reg, int second, int rm,
                           int moved)
{
    put(w, 0xC4);
    put(w, (reg < 8 ? 0x80u : 0) | (moved < 8 ? 0x40u : 0) | (rm < 8 ? 0x20u : 0) | (unsigned)map);
    put(w, (unsigned)wide << 7 | (unsigned)(~second & 15) << 3 | (w->lanes > 1 ? 4u : 0) |
               (unsigned)pp);
}

static inline void on_registers(writer *w, int map, int pp, int wide, int opcode, int to, int a,
                                int b)
{
    put_vex(w, map, pp, wide, to, a, b, NONE);
    put(w, (unsigned)opcode);
    put(w, 0xC0u | (unsigned)(to & 7) << 3 | (unsigned)(b & 7));
}

static inline void on_memory(writer *w, int map, int pp, int wide, int opcode, int to, int a,
                             nh_place_of_value b)
{
    make_multiple(w, b);
    put_vex(w, map, pp, wide, to, a, w->base[b.array], moved_by(&b, w));
    put(w, (unsigned)opcode);
    put_memory(w, to, b);
}

/* ---- moves: scalar ones for one lane, else whole registers ---- */

static inline int prefix(const writer *w)
{
    return w->lanes > 1 ? PP_66 : PP_F2;
}

static inline void move_memory(writer *w, int opcode, int reg, nh_place_of_value place)
{
    on_memory(w, MAP_0F, prefix(w), 0, opcode, reg, NONE, place);
}

static inline void load(writer *w, int reg, nh_place_of_value place)
{
    move_memory(w, 0x10, reg, place);
}

static inline void store(writer *w, int reg, nh_place_of_value place)
{
    move_memory(w, 0x11, reg, place);
}

/* ---- values in registers ---- */

static inline bool same(nh_place_of_value a, nh_place_of_value b)
{
    return a.array == b.array && a.index == b.index && a.step == b.step;
}

/* The register is free; what it held is nobody's any more. */
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

/* A place gets a new value: whoever held the old one does no longer. Results and what others than
 * this turn will read are stored at once, the rest when its register is wanted for something else.
 */
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
