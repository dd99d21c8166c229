/* The uncertainty of expressions in which every number is uncertain.
 *
 * Each input and each constant may be off by `relative` times its size. The effect on an expression
 * is computed bottom-up: a sum adds the uncertainties of its terms, a product and a call take
 * differences of their values. A value within its spread cannot be distinguished from zero,
 * whatever the units: multiplying lengths or times by a factor multiplies both. The argument of a
 * sine has no unit: it is as uncertain as an angle between one radian and a revolution would be. */
#include "model/graph.h"

#include <math.h>
#include <stdlib.h>

static const double revolution = 6.283185307179586;

typedef struct uncertain {
    double value, spread;
} uncertain;

static uncertain input_of(const nh_graph *g, const nh_node *n, double t, const double *q,
                          const double *v, const double *u, double relative)
{
    const double *array = n->which == NH_Q ? q : n->which == NH_V ? v : n->which == NH_U ? u : NULL;
    double value = n->which == NH_TIME ? t : array ? array[n->index] : nh_graph_given(g, n, t);
    return (uncertain){value, relative * fabs(value)};
}

static uncertain sum_of(const nh_node *n, const uncertain *known, double relative)
{
    uncertain sum = {n->number, relative * fabs(n->number)};
    for (size_t i = 0; i < n->count; i++) {
        uncertain e = known[n->operand[i].expr];
        sum.value += n->operand[i].number * e.value;
        sum.spread += fabs(n->operand[i].number) * (e.spread + relative * fabs(e.value));
    }
    return sum;
}

static double power(double x, double exponent)
{
    return exponent == 1 ? x : exponent == 0.5 ? sqrt(x) : pow(x, exponent);
}

/* The larger of two differences; one outside the domain of a function is ignored. */
static double reach(double above, double below, double value)
{
    double spread = fmax(fabs(above - value), fabs(below - value));
    return isfinite(spread) ? spread : fabs(value);
}

static uncertain product_of(const nh_node *n, const uncertain *known, double relative)
{
    uncertain product = {n->number, 0};
    double upper = fabs(n->number), size = upper;
    for (size_t i = 0; i < n->count; i++) {
        uncertain e = known[n->operand[i].expr];
        double p = n->operand[i].number, factor = power(e.value, p);
        product.value *= factor;
        size *= fabs(factor);
        upper *= fabs(factor) +
                 reach(power(e.value + e.spread, p), power(e.value - e.spread, p), factor);
    }
    product.spread = upper - size + relative * size;
    return product;
}

static uncertain call_of(const nh_node *n, const uncertain *known, double relative)
{
    nh_function f = (nh_function)n->which;
    uncertain a = known[n->operand[0].expr],
              b = n->count > 1 ? known[n->operand[1].expr] : (uncertain){0};
    if (f == NH_SIN || f == NH_COS || f == NH_TAN)
        a.spread = fmin(fmax(a.spread, relative), relative * revolution);
    double value = nh_function_value(f, a.value, b.value);
    double spread = reach(nh_function_value(f, a.value + a.spread, b.value),
                          nh_function_value(f, a.value - a.spread, b.value), value);
    if (n->count > 1)
        spread += reach(nh_function_value(f, a.value, b.value + b.spread),
                        nh_function_value(f, a.value, b.value - b.spread), value);
    return (uncertain){value, spread + relative * fabs(value)};
}

bool nh_evaluate_spread(const nh_graph *g, const nh_expr *list, size_t count, double t,
                        const double *q, const double *v, const double *u, double relative,
                        double *value, double *spread)
{
    nh_expr *order;
    size_t reached;
    if (!nh_reach(g, list, count, &order, &reached))
        return false;
    uncertain *known = malloc((nh_graph_size(g) + 1) * sizeof *known);
    for (size_t i = 0; known && i < reached; i++) {
        nh_node n = nh_look(g, order[i]);
        known[order[i]] = n.kind == NH_INPUT     ? input_of(g, &n, t, q, v, u, relative)
                          : n.kind == NH_NUMBER  ? (uncertain){n.number, relative * fabs(n.number)}
                          : n.kind == NH_SUM     ? sum_of(&n, known, relative)
                          : n.kind == NH_PRODUCT ? product_of(&n, known, relative)
                                                 : call_of(&n, known, relative);
    }
    for (size_t i = 0; known && i < count; i++) {
        value[i] = known[list[i]].value;
        spread[i] = known[list[i]].spread;
    }
    free(known);
    free(order);
    return known != NULL;
}
