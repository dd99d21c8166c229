/* Constraints that are not ideal: forces that depend on reactions, as dry friction does.
 *
 *     p' = F + K^T psi + N(t, q, v, psi),     k(t, q, v) = 0
 *
 * A force of the model that contains reaction(NAME) is divided into its value without reactions,
 * which stays with the forces, and N. In N the argument X[j] is the multiplier of constraint j.
 * Steps of SPARK methods use B = M^-1 (K + dN/dpsi)^T and the part of N beyond that
 * linearisation. */
#include "mechanics/mechanics.h"

#include <stdlib.h>
#include <string.h>

bool nh_split_friction(nh_mechanics *s)
{
    const nh_problem *problem = s->problem;
    const size_t count = (size_t)problem->reactions;
    nh_expr *zero = calloc(2 * count + 1, sizeof *zero), *psi = zero + count;
    s->friction = calloc((size_t)s->n + 1, sizeof *s->friction);
    bool ok = zero && s->friction;
    for (size_t i = 0; ok && i < count; i++)
        psi[i] = problem->reaction[i] < 0
                     ? NH_ZERO /* of a contact or grip that is no constraint: not in use */
                     : nh_variable(s->g, NH_X, (uint32_t)problem->reaction[i]);
    for (int i = 0; ok && i < s->n; i++) {
        nh_expr *force = &problem->force[i], all = *force;
        if (!nh_depends(s->g, all, NH_X))
            continue;
        *force = nh_substitute(s->g, all, NH_X, zero, count);
        s->friction[i] = nh_subtract(s->g, nh_substitute(s->g, all, NH_X, psi, count), *force);
        s->facts.nonideal = s->facts.nonideal || s->friction[i] != NH_ZERO;
    }
    free(zero);
    return ok && !nh_graph_failed(s->g);
}

/* Friction may act on any velocity, so B gets an entry for each. */
bool nh_pad_reactions(nh_mechanics *s)
{
    const size_t n = (size_t)s->n;
    for (int j = 0; j < s->m && s->facts.nonideal; j++) {
        nh_partial *entry = calloc(n + 1, sizeof *entry);
        if (!entry)
            return false;
        for (size_t i = 0; i < n; i++)
            entry[i] = (nh_partial){(uint32_t)i, nh_partial_of(s->B.row + j, (uint32_t)i)};
        free(s->B.row[j].entry);
        s->B.row[j] = (nh_partials){.entry = entry, .count = n};
    }
    return true;
}

/* slope[j * n + i] = dN_i/dpsi_j */
static bool find_slopes(nh_mechanics *s, nh_expr *slope)
{
    for (int i = 0; i < s->n; i++) {
        nh_partials d;
        if (!nh_expr_gradient(s->g, s->friction[i], NH_X, &d))
            return false;
        for (size_t e = 0; e < d.count; e++)
            slope[(int)d.entry[e].index * s->n + i] = d.entry[e].value;
        nh_partials_free(&d);
    }
    return true;
}

/* B: M^-1 (K_j + slope_j)^T for each constraint, overwriting the slopes. */
static bool solve_slopes(nh_mechanics *s, nh_expr *slope)
{
    bool ok = true;
    for (int j = 0; ok && j < s->m; j++) {
        for (int i = 0; i < s->n; i++)
            slope[j * s->n + i] = nh_add(s->g, slope[j * s->n + i], nh_matrix_at(&s->K, j, i));
        ok = nh_elimination_solve(s->g, s->mass_factors, slope + j * s->n);
    }
    return ok;
}

static size_t entries(const nh_mechanics *s)
{
    return (size_t)s->m * (size_t)s->n;
}

bool nh_push_friction_reactions(nh_mechanics *s, nh_expr_list *out)
{
    nh_expr *B = calloc(entries(s) + 1, sizeof *B);
    bool ok = B && find_slopes(s, B) && solve_slopes(s, B);
    for (size_t e = 0; ok && e < entries(s); e++)
        ok = nh_expr_list_push(out, B[e]);
    free(B);
    return ok;
}

bool nh_push_friction(nh_mechanics *s, bool beyond_slope, nh_expr_list *out)
{
    nh_expr *slope = calloc(entries(s) + 1, sizeof *slope);
    bool ok = slope && find_slopes(s, slope);
    for (int i = 0; ok && i < s->n; i++) {
        nh_expr rest = s->friction[i];
        for (int j = 0; beyond_slope && j < s->m; j++)
            rest = nh_subtract(
                s->g, rest,
                nh_multiply(s->g, slope[j * s->n + i], nh_variable(s->g, NH_X, (uint32_t)j)));
        ok = nh_expr_list_push(out, rest);
    }
    free(slope);
    return ok;
}

/* ---- accelerations ---- */

typedef struct frictional {
    nh_expr *a0, *a;    /* [n] without reactions; with psi */
    nh_expr *psi, *gap; /* [m] multipliers; the residual K a + drift */
    nh_expr *B;         /* [m n] at the present psi */
} frictional;

/* Computes a and the gap from psi. */
static bool apply(nh_mechanics *s, const frictional *f)
{
    nh_graph *g = s->g;
    for (int i = 0; i < s->n; i++) {
        f->a[i] = nh_substitute(g, s->friction[i], NH_X, f->psi, (size_t)s->m);
        for (int j = 0; j < s->m; j++)
            f->a[i] = nh_add(g, f->a[i], nh_multiply(g, nh_matrix_at(&s->K, j, i), f->psi[j]));
    }
    if (!nh_elimination_solve(g, s->mass_factors, f->a))
        return false;
    for (int i = 0; i < s->n; i++)
        f->a[i] = nh_add(g, f->a[i], f->a0[i]);
    for (int j = 0; j < s->m; j++)
        f->gap[j] = nh_add(g, s->drift[j], nh_row_apply(g, s->K.row + j, f->a));
    return true;
}

/* One step of Newton's method for psi. */
static bool improve(nh_mechanics *s, const frictional *f)
{
    nh_graph *g = s->g;
    nh_matrix S = {0};
    int singular;
    bool ok = nh_matrix_init(&S, s->m, s->m);
    for (int i = 0; ok && i < s->m; i++)
        for (int j = 0; ok && j < s->m; j++) {
            nh_expr entry = nh_row_apply(g, s->K.row + i, f->B + j * s->n);
            ok = nh_row_append(S.row + i, (uint32_t)j,
                               nh_substitute(g, entry, NH_X, f->psi, (size_t)s->m));
        }
    nh_elimination *lu = ok ? nh_eliminate(g, &S, &s->schur_pivots, &singular) : NULL;
    ok = lu && nh_elimination_solve(g, lu, f->gap);
    for (int j = 0; ok && j < s->m; j++)
        f->psi[j] = nh_subtract(g, f->psi[j], f->gap[j]);
    nh_elimination_free(lu);
    nh_matrix_free(&S);
    return ok;
}

/* Starts from the ideal multipliers. One step suffices if N is linear in psi. For dry friction,
 * which is linear except for the sign of psi, the second step is the last that changes anything;
 * for other laws every step squares the gap. */
bool nh_acceleration_with_friction(nh_mechanics *s, const nh_expr *ideal, nh_expr_list *out)
{
    const size_t n = (size_t)s->n, m = (size_t)s->m;
    nh_expr *room = calloc(2 * n + 2 * m + n * m + 1, sizeof *room);
    if (!room)
        return false;
    frictional f = {room, room + n, room + 2 * n, room + 2 * n + m, room + 2 * n + 2 * m};
    bool ok = find_slopes(s, f.B), linear = true;
    for (size_t e = 0; ok && e < n * m; e++)
        linear = linear && !nh_depends(s->g, f.B[e], NH_X);
    memcpy(f.a0, s->rate, n * sizeof *f.a0);
    memcpy(f.psi, ideal, m * sizeof *f.psi);
    ok = ok && solve_slopes(s, f.B) && nh_elimination_solve(s->g, s->mass_factors, f.a0) &&
         apply(s, &f);
    for (int round = 0; ok && round < (linear ? 1 : 5); round++)
        ok = improve(s, &f) && apply(s, &f);
    for (size_t i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(out, f.a[i]);
    for (size_t j = 0; ok && j < m; j++)
        ok = nh_expr_list_push(out, f.psi[j]);
    free(room);
    return ok;
}
