/* A library to be loaded before all others (LD_PRELOAD), which makes system calls and allocations
 * of a process fail, or kills the process at one of them.
 *
 *     FAULT=CALL:K:HOW    the K-th call of CALL (from 1)
 *     FAULT_COUNT=FILE    at the end of the process: a line "CALL NUMBER" for each
 *
 * CALL is one of the names in `calls`, or 'change' for every call that changes a file. HOW is
 *     once, ever          this call fails, or this one and all later ones
 *     kill                the process is killed before it
 *     tear                the process is killed when half of what is to be written is written
 *     short               this and all later ones write only half of what they are given
 * Calls count in all threads, from the beginning of main on. What the HDF5 library and IPOPT with
 * the libraries below it allocate does not: they end the process when they get nothing, which is
 * not ours to mend; nor what loading a library takes. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* else pwrite means pwrite64, and the other is not replaced */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* name, errno of a failure, whether it changes files */
#define CALLS(X)                                                                                   \
    X(write, ENOSPC, true)                                                                         \
    X(pwrite, ENOSPC, true)                                                                        \
    X(fdatasync, EIO, true)                                                                        \
    X(ftruncate, EIO, true)                                                                        \
    X(rename, EACCES, true)                                                                        \
    X(unlink, EPERM, true)                                                                         \
    X(open, EMFILE, true)                                                                          \
    X(close, EIO, true)                                                                            \
    X(mkdir, ENOSPC, true)                                                                         \
    X(read, EIO, false)                                                                            \
    X(pread, EIO, false)                                                                           \
    X(flock, ENOLCK, false)                                                                        \
    X(mmap, ENOMEM, false)                                                                         \
    X(pthread_create, EAGAIN, false)                                                               \
    X(malloc, ENOMEM, false)

enum call {
#define NAME(name, error, changes) CALL_##name,
    CALLS(NAME)
#undef NAME
        CALL_COUNT
};

static const struct {
    const char *name;
    int error;
    bool changes;
} calls[] = {
#define ROW(name, error, changes) {#name, error, changes},
    CALLS(ROW)
#undef ROW
};

typedef enum outcome { GOES, FAILS, TORN, HALF } outcome;

static atomic_long counted[CALL_COUNT], changed;
static bool active, every_change;
static int wanted = -1;
static long wanted_number;
static char wanted_how[8];

/* Where the code of these libraries is. */
static const char *const others[] = {"libhdf5", "libipopt", "libstdc++",   "libcoin",
                                     "mumps",   "scotch",   "metis",       "esmumps",
                                     "libmpi",  "libopen-", "libgfortran", "ld-linux"};
enum { OTHERS = sizeof others / sizeof *others, RANGES = 200 };
static uintptr_t spared[RANGES][2];
static int ranges;

static int find_others(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    bool meant = false;
    for (int i = 0; info->dlpi_name && i < OTHERS; i++)
        meant |= strstr(info->dlpi_name, others[i]) != NULL;
    for (int i = 0; meant && i < info->dlpi_phnum && ranges < RANGES; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        spared[ranges][0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        spared[ranges][1] = spared[ranges][0] + info->dlpi_phdr[i].p_memsz;
        ranges++;
    }
    return 0;
}

static bool is_spared(const void *caller)
{
    for (int i = 0; i < ranges; i++)
        if ((uintptr_t)caller >= spared[i][0] && (uintptr_t)caller < spared[i][1])
            return true;
    return false;
}

static void read_request(const char *text)
{
    char name[32];
    if (sscanf(text, "%31[^:]:%ld:%7s", name, &wanted_number, wanted_how) != 3)
        return;
    every_change = strcmp(name, "change") == 0;
    for (int i = 0; i < CALL_COUNT; i++)
        if (strcmp(name, calls[i].name) == 0)
            wanted = i;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAULT");
    if (text)
        read_request(text);
    active = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    char text[1024];
    int used = 0;
    active = false;
    for (int i = 0; i < CALL_COUNT; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %ld\n", calls[i].name,
                         counted[i]);
    used += snprintf(text + used, sizeof text - (size_t)used, "change %ld\n", changed);
    int file =
        path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file >= 0 && syscall(SYS_write, file, text, used) == used)
        syscall(SYS_close, file);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) /* the signal may meet another thread first */
        pause();
}

/* The outcome of a call. */
static outcome judge(enum call call)
{
    if (!active)
        return GOES;
    long number = ++counted[call];
    if (calls[call].changes) {
        long change = ++changed;
        number = every_change ? change : number;
    }
    bool meant = every_change ? calls[call].changes : (int)call == wanted;
    bool first = meant && number == wanted_number, later = meant && number > wanted_number;
    if (first && strcmp(wanted_how, "kill") == 0)
        die();
    if (first && strcmp(wanted_how, "tear") == 0)
        return TORN;
    if ((first || later) && strcmp(wanted_how, "short") == 0)
        return HALF;
    bool fails = (first && strcmp(wanted_how, "once") == 0) ||
                 ((first || later) && strcmp(wanted_how, "ever") == 0);
    if (fails)
        errno = calls[call].error;
    return fails ? FAILS : GOES;
}

/* The functions that are replaced, as they are called without us. */
#define NEXT(name) ((__typeof__(&name))next(#name))

static void *next(const char *name)
{
    bool before = active;
    active = false; /* allocations by dlsym are not the program's */
    void *found = dlsym(RTLD_NEXT, name);
    active = before;
    return found;
}

void *dlopen(const char *file, int mode)
{
    __typeof__(&dlopen) original = NEXT(dlopen);
    const bool before = active;
    active = false;
    void *library = original(file, mode);
    ranges = 0;
    dl_iterate_phdr(find_others, NULL);
    active = before;
    return library;
}

/* ---- writing ---- */

ssize_t write(int file, const void *data, size_t size)
{
    outcome what = file > STDERR_FILENO ? judge(CALL_write) : GOES;
    if (what == FAILS)
        return -1;
    if (what == TORN) {
        syscall(SYS_write, file, data, size / 2);
        die();
    }
    return syscall(SYS_write, file, data, what == HALF ? (size + 1) / 2 : size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at)
{
    outcome what = judge(CALL_pwrite);
    if (what == FAILS)
        return -1;
    if (what == TORN) {
        syscall(SYS_pwrite64, file, data, size / 2, at);
        die();
    }
    return syscall(SYS_pwrite64, file, data, what == HALF ? (size + 1) / 2 : size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at)
{
    return pwrite(file, data, size, at);
}

ssize_t read(int file, void *data, size_t size)
{
    return judge(CALL_read) == FAILS ? -1 : syscall(SYS_read, file, data, size);
}

ssize_t pread(int file, void *data, size_t size, off_t at)
{
    return judge(CALL_pread) == FAILS ? -1 : syscall(SYS_pread64, file, data, size, at);
}

ssize_t pread64(int file, void *data, size_t size, off64_t at)
{
    return pread(file, data, size, at);
}

/* ---- files ---- */

int fdatasync(int file)
{
    return judge(CALL_fdatasync) == FAILS ? -1 : (int)syscall(SYS_fdatasync, file);
}

int fsync(int file)
{
    return judge(CALL_fdatasync) == FAILS ? -1 : (int)syscall(SYS_fsync, file);
}

int ftruncate(int file, off_t size)
{
    return judge(CALL_ftruncate) == FAILS ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate64(int file, off64_t size)
{
    return ftruncate(file, size);
}

int rename(const char *from, const char *to)
{
    return judge(CALL_rename) == FAILS ? -1 : NEXT(rename)(from, to);
}

int unlink(const char *path)
{
    return judge(CALL_unlink) == FAILS ? -1 : NEXT(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    return judge(CALL_unlink) == FAILS ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

static int open_any(int folder, const char *path, int flags, mode_t mode)
{
    return judge(CALL_open) == FAILS ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* The mode is there when a file may be made. */
#define MODE(flags)                                                                                \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    MODE(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags)
    return open_any(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    MODE(flags)
    return open_any(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    MODE(flags)
    return open_any(folder, path, flags, mode);
}

/* A call that fails has closed the file nevertheless. */
int close(int file)
{
    bool fails = judge(CALL_close) == FAILS;
    int answer = (int)syscall(SYS_close, file);
    if (!fails)
        return answer;
    errno = EIO;
    return -1;
}

int mkdir(const char *path, mode_t mode)
{
    return judge(CALL_mkdir) == FAILS ? -1 : NEXT(mkdir)(path, mode);
}

int flock(int file, int operation)
{
    return judge(CALL_flock) == FAILS ? -1 : (int)syscall(SYS_flock, file, operation);
}

/* ---- memory and threads ---- */

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (judge(CALL_mmap) == FAILS)
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *argument)
{
    if (judge(CALL_pthread_create) == FAILS)
        return EAGAIN;
    return NEXT(pthread_create)(thread, attributes, work, argument);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

#define ALLOCATION_FAILS() (!is_spared(__builtin_return_address(0)) && judge(CALL_malloc) == FAILS)

void *malloc(size_t size)
{
    return ALLOCATION_FAILS() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return ALLOCATION_FAILS() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return ALLOCATION_FAILS() ? NULL : __libc_realloc(old, size);
}

/* The C library would call its own malloc, whoever calls these. */
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ALLOCATION_FAILS() ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = ALLOCATION_FAILS() ? NULL : __libc_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}
