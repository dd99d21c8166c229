/* Small zip archives, in memory. */
#ifndef NH_OUTPUT_ZIP_H
#define NH_OUTPUT_ZIP_H

#include "base/text.h"

typedef struct nh_zip_entry {
    const char *name; /* including folders, 'sources/model.c'; NULL: end of the list */
    const nh_text *content;
} nh_zip_entry;

/* Appends the archive. Entries have no time stamps: the same contents give the same bytes. */
void nh_zip(nh_text *out, const nh_zip_entry *entry);

#endif
