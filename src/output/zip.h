/* Small zip archives, in memory. */
#ifndef NH_OUTPUT_ZIP_H
#define NH_OUTPUT_ZIP_H

#include <stdint.h>

#include "base/text.h"

typedef struct nh_zip_entry {
    const char *name; /* including folders, 'sources/model.c'; NULL: end of the list */
    const nh_text *content;
} nh_zip_entry;

/* Appends the archive. Entries have no time stamps: the same contents give the same bytes. */
void nh_zip(nh_text *out, const nh_zip_entry *entry);

/* The checksum of zip archives (CRC-32), continued over more bytes from the sum of those before
 * them (0 at first). */
uint32_t nh_checksum(uint32_t sum, const void *data, size_t size);

#endif
