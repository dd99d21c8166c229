/* Reverse accumulation on a tape: its operations in order, then for each of them, last to first,
 * what its rule adds to the derivatives by its operands. What is not differentiable is
 * differentiated on the side that was taken, as by kernel/rules.h. */
#include "code/reverse.h"

#include <stdlib.h>

#include "code/fuse.h"

enum { NONE = UINT32_MAX };

typedef struct reversal {
    nh_fuser *fuser;
    const nh_tape *tape;
    nh_fused *value, *adjoint; /* by values of the tape; an adjoint may be NONE, which is 0 */
} reversal;

static nh_fused make(const reversal *w, nh_op op, nh_fused a, nh_fused b)
{
    return nh_fuse_operation(w->fuser, op, a, b, 0);
}

static nh_fused number(const reversal *w, double x)
{
    return nh_fuse_constant(w->fuser, x);
}

static bool is_constant(const reversal *w, uint32_t value)
{
    return value >= w->tape->inputs && value < w->tape->inputs + w->tape->constants;
}

/* The derivative by x grows by g, shrinks by g, grows by g times rate. */
static void add(const reversal *w, uint32_t x, nh_fused g)
{
    if (!is_constant(w, x))
        w->adjoint[x] = w->adjoint[x] == NONE ? g : make(w, NH_OP_ADD, w->adjoint[x], g);
}

static void subtract(const reversal *w, uint32_t x, nh_fused g)
{
    if (!is_constant(w, x))
        w->adjoint[x] =
            w->adjoint[x] == NONE ? make(w, NH_OP_NEG, g, 0) : make(w, NH_OP_SUB, w->adjoint[x], g);
}

static void add_times(const reversal *w, uint32_t x, nh_fused g, nh_fused rate)
{
    if (!is_constant(w, x))
        w->adjoint[x] = w->adjoint[x] == NONE
                            ? make(w, NH_OP_MUL, g, rate)
                            : nh_fuse_operation(w->fuser, NH_OP_FMA, g, rate, w->adjoint[x]);
}

static void subtract_times(const reversal *w, uint32_t x, nh_fused g, nh_fused rate)
{
    if (is_constant(w, x))
        return;
    if (w->adjoint[x] == NONE)
        subtract(w, x, make(w, NH_OP_MUL, g, rate));
    else
        w->adjoint[x] = nh_fuse_operation(w->fuser, NH_OP_FNMA, g, rate, w->adjoint[x]);
}

/* (1 - y)(1 + y) */
static nh_fused beside_one(const reversal *w, nh_fused y)
{
    const nh_fused less = make(w, NH_OP_SUB, number(w, 1), y);
    return make(w, NH_OP_MUL, less, make(w, NH_OP_ADD, number(w, 1), y));
}

/* 1 + y^2 */
static nh_fused above_one(const reversal *w, nh_fused y)
{
    return nh_fuse_operation(w->fuser, NH_OP_FMA, y, y, number(w, 1));
}

static void power(const reversal *w, const nh_instruction *x, nh_fused a, nh_fused b, nh_fused y,
                  nh_fused g)
{
    const nh_fused lower = make(w, NH_OP_POW, a, make(w, NH_OP_SUB, b, number(w, 1)));
    const nh_fused rate = make(w, NH_OP_MUL, b, lower);
    add_times(w, x->a, g,
              is_constant(w, x->b) ? rate : make(w, NH_OP_WHEN, make(w, NH_OP_MUL, b, b), rate));
    const nh_fused by_exponent = make(w, NH_OP_MUL, y, make(w, NH_OP_LOG, a, 0));
    add_times(w, x->b, g, make(w, NH_OP_WHEN, make(w, NH_OP_MUL, a, a), by_exponent));
}

static void quotient(const reversal *w, const nh_instruction *x, nh_fused b, nh_fused y, nh_fused g)
{
    const nh_fused part = make(w, NH_OP_DIV, g, b);
    add(w, x->a, part);
    subtract_times(w, x->b, part, y);
}

static void direction(const reversal *w, const nh_instruction *x, nh_fused a, nh_fused b,
                      nh_fused g)
{
    const nh_fused square = nh_fuse_operation(w->fuser, NH_OP_FMA, a, a, make(w, NH_OP_MUL, b, b));
    const nh_fused part = make(w, NH_OP_DIV, g, square);
    add_times(w, x->a, part, b);
    subtract_times(w, x->b, part, a);
}

/* Functions of one argument. */
static void function(const reversal *w, const nh_instruction *x, nh_fused a, nh_fused y, nh_fused g)
{
    switch ((nh_op)x->op) {
    case NH_OP_SQRT: { /* a root of zero stands still */
        const nh_fused half = make(w, NH_OP_DIV, make(w, NH_OP_MUL, g, number(w, 0.5)), y);
        add(w, x->a, make(w, NH_OP_WHEN, y, half));
        break;
    }
    case NH_OP_SIN:
        add_times(w, x->a, g, make(w, NH_OP_COS, a, 0));
        break;
    case NH_OP_COS:
        subtract_times(w, x->a, g, make(w, NH_OP_SIN, a, 0));
        break;
    case NH_OP_TAN:
        add_times(w, x->a, g, above_one(w, y));
        break;
    case NH_OP_ASIN:
        add(w, x->a, make(w, NH_OP_DIV, g, make(w, NH_OP_SQRT, beside_one(w, a), 0)));
        break;
    case NH_OP_ACOS:
        subtract(w, x->a, make(w, NH_OP_DIV, g, make(w, NH_OP_SQRT, beside_one(w, a), 0)));
        break;
    case NH_OP_ATAN:
        add(w, x->a, make(w, NH_OP_DIV, g, above_one(w, a)));
        break;
    case NH_OP_SINH:
        add_times(w, x->a, g, make(w, NH_OP_COSH, a, 0));
        break;
    case NH_OP_COSH:
        add_times(w, x->a, g, make(w, NH_OP_SINH, a, 0));
        break;
    case NH_OP_TANH:
        add_times(w, x->a, g, beside_one(w, y));
        break;
    case NH_OP_EXP:
        add_times(w, x->a, g, y);
        break;
    default: /* LOG */
        add(w, x->a, make(w, NH_OP_DIV, g, a));
    }
}

static void arithmetic(const reversal *w, const nh_instruction *x, nh_fused g)
{
    const nh_fused a = w->value[x->a], b = nh_ops[x->op].operands > 1 ? w->value[x->b] : 0,
                   y = w->value[x->to];
    switch ((nh_op)x->op) {
    case NH_OP_ADD:
        add(w, x->a, g);
        add(w, x->b, g);
        break;
    case NH_OP_SUB:
        add(w, x->a, g);
        subtract(w, x->b, g);
        break;
    case NH_OP_FMA:
        add(w, x->c, g);
        /* fall through */
    case NH_OP_MUL:
        add_times(w, x->a, g, b);
        add_times(w, x->b, g, a);
        break;
    case NH_OP_FNMA:
        add(w, x->c, g);
        subtract_times(w, x->a, g, b);
        subtract_times(w, x->b, g, a);
        break;
    case NH_OP_DIV:
        quotient(w, x, b, y, g);
        break;
    case NH_OP_NEG:
        subtract(w, x->a, g);
        break;
    case NH_OP_COPY:
        add(w, x->a, g);
        break;
    case NH_OP_ATAN2:
        direction(w, x, a, b, g);
        break;
    case NH_OP_POW:
        power(w, x, a, b, y, g);
        break;
    case NH_OP_WHEN:
    case NH_OP_UNLESS:
        add(w, x->b, make(w, (nh_op)x->op, a, g));
        break;
    default:
        function(w, x, a, y, g);
    }
}

/* Sine and cosine together. */
static void pair(const reversal *w, const nh_instruction *x)
{
    if (w->adjoint[x->to] != NONE)
        add_times(w, x->a, w->adjoint[x->to], w->value[x->c]);
    if (w->adjoint[x->c] != NONE)
        subtract_times(w, x->a, w->adjoint[x->c], w->value[x->to]);
}

static void reverse(const reversal *w, nh_input kind, uint32_t first_weight, nh_fused *out)
{
    const nh_tape *t = w->tape;
    nh_fuse_values(w->fuser, t, w->value);
    for (size_t i = 0; i < t->values; i++)
        w->adjoint[i] = NONE;
    for (size_t i = 0; i < t->outputs; i++)
        add(w, t->output[i], nh_fuse_argument(w->fuser, kind, first_weight + (uint32_t)i));
    for (size_t i = t->instructions; i-- > 0;) {
        const nh_instruction *x = t->code + i;
        if (nh_ops[x->op].results > 1)
            pair(w, x);
        else if (w->adjoint[x->to] != NONE)
            arithmetic(w, x, w->adjoint[x->to]);
    }
    for (size_t i = 0; i < t->inputs; i++) {
        const nh_fused by = w->adjoint[t->input[i].value];
        out[i] = by == NONE ? number(w, 0) : by;
    }
}

nh_tape *nh_tape_reverse(const nh_tape *tape, nh_input kind, uint32_t first_weight)
{
    const reversal w = {.fuser = nh_fuse_begin(),
                        .tape = tape,
                        .value = malloc((tape->values + 1) * sizeof *w.value),
                        .adjoint = malloc((tape->values + 1) * sizeof *w.adjoint)};
    nh_fused *out = malloc((tape->inputs + 1) * sizeof *out);
    const bool ok = w.fuser && w.value && w.adjoint && out;
    if (ok)
        reverse(&w, kind, first_weight, out);
    nh_tape *made = nh_fuse_end(w.fuser, out, ok ? tape->inputs : 0);
    free(w.value);
    free(w.adjoint);
    free(out);
    return made;
}
