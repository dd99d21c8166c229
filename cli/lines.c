/* Reads lines: see lines.h. An endless file (a device, a pipe) must not take all memory, a NUL byte
 * must not hide what follows it, and a file that cannot be read to its end is not taken for a
 * shorter one. */
#define _GNU_SOURCE
#include "lines.h"
#include "command.h"
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1 << 26 };

int lines_open(lines *l, const char *path)
{
    *l = (lines){.path = path, .file = fopen(path, "re")};
    if (!l->file)
        l->answer = (complain("cannot read %s: %s", path, strerror(errno)), FAILED);
    return l->answer;
}

static bool put(lines *l, size_t length, char letter)
{
    if (length == l->room) {
        const size_t room = l->room ? 2 * l->room : 256;
        char *text = realloc(l->text, room);
        if (!text) {
            l->answer = (complain("out of memory"), FAILED);
            return false;
        }
        l->text = text;
        l->room = room;
    }
    l->text[length] = letter;
    return true;
}

/* Spreadsheets mark a file as UTF-8 by its first three bytes. */
static void skip_mark(lines *l, size_t *length)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (l->number == 1 && *length >= 3 && memcmp(l->text, mark, 3) == 0) {
        *length -= 3;
        memmove(l->text, l->text + 3, *length);
    }
}

bool lines_next(lines *l)
{
    size_t length = 0;
    int letter;
    l->number++;
    while ((letter = getc_unlocked(l->file)) != EOF && letter != '\n') {
        if (letter == '\0')
            l->answer = complain("%s:%lld: the line contains a NUL byte", l->path, l->number);
        if (length == LINE_MAX_BYTES)
            l->answer = complain("%s:%lld: the line is longer than %d megabytes", l->path,
                                 l->number, LINE_MAX_BYTES >> 20);
        if (l->answer || !put(l, length++, (char)letter))
            return false;
    }
    if (ferror(l->file))
        l->answer = (complain("cannot read %s: %s", l->path, strerror(errno)), FAILED);
    if (l->answer || (letter == EOF && length == 0))
        return false;
    skip_mark(l, &length);
    while (length > 0 && l->text[length - 1] == '\r')
        length--;
    return put(l, length, '\0');
}

void lines_close(lines *l)
{
    if (l->file)
        fclose(l->file);
    free(l->text);
}

char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    return text;
}
