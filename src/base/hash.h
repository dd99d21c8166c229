/* FNV-1a, 64 bits: for tables of names, and to detect changes. It does not resist deliberate
 * collisions; for that there is sha256.h. */
#ifndef NH_BASE_HASH_H
#define NH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define NH_HASH_START UINT64_C(14695981039346656037)

/* Continues the hash `so_far` over these bytes. */
static inline uint64_t nh_hash(uint64_t so_far, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        so_far = (so_far ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    return so_far;
}

#endif
