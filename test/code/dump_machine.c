/* dump_machine: tapes, and their machine code, as text for test_machine.py. Every operation in
 * straight code and in loops whose indices move by 1, 2, 3, 4 and 8, and the functions of models
 * that need more values than there are registers. */
#include <stdio.h>

#include "system/system.h"
#include "ways.h"

static void print_place(uint8_t array, uint32_t index, int32_t step)
{
    static const char *const name[] = {
        [NH_TIME] = "t",           [NH_Q] = "q",          [NH_V] = "v", [NH_X] = "x", [NH_U] = "u",
        [NH_PLACE_SLOTS] = "slot", [NH_PLACE_OUT] = "out"};
    printf(" %s %u %d", name[array], index, step);
}

static void print_tape(const nh_tape *t)
{
    for (size_t s = 0; s < t->stretches; s++) {
        printf("stretch %u\n", t->stretch[s].iterations);
        for (uint32_t i = 0; i < t->stretch[s].length; i++) {
            const nh_placed *x = t->placed + t->stretch[s].first + i;
            printf("line %s", nh_ops[x->op].name);
            print_place(x->to_array, x->to, x->to_step);
            print_place(x->a_array, x->a, x->a_step);
            print_place(x->b_array, x->b, x->b_step);
            print_place(x->c_array, x->c, x->c_step);
            printf("\n");
        }
    }
}

/* False if no code can be generated for this machine. */
static bool dump(const nh_tape *t, const char *name, int lanes)
{
    nh_variant variant = lanes > 1 ? nh_variant_wide() : nh_variant_here();
    double *slots = slots_of(t, (size_t)lanes);
    nh_interpreter interpreter = {.tape = {t}, .slots = {slots}};
    nh_call_fn *call[NH_CALLS] = {0};
    nh_machine machine = {0};
    nh_machine_make(&machine, call, &interpreter, variant, lanes);
    bool made = machine.memory != NULL;
    if (made) {
        printf("tape %s\nlanes %d\nslots %llu %zu\n", name, lanes,
               (unsigned long long)(uintptr_t)slots, t->slots);
        print_tape(t);
        printf("code ");
        for (size_t i = 0; i < machine.size; i++)
            printf("%02x", ((const unsigned char *)machine.memory)[i]);
        printf("\n");
    }
    nh_machine_free(&machine);
    free(slots);
    return made;
}

static void dump_model(const char *name, const char *setting, const nh_fn *fn, int count)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    const nh_tape *tape;
    if (nh_model_open(&model, name, &report) != NH_OK ||
        nh_system_build(&system, model, &setting, setting ? 1 : 0, &report) != NH_OK)
        abort();
    for (int i = 0; i < count; i++)
        for (int lanes = 1; lanes <= NH_LANES; lanes += NH_LANES - 1)
            if (nh_system_tape(&tape, system, fn[i], &report) == NH_OK)
                dump(tape, name, lanes);
    nh_system_free(system);
    nh_model_free(model);
}

#define PRINT_FUNCTIONS(variant)                                                                   \
    for (nh_op op = 0; op < NH_OP_END; op++)                                                       \
        printf("function %llu %s\n", (unsigned long long)(uintptr_t)nh_op_functions_##variant[op], \
               nh_ops[op].name);

int main(void)
{
    static const nh_fn fn[] = {NH_FN_ACCELERATION, NH_FN_STAGE, NH_FN_SOLVE, NH_FN_OBSERVE};
    static const struct {
        uint32_t bodies, stride;
    } shape[] = {{1, 1}, {BODIES, 1}, {BODIES, 2}, {BODIES, 3}, {BODIES, 4}, {BODIES, 8}};
    NH_EACH_VARIANT(PRINT_FUNCTIONS)
    for (nh_op op = 0; op < NH_OP_END; op++)
        printf("operation %s %d %d %d\n", nh_ops[op].name, nh_ops[op].operands, nh_ops[op].results,
               nh_ops[op].commutes);
    bool made = true;
    for (nh_op op = 0; op < NH_OP_END && made; op++)
        for (size_t s = 0; s < sizeof shape / sizeof *shape && made; s++)
            for (int inner = 0; inner <= (op != NH_OP_COPY) && made; inner++) {
                nh_tape *t = tape_of_operation(op, shape[s].bodies, shape[s].stride, inner);
                made = dump(t, nh_ops[op].name, 1) && dump(t, nh_ops[op].name, NH_LANES);
                nh_tape_free(t);
            }
    if (made) {
        dump_model("disk-chain", "N=40", fn, 4);
        dump_model("rattleback", NULL, fn, 4);
        dump_model("snakeboard", NULL, fn, 4);
    } else
        printf("none\n");
    return 0;
}
