/* Writes a zip archive: one entry after the other, each compressed if that makes it shorter, and a
 * list of them at the end. */
#include "output/zip.h"

#include <string.h>

#include "base/deflate.h"

static void put(nh_text *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const char byte = (char)(value >> 8 * i & 255);
        nh_text_add_bytes(out, &byte, 1);
    }
}

/* Common to both headers. */
typedef struct facts {
    const char *name;
    bool packed;
    uint32_t sum, stored, size, offset;
} facts;

static void put_facts(nh_text *out, const facts *f)
{
    put(out, 20, 2); /* version that is needed */
    put(out, 0, 2);
    put(out, f->packed ? 8 : 0, 2);
    put(out, 0x00210000, 4); /* 1 January 1980 */
    put(out, f->sum, 4);
    put(out, f->stored, 4);
    put(out, f->size, 4);
    put(out, (uint32_t)strlen(f->name), 2);
    put(out, 0, 2);
}

static facts add_entry(nh_text *out, const nh_zip_entry *entry)
{
    const nh_text *content = entry->content;
    nh_text packed = {0};
    nh_deflate(&packed, content->data, content->length);
    const bool shorter = packed.length < content->length;
    const nh_text *stored = shorter ? &packed : content;
    const facts f = {.name = entry->name,
                     .packed = shorter,
                     .sum = nh_checksum(0, content->data, content->length),
                     .stored = (uint32_t)stored->length,
                     .size = (uint32_t)content->length,
                     .offset = (uint32_t)out->length};
    put(out, 0x04034b50, 4);
    put_facts(out, &f);
    nh_text_add_plain(out, entry->name);
    nh_text_add_bytes(out, stored->data, stored->length);
    out->failed = out->failed || packed.failed;
    nh_text_free(&packed);
    return f;
}

static void add_to_list(nh_text *list, const facts *f)
{
    put(list, 0x02014b50, 4);
    put(list, 20, 2);
    put_facts(list, f);
    put(list, 0, 4); /* comment, disk */
    put(list, 0, 4);
    put(list, 0, 2); /* attributes */
    put(list, f->offset, 4);
    nh_text_add_plain(list, f->name);
}

void nh_zip(nh_text *out, const nh_zip_entry *entry)
{
    nh_text list = {0};
    uint32_t entries = 0;
    for (; entry->name; entry++, entries++) {
        const facts f = add_entry(out, entry);
        add_to_list(&list, &f);
    }
    const uint32_t at = (uint32_t)out->length;
    nh_text_add_bytes(out, list.data, list.length);
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, entries | entries << 16, 4);
    put(out, (uint32_t)list.length, 4);
    put(out, at, 4);
    put(out, 0, 2);
    out->failed = out->failed || list.failed;
    nh_text_free(&list);
}
