/* The tape's interpreter, compiled for one lane and for several (see real.h). */
#include "code/interpret.h"

#include "kernel/real.h"
#include "kernel/trig.h"

/* A jump from each instruction directly to the next lets the processor predict each jump
 * separately. */
#define NEXT goto *label[(++i)->op]
#define AT(name) base[i->name##_array][i->name + iteration * i->name##_step]
#define READ_1 a = AT(a)
#define READ_2 READ_1, b = AT(b)
#define READ_3 READ_2, c = AT(c)

static void run(const nh_placed *i, real *const *base, ptrdiff_t iteration)
{
    static const void *const label[NH_OP_COUNT] = {
#define OP(NAME, ...) [NH_OP_##NAME] = &&op_##NAME,
#include "code/ops.def"
        [NH_OP_END] = &&end,
    };
    goto *label[i->op];
#define OP(NAME, operands, commutes, encode, instruction, wasm, C)                                 \
    op_##NAME:                                                                                     \
    {                                                                                              \
        const real READ_##operands;                                                                \
        AT(to) = (C);                                                                              \
        NEXT;                                                                                      \
    }
#define PAIR(NAME, operands, encode, instruction, wasm, C)                                         \
    op_##NAME:                                                                                     \
    {                                                                                              \
        const real READ_##operands;                                                                \
        real x, y;                                                                                 \
        C;                                                                                         \
        AT(to) = x;                                                                                \
        AT(c) = y;                                                                                 \
        NEXT;                                                                                      \
    }
#include "code/ops.def"
end:
    return;
}

int OF_VARIANT(nh_interpret)(const void *self, int fn, double t, const void *q, const void *v,
                             const void *x, void *out, const void *u)
{
    const nh_interpreter *in = (const nh_interpreter *)self;
    const nh_tape *tape = in->tape[fn];
    real time = broadcast(t);
    real *to = (real *)out;
    real *const base[NH_PLACE_ARRAYS] = {[NH_TIME] = &time,
                                         [NH_Q] = (real *)q,
                                         [NH_V] = (real *)v,
                                         [NH_X] = (real *)x,
                                         [NH_U] = (real *)u,
                                         [NH_P] = NULL,
                                         [NH_PLACE_SLOTS] = (real *)in->slots[fn],
                                         [NH_PLACE_OUT] = to};
    for (size_t i = 0; i < tape->stretches; i++) {
        nh_stretch s = tape->stretch[i];
        for (uint32_t iteration = 0; iteration < s.iterations; iteration++)
            run(tape->placed + s.first, base, iteration);
    }
    return 0;
}

/* ---- single operations, for machine code: numbers are passed in registers ---- */

#define OPERANDS_1 real a
#define OPERANDS_2 OPERANDS_1, real b
#define OPERANDS_3 OPERANDS_2, real c
#define OP(NAME, operands, commutes, encode, instruction, wasm, C)                                 \
    static real function_##NAME(OPERANDS_##operands)                                               \
    {                                                                                              \
        return C;                                                                                  \
    }
#define PAIR(NAME, operands, encode, instruction, wasm, C)                                         \
    static real function_##NAME(OPERANDS_##operands, real *second)                                 \
    {                                                                                              \
        real x, y;                                                                                 \
        C;                                                                                         \
        *second = y;                                                                               \
        return x;                                                                                  \
    }
#include "code/ops.def"

nh_op_functions OF_VARIANT(nh_op_functions) = {
#define OP(NAME, ...) [NH_OP_##NAME] = (nh_op_function *)function_##NAME,
#include "code/ops.def"
};
