/* Whole parts of a SPARK step as tapes, which spark_fuse.c makes from those of the system and which
 * the general kernels call where they exist (spark_fused.h). All of them get q0 and v0 of the step
 * and an array x that begins with the length of the step:
 *
 *     predict    x: the memory          -> unknowns, impulses: where the last steps point to
 *     freeze     x: h, unknowns         -> what is frozen
 *     iterate    x: h, unknowns, impulses, p0 (of rises), what is frozen
 *                                       -> the next unknowns, corrections of the impulses, and of
 *                                          pushes what they change at the end of the step: dv, dq,
 *                                          and the next dv
 *     finish     x: h, unknowns         -> dv, dq of the step
 *
 * What is frozen: for rises, B and the factors of M at every point; then the responses to residuals
 * or, where there are too many, the factorised matrix (spark_multipliers.h). */
#ifndef NH_METHOD_SPARK_FUSE_H
#define NH_METHOD_SPARK_FUSE_H

#include "kernel/kernel_io.h"
#include "method/spark_layout.h"

enum { SPARK_PREDICT, SPARK_FREEZE, SPARK_ITERATE, SPARK_FINISH };

/* Sizes of the arrays, in numbers. */
typedef struct spark_fuse_sizes {
    int unknowns, impulses, start; /* the last: p0 */
    int point, system;             /* frozen at a point; of the multipliers' system */
    int in, frozen, out;           /* all of iterate's x; all that is frozen; iterate's results */
} spark_fuse_sizes;

static inline spark_fuse_sizes spark_fuse_sizes_of(spark_kind kind, const nh_shape *shape)
{
    const int s = kind.stages, p = kind.points, n = shape->n, m = shape->m,
              plain = shape->plain_momentum;
    spark_fuse_sizes z = {.unknowns = (plain ? (1 + kind.split) * s : p) * n,
                          .impulses = s * m,
                          .start = plain ? 0 : n,
                          .point = plain ? 0 : shape->nb + shape->nf,
                          .system = SPARK_IS_DIRECT(s * m) ? p * m * s * m : s * m * s * m};
    z.frozen = p * z.point + z.system;
    z.in = 1 + z.unknowns + z.impulses + z.start + z.frozen;
    z.out = z.unknowns + z.impulses + (plain ? 3 * n : 0);
    return z;
}

/* Makes the tapes of a method, own[SPARK_PREDICT] and so on, or none if they would be long or if
 * the kernel does more than they do; freed by the caller, also after failures. False without
 * memory. */
struct nh_tape;
_Bool nh_spark_fuse(struct nh_tape **own, spark_kind kind, const nh_shape *shape, double *table,
                    const struct nh_tape *const *tape);

#endif
