/* A sequence of bytes for checkpoints: values are written one after another and read in the same
 * order. Reading never goes past the end: a missing value sets `failed` and reads as zero. Numbers
 * are stored in their memory representation; the first value shows whether this machine uses the
 * same one. */
#ifndef NH_BASE_PACK_H
#define NH_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nh_pack {
    unsigned char *data;   /* owned by a pack that is written, borrowed by one that is read */
    size_t size, room, at; /* at: the position of the next read */
    bool failed;
} nh_pack;

void nh_pack_bytes(nh_pack *pack, const void *data, size_t size);
void nh_pack_integer(nh_pack *pack, int64_t value);
void nh_pack_real(nh_pack *pack, double value);
void nh_pack_text(nh_pack *pack, const char *text);
void nh_pack_free(nh_pack *pack);

void nh_unpack_bytes(nh_pack *pack, void *data, size_t size);
int64_t nh_unpack_integer(nh_pack *pack);
double nh_unpack_real(nh_pack *pack);
/* At most size - 1 bytes and a NUL; a longer text fails. */
void nh_unpack_text(nh_pack *pack, char *text, size_t size);
/* The number of bytes left. */
size_t nh_unpack_left(const nh_pack *pack);

#endif
