/* The kernels that compute with derivatives (kernel/dual.h), and the interpreter that serves
 * them. */
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
    EACH_LEVEL(DECLARE_KERNEL, symbol)
#include "method/methods.def"
#undef METHOD

#define DECLARE_INTERPRETER(variant, ...) nh_call_fn nh_interpret_##variant;
EACH_LEVEL(DECLARE_INTERPRETER)

/* Like all variants, they have one level for everything on a machine. */
static int level_here(void)
{
    return nh_variant_here() != NH_BASE_ONE;
}

nh_call_fn *nh_dual_interpreter(void)
{
#define ADDRESS(variant, ...) nh_interpret_##variant,
    static nh_call_fn *const interpreter[LEVELS_MAX] = {EACH_LEVEL(ADDRESS)};
    return interpreter[level_here()];
}

const nh_kernel *nh_dual_kernel(const nh_method *method)
{
#define KERNEL_ADDRESS(variant, symbol) &nh_kernel_##symbol##_##variant,
#define METHOD(symbol, file) {&nh_method_##symbol, {EACH_LEVEL(KERNEL_ADDRESS, symbol)}},
    static const struct {
        const nh_method *method;
        const nh_kernel *kernel[LEVELS_MAX];
    } entry[] = {
#include "method/methods.def"
    };
#undef METHOD
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++)
        if (strcmp(entry[i].method->name, method->name) == 0)
            return entry[i].kernel[level_here()];
    return NULL;
}

#else

nh_call_fn *nh_dual_interpreter(void)
{
    return NULL;
}

const nh_kernel *nh_dual_kernel(const nh_method *method)
{
    (void)method;
    return NULL;
}

#endif
