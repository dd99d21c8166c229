/* Blocks: several consecutive components of a state, for loops that treat all components alike.
 * Where one trajectory is computed and a register holds four numbers, a block is four components;
 * elsewhere it is one `real`. The bits are the same: components do not mix.
 *
 *     EACH_BLOCK(c, count)   c is the first component of each block; the last block may overlap
 *                            the one before it, so what it reads must not be what it writes
 *
 * States shorter than a block (IN_BLOCKS is false) are left to loops over components. */
#ifndef NH_KERNEL_BLOCKS_H
#define NH_KERNEL_BLOCKS_H

#include "kernel/kernel.h"

#if LANES == 1 && !defined(NH_DUAL) && defined(__AVX__) && defined(__FMA__) && !defined(NH_EXPORTED)
#define BLOCK 4
typedef double block __attribute__((vector_size(32)));

static inline block block_of(double x)
{
    return (block){x, x, x, x};
}

#define block_spread block_of /* a `real` to all places */

static inline block block_fma(block a, block b, block c)
{
    return __builtin_ia32_vfmaddpd256(a, b, c);
}

static inline block block_max(block a, block b)
{
    return __builtin_ia32_maxpd256(b, a);
}

static inline block block_abs(block x)
{
    typedef long long bits __attribute__((vector_size(32)));
    return (block)((bits)x & 0x7fffffffffffffffLL);
}

static inline block block_get(const real *x)
{
    block b;
    __builtin_memcpy(&b, x, sizeof b);
    return b;
}

/* The same for numbers that were stored one by one just before: a load of all four would have to
 * wait until they have left the store buffer. */
static inline block block_gather(const real *x)
{
    return (block){x[0], x[1], x[2], x[3]};
}

static inline void block_put(real *x, block b)
{
    __builtin_memcpy(x, &b, sizeof b);
}

#else
#define BLOCK 1
typedef real block;
#define block_of broadcast
#define block_fma fma_
#define block_max max_
#define block_abs abs_
#define block_get(x) (*(x))
#define block_gather block_get
#define block_spread(x) (x)
#define block_put(x, b) (*(x) = (b))
#endif

#define IN_BLOCKS(count) ((count) >= BLOCK)
#define BLOCK_AT(c, count) ((c) < (count)-BLOCK ? (c) : (count)-BLOCK)
#define EACH_BLOCK(c, count)                                                                       \
    UNROLLED for (int next_ = 0, c = 0; c = BLOCK_AT(next_, count), next_ < (count); next_ += BLOCK)

/* Loops whose counts are constants in an emitted kernel. */
#define UNROLLED
#ifdef NH_EMITTED
#if N <= 16
#undef UNROLLED
#define UNROLLED _Pragma("GCC unroll 32")
#endif
#endif

static inline void copy_blocks(real *to, const real *from, int count)
{
    if (IN_BLOCKS(count))
        EACH_BLOCK(c, count) block_put(to + c, block_get(from + c));
    else
        EACH(c, count) to[c] = from[c];
}

/* to = x - y */
static inline void less_blocks(real *to, const real *x, const real *y, int count)
{
    if (IN_BLOCKS(count))
        EACH_BLOCK(c, count) block_put(to + c, block_get(x + c) - block_get(y + c));
    else
        EACH(c, count) to[c] = x[c] - y[c];
}

static inline real block_sum(block b)
{
#if BLOCK == 4
    return (b[0] + b[1]) + (b[2] + b[3]);
#else
    return b;
#endif
}

/* 0, or not a number if some component is not a number. */
static inline real zero_of(int count, const real *y)
{
    if (!IN_BLOCKS(count)) {
        real all = broadcast(0);
        EACH(c, count) all = fma_(y[c], broadcast(0), all);
        return all;
    }
    block all = block_of(0);
    EACH_BLOCK(c, count) all = block_fma(block_get(y + c), block_of(0), all);
    return block_sum(all);
}

/* A sum over the components is formed in four chains, as a vector register adds them. The
 * components after the last whole block of four go to the last places of a block that ends with
 * them. */
#define CHAIN_OF(c, count) (((c) < (count) / 4 * 4 ? (c) : (c) - (count)) & 3)

typedef struct chains {
    block of[4 / BLOCK];
} chains;

static inline chains chains_begin(void)
{
    chains s;
    EACH(i, 4 / BLOCK) s.of[i] = block_of(0);
    return s;
}

/* The squares of a block of `count` components that begins with component c. */
static inline void chains_add(chains *s, int c, int count, block part)
{
#if BLOCK == 4
    typedef long long places __attribute__((vector_size(32)));
    (void)count;
    if (c & 3) /* it overlaps the one before */
        part = (block)((places)part & ((places){0, 1, 2, 3} >= 4 - (c & 3)));
    s->of[0] = block_fma(part, part, s->of[0]);
#else
    s->of[CHAIN_OF(c, count)] = fma_(part, part, s->of[CHAIN_OF(c, count)]);
#endif
}

static inline real chains_sum(const chains *s)
{
#if BLOCK == 4
    return block_sum(s->of[0]);
#else
    return (s->of[0] + s->of[1]) + (s->of[2] + s->of[3]);
#endif
}

/* The sum of the squares of x_c y_c. */
static inline real squares(int count, const real *x, const real *y)
{
    chains sum = chains_begin();
    if (IN_BLOCKS(count)) {
        EACH_BLOCK(c, count) chains_add(&sum, c, count, block_get(x + c) * block_get(y + c));
        return chains_sum(&sum);
    }
#if BLOCK == 4
    EACH(c, count)
    {
        const real part = x[c] * y[c];
        sum.of[0][c + 4 - count] = fma_(part, part, 0.0);
    }
#endif
    return chains_sum(&sum);
}

#endif
