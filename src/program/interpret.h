/* Running tapes. One function a variant (see variant.h), all of type nh_call_fn. */
#ifndef NH_PROGRAM_INTERPRET_H
#define NH_PROGRAM_INTERPRET_H

#include "program/kernel_io.h"
#include "program/tape.h"

/* The tapes that a kernel may call and where their values live: as many slots as the tape says and
 * one more. Constants are put into the slots when the workspace is made and are never written
 * again. */
typedef struct nh_interpreter {
    const nh_tape *tape[NH_FN_COUNT];
    void *slots[NH_FN_COUNT];
} nh_interpreter;

/* An instruction that machine code leaves to C: sines, exponentials and the like; NULL for others.
 * The real type is real (real a), real (real a, real b), or for sines and cosines together real
 * (real a, real *cosine). */
typedef void nh_operation(void);
typedef nh_operation *const nh_operations[NH_OP_COUNT];

#endif
