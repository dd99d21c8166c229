/* SHA-256 (FIPS 180-4), used to name cached kernels by their content and to verify them. */
#ifndef NH_BASE_SHA256_H
#define NH_BASE_SHA256_H

#include <stddef.h>

enum { NH_DIGEST_TEXT = 65 };

/* The digest as 64 hexadecimal digits and a NUL. */
void nh_sha256_text(const void *data, size_t length, char text[NH_DIGEST_TEXT]);

#endif
