/* Two Newmark steps that are adjoint to each other: together, a symmetric method of order 2.
 *
 *     F(beta2, beta, alpha = 1) over h/2   after   F(beta, beta2, alpha = 0) over h/2
 *
 * where F is the step of newmark.c. Preserves the constraints at every node, also between the two
 * halves; explicit in the force for beta = 0, and its first half is fully explicit for
 * beta = beta2 = 0. Anahory Simoes, Ferraro, Marrero & Martin de Diego, Proposition 3.8. */
#define NEWMARK_CONSTRAINT NEWMARK_POINT
#include "method/newmark.h"

static int step(kernel *k)
{
    const scalar h = k->h / 2;
    LOCAL(u, N);
    LOCAL(w, N);
    LOCAL(u2, N);
    LOCAL(w2, N);
    LOCAL(q, N);
    LOCAL(v, N);
    const newmark first = {.h = h,
                           .t = k->t,
                           .beta = OPTION(0),
                           .beta2 = OPTION(1),
                           .alpha = 0,
                           .q0 = k->q,
                           .v0 = k->v};
    const newmark second = {
        .h = h, .t = k->t + h, .beta = OPTION(1), .beta2 = OPTION(0), .alpha = 1, .q0 = q, .v0 = v};
    int status = newmark_solve(k, &first, u, w);
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u[i], k->q[i]);
        v[i] = k->v[i] + w[i];
    }
    if (!status)
        status = newmark_solve(k, &second, u2, w2);
    if (status)
        return status;
    EACH(i, N)
    {
        q[i] = fma_(broadcast(h), u2[i], q[i]);
        v[i] = v[i] + w2[i];
        u[i] = (u[i] + u2[i]) * h;
        w[i] = w[i] + w2[i];
    }
    commit(k, q, v, u, w);
    return NH_KERNEL_OK;
}

KERNEL(newmark_pair, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return 6 * (size_t)s->n + 2 * newmark_scratch(s);
}

static nh_fn_set skips(const nh_shape *shape, const double *option)
{
    (void)option;
    return newmark_skips(shape, false);
}

NH_METHOD(newmark_pair) = {
    .name = "newmark-pair",
    .summary = "two half steps of newmark; the second is the adjoint of the first",
    .reference = "Anahory Simoes et al., Prop. 3.8",
    .formulas = "F(beta2, beta, 1) over h/2 after F(beta, beta2, 0) over h/2,\n"
                "where F(beta, beta2, alpha) is a step of newmark",
    .option = {NEWMARK_BETA, NEWMARK_BETA2},
    .options = 2,
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,
    .refuse = newmark_refuse,
    .skips = skips,
    .scratch = scratch,
};
#endif
