/* Emitted kernels: compiled with the system's C compiler, loaded, and kept for the next time. */
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
 * the user can write to; its files are named by what they were made from (source, compiler, flags)
 * and verified before use. */
typedef struct nh_patience { /* of whoever waits for the compiler */
    int (*stop)(void *user); /* asked several times a second: nonzero gives up; may be NULL */
    void *user;
} nh_patience;
nh_status nh_compile(nh_loaded *out, const nh_text *source, nh_variant variant,
                     const nh_patience *patience, nh_report *report);
void nh_loaded_close(nh_loaded *loaded);

/* The same while the caller does something else. nh_compile_begin starts the compiler unless the
 * cache has the kernel, or another thread has it in work; nh_compile_pending tells, without
 * waiting (or not for longer than so many seconds), whether there is still something to wait for;
 * nh_compile_end waits for it, loads and frees; nh_compile_abandon stops the compiler and frees
 * (NULL is fine). A compiler that does not end is stopped after ten minutes, or as many seconds as
 * NONHOLO_CC_SECONDS says; nh_compile_end tells. */
typedef struct nh_compilation nh_compilation;
nh_status nh_compile_begin(nh_compilation **out, const nh_text *source, nh_variant variant,
                           nh_report *report);
bool nh_compile_pending(nh_compilation *c, double seconds);
nh_status nh_compile_end(nh_loaded *out, nh_compilation *c, const nh_patience *patience,
                         nh_report *report);
void nh_compile_abandon(nh_compilation *c);

/* ---- the compiler itself ---- */

/* Its command, and how many seconds it may take. */
const char *nh_compiler(void);
double nh_compiler_seconds(void);
/* Calls it: the process, or -1. It leads a group of its own, so that it can be stopped with all
 * that it calls; what it says goes to a file. */
pid_t nh_compiler_spawn(const char *const *argument, const char *messages);
/* The line with the first error in that file, to be freed; NULL without memory. */
char *nh_compiler_message(const char *messages);

/* A shared library made of some sources, the files that end in .c (the list ends with name NULL);
 * its bytes are appended. `flags` end with NULL. NH_NO_COMPILER when there is no compiler or it
 * fails. */
typedef struct nh_source_file {
    const char *name;
    const nh_text *text;
} nh_source_file;
nh_status nh_compile_library(nh_text *out, const nh_source_file *file, const char *const *flags,
                             nh_report *report);

/* Whether there is a compiler to call, and whether the cache has this source. */
bool nh_compiler_exists(void);
bool nh_compiled_is_cached(const nh_text *source, nh_variant variant);

#endif
