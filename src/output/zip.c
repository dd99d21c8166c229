/* Writes a zip archive: one entry after the other, each compressed if there is zlib and that makes
 * it shorter, and a list of them at the end. */
#include "output/zip.h"

#include <stdlib.h>
#include <string.h>

#ifdef NH_HAVE_ZLIB
#include <zlib.h>
#endif

uint32_t nh_checksum(uint32_t sum, const void *data, size_t size)
{
    static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                        0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *byte = data;
    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum ^= byte[i];
        sum = sum >> 4 ^ nibble[sum & 15];
        sum = sum >> 4 ^ nibble[sum & 15];
    }
    return ~sum;
}

/* Compresses the content of an entry; false if that is not possible or does not make it shorter. */
static bool pack(nh_text *out, const nh_text *content)
{
#ifdef NH_HAVE_ZLIB
    z_stream z = {.next_in = (unsigned char *)content->data, .avail_in = (uInt)content->length};
    if (content->length < 2 || content->length > UINT32_MAX ||
        deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    z.next_out = malloc(content->length);
    z.avail_out = z.next_out ? (uInt)content->length - 1 : 0;
    *out = (nh_text){.data = (char *)z.next_out};
    const bool shorter = z.next_out && deflate(&z, Z_FINISH) == Z_STREAM_END;
    out->length = z.total_out;
    deflateEnd(&z);
    return shorter;
#else
    (void)out, (void)content;
    return false;
#endif
}

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
    const bool shorter = pack(&packed, content);
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
