/* Machine code if the library itself is WebAssembly, compiled by emscripten: the tapes become
 * another module (wasm.c) on the same memory, which the engine translates for the processor and
 * whose functions are put into the function table of this one. */
#include "code/machine.h"

#ifdef __EMSCRIPTEN__

#include <emscripten.h>
#include <stdlib.h>
#include <string.h>

#include "code/wasm.h"

/* Instantiates the module, stores the number of each of its functions in `call`, and returns the
 * first of these numbers. Returns 0 if the engine does not accept the module (some accept none
 * above 4 kB on a page's main thread, or none at all under a strict content security policy), or if
 * the table cannot grow. Ranges of numbers that are released are kept by their length, for a module
 * with as many functions. */
/* clang-format off */
EM_JS(int, put_functions,
      (const unsigned char *byte, int length, int count, void *call, const void *operation), {
    try {
        const module = new WebAssembly.Module(HEAPU8.slice(byte, byte + length));
        const op = {};
        for (const wanted of WebAssembly.Module.imports(module))
            if (wanted.module === "op")
                op[wanted.name] = wasmTable.get(HEAPU32[(operation >> 2) + Number(wanted.name)]);
        const made = new WebAssembly.Instance(module, {"env": {"memory": wasmMemory}, "op": op});
        const spare = (Module["spareFunctions"] || {})[count] || [];
        const first = spare.length > 0 ? spare.pop() : wasmTable.grow(count);
        Object.keys(made.exports).forEach((fn, i) => {
            wasmTable.set(first + i, made.exports[fn]);
            HEAPU32[(call >> 2) + Number(fn)] = first + i;
        });
        return first;
    } catch (error) {
        return 0;
    }
});

EM_JS(void, take_functions, (int first, int count), {
    const spare = Module["spareFunctions"] = Module["spareFunctions"] || {};
    for (let i = 0; i < count; i++)
        wasmTable.set(first + i, null);
    (spare[count] = spare[count] || []).push(first);
});
/* clang-format on */

void nh_machine_make(nh_machine *out, nh_call_fn **call, const nh_interpreter *in,
                     nh_variant variant, int lanes)
{
    const char *asked = getenv("NONHOLO_MACHINE_CODE");
    uint32_t slots[NH_CALLS];
    nh_wasm module;
    *out = (nh_machine){0};
    for (int fn = 0; fn < NH_CALLS; fn++)
        slots[fn] = (uint32_t)(uintptr_t)in->slots[fn];
    if (lanes != 1 || variant != NH_BASE_ONE || (asked && strcmp(asked, "0") == 0) ||
        !nh_wasm_encode(&module, in->tape, slots))
        return;
    int first = 0;
    if (module.functions > 0)
        first = put_functions(module.byte, (int)module.length, module.functions, call,
                              nh_op_functions_base1);
    if (first > 0)
        *out = (nh_machine){(void *)(uintptr_t)first, (size_t)module.functions};
    free(module.byte);
}

void nh_machine_free(nh_machine *machine)
{
    if (machine->memory)
        take_functions((int)(uintptr_t)machine->memory, (int)machine->size);
}

#endif
