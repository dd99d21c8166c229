/* Emitted kernels: compiled with the system's C compiler, loaded, and cached. */
#ifndef NH_CODE_COMPILE_H
#define NH_CODE_COMPILE_H

#include <sys/types.h>

#include <nonholo.h>

#include "base/text.h"
#include "kernel/kernel_io.h"
#include "code/variant.h"

typedef struct nh_loaded {
    void *handle;
    const nh_kernel *kernel;
} nh_loaded;

/* Compiles the source (or takes it from the cache) and loads it. The cache is a folder that only
 * the user can write to; its files are named after what they were made from (source, compiler,
 * flags) and verified before use. */
typedef struct nh_patience { /* how long the caller waits for the compiler */
    int (*stop)(void *user); /* called several times a second: nonzero gives up; may be NULL */
    void *user;
} nh_patience;
nh_status nh_compile(nh_loaded *out, const nh_text *source, nh_variant variant,
                     const nh_patience *patience, nh_report *report);
void nh_loaded_close(nh_loaded *loaded);

/* The same while the caller continues. nh_compile_begin starts the compiler unless the cache has
 * the kernel or another thread is compiling it. nh_compile_pending returns whether there is still
 * something to wait for, at once or after at most the given number of seconds. nh_compile_end waits
 * for the result, loads it and frees the compilation. nh_compile_abandon stops the compiler and
 * frees the compilation (NULL is allowed). A compiler that does not end is stopped after ten
 * minutes, or after NONHOLO_CC_SECONDS; nh_compile_end then reports that. */
typedef struct nh_compilation nh_compilation;
nh_status nh_compile_begin(nh_compilation **out, const nh_text *source, nh_variant variant,
                           nh_report *report);
bool nh_compile_pending(nh_compilation *c, double seconds);
nh_status nh_compile_end(nh_loaded *out, nh_compilation *c, const nh_patience *patience,
                         nh_report *report);
void nh_compile_abandon(nh_compilation *c);

/* ---- the compiler itself ---- */

/* Its command, and the time limit in seconds. */
const char *nh_compiler(void);
double nh_compiler_seconds(void);
/* The line with the first error in the file of its messages, to be freed; NULL if out of memory. */
char *nh_compiler_message(const char *messages);

/* Compiles some sources, the files that end in .c (the list ends with name NULL), into a shared
 * library and appends its bytes. `flags` ends with NULL. NH_NO_COMPILER if there is no compiler or
 * it fails. */
typedef struct nh_source_file {
    const char *name;
    const nh_text *text;
} nh_source_file;
nh_status nh_compile_library(nh_text *out, const nh_source_file *file, const char *const *flags,
                             nh_report *report);

/* Whether a compiler exists, and whether the cache has this source. */
bool nh_compiler_exists(void);
bool nh_compiled_is_cached(const nh_text *source, nh_variant variant);

#endif
