/* Running tapes. One function a variant (see variant.h), all of type nh_call_fn. */
#ifndef NH_PROGRAM_INTERPRET_H
#define NH_PROGRAM_INTERPRET_H

#include "program/kernel_io.h"
#include "program/tape.h"

/* A tape as machine code (machine.h). Arguments are the arrays of nh_place_of_value. */
typedef void nh_machine_code(const void *time, const void *q, const void *v, const void *x,
                             void *slots, void *out);
typedef struct nh_machine {
    void *memory; /* of all tapes of an interpreter */
    size_t size;
} nh_machine;

/* The tapes that a kernel may call and where their values live. Constants are put into the slots
 * when the workspace is made and are never written again. */
typedef struct nh_interpreter {
    const nh_tape *tape[NH_FN_COUNT];
    void *slots[NH_FN_COUNT];
    nh_machine_code *code[NH_FN_COUNT]; /* instead of interpreting; or NULL */
} nh_interpreter;

/* An instruction that machine code leaves to C: sines, exponentials and the like. NULL for others. */
typedef void nh_operation(void *to, const void *a, const void *b, void *c);
typedef nh_operation *const nh_operations[NH_OP_COUNT];

#endif
