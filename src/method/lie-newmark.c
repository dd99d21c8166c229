/* Newmark's method on R^k x SO(3)^b, with a multiplier at each end of the step.
 *
 *     a = xi'(q, xi, l) at both ends,   d = h xi0 + h^2/2 ((1 - 2 beta) a0 + 2 beta a1)
 *     q1 = q0 tau(d),    xi1 = xi0 + h ((1/2 - beta + beta2) a0 + (1/2 + beta - beta2) a1)
 *     A(q_a) d + h b = 0,  q_a = q0 exp(alpha log tau(d));    A(q1) xi1 + b = 0
 *
 * with xi = (x', body rates) and tau the Cayley map or the exponential. Preserves the constraints
 * and |p| = 1 at every node. Order 2 and symmetric for beta = beta2, alpha = 1/2, else order 1 in
 * general; the adjoint of (beta, beta2, alpha) is (beta2, beta, 1 - alpha). The exponential has the
 * smaller errors. Anahory Simoes, Ferraro, Marrero & Martin de Diego, section 6. */
#include "method/lie_newmark.h"

static int step(kernel *k)
{
    LOCAL(xi0, N);
    LOCAL(xi1, N);
    LOCAL(q, N);
    LOCAL(v, N);
    to_body(k, k->q, k->v, xi0);
    const lie_newmark p =
        lie_newmark_of(k->h, k->t, OPTION(0), OPTION(1), OPTION(2), OPTION_INT(3), k->q, xi0);
    TRY_(lie_newmark_solve(k, &p, q, xi1));
    commit_body(k, q, xi1, v);
    return NH_KERNEL_OK;
}

KERNEL(lie_newmark, no_start, step);

#ifdef NH_DESCRIBE

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return 4 * (size_t)s->n + lie_newmark_scratch(s);
}

static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_POSITIONS;
    return newmark_order_of(option) == 2 ? always | NH_KEEPS_SYMMETRY : always;
}

static const char *refuse(const double *option, bool constrained)
{
    const char *reason = newmark_refuse(option, constrained);
    double alpha = option[2];
    if (!reason && option[3] == LIE_CAYLEY && alpha != 0 && alpha != 0.5 && alpha != 1)
        return "tau=cay needs alpha = 0, 1/2 or 1, because the point between is computed by square "
               "roots; tau=exp allows any alpha";
    return reason;
}

NH_METHOD(lie_newmark) = {
    .name = "lie-newmark",
    .summary = "Newmark's method on rotations, with a multiplier at each end",
    .reference = "Anahory Simoes et al., sec. 6",
    .formulas = "a = xi'(q, xi, l) at both ends,   xi = (x', body rates)\n"
                "d = h xi0 + h^2/2 ((1 - 2 beta) a0 + 2 beta a1),   q1 = q0 tau(d)\n"
                "xi1 = xi0 + h ((1/2 - beta + beta2) a0 + (1/2 + beta - beta2) a1)\n"
                "A(q_a) d + h b = 0,   q_a = q0 exp(alpha log tau(d));   A(q1) xi1 + b = 0",
    .option = {NEWMARK_BETA, NEWMARK_BETA2, NEWMARK_ALPHA, LIE_TAU},
    .options = 4,
    .order_of = newmark_order_of,
    .keeps_of = keeps_of,
    .needs = NH_NEEDS_ROTATIONS,
    .refuse = refuse,
    .scratch = scratch,
};
#endif
