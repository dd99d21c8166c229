/* Tapes as machine code: on x86-64 with AVX2 and FMA (machine.c), and in WebAssembly, for one lane
 * (machine_wasm.c); elsewhere tapes are interpreted. */
#ifndef NH_CODE_MACHINE_H
#define NH_CODE_MACHINE_H

#include "code/interpret.h"
#include "code/variant.h"

typedef struct nh_machine {
    void *memory; /* the code of all tapes of an interpreter; in WebAssembly, where functions have
                     numbers instead of addresses, the first of these */
    size_t size;  /* in bytes; in WebAssembly the number of functions */
} nh_machine;

/* Translates every tape of the interpreter for `lanes` lanes of this variant and stores the code of
 * function fn in call[fn]. Where that is not possible (another processor, a system that does not
 * let programs create code, NONHOLO_MACHINE_CODE=0 in the environment) nothing happens: the tapes
 * are interpreted, with the same bits. The code works only with this interpreter, because it
 * contains the addresses of its slots. */
void nh_machine_make(nh_machine *out, nh_call_fn **call, const nh_interpreter *interpreter,
                     nh_variant variant, int lanes);
void nh_machine_free(nh_machine *machine);

#endif
