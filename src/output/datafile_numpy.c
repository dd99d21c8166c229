/* Reads tables from NumPy files: a structured array (.npy), or arrays in an archive (.npz) as our
 * writer lays them out: t, q, v, the names of q and v, and one array for each further quantity. */
#include "output/datafile.h"
#include "output/zip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MOST = 1 << 20, AXES = 2 };

typedef struct array {
    char *header;
    const char *kind; /* what follows 'descr': */
    int64_t shape[AXES];
    int axes;
} array;

static nh_status bad(const nh_datafile *t, nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT, "%s: this is not an array written by nonholo", t->path);
}

/* Reports what could not be read or is not as expected. */
static nh_status bad_or_lost(const nh_datafile *t, FILE *file, nh_report *report)
{
    return ferror(file) ? nh_fail(report, NH_FILE_FAILED, "cannot read %s", t->path)
                        : bad(t, report);
}

/* The head of an array; the numbers follow in the file. */
static nh_status read_head(const nh_datafile *t, FILE *file, array *a, nh_report *report)
{
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return bad_or_lost(t, file, report);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, file) != 2)
            return bad_or_lost(t, file, report);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (length >= HEADER_MOST)
        return bad(t, report);
    a->header = calloc(1, length + 1);
    if (!a->header)
        return nh_fail_memory(report);
    if (fread(a->header, 1, length, file) != length)
        return bad_or_lost(t, file, report);
    a->kind = strstr(a->header, "'descr': ");
    const char *shape = strstr(a->header, "'shape': (");
    if (!a->kind || !shape)
        return bad(t, report);
    a->kind += strlen("'descr': ");
    for (shape += strlen("'shape': ("); a->axes < AXES && *shape >= '0' && *shape <= '9';) {
        char *end;
        a->shape[a->axes++] = strtoll(shape, &end, 10);
        shape = end + strspn(end, ", ");
    }
    return NH_OK;
}

/* ---- structured arrays ---- */

/* ('name', '<f8'), ...: quotes in a name make NumPy use the other kind. */
static nh_status read_fields(nh_datafile *t, const array *a, nh_report *report)
{
    const char *end = strstr(a->header, "'fortran_order'");
    for (const char *at = a->kind; (at = strchr(at, '(')) && at < end;) {
        const char quote = at[1], *name = at + 2;
        const char *close = quote == '\'' || quote == '"' ? strchr(name, quote) : NULL;
        if (!close || strncmp(close + 1, ", '<f8')", 8) != 0)
            return bad(t, report);
        if (!nh_datafile_add(t, name, (size_t)(close - name), a->shape[0]))
            return nh_datafile_refuse(t, report);
        at = close;
    }
    return t->columns ? NH_OK : bad(t, report);
}

nh_status nh_datafile_read_npy(nh_datafile *t, int64_t member, nh_report *report)
{
    (void)member;
    array a = {0};
    FILE *file = fopen(t->path, "rb");
    if (!file)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %s: %s", t->path, strerror(errno));
    nh_status status = read_head(t, file, &a, report);
    if (status == NH_OK)
        status = a.axes == 1 && a.kind[0] == '[' ? read_fields(t, &a, report) : bad(t, report);
    for (int64_t row = 0; status == NH_OK && row < t->rows; row++)
        for (int c = 0; c < t->columns && status == NH_OK; c++)
            if (fread(&t->column[c][row], sizeof(double), 1, file) != 1)
                status = bad(t, report);
    if (status == NH_OK && getc(file) != EOF) /* the header says that there is less */
        status = bad(t, report);
    free(a.header);
    fclose(file);
    return status;
}

/* ---- archives ---- */

typedef struct names { /* of the components of q and v, as they will be found */
    int first[2];      /* columns where those of q and v begin; -1: not read yet */
    int count[2];
} names;

static nh_status read_numbers(nh_datafile *t, FILE *file, const array *a, const char *name,
                              names *n, nh_report *report)
{
    int64_t width = a->axes > 1 ? a->shape[1] : 1;
    int which = strcmp(name, "q") == 0 ? 0 : strcmp(name, "v") == 0 ? 1 : -1;
    int first = t->columns;
    if (strcmp(name, "multipliers") == 0)
        return NH_OK;
    for (int64_t c = 0; c < width; c++)
        if (!nh_datafile_add(t, name, strlen(name), a->shape[0]))
            return nh_datafile_refuse(t, report);
    if (which >= 0) {
        n->first[which] = first;
        n->count[which] = (int)width;
    }
    for (int64_t row = 0; row < a->shape[0]; row++)
        for (int64_t c = 0; c < width; c++)
            if (fread(&t->column[first + c][row], sizeof(double), 1, file) != 1)
                return bad(t, report);
    return NH_OK;
}

/* Names are arrays of characters of four bytes each. */
static nh_status read_texts(nh_datafile *t, FILE *file, const array *a, int first, int count,
                            nh_report *report)
{
    long letters = strtol(a->kind + 3, NULL, 10);
    for (int i = 0; i < count && i < a->shape[0]; i++) {
        char text[256] = "";
        for (long k = 0; k < letters; k++) {
            unsigned char code[4];
            if (fread(code, 1, 4, file) != 4)
                return bad(t, report);
            if (k < 255)
                text[k] = code[1] || code[2] || code[3] ? '?' : (char)code[0];
        }
        t->name[first + i] = nh_arena_text(&t->arena, text, strlen(text));
        if (!t->name[first + i])
            return nh_fail_memory(report);
    }
    return NH_OK;
}

static nh_status read_entry(nh_datafile *t, FILE *file, const char *name, names *n,
                            nh_report *report)
{
    array a = {0};
    nh_status status = read_head(t, file, &a, report);
    int which = strcmp(name, "coordinates") == 0 ? 0 : strcmp(name, "velocities") == 0 ? 1 : -1;
    if (status == NH_OK && strncmp(a.kind, "'<f8'", 5) == 0)
        status = read_numbers(t, file, &a, name, n, report);
    else if (status == NH_OK && which >= 0 && strncmp(a.kind, "'<U", 3) == 0 && n->count[which])
        status = read_texts(t, file, &a, n->first[which], n->count[which], report);
    free(a.header);
    return status;
}

static uint64_t number(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Whether the bytes from `at` on are those that were written. */
static bool is_unchanged(FILE *file, long at, uint64_t size, uint32_t sum)
{
    char block[1 << 14];
    uint32_t found = 0;
    if (fseek(file, at, SEEK_SET) != 0)
        return false;
    while (size > 0) {
        const size_t wanted = size < sizeof block ? (size_t)size : sizeof block;
        if (fread(block, 1, wanted, file) != wanted)
            return false;
        found = nh_checksum(found, block, wanted);
        size -= wanted;
    }
    return found == sum;
}

/* Reads an entry after the beginning of its header: its name and length (in an extra field of 64
 * bits), then the array. */
static nh_status read_member(nh_datafile *t, FILE *file, const unsigned char *head, names *n,
                             nh_report *report)
{
    unsigned char extra[64];
    char name[300];
    const size_t length = number(head + 26, 2), more = number(head + 28, 2);
    const bool stored =
        number(head + 8, 2) == 0 && length < sizeof name && more >= 20 && more <= sizeof extra;
    if (!stored || fread(name, 1, length, file) != length || fread(extra, 1, more, file) != more ||
        number(extra, 2) != 1)
        return bad(t, report);
    name[length > 4 ? length - 4 : 0] = '\0'; /* without .npy */
    const long data = ftell(file);
    const uint64_t size = number(extra + 4, 8);
    if (data < 0 || size > (uint64_t)t->bytes)
        return bad(t, report);
    if (!is_unchanged(file, data, size, (uint32_t)number(head + 14, 4)))
        return nh_fail(
            report, NH_FILE_FAILED,
            "%s: the checksum of '%s' is wrong: the file was damaged after it was written", t->path,
            name);
    fseek(file, data, SEEK_SET);
    nh_status status = read_entry(t, file, name, n, report);
    if (status == NH_OK && fseek(file, data + (long)size, SEEK_SET) != 0)
        status = bad(t, report);
    return status;
}

/* Entry after entry, and the list of them, without which the end of the file is missing. */
nh_status nh_datafile_read_npz(nh_datafile *t, int64_t member, nh_report *report)
{
    (void)member;
    names n = {.first = {-1, -1}};
    unsigned char head[30] = {0};
    FILE *file = fopen(t->path, "rb");
    if (!file)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %s: %s", t->path, strerror(errno));
    nh_status status = NH_OK;
    while (status == NH_OK && fread(head, 1, 30, file) == 30 && memcmp(head, "PK\3\4", 4) == 0)
        status = read_member(t, file, head, &n, report);
    if (status == NH_OK && memcmp(head, "PK\1\2", 4) != 0)
        status = bad(t, report);
    fclose(file);
    return status;
}
