/* Functions used by the frame-free methods: the twist of a varying metric, and the frame field
 *
 *     X(q) = W S^(-1/2),   W = P Y,   S = Y^T M P Y,   P = 1 - M^-1 K^T (K M^-1 K^T)^-1 K
 *
 * obtained from a fixed basis Y (the caller computes the square root). */
#include "mechanics/mechanics.h"

#include <stdlib.h>

static nh_expr *given(nh_mechanics *s, int first, int count)
{
    nh_expr *x = malloc(((size_t)count + 1) * sizeof *x);
    for (int i = 0; x && i < count; i++)
        x[i] = nh_variable(s->g, NH_X, (uint32_t)(first + i));
    return x;
}

/* ---- twist ---- */

/* T_ij = c (d_j o_i - d_i o_j) + 2 o.[i, j] for i < j, where o = M w; c follows w */
bool nh_derive_twist(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    nh_graph *g = s->g;
    int n = s->n;
    nh_expr *w = given(s, 0, n + 1), *o = calloc((size_t)n + 1, sizeof *o);
    nh_partials *slope = calloc((size_t)n + 1, sizeof *slope);
    bool ok = w && o && slope;
    for (int i = 0; ok && i < n; i++) {
        o[i] = nh_substitute(g, s->p[i], NH_V, w, (size_t)n);
        ok = nh_expr_gradient(g, o[i], NH_Q, slope + i);
    }
    for (int i = 0; ok && i < n; i++)
        for (int j = i + 1; ok && j < n; j++) {
            nh_expr curl = nh_subtract(g, nh_partial_of(slope + i, (uint32_t)j),
                                       nh_partial_of(slope + j, (uint32_t)i));
            nh_expr T = nh_multiply(g, w[n], curl);
            for (int e = 0; e < s->problem->brackets; e++) {
                nh_bracket c = s->problem->bracket[e];
                if (c.a == i && c.b == j)
                    T = nh_add(g, T, nh_scale(g, 2 * c.c, o[c.result]));
            }
            ok = nh_expr_list_push(out, T);
        }
    for (int i = 0; slope && i < n; i++)
        nh_partials_free(slope + i);
    free(slope);
    free(w);
    free(o);
    return ok;
}

/* ---- the field that carries a basis ---- */

/* W = P Y for one vector: y minus the reactions that make K y vanish. */
static bool project(nh_mechanics *s, const nh_elimination *schur, const nh_expr *y, nh_expr *z,
                    nh_expr *W)
{
    nh_graph *g = s->g;
    for (int j = 0; j < s->m; j++)
        z[j] = nh_row_apply(g, s->K.row + j, y);
    if (schur && !nh_elimination_solve(g, schur, z))
        return false;
    for (int i = 0; i < s->n; i++)
        W[i] = y[i];
    for (int j = 0; j < s->m; j++)
        for (size_t e = 0; e < s->B.row[j].count; e++) {
            nh_partial b = s->B.row[j].entry[e];
            W[b.index] = nh_subtract(g, W[b.index], nh_multiply(g, b.value, z[j]));
        }
    return true;
}

static nh_elimination *schur_factors(nh_mechanics *s)
{
    nh_matrix S = {0};
    bool ok = nh_matrix_init(&S, s->m, s->m);
    for (int i = 0; ok && i < s->m; i++)
        for (int j = 0; ok && j < s->m; j++)
            ok =
                nh_row_append(S.row + i, (uint32_t)j, nh_row_dot(s->g, s->K.row + i, s->B.row + j));
    int singular;
    nh_elimination *lu = ok ? nh_eliminate(s->g, &S, &s->schur_pivots, &singular) : NULL;
    nh_matrix_free(&S);
    return lu;
}

/* W[r*n], then S[r*r] */
bool nh_derive_field(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    nh_graph *g = s->g;
    int n = s->n, r = n - s->m;
    nh_expr *Y = given(s, 0, r * n), *z = calloc((size_t)s->m + 1, sizeof *z);
    nh_expr *W = calloc((size_t)(r * n) + 1, sizeof *W);
    nh_expr *S = calloc((size_t)(r * r) + 1, sizeof *S);
    nh_elimination *schur = s->m ? schur_factors(s) : NULL;
    bool ok = Y && z && W && S && (schur || s->m == 0);
    for (int a = 0; ok && a < r; a++)
        ok = project(s, schur, Y + a * n, z, W + a * n);
    for (int b = 0; ok && b < r; b++)
        for (int i = 0; i < n; i++) {
            nh_expr p = nh_substitute(g, s->p[i], NH_V, W + b * n, (size_t)n);
            for (int a = 0; a <= b; a++)
                S[a * r + b] = nh_add(g, S[a * r + b], nh_multiply(g, Y[a * n + i], p));
        }
    for (int e = 0; ok && e < r * n; e++)
        ok = nh_expr_list_push(out, W[e]);
    for (int a = 0; ok && a < r; a++)
        for (int b = 0; ok && b < r; b++)
            ok = nh_expr_list_push(out, a < b ? S[a * r + b] : S[b * r + a]);
    nh_elimination_free(schur);
    free(Y);
    free(z);
    free(W);
    free(S);
    return ok;
}

/* The derivatives of W and S along a velocity that follows Y among the arguments. */
bool nh_derive_field_along(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    nh_expr_list at = {0};
    nh_expr *u = given(s, (s->n - s->m) * s->n, s->n);
    bool ok = u && nh_derive_field(s, work, &at);
    for (size_t e = 0; ok && e < at.count; e++) {
        nh_partials d;
        ok = nh_expr_gradient(s->g, at.item[e], NH_Q, &d) &&
             nh_expr_list_push(out, nh_row_apply(s->g, &d, u));
        nh_partials_free(&d);
    }
    nh_expr_list_free(&at);
    free(u);
    return ok;
}
