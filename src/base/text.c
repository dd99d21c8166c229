/* A string that grows as text is appended. */
#include "base/text.h"

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
