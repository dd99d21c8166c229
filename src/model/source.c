/* A text that is being read, and messages that point into it. */
#include "model/source.h"

#include "base/decimal.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 120 }; /* characters of a long line that are shown */

/* ---- the shown line ---- */

typedef struct shown {
    char *text;
    size_t used, size;
} shown;

static void put(shown *s, const char *bytes, size_t count)
{
    if (s->used + count < s->size) {
        memcpy(s->text + s->used, bytes, count);
        s->used += count;
    }
    s->text[s->used] = 0;
}

static size_t character(const char *at, const char *end)
{
    size_t size = nh_utf8(at, (size_t)(end - at), NULL);
    return size ? size : 1;
}

/* One character as it may be shown: '?' if it is not text or would control a terminal. */
static void put_safely(shown *s, const char *at, size_t size)
{
    uint32_t code;
    bool fine = nh_utf8(at, size, &code) == size && (code == '\t' || code >= 0x20) &&
                !(code >= 0x7F && code < 0xA0) && !(code >= 0x202A && code <= 0x202E) &&
                !(code >= 0x2066 && code <= 0x2069);
    put(s, fine ? at : "?", fine ? size : 1);
}

static const char *start_of_line(const nh_source *source, int line)
{
    const char *at = source->text, *end = at + source->length;
    for (; line > 1; line--) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            return end;
        at = stop + 1;
    }
    if (at == source->text && source->length >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3; /* the byte-order mark is not a character of the line */
    return at;
}

/* Adds "\n    line\n    caret". */
static void put_line(shown *s, const nh_source *source, nh_place place)
{
    const char *at = start_of_line(source, place.line), *end = source->text + source->length;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    end = stop ? stop : end;
    if (end > at && end[-1] == '\r')
        end--;

    /* A line that does not fit begins half a window before the column. */
    int first = place.column > WINDOW * 3 / 4 ? place.column - WINDOW / 2 : 1;
    int column = 1;
    for (; column < first && at < end; column++)
        at += character(at, end);

    char caret[4 * WINDOW];
    shown under = {caret, 0, sizeof caret};
    put(s, "\n    ", 5);
    put(&under, "\n    ", 5);
    if (first > 1) {
        put(s, "...", 3);
        put(&under, "   ", 3);
    }
    for (; at < end && column < first + WINDOW; column++) {
        size_t size = character(at, end);
        put_safely(s, at, size);
        if (column < place.column)
            put(&under, *at == '\t' ? "\t" : " ", 1);
        at += size;
    }
    if (at < end)
        put(s, "...", 3);
    for (; column < place.column; column++)
        put(&under, " ", 1);
    put(&under, "^", 1);
    put(s, caret, under.used);
}

static nh_status fail_at(nh_report *report, nh_status status, const nh_source *source,
                         nh_place place, const char *format, va_list args)
{
    if (!report)
        return status;
    memset(report, 0, sizeof *report);
    report->status = status;
    report->line = place.line;
    report->column = place.column;
    size_t size = sizeof report->text / 2; /* the other half is for the line and the caret */
    int used = source->argument ? snprintf(report->text, size, "%s: ", source->file)
                                : snprintf(report->text, size, "%.300s:%d:%d: ", source->file,
                                           place.line, place.column);
    if (used < 0 || (size_t)used >= size)
        used = 0;
    nh_print_list(report->text + used, size - (size_t)used, format, args);
    shown s = {report->text, strlen(report->text), sizeof report->text};
    put_line(&s, source, place);
    return status;
}

nh_status nh_fail_at(nh_report *report, const nh_source *source, nh_place place, const char *format,
                     ...)
{
    va_list args;
    va_start(args, format);
    nh_status status = fail_at(report, source->argument ? NH_BAD_ARGUMENT : NH_BAD_MODEL, source,
                               place, format, args);
    va_end(args);
    return status;
}

nh_status nh_too_large_at(nh_report *report, const nh_source *source, nh_place place,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    nh_status status = fail_at(report, NH_TOO_LARGE, source, place, format, args);
    va_end(args);
    return status;
}

/* ---- is it text? ---- */

nh_status nh_source_check(const nh_source *source, nh_report *report)
{
    if (source->length > NH_TEXT_LARGEST)
        return nh_fail(report, NH_TOO_LARGE, "%s: the text is longer than %d megabytes",
                       source->file, NH_TEXT_LARGEST >> 20);
    const char *at = start_of_line(source, 1), *end = source->text + source->length;
    nh_place place = {.line = 1, .column = 1};
    while (at < end) {
        size_t size = nh_utf8(at, (size_t)(end - at), NULL);
        if (size == 0)
            return nh_fail_at(report, source, place, "invalid UTF-8 (byte 0x%02X)",
                              (unsigned char)*at);
        if (*at == 0)
            return nh_fail_at(report, source, place, "a NUL byte; expected text");
        if (place.column > NH_LINE_LONGEST)
            return nh_too_large_at(report, source, place, "a line of more than %d characters",
                                   NH_LINE_LONGEST);
        if (*at == '\n')
            place = (nh_place){.line = place.line + 1, .column = 1};
        else
            place.column++;
        at += size;
    }
    return NH_OK;
}
