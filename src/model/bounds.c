/* Values of expressions together with bounds on their round-off: running error analysis to first
 * order. A value no larger than its bound may be zero; a larger one is not, whatever its units.
 *
 * Inputs are exact up to a given relative error. Numbers of the model are exact if they have few
 * binary digits; otherwise they are accurate to one rounding, as a product of parameters is. */
#include "model/graph_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static double number_error(double c)
{
    double scaled = c * 1024;
    return scaled == rint(scaled) && fabs(scaled) < 0x1p52 ? 0 : DBL_EPSILON * fabs(c);
}

/* Terms may have any sign: every partial sum is rounded. */
static nh_bounded sum_value(nh_node n, const nh_bounded *at)
{
    nh_bounded sum = {n.number, number_error(n.number)};
    for (size_t i = 0; i < n.count; i++) {
        nh_bounded x = at[n.operand[i].expr];
        double c = n.operand[i].number, term = c * x.value;
        sum.value += term;
        sum.error += fabs(c) * x.error + number_error(c) * fabs(x.value) +
                     DBL_EPSILON * (fabs(term) + fabs(sum.value));
    }
    return sum;
}

/* The largest possible value of the product minus its computed value. */
static nh_bounded product_value(nh_node n, const nh_bounded *at)
{
    double value = n.number, most = fabs(n.number) + number_error(n.number);
    bool zero = false;
    for (size_t i = 0; i < n.count; i++) {
        nh_bounded x = at[n.operand[i].expr];
        double p = n.operand[i].number, size = fabs(x.value);
        zero = zero || x.value == 0;
        value *= p == 1 ? x.value : p == 0.5 ? sqrt(x.value) : pow(x.value, p);
        double extreme = p > 0 ? size + x.error : size - x.error;
        most *= p == 1 ? extreme : p < 0 && !(extreme > 0) ? INFINITY : pow(extreme, p);
    }
    double lost = value == 0 && !zero ? DBL_MIN : 0; /* it is too small for a number */
    return (nh_bounded){value,
                        most - fabs(value) + 4 * (double)n.count * DBL_EPSILON * most + lost};
}

static nh_bounded call_value(const nh_graph *g, nh_node n, const nh_bounded *at)
{
    nh_bounded a = at[n.operand[0].expr], b = {0};
    if (n.count > 1)
        b = at[n.operand[1].expr];
    double value = nh_call_value(g, &n, a.value, b.value), error = 2 * DBL_EPSILON * fabs(value);
    if (n.which == NH_POW && value == 0 && a.value != 0)
        error = DBL_MIN; /* as of products */
    for (int sign = -1; sign <= 1; sign += 2) {
        if (a.error > 0)
            error += fabs(nh_call_value(g, &n, a.value + sign * a.error, b.value) - value);
        if (b.error > 0)
            error += fabs(nh_call_value(g, &n, a.value, b.value + sign * b.error) - value);
    }
    return (nh_bounded){value, isnan(error) ? INFINITY : error};
}

static nh_bounded input_value(const nh_graph *g, nh_node n, const nh_inputs *p)
{
    const double *array = n.which == NH_Q   ? p->q
                          : n.which == NH_V ? p->v
                          : n.which == NH_X ? p->x
                                            : NULL;
    double value = n.which == NH_TIME ? p->t : array ? array[n.index] : nh_graph_given(g, &n, p->t);
    return (nh_bounded){value, p->input_error * fabs(value)};
}

bool nh_evaluate_bounded(const nh_graph *g, const nh_expr *list, size_t count, const nh_inputs *p,
                         nh_bounded *out)
{
    nh_expr *order;
    size_t reached;
    if (!nh_reach(g, list, count, &order, &reached))
        return false;
    nh_bounded *at = malloc((g->nodes ? g->nodes : 1) * sizeof *at);
    for (size_t i = 0; at && i < reached; i++) {
        nh_node n = nh_look(g, order[i]);
        nh_bounded *here = at + order[i];
        switch (n.kind) {
        case NH_NUMBER:
            *here = (nh_bounded){n.number, number_error(n.number)};
            break;
        case NH_INPUT:
            *here = input_value(g, n, p);
            break;
        case NH_SUM:
            *here = sum_value(n, at);
            break;
        case NH_PRODUCT:
            *here = product_value(n, at);
            break;
        default:
            *here = call_value(g, n, at);
        }
    }
    for (size_t i = 0; at && i < count; i++)
        out[i] = at[list[i]];
    free(at);
    free(order);
    return at != NULL;
}
