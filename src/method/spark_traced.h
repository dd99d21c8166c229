/* Points that are not numbers but records of how numbers are computed (spark_points.h): a kernel
 * whose arithmetic becomes the instructions of a tape under construction. Nothing here can fail
 * before the end of the tape. */
#ifndef NH_METHOD_SPARK_TRACED_H
#define NH_METHOD_SPARK_TRACED_H

#include <math.h>
#include <stdlib.h>

#include "code/fuse.h"
#include "kernel/kernel_io.h"

/* A value of the tape or, without a tape yet, a constant. */
typedef struct real {
    nh_fuser *tape;
    nh_fused value;
    double constant;
} real;
typedef real point;

typedef struct kernel { /* as far as the arithmetic of a step needs it */
    const nh_kernel_io *io;
    nh_fuser *tape;
    const nh_tape *const *called; /* the functions of the system */
    nh_fused *passed;             /* room for their arguments and results */
    real h, t, *q, *v, *memory, *top;
    int n, m, nk, nb, positions, reaction_is_linear, constant_mass, compensated;
    const int *b_first, *b_column, *size;
    const double *option, *table;
} kernel;

static inline real broadcast(double x)
{
    return (real){.constant = x};
}

static inline real traced(nh_fuser *tape, nh_fused value)
{
    return (real){.tape = tape, .value = value};
}

static inline nh_fused value_of(nh_fuser *tape, real x)
{
    return x.tape ? x.value : nh_fuse_constant(tape, x.constant);
}

/* Of constants. Products of these are with zero, and so the same whether they are rounded or not.
 */
static inline real fold(nh_op op, double a, double b, double c)
{
    const bool is_product = op == NH_OP_MUL || op == NH_OP_DIV;
    if (op == NH_OP_FMA || op == NH_OP_FNMA)
        return broadcast(fma(op == NH_OP_FMA ? a : -a, b, c));
    if (is_product)
        return broadcast(op == NH_OP_MUL ? a * b : a / b);
    return broadcast(op == NH_OP_ADD ? a + b : a - b);
}

static inline real operation(nh_op op, real a, real b, real c)
{
    nh_fuser *tape = a.tape ? a.tape : b.tape ? b.tape : c.tape;
    if (!tape)
        return fold(op, a.constant, b.constant, c.constant);
    const nh_fused x = value_of(tape, a), y = value_of(tape, b), z = value_of(tape, c);
    return traced(tape, nh_fuse_operation(tape, op, x, y, nh_ops[op].operands > 2 ? z : 0));
}

#define plus_(a, b) operation(NH_OP_ADD, a, b, b)
#define minus_(a, b) operation(NH_OP_SUB, a, b, b)
#define times_(a, b) operation(NH_OP_MUL, a, b, b)
#define over_(a, b) operation(NH_OP_DIV, a, b, b)
#define fma_(a, b, c) operation(NH_OP_FMA, a, b, c)
#define fnma_(a, b, c) operation(NH_OP_FNMA, a, b, c)
#define everywhere broadcast
#define at_all(x) (x)
#define step_of(k) ((k)->h)
#define TIME_AT(i) plus_(k->t, times_(broadcast(TABLE_C[i]), k->h))
#define TO_MEMORY(x, count) (void)0
#define COMPOSED(io) 0
#define TRY_(call) (void)(call)
#define LANES 1

#include "kernel/general.h"

#define CALL(FN, t, q, v, x, out) call_traced(k, NH_FN_##FN, t, q, v, x, out)
#define CALL_POINTS(FN, g, q, v, x, out) CALL(FN, TIME_AT(g), q, v, x, out)

/* A function of the system: its tape becomes a part of this one. */
static inline void call_traced(kernel *k, nh_fn fn, real t, const real *q, const real *v,
                               const real *x, real *out)
{
    const nh_tape *called = k->called[fn];
    const real *from[] = {[NH_Q] = q, [NH_V] = v, [NH_X] = x};
    nh_fused *to[] = {[NH_Q] = k->passed, [NH_V] = k->passed + N, [NH_X] = k->passed + 2 * N};
    nh_fused *results = k->passed + 3 * N + NF;
    for (size_t i = 0; i < called->inputs; i++) {
        const nh_tape_input in = called->input[i];
        if (in.kind == NH_Q || in.kind == NH_V || in.kind == NH_X)
            to[in.kind][in.index] = value_of(k->tape, from[in.kind][in.index]);
    }
    const nh_fuse_arguments given = {value_of(k->tape, t), to[NH_Q], to[NH_V], to[NH_X]};
    nh_fuse_tape(k->tape, called, given, results);
    for (size_t i = 0; i < called->outputs; i++)
        out[i] = traced(k->tape, results[i]);
}

#endif
