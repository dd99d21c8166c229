/* Whole parts of a SPARK step as tapes, which spark_fuse.c makes from those of the system and which
 * the general kernels call where they exist (spark_fused.h). All of them get q0 and v0 of the step
 * and an array x; all but the first, the arrays from `length` on (spark_points.h):
 *
 *     predict    x: the memory    -> unknowns, impulses: where the last steps point to
 *     freeze                      -> of rises, B and the factors of M at every point; then `system`
 *     iterate                     -> the arrays from `next` on: the next unknowns, corrections of
 *                                    the impulses, and of pushes what they do at the end
 *     finish                      -> the rise and the shift of the step */
#ifndef NH_METHOD_SPARK_FUSE_H
#define NH_METHOD_SPARK_FUSE_H

#include <stddef.h>

#include "kernel/kernel_io.h"
#include "method/spark_layout.h"

enum { SPARK_PREDICT, SPARK_FREEZE, SPARK_ITERATE, SPARK_FINISH };

/* Makes the tapes of a method, own[SPARK_PREDICT] and so on, or none if they would be long or if
 * the kernel does more than they do; freed by the caller, also after failures. False without
 * memory. */
struct nh_tape;
_Bool nh_spark_fuse(struct nh_tape **own, spark_kind kind, const nh_shape *shape, double *table,
                    const struct nh_tape *const *tape);

/* How many numbers the arrays of spark_points.h take. */
size_t nh_spark_room(spark_kind kind, const nh_shape *shape);

#endif
