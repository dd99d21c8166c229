/* Decides whether a machine is treated as a tree (tree.h), and checks that this is right. */
#include "mechanics/tree.h"

#include <math.h>
#include <stdlib.h>

#include "mechanics/probe.h"

/* Smaller machines, and matrices that are sparse already, have nothing to gain. */
enum { TREE_MIN = 12, TREE_DEGREE = 24 };

static size_t root_count(const nh_mechanics *s)
{
    return 1 + 2 * (size_t)s->m + (size_t)s->n;
}

/* The energy, the constraints and the forces. */
static void list_roots(const nh_mechanics *s, nh_expr *root)
{
    const nh_problem *p = s->problem;
    const size_t n = (size_t)s->n, m = (size_t)s->m;
    nh_expr *value = root + 1;
    root[0] = p->lagrangian;
    for (size_t i = 0; i < m; i++) {
        value[i] = p->constraint[i].value;
        value[m + i] = p->constraint[i].position;
    }
    for (size_t i = 0; i < n; i++)
        value[2 * m + i] = p->force[i];
}

static void set_roots(nh_mechanics *s, const nh_expr *root)
{
    nh_problem *p = s->problem;
    const size_t n = (size_t)s->n, m = (size_t)s->m;
    const nh_expr *value = root + 1;
    p->lagrangian = root[0];
    for (size_t i = 0; i < m; i++) {
        p->constraint[i].value = value[i];
        p->constraint[i].position = value[m + i];
    }
    for (size_t i = 0; i < n; i++)
        p->force[i] = value[2 * m + i];
}

/* Brings them into nested form. */
static bool nest(nh_mechanics *s)
{
    nh_expr *root = calloc(root_count(s), sizeof *root);
    if (root)
        list_roots(s, root);
    const bool ok = root && nh_nest(s->g, root, root_count(s));
    if (ok)
        set_roots(s, root);
    free(root);
    return ok;
}

static nh_elimination *factors_of(nh_mechanics *s, const nh_expr *k, int m, double most,
                                  double *products)
{
    nh_tree tree;
    nh_elimination *lu = NULL;
    if (nh_tree_read(&tree, s->g, s->n, s->problem->lagrangian, k, m)) {
        s->tree_constant = tree.constant;
        s->tree_homogeneous = tree.homogeneous;
        lu = nh_tree_eliminate(&tree, most, products);
        nh_tree_free(&tree);
    }
    return lu;
}

/* Fails only if out of memory; is_tree says whether there is one. */
static bool find_factors(nh_mechanics *s)
{
    /* what M itself takes, as in nh_is_tree_shorter; where M is formed, that is compared later */
    const double most =
        s->n <= NH_DENSE_LOOKS_MAX ? HUGE_VAL : s->dense_products + s->forming_products;
    nh_expr *k = calloc((size_t)s->m + 1, sizeof *k);
    if (!k || !nest(s)) {
        free(k);
        return false;
    }
    for (int i = 0; i < s->m; i++)
        k[i] = s->problem->constraint[i].value;
    double products;
    s->mass_factors = factors_of(s, NULL, 0, most, &s->tree_products);
    s->is_tree = s->mass_factors;
    if (s->is_tree && s->m > 0)
        s->motion_factors = factors_of(s, k, s->m, HUGE_VAL, &products);
    free(k);
    return !nh_graph_failed(s->g);
}

bool nh_look_for_tree(nh_mechanics *s)
{
    if (s->n < TREE_MIN || s->problem->fixed)
        return true;
    const double n = s->n;
    s->dense_products = nh_tree_dense_products(s->g, s->n, s->problem->lagrangian, &s->tree_entries,
                                               &s->forming_products);
    s->forming_products = fmax(s->forming_products, n * n);
    if (s->dense_products <= TREE_DEGREE * (double)s->n)
        return true;
    nh_expr *before = calloc(root_count(s), sizeof *before);
    if (!before)
        return false;
    list_roots(s, before);
    const bool shared = nh_share_sums(s->g, true);
    const bool ok = find_factors(s);
    if (!s->is_tree) {
        set_roots(s, before);
        nh_share_sums(s->g, shared);
    }
    free(before);
    return ok;
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
    const double mass = s->mass_is_formed ? cost_of_mass(s) : s->forming_products;
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
