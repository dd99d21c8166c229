/* Translates tapes into machine code. A tape is straight-line arithmetic with loops, and so is its
 * code: values are kept in vector registers as long as there is room and stored when a register is
 * needed; operations for which the processor has no instruction are calls. The operations and their
 * order are those of the tape, so the bits are the same.
 *
 * The code does arithmetic on five arrays and calls a fixed list of C functions. Whatever the
 * model, it reads and writes only the places of the tape, which are all fixed here. Memory is never
 * writable and executable at the same time. */
#define _GNU_SOURCE
#include "code/machine.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(NH_HAVE_AVX2_VARIANTS)

#include <sys/mman.h>

#include "code/registers.h"

/* Above this length, fetching machine code takes as long as interpreting the tape: for the disk
 * chain in straight code, machine code takes 0.4 of the interpreter's time with 4096 disks, 0.6 to
 * 0.8 with 8192 (fewer than 400,000 instructions), and as much or more with 16384. */
enum { LINES_MAX = 500000 };

/* ---- instructions ---- */

/* Loads the sign bit of every lane, before it is first needed. */
static void put_sign(writer *w)
{
    if (w->has_sign)
        return;
    w->has_sign = true;
    const int lanes = w->x.lanes;
    mov_number(&w->x, RAX, 1ull << 63);
    w->x.lanes = 1;
    on_registers(&w->x, VMOVQ, SIGN, NO_REGISTER, RAX);
    w->x.lanes = lanes;
    if (lanes > 1)
        on_registers(&w->x, VBROADCASTSD, SIGN, NO_REGISTER, SIGN);
}

static void move(writer *w, int to, int from)
{
    if (to != from)
        on_registers(&w->x, VMOVAPD, to, NO_REGISTER, from);
}

/* The operands of an instruction. */
typedef struct operands {
    int op, count;               /* how many it reads */
    const nh_place_of_value *at; /* to, a, b, c */
    unsigned last;               /* bit 1 << i: operand i = 1, 2, 3 is read for the last time */
} operands;

static bool is_last(const operands *o, int i)
{
    return o->last >> i & 1;
}

/* A value in memory that is read for the last time, so it need not be loaded into a register. */
static bool is_passing(const writer *w, const operands *o, int i)
{
    return is_last(o, i) && register_of(w, o->at[i]) == NOT_HELD;
}

/* Registers whose value is not read after this instruction become free for its result. */
static void release(writer *w, const operands *o)
{
    for (int i = 1; i <= o->count; i++) {
        const int r = register_of(w, o->at[i]);
        if (is_last(o, i) && r != NOT_HELD)
            drop(w, r);
    }
}

/* Moves from[i] to register i. A move waits while another move still has to read its target. If
 * moves wait for each other in a cycle, one value goes to the register of the sign, which the call
 * destroys anyway. */
static void move_arguments(writer *w, int *from, int count)
{
    for (int left = count; left > 0;) {
        int ready = NOT_HELD, waiting = NOT_HELD;
        for (int i = 0; i < count; i++) {
            bool read = false;
            for (int j = 0; j < count; j++)
                read |= j != i && from[j] == i;
            if (from[i] != NOT_HELD && !read)
                ready = i;
            else if (from[i] != NOT_HELD)
                waiting = i;
        }
        if (ready == NOT_HELD) {
            for (int j = 0; j < count; j++)
                if (j != waiting && from[j] == waiting)
                    from[j] = SIGN;
            move(w, SIGN, waiting);
            ready = waiting;
        }
        move(w, ready, from[ready]);
        from[ready] = NOT_HELD;
        left--;
    }
}

/* The functions called are of the same variant, so numbers are passed in vector registers: operands
 * in the first ones, the result in the first; a second result is stored by the function. */
static void call(writer *w, const operands *o, vector_instruction none)
{
    (void)none;
    int from[3];
    for (int i = 0; i < o->count; i++)
        from[i] = value_of(w, o->at[1 + i]);
    release(w, o);
    save_all(w);
    move_arguments(w, from, o->count);
    if (nh_ops[o->op].results > 1)
        from_memory(&w->x, OP_LEA, RDI, address_of(w, o->at[3]));
    mov_number(&w->x, RAX, (uint64_t)(uintptr_t)w->operation[o->op]);
    call_register(&w->x, RAX);
    forget(w);
    w->has_sign = false;
    w->multiple = 0;
    keep(w, 0, o->at[0]);
}

/* Writes an instruction whose last operand is a register or, if that is NOT_HELD, operand i in
 * memory. */
static void finish_with(writer *w, vector_instruction name, int to, int a, int b, const operands *o,
                        int i)
{
    if (b == NOT_HELD)
        on_memory(&w->x, name, to, a, address_of(w, o->at[i]));
    else
        on_registers(&w->x, name, to, a, b);
}

static void arithmetic(writer *w, const operands *o, vector_instruction name)
{
    const bool exchanged =
        nh_ops[o->op].commutes && is_passing(w, o, 1) && !same(o->at[1], o->at[2]);
    const int first = exchanged ? 2 : 1, second = 3 - first;
    const bool passing = is_passing(w, o, second) && !same(o->at[1], o->at[2]);
    int a = value_of(w, o->at[first]), b = passing ? NOT_HELD : value_of(w, o->at[second]);
    release(w, o);
    int to = free_register(w);
    finish_with(w, name, to, a, b, o, second);
    keep(w, to, o->at[0]);
}

static void root(writer *w, const operands *o, vector_instruction name)
{
    int a = value_of(w, o->at[1]);
    release(w, o);
    int to = free_register(w);
    on_registers(&w->x, name, to, w->x.lanes > 1 ? NO_REGISTER : a, a);
    keep(w, to, o->at[0]);
}

/* to = to a + b of the operands `factor` and 3, where `to` is the register of a factor that is not
 * needed any more. */
static void fused_into_factor(writer *w, vector_instruction form213, const operands *o, int factor)
{
    const bool passing = is_passing(w, o, 3);
    int to = value_of(w, o->at[factor]), a = value_of(w, o->at[3 - factor]),
        c = passing ? NOT_HELD : value_of(w, o->at[3]);
    finish_with(w, form213, to, a, c, o, 3);
    release(w, o);
    keep(w, to, o->at[0]);
}

/* to = c, then to += a b. If c is not needed any more, its register becomes that of the result. */
static void fused_into_sum(writer *w, vector_instruction form231, const operands *o)
{
    const bool exchanged = is_passing(w, o, 1) && !same(o->at[1], o->at[2]);
    const int first = exchanged ? 2 : 1, second = 3 - first;
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
    finish_with(w, form231, to, a, b, o, second);
    release(w, o);
    keep(w, to, o->at[0]);
}

/* a b + c or c - a b. */
static void fused(writer *w, const operands *o, vector_instruction form213)
{
    const nh_place_of_value *at = o->at;
    const bool distinct = !same(at[1], at[2]) && !same(at[1], at[3]) && !same(at[2], at[3]);
    const bool sum_ends = is_last(o, 3) && register_of(w, at[3]) != NOT_HELD;
    for (int factor = 1; factor <= 2 && distinct && !sum_ends; factor++)
        if (is_last(o, factor) && register_of(w, at[factor]) != NOT_HELD) {
            fused_into_factor(w, form213, o, factor);
            return;
        }
    fused_into_sum(w, form213 == VFMADD213 ? VFMADD231 : VFNMADD231, o);
}

static void negate(writer *w, const operands *o, vector_instruction name)
{
    int a = value_of(w, o->at[1]);
    release(w, o);
    int to = free_register(w);
    put_sign(w);
    on_registers(&w->x, name, to, a, SIGN);
    keep(w, to, o->at[0]);
}

/* A result that is also an argument, a constant or another result. */
static void copy(writer *w, const operands *o, vector_instruction none)
{
    (void)none;
    int a = value_of(w, o->at[1]);
    if (is_last(o, 1))
        drop(w, a), keep(w, a, o->at[0]);
    else
        store(w, a, o->at[0]);
}

typedef void encode_function(writer *w, const operands *o, vector_instruction name);
static const struct {
    encode_function *encode;
    vector_instruction name;
} code_of[NH_OP_COUNT] = {
#define OP(NAME, operands, commutes, encode, instruction, wasm, C)                                 \
    [NH_OP_##NAME] = {encode, instruction},
#include "code/ops.def"
};

/* Time arrives in a register and gets the slot after all others; inputs are copied to the slots
 * after it. */
static nh_place_of_value place_at(const writer *w, uint8_t array, uint32_t index, int32_t step)
{
    if (array == NH_TIME)
        return (nh_place_of_value){NH_PLACE_SLOTS, (uint32_t)w->tape->slots, 0};
    if (array == NH_U)
        return (nh_place_of_value){NH_PLACE_SLOTS, (uint32_t)w->tape->slots + 1 + index, step};
    return (nh_place_of_value){array, index, step};
}

static void instruction(writer *w, const nh_placed *i)
{
    const nh_place_of_value at[] = {
        place_at(w, i->to_array, i->to, i->to_step), place_at(w, i->a_array, i->a, i->a_step),
        place_at(w, i->b_array, i->b, i->b_step), place_at(w, i->c_array, i->c, i->c_step)};
    const operands o = {i->op, nh_ops[i->op].operands, at, (unsigned)i->last << 1};
    code_of[i->op].encode(w, &o, code_of[i->op].name);
}

/* ---- a whole tape ---- */

static void look_at(writer *w, const nh_tape *tape)
{
    w->tape = tape;
    w->calls = w->has_sign = false;
    w->multiple = 0;
    memset(w->touches, 0, sizeof w->touches);
    w->touches[NH_PLACE_SLOTS] = true;
    for (size_t i = 0; i < tape->lines; i++) {
        const nh_placed *x = tape->placed + i;
        w->calls |= code_of[x->op].encode == call;
        w->touches[x->to_array] = w->touches[x->a_array] = true;
        w->touches[x->b_array] = w->touches[x->c_array] = true;
    }
    w->loops = nh_tape_has_loops(tape);
    w->reads_time = nh_tape_reads(tape, NH_TIME);
}

static bool is_kept(const writer *w, int array)
{
    return w->calls && array != NH_TIME && array != NH_U && w->touches[array];
}

/* Calls require an aligned stack. */
static void align_stack(writer *w, enum group1 operation)
{
    int pushed = w->loops;
    for (int i = 0; i < NH_PLACE_ARRAYS; i++)
        pushed += is_kept(w, i);
    if (w->calls && pushed % 2 == 0)
        with_number(&w->x, operation, RSP, 8);
}

/* The inputs are the only argument on the stack. They are copied, because they are few and no
 * register is left that could keep their address during calls. Time is in register 0. */
static void copy_inputs(writer *w)
{
    const size_t given = nh_tape_given(w->tape), bytes = (size_t)w->x.lanes * sizeof(double);
    if (given == 0)
        return;
    from_memory(&w->x, OP_MOV_LOAD, RSI, (memory_operand){.base = RSP, .displacement = 8});
    for (size_t i = 0; i < given; i++) {
        on_memory(&w->x, VMOV_LOAD, 1, NO_REGISTER,
                  (memory_operand){.base = RSI, .displacement = i * bytes});
        on_memory(&w->x, VMOV_STORE, 1, NO_REGISTER,
                  (memory_operand){.base = RDI, .displacement = (w->tape->slots + 1 + i) * bytes});
    }
}

static void begin(writer *w, const void *slots)
{
    w->base = w->calls ? lasting_base : argument_base;
    mov_number(&w->x, RDI, (uint64_t)(uintptr_t)slots);
    copy_inputs(w);
    for (int i = 0; i < NH_PLACE_ARRAYS; i++)
        if (is_kept(w, i)) {
            push_or_pop(&w->x, OP_PUSH, lasting_base[i]);
            mov(&w->x, lasting_base[i], argument_base[i]);
        }
    if (w->calls && w->loops)
        push_or_pop(&w->x, OP_PUSH, R15);
    align_stack(w, SUB);
    forget(w);
    if (w->reads_time) {
        if (w->x.lanes > 1)
            on_registers(&w->x, VBROADCASTSD, 0, NO_REGISTER, 0);
        keep(w, 0, place_at(w, NH_TIME, 0, 0));
    }
}

static void end(writer *w)
{
    if (w->x.lanes > 1)
        vzeroupper(&w->x);
    align_stack(w, ADD);
    if (w->calls && w->loops)
        push_or_pop(&w->x, OP_POP, R15);
    for (int i = NH_PLACE_ARRAYS; i-- > 0;)
        if (is_kept(w, i))
            push_or_pop(&w->x, OP_POP, lasting_base[i]);
    return_zero(&w->x);
}

static void lines(writer *w, const nh_stretch *s)
{
    for (size_t i = 0; i < s->length && !w->x.failed; i++)
        instruction(w, w->tape->placed + s->first + i);
}

/* Every iteration begins with empty registers. What an iteration leaves in registers is stored if
 * others read it; the rest is discarded. */
static void repeat(writer *w, const nh_stretch *s)
{
    const uint64_t step = (uint64_t)w->x.lanes * sizeof(double);
    w->x.failed |= step * s->iterations > DISPLACEMENT_MAX;
    save_all(w);
    with_number(&w->x, AND, counter(w), 0);
    align(&w->x, 32, OP_NOP);
    size_t begin = w->x.length;
    forget(w);
    w->has_sign = false;
    w->multiple = 0;
    lines(w, s);
    with_number(&w->x, ADD, counter(w), step);
    with_number(&w->x, CMP, counter(w), step * s->iterations);
    jump_if_not_equal(&w->x, begin);
    forget(w);
    w->has_sign = false;
}

static void translate(writer *w, const nh_tape *tape, const void *slots)
{
    look_at(w, tape);
    begin(w, slots);
    for (size_t i = 0; i < tape->stretches && !w->x.failed; i++)
        if (tape->stretch[i].iterations > 1)
            repeat(w, tape->stretch + i);
        else
            lines(w, tape->stretch + i);
    end(w);
    align(&w->x, 64, OP_INT3);
}

static nh_op_function *const *operations_of(nh_variant variant)
{
#define ADDRESS(name) nh_op_functions_##name,
    static nh_op_function *const *const operations[NH_VARIANTS] = {NH_EACH_VARIANT(ADDRESS)};
    static nh_op_function *const *const uniform[] = {NH_EACH_UNIFORM(ADDRESS)};
    return variant == NH_FORWARD ? uniform[nh_variant_here() != NH_BASE_ONE] : operations[variant];
}

static bool wanted(const nh_interpreter *in, nh_variant variant)
{
    const char *asked = getenv("NONHOLO_MACHINE_CODE");
    size_t lines = 0;
    for (int fn = 0; fn < NH_CALLS; fn++)
        lines += in->tape[fn] ? in->tape[fn]->lines : 0;
    const bool has_avx = variant == NH_FORWARD ? nh_variant_here() != NH_BASE_ONE
                                               : variant == NH_AVX_ONE || variant == NH_WIDE;
    return has_avx && lines <= LINES_MAX && !(asked && strcmp(asked, "0") == 0);
}

/* Copies the code to its own memory, which can then be executed but not written. */
static bool make_executable(nh_machine *out, const assembler *x)
{
    void *memory =
        mmap(NULL, x->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    memcpy(memory, x->byte, x->length);
    if (mprotect(memory, x->length, PROT_READ | PROT_EXEC) != 0) {
        munmap(memory, x->length);
        return false;
    }
    *out = (nh_machine){memory, x->length};
    return true;
}

void nh_machine_make(nh_machine *out, nh_call_fn **call, const nh_interpreter *in,
                     nh_variant variant, int lanes)
{
    *out = (nh_machine){0};
    if (!wanted(in, variant))
        return;
    writer w = {.x = {.lanes = lanes}, .operation = operations_of(variant)};
    size_t first[NH_CALLS] = {0};
    for (int fn = 0; fn < NH_CALLS && !w.x.failed; fn++) {
        first[fn] = w.x.length;
        if (in->tape[fn])
            translate(&w, in->tape[fn], in->slots[fn]);
    }
    if (!w.x.failed && w.x.length > 0 && make_executable(out, &w.x))
        for (int fn = 0; fn < NH_CALLS; fn++)
            if (in->tape[fn]) { /* a pointer to data becomes one to a function, as with dlsym */
                void *at = (char *)out->memory + first[fn];
                memcpy(call + fn, &at, sizeof at);
            }
    free(w.x.byte);
}

void nh_machine_free(nh_machine *machine)
{
    if (machine->memory)
        munmap(machine->memory, machine->size);
}

#elif !defined(__EMSCRIPTEN__) /* see machine_wasm.c */

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
