/* Named arrays in one file (.npz): an uncompressed zip archive whose entries are arrays in .npy
 * format.
 *
 * A trajectory arrives row by row, but a zip archive stores array after array, each preceded by its
 * length and checksum. So the rows are first collected in another file; once the position of every
 * entry is known, the archive is created from them in one pass. Lengths and positions always have
 * 64 bits (ZIP64), so that there is only one layout, whatever the size. */
#include "output/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/zip.h"

enum {
    BUFFER = 1 << 13,  /* numbers that an entry gathers before they are written */
    ROWS_AT_ONCE = 64, /* read */
    LOCAL = 30 + 20    /* bytes of an entry's header without its name: fixed part and ZIP64 */
};

typedef struct zip_entry {
    const nh_npz_array *array;
    char name[264];
    int64_t offset, data, size; /* of its header; of the array, which is `size` bytes long */
    int64_t at;                 /* where the next bytes go */
    uint32_t sum;
    double *buffer;
    int used;
} zip_entry;

typedef struct archive {
    nh_file *file;
    zip_entry *entry;
    int entries;
    int64_t rows, end; /* end: of all entries */
} archive;

/* ---- numbers in zip format, low byte first ---- */

typedef struct bytes {
    unsigned char data[512];
    size_t used;
} bytes;

static void put(bytes *b, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        b->data[b->used++] = (unsigned char)(value >> 8 * i & 255);
}

static void put_name(bytes *b, const char *name)
{
    memcpy(b->data + b->used, name, strlen(name));
    b->used += strlen(name);
}

/* ---- the headers of an entry ---- */

/* Common to both headers: version, flags, no compression, no time of day (so that equal runs give
 * equal files), checksum; lengths are in the ZIP64 part. */
static void put_facts(bytes *b, const zip_entry *e, int extra)
{
    put(b, 45, 2);
    put(b, 0, 4);
    put(b, 0x00210000, 4); /* 1 January 1980 */
    put(b, e->sum, 4);
    put(b, UINT64_MAX, 8);
    put(b, strlen(e->name), 2);
    put(b, (uint64_t)extra, 2);
}

static void write_local(const archive *a, const zip_entry *e)
{
    bytes b = {.used = 0};
    put(&b, 0x04034b50, 4);
    put_facts(&b, e, 20);
    put_name(&b, e->name);
    put(&b, 1 | 16 << 16, 4);
    put(&b, (uint64_t)e->size, 8);
    put(&b, (uint64_t)e->size, 8);
    nh_file_patch(a->file, e->offset, (const char *)b.data, b.used);
}

static int64_t write_central(const archive *a, const zip_entry *e, int64_t at)
{
    bytes b = {.used = 0};
    put(&b, 0x02014b50, 4);
    put(&b, 45, 2);
    put_facts(&b, e, 28);
    put(&b, 0, 8); /* no comment, first disk, no attributes */
    put(&b, 0, 2);
    put(&b, UINT32_MAX, 4);
    put_name(&b, e->name);
    put(&b, 1 | 24 << 16, 4);
    put(&b, (uint64_t)e->size, 8);
    put(&b, (uint64_t)e->size, 8);
    put(&b, (uint64_t)e->offset, 8);
    nh_file_patch(a->file, at, (const char *)b.data, b.used);
    return at + (int64_t)b.used;
}

static void write_ends(const archive *a, int64_t at)
{
    bytes b = {.used = 0};
    uint64_t entries = (uint64_t)a->entries;
    put(&b, 0x06064b50, 4);
    put(&b, 44, 8);
    put(&b, 45 | 45 << 16, 4);
    put(&b, 0, 8); /* disks */
    put(&b, entries, 8);
    put(&b, entries, 8);
    put(&b, (uint64_t)(at - a->end), 8);
    put(&b, (uint64_t)a->end, 8);
    put(&b, 0x07064b50, 4); /* the position of that record */
    put(&b, 0, 4);
    put(&b, (uint64_t)at, 8);
    put(&b, 1, 4);
    put(&b, 0x06054b50, 4); /* and the old end record, which refers readers to it */
    put(&b, 0, 4);
    put(&b, UINT64_MAX, 4);
    put(&b, UINT64_MAX, 8);
    put(&b, 0, 2);
    nh_file_patch(a->file, at, (const char *)b.data, b.used);
}

/* ---- the header of an array ---- */

static int longest(const nh_npz_array *array)
{
    int most = 1;
    for (int i = 0; i < array->labels; i++)
        most = (int)strlen(array->label[i]) > most ? (int)strlen(array->label[i]) : most;
    return most;
}

/* Version 1.0: magic, version, length of the rest in 2 bytes, a dictionary, spaces up to a multiple
 * of 64 bytes. */
static size_t describe(const nh_npz_array *array, int64_t rows, bytes *b)
{
    rows = array->table ? array->rows : rows;
    char text[160], kind = *(const char *)&(const int){1} ? '<' : '>';
    int used =
        snprintf(text, sizeof text, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': ", kind,
                 array->label ? 'U' : 'f', array->label ? longest(array) : 8);
    if (array->label)
        snprintf(text + used, sizeof text - (size_t)used, "(%d,), }", array->labels);
    else if (array->list)
        snprintf(text + used, sizeof text - (size_t)used, "(%lld, %d), }", (long long)rows,
                 array->columns);
    else
        snprintf(text + used, sizeof text - (size_t)used, "(%lld,), }", (long long)rows);
    size_t size = (10 + strlen(text) + 64) / 64 * 64;
    b->used = 0;
    put_name(b, "\x93NUMPY\x01");
    put(b, 0, 1);
    put(b, size - 10, 2);
    put_name(b, text);
    memset(b->data + b->used, ' ', size - b->used);
    b->data[size - 1] = '\n';
    b->used = size;
    return size;
}

static int64_t content_size(const nh_npz_array *array, int64_t rows)
{
    rows = array->table ? array->rows : rows;
    return array->label ? (int64_t)4 * longest(array) * array->labels : 8 * rows * array->columns;
}

/* ---- contents ---- */

static void append(const archive *a, zip_entry *e, const void *data, size_t size)
{
    nh_file_patch(a->file, e->at, data, size);
    e->sum = nh_checksum(e->sum, data, size);
    e->at += (int64_t)size;
}

static void flush(const archive *a, zip_entry *e)
{
    append(a, e, e->buffer, (size_t)e->used * sizeof *e->buffer);
    e->used = 0;
}

/* Texts of the language are ASCII; numpy uses four bytes per letter. */
static void write_labels(const archive *a, zip_entry *e)
{
    int length = longest(e->array);
    for (int i = 0; i < e->array->labels; i++)
        for (int k = 0, ended = 0; k < length; k++) {
            ended = ended || !e->array->label[i][k];
            uint32_t letter = ended ? 0 : (unsigned char)e->array->label[i][k];
            append(a, e, &letter, sizeof letter);
        }
}

static void distribute(const archive *a, const double *row)
{
    for (int i = 0; i < a->entries; i++) {
        zip_entry *e = a->entry + i;
        for (int k = 0; k < e->array->columns && !e->array->table; k++) {
            e->buffer[e->used++] = row[e->array->first + k];
            if (e->used == BUFFER)
                flush(a, e);
        }
    }
}

static nh_status write_numbers(const archive *a, nh_file *rows, int width, nh_report *report)
{
    size_t bytes_of_row = (size_t)width * sizeof(double);
    double *block = malloc(ROWS_AT_ONCE * bytes_of_row);
    nh_status status = block ? NH_OK : nh_fail_memory(report);
    for (int64_t done = 0; status == NH_OK && done < a->rows; done += ROWS_AT_ONCE) {
        int count = a->rows - done < ROWS_AT_ONCE ? (int)(a->rows - done) : ROWS_AT_ONCE;
        status = nh_file_read(rows, done * (int64_t)bytes_of_row, (char *)block,
                              (size_t)count * bytes_of_row, report);
        for (int i = 0; status == NH_OK && i < count; i++)
            distribute(a, block + (size_t)i * (size_t)width);
    }
    free(block);
    return status;
}

/* ---- the whole ---- */

/* Determines the position of every entry and writes the beginning of its array. */
static bool lay_out(archive *a, const nh_npz_array *array)
{
    for (int i = 0; i < a->entries; i++) {
        zip_entry *e = a->entry + i;
        bytes b;
        e->array = array + i;
        snprintf(e->name, sizeof e->name, "%s.npy", array[i].name);
        size_t beginning = describe(e->array, a->rows, &b);
        e->offset = a->end;
        e->data = e->at = a->end + LOCAL + (int64_t)strlen(e->name);
        e->size = (int64_t)beginning + content_size(e->array, a->rows);
        e->buffer = malloc(BUFFER * sizeof *e->buffer);
        if (!e->buffer)
            return false;
        append(a, e, b.data, b.used);
        a->end = e->data + e->size;
    }
    return true;
}

static nh_status fill(archive *a, nh_file *rows, int width, nh_report *report)
{
    nh_status status = write_numbers(a, rows, width, report);
    int64_t at = a->end;
    for (int i = 0; status == NH_OK && i < a->entries; i++) {
        zip_entry *e = a->entry + i;
        if (e->array->label)
            write_labels(a, e);
        else if (e->array->table)
            append(a, e, e->array->table,
                   (size_t)e->array->rows * (size_t)e->array->columns * sizeof(double));
        else
            flush(a, e);
        write_local(a, e);
        at = write_central(a, e, at);
    }
    if (status == NH_OK)
        write_ends(a, at);
    return status;
}

nh_status nh_npz_write(const char *path, nh_file *rows, int64_t count, int width,
                       const nh_npz_array *array, int arrays, bool lasting, nh_report *report)
{
    archive a = {.rows = count, .entries = arrays};
    a.entry = calloc((size_t)arrays, sizeof *a.entry);
    if (!a.entry)
        return nh_fail_memory(report);
    nh_status status =
        lasting ? nh_file_begin_whole(&a.file, path, report) : nh_file_begin(&a.file, path, report);
    if (status == NH_OK && !lay_out(&a, array))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = fill(&a, rows, width, report);
    for (int i = 0; i < arrays; i++)
        free(a.entry[i].buffer);
    free(a.entry);
    if (status == NH_OK)
        return nh_file_commit(a.file, report);
    nh_file_abandon(a.file);
    return status;
}
