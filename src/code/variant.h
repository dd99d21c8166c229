/* Variants: kernels and the interpreter are compiled several times, for one lane and for several,
 * and on x86-64 both for any machine and for those with AVX2 and FMA. A machine uses one level for
 * everything, so tape and compiled kernels, one lane and many, agree bit for bit.
 *
 * x86-64 machines without AVX2, most of them older than 2013, use one lane only: another variant
 * for them is not worth the additional build time for everybody. */
#ifndef NH_CODE_VARIANT_H
#define NH_CODE_VARIANT_H

/* Lanes of the wide variants (meson.build passes the same number to the compiler): one AVX
 * register. Latency is hidden by groups that advance alternately, see kernel/advance.h; two
 * registers side by side in every operation were slower, because registers ran out. */
enum { NH_LANES = 4 };

#ifdef NH_HAVE_AVX2_VARIANTS
#define NH_EACH_VARIANT(X, ...)                                                                    \
    X(base1, ##__VA_ARGS__) X(avx1, ##__VA_ARGS__) X(avx4, ##__VA_ARGS__)
#else
#define NH_EACH_VARIANT(X, ...) X(base1, ##__VA_ARGS__) X(base4, ##__VA_ARGS__)
#endif

/* Those for tapes that compute with derivatives (forward.h): four lanes, one of the levels. */
#ifdef NH_HAVE_AVX2_VARIANTS
#define NH_EACH_UNIFORM(X, ...) X(baseuniform, ##__VA_ARGS__) X(avxuniform, ##__VA_ARGS__)
#else
#define NH_EACH_UNIFORM(X, ...) X(baseuniform, ##__VA_ARGS__)
#endif

typedef enum nh_variant {
    NH_BASE_ONE,
#ifdef NH_HAVE_AVX2_VARIANTS
    NH_AVX_ONE,
#endif
    NH_WIDE, /* at the higher level, if there are two */
    NH_VARIANTS,
    NH_WIDER = NH_VARIANTS, /* of emitted kernels only: two groups of lanes in a register */
    NH_FORWARD              /* no kernels: tapes over NH_LANES lanes, at the level of this machine,
                               in which values are the same in all lanes */
} nh_variant;

/* The variant that this machine uses for one lane, and the one for several trajectories at once,
 * which is the same if there is no wide one. */
nh_variant nh_variant_here(void);
nh_variant nh_variant_wide(void);
/* The one for emitted kernels of more trajectories than one group has lanes. */
nh_variant nh_variant_wider(void);
int nh_variant_lanes(nh_variant variant);

/* The name of this machine's level, on which, besides the version, the bits of results depend. */
const char *nh_variant_level(void);

/* The compiler flags that give emitted kernels the same level. */
const char *const *nh_variant_flags(nh_variant variant, int *count);
/* ... and those that only gcc knows, or that are for this processor; the bits are the same. */
const char *const *nh_variant_gcc_flags(nh_variant variant, int *count);

#endif
