/* Integrals of closed forms in closed form: f with df = w.
 *
 * Column by column, the part of w that f does not yet account for is integrated term by term:
 * polynomials, and sines, cosines and exponentials of arguments that are linear in the variable.
 * Nothing else is attempted. The result is differentiated again and compared with w. */
#include "mechanics/forms.h"

#include <math.h>
#include <stdlib.h>

typedef struct integration {
    nh_forms *f;
    int column;
    nh_expr x; /* the variable of the column */
} integration;

static nh_expr derivative(const integration *w, nh_expr e)
{
    return nh_column_derivative(w->f, e, w->column);
}

static bool antiderivative(const integration *w, nh_expr e, nh_expr *out);

static bool antiderivative_of_sum(const integration *w, nh_expr e, nh_expr *out)
{
    nh_graph *g = w->f->s->g;
    size_t count = nh_look(g, e).count;
    *out = nh_scale(g, nh_look(g, e).number, w->x);
    for (size_t i = 0; i < count; i++) {
        nh_operand o = nh_look(g, e).operand[i];
        nh_expr part;
        if (!antiderivative(w, o.expr, &part))
            return false;
        *out = nh_add(g, *out, nh_scale(g, o.number, part));
    }
    return true;
}

/* base^power, where the base is linear in the variable */
static bool antiderivative_of_power(const integration *w, nh_expr base, double power, nh_expr *out)
{
    nh_graph *g = w->f->s->g;
    nh_expr slope = derivative(w, base);
    if (derivative(w, slope) != NH_ZERO)
        return false;
    nh_labels *labels = nh_graph_labels(g);
    const double next = nh_plus(labels, power, 1);
    nh_expr raised =
        power == -1 ? nh_call(g, NH_LOG, base)
                    : nh_scale(g, nh_over(labels, 1, next), nh_power(g, base, nh_number(g, next)));
    *out = nh_divide(g, raised, slope);
    return true;
}

/* All factors but one must be independent of the variable. */
static bool antiderivative_of_product(const integration *w, nh_expr e, nh_expr *out)
{
    nh_graph *g = w->f->s->g;
    nh_node n = nh_look(g, e);
    size_t count = n.count;
    nh_expr rest = nh_number(g, n.number);
    nh_operand only = {0};
    int moving = 0;
    for (size_t i = 0; i < count; i++) {
        nh_operand o = nh_look(g, e).operand[i];
        if (derivative(w, o.expr) != NH_ZERO) {
            only = o;
            moving++;
        } else
            rest = nh_multiply(g, rest, nh_power(g, o.expr, nh_number(g, o.number)));
    }
    if (moving != 1)
        return false;
    nh_expr part;
    bool ok = only.number == 1 ? antiderivative(w, only.expr, &part)
                               : antiderivative_of_power(w, only.expr, only.number, &part);
    *out = ok ? nh_multiply(g, rest, part) : NH_ZERO;
    return ok;
}

static bool antiderivative_of_call(const integration *w, nh_expr e, nh_expr *out)
{
    nh_graph *g = w->f->s->g;
    nh_node n = nh_look(g, e);
    nh_expr a = n.operand[0].expr;
    nh_function which = (nh_function)n.which;
    nh_expr slope = derivative(w, a);
    if (n.count != 1 || derivative(w, slope) != NH_ZERO)
        return false;
    nh_expr whole = which == NH_SIN   ? nh_negate(g, nh_call(g, NH_COS, a))
                    : which == NH_COS ? nh_call(g, NH_SIN, a)
                    : which == NH_EXP ? e
                                      : NH_ZERO;
    if (whole == NH_ZERO)
        return false;
    *out = nh_divide(g, whole, slope);
    return true;
}

static bool antiderivative(const integration *w, nh_expr e, nh_expr *out)
{
    nh_graph *g = w->f->s->g;
    if (derivative(w, e) == NH_ZERO) {
        *out = nh_multiply(g, e, w->x);
        return true;
    }
    switch (nh_look(g, e).kind) {
    case NH_SUM:
        return antiderivative_of_sum(w, e, out);
    case NH_PRODUCT:
        return antiderivative_of_product(w, e, out);
    case NH_INPUT:
        *out = nh_scale(g, 0.5, nh_multiply(g, e, e));
        return true;
    default:
        return antiderivative_of_call(w, e, out);
    }
}

/* Factors that are simple fractions up to round-off are replaced by these fractions. */
static double plain(double x)
{
    for (int k = 1; k <= 12; k++)
        if (fabs(k * x - rint(k * x)) < 1e-9 * fabs(k * x))
            return rint(k * x) / k;
    return x;
}

static nh_expr combined(const nh_forms *f, const double *factor, int column)
{
    nh_graph *g = f->s->g;
    nh_expr sum = NH_ZERO;
    for (int i = 0; i < f->rows; i++)
        sum = nh_add(g, sum, nh_scale(g, plain(factor[i]), f->entry[i * f->columns + column]));
    return sum;
}

/* Whether df = w, checked by values where the graph does not show it. */
static bool explains(nh_forms *f, nh_expr found, const double *factor, nh_probe *probe)
{
    nh_graph *g = f->s->g;
    for (int j = 0; j < f->columns; j++) {
        nh_expr d = nh_column_derivative(f, found, j);
        nh_expr left = nh_subtract(g, combined(f, factor, j), d);
        bool seen = left == NH_ZERO;
        for (int round = 0; left != NH_ZERO && round < NH_ROUNDS; round++) {
            nh_bounded value;
            nh_probe_move(probe, round);
            nh_inputs point = nh_probe_point(probe);
            if (!nh_evaluate_bounded(g, &left, 1, &point, &value)) {
                nh_graph_fail(g);
                return false;
            }
            nh_answer significant = nh_is_significant(value);
            if (significant == NH_YES)
                return false;
            seen = seen || significant == NH_NO;
        }
        if (!seen)
            return false;
    }
    return true;
}

nh_expr nh_primitive(nh_forms *f, const double *factor, nh_probe *probe)
{
    nh_graph *g = f->s->g;
    nh_expr found = NH_ZERO;
    for (int j = 0; j < f->columns; j++) {
        bool time = f->with_time && j == f->columns - 1;
        nh_expr here = combined(f, factor, j), more;
        if (here == NH_ZERO)
            continue;
        if (!time && j >= f->s->problem->coordinates)
            return NH_ZERO;
        integration w = {f, j,
                         time ? nh_variable(g, NH_TIME, 0) : nh_variable(g, NH_Q, (uint32_t)j)};
        here = nh_subtract(g, here, derivative(&w, found));
        if (here == NH_ZERO)
            continue;
        if (!antiderivative(&w, here, &more))
            return NH_ZERO;
        found = nh_add(g, found, more);
    }
    return found != NH_ZERO && explains(f, found, factor, probe) ? found : NH_ZERO;
}
