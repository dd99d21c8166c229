/* Interpreters of tapes. There is one function for each variant (see variant.h), all of type
 * nh_call_fn. */
#ifndef NH_CODE_INTERPRET_H
#define NH_CODE_INTERPRET_H

#include "kernel/kernel_io.h"
#include "code/tape.h"
#include "code/variant.h"

/* The tapes that a kernel may call and the memory of their values: as many slots as nh_tape_room
 * returns. Constants are put into their slots when the workspace is created and are never written
 * again. */
typedef struct nh_interpreter {
    const nh_tape *tape[NH_CALLS];
    void *slots[NH_CALLS];
    int missing; /* 1 + the function that was called without a tape, or 0: nh_call_missing */
} nh_interpreter;

/* Takes the place of functions without a tape: records the call and returns -1. */
nh_call_fn nh_call_missing;

/* An operation as a C function, for operations that machine code does not contain. The actual type
 * is real (real a), with as many operands as the operation has; a second result is stored through a
 * pointer, the last argument. NULL for NH_OP_END. */
typedef void nh_op_function(void);
typedef nh_op_function *const nh_op_functions[NH_OP_COUNT];

/* Interpreters of the variants. */
#define NH_DECLARE_INTERPRETER(variant)                                                            \
    nh_call_fn nh_interpret_##variant;                                                             \
    extern nh_op_functions nh_op_functions_##variant;
NH_EACH_VARIANT(NH_DECLARE_INTERPRETER)
NH_EACH_UNIFORM(NH_DECLARE_INTERPRETER)
nh_call_fn *nh_interpreter_of(nh_variant variant);

#endif
