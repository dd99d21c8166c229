/* The Philox4x32-10 generator, and uniform and normal random numbers from it. */
#include "base/random.h"

#include <math.h>

/* Multipliers and Weyl increments are those of the paper. */
void nh_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t x = UINT64_C(0xD2511F53) * a, y = UINT64_C(0xCD9E8D57) * c;
        a = (uint32_t)(y >> 32) ^ b ^ k0;
        b = (uint32_t)y;
        c = (uint32_t)(x >> 32) ^ d ^ k1;
        d = (uint32_t)x;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

/* The midpoint of one of 2^53 equal parts of (0, 1): never 0, never 1. */
static double fraction(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return ((double)bits + 0.5) * 0x1p-53;
}

static void draw(nh_stream *s, double *u, double *w)
{
    uint32_t counter[4] = {s->used++, s->attempt, (uint32_t)s->item, (uint32_t)(s->item >> 32)};
    uint32_t key[2] = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32)}, out[4];
    nh_philox(counter, key, out);
    *u = fraction(out[0], out[1]);
    *w = fraction(out[2], out[3]);
}

double nh_stream_uniform(nh_stream *stream)
{
    double u, w;
    draw(stream, &u, &w);
    return u;
}

/* Box-Muller; the second number of the pair is discarded, so that the stream needs no memory. */
double nh_stream_normal(nh_stream *stream)
{
    double u, w;
    draw(stream, &u, &w);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * w);
}
