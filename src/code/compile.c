#define _GNU_SOURCE
#include "code/compile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/status.h"

extern char **environ;

enum { PATH_SIZE = 4096, MESSAGE_MAX = 600 };

/* No contraction: fused multiply-adds are written out where they are wanted. The superword
 * vectoriser makes small kernels slower. */
static const char *const flags[] = {"-std=gnu17",
                                    "-O3",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-x",
                                    "c",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-tree-slp-vectorize"};
/* What gcc alone understands: kernels keep more values than there are registers, and these choose
 * the ones to spill better (1.04 instead of 1.20 of a hand-written leapfrog on the chaotic
 * particle); lanes are moved 32 bytes at a time. Another compiler is asked again without them. */
static const char *const gcc_flags[] = {"-fschedule-insns", "-fsched-pressure", "-fira-region=one"};
enum { FLAGS = sizeof flags / sizeof *flags, GCC_FLAGS = sizeof gcc_flags / sizeof *gcc_flags };
/* Their work grows with the square of a function: 2.5 MB of source take more than 100 s with
 * them, 11 s without. */
enum { CHOOSY_BYTES_MAX = 500000 };

static const char *compiler(void)
{
    const char *name = getenv("NONHOLO_CC");
    return name && *name ? name : "cc";
}

static bool executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

bool nh_compiler_exists(void)
{
    const char *name = compiler(), *path = getenv("PATH");
    if (strchr(name, '/'))
        return executable(name);
    while (path && *path) {
        char full[PATH_SIZE];
        size_t length = strcspn(path, ":");
        snprintf(full, sizeof full, "%.*s/%s", (int)length, path, name);
        if (executable(full))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* ---- the folder ---- */

/* A folder of ours that nobody else can write to. */
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

/* The cache folder; "" when there is none to be had. */
static void cache_folder(char folder[PATH_SIZE])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    folder[0] = 0;
    if (cache && cache[0] == '/')
        snprintf(folder, PATH_SIZE - 100, "%s", cache);
    else if (home && home[0] == '/')
        snprintf(folder, PATH_SIZE - 100, "%s/.cache", home);
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

static bool write_file(const char *path, const char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, data, length);
    return fd >= 0 && close(fd) == 0 && ok;
}

/* The whole file, which must be ours and closed to others; NULL when it is not. */
static char *read_private(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
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
    char *data = read_private(path, &length);
    if (data)
        nh_sha256_text(data, length, digest);
    free(data);
    return data != NULL;
}

/* ---- calling the compiler: no shell, no input, its messages into a file ---- */

static int spawn_compiler(const char *source, const char *object, const char *messages,
                          nh_variant variant, bool is_gcc)
{
    const char *argument[FLAGS + GCC_FLAGS + 16];
    int count = 0, levels;
    argument[count++] = compiler();
    for (int i = 0; i < FLAGS; i++)
        argument[count++] = flags[i];
    const char *const *level = nh_variant_flags(variant, &levels);
    for (int i = 0; i < levels; i++)
        argument[count++] = level[i];
    for (int i = 0; is_gcc && i < GCC_FLAGS; i++)
        argument[count++] = gcc_flags[i];
    const char *const *moves = nh_variant_gcc_flags(variant, &levels);
    for (int i = 0; is_gcc && i < levels; i++)
        argument[count++] = moves[i];
    argument[count++] = "-o";
    argument[count++] = object;
    argument[count++] = source;
    argument[count++] = "-lm";
    argument[count] = NULL;
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed =
        posix_spawnp(&child, argument[0], &actions, NULL, (char *const *)argument, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return -1;
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Where the line with the first error begins: compilers tell before it in which function it is. */
static char *first_error(char *text)
{
    char *error = strstr(text, "error");
    while (error && error > text && error[-1] != '\n')
        error--;
    return error ? error : text;
}

static nh_status compiler_failed(const char *messages, nh_report *report)
{
    size_t length = 0;
    char *text = read_private(messages, &length), empty[] = "";
    if (text)
        text[length < MESSAGE_MAX ? length : MESSAGE_MAX] = 0;
    char *shown = text ? first_error(text) : empty;
    shown[strcspn(shown, "\n")] = 0;
    nh_status status =
        nh_fail(report, NH_NO_COMPILER,
                "the C compiler '%s' could not make a kernel%s%s; the tape works without one",
                compiler(), *shown ? ": " : "", shown);
    free(text);
    return nh_fail_about(report, status, "backend tape");
}

/* ---- loading ---- */

static bool load(nh_loaded *out, const char *path)
{
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    out->kernel = out->handle ? dlsym(out->handle, "nh_emitted_kernel") : NULL;
    if (!out->kernel)
        nh_loaded_close(out);
    return out->kernel != NULL;
}

void nh_loaded_close(nh_loaded *loaded)
{
    if (loaded->handle)
        dlclose(loaded->handle);
    *loaded = (nh_loaded){0};
}

/* A cached kernel has its own digest as the last part of its name's note: NAME.so with NAME.sum. */
static bool load_cached(nh_loaded *out, const char *object, const char *sum)
{
    char digest[NH_DIGEST_TEXT];
    size_t length;
    char *expected = read_private(sum, &length);
    bool genuine = expected && length == NH_DIGEST_TEXT - 1 && digest_of_file(object, digest) &&
                   memcmp(expected, digest, length) == 0;
    free(expected);
    return genuine && load(out, object);
}

/* Moves what was made in the private working folder to its place in the cache; both files are
 * complete when they appear, and another process doing the same brings the same content. */
static void keep(const char *made, const char *work_sum, const char *object, const char *sum)
{
    char digest[NH_DIGEST_TEXT];
    if (digest_of_file(made, digest) && write_file(work_sum, digest, NH_DIGEST_TEXT - 1) &&
        rename(made, object) == 0)
        rename(work_sum, sum);
}

typedef struct paths {
    char folder[PATH_SIZE], work[PATH_SIZE], source[PATH_SIZE], made[PATH_SIZE],
        messages[PATH_SIZE], work_sum[PATH_SIZE], object[PATH_SIZE], sum[PATH_SIZE];
} paths;

static bool join(char *out, const char *folder, const char *name, const char *ending)
{
    return snprintf(out, PATH_SIZE, "%s/%s%s", folder, name, ending) < PATH_SIZE;
}

static bool content_name(const nh_text *source, nh_variant variant, char name[NH_DIGEST_TEXT])
{
    nh_text all = {0};
    int levels;
    const char *const *level = nh_variant_flags(variant, &levels);
    nh_text_add(&all, "%s %s %s", nh_version(), compiler(), __VERSION__);
    for (int i = 0; i < FLAGS; i++)
        nh_text_add(&all, " %s", flags[i]);
    for (int i = 0; i < GCC_FLAGS; i++)
        nh_text_add(&all, " %s", gcc_flags[i]);
    for (int i = 0; i < levels; i++)
        nh_text_add(&all, " %s", level[i]);
    nh_text_add_plain(&all, "\n");
    nh_text_add_plain(&all, source->data);
    bool whole = !all.failed; /* the name of a part would be that of another kernel */
    if (whole)
        nh_sha256_text(all.data, all.length, name);
    nh_text_free(&all);
    return whole;
}

static nh_status compile_in(nh_loaded *out, paths *p, const nh_text *source, nh_variant variant,
                            nh_report *report)
{
    if (!write_file(p->source, source->data, source->length))
        return nh_fail(report, NH_FILE_FAILED, "cannot write %s: %s", p->source, strerror(errno));
    const bool choosy = source->length <= CHOOSY_BYTES_MAX;
    if ((!choosy || spawn_compiler(p->source, p->made, p->messages, variant, true) != 0) &&
        spawn_compiler(p->source, p->made, p->messages, variant, false) != 0)
        return compiler_failed(p->messages, report);
    if (!load(out, p->made))
        return nh_fail(report, NH_NO_COMPILER, "the compiled kernel could not be loaded: %s",
                       dlerror());
    if (p->folder[0])
        keep(p->made, p->work_sum, p->object, p->sum);
    return NH_OK;
}

static void remove_work(const paths *p)
{
    const char *file[] = {p->source, p->made, p->messages, p->work_sum};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        unlink(file[i]);
    rmdir(p->work);
}

nh_status nh_compile(nh_loaded *out, const nh_text *source, nh_variant variant, nh_report *report)
{
    *out = (nh_loaded){0};
    paths *p = calloc(1, sizeof *p);
    char name[NH_DIGEST_TEXT];
    if (!p || !content_name(source, variant, name)) {
        free(p);
        return nh_fail_memory(report);
    }
    cache_folder(p->folder);
    const char *temporary = getenv("TMPDIR");
    nh_status status = NH_OK;
    bool fits = true;
    if (p->folder[0])
        fits = join(p->object, p->folder, name, ".so") && join(p->sum, p->folder, name, ".sum");
    if (p->folder[0] && fits && load_cached(out, p->object, p->sum)) {
        free(p);
        return NH_OK;
    }
    /* A fresh private folder for every compilation: nothing can be swapped under us. */
    fits = fits && join(p->work,
                        p->folder[0]              ? p->folder
                        : temporary && *temporary ? temporary
                                                  : "/tmp",
                        "nonholo-", "XXXXXX");
    if (!fits || !mkdtemp(p->work))
        status = nh_fail(report, NH_FILE_FAILED,
                         "cannot make a working folder for the compiler: %s", strerror(errno));
    else if (!join(p->source, p->work, "kernel", ".c") || !join(p->made, p->work, name, ".so") ||
             !join(p->messages, p->work, "messages", ".txt") ||
             !join(p->work_sum, p->work, name, ".sum"))
        status = nh_fail(report, NH_FILE_FAILED, "the path of the cache folder is too long");
    else {
        status = compile_in(out, p, source, variant, report);
        remove_work(p);
    }
    free(p);
    return status;
}
