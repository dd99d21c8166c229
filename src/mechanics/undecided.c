/* What decides which contacts are closed and which grips hold: free accelerations, and how
 * reactions change them, as expressions; mechanics.h has the layout. */
#include "mechanics/mechanics.h"

#include <stdlib.h>
#include <string.h>

nh_contact_layout nh_contact_layout_of(const nh_problem *problem, int n, int constraints)
{
    nh_contact_layout of = {n, constraints, constraints, problem->items, problem->reactions};
    for (int i = 0; i < problem->items; i++)
        of.rows += problem->item[i].components;
    return of;
}

size_t nh_contact_numbers(const nh_contact_layout *of)
{
    const size_t n = (size_t)of->n, rows = (size_t)of->rows;
    const size_t of_items = rows - (size_t)of->constraints;
    if (of->items == 0)
        return 0;
    return n + rows * (2 * n + 2) + (size_t)of->items + of_items * 2 * (1 + (size_t)of->reactions);
}

/* k, its gradient, M^-1 times that, and its drift. */
static bool push_row(nh_mechanics *s, nh_expr k, nh_expr *work, nh_expr_list *out)
{
    nh_graph *g = s->g;
    const int n = s->n;
    nh_partials by_v;
    if (!nh_expr_gradient(g, k, NH_V, &by_v))
        return false;
    for (int i = 0; i < n; i++)
        work[i] = nh_partial_of(&by_v, (uint32_t)i);
    bool ok = nh_expr_list_push_all(out, work, n) &&
              nh_elimination_solve(g, s->mass_factors, work) && nh_expr_list_push_all(out, work, n);
    nh_partials_free(&by_v);
    return ok && nh_expr_list_push(out, nh_total_derivative(g, k)) && nh_expr_list_push(out, k);
}

/* A limit, linear in reactions: its constant and its coefficients. */
static bool push_limit(nh_mechanics *s, nh_expr limit, const nh_expr *zero, nh_expr_list *out)
{
    const int reactions = s->problem->reactions;
    nh_partials slope;
    if (!nh_expr_gradient(s->g, limit, NH_X, &slope))
        return false;
    bool ok = nh_expr_list_push(out, nh_substitute(s->g, limit, NH_X, zero, (size_t)reactions));
    for (int i = 0; ok && i < reactions; i++)
        ok = nh_expr_list_push(out, nh_partial_of(&slope, (uint32_t)i));
    nh_partials_free(&slope);
    return ok;
}

bool nh_derive_contact(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *p = s->problem;
    nh_expr *zero = calloc((size_t)p->reactions + 1, sizeof *zero);
    if (p->items == 0) {
        free(zero);
        return true;
    }
    memcpy(work, s->rate, (size_t)s->n * sizeof *work);
    bool ok = zero && nh_elimination_solve(s->g, s->mass_factors, work) &&
              nh_expr_list_push_all(out, work, s->n);
    for (int i = 0; ok && i < s->m; i++)
        ok = push_row(s, s->k[i], work, out);
    for (int i = 0; ok && i < p->items; i++)
        for (int c = 0; ok && c < p->item[i].components; c++)
            ok = push_row(s, p->item[i].speed[c], work, out);
    for (int i = 0; ok && i < p->items; i++)
        ok = nh_expr_list_push(out, p->item[i].contact ? p->item[i].gap : NH_ZERO);
    for (int i = 0; ok && i < p->items; i++)
        for (int c = 0; ok && c < p->item[i].components; c++) {
            const nh_problem_item *item = p->item + i;
            ok = push_limit(s, item->contact ? NH_ZERO : item->limit[c], zero, out) &&
                 push_limit(s, item->contact ? NH_ZERO : item->still[c], zero, out);
        }
    free(zero);
    return ok;
}
