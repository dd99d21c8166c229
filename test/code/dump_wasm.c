/* dump_wasm: tapes as WebAssembly, for test_wasm.py: every operation in straight code and in loops
 * whose indices move by 1, 2, 3, 4 and 8, and functions of all shipped models. A line of JSON for
 * every tape: the module, the numbers and addresses it is called with, and the results of the
 * interpreter that computes as WebAssembly does, without fused multiplication and addition. What
 * the module calls is given by example, since an engine's own functions need not have our bits. */
#include <stdio.h>

#include "code/wasm.h"
#include "system/system.h"
#include "ways.h"

/* The arrays of the module are contiguous and begin at this address. */
enum { FIRST_ADDRESS = 4096, ARRAY = 6000 };

static const char *const formula[NH_OP_COUNT] = {
#define OP(NAME, operands, commutes, encode, instruction, wasm, C) [NH_OP_##NAME] = wasm,
#include "code/ops.def"
};

static void print_numbers(const double *x, size_t count)
{
    printf("[");
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, x + i, sizeof bits);
        printf("%s\"%016llx\"", i ? ", " : "", (unsigned long long)bits);
    }
    printf("]");
}

/* ---- the operations that a tape leaves to functions ---- */

static double evaluate(uint32_t op, const double *operand, double *second)
{
    nh_op_function *f = nh_op_functions_base1[op];
    if (nh_ops[op].results > 1)
        return ((double (*)(double, double *))f)(operand[0], second);
    if (nh_ops[op].operands == 1)
        return ((double (*)(double))f)(operand[0]);
    if (nh_ops[op].operands == 2)
        return ((double (*)(double, double))f)(operand[0], operand[1]);
    return ((double (*)(double, double, double))f)(operand[0], operand[1], operand[2]);
}

/* Executes a line of the tape and prints its operands and results if it is a call. */
static void do_line(const nh_placed *i, double *const *base, uint32_t iteration, bool *first)
{
#define AT(name) base[i->name##_array][i->name + iteration * (uint32_t)i->name##_step]
    const nh_op_info *info = nh_ops + i->op;
    double operand[3] = {AT(a)}, result[2] = {0, 0};
    if (info->operands > 1)
        operand[1] = AT(b);
    if (info->operands > 2)
        operand[2] = AT(c);
    result[0] = evaluate(i->op, operand, result + 1);
    AT(to) = result[0];
    if (info->results > 1)
        AT(c) = result[1];
    if (*formula[i->op])
        return;
    printf("%s[%d, ", *first ? "" : ", ", i->op);
    print_numbers(operand, info->operands);
    printf(", ");
    print_numbers(result, info->results);
    printf("]");
    *first = false;
}

static void print_calls(const nh_tape *t, arguments in, double *out)
{
    double *slots = slots_of(t, 1), time = TEST_TIME;
    double *const base[NH_PLACE_ARRAYS] = {
        [NH_TIME] = &time,        [NH_Q] = in.q,       [NH_V] = in.v, [NH_X] = in.x, [NH_U] = in.u,
        [NH_PLACE_SLOTS] = slots, [NH_PLACE_OUT] = out};
    bool first = true;
    printf("\"calls\": [");
    for (size_t s = 0; s < t->stretches; s++)
        for (uint32_t iteration = 0; iteration < t->stretch[s].iterations; iteration++)
            for (uint32_t i = 0; i < t->stretch[s].length; i++)
                do_line(t->placed + t->stretch[s].first + i, base, iteration, &first);
    printf("]");
    free(slots);
}

/* ---- tapes ---- */

/* The arguments are between 0.1 and 0.9, so that every function is defined there. */
static void fill(double *x)
{
    for (size_t i = 0; i < 4 * ARRAY; i++)
        x[i] = 0.1 + 0.8 * (double)(i * 7919 % 1009) / 1009;
}

static void dump(const nh_tape *t, const char *name, const char *function)
{
    static double numbers[4 * ARRAY], out[ARRAY];
    const arguments in = {numbers, numbers + ARRAY, numbers + 2 * ARRAY, numbers + 3 * ARRAY};
    const uint32_t bytes = ARRAY * sizeof(double), slots = FIRST_ADDRESS + 5 * bytes;
    const nh_tape *const tape[NH_CALLS] = {[1] = t};
    nh_wasm module;
    if (t->outputs > ARRAY || !nh_wasm_encode(&module, tape, (uint32_t[NH_CALLS]){[1] = slots}))
        abort();
    fill(numbers);
    printf("{\"name\": \"%s\", \"function\": \"%s\", \"loops\": %d, \"lines\": %zu, \"t\": %g, ",
           name, function, nh_tape_has_loops(t), t->lines, TEST_TIME);
    printf("\"first\": %d, \"array\": %d, \"slots\": %zu, \"constants\": ", FIRST_ADDRESS, ARRAY,
           nh_tape_room(t));
    print_numbers(t->constant, t->constants);
    printf(", ");
    print_calls(t, in, out);
    run(t, INTERPRETED, NH_BASE_ONE, 1, in, out);
    printf(", \"expected\": ");
    print_numbers(out, t->outputs);
    printf(", \"module\": \"");
    for (size_t i = 0; i < module.length; i++)
        printf("%02x", module.byte[i]);
    printf("\"}\n");
    free(module.byte);
}

static void dump_model(const char *name, const char *setting)
{
    static const struct {
        nh_fn fn;
        const char *name;
    } function[] = {{NH_FN_ACCELERATION, "ACCELERATION"},
                    {NH_FN_STAGE, "STAGE"},
                    {NH_FN_SOLVE, "SOLVE"},
                    {NH_FN_OBSERVE, "OBSERVE"}};
    nh_report report;
    nh_model *model;
    nh_system *system;
    const nh_tape *tape;
    if (nh_model_open(&model, name, &report) != NH_OK ||
        nh_system_build(&system, model, &setting, setting ? 1 : 0, &report) != NH_OK)
        abort();
    for (size_t i = 0; i < sizeof function / sizeof *function; i++)
        if (nh_system_tape(&tape, system, function[i].fn, &report) == NH_OK)
            dump(tape, name, function[i].name);
    nh_system_free(system);
    nh_model_free(model);
}

int main(void)
{
    static const struct {
        uint32_t bodies, stride;
    } shape[] = {{1, 1}, {BODIES, 1}, {BODIES, 2}, {BODIES, 3}, {BODIES, 4}, {BODIES, 8}};
    for (nh_op op = 0; op < NH_OP_END; op++)
        for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
            for (int inner = 0; inner <= (op != NH_OP_COPY); inner++) {
                nh_tape *t = tape_of_operation(op, shape[s].bodies, shape[s].stride, inner);
                dump(t, nh_ops[op].name, inner ? "inner" : "outer");
                nh_tape_free(t);
            }
    for (int i = 0; i < nh_shipped_model_count(); i++)
        dump_model(nh_shipped_model_name(i), NULL);
    dump_model("disk-chain", "N=40");
    return 0;
}
