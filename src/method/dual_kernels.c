/* The kernels that compute with derivatives (kernel/dual.h) and those that are recorded
 * (kernel/recording.h). */
#include "method/dual_kernels.h"

#include <string.h>

#ifdef NH_TANGENTS

#ifdef NH_HAVE_AVX2_VARIANTS
#define EACH_LEVEL(X, ...) X(basedual, ##__VA_ARGS__) X(avxdual, ##__VA_ARGS__)
#else
#define EACH_LEVEL(X, ...) X(basedual, ##__VA_ARGS__)
#endif
enum { LEVELS_MAX = 2 };

#define DECLARE_KERNEL(variant, symbol) extern const nh_kernel nh_kernel_##symbol##_##variant;
#define METHOD(symbol, file)                                                                       \
    extern const nh_method nh_method_##symbol;                                                     \
    EACH_LEVEL(DECLARE_KERNEL, symbol)                                                             \
    DECLARE_KERNEL(record, symbol)
#include "method/methods.def"
#undef METHOD

/* Like all variants, they have one level for everything on a machine. */
static int level_here(void)
{
    return nh_variant_here() != NH_BASE_ONE;
}

/* Those of a method: of both levels, and the one that is recorded, for which levels do not matter,
 * since the values that it computes are not kept. */
typedef struct kernels {
    const nh_method *method;
    const nh_kernel *recording, *dual[LEVELS_MAX];
} kernels;

static const kernels *kernels_of(const nh_method *method)
{
#define KERNEL_ADDRESS(variant, symbol) &nh_kernel_##symbol##_##variant,
#define METHOD(symbol, file)                                                                       \
    {&nh_method_##symbol, &nh_kernel_##symbol##_record, {EACH_LEVEL(KERNEL_ADDRESS, symbol)}},
    static const kernels entry[] = {
#include "method/methods.def"
    };
#undef METHOD
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
        if (strcmp(entry[i].method->name, method->name) == 0)
            return entry + i;
    return NULL;
}

const nh_kernel *nh_dual_kernel(const nh_method *method)
{
    const kernels *k = kernels_of(method);
    return k ? k->dual[level_here()] : NULL;
}

const nh_kernel *nh_recording_kernel(const nh_method *method)
{
    const kernels *k = kernels_of(method);
    return k ? k->recording : NULL;
}

#else

const nh_kernel *nh_dual_kernel(const nh_method *method)
{
    (void)method;
    return NULL;
}

const nh_kernel *nh_recording_kernel(const nh_method *method)
{
    (void)method;
    return NULL;
}

#endif
