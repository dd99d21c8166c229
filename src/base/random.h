/* Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3" (SC11). A counter and a key determine 128 random bits; there is no
 * state, so the numbers do not depend on threads, ranks or the order of calls. */
#ifndef NH_BASE_RANDOM_H
#define NH_BASE_RANDOM_H

#include <stdint.h>

void nh_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A stream of numbers, determined by `seed`, `item` and `attempt`. */
typedef struct nh_stream {
    uint64_t seed, item;
    uint32_t attempt, used; /* used: pairs drawn so far */
} nh_stream;

double nh_stream_uniform(nh_stream *stream); /* in (0, 1), 53 bits */
double nh_stream_normal(nh_stream *stream);  /* mean 0, variance 1 */

#endif
