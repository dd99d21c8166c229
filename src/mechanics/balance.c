/* The equations of motion in implicit form, not solved for the accelerations, and their
 * derivatives; exported programs solve them numerically. With x=(lambda, v'),
 *
 *     M v' - rate - K^T lambda - N(lambda),     K v' + drift
 *
 * vanish on the motion (N: friction.c). From their derivative along a change of state and inputs,
 * at given lambda and v', one more solution of the linear system gives the changes of lambda and
 * v'. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

/* ---- the arguments x ---- */

static nh_expr multiplier(const nh_mechanics *s, int i)
{
    return nh_variable(s->g, NH_X, (uint32_t)i);
}

static nh_expr acceleration(const nh_mechanics *s, int i)
{
    return nh_variable(s->g, NH_X, (uint32_t)(s->m + i));
}

/* The arguments that hold the changes: dq, dv, du (and those of parameters, which are inputs after
 * the others), dlambda. */
typedef struct changes {
    const nh_mechanics *s;
    bool multipliers; /* whether the multipliers change, too */
} changes;

static nh_expr change_of(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    const changes *c = self;
    const uint32_t m = (uint32_t)c->s->m, n = (uint32_t)c->s->n;
    const uint32_t u = m + 3 * n, inputs = (uint32_t)c->s->problem->open_values;
    const uint32_t given = (uint32_t)nh_problem_given(c->s->problem);
    switch (kind) {
    case NH_Q:
        return nh_variable(g, NH_X, m + n + index);
    case NH_V:
        return nh_variable(g, NH_X, m + 2 * n + index);
    case NH_U:
        return nh_variable(g, NH_X, u + index);
    case NH_P:
        return nh_variable(g, NH_X, u + inputs + index);
    case NH_X:
        return c->multipliers && index < m ? nh_variable(g, NH_X, u + given + index) : NH_ZERO;
    default:
        return NH_ZERO;
    }
}

static bool push_changes(nh_mechanics *s, const nh_expr_list *of, bool multipliers,
                         nh_expr_list *out)
{
    changes c = {s, multipliers};
    nh_expr *change = calloc(of->count + 1, sizeof *change);
    bool ok = change && nh_tangents(s->g, of->item, of->count, change_of, &c, change);
    for (size_t i = 0; ok && i < of->count; i++)
        ok = nh_expr_list_push(out, change[i]);
    free(change);
    return ok;
}

/* ---- the equations ---- */

static nh_expr row_balance(nh_mechanics *s, int i)
{
    nh_graph *g = s->g;
    nh_expr sum = nh_negate(g, nh_add(g, s->rate[i], s->friction[i]));
    const nh_partials *row = s->mass.row + i;
    for (size_t e = 0; e < row->count; e++) {
        const nh_expr a = acceleration(s, (int)row->entry[e].index);
        sum = nh_add(g, sum, nh_multiply(g, row->entry[e].value, a));
    }
    for (int j = 0; j < s->m; j++) {
        const nh_expr l = multiplier(s, j);
        sum = nh_subtract(g, sum, nh_multiply(g, nh_matrix_at(&s->K, j, i), l));
    }
    return sum;
}

static nh_expr row_drift(nh_mechanics *s, int j)
{
    nh_graph *g = s->g;
    nh_expr sum = s->drift[j];
    for (size_t e = 0; e < s->K.row[j].count; e++) {
        const nh_expr a = acceleration(s, (int)s->K.row[j].entry[e].index);
        sum = nh_add(g, sum, nh_multiply(g, s->K.row[j].entry[e].value, a));
    }
    return sum;
}

bool nh_derive_balance(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    bool ok = nh_form_mass(s);
    for (int i = 0; ok && i < s->n; i++)
        ok = nh_expr_list_push(out, row_balance(s, i));
    for (int j = 0; ok && j < s->m; j++)
        ok = nh_expr_list_push(out, row_drift(s, j));
    return ok && !nh_graph_failed(s->g);
}

/* ---- their derivatives ---- */

bool nh_derive_balance_along(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    nh_expr_list all = {0};
    bool ok = nh_derive_balance(s, work, &all) && push_changes(s, &all, false, out);
    nh_expr_list_free(&all);
    return ok;
}

/* Energies and observables; here the arguments are the multipliers in the list of reactions. */
bool nh_derive_observe_along(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    const nh_problem *problem = s->problem;
    nh_expr_list all = {0};
    nh_expr *psi = calloc((size_t)problem->reactions + 1, sizeof *psi);
    bool ok = psi && nh_expr_list_push(&all, s->energy);
    for (int i = 0; ok && i < problem->reactions; i++)
        psi[i] = multiplier(s, problem->reaction[i]);
    if (s->facts.coupled)
        ok = ok && nh_expr_list_push(&all, s->driver_energy) &&
             nh_expr_list_push(&all, s->passenger_energy);
    for (int i = 0; ok && i < problem->observables; i++)
        ok = nh_expr_list_push(&all, nh_substitute(s->g, problem->observable[i].value, NH_X, psi,
                                                   (size_t)problem->reactions));
    ok = ok && push_changes(s, &all, true, out);
    nh_expr_list_free(&all);
    free(psi);
    return ok;
}
