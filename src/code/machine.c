/* A tape is straight-line arithmetic and loops of it, and so is its machine code: values are kept
 * in vector registers as long as there is room and stored when it is needed, and an instruction
 * that no processor has is a call. Operations and their order are those of the tape, so bits are as
 * well.
 *
 * The code does arithmetic on five arrays and calls a fixed list of C functions; whatever the
 * model, it reads and writes only places of the tape, all of them settled here. Memory is never
 * writable and executable at once. */
#define _GNU_SOURCE
#include "code/machine.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(NH_HAVE_AVX2_VARIANTS)

#include <sys/mman.h>

#include "code/registers.h"

enum { LINES_MAX = 500000 };
/* Longer code is fetched no faster than a tape is interpreted: with the disk chain in straight
 * code, machine code takes 0.4 of the interpreter's time with 4096 disks, 0.6 to 0.8 with 8192
 * (fewer than 400,000 instructions), and as much or more with 16384. */

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

/* What an instruction works on: registers, or the one operand that it may read from memory. */
typedef struct operands {
    const nh_place_of_value *at; /* to, a, b, c */
    unsigned last;               /* bit 1 << i: operand i = 1, 2, 3 is read for the last time */
} operands;

static bool is_last(const operands *o, int i)
{
    return o->last >> i & 1;
}

/* In memory, and of no use in a register. */
static bool is_passing(const writer *w, const operands *o, int i)
{
    return is_last(o, i) && register_of(w, o->at[i]) == NOT_HELD;
}

/* Registers whose value ends with this instruction are free for its result. */
static void release(writer *w, const operands *o, int count)
{
    for (int i = 1; i <= count; i++) {
        const int r = register_of(w, o->at[i]);
        if (is_last(o, i) && r != NOT_HELD)
            drop(w, r);
    }
}

/* Functions called are of the same variant, so they take and give numbers in vector registers:
 * operands in the first two, the result in the first; a second result is stored by the function. */
static void call(writer *w, int op, const operands *o)
{
    const nh_place_of_value *at = o->at;
    bool two = nh_op_operands((uint32_t)op) > 1;
    int a = value_of(w, at[1]), b = two ? value_of(w, at[2]) : a;
    release(w, o, two ? 2 : 1);
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

static void arithmetic(writer *w, int opcode, const operands *o, bool commutes)
{
    const bool turned = commutes && is_passing(w, o, 1) && !same(o->at[1], o->at[2]);
    const int first = turned ? 2 : 1, second = 3 - first;
    const bool passing = is_passing(w, o, second) && !same(o->at[1], o->at[2]);
    int a = value_of(w, o->at[first]), b = passing ? NOT_HELD : value_of(w, o->at[second]);
    release(w, o, 2);
    int to = free_register(w);
    if (passing)
        on_memory(w, MAP_0F, prefix(w), 0, opcode, to, a, o->at[second]);
    else
        on_registers(w, MAP_0F, prefix(w), 0, opcode, to, a, b);
    keep(w, to, o->at[0]);
}

static void root(writer *w, const operands *o)
{
    int a = value_of(w, o->at[1]);
    release(w, o, 1);
    int to = free_register(w);
    on_registers(w, MAP_0F, prefix(w), 0, 0x51, to, w->lanes > 1 ? NONE : a, a);
    keep(w, to, o->at[0]);
}

/* to = to a + b of the operands `factor` and 3, where `to` is the register of a factor that ends
 * here. */
static void fused_into_factor(writer *w, int opcode, const operands *o, int factor)
{
    const bool passing = is_passing(w, o, 3);
    int to = value_of(w, o->at[factor]), a = value_of(w, o->at[3 - factor]),
        c = passing ? NOT_HELD : value_of(w, o->at[3]);
    opcode += w->lanes > 1 ? 0xA8 : 0xA9; /* vfmadd213 */
    if (passing)
        on_memory(w, MAP_0F38, PP_66, 1, opcode, to, a, o->at[3]);
    else
        on_registers(w, MAP_0F38, PP_66, 1, opcode, to, a, c);
    release(w, o, 3);
    keep(w, to, o->at[0]);
}

/* to = c, then to += a b. The register of c is the result's if its value ends here. */
static void fused_into_sum(writer *w, int opcode, const operands *o)
{
    const bool turned = is_passing(w, o, 1) && !same(o->at[1], o->at[2]);
    const int first = turned ? 2 : 1, second = 3 - first;
    const bool passing = is_passing(w, o, second) && !same(o->at[1], o->at[2]);
    int a = value_of(w, o->at[first]), b = passing ? NOT_HELD : value_of(w, o->at[second]), to;
    const bool shared = same(o->at[3], o->at[1]) || same(o->at[3], o->at[2]);
    if (is_last(o, 3) && !shared) {
        to = value_of(w, o->at[3]);
    } else {
        int c = value_of(w, o->at[3]);
        to = free_register(w);
        move(w, to, c);
    }
    opcode += w->lanes > 1 ? 0xB8 : 0xB9; /* vfmadd231 */
    if (passing)
        on_memory(w, MAP_0F38, PP_66, 1, opcode, to, a, o->at[second]);
    else
        on_registers(w, MAP_0F38, PP_66, 1, opcode, to, a, b);
    release(w, o, 3);
    keep(w, to, o->at[0]);
}

/* a b + c, or c - a b with 4 for the opcode. */
static void fused(writer *w, int opcode, const operands *o)
{
    const nh_place_of_value *at = o->at;
    const bool distinct = !same(at[1], at[2]) && !same(at[1], at[3]) && !same(at[2], at[3]);
    const bool sum_ends = is_last(o, 3) && register_of(w, at[3]) != NOT_HELD;
    for (int factor = 1; factor <= 2 && distinct && !sum_ends; factor++)
        if (is_last(o, factor) && register_of(w, at[factor]) != NOT_HELD) {
            fused_into_factor(w, opcode, o, factor);
            return;
        }
    fused_into_sum(w, opcode, o);
}

static void negate(writer *w, const operands *o)
{
    int a = value_of(w, o->at[1]);
    release(w, o, 1);
    int to = free_register(w);
    put_sign(w);
    on_registers(w, MAP_0F, PP_66, 0, 0x57, to, a, SIGN); /* vxorpd */
    keep(w, to, o->at[0]);
}

/* A result that is something else as well. */
static void copy(writer *w, const operands *o)
{
    int a = value_of(w, o->at[1]);
    if (is_last(o, 1))
        drop(w, a), keep(w, a, o->at[0]);
    else
        store(w, a, o->at[0]);
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
    const operands o = {at, (unsigned)i->last << 1};
    switch (i->op) {
    case NH_OP_ADD:
        arithmetic(w, 0x58, &o, true);
        break;
    case NH_OP_MUL:
        arithmetic(w, 0x59, &o, true);
        break;
    case NH_OP_SUB:
        arithmetic(w, 0x5C, &o, false);
        break;
    case NH_OP_DIV:
        arithmetic(w, 0x5E, &o, false);
        break;
    case NH_OP_SQRT:
        root(w, &o);
        break;
    case NH_OP_FMA:
        fused(w, 0, &o);
        break;
    case NH_OP_FNMA:
        fused(w, 4, &o);
        break;
    case NH_OP_NEG:
        negate(w, &o);
        break;
    case NH_OP_COPY:
        copy(w, &o);
        break;
    default:
        call(w, i->op, &o);
        break;
    }
}

/* ---- a whole tape ---- */

static void look_at(writer *w, const nh_tape *tape)
{
    w->tape = tape;
    w->calls = w->loops = w->has_sign = false;
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
    w->reads_time = nh_tape_reads_time(tape);
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

static nh_op_function *const *operations_of(nh_variant variant)
{
#define ADDRESS(name) nh_op_functions_##name,
    static nh_op_function *const *const operations[NH_VARIANTS] = {NH_EACH_VARIANT(ADDRESS)};
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
