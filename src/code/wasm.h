/* Tapes as a WebAssembly module, for where the library is itself WebAssembly. */
#ifndef NH_CODE_WASM_H
#define NH_CODE_WASM_H

#include "code/tape.h"

typedef struct nh_wasm {
    unsigned char *byte; /* freed by the caller */
    size_t length;
    int functions;
} nh_wasm;

/* Writes a module that exports the function of tape[fn], for all fn that have one, under the number
 * fn as its name. Each is a function like nh_call_fn, with addresses of 32 bits and one lane. The
 * module imports "env" "memory", where the arguments and the slots lie, and for operations that
 * WebAssembly lacks "op" and their number: the functions nh_op_functions of one lane. slots[fn] is
 * where those of tape[fn] begin; constants are there already.
 *
 * False without memory, and for tapes that are longer than engines take. */
bool nh_wasm_encode(nh_wasm *out, const nh_tape *const tape[NH_CALLS],
                    const uint32_t slots[NH_CALLS]);

#endif
