/* Writing values to a sequence of bytes and reading them back; see pack.h. */
#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

void nh_pack_bytes(nh_pack *pack, const void *data, size_t size)
{
    if (pack->failed || size == 0)
        return;
    if (size > pack->room - pack->size) {
        size_t room = 2 * pack->room + size + 256;
        unsigned char *bigger = room > size ? realloc(pack->data, room) : NULL;
        if (!bigger) {
            pack->failed = true;
            return;
        }
        pack->data = bigger;
        pack->room = room;
    }
    memcpy(pack->data + pack->size, data, size);
    pack->size += size;
}

void nh_pack_integer(nh_pack *pack, int64_t value)
{
    nh_pack_bytes(pack, &value, sizeof value);
}

void nh_pack_real(nh_pack *pack, double value)
{
    nh_pack_bytes(pack, &value, sizeof value);
}

void nh_pack_text(nh_pack *pack, const char *text)
{
    size_t length = strlen(text);
    nh_pack_integer(pack, (int64_t)length);
    nh_pack_bytes(pack, text, length);
}

void nh_pack_free(nh_pack *pack)
{
    free(pack->data);
    *pack = (nh_pack){0};
}

size_t nh_unpack_left(const nh_pack *pack)
{
    return pack->failed ? 0 : pack->size - pack->at;
}

void nh_unpack_bytes(nh_pack *pack, void *data, size_t size)
{
    if (size > nh_unpack_left(pack)) {
        pack->failed = true;
        memset(data, 0, size);
        return;
    }
    memcpy(data, pack->data + pack->at, size);
    pack->at += size;
}

int64_t nh_unpack_integer(nh_pack *pack)
{
    int64_t value;
    nh_unpack_bytes(pack, &value, sizeof value);
    return value;
}

double nh_unpack_real(nh_pack *pack)
{
    double value;
    nh_unpack_bytes(pack, &value, sizeof value);
    return value;
}

void nh_unpack_text(nh_pack *pack, char *text, size_t size)
{
    int64_t length = nh_unpack_integer(pack);
    text[0] = '\0';
    if (length < 0 || (uint64_t)length >= size || (uint64_t)length > nh_unpack_left(pack)) {
        pack->failed = true;
        return;
    }
    nh_unpack_bytes(pack, text, (size_t)length);
    text[length] = '\0';
}
