/* Checkpoint files: a line that identifies the format, the number of pieces, their sizes, the
 * pieces, and a digest of everything before it. The contents are not used before the digest and the
 * sizes have been verified. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/pack.h"
#include "base/sha256.h"
#include "output/file.h"

static const char magic[] = "nonholo checkpoint 1\n";
enum { MAGIC = sizeof magic - 1, DIGEST = NH_DIGEST_TEXT - 1 };
static const int64_t size_limit = INT64_C(1) << 40;

/* It is replaced by the next one and finally removed. */
static nh_status check_path(const char *path, nh_report *report)
{
    if (!nh_file_is_special(path))
        return NH_OK;
    return nh_fail(report, NH_FILE_FAILED, "cannot write %s: a checkpoint needs a regular file",
                   path);
}

nh_status nh_checkpoint_write(const char *path, const nh_piece *piece, int pieces,
                              nh_report *report)
{
    nh_pack p = {0};
    nh_pack_bytes(&p, magic, MAGIC);
    nh_pack_integer(&p, pieces);
    for (int i = 0; i < pieces; i++) {
        nh_pack_integer(&p, (int64_t)piece[i].size);
        nh_pack_bytes(&p, piece[i].bytes, piece[i].size);
    }
    nh_file *file;
    nh_status status = p.failed ? nh_fail_memory(report) : NH_OK;
    if (status == NH_OK)
        status = check_path(path, report);
    if (status == NH_OK)
        status = nh_file_begin_part(&file, path, report);
    if (status == NH_OK) {
        char digest[NH_DIGEST_TEXT];
        nh_sha256_text(p.data, p.size, digest);
        nh_file_write(file, (const char *)p.data, p.size);
        nh_file_write(file, digest, DIGEST);
        status = nh_file_commit(file, report);
    }
    nh_pack_free(&p);
    return status;
}

static nh_status damaged(const char *path, const char *how, nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT, "%s: %s", path, how);
}

/* The whole file; NULL with a report. */
static unsigned char *read_all(const char *path, size_t *size, nh_report *report)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for a pipe */
    struct stat info;
    unsigned char *data = NULL;
    if (descriptor < 0 || fstat(descriptor, &info) != 0) {
        nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode) || info.st_size > size_limit) {
        nh_fail(report, NH_BAD_ARGUMENT, "%s: this is not a checkpoint", path);
    } else if (!(data = malloc((size_t)info.st_size + 1))) {
        nh_fail_memory(report);
    } else {
        ssize_t got = 0;
        *size = 0;
        while (*size < (size_t)info.st_size &&
               (got = read(descriptor, data + *size, (size_t)info.st_size - *size)) > 0)
            *size += (size_t)got;
        if (got < 0) {
            nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", path, strerror(errno));
            free(data);
            data = NULL;
        }
    }
    if (descriptor >= 0)
        close(descriptor);
    return data;
}

static bool verify(const unsigned char *data, size_t size)
{
    char digest[NH_DIGEST_TEXT];
    nh_sha256_text(data, size - DIGEST, digest);
    return memcmp(digest, data + size - DIGEST, DIGEST) == 0;
}

static nh_status take_pieces(nh_pack *p, const char *path, nh_piece *piece, int *pieces,
                             nh_report *report)
{
    int64_t count = nh_unpack_integer(p);
    if (p->failed || count < 0 || count > NH_PIECES_MAX)
        return damaged(path, "the checkpoint has an impossible number of pieces", report);
    for (; *pieces < count; ++*pieces) {
        int64_t size = nh_unpack_integer(p);
        if (p->failed || size < 0 || (uint64_t)size > nh_unpack_left(p))
            return damaged(path, "a piece of the checkpoint is longer than the file", report);
        nh_piece *one = piece + *pieces;
        one->bytes = malloc((size_t)size + 1);
        one->size = (size_t)size;
        if (!one->bytes)
            return nh_fail_memory(report);
        nh_unpack_bytes(p, one->bytes, one->size);
    }
    return nh_unpack_left(p) == 0
               ? NH_OK
               : damaged(path, "the checkpoint is longer than its pieces", report);
}

nh_status nh_checkpoint_read(const char *path, nh_piece *piece, int *pieces, nh_report *report)
{
    *pieces = 0;
    size_t size;
    nh_report own;
    nh_report *filled = report ? report : &own;
    unsigned char *data = read_all(path, &size, filled);
    if (!data)
        return filled->status;
    nh_status status;
    if (size < MAGIC + DIGEST || memcmp(data, magic, MAGIC) != 0)
        status = damaged(path, "this is not a checkpoint of this version of nonholo", report);
    else if (!verify(data, size))
        status = damaged(path, "the checkpoint is damaged: its digest does not match", report);
    else {
        nh_pack p = {.data = data, .size = size - DIGEST, .at = MAGIC};
        status = take_pieces(&p, path, piece, pieces, report);
    }
    for (int i = 0; status != NH_OK && i < *pieces; i++) {
        free(piece[i].bytes);
        piece[i] = (nh_piece){0};
    }
    *pieces = status == NH_OK ? *pieces : 0;
    free(data);
    return status;
}

void nh_checkpoint_remove(const char *path)
{
    char part[PATH_MAX];
    if (!path || nh_file_is_special(path)) /* not ours */
        return;
    unlink(path);
    if (snprintf(part, sizeof part, "%s.part", path) < (int)sizeof part)
        unlink(part); /* left by a process that was killed while writing it */
}

static bool parse_positive(const char *text, size_t length, double *value)
{
    char number[40], *end;
    if (length == 0 || length >= sizeof number || strspn(text, "0123456789+-.eE") < length)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    *value = nh_decimal(number, &end);
    return *end == '\0' && isfinite(*value) && *value > 0;
}

nh_status nh_interval_parse(const char *text, double *seconds, int64_t *steps, nh_report *report)
{
    static const char units[] = "smh";
    static const double length[] = {1, 60, 3600};
    size_t last = strlen(text);
    const char *unit = last > 1 ? strchr(units, text[last - 1]) : NULL;
    double value;
    bool good = parse_positive(text, unit ? last - 1 : last, &value);
    if (!good || (!unit && (value != floor(value) || value > 0x1p53)))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "needs a time such as 60s, 10m or 2h, or a number of steps, not '%s'", text);
    *seconds = unit ? value * length[unit - units] : 0;
    *steps = unit ? 0 : (int64_t)value;
    return NH_OK;
}
