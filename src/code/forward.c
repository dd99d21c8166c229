/* Every operation of a tape, followed by what its rule makes of the derivatives of its operands.
 * What is not differentiable is differentiated on the side that was taken, as by kernel/rules.h. */
#include "code/forward.h"

#include <stdlib.h>

#include "code/fuse.h"

enum { NONE = UINT32_MAX };

typedef struct moving {
    nh_fuser *fuser;
    const nh_tape *tape;
    nh_fused *value, *move; /* by values of the tape; a derivative may be NONE, which is 0 */
} moving;

static nh_fused make(const moving *w, nh_op op, nh_fused a, nh_fused b)
{
    return nh_fuse_operation(w->fuser, op, a, b, 0);
}

static nh_fused number(const moving *w, double x)
{
    return nh_fuse_constant(w->fuser, x);
}

/* ---- sums in which any term may be 0 ---- */

static nh_fused minus(const moving *w, nh_fused a)
{
    return a == NONE ? NONE : make(w, NH_OP_NEG, a, 0);
}

static nh_fused plus(const moving *w, nh_fused a, nh_fused b)
{
    return a == NONE ? b : b == NONE ? a : make(w, NH_OP_ADD, a, b);
}

static nh_fused times(const moving *w, nh_fused rate, nh_fused move)
{
    return move == NONE ? NONE : make(w, NH_OP_MUL, rate, move);
}

/* sum + rate move, and sum - rate move */
static nh_fused plus_times(const moving *w, nh_fused sum, nh_fused rate, nh_fused move)
{
    if (sum == NONE || move == NONE)
        return sum == NONE ? times(w, rate, move) : sum;
    return nh_fuse_operation(w->fuser, NH_OP_FMA, rate, move, sum);
}

static nh_fused minus_times(const moving *w, nh_fused sum, nh_fused rate, nh_fused move)
{
    if (sum == NONE || move == NONE)
        return sum == NONE ? minus(w, times(w, rate, move)) : sum;
    return nh_fuse_operation(w->fuser, NH_OP_FNMA, rate, move, sum);
}

/* ---- rules ---- */

/* (1 - y)(1 + y) */
static nh_fused beside_one(const moving *w, nh_fused y)
{
    const nh_fused less = make(w, NH_OP_SUB, number(w, 1), y);
    return make(w, NH_OP_MUL, less, make(w, NH_OP_ADD, number(w, 1), y));
}

/* 1 + y^2 */
static nh_fused above_one(const moving *w, nh_fused y)
{
    return nh_fuse_operation(w->fuser, NH_OP_FMA, y, y, number(w, 1));
}

static nh_fused inverse(const moving *w, nh_fused x)
{
    return make(w, NH_OP_DIV, number(w, 1), x);
}

/* Where the exponent does not move, its derivative, which needs the logarithm of the base, is left
 * out: the base may be negative. */
static nh_fused power(const moving *w, const nh_instruction *x)
{
    const nh_fused a = w->value[x->a], b = w->value[x->b], y = w->value[x->to];
    const nh_fused lower = make(w, NH_OP_POW, a, make(w, NH_OP_SUB, b, number(w, 1)));
    const nh_fused rate =
        make(w, NH_OP_WHEN, make(w, NH_OP_MUL, b, b), make(w, NH_OP_MUL, b, lower));
    const nh_fused by_base = times(w, rate, w->move[x->a]), db = w->move[x->b];
    if (db == NONE)
        return by_base;
    const nh_fused by_exponent = make(w, NH_OP_MUL, y, make(w, NH_OP_LOG, a, 0));
    const nh_fused term = make(w, NH_OP_WHEN, make(w, NH_OP_MUL, a, a), times(w, by_exponent, db));
    return plus(w, by_base, make(w, NH_OP_WHEN, make(w, NH_OP_MUL, db, db), term));
}

static nh_fused direction(const moving *w, const nh_instruction *x)
{
    const nh_fused a = w->value[x->a], b = w->value[x->b];
    const nh_fused square = nh_fuse_operation(w->fuser, NH_OP_FMA, a, a, make(w, NH_OP_MUL, b, b));
    const nh_fused part = inverse(w, square);
    const nh_fused sum = times(w, b, w->move[x->a]);
    const nh_fused gap = minus_times(w, sum, a, w->move[x->b]);
    return times(w, part, gap);
}

/* By which the derivative of a function of one argument is that of its argument. */
static nh_fused rate_of(const moving *w, const nh_instruction *x)
{
    const nh_fused a = w->value[x->a], y = w->value[x->to];
    switch ((nh_op)x->op) {
    case NH_OP_SQRT: /* a root of zero stands still */
        return make(w, NH_OP_WHEN, y, make(w, NH_OP_DIV, number(w, 0.5), y));
    case NH_OP_SIN:
        return make(w, NH_OP_COS, a, 0);
    case NH_OP_COS:
        return minus(w, make(w, NH_OP_SIN, a, 0));
    case NH_OP_TAN:
        return above_one(w, y);
    case NH_OP_ASIN:
        return inverse(w, make(w, NH_OP_SQRT, beside_one(w, a), 0));
    case NH_OP_ACOS:
        return minus(w, inverse(w, make(w, NH_OP_SQRT, beside_one(w, a), 0)));
    case NH_OP_ATAN:
        return inverse(w, above_one(w, a));
    case NH_OP_SINH:
        return make(w, NH_OP_COSH, a, 0);
    case NH_OP_COSH:
        return make(w, NH_OP_SINH, a, 0);
    case NH_OP_TANH:
        return beside_one(w, y);
    case NH_OP_EXP:
        return y;
    default: /* LOG */
        return inverse(w, a);
    }
}

/* The derivative of the first result. */
static nh_fused move_of(const moving *w, const nh_instruction *x)
{
    const bool two = nh_ops[x->op].operands > 1;
    const nh_fused a = w->value[x->a], b = two ? w->value[x->b] : 0, da = w->move[x->a],
                   db = two ? w->move[x->b] : NONE;
    if (da == NONE && db == NONE && (nh_ops[x->op].operands < 3 || w->move[x->c] == NONE))
        return NONE;
    switch ((nh_op)x->op) {
    case NH_OP_ADD:
        return plus(w, da, db);
    case NH_OP_SUB:
        return db == NONE ? da : da == NONE ? minus(w, db) : make(w, NH_OP_SUB, da, db);
    case NH_OP_MUL:
        return plus_times(w, times(w, b, da), a, db);
    case NH_OP_FMA:
        return plus_times(w, plus_times(w, w->move[x->c], b, da), a, db);
    case NH_OP_FNMA:
        return minus_times(w, minus_times(w, w->move[x->c], b, da), a, db);
    case NH_OP_DIV:
        return times(w, inverse(w, b), minus_times(w, da, w->value[x->to], db));
    case NH_OP_NEG:
        return minus(w, da);
    case NH_OP_COPY:
        return da;
    case NH_OP_ATAN2:
        return direction(w, x);
    case NH_OP_POW:
        return power(w, x);
    case NH_OP_WHEN:
    case NH_OP_UNLESS:
        return db == NONE ? NONE : make(w, (nh_op)x->op, a, db);
    default:
        return times(w, rate_of(w, x), da);
    }
}

static void follow(const moving *w, const nh_instruction *x)
{
    nh_fuse_instruction(w->fuser, x, w->value);
    if (nh_ops[x->op].results > 1) { /* sine and cosine */
        const nh_fused da = w->move[x->a];
        w->move[x->to] = times(w, w->value[x->c], da);
        w->move[x->c] = minus(w, times(w, w->value[x->to], da));
    } else
        w->move[x->to] = move_of(w, x);
}

static void forward(const moving *w, uint32_t inputs, nh_fused *out)
{
    const nh_tape *t = w->tape;
    for (size_t i = 0; i < t->inputs; i++) {
        const bool is_time = t->input[i].kind == NH_TIME;
        const nh_input kind = is_time ? NH_U : (nh_input)t->input[i].kind;
        const uint32_t index = 2 * (is_time ? inputs : t->input[i].index);
        w->value[i] = nh_fuse_argument(w->fuser, kind, index);
        w->move[i] = nh_fuse_argument(w->fuser, kind, index + 1);
    }
    for (size_t i = 0; i < t->constants; i++) {
        w->value[t->inputs + i] = number(w, t->constant[i]);
        w->move[t->inputs + i] = NONE;
    }
    for (size_t i = 0; i < t->instructions; i++)
        follow(w, t->code + i);
    for (size_t i = 0; i < t->outputs; i++) {
        const nh_fused move = w->move[t->output[i]];
        out[2 * i] = w->value[t->output[i]];
        out[2 * i + 1] = move == NONE ? number(w, 0) : move;
    }
}

nh_tape *nh_tape_forward(const nh_tape *tape, uint32_t inputs, bool in_place)
{
    const moving w = {.fuser = nh_fuse_begin(),
                      .tape = tape,
                      .value = malloc((tape->values + 1) * sizeof *w.value),
                      .move = malloc((tape->values + 1) * sizeof *w.move)};
    nh_fused *out = malloc((2 * tape->outputs + 1) * sizeof *out);
    const bool ok = w.fuser && w.value && w.move && out;
    if (ok)
        forward(&w, inputs, out);
    nh_tape *made = ok ? nh_fuse_end_function(w.fuser, out, 2 * tape->outputs, in_place)
                       : nh_fuse_end(w.fuser, NULL, 0);
    free(w.value);
    free(w.move);
    free(out);
    return made;
}
