/* How fast the motion changes in a state: the derivatives of the acceleration, or the model's own
 * expression. */
#include "mechanics/mechanics.h"

/* The derivatives of the accelerations with respect to one kind of input, row by row. */
static bool push_derivatives(nh_mechanics *s, const nh_expr *acceleration, nh_input kind,
                             nh_expr_list *out)
{
    bool ok = true;
    for (int i = 0; ok && i < s->n; i++) {
        nh_partials d;
        ok = nh_expr_gradient(s->g, acceleration[i], kind, &d);
        for (int j = 0; ok && j < s->n; j++)
            ok = nh_expr_list_push(out, nh_partial_of(&d, (uint32_t)j));
        nh_partials_free(&d);
    }
    return ok;
}

bool nh_derive_jacobian(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    nh_expr_list all = {0};
    bool ok = nh_derive_acceleration(s, work, &all) && push_derivatives(s, all.item, NH_Q, out) &&
              push_derivatives(s, all.item, NH_V, out);
    nh_expr_list_free(&all);
    return ok;
}

bool nh_derive_pace(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    return nh_expr_list_push(out, s->problem->pace);
}
