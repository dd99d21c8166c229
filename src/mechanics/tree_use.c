/* Decides whether a machine is treated as a tree (tree.h), and checks that this is right. */
#include "mechanics/tree.h"

#include <math.h>
#include <stdlib.h>

#include "mechanics/probe.h"

/* Smaller machines, and matrices that are sparse already, have nothing to gain. */
enum { TREE_MIN = 12, TREE_DEGREE = 24 };

/* Brings the energy and the constraints into nested form. */
static bool nest(nh_mechanics *s)
{
    nh_problem *p = s->problem;
    const size_t n = (size_t)s->n, m = (size_t)s->m, count = 1 + 2 * m + n;
    nh_expr *root = calloc(count, sizeof *root), *value = root + 1;
    if (!root)
        return false;
    root[0] = p->lagrangian;
    for (size_t i = 0; i < m; i++) {
        value[i] = p->constraint[i].value;
        value[m + i] = p->constraint[i].position;
    }
    for (size_t i = 0; i < n; i++)
        value[2 * m + i] = p->force[i];
    const bool ok = nh_nest(s->g, root, count);
    if (ok) {
        p->lagrangian = root[0];
        for (size_t i = 0; i < m; i++) {
            p->constraint[i].value = value[i];
            p->constraint[i].position = value[m + i];
        }
        for (size_t i = 0; i < n; i++)
            p->force[i] = value[2 * m + i];
    }
    free(root);
    return ok;
}

static nh_elimination *factors_of(nh_mechanics *s, const nh_expr *k, int m, double *products)
{
    nh_tree tree;
    nh_elimination *lu = NULL;
    if (nh_tree_read(&tree, s->g, s->n, s->problem->lagrangian, k, m)) {
        s->tree_constant = tree.constant;
        s->tree_homogeneous = tree.homogeneous;
        lu = nh_tree_eliminate(&tree, products);
        nh_tree_free(&tree);
    }
    return lu;
}

bool nh_look_for_tree(nh_mechanics *s)
{
    if (s->n < TREE_MIN || s->problem->fixed)
        return true;
    nh_expr *k = calloc((size_t)s->m + 1, sizeof *k);
    if (!k)
        return false;
    s->dense_products =
        nh_tree_dense_products(s->g, s->n, s->problem->lagrangian, &s->tree_entries);
    double products;
    bool ok = true;
    if (s->dense_products > TREE_DEGREE * (double)s->n) {
        ok = nest(s);
        for (int i = 0; i < s->m; i++)
            k[i] = s->problem->constraint[i].value;
        s->mass_factors = ok ? factors_of(s, NULL, 0, &s->tree_products) : NULL;
        s->is_tree = s->mass_factors;
        if (s->is_tree && s->m > 0)
            s->motion_factors = factors_of(s, k, s->m, &products);
    }
    free(k);
    return ok && !nh_graph_failed(s->g);
}

/* The operations in the entries of M, beyond those of p, if M is formed. */
static double cost_of_mass(nh_mechanics *s)
{
    nh_expr_list list = {0};
    size_t all = 0, own = 0;
    bool ok = nh_expr_list_push_all(&list, s->p, s->n);
    for (int i = 0; ok && i < s->n; i++)
        for (size_t e = 0; ok && e < s->mass.row[i].count; e++)
            ok = nh_expr_list_push(&list, s->mass.row[i].entry[e].value);
    ok = ok && nh_count_operands(s->g, list.item, list.count, &all) &&
         nh_count_operands(s->g, s->p, (size_t)s->n, &own);
    if (!ok)
        nh_graph_fail(s->g);
    nh_expr_list_free(&list);
    return (double)(all - own);
}

bool nh_is_tree_shorter(nh_mechanics *s)
{
    const double n = s->n, mass = s->mass_is_formed ? cost_of_mass(s) : n * n;
    return s->tree_products < s->dense_products + mass;
}

void nh_leave_tree(nh_mechanics *s)
{
    nh_elimination_free(s->mass_factors);
    nh_elimination_free(s->motion_factors);
    s->mass_factors = s->motion_factors = NULL;
    s->is_tree = false;
}

/* M x = b in states near the start, where M x is p(x) - p(0), and the signs of the pivots. */
static bool solves(nh_mechanics *s, nh_probe *probe, const nh_expr *list, const double *b,
                   double *value, double *zero)
{
    const size_t n = (size_t)s->n;
    const nh_expr *x = list, *p = list + 2 * n;
    if (!nh_evaluate(s->g, x, 2 * n, probe->t, probe->q, probe->v, NULL, value) ||
        !nh_evaluate(s->g, p, n, probe->t, probe->q, value, NULL, value + 2 * n)) {
        nh_graph_fail(s->g);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        zero[i] = 0;
    if (!nh_evaluate(s->g, p, n, probe->t, probe->q, zero, NULL, zero + n)) {
        nh_graph_fail(s->g);
        return false;
    }
    double size = 0, defect = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(value[i]))
            return true; /* nothing is known in this state */
        if (!(value[n + i] > 0))
            return false;
        size = fmax(size, fmax(fabs(b[i]), fabs(value[2 * n + i])));
        defect = fmax(defect, fabs(value[2 * n + i] - zero[n + i] - b[i]));
    }
    return defect <= 1e-6 * size;
}

bool nh_tree_solves(nh_mechanics *s)
{
    const size_t n = (size_t)s->n;
    nh_expr *list = calloc(3 * n + 1, sizeof *list);
    double *value = calloc(6 * n + 1, sizeof *value), *b = value + 5 * n;
    nh_probe probe;
    const bool ready = nh_probe_init(&probe, s, 0, s->start, s->start + n);
    bool ok = list && value && ready;
    for (size_t i = 0; ok && i < n; i++) {
        b[i] = nh_scatter((int)i, 77);
        list[i] = nh_number(s->g, b[i]);
        list[n + i] = nh_elimination_pivots(s->mass_factors)[i];
        list[2 * n + i] = s->p[i];
    }
    ok = ok && nh_elimination_solve(s->g, s->mass_factors, list);
    if (!ok)
        nh_graph_fail(s->g);
    for (int round = 0; ok && round < NH_NEAR; round++) {
        nh_probe_move(&probe, round);
        ok = solves(s, &probe, list, b, value, value + 3 * n);
    }
    if (ready)
        nh_probe_free(&probe);
    free(list);
    free(value);
    return ok;
}
