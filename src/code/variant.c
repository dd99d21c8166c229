/* The variant that this machine uses, and the properties of each variant. */
#include "code/variant.h"

#include "code/interpret.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef NH_HAVE_AVX2_VARIANTS
/* NONHOLO_LEVEL=basic requests the bits of machines without AVX2 and FMA; NONHOLO_LEVEL=avx2 does
 * without registers of eight numbers, for the same bits. The environment is read only once, because
 * reading it takes longer than many evaluations. */
typedef enum level { UNREAD, BASIC, AVX2, HIGHEST } level;

static level wanted_level(void)
{
    static _Atomic signed char wanted = UNREAD;
    if (wanted == UNREAD) {
        const char *name = getenv("NONHOLO_LEVEL");
        wanted = (signed char)(name && strcmp(name, "basic") == 0  ? BASIC
                               : name && strcmp(name, "avx2") == 0 ? AVX2
                                                                   : HIGHEST);
    }
    return (level)wanted;
}
#endif

nh_variant nh_variant_here(void)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && wanted_level() > BASIC)
        return NH_AVX_ONE;
#endif
    return NH_BASE_ONE;
}

nh_variant nh_variant_wide(void)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    return nh_variant_here() == NH_AVX_ONE ? NH_WIDE : NH_BASE_ONE;
#else
    return NH_WIDE;
#endif
}

nh_variant nh_variant_wider(void)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    if (nh_variant_wide() == NH_WIDE && wanted_level() == HIGHEST &&
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return NH_WIDER;
#endif
    return nh_variant_wide();
}

int nh_variant_lanes(nh_variant variant)
{
    return variant == NH_WIDER ? 2 * NH_LANES : variant == NH_WIDE ? NH_LANES : 1;
}

static bool has_avx(nh_variant variant)
{
#ifdef NH_HAVE_AVX2_VARIANTS
    return variant == NH_AVX_ONE || variant == NH_WIDE || variant == NH_WIDER;
#else
    (void)variant;
    return false;
#endif
}

const char *nh_variant_level(void)
{
    return has_avx(nh_variant_here()) ? "AVX2 with FMA" : "basic";
}

const char *const *nh_variant_flags(nh_variant variant, int *count)
{
    static const char *const avx[] = {"-mavx2", "-mfma", "-mavx512f", "-mavx512dq", "-mavx512vl"};
    *count = variant == NH_WIDER ? 5 : has_avx(variant) ? 2 : 0;
    return avx;
}

const char *const *nh_variant_gcc_flags(nh_variant variant, int *count)
{
    static const char *const widest[] = {"-mmove-max=512", "-mstore-max=512", "-march=native"};
    /* the last one where this process has fewer instructions than the processor, as under valgrind
     */
    static const char *const own[] = {"-mmove-max=256", "-mstore-max=256", "-march=native",
                                      "-mno-avx512f"};
#ifdef NH_HAVE_AVX2_VARIANTS
    *count = !has_avx(variant) ? 0 : __builtin_cpu_supports("avx512f") ? 3 : 4;
#else
    *count = 0;
#endif
    return variant == NH_WIDER ? widest : own;
}

int nh_call_missing(const void *self, int fn, double t, const void *q, const void *v, const void *x,
                    void *out, const void *u)
{
    (void)t, (void)q, (void)v, (void)x, (void)out, (void)u;
    ((nh_interpreter *)self)->missing = fn + 1; /* self as the run passed it */
    return -1;
}

nh_call_fn *nh_interpreter_of(nh_variant variant)
{
#define ADDRESS(name) nh_interpret_##name,
    static nh_call_fn *const interpreter[NH_VARIANTS] = {NH_EACH_VARIANT(ADDRESS)};
    static nh_call_fn *const uniform[] = {NH_EACH_UNIFORM(ADDRESS)};
    return variant == NH_FORWARD ? uniform[nh_variant_here() != NH_BASE_ONE] : interpreter[variant];
}
