/* A tape is straight-line arithmetic and loops of it, and so is its machine code: values are kept
 * in vector registers as long as there is room and stored when it is needed, and an instruction
 * that no processor has is a call. Operations and their order are those of the tape, so bits are as
 * well.
 *
 * The code does arithmetic on five arrays and calls a fixed list of C functions; whatever the
 * model, it reads and writes only places of the tape, all of them settled here. Memory is never
 * writable and executable at once. */
#define _GNU_SOURCE
#include "program/machine.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(NH_HAVE_AVX2_VARIANTS)

#include <sys/mman.h>

#include "program/system.h"

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { MAP_0F = 1, MAP_0F38 = 2 };          /* VEX: table of instructions */
enum { PP_NONE = 0, PP_66 = 1, PP_F2 = 3 }; /* VEX: prefix that is part of the instruction */
enum { CACHED = 15, SIGN = 15, NONE = 0 };  /* registers 0 .. 14 hold values, 15 the sign bit */
enum { LINES_MAX = 500000, DISPLACEMENT_MAX = 1 << 30 };
/* Longer code is fetched no faster than a tape is interpreted: with the disk chain in straight
 * code, machine code takes 0.4 of the interpreter's time with 4096 disks, 0.6 to 0.8 with 8192
 * (fewer than 400,000 instructions), and as much or more with 16384. */

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
    nh_operation *const *operation;
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

static void put(writer *w, unsigned value)
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

static void put_number(writer *w, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put(w, (unsigned)(value >> 8 * i & 255));
}

/* In a loop a register counts, turn by turn, the bytes of one step. Calls leave it alone where
 * there are any. */
static int counter(const writer *w)
{
    return w->calls ? R15 : R10;
}

/* Which register says how far a place has moved; NONE for places that do not move. The processor
 * multiplies the counter by 1, 2, 4 or 8 itself; other multiples are made in r11 beforehand. */
static int moved_by(const nh_place_of_value *place, const writer *w)
{
    int32_t step = place->step;
    return step == 0 ? NONE : step == 1 || step == 2 || step == 4 || step == 8 ? counter(w) : R11;
}

static void make_multiple(writer *w, nh_place_of_value place)
{
    if (moved_by(&place, w) != R11 || w->multiple == place.step)
        return;
    put(w, 0x4D), put(w, 0x69), put(w, 0xD8u | (unsigned)(counter(w) & 7)); /* imul r11, counter */
    put_number(w, (uint32_t)place.step, 4);
    w->multiple = place.step;
}

/* ModRM with a place in memory: [base + displacement], in a loop [base + moved + displacement]. */
static void put_memory(writer *w, int reg, nh_place_of_value place)
{
    int base = w->base[place.array], moved = moved_by(&place, w);
    if (moved != NONE) {
        unsigned scale = moved == R11 ? 0 : (unsigned)__builtin_ctz((unsigned)place.step);
        put(w, 0x84u | (unsigned)(reg & 7) << 3);
        put(w, scale << 6 | (unsigned)(moved & 7) << 3 | (unsigned)(base & 7));
    } else {
        put(w, 0x80u | (unsigned)(reg & 7) << 3 | (unsigned)(base & 7));
        if ((base & 7) == RSP)
            put(w, 0x24); /* that base needs a second byte */
    }
    uint64_t displacement = (uint64_t)place.index * (uint64_t)w->lanes * sizeof(double);
    w->failed |= displacement > DISPLACEMENT_MAX;
    put_number(w, displacement, 4);
}

/* The prefix of a vector instruction: `rm` is the register whose high bit it carries, and so does
 * `moved` of an address. */
static void put_vex(writer *w, int map, int pp, int wide, int reg, int second, int rm, int moved)
{
    put(w, 0xC4);
    put(w, (reg < 8 ? 0x80u : 0) | (moved < 8 ? 0x40u : 0) | (rm < 8 ? 0x20u : 0) | (unsigned)map);
    put(w, (unsigned)wide << 7 | (unsigned)(~second & 15) << 3 | (w->lanes > 1 ? 4u : 0) |
               (unsigned)pp);
}

static void on_registers(writer *w, int map, int pp, int wide, int opcode, int to, int a, int b)
{
    put_vex(w, map, pp, wide, to, a, b, NONE);
    put(w, (unsigned)opcode);
    put(w, 0xC0u | (unsigned)(to & 7) << 3 | (unsigned)(b & 7));
}

/* ---- moves: scalar ones for one lane, else whole registers ---- */

static void move_memory(writer *w, int opcode, int reg, nh_place_of_value place)
{
    make_multiple(w, place);
    put_vex(w, MAP_0F, w->lanes > 1 ? PP_66 : PP_F2, 0, reg, NONE, w->base[place.array],
            moved_by(&place, w));
    put(w, (unsigned)opcode);
    put_memory(w, reg, place);
}

static void load(writer *w, int reg, nh_place_of_value place)
{
    move_memory(w, 0x10, reg, place);
}

static void store(writer *w, int reg, nh_place_of_value place)
{
    move_memory(w, 0x11, reg, place);
}

/* ---- values in registers ---- */

static bool same(nh_place_of_value a, nh_place_of_value b)
{
    return a.array == b.array && a.index == b.index && a.step == b.step;
}

/* The register is free; what it held is nobody's any more. */
static void drop(writer *w, int r)
{
    w->held[r].array = NH_PLACE_ARRAYS;
    w->used[r] = 0;
    w->unsaved[r] = false;
}

static void forget(writer *w)
{
    for (int r = 0; r < CACHED; r++)
        drop(w, r);
}

static void save(writer *w, int r)
{
    if (w->unsaved[r])
        store(w, r, w->held[r]);
    w->unsaved[r] = false;
}

static int free_register(writer *w)
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

static int value_of(writer *w, nh_place_of_value place)
{
    for (int r = 0; r < CACHED; r++)
        if (same(w->held[r], place)) {
            w->used[r] = ++w->now;
            return r;
        }
    int r = free_register(w);
    load(w, r, place);
    w->held[r] = place;
    return r;
}

static void save_all(writer *w)
{
    for (int r = 0; r < CACHED; r++)
        save(w, r);
}

/* A place gets a new value: whoever held the old one does no longer. Results and what others than
 * this turn will read are stored at once, the rest when its register is wanted for something else.
 */
static void keep(writer *w, int reg, nh_place_of_value place)
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

/* ---- instructions ---- */

/* The sign bit of every lane, before it is first needed. */
static void put_sign(writer *w)
{
    if (w->has_sign)
        return;
    w->has_sign = true;
    put(w, 0x48), put(w, 0xB8), put_number(w, 1ull << 63, 8); /* mov rax, sign bit */
    int lanes = w->lanes;
    w->lanes = 1;
    on_registers(w, MAP_0F, PP_66, 1, 0x6E, SIGN, NONE, RAX); /* vmovq */
    w->lanes = lanes;
    if (lanes > 1)
        on_registers(w, MAP_0F38, PP_66, 0, 0x19, SIGN, NONE, SIGN); /* vbroadcastsd */
}

static void put_address(writer *w, int reg, nh_place_of_value place)
{
    make_multiple(w, place);
    put(w, 0x48u | (w->base[place.array] >= 8 ? 1u : 0) | (moved_by(&place, w) >= 8 ? 2u : 0));
    put(w, 0x8D); /* lea */
    put_memory(w, reg, place);
}

static void put_zero_upper(writer *w)
{
    if (w->lanes > 1)
        put(w, 0xC5), put(w, 0xF8), put(w, 0x77);
}

static void move(writer *w, int to, int from)
{
    if (to != from)
        on_registers(w, MAP_0F, PP_66, 0, 0x28, to, NONE, from); /* vmovapd */
}

/* Functions called are of the same variant, so they take and give numbers in vector registers:
 * operands in the first two, the result in the first; a second result is stored by the function. */
static void call(writer *w, int op, const nh_place_of_value *at)
{
    bool two = nh_op_operands((uint32_t)op) > 1;
    int a = value_of(w, at[1]), b = two ? value_of(w, at[2]) : a;
    save_all(w);
    if (two) { /* by the register of signs, which is lost anyway, lest one overwrites the other */
        move(w, SIGN, a);
        move(w, 1, b);
        a = SIGN;
    }
    move(w, 0, a);
    if (op == NH_OP_SINCOS)
        put_address(w, RDI, at[3]);
    put(w, 0x48), put(w, 0xB8), put_number(w, (uint64_t)(uintptr_t)w->operation[op], 8);
    put(w, 0xFF), put(w, 0xD0); /* call rax */
    forget(w);
    w->has_sign = false;
    w->multiple = 0;
    keep(w, 0, at[0]);
}

static void arithmetic(writer *w, int opcode, const nh_place_of_value *at, bool unary)
{
    int a = value_of(w, at[1]), b = unary ? a : value_of(w, at[2]), to = free_register(w);
    int second = unary && w->lanes > 1 ? NONE : a;
    on_registers(w, MAP_0F, w->lanes > 1 ? PP_66 : PP_F2, 0, opcode, to, second, b);
    keep(w, to, at[0]);
}

/* to = c, then to += a b, or to -= a b */
static void fused(writer *w, int opcode, const nh_place_of_value *at)
{
    int a = value_of(w, at[1]), b = value_of(w, at[2]), c = value_of(w, at[3]),
        to = free_register(w);
    move(w, to, c);
    on_registers(w, MAP_0F38, PP_66, 1, w->lanes > 1 ? opcode : opcode + 1, to, a, b);
    keep(w, to, at[0]);
}

static void negate(writer *w, const nh_place_of_value *at)
{
    int a = value_of(w, at[1]), to = free_register(w);
    put_sign(w);
    on_registers(w, MAP_0F, PP_66, 0, 0x57, to, a, SIGN); /* vxorpd */
    keep(w, to, at[0]);
}

/* Time comes in a register and gets the slot behind all others. */
static nh_place_of_value place_at(const writer *w, uint8_t array, uint32_t index, int32_t step)
{
    if (array == NH_TIME)
        return (nh_place_of_value){NH_PLACE_SLOTS, (uint32_t)w->tape->slots, 0};
    return (nh_place_of_value){array, index, step};
}

static void instruction(writer *w, const nh_placed *i)
{
    const nh_place_of_value at[] = {
        place_at(w, i->to_array, i->to, i->to_step), place_at(w, i->a_array, i->a, i->a_step),
        place_at(w, i->b_array, i->b, i->b_step), place_at(w, i->c_array, i->c, i->c_step)};
    switch (i->op) {
    case NH_OP_ADD:
        arithmetic(w, 0x58, at, false);
        break;
    case NH_OP_MUL:
        arithmetic(w, 0x59, at, false);
        break;
    case NH_OP_SUB:
        arithmetic(w, 0x5C, at, false);
        break;
    case NH_OP_DIV:
        arithmetic(w, 0x5E, at, false);
        break;
    case NH_OP_SQRT:
        arithmetic(w, 0x51, at, true);
        break;
    case NH_OP_FMA:
        fused(w, 0xB8, at);
        break; /* vfmadd231 */
    case NH_OP_FNMA:
        fused(w, 0xBC, at);
        break; /* vfnmadd231 */
    case NH_OP_NEG:
        negate(w, at);
        break;
    case NH_OP_COPY:
        keep(w, value_of(w, at[1]), at[0]);
        break;
    default:
        call(w, i->op, at);
        break;
    }
}

/* ---- a whole tape ---- */

static void look_at(writer *w, const nh_tape *tape)
{
    w->tape = tape;
    w->calls = w->loops = w->has_sign = w->reads_time = false;
    w->multiple = 0;
    memset(w->touches, 0, sizeof w->touches);
    w->touches[NH_PLACE_SLOTS] = true;
    for (size_t i = 0; i < tape->lines; i++) {
        const nh_placed *x = tape->placed + i;
        w->calls |= w->operation[x->op] != NULL;
        w->touches[x->to_array] = w->touches[x->a_array] = true;
        w->touches[x->b_array] = w->touches[x->c_array] = true;
    }
    for (size_t i = 0; i < tape->stretches; i++)
        w->loops |= tape->stretch[i].turns > 1;
    for (size_t i = 0; i < tape->inputs; i++)
        w->reads_time |= tape->input[i].kind == NH_TIME;
}

static bool is_kept(const writer *w, int array)
{
    return w->calls && array != NH_TIME && w->touches[array];
}

static void put_push(writer *w, int opcode, int reg)
{
    if (reg >= 8)
        put(w, 0x41);
    put(w, (unsigned)(opcode + (reg & 7)));
}

static void put_align(writer *w, int opcode)
{
    int pushed = w->loops;
    for (int i = 0; i < NH_PLACE_ARRAYS; i++)
        pushed += is_kept(w, i);
    if (w->calls && pushed % 2 == 0) /* sub or add rsp, 8: calls want it aligned */
        put(w, 0x48), put(w, 0x83), put(w, (unsigned)opcode), put(w, 8);
}

static void begin(writer *w, const void *slots)
{
    w->base = w->calls ? lasting_base : argument_base;
    put(w, 0x48), put(w, 0xBF), put_number(w, (uint64_t)(uintptr_t)slots, 8); /* mov rdi, slots */
    for (int i = 0; i < NH_PLACE_ARRAYS; i++)
        if (is_kept(w, i)) {
            int from = argument_base[i], to = lasting_base[i];
            put_push(w, 0x50, to);
            put(w, 0x48u | (from >= 8 ? 4u : 0) | (to >= 8 ? 1u : 0));
            put(w, 0x89); /* mov lasting, argument */
            put(w, 0xC0u | (unsigned)(from & 7) << 3 | (unsigned)(to & 7));
        }
    if (w->calls && w->loops)
        put_push(w, 0x50, R15);
    put_align(w, 0xEC);
    forget(w);
    if (w->reads_time) {
        if (w->lanes > 1)
            on_registers(w, MAP_0F38, PP_66, 0, 0x19, 0, NONE, 0); /* vbroadcastsd */
        keep(w, 0, place_at(w, NH_TIME, 0, 0));
    }
}

static void end(writer *w)
{
    put_zero_upper(w);
    put_align(w, 0xC4);
    if (w->calls && w->loops)
        put_push(w, 0x58, R15);
    for (int i = NH_PLACE_ARRAYS; i-- > 0;)
        if (is_kept(w, i))
            put_push(w, 0x58, lasting_base[i]);
    put(w, 0x31), put(w, 0xC0), put(w, 0xC3); /* return 0 */
}

static void lines(writer *w, const nh_stretch *s)
{
    for (size_t i = 0; i < s->length && !w->failed; i++)
        instruction(w, w->tape->placed + s->first + i);
}

/* Group 1 of the arithmetic on integers: counter, number. */
static void on_counter(writer *w, unsigned operation, uint64_t number)
{
    put(w, 0x49), put(w, 0x81), put(w, operation | (unsigned)(counter(w) & 7));
    put_number(w, number, 4);
}

/* Every turn begins with nothing in registers. What it leaves there is stored where others read it;
 * the rest ends with the turn. */
static void repeat(writer *w, const nh_stretch *s)
{
    const uint64_t step = (uint64_t)w->lanes * sizeof(double);
    w->failed |= step * s->turns > DISPLACEMENT_MAX;
    save_all(w);
    on_counter(w, 0xE0, 0); /* and counter, 0 */
    while (w->length % 32 != 0 && !w->failed)
        put(w, 0x90);
    size_t begin = w->length;
    forget(w);
    w->has_sign = false;
    w->multiple = 0;
    lines(w, s);
    on_counter(w, 0xC0, step);            /* add */
    on_counter(w, 0xF8, step * s->turns); /* cmp */
    put(w, 0x0F), put(w, 0x85);           /* jne */
    put_number(w, (uint64_t)begin - (w->length + 4), 4);
    forget(w);
    w->has_sign = false;
}

static void translate(writer *w, const nh_tape *tape, const void *slots)
{
    look_at(w, tape);
    begin(w, slots);
    for (size_t i = 0; i < tape->stretches && !w->failed; i++)
        if (tape->stretch[i].turns > 1)
            repeat(w, tape->stretch + i);
        else
            lines(w, tape->stretch + i);
    end(w);
    while (w->length % 64 != 0 && !w->failed)
        put(w, 0xCC);
}

static nh_operation *const *operations_of(nh_variant variant)
{
#define ADDRESS(name) nh_operations_##name,
    static nh_operation *const *const operations[NH_VARIANTS] = {NH_EACH_VARIANT(ADDRESS)};
    return operations[variant];
}

static bool wanted(const nh_interpreter *in, nh_variant variant)
{
    const char *asked = getenv("NONHOLO_MACHINE_CODE");
    size_t lines = 0;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        lines += in->tape[fn] ? in->tape[fn]->lines : 0;
    return (variant == NH_AVX_ONE || variant == NH_AVX_WIDE) && lines <= LINES_MAX &&
           !(asked && strcmp(asked, "0") == 0);
}

/* The code in memory of its own, which from then on can be run but not written. */
static bool settle(nh_machine *out, const writer *w)
{
    void *memory =
        mmap(NULL, w->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    memcpy(memory, w->byte, w->length);
    if (mprotect(memory, w->length, PROT_READ | PROT_EXEC) != 0) {
        munmap(memory, w->length);
        return false;
    }
    *out = (nh_machine){memory, w->length};
    return true;
}

void nh_machine_make(nh_machine *out, nh_call_fn **call, const nh_interpreter *in,
                     nh_variant variant, int lanes)
{
    *out = (nh_machine){0};
    if (!wanted(in, variant))
        return;
    writer w = {.lanes = lanes, .operation = operations_of(variant)};
    size_t first[NH_FN_COUNT] = {0};
    for (int fn = 0; fn < NH_FN_COUNT && !w.failed; fn++) {
        first[fn] = w.length;
        if (in->tape[fn])
            translate(&w, in->tape[fn], in->slots[fn]);
    }
    if (!w.failed && w.length > 0 && settle(out, &w))
        for (int fn = 0; fn < NH_FN_COUNT; fn++)
            if (in->tape[fn]) { /* a pointer to data becomes one to a function, as with dlsym */
                void *at = (char *)out->memory + first[fn];
                memcpy(call + fn, &at, sizeof at);
            }
    free(w.byte);
}

void nh_machine_free(nh_machine *machine)
{
    if (machine->memory)
        munmap(machine->memory, machine->size);
}

#else

void nh_machine_make(nh_machine *out, nh_call_fn **call, const nh_interpreter *in,
                     nh_variant variant, int lanes)
{
    (void)call, (void)in, (void)variant, (void)lanes;
    *out = (nh_machine){0};
}

void nh_machine_free(nh_machine *machine)
{
    (void)machine;
}

#endif
