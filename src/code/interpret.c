/* The tape's interpreter, compiled for one lane and for several (see real.h). */
#include "code/interpret.h"

#include "kernel/real.h"
#include "kernel/trig.h"

/* Jumping from each instruction straight to the next lets the processor predict every pair apart.
 */
#define NEXT goto *label[(++i)->op]
#define AT(name) base[i->name##_array][i->name + turn * i->name##_step]
#define UNARY(NAME, expression)                                                                    \
    NAME : {                                                                                       \
        real a = AT(a);                                                                            \
        AT(to) = (expression);                                                                     \
        NEXT;                                                                                      \
    }
#define BINARY(NAME, expression)                                                                   \
    NAME : {                                                                                       \
        real a = AT(a), b = AT(b);                                                                 \
        AT(to) = (expression);                                                                     \
        NEXT;                                                                                      \
    }

static void run(const nh_placed *i, real *const *base, ptrdiff_t turn)
{
    static const void *const label[NH_OP_COUNT] = {
        [NH_OP_ADD] = &&add,   [NH_OP_SUB] = &&sub,       [NH_OP_MUL] = &&mul,
        [NH_OP_DIV] = &&div,   [NH_OP_NEG] = &&neg,       [NH_OP_FMA] = &&fma,
        [NH_OP_FNMA] = &&fnma, [NH_OP_SQRT] = &&sqrt,     [NH_OP_SIN] = &&sin,
        [NH_OP_COS] = &&cos,   [NH_OP_SINCOS] = &&sincos, [NH_OP_TAN] = &&tan,
        [NH_OP_ASIN] = &&asin, [NH_OP_ACOS] = &&acos,     [NH_OP_ATAN] = &&atan,
        [NH_OP_SINH] = &&sinh, [NH_OP_COSH] = &&cosh,     [NH_OP_TANH] = &&tanh,
        [NH_OP_EXP] = &&exp,   [NH_OP_LOG] = &&log,       [NH_OP_ATAN2] = &&atan2,
        [NH_OP_POW] = &&pow,   [NH_OP_COPY] = &&copy,     [NH_OP_END] = &&end,
    };
    goto *label[i->op];
    BINARY(add, a + b)
    BINARY(sub, a - b)
    BINARY(mul, a * b)
    BINARY(div, a / b)
    UNARY(neg, -a)
fma : {
    real a = AT(a), b = AT(b), c = AT(c);
    AT(to) = fma_(a, b, c);
    NEXT;
}
fnma : {
    real a = AT(a), b = AT(b), c = AT(c);
    AT(to) = fma_(-a, b, c);
    NEXT;
}
    UNARY(sqrt, sqrt_(a))
    UNARY(sin, sin_(a))
    UNARY(cos, cos_(a))
sincos : {
    real sine, cosine;
    sincos_(AT(a), &sine, &cosine);
    AT(to) = sine;
    AT(c) = cosine;
    NEXT;
}
    UNARY(tan, tan_(a))
    UNARY(asin, asin_(a))
    UNARY(acos, acos_(a))
    UNARY(atan, atan_(a))
    UNARY(sinh, sinh_(a))
    UNARY(cosh, cosh_(a))
    UNARY(tanh, tanh_(a))
    UNARY(exp, exp_(a))
    UNARY(log, log_(a))
    BINARY(atan2, atan2_(a, b))
    BINARY(pow, pow_(a, b))
    UNARY(copy, a)
end:
    return;
}

#define PASTE2(name, variant) name##variant
#define PASTE(name, variant) PASTE2(name, variant)

int PASTE(nh_interpret_, NH_VARIANT)(const void *self, int fn, double t, const void *q,
                                     const void *v, const void *x, void *out)
{
    const nh_interpreter *in = self;
    const nh_tape *tape = in->tape[fn];
    real time = broadcast(t), *to = out;
    real *const base[NH_PLACE_ARRAYS] = {[NH_TIME] = &time,
                                         [NH_Q] = (real *)q,
                                         [NH_V] = (real *)v,
                                         [NH_X] = (real *)x,
                                         [NH_PLACE_SLOTS] = in->slots[fn],
                                         [NH_PLACE_OUT] = to};
    for (size_t i = 0; i < tape->stretches; i++) {
        nh_stretch s = tape->stretch[i];
        for (uint32_t turn = 0; turn < s.turns; turn++)
            run(tape->placed + s.first, base, turn);
    }
    return 0;
}

/* ---- single instructions, for machine code: numbers come and go in registers ---- */

#define OPERATION1(name)                                                                           \
    static real name##of(real a)                                                                   \
    {                                                                                              \
        return name(a);                                                                            \
    }
#define OPERATION2(name)                                                                           \
    static real name##of(real a, real b)                                                           \
    {                                                                                              \
        return name(a, b);                                                                         \
    }
OPERATION1(sin_)
OPERATION1(cos_)
OPERATION1(tan_)
OPERATION1(asin_)
OPERATION1(acos_)
OPERATION1(atan_)
OPERATION1(sinh_)
OPERATION1(cosh_)
OPERATION1(tanh_)
OPERATION1(exp_)
OPERATION1(log_)
OPERATION2(atan2_)
OPERATION2(pow_)

static real sincos_of(real a, real *cosine)
{
    real sine;
    sincos_(a, &sine, cosine);
    return sine;
}

#define ENTRY(op, function) [NH_OP_##op] = (nh_op_function *)function
nh_op_functions PASTE(nh_op_functions_, NH_VARIANT) = {
    ENTRY(SIN, sin_of),   ENTRY(COS, cos_of),     ENTRY(SINCOS, sincos_of), ENTRY(TAN, tan_of),
    ENTRY(ASIN, asin_of), ENTRY(ACOS, acos_of),   ENTRY(ATAN, atan_of),     ENTRY(SINH, sinh_of),
    ENTRY(COSH, cosh_of), ENTRY(TANH, tanh_of),   ENTRY(EXP, exp_of),       ENTRY(LOG, log_of),
    ENTRY(POW, pow_of),   ENTRY(ATAN2, atan2_of),
};
