/* Tapes as a WebAssembly module, if the library itself is WebAssembly. */
#ifndef NH_CODE_WASM_H
#define NH_CODE_WASM_H

#include "code/tape.h"

typedef struct nh_wasm {
    unsigned char *byte; /* freed by the caller */
    size_t length;
    int functions;
} nh_wasm;

/* Writes a module that exports the function of tape[fn], for all fn that have one, with the number
 * fn as its name. Each is a function like nh_call_fn, with 32-bit addresses and one lane. The
 * module imports "env" "memory", which holds the arguments and the slots, and for operations that
 * WebAssembly lacks "op" and their number: the functions nh_op_functions of one lane. slots[fn] is
 * the beginning of the slots of tape[fn], which contain the constants already.
 *
 * False if out of memory, and for tapes that are longer than engines accept. */
bool nh_wasm_encode(nh_wasm *out, const nh_tape *const tape[NH_CALLS],
                    const uint32_t slots[NH_CALLS]);

#endif
