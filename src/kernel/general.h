/* Sizes, arrays and sparse products where they are read at run time: the half of kernel.h that
 * emitted kernels replace by constants. The `kernel` has been defined. */
#ifndef NH_KERNEL_GENERAL_H
#define NH_KERNEL_GENERAL_H

#define N (k->n)
#define M (k->m)
#define NK (k->nk)
#define NB (k->nb)
#define POSITIONS (k->positions)
#define NG (k->io->shape->ng)
#define NF (k->io->shape->nf)
#define ROTATIONS (k->io->shape->rotations)
#define ROTATION(r) (k->io->shape->rotation[r])
#define NBG (NB - k->b_first[M - POSITIONS])
#define REACTION_IS_LINEAR (k->reaction_is_linear)
#define CONSTANT_MASS (k->constant_mass)
#define SEPARABLE (k->io->shape->separable)
#define AFFINE (k->io->shape->affine)
#define LINEAR (k->io->shape->linear)
#define PLAIN_MOMENTUM (k->io->shape->plain_momentum)
#define DRIVER (k->io->shape->driver)
#define ENERGY_SCALES (k->io->shape->energy_scales)
#define SETTLES (k->io->shape->settles)
#define FLAT (k->io->shape->flat)
#define SLOPE_DEGREE (k->io->shape->slope_degree)
#define SURFACE_DEGREE (k->io->shape->surface_degree)
#define SIZE_OF_POSITIONS (k->io->shape->size_of_positions)
#define NONIDEAL (k->io->shape->nonideal)
#define COMPENSATED (k->compensated)
#define OPTION(i) (k->option[i])
#define OPTION_INT(i) ((int)OPTION(i))
#define TABLE (k->table)
#ifdef NH_DUAL
#define WEIGHT(w) (*(w))
#else
#define WEIGHT(w) broadcast(*(w))
#endif
#define LOCAL(name, count)                                                                         \
    real *name = k->top;                                                                           \
    k->top += (count)
#define EACH(i, count) for (int i = 0; i < (count); i++)
#define EACH_QUICKLY(i, count) _Pragma("GCC unroll 4") EACH(i, count)

/* out += B l and out += K^T l, and S = K B; emitted kernels have these unrolled over the pattern.
 */
static inline void add_B(const kernel *k, real *restrict out, const real *B, const real *l)
{
    const int *restrict first = k->b_first, *restrict column = k->b_column;
    for (int j = 0, e = 0; j < M; j++) {
        const real lj = l[j];
        for (const int end = first[j + 1]; e < end; e++)
            out[column[e]] = fma_(B[e], lj, out[column[e]]);
    }
}

static inline void add_K(const kernel *k, real *out, const real *K, const real *l)
{
    const nh_shape *s = k->io->shape;
    for (int j = 0; j < s->m; j++)
        for (int e = s->k_first[j]; e < s->k_first[j + 1]; e++)
            out[s->k_column[e]] = fma_(K[e], l[j], out[s->k_column[e]]);
}

/* out += K x */
static inline void apply_K(const kernel *k, real *out, const real *K, const real *x)
{
    const nh_shape *s = k->io->shape;
    for (int j = 0; j < s->m; j++)
        for (int e = s->k_first[j]; e < s->k_first[j + 1]; e++)
            out[j] = fma_(K[e], x[s->k_column[e]], out[j]);
}

/* The same for the rows of conditions on positions alone, G: l and the second out have POSITIONS
 * numbers. */
static inline void add_G(const kernel *k, real *out, const real *G, const real *l)
{
    const nh_shape *s = k->io->shape;
    const int from = s->m - s->positions, *first = s->k_first + from;
    for (int j = 0; j < s->positions; j++)
        for (int e = first[j]; e < first[j + 1]; e++)
            out[s->k_column[e]] = fma_(G[e - first[0]], l[j], out[s->k_column[e]]);
}

static inline void apply_G(const kernel *k, real *out, const real *G, const real *x)
{
    const nh_shape *s = k->io->shape;
    const int from = s->m - s->positions, *first = s->k_first + from;
    for (int j = 0; j < s->positions; j++)
        for (int e = first[j]; e < first[j + 1]; e++)
            out[j] = fma_(G[e - first[0]], x[s->k_column[e]], out[j]);
}

/* out[i * stride + j] += c (K B)_ij */
static inline void add_KB(const kernel *k, real *out, int stride, double c, const real *K,
                          const real *B)
{
    const nh_shape *s = k->io->shape;
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) {
            int pair = i * s->m + j;
            real sum = broadcast(0);
            for (int e = s->pair_first[pair]; e < s->pair_first[pair + 1]; e++)
                sum = fma_(K[s->pair_k[e]], B[s->pair_b[e]], sum);
            out[i * stride + j] = fma_(broadcast(c), sum, out[i * stride + j]);
        }
}

#endif
