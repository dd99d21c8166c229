/* Emitted kernels: compiled with the system's C compiler, loaded, and kept for the next time. */
#ifndef NH_CODE_COMPILE_H
#define NH_CODE_COMPILE_H

#include <nonholo.h>

#include "base/text.h"
#include "kernel/kernel_io.h"
#include "code/variant.h"

typedef struct nh_loaded {
    void *handle;
    const nh_kernel *kernel;
} nh_loaded;

/* Compiles the source (or takes it from the cache) and loads it. The cache is a folder that only
 * the user can write to; its files are named by what they were made from and verified before use.
 */
nh_status nh_compile(nh_loaded *out, const nh_text *source, nh_variant variant, nh_report *report);
void nh_loaded_close(nh_loaded *loaded);

/* Whether there is a compiler to call. */
bool nh_compiler_exists(void);

#endif
