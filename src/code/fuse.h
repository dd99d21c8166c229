/* Tapes composed of other tapes: several functions of a system in one tape, with the operations of
 * a method's kernel between them. The operations and their results are the same as if the functions
 * were called one by one, so the bits are, too; but there are no loops, no sizes to be read and no
 * calls, and unused values are not computed. */
#ifndef NH_CODE_FUSE_H
#define NH_CODE_FUSE_H

#include "code/tape.h"

typedef struct nh_fuser nh_fuser;
typedef uint32_t nh_fused; /* a value of the tape under construction */

nh_fuser *nh_fuse_begin(void); /* NULL if out of memory */

/* An argument of the new tape, a constant, and an operation with one result. Equal ones are created
 * only once. If memory has run out, values are meaningless, and nh_fuse_end reports it. */
nh_fused nh_fuse_argument(nh_fuser *fuser, nh_input kind, uint32_t index);
nh_fused nh_fuse_constant(nh_fuser *fuser, double x);
nh_fused nh_fuse_operation(nh_fuser *fuser, nh_op op, nh_fused a, nh_fused b, nh_fused c);

/* Applies a tape to the given arguments: out[tape->outputs]. Inputs NH_U are those of the new
 * tape. */
typedef struct nh_fuse_arguments {
    nh_fused time;
    const nh_fused *q, *v, *x; /* NULL: none are read */
} nh_fuse_arguments;
void nh_fuse_tape(nh_fuser *fuser, const nh_tape *tape, nh_fuse_arguments arguments, nh_fused *out);

/* The same, given all of tape->input. */
void nh_fuse_apply(nh_fuser *fuser, const nh_tape *tape, const nh_fused *input, nh_fused *out);

/* Computes a tape from the new tape's own arguments: all of its values. */
void nh_fuse_values(nh_fuser *fuser, const nh_tape *tape, nh_fused *value);

/* Computes one instruction, given the values of the tape before it. */
void nh_fuse_instruction(nh_fuser *fuser, const nh_instruction *x, nh_fused *value);

/* The tape that returns these values, to be freed by the caller; NULL if out of memory. Frees the
 * fuser. Without outputs it only does that, and returns NULL. */
nh_tape *nh_fuse_end(nh_fuser *fuser, const nh_fused *outputs, size_t count);
/* The same, also without outputs; with loops, where they pay, or with `in_place` as nh_tape_lower
 * has it. */
nh_tape *nh_fuse_end_function(nh_fuser *fuser, const nh_fused *outputs, size_t count,
                              bool in_place);

#endif
