/* A string that grows as text is appended. */
#include "base/text.h"

#include <nonholo.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

static bool make_room(nh_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->length + more + 1 <= text->room)
        return true;
    size_t room = 2 * text->room + more + 256;
    char *bigger = realloc(text->data, room);
    if (!bigger) {
        text->failed = true;
        return false;
    }
    text->data = bigger;
    text->room = room;
    return true;
}

void nh_text_add_plain(nh_text *text, const char *plain)
{
    if (!plain) /* the data of a text that failed */
        text->failed = true;
    nh_text_add_bytes(text, plain ? plain : "", plain ? strlen(plain) : 0);
}

void nh_text_add_bytes(nh_text *text, const void *data, size_t size)
{
    if (!make_room(text, size))
        return;
    memcpy(text->data + text->length, data, size);
    text->length += size;
    text->data[text->length] = 0;
}

void nh_text_add(nh_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = nh_print_list(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && make_room(text, (size_t)length)) {
        nh_print_list(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void nh_text_free(nh_text *text)
{
    free(text->data);
    *text = (nh_text){0};
}

void nh_text_end(nh_text *part, nh_text *whole)
{
    whole->failed |= part->failed;
    nh_text_free(part);
}

size_t nh_utf8(const char *text, size_t length, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0)
        return 0;
    size_t size = s[0] < 0x80   ? 1
                  : s[0] < 0xC2 ? 0
                  : s[0] < 0xE0 ? 2
                  : s[0] < 0xF0 ? 3
                  : s[0] < 0xF5 ? 4
                                : 0;
    if (size == 0 || size > length)
        return 0;
    uint32_t c = size == 1 ? s[0] : s[0] & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    /* Overlong forms, surrogates and codes beyond Unicode are not characters. */
    if (c < least[size] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF)
        return 0;
    if (code)
        *code = c;
    return size;
}

void nh_make_printable(char *text)
{
    char *to = text;
    for (const char *at = text; *at;) {
        uint32_t code = 0;
        const size_t size = nh_utf8(at, strlen(at), &code);
        const bool control =
            (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
        if (size == 0 || control)
            *to++ = '?';
        else
            for (size_t i = 0; i < size; i++)
                *to++ = at[i];
        at += size ? size : 1;
    }
    *to = '\0';
}
