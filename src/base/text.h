/* A growing string, used to write programs and messages. A failed allocation sets `failed`. */
#ifndef NH_BASE_TEXT_H
#define NH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nh_text {
    char *data; /* ends with a NUL */
    size_t length, room;
    bool failed;
} nh_text;

__attribute__((format(printf, 2, 3))) void nh_text_add(nh_text *text, const char *format, ...);
void nh_text_add_plain(nh_text *text, const char *plain);
void nh_text_add_bytes(nh_text *text, const void *data, size_t size); /* may contain NULs */
void nh_text_free(nh_text *text);
/* Frees a text whose contents have been added to `whole`; if it failed, `whole` fails too. */
void nh_text_end(nh_text *part, nh_text *whole);

/* Length in bytes of the UTF-8 character at `text` (1 to 4), or 0 if it is not one; `code` may be
 * NULL. */
size_t nh_utf8(const char *text, size_t length, uint32_t *code);

#endif
