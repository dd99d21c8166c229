/* Two steps of lie-newmark that are adjoint to each other: together, a symmetric method of order 2.
 *
 *     F(beta2, beta, alpha = 1) over h/2   after   F(beta, beta2, alpha = 0) over h/2
 *
 * Preserves the constraints and |p| = 1 at every node, also between the two halves. Anahory Simoes,
 * Ferraro, Marrero & Martin de Diego, Proposition 3.8 and section 6. */
#include "method/lie_newmark.h"

static int step(kernel *k)
{
    const scalar h = k->h / 2;
    LOCAL(xi0, N);
    LOCAL(xi1, N);
    LOCAL(q, N);
    LOCAL(q1, N);
    LOCAL(v, N);
    to_body(k, k->q, k->v, xi0);
    const lie_newmark first =
        lie_newmark_of(h, k->t, OPTION(0), OPTION(1), 0, OPTION_INT(2), k->q, xi0);
    TRY_(lie_newmark_solve(k, &first, q, xi1));
    const lie_newmark second =
        lie_newmark_of(h, k->t + h, OPTION(1), OPTION(0), 1, OPTION_INT(2), q, xi1);
    TRY_(lie_newmark_solve(k, &second, q1, xi0));
    commit_body(k, q1, xi0, v);
    return NH_KERNEL_OK;
}

KERNEL(lie_newmark_pair, no_start, step);

#ifdef NH_DESCRIBE

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return 5 * (size_t)s->n + 2 * lie_newmark_scratch(s);
}

NH_METHOD(lie_newmark_pair) = {
    .name = "lie-newmark-pair",
    .summary = "two half steps of lie-newmark; the second is the adjoint of the first",
    .reference = "Anahory Simoes et al., Prop. 3.8, sec. 6",
    .formulas = "F(beta2, beta, 1) over h/2 after F(beta, beta2, 0) over h/2,\n"
                "where F(beta, beta2, alpha) is a step of lie-newmark",
    .option = {NEWMARK_BETA, NEWMARK_BETA2, LIE_TAU},
    .options = 3,
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_POSITIONS,
    .needs = NH_NEEDS_ROTATIONS,
    .refuse = newmark_refuse,
    .scratch = scratch,
};
#endif
