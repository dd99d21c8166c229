/* The ranks of the matrices K and M in a state.
 *
 * Entries that changes of the state in its last digits could make zero are zero, as sin(pi) is: a
 * chain whose links lie on one line counts as such, however its angles were computed. */
#include <math.h>
#include <stdlib.h>

#include "base/dense.h"
#include "mechanics/mechanics.h"

enum { DENSE_MAX = 4000000 };               /* entries of K up to which its rank is computed */
static const double last_digits = 0x1p-40;  /* what states are accurate to, at least */
static const double rank_tolerance = 1e-10; /* what remains of a row that depends on others */
static const double mass_tolerance = 1e-14; /* M is quadratic in the lengths that vanish */

/* False if out of memory. */
static bool list_entries(const nh_mechanics *s, nh_expr_list *list, bool masses)
{
    bool ok = true;
    for (int i = 0; ok && i < s->m; i++)
        for (int j = 0; ok && j < s->n; j++)
            ok = nh_expr_list_push(list, nh_matrix_at(&s->K, i, j));
    for (int i = 0; ok && i < s->n; i++)
        for (int j = 0; ok && j < (masses ? s->n : 1); j++)
            ok = nh_expr_list_push(list, masses ? nh_matrix_at(&s->mass, i, j) : nh_own_mass(s, i));
    return ok;
}

/* Scales velocities to units in which the masses are one, so that the rank does not depend on
 * units. `mass` has the diagonal, with this distance between its entries. */
static void scale_columns(int m, int n, double *K, const double *mass, int apart)
{
    for (int j = 0; j < n; j++) {
        const double size = sqrt(fabs(mass[(long)j * apart]));
        for (int i = 0; i < m && size > 0; i++)
            K[i * n + j] /= size;
    }
}

/* Whether all are finite; those that may be zero are. */
static bool settle_zeros(size_t count, double *value, const double *spread)
{
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        finite = finite && isfinite(value[i]);
        if (fabs(value[i]) <= spread[i])
            value[i] = 0;
    }
    return finite;
}

nh_status nh_find_ranks(const nh_mechanics *s, double t, const double *q, const double *v,
                        const double *u, bool masses, nh_ranks *out)
{
    *out = (nh_ranks){.constraints = -1, .dependent = -1, .mass = -1};
    const size_t n = (size_t)s->n, entries = (size_t)s->m * n;
    if (entries > DENSE_MAX)
        return NH_OK;
    nh_expr_list list = {0};
    const size_t count = entries + (masses ? n * n : n);
    double *value = malloc((2 * count + 1) * sizeof *value);
    const bool known =
        value && list_entries(s, &list, masses) &&
        nh_evaluate_spread(s->g, list.item, count, t, q, v, u, last_digits, value, value + count);
    if (known && settle_zeros(count, value, value + count)) {
        scale_columns(s->m, s->n, value, value + entries, masses ? s->n + 1 : 1);
        out->constraints = nh_dense_rank(s->m, s->n, value, rank_tolerance, &out->dependent);
        if (masses)
            out->mass = nh_dense_rank(s->n, s->n, value + entries, mass_tolerance, NULL);
    }
    nh_expr_list_free(&list);
    free(value);
    return known ? NH_OK : NH_NO_MEMORY;
}
