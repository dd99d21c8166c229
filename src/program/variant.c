#include "program/variant.h"

#include "program/system.h"

nh_variant nh_variant_here(void)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return NH_AVX_ONE;
#endif
    return NH_BASE_ONE;
}

const char *const *nh_variant_flags(nh_variant variant, int *count)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    /* moves of whole lanes by 32 bytes, not 16 */
    static const char *const avx[] = {"-mavx2", "-mfma", "-mmove-max=256", "-mstore-max=256"};
    if (variant == NH_AVX_ONE || variant == NH_AVX_WIDE) {
        *count = 4;
        return avx;
    }
#endif
    (void)variant;
    *count = 0;
    return 0;
}

nh_call_fn *nh_interpreter_of(nh_variant variant)
{
#define ADDRESS(name) nh_interpret_##name,
    static nh_call_fn *const interpreter[NH_VARIANTS] = {NH_EACH_VARIANT(ADDRESS)};
    return interpreter[variant];
}
