/* Writes a tape as a WebAssembly function. WebAssembly is a stack machine with any number of
 * locals, which the engine assigns to registers. So slots are locals, an argument that is read more
 * than once is loaded once, and a result that is read again is also kept in a local. Only slots
 * that a loop accesses by a moving index are in memory. Operations and their order are those of the
 * tape, and so are the bits; there is no fused multiply-add, as in kernels for processors that lack
 * it (kernel/real.h). */
#include "code/wasm.h"

#include <stdio.h>

#include "code/wasm_bytes.h"

/* Engines allow 50,000 locals and 7.6 MB for a function (V8), and a line is at most 40 bytes. */
enum { LOCALS_MAX = 40000, SLOT_LOCALS_MAX = 20000, LINES_MAX = 100000, SIZE_MAX_BYTES = 1 << 30 };

/* The parameters of nh_call_fn are the first locals, followed by the loop counter, in bytes. */
enum { LOCAL_TIME = 2, LOCAL_COUNTER = 8, LOCALS_FIXED };
static const uint32_t base_of[NH_PLACE_ARRAYS] = {
    [NH_Q] = 3, [NH_V] = 4, [NH_X] = 5, [NH_PLACE_OUT] = 6, [NH_U] = 7};

/* Types of functions: that of nh_call_fn, then those of operations with 1, 2 and 3 operands, then
 * those with two results, which also receive the address of the second one. */
enum { OPERANDS_MAX = 3, TYPE_CALL = 0, TYPES = 1 + 2 * OPERANDS_MAX };

typedef struct held { /* a moving place whose value is in a local */
    nh_place_of_value at;
    uint32_t local;
} held;

typedef struct encoder {
    wasm_bytes x;                   /* the body of the present function */
    uint32_t function[NH_OP_COUNT]; /* index of the imported function */
    const nh_tape *tape;
    uint32_t slots, locals; /* their address, and their number so far */
    /* for fixed places (step 0): the length of the tables, how often each place is read (2 stands
     * for two or more), and its local, if its value is in one */
    size_t size[NH_PLACE_ARRAYS];
    uint8_t *reads[NH_PLACE_ARRAYS];
    uint32_t *local[NH_PLACE_ARRAYS];
    bool *in_memory; /* slots */
    held *held;      /* of the present loop */
    size_t count, room;
} encoder;

/* ---- analysis of a tape before it is written ---- */

typedef struct used_place {
    nh_place_of_value at;
    bool is_read;
} used_place;

/* The places that an instruction reads, in the order of its operands, then those that it writes. */
static int places_of(const nh_placed *i, used_place out[4])
{
    const nh_op_info *info = nh_ops + i->op;
    const used_place operand[] = {{{i->a_array, i->a, i->a_step}, true},
                                  {{i->b_array, i->b, i->b_step}, true},
                                  {{i->c_array, i->c, i->c_step}, true}};
    memcpy(out, operand, info->operands * sizeof *operand);
    out[info->operands] = (used_place){{i->to_array, i->to, i->to_step}, false};
    if (info->results > 1)
        out[info->operands + 1] = (used_place){{i->c_array, i->c, i->c_step}, false};
    return info->operands + info->results;
}

typedef void look_function(encoder *e, const used_place *place, uint32_t iterations);

static void look_at_each(encoder *e, look_function *look)
{
    for (size_t s = 0; s < e->tape->stretches; s++) {
        const nh_stretch *x = e->tape->stretch + s;
        for (uint32_t i = 0; i < x->length; i++) {
            used_place place[4];
            for (int p = places_of(e->tape->placed + x->first + i, place); p-- > 0;)
                look(e, place + p, x->iterations);
        }
    }
}

static void note_size(encoder *e, const used_place *place, uint32_t iterations)
{
    (void)iterations;
    if (place->at.step == 0 && place->at.index >= e->size[place->at.array])
        e->size[place->at.array] = (size_t)place->at.index + 1;
}

static void note_use(encoder *e, const used_place *place, uint32_t iterations)
{
    const nh_place_of_value at = place->at;
    if (at.step == 0 && place->is_read && e->reads[at.array][at.index] < 2)
        e->reads[at.array][at.index] += 1;
    if (at.step != 0 && at.array == NH_PLACE_SLOTS)
        for (uint32_t i = 0; i < iterations; i++)
            e->in_memory[at.index + i * (uint32_t)at.step] = true;
}

static void forget(encoder *e)
{
    for (int a = 0; a < NH_PLACE_ARRAYS; a++) {
        free(e->reads[a]);
        free(e->local[a]);
        e->reads[a] = NULL, e->local[a] = NULL, e->size[a] = 0;
    }
    free(e->in_memory);
    e->in_memory = NULL;
}

/* Slots get their locals at once, so that a place does not change between memory and local. */
static bool look_at(encoder *e, const nh_tape *tape)
{
    e->tape = tape;
    e->locals = LOCALS_FIXED;
    look_at_each(e, note_size);
    bool made = (e->in_memory = calloc(tape->slots + 1, sizeof *e->in_memory));
    for (int a = 0; a < NH_PLACE_ARRAYS; a++) {
        e->reads[a] = calloc(e->size[a] + 1, sizeof *e->reads[a]);
        e->local[a] = calloc(e->size[a] + 1, sizeof *e->local[a]);
        made &= e->reads[a] && e->local[a];
    }
    if (!made)
        return false;
    look_at_each(e, note_use);
    for (size_t i = tape->constants; i < e->size[NH_PLACE_SLOTS]; i++) {
        e->in_memory[i] |= e->locals >= SLOT_LOCALS_MAX;
        e->local[NH_PLACE_SLOTS][i] = e->in_memory[i] ? 0 : e->locals++;
    }
    return true;
}

/* ---- where the value of a place is ---- */

static bool is_constant(const encoder *e, nh_place_of_value at)
{
    return at.array == NH_PLACE_SLOTS && at.step == 0 && at.index < e->tape->constants;
}

static bool is_local_slot(const encoder *e, nh_place_of_value at)
{
    return at.array == NH_PLACE_SLOTS && at.step == 0 && !e->in_memory[at.index];
}

static uint32_t held_in(const encoder *e, nh_place_of_value at)
{
    if (at.step == 0)
        return e->local[at.array][at.index];
    for (size_t i = 0; i < e->count; i++)
        if (e->held[i].at.array == at.array && e->held[i].at.index == at.index &&
            e->held[i].at.step == at.step)
            return e->held[i].local;
    return 0;
}

/* A local that holds the value of a place from now on, or 0 if it is only in memory. Arguments and
 * results are never written again; slots in memory are, so they are held only within an
 * iteration. */
static uint32_t hold(encoder *e, nh_place_of_value at)
{
    uint32_t local = held_in(e, at);
    if (local || e->locals >= LOCALS_MAX)
        return local;
    if (at.step == 0) {
        const int enough = at.array == NH_PLACE_OUT ? 1 : 2;
        if (at.array == NH_PLACE_SLOTS || e->reads[at.array][at.index] < enough)
            return 0;
        return e->local[at.array][at.index] = e->locals++;
    }
    if (e->count == e->room) {
        size_t room = 2 * e->room + 64;
        held *larger = realloc(e->held, room * sizeof *larger);
        e->x.failed |= !larger;
        if (!larger)
            return 0;
        e->held = larger, e->room = room;
    }
    e->held[e->count++] = (held){at, e->locals};
    return e->locals++;
}

/* ---- numbers on the stack ---- */

static uint32_t offset_of(nh_place_of_value at)
{
    return at.index * (uint32_t)sizeof(double);
}

/* The address of a place without its offset. If the index moves down, the address includes the
 * offset, since an address on the stack must not be negative. */
static uint32_t put_address(encoder *e, nh_place_of_value at)
{
    uint32_t offset = offset_of(at);
    if (at.array == NH_PLACE_SLOTS)
        put_i32(&e->x, e->slots);
    else
        put_with(&e->x, WASM_LOCAL_GET, base_of[at.array]);
    if (at.step != 0) {
        put_with(&e->x, WASM_LOCAL_GET, LOCAL_COUNTER);
        put_i32(&e->x, (uint32_t)at.step);
        put(&e->x, WASM_I32_MUL);
        put(&e->x, WASM_I32_ADD);
    }
    if (at.step < 0) {
        put_i32(&e->x, offset);
        put(&e->x, WASM_I32_ADD);
        offset = 0;
    }
    return offset;
}

static void push(encoder *e, nh_place_of_value at)
{
    if (at.array == NH_TIME) {
        put_with(&e->x, WASM_LOCAL_GET, LOCAL_TIME);
        return;
    }
    if (is_constant(e, at)) {
        put_f64(&e->x, e->tape->constant[at.index]);
        return;
    }
    uint32_t local = held_in(e, at);
    if (local) {
        put_with(&e->x, WASM_LOCAL_GET, local);
        return;
    }
    put_access(&e->x, WASM_F64_LOAD, put_address(e, at));
    local = hold(e, at);
    if (local)
        put_with(&e->x, WASM_LOCAL_TEE, local);
}

/* Called before and after the instructions whose result goes to a place. */
static uint32_t begin_write(encoder *e, nh_place_of_value at)
{
    return is_local_slot(e, at) ? 0 : put_address(e, at);
}

static void end_write(encoder *e, nh_place_of_value at, uint32_t offset)
{
    const uint32_t local = hold(e, at);
    if (local)
        put_with(&e->x, is_local_slot(e, at) ? WASM_LOCAL_SET : WASM_LOCAL_TEE, local);
    if (!is_local_slot(e, at))
        put_access(&e->x, WASM_F64_STORE, offset);
}

/* ---- instructions ---- */

/* The column `wasm` of ops.def: operands by their letters, and operations on them. */
static void put_formula(encoder *e, const char *formula, const used_place *operand)
{
    static const struct {
        char letter;
        wasm_instruction name;
    } known[] = {{'+', WASM_F64_ADD}, {'-', WASM_F64_SUB}, {'*', WASM_F64_MUL},
                 {'/', WASM_F64_DIV}, {'~', WASM_F64_NEG}, {'r', WASM_F64_SQRT},
                 {'<', WASM_F64_LT},  {'?', WASM_SELECT}};
    for (; *formula; formula++) {
        if (*formula >= 'a' && *formula <= 'c')
            push(e, operand[*formula - 'a'].at);
        else if (*formula == '0')
            put_f64(&e->x, 0);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (*formula == known[i].letter)
                put(&e->x, known[i].name);
    }
}

/* A call stores its second result itself: in its place or, if that is a local, in the memory of the
 * slot, from which it is then loaded. */
static void put_call(encoder *e, const nh_placed *i, const used_place *place)
{
    const nh_op_info *info = nh_ops + i->op;
    const nh_place_of_value to = place[info->operands].at;
    const uint32_t offset = begin_write(e, to);
    for (int o = 0; o < info->operands; o++)
        push(e, place[o].at);
    if (info->results > 1) {
        put_i32(&e->x, put_address(e, place[info->operands + 1].at));
        put(&e->x, WASM_I32_ADD);
    }
    put_with(&e->x, WASM_CALL, e->function[i->op]);
    end_write(e, to, offset);
    if (info->results > 1) {
        const nh_place_of_value second = place[info->operands + 1].at;
        const uint32_t local = hold(e, second);
        if (local) {
            put_access(&e->x, WASM_F64_LOAD, put_address(e, second));
            put_with(&e->x, WASM_LOCAL_SET, local);
        }
    }
}

static const char *const formula_of[NH_OP_COUNT] = {
#define OP(NAME, operands, commutes, encode, instruction, wasm, C) [NH_OP_##NAME] = wasm,
#include "code/ops.def"
};

static bool is_call(uint32_t op)
{
    return formula_of[op] && !*formula_of[op];
}

static void put_line(encoder *e, const nh_placed *i)
{
    used_place place[4];
    places_of(i, place);
    if (is_call(i->op)) {
        put_call(e, i, place);
        return;
    }
    const nh_place_of_value to = place[nh_ops[i->op].operands].at;
    const uint32_t offset = begin_write(e, to);
    put_formula(e, formula_of[i->op], place);
    end_write(e, to, offset);
}

static void put_stretch(encoder *e, const nh_stretch *s)
{
    const bool repeats = s->iterations > 1;
    if (repeats) {
        put_i32(&e->x, 0);
        put_with(&e->x, WASM_LOCAL_SET, LOCAL_COUNTER);
        put_with(&e->x, WASM_LOOP, TYPE_NONE);
    }
    for (uint32_t i = 0; i < s->length; i++)
        put_line(e, e->tape->placed + s->first + i);
    if (repeats) {
        put_with(&e->x, WASM_LOCAL_GET, LOCAL_COUNTER);
        put_i32(&e->x, sizeof(double));
        put(&e->x, WASM_I32_ADD);
        put_with(&e->x, WASM_LOCAL_TEE, LOCAL_COUNTER);
        put_i32(&e->x, s->iterations * (uint32_t)sizeof(double));
        put(&e->x, WASM_I32_SUB); /* 0 after the last iteration */
        put_with(&e->x, WASM_BR_IF, 0);
        put(&e->x, WASM_END);
    }
    e->count = 0;
}

/* ---- the module ---- */

/* A function: its locals, then its instructions. */
static void put_function(wasm_bytes *code, encoder *e)
{
    wasm_bytes function = {0};
    for (size_t s = 0; s < e->tape->stretches; s++)
        put_stretch(e, e->tape->stretch + s);
    put_i32(&e->x, 0);
    put(&e->x, WASM_END);
    put_unsigned(&function, 2);
    put_unsigned(&function, LOCALS_FIXED - LOCAL_COUNTER);
    put(&function, TYPE_I32);
    put_unsigned(&function, e->locals - LOCALS_FIXED);
    put(&function, TYPE_F64);
    put_bytes(&function, e->x.byte, e->x.length);
    function.failed |= e->x.failed;
    e->x.length = 0;
    put_part(code, &function);
}

static void put_type(wasm_bytes *x, const unsigned char *parameters, size_t count, unsigned result)
{
    put(x, TYPE_FUNCTION);
    put_unsigned(x, (uint32_t)count);
    put_bytes(x, parameters, count);
    put(x, 1);
    put(x, result);
}

static void put_types(wasm_bytes *module)
{
    static const unsigned char call[] = {TYPE_I32, TYPE_I32, TYPE_F64, TYPE_I32,
                                         TYPE_I32, TYPE_I32, TYPE_I32, TYPE_I32};
    wasm_bytes types = {0};
    put_unsigned(&types, TYPES);
    put_type(&types, call, sizeof call, TYPE_I32);
    for (int second = 0; second < 2; second++)
        for (size_t operands = 1; operands <= OPERANDS_MAX; operands++) {
            unsigned char operand[OPERANDS_MAX + 1] = {TYPE_F64, TYPE_F64, TYPE_F64};
            operand[operands] = second ? TYPE_I32 : operand[operands];
            put_type(&types, operand, operands + (size_t)second, TYPE_F64);
        }
    put(module, SECTION_TYPE);
    put_part(module, &types);
}

/* Imports the memory and the operations that are called; returns the number of these. */
static uint32_t put_imports(wasm_bytes *module, encoder *e, const bool *is_called)
{
    wasm_bytes imports = {0};
    uint32_t called = 0;
    for (uint32_t op = 0; op < NH_OP_END; op++)
        called += is_called[op];
    put_unsigned(&imports, 1 + called);
    put_name(&imports, "env");
    put_name(&imports, "memory");
    put(&imports, KIND_MEMORY);
    put(&imports, 0); /* of any size */
    put(&imports, 0);
    called = 0;
    for (uint32_t op = 0; op < NH_OP_END; op++)
        if (is_called[op]) {
            char number[16];
            snprintf(number, sizeof number, "%u", op);
            put_name(&imports, "op");
            put_name(&imports, number);
            put(&imports, KIND_FUNCTION);
            put_unsigned(&imports,
                         nh_ops[op].operands + (nh_ops[op].results > 1 ? OPERANDS_MAX : 0u));
            e->function[op] = called++;
        }
    put(module, SECTION_IMPORT);
    put_part(module, &imports);
    return called;
}

/* The functions of the module, and their names. */
static void put_exports(wasm_bytes *module, const nh_tape *const *tape, uint32_t count,
                        uint32_t first)
{
    wasm_bytes functions = {0}, exports = {0};
    put_unsigned(&functions, count);
    put_unsigned(&exports, count);
    for (uint32_t fn = 0; fn < NH_CALLS; fn++)
        if (tape[fn]) {
            char number[16];
            snprintf(number, sizeof number, "%u", fn);
            put_unsigned(&functions, TYPE_CALL);
            put_name(&exports, number);
            put(&exports, KIND_FUNCTION);
            put_unsigned(&exports, first++);
        }
    put(module, SECTION_FUNCTION);
    put_part(module, &functions);
    put(module, SECTION_EXPORT);
    put_part(module, &exports);
}

static void put_code(wasm_bytes *module, encoder *e, const nh_tape *const *tape, uint32_t count,
                     const uint32_t *slots)
{
    wasm_bytes code = {0};
    put_unsigned(&code, count);
    for (int fn = 0; fn < NH_CALLS && !code.failed; fn++)
        if (tape[fn]) {
            e->slots = slots[fn];
            code.failed |= !look_at(e, tape[fn]);
            if (!code.failed)
                put_function(&code, e);
            forget(e);
        }
    put(module, SECTION_CODE);
    put_part(module, &code);
}

/* The number of functions, and which operations they call; -1 if they are too long. */
static int count_functions(const nh_tape *const *tape, bool *is_called)
{
    int count = 0;
    size_t lines = 0;
    for (int fn = 0; fn < NH_CALLS; fn++) {
        for (size_t i = 0; tape[fn] && i < tape[fn]->lines; i++)
            is_called[tape[fn]->placed[i].op] |= is_call(tape[fn]->placed[i].op);
        lines += tape[fn] ? tape[fn]->lines : 0;
        count += tape[fn] != NULL;
        if (tape[fn] && tape[fn]->slots > SIZE_MAX_BYTES / sizeof(double))
            return -1;
    }
    return lines <= LINES_MAX ? count : -1;
}

bool nh_wasm_encode(nh_wasm *out, const nh_tape *const tape[NH_CALLS],
                    const uint32_t slots[NH_CALLS])
{
    static const unsigned char head[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    bool is_called[NH_OP_COUNT] = {false};
    wasm_bytes module = {0};
    encoder e = {0};
    *out = (nh_wasm){0};
    const int count = count_functions(tape, is_called);
    if (count < 0)
        return false;
    put_bytes(&module, head, sizeof head);
    put_types(&module);
    const uint32_t imported = put_imports(&module, &e, is_called);
    put_exports(&module, tape, (uint32_t)count, imported);
    put_code(&module, &e, tape, (uint32_t)count, slots);
    free(e.x.byte);
    free(e.held);
    if (module.failed) {
        free(module.byte);
        return false;
    }
    *out = (nh_wasm){module.byte, module.length, count};
    return true;
}
