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
#include <time.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/status.h"

enum { LIMIT_MEGABYTES = 256, DAY_SECONDS = 86400, NAME_LENGTH = NH_DIGEST_TEXT - 1 };

/* ---- the folder ---- */

/* A folder that belongs to the user and that nobody else can write to. */
static bool is_private(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & 022) == 0;
}

static bool make_folder(const char *path)
{
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && is_private(path);
}

void nh_cache_folder(char folder[NH_PATH_SIZE])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    folder[0] = 0;
    if (cache && cache[0] == '/')
        snprintf(folder, NH_PATH_SIZE - 100, "%s", cache);
    else if (home && home[0] == '/')
        snprintf(folder, NH_PATH_SIZE - 100, "%s/.cache", home);
    else
        return;
    mkdir(folder, 0700);
    strcat(folder, "/nonholo");
    if (!make_folder(folder))
        folder[0] = 0;
}

/* ---- files ---- */

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        length -= (size_t)done;
    }
    return true;
}

bool nh_write_private(const char *path, const char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, data, length);
    return fd >= 0 && close(fd) == 0 && ok;
}

char *nh_read_private(const char *path, size_t *length)
{
    /* without O_NONBLOCK, opening a FIFO of this name would block */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat s;
    char *data = NULL;
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
        (s.st_mode & 022) == 0 && s.st_size < (1 << 30) && (data = malloc((size_t)s.st_size + 1))) {
        *length = 0;
        ssize_t got;
        while (*length < (size_t)s.st_size &&
               (got = read(fd, data + *length, (size_t)s.st_size - *length)) > 0)
            *length += (size_t)got;
        if (*length != (size_t)s.st_size) {
            free(data);
            data = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return data;
}

static bool digest_of_file(const char *path, char digest[NH_DIGEST_TEXT])
{
    size_t length;
    char *data = nh_read_private(path, &length);
    if (data)
        nh_sha256_text(data, length, digest);
    free(data);
    return data != NULL;
}

bool nh_cache_has(const char *object, const char *sum)
{
    char digest[NH_DIGEST_TEXT];
    size_t length;
    char *expected = nh_read_private(sum, &length);
    bool genuine = expected && length == NAME_LENGTH && digest_of_file(object, digest) &&
                   memcmp(expected, digest, length) == 0;
    free(expected);
    if (genuine)
        utimensat(AT_FDCWD, sum, NULL, AT_SYMLINK_NOFOLLOW);
    return genuine;
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
    struct stat object, sum;
    char note[NAME_LENGTH + 8];
    entry e = {.bytes = 0};
    memcpy(e.name, file, NAME_LENGTH);
    snprintf(note, sizeof note, "%s.sum", e.name);
    if (fstatat(folder, file, &object, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(object.st_mode))
        return;
    bool noted = fstatat(folder, note, &sum, AT_SYMLINK_NOFOLLOW) == 0;
    e.bytes = object.st_size;
    e.used = seconds_of(noted ? sum.st_mtim : object.st_mtim);
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

/* Whether a working folder is left over from a killed process: none is in use for a day. */
static bool is_leftover(int folder, const char *file)
{
    struct stat s;
    return strncmp(file, "nonholo-", 8) == 0 && strlen(file) == 14 &&
           fstatat(folder, file, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode) &&
           seconds_of(s.st_mtim) + DAY_SECONDS < (double)time(NULL);
}

static void remove_leftover(int folder, const char *name)
{
    int inside = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = inside >= 0 ? fdopendir(inside) : NULL;
    for (struct dirent *file; list && (file = readdir(list));)
        unlinkat(inside, file->d_name, 0);
    if (list)
        closedir(list);
    else if (inside >= 0)
        close(inside);
    unlinkat(folder, name, AT_REMOVEDIR);
}

static int by_use(const void *a, const void *b)
{
    double x = ((const entry *)a)->used, y = ((const entry *)b)->used;
    return (x > y) - (x < y);
}

/* The kernels, the least recently used first. Removes leftovers on the way. */
static contents list_kernels(DIR *list)
{
    contents c = {0};
    for (struct dirent *file; (file = readdir(list));) {
        if (is_kernel(file->d_name))
            add_entry(&c, dirfd(list), file->d_name);
        else if (is_leftover(dirfd(list), file->d_name))
            remove_leftover(dirfd(list), file->d_name);
    }
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
        snprintf(name, sizeof name, "%s.sum", c->item[i].name);
        unlinkat(folder, name, 0); /* without its digest a kernel is not loaded */
        snprintf(name, sizeof name, "%s.so", c->item[i].name);
        if (unlinkat(folder, name, 0) == 0)
            c->bytes -= c->item[i].bytes;
    }
}

void nh_cache_keep(const char *folder, const char *made, const char *work_sum, const char *object,
                   const char *sum)
{
    char digest[NH_DIGEST_TEXT];
    chmod(made, 0600); /* the mode of the compiler's file depends on the umask */
    if (!digest_of_file(made, digest) || !nh_write_private(work_sum, digest, NAME_LENGTH) ||
        rename(made, object) != 0 || rename(work_sum, sum) != 0)
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
    nh_cache_folder(out->folder);
    DIR *list = out->folder[0] ? opendir(out->folder) : NULL;
    if (!list)
        return nh_fail(
            report, NH_FILE_FAILED,
            "there is no cache of compiled kernels: it would be the folder nonholo in "
            "XDG_CACHE_HOME or in ~/.cache, which must belong to you and be closed to others");
    contents c = list_kernels(list);
    out->kernels = c.count;
    out->bytes = c.bytes;
    if (clear)
        trim(dirfd(list), &c, 0);
    nh_status status = c.failed ? nh_fail_memory(report) : NH_OK;
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
