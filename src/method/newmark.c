/* Newmark's method for nonholonomic systems, with a multiplier at each end of the step.
 *
 *     G = M^-1 (rate + K^T l)   at (t0, q0, v0) with l0 and at (t1, q1, v1) with l1
 *     q1 = q0 + h v0 + h^2/2 ((1 - 2 beta) G0 + 2 beta G1)
 *     q0 = q1 - h v1 + h^2/2 (2 beta2 G0 + (1 - 2 beta2) G1)
 *     0 = discrete constraint(q0, q1),   0 = k(t1, q1, v1)
 *
 * The discrete constraint is k at u = (q1 - q0)/h, taken at the point (1 - alpha) q0 + alpha q1, or
 * averaged over the ends with weights 1 - alpha and alpha. For constraints A v = 0 these are (15)
 * and (16) of the source; written with k, they also apply to affine, nonlinear and time-dependent
 * constraints.
 *
 * No multiplier is carried from step to step. Preserves the constraints at every node. Order 2 and
 * symmetric for beta = beta2, alpha = 1/2, else order 1; the adjoint of (beta, beta2, alpha) is
 * (beta2, beta, 1 - alpha). With beta = 0 and a force that does not depend on velocities, each end
 * takes one force evaluation and one m x m solve; for beta = beta2 = alpha = 0 this holds for any
 * affine constraints. Anahory Simoes, Ferraro, Marrero & Martin de Diego, Definition 3.1, eqs. 15
 * and 16. */
#define NEWMARK_CONSTRAINT ((int)OPTION(3))
#include "method/newmark.h"

static int step(kernel *k)
{
    const scalar h = k->h;
    const newmark p = {.h = h,
                       .t = k->t,
                       .beta = OPTION(0),
                       .beta2 = OPTION(1),
                       .alpha = OPTION(2),
                       .q0 = k->q,
                       .v0 = k->v};
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(q, N);
    LOCAL(v, N);
    int status = newmark_solve(k, &p, u, w);
    if (status)
        return status;
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u[i], k->q[i]);
        v[i] = k->v[i] + w[i];
        u[i] = u[i] * h;
    }
    commit(k, q, v, u, w);
    return NH_KERNEL_OK;
}

KERNEL(newmark, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return 4 * (size_t)s->n + newmark_scratch(s);
}

static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS;
    return newmark_order_of(option) == 2 ? always | NH_KEEPS_SYMMETRY : always;
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    return newmark_skips(shape, option[3] == NEWMARK_AVERAGE);
}

NH_METHOD(newmark) = {
    .name = "newmark",
    .summary = "Newmark's method with a discrete constraint and a multiplier at each end",
    .reference = "Anahory Simoes et al., Def. 3.1, (15), (16)",
    .formulas =
        "G0 = M^-1 (rate + K^T l0) at (t0, q0, v0),   G1 = M^-1 (rate + K^T l1) at (t1, q1, v1)\n"
        "q1 = q0 + h v0 + h^2/2 ((1 - 2 beta) G0 + 2 beta G1)\n"
        "q0 = q1 - h v1 + h^2/2 (2 beta2 G0 + (1 - 2 beta2) G1)\n"
        "point:    k(ta, (1 - alpha) q0 + alpha q1, (q1 - q0)/h) = 0\n"
        "average:  (1 - alpha) k(t0, q0, (q1 - q0)/h) + alpha k(t1, q1, (q1 - q0)/h) = 0\n"
        "k(t1, q1, v1) = 0;   for conditions on positions, g(t1, q1) = 0 replaces point and "
        "average",
    .option = {NEWMARK_BETA,
               NEWMARK_BETA2,
               NEWMARK_ALPHA,
               {.name = "constraint",
                .help = "the discrete constraint: at one point, or averaged over both ends",
                .type = NH_OPTION_CHOICE,
                .standard = NEWMARK_POINT,
                .least = 0,
                .greatest = 1,
                .choices = "point|average"}},
    .options = 4,
    .order_of = newmark_order_of,
    .keeps_of = keeps_of,
    .skips = skips,
    .refuse = newmark_refuse,
    .scratch = scratch,
};
#endif
