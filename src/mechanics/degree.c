/* Properties of the momenta, the forces and the conditions on positions that kernels exploit:
 * whether p = M v + constant with a constant M, and the degrees of the forces and of G = dg/dq as
 * polynomials in the coordinates, which determine how many quadrature points make their means
 * exact. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

/* Whether p - M v is a constant. */
static bool plain_momentum(const nh_mechanics *mechanics)
{
    bool plain = mechanics->facts.constant_mass;
    for (int i = 0; plain && i < mechanics->n; i++)
        plain = !nh_depends(mechanics->g, mechanics->p[i], NH_Q) &&
                !nh_depends(mechanics->g, mechanics->p[i], NH_TIME);
    return plain;
}

/* The degree of a node as a polynomial in the coordinates, from those of its operands; -1 if it is
 * not a polynomial. */
static int degree_of_node(const nh_graph *g, nh_expr e, const signed char *degree)
{
    enum { DEGREE_MAX = 20 };
    nh_node n = nh_look(g, e);
    if (!(n.depends >> NH_Q & 1))
        return 0;
    if (n.kind == NH_INPUT)
        return 1;
    if (n.kind != NH_SUM && n.kind != NH_PRODUCT)
        return -1;
    int whole = 0;
    for (size_t i = 0; i < n.count; i++) {
        int part = degree[n.operand[i].expr];
        double power = n.kind == NH_PRODUCT ? n.operand[i].number : 1;
        if (part < 0 || (part > 0 && (power < 0 || power > DEGREE_MAX || power != (int)power)))
            return -1;
        part *= part > 0 ? (int)power : 1;
        whole = n.kind == NH_PRODUCT ? whole + part : part > whole ? part : whole;
        if (whole > DEGREE_MAX)
            return -1;
    }
    return whole;
}

/* The highest degree of some expressions, -1 if one is not a polynomial. Operands come before their
 * users, so one pass over the graph finds every degree. */
static int highest_degree(nh_graph *g, const nh_expr_list *list)
{
    size_t size = nh_graph_size(g);
    signed char *degree = calloc(size, 1);
    int most = degree ? 0 : -1;
    if (!degree)
        nh_graph_fail(g);
    for (nh_expr e = 0; most >= 0 && e < size; e++)
        degree[e] = (signed char)degree_of_node(g, e, degree);
    for (size_t i = 0; most >= 0 && i < list->count; i++) {
        int here = degree[list->item[i]];
        most = here < 0 ? -1 : here > most ? here : most;
    }
    free(degree);
    return most;
}

/* For the forces at rest. */
static int slope_degree(const nh_mechanics *mechanics)
{
    size_t n = (size_t)mechanics->n;
    nh_expr *zero = calloc(n + 1, sizeof *zero);
    nh_expr_list force = {0};
    bool ok = zero != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(&force, nh_substitute(mechanics->g, mechanics->F[i], NH_V, zero, n));
    if (!ok)
        nh_graph_fail(mechanics->g);
    int most = ok ? highest_degree(mechanics->g, &force) : -1;
    nh_expr_list_free(&force);
    free(zero);
    return most;
}

/* For G, the rows of K that belong to conditions on positions. */
static int surface_degree(const nh_mechanics *mechanics)
{
    nh_expr_list G = {0};
    bool ok = true;
    for (int i = mechanics->m - mechanics->positions; i < mechanics->m; i++)
        for (size_t e = 0; ok && e < mechanics->K.row[i].count; e++)
            ok = nh_expr_list_push(&G, mechanics->K.row[i].entry[e].value);
    if (!ok)
        nh_graph_fail(mechanics->g);
    int most = ok ? highest_degree(mechanics->g, &G) : -1;
    nh_expr_list_free(&G);
    return most;
}

bool nh_find_degrees(nh_mechanics *mechanics)
{
    mechanics->plain_momentum = plain_momentum(mechanics);
    mechanics->slope_degree = slope_degree(mechanics);
    mechanics->surface_degree = surface_degree(mechanics);
    return !nh_graph_failed(mechanics->g);
}
