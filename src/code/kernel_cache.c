/* The cache of compiled kernels on disk: its contents, what may be loaded, what is removed. */
#define _GNU_SOURCE
#include "code/kernel_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/status.h"

enum { LIMIT_MEGABYTES = 256, NAME_LENGTH = NH_DIGEST_TEXT - 1 };

/* ---- the folder ---- */

nh_status nh_cache_folder(char folder[NH_PATH_SIZE], nh_report *report)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool given = cache && cache[0] == '/';
    folder[0] = 0;
    if (!given && !(home && home[0] == '/'))
        return nh_fail(report, NH_FILE_FAILED, "neither XDG_CACHE_HOME nor HOME is a path");
    if (snprintf(folder, NH_PATH_SIZE, "%s%s", given ? cache : home, given ? "" : "/.cache") >=
        NH_PATH_SIZE - 100) {
        folder[0] = 0;
        return nh_fail(report, NH_FILE_FAILED, "its path is too long");
    }
    mkdir(folder, 0700);
    strcat(folder, "/nonholo");
    nh_status status = mkdir(folder, 0700) == 0 || errno == EEXIST
                           ? nh_folder_is_safe(folder, report)
                           : nh_fail(report, NH_FILE_FAILED, "%s: %s", folder, strerror(errno));
    struct stat s;
    if (status == NH_OK && (stat(folder, &s) != 0 || (s.st_mode & 022) != 0))
        status = nh_fail(report, NH_FILE_FAILED, "other users may write to %s", folder);
    if (status != NH_OK)
        folder[0] = 0;
    return status;
}

/* ---- files ---- */

/* At the end of a file in the cache: the kernel's name, then the digest of all before. */
typedef struct seal {
    char name[NAME_LENGTH], digest[NAME_LENGTH];
} seal;

static void make_seal(seal *s, const char *name, char *data, size_t length)
{
    char digest[NH_DIGEST_TEXT];
    memcpy(s->name, name, NAME_LENGTH);
    memcpy(data + length, s->name, NAME_LENGTH);
    nh_sha256_text(data, length + NAME_LENGTH, digest);
    memcpy(s->digest, digest, NAME_LENGTH);
}

bool nh_cache_has(const char *object, const char *name)
{
    size_t length = 0;
    char *data = nh_read_private(object, &length);
    seal expected;
    bool genuine = false;
    if (data && length > sizeof expected) {
        seal found;
        memcpy(&found, data + length - sizeof found, sizeof found);
        make_seal(&expected, name, data, length - sizeof expected);
        genuine = memcmp(&found, &expected, sizeof found) == 0;
    }
    free(data);
    if (genuine)
        utimensat(AT_FDCWD, object, NULL, AT_SYMLINK_NOFOLLOW);
    return genuine;
}

/* ---- putting in ---- */

/* A copy with its seal, in the workshop. */
static bool seal_kernel(const char *made, const char *name, const char *sealed)
{
    size_t length = 0;
    seal s;
    chmod(made, 0600); /* the mode of the compiler's file depends on the umask */
    char *data = nh_read_private(made, &length);
    char *whole = data ? realloc(data, length + sizeof s) : NULL;
    bool done = false;
    if (whole) {
        make_seal(&s, name, whole, length);
        memcpy(whole + length, &s, sizeof s);
        done = nh_write_private(sealed, whole, length + sizeof s);
    }
    free(whole ? whole : data);
    return done;
}

/* ---- contents ---- */

typedef struct entry {
    char name[NAME_LENGTH + 1];
    int64_t bytes;
    double used; /* the time of last use, in seconds */
} entry;

typedef struct contents {
    entry *item;
    int64_t count, room, bytes;
    bool failed;
} contents;

static double seconds_of(struct timespec t)
{
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_entry(contents *c, int folder, const char *file)
{
    struct stat object;
    if (fstatat(folder, file, &object, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(object.st_mode))
        return;
    entry e = {.bytes = object.st_size, .used = seconds_of(object.st_mtim)};
    memcpy(e.name, file, NAME_LENGTH);
    if (c->count == c->room) {
        int64_t room = 2 * c->room + 64;
        entry *bigger = realloc(c->item, (size_t)room * sizeof *bigger);
        if (!bigger) {
            c->failed = true;
            return;
        }
        c->item = bigger;
        c->room = room;
    }
    c->item[c->count++] = e;
    c->bytes += e.bytes;
}

static bool is_kernel(const char *file)
{
    return strspn(file, "0123456789abcdef") == NAME_LENGTH &&
           strcmp(file + NAME_LENGTH, ".so") == 0;
}

static int by_use(const void *a, const void *b)
{
    double x = ((const entry *)a)->used, y = ((const entry *)b)->used;
    return (x > y) - (x < y);
}

/* The kernels, the least recently used first. */
static contents list_kernels(DIR *list)
{
    contents c = {0};
    for (struct dirent *file; (file = readdir(list));)
        if (is_kernel(file->d_name))
            add_entry(&c, dirfd(list), file->d_name);
    if (c.count > 0)
        qsort(c.item, (size_t)c.count, sizeof *c.item, by_use);
    return c;
}

static int64_t limit_bytes(void)
{
    const char *text = getenv("NONHOLO_CACHE_MB");
    char *end;
    long given = text ? strtol(text, &end, 10) : 0;
    bool valid = text && *text && !*end && given >= 0 && given < 1 << 30;
    return (int64_t)(valid ? given : LIMIT_MEGABYTES) * 1000000;
}

/* Removes kernels, the least recently used first, until at most `most` bytes remain. */
static void trim(int folder, contents *c, int64_t most)
{
    for (int64_t i = 0; i < c->count && c->bytes > most; i++) {
        char name[NAME_LENGTH + 8];
        snprintf(name, sizeof name, "%s.so", c->item[i].name);
        if (unlinkat(folder, name, 0) == 0)
            c->bytes -= c->item[i].bytes;
    }
}

void nh_cache_keep(const char *folder, const nh_workshop *made_in, const char *made,
                   const char *name, const char *object)
{
    char sealed[NH_PATH_SIZE];
    if (!nh_workshop_path(made_in, "sealed.so", sealed) || !seal_kernel(made, name, sealed) ||
        rename(sealed, object) != 0)
        return;
    DIR *list = opendir(folder);
    if (!list)
        return;
    contents c = list_kernels(list);
    trim(dirfd(list), &c, limit_bytes());
    free(c.item);
    closedir(list);
}

/* ---- for users ---- */

/* With `clear`, removes all kernels; `out` then receives what was removed. */
static nh_status visit_cache(bool clear, nh_cache *out, nh_report *report)
{
    *out = (nh_cache){.limit = limit_bytes()};
    nh_report why;
    nh_status status = nh_cache_folder(out->folder, &why);
    DIR *list = status == NH_OK ? opendir(out->folder) : NULL;
    if (!list)
        return nh_fail(
            report, NH_FILE_FAILED,
            "there is no cache of compiled kernels: %s; it would be the folder nonholo in "
            "XDG_CACHE_HOME or in ~/.cache, which nobody else must be able to change or "
            "to exchange",
            status == NH_OK ? strerror(errno) : why.text);
    contents c = list_kernels(list);
    out->kernels = c.count;
    out->bytes = c.bytes;
    if (clear)
        trim(dirfd(list), &c, 0);
    status = c.failed ? nh_fail_memory(report) : NH_OK;
    if (status == NH_OK && clear && c.bytes > 0)
        status = nh_fail(report, NH_FILE_FAILED, "cannot remove all kernels from %s", out->folder);
    free(c.item);
    closedir(list);
    return status;
}

nh_status nh_cache_look(nh_cache *out, nh_report *report)
{
    return visit_cache(false, out, report);
}

nh_status nh_cache_clear(nh_cache *out, nh_report *report)
{
    return visit_cache(true, out, report);
}
