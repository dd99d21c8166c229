/* Driver and passengers: nonholonomically coupled systems (Modin & Verdier 2020, Def. 2.1).
 *
 *     L = x'.M x'/2 - U(x) + mu xi'^2/2 - V(xi),    A(xi) x' = 0,    dim ker A = 1
 *
 * The motion of the driver xi does not depend on the passengers x; its position determines the
 * direction in which the passengers may move. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

#include "base/dense.h"

/* The only coordinate on which the expression depends: its index, -1 for none, -2 for several. */
static int only_coordinate(nh_graph *g, nh_expr e)
{
    nh_expr *below;
    size_t count;
    int only = -1;
    if (!nh_depends(g, e, NH_Q))
        return -1;
    if (!nh_reach(g, &e, 1, &below, &count)) {
        nh_graph_fail(g);
        return -2;
    }
    for (size_t i = 0; i < count; i++) {
        nh_node n = nh_look(g, below[i]);
        if (n.kind == NH_INPUT && n.which == NH_Q)
            only = only == -1 || only == (int)n.index ? (int)n.index : -2;
    }
    free(below);
    return only;
}

/* The coordinate on which the constraints depend, if there is exactly one. */
static int driver_of(const nh_mechanics *s)
{
    int driver = -1;
    for (int i = 0; i < s->m; i++)
        for (size_t e = 0; e < s->K.row[i].count; e++) {
            int on = only_coordinate(s->g, s->K.row[i].entry[e].value);
            if (on == -2 || (on >= 0 && driver >= 0 && on != driver))
                return -1;
            driver = on >= 0 ? on : driver;
        }
    return driver;
}

static bool decoupled(const nh_mechanics *s, int driver)
{
    for (int i = 0; i < s->m; i++)
        if (nh_matrix_at(&s->K, i, driver) != NH_ZERO)
            return false;
    const nh_partials *row = s->mass.row + driver;
    if (row->count != 1)
        return false;
    for (int i = 0; i < s->n; i++) {
        nh_partials d;
        if (!nh_expr_gradient(s->g, s->F[i], NH_Q, &d))
            return false;
        bool by_driver = nh_partial_of(&d, (uint32_t)driver) != NH_ZERO;
        bool by_others = d.count > (by_driver ? 1 : 0);
        nh_partials_free(&d);
        if (i == driver ? by_others : by_driver)
            return false;
    }
    return true;
}

/* Whether a function is applied to coordinates within the expressions. Derivatives do not show
 * this: they miss the jumps of sign(x). */
static bool call_with_coordinates(nh_graph *g, const nh_expr *e, size_t roots)
{
    nh_expr *below;
    size_t count;
    bool found = false;
    if (!nh_reach(g, e, roots, &below, &count)) {
        nh_graph_fail(g);
        return true;
    }
    for (size_t i = 0; i < count && !found; i++) {
        nh_kind kind = nh_look(g, below[i]).kind;
        found = (kind == NH_CALL1 || kind == NH_CALL2) && nh_depends(g, below[i], NH_Q);
    }
    free(below);
    return found;
}

static bool has_constant_gradient(nh_graph *g, nh_expr e)
{
    nh_partials d;
    if (!nh_expr_gradient(g, e, NH_Q, &d))
        return false;
    bool constant = true;
    for (size_t i = 0; i < d.count; i++)
        constant = constant && !nh_depends(g, d.entry[i].value, NH_Q);
    nh_partials_free(&d);
    return constant;
}

bool nh_forces_are_linear(const nh_mechanics *s, int apart)
{
    bool linear = true;
    for (int i = 0; i < s->n && linear; i++)
        linear = i == apart || has_constant_gradient(s->g, s->F[i]);
    size_t before = apart < 0 ? 0 : (size_t)apart, after = (size_t)(apart + 1);
    return linear && !call_with_coordinates(s->g, s->F, before) &&
           !call_with_coordinates(s->g, s->F + after, (size_t)s->n - after);
}

/* A coefficient of the passengers' potential: of K, or of f if all coordinates are set to zero. */
static double number_of(nh_mechanics *s, nh_expr e, nh_expr *zero)
{
    double value = 0;
    nh_is_number(s->g, nh_substitute(s->g, e, NH_Q, zero, (size_t)s->n), &value);
    return value;
}

/* U = x.K x/2 - f.x: the rank of K, and whether f lies outside its range. The driver's row and
 * column of the matrix (K, f) are zero. */
static bool find_stiffness(nh_mechanics *s, int driver)
{
    const int n = s->n;
    double *a = calloc(2 * (size_t)n * (size_t)(n + 1) + 1, sizeof *a), *b = a + n * (n + 1);
    nh_expr *zero = calloc((size_t)n + 1, sizeof *zero);
    bool ok = a && zero;
    for (int i = 0; i < n && ok; i++) {
        nh_partials d;
        if (i == driver)
            continue;
        ok = nh_expr_gradient(s->g, s->F[i], NH_Q, &d);
        for (size_t e = 0; ok && e < d.count; e++)
            b[i * (n + 1) + (int)d.entry[e].index] = a[i * n + (int)d.entry[e].index] =
                number_of(s, d.entry[e].value, zero);
        if (ok)
            nh_partials_free(&d);
        b[i * (n + 1) + n] = number_of(s, s->F[i], zero);
    }
    if (ok) {
        s->facts.passenger_rank = nh_dense_rank(n, n, a, 1e-12, NULL);
        s->facts.passenger_pull = nh_dense_rank(n, n + 1, b, 1e-12, NULL) > s->facts.passenger_rank;
        for (int i = 0; i < n * n; i++)
            a[i] = -a[i];
        a[driver * n + driver] = 1;
        s->facts.sprung_passengers = nh_dense_cholesky(n, a);
    }
    free(a);
    free(zero);
    if (!ok)
        nh_graph_fail(s->g);
    return ok;
}

/* V(xi): the terms of the potential without passengers. */
static nh_expr driver_potential(nh_mechanics *s, int driver)
{
    nh_graph *g = s->g;
    nh_expr *zero = calloc((size_t)s->n + 1, sizeof *zero);
    if (!zero)
        nh_graph_fail(s->g);
    if (!zero)
        return NH_ZERO;
    nh_expr V = nh_negate(g, nh_substitute(g, s->problem->lagrangian, NH_V, zero, (size_t)s->n));
    nh_node n = nh_look(g, V);
    nh_expr result = n.kind == NH_SUM ? nh_number(g, n.number) : NH_ZERO;
    bool split = true;
    for (size_t i = 0; n.kind == NH_SUM && i < n.count; i++) {
        nh_operand o = nh_look(g, V).operand[i];
        int on = only_coordinate(g, o.expr);
        if (on == driver || on == -1) /* a parameter, like a number */
            result = nh_add(g, result, nh_scale(g, o.number, o.expr));
        else if (on == -2 && split) {
            nh_partials d;
            split = nh_expr_gradient(g, o.expr, NH_Q, &d) &&
                    nh_partial_of(&d, (uint32_t)driver) == NH_ZERO;
            nh_partials_free(&d);
        }
    }
    if (n.kind != NH_SUM && only_coordinate(g, V) == driver)
        result = V;
    if (!split) { /* a term mixes them although the forces do not: set the passengers to zero */
        zero[driver] = nh_variable(g, NH_Q, (uint32_t)driver);
        result = nh_substitute(g, V, NH_Q, zero, (size_t)s->n);
    }
    free(zero);
    return result;
}

bool nh_find_coupling(nh_mechanics *s)
{
    const nh_facts *f = &s->facts;
    bool right_form = f->separable && f->autonomous && f->conservative && f->linear && s->m > 0 &&
                      s->n - 1 - s->m == 1 && s->problem->coordinates == s->n;
    int driver = right_form ? driver_of(s) : -1;
    if (driver < 0 || !decoupled(s, driver))
        return false;
    s->facts.driver = driver;
    s->facts.linear_passengers = nh_forces_are_linear(s, driver);
    if (s->facts.linear_passengers && !find_stiffness(s, driver))
        return false;
    nh_graph *g = s->g;
    nh_expr v = nh_variable(g, NH_V, (uint32_t)driver);
    nh_expr kinetic = nh_scale(g, 0.5, nh_multiply(g, v, s->p[driver]));
    s->driver_energy = nh_add(g, kinetic, driver_potential(s, driver));
    s->passenger_energy = nh_subtract(g, s->energy, s->driver_energy);
    return !nh_graph_failed(g);
}
