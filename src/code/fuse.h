/* Tapes made of other tapes: what a method does with several functions of a system, in one piece,
 * with the operations of its kernel in between. Neither the operations nor their results differ
 * from those of calling the functions one by one, so bits do not either; but there are no loops, no
 * sizes to be read and no calls, and what nobody reads is not computed. */
#ifndef NH_CODE_FUSE_H
#define NH_CODE_FUSE_H

#include "code/tape.h"

typedef struct nh_fuser nh_fuser;
typedef uint32_t nh_fused; /* a value of the tape in the making */

nh_fuser *nh_fuse_begin(void); /* NULL without memory */

/* An argument of the new tape, a constant, and an operation with one result. What was made before
 * is found again. After memory has run out values mean nothing, and nh_fuse_end tells. */
nh_fused nh_fuse_argument(nh_fuser *fuser, nh_input kind, uint32_t index);
nh_fused nh_fuse_constant(nh_fuser *fuser, double x);
nh_fused nh_fuse_operation(nh_fuser *fuser, nh_op op, nh_fused a, nh_fused b, nh_fused c);

/* What a tape computes of the given arguments: out[tape->outputs]. Inputs NH_U are those of the new
 * tape. */
typedef struct nh_fuse_arguments {
    nh_fused time;
    const nh_fused *q, *v, *x; /* NULL: it reads none */
} nh_fuse_arguments;
void nh_fuse_tape(nh_fuser *fuser, const nh_tape *tape, nh_fuse_arguments arguments, nh_fused *out);

/* How long it has become, with what nobody may read. */
size_t nh_fuse_length(const nh_fuser *fuser);

/* The tape that returns these values, for the caller to free; NULL without memory. Ends the making,
 * also with no outputs, and then returns NULL. */
nh_tape *nh_fuse_end(nh_fuser *fuser, const nh_fused *outputs, size_t count);

#endif
