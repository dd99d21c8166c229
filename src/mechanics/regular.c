/* Whether the constraints are independent everywhere, as far as their structure shows. If they are,
 * and the mass matrix is constant, no configuration is singular, and runs need not check for that.
 *
 * If only one row has an entry in a column of K, and that entry is a number, this row is
 * independent of the others: it is set aside, and the remaining rows are treated in the same way.
 * Rows that remain must be orthogonal to each other and have constant length, as a skate's (-sin,
 * cos) has, or a length that is constant where the conditions on positions hold, as a unit
 * quaternion has. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>

/* The only row with an entry in a column, among those not set aside; -1: none or several. */
static int only_row(const nh_mechanics *s, const bool *aside, int column)
{
    int found = -1;
    for (int i = 0; i < s->m; i++)
        if (!aside[i] && nh_matrix_at(&s->K, i, column) != NH_ZERO) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

static bool set_aside_one(const nh_mechanics *s, bool *aside)
{
    for (int j = 0; j < s->n; j++) {
        int i = only_row(s, aside, j);
        if (i >= 0 && nh_is_number(s->g, nh_matrix_at(&s->K, i, j), NULL)) {
            aside[i] = true;
            return true;
        }
    }
    return false;
}

/* c in e = c + a g, where g is the condition; NAN if e is not of this form. */
static double beside_multiple(nh_mechanics *s, nh_expr e, nh_expr g)
{
    const nh_node sum = nh_look(s->g, e), of = nh_look(s->g, g);
    double rest;
    if (sum.kind != NH_SUM || of.kind != NH_SUM || sum.operand[0].expr != of.operand[0].expr)
        return NAN;
    const double a = sum.operand[0].number / of.operand[0].number;
    return nh_is_number(s->g, nh_subtract(s->g, e, nh_scale(s->g, a, g)), &rest) ? rest : NAN;
}

bool nh_is_constant_on_surface(nh_mechanics *s, nh_expr e)
{
    double value;
    bool is = nh_is_number(s->g, e, &value) && value > 0;
    for (int i = 0; i < s->positions && !is; i++)
        is = beside_multiple(s, e, s->position[i]) > 0;
    return is;
}

static bool rest_is_orthogonal(nh_mechanics *s, const bool *aside)
{
    for (int i = 0; i < s->m; i++)
        for (int j = i; !aside[i] && j < s->m; j++) {
            if (aside[j])
                continue;
            nh_expr product = nh_row_dot(s->g, s->K.row + i, s->K.row + j);
            if (i == j ? !nh_is_constant_on_surface(s, product) : product != NH_ZERO)
                return false;
        }
    return true;
}

bool nh_find_regularity(nh_mechanics *s)
{
    if (s->n > NH_DENSE_LOOKS_MAX)
        return false;
    bool *aside = calloc((size_t)s->m + 1, sizeof *aside);
    if (!aside)
        return false; /* not proved, which is always safe */
    while (set_aside_one(s, aside))
        continue;
    bool regular = rest_is_orthogonal(s, aside);
    free(aside);
    return regular;
}
