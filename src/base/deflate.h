/* Compression as in zip archives (RFC 1951). */
#ifndef NH_BASE_DEFLATE_H
#define NH_BASE_DEFLATE_H

#include <stdint.h>

#include "base/text.h"

/* Appends the compressed form of the bytes; the output depends only on the input bytes. A failed
 * allocation sets out->failed. */
void nh_deflate(nh_text *out, const void *data, size_t size);

/* CRC-32, continued over more bytes from the sum of those before them (0 at first). */
uint32_t nh_checksum(uint32_t sum, const void *data, size_t size);

#endif
