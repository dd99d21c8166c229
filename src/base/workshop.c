/* The keeper is forked rather than started as a program, and then does only what is allowed in a
 * process with threads: it calls the system, without memory from the heap and without locks. It
 * learns of the end of this process by the end of a line whose other end only this process has.
 * Programs run in its process group, so that it knows them even if this process is killed while it
 * starts one. */
#define _GNU_SOURCE
#include "base/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"

extern char **environ;

/* ---- safe folders ---- */

static nh_status check_folder(const char *path, nh_report *report)
{
    struct stat s;
    if (lstat(path, &s) != 0 || !S_ISDIR(s.st_mode))
        return nh_fail(report, NH_FILE_FAILED, "%s is not a folder", path);
    if (s.st_uid != geteuid() && s.st_uid != 0)
        return nh_fail(report, NH_FILE_FAILED, "%s belongs to another user", path);
    if ((s.st_mode & 022) != 0 && !(s.st_mode & S_ISVTX))
        return nh_fail(report, NH_FILE_FAILED,
                       "other users may write to %s (chmod go-w would change that)", path);
    return NH_OK;
}

nh_status nh_folder_is_safe(char path[NH_PATH_SIZE], nh_report *report)
{
    char *real = realpath(path, NULL);
    if (!real || strlen(real) >= NH_PATH_SIZE) {
        free(real);
        return nh_fail(report, NH_FILE_FAILED, "%s: %s", path, strerror(errno));
    }
    strcpy(path, real);
    nh_status status = check_folder("/", report);
    for (char *end = real; status == NH_OK && end && end[1];) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        status = check_folder(real, report);
        if (end)
            *end = '/';
    }
    free(real);
    return status;
}

/* ---- private files ---- */

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

bool nh_write_private(const char *path, const void *data, size_t length)
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

/* ---- the keeper ---- */

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *where)
{
    (void)what, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#if defined(SYS_getdents64) && !defined(__EMSCRIPTEN__) /* which names the call and lacks it */

typedef struct entry { /* as the system returns it */
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char kind;
    char name[];
} entry;

enum { DEPTH_MAX = 16, LISTING = 4096 };

/* Removes what is in an open folder. Entries that are gone when the listing continues are no
 * problem, since it is repeated until nothing goes any more. */
static void empty_folder(int folder, int depth)
{
    _Alignas(entry) char listing[LISTING];
    for (bool removed = true; removed && depth < DEPTH_MAX;) {
        removed = false;
        lseek(folder, 0, SEEK_SET);
        for (long got; (got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0;)
            for (long at = 0; at < got; at += ((entry *)(listing + at))->length) {
                const char *name = ((entry *)(listing + at))->name;
                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                    continue;
                int inside = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (inside >= 0) {
                    empty_folder(inside, depth + 1);
                    close(inside);
                }
                removed |= unlinkat(folder, name, inside >= 0 ? AT_REMOVEDIR : 0) == 0;
            }
    }
}

static void close_all_but(int line)
{
    enum { FILES_MAX = 65536 };
#ifdef SYS_close_range
    if ((line == 0 || syscall(SYS_close_range, 0, line - 1, 0) == 0) &&
        syscall(SYS_close_range, line + 1, ~0U, 0) == 0)
        return;
#endif
    for (int fd = 0; fd < FILES_MAX; fd++)
        if (fd != line)
            close(fd);
}

pid_t _Fork(void) __attribute__((weak)); /* calls no handlers of other libraries */

static pid_t plain_fork(void)
{
    return _Fork ? _Fork() : fork();
}

/* Waits for the end of the line. Then a child, which is not in the group, ends the group and
 * removes the folder. */
static _Noreturn void keep(const char *path, int line)
{
    char none;
    close_all_but(line);
    while (read(line, &none, 1) < 0 && errno == EINTR)
        ;
    const pid_t group = getpid();
    if (plain_fork() > 0)
        _exit(0);
    if (setpgid(0, 0) == 0)
        kill(-group, SIGKILL);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* a program that is being killed may still create a file */
    for (int i = 0; folder >= 0 && i < 100 && rmdir(path) != 0 && errno != ENOENT; i++) {
        empty_folder(folder, 0);
        if (i > 0)
            usleep(10000);
    }
    _exit(0);
}

static void start_keeper(nh_workshop *w)
{
    int ends[2];
    sigset_t all, before;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* it runs none of this process's handlers */
    w->keeper = plain_fork();
    if (w->keeper == 0) {
        close(ends[1]);
        keep(w->path, ends[0]);
    }
    if (w->keeper > 0)
        setpgid(w->keeper, w->keeper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (w->keeper > 0)
        w->line = ends[1];
    else
        close(ends[1]);
}

#else
static void start_keeper(nh_workshop *w)
{
    (void)w;
}
#endif

/* ---- the workshop ---- */

nh_status nh_workshop_open(nh_workshop *w, const char *place, const char *whose, nh_report *report)
{
    const char *temporary = getenv("TMPDIR");
    *w = (nh_workshop){.keeper = -1, .line = -1};
    char path[NH_PATH_SIZE];
    if (!place)
        place = temporary && *temporary ? temporary : "/tmp";
    const char *problem = "its path is too long";
    nh_report why;
    if (snprintf(path, sizeof path, "%s", place) < NH_PATH_SIZE - 32) {
        if (nh_folder_is_safe(path, &why) != NH_OK)
            problem = why.text;
        else if (mkdtemp(strcat(path, "/nonholo-XXXXXX"))) {
            strcpy(w->path, path);
            start_keeper(w);
            return NH_OK;
        } else
            problem = strerror(errno);
    }
    return nh_fail(report, NH_FILE_FAILED, "cannot create a working folder for %s: %s", whose,
                   problem);
}

void nh_workshop_signal(const nh_workshop *w, pid_t program, int number)
{
    kill(w->keeper > 0 ? -w->keeper : -program, number);
}

void nh_workshop_close(nh_workshop *w)
{
    if (!w->path[0])
        return;
    if (w->line >= 0)
        close(w->line);
    while (w->keeper > 0 && waitpid(w->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    remove_folder(w->path); /* unless the keeper has done it */
    *w = (nh_workshop){.keeper = -1, .line = -1};
}

bool nh_workshop_path(const nh_workshop *w, const char *name, char path[NH_PATH_SIZE])
{
    return snprintf(path, NH_PATH_SIZE, "%s/%s", w->path, name) < NH_PATH_SIZE;
}

/* ---- programs ---- */

static int open_files(posix_spawn_file_actions_t *files, const char *input, const char *output,
                      const char *errors)
{
    const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
    const char *const nothing = "/dev/null";
    int failed =
        posix_spawn_file_actions_addopen(files, 0, input ? input : nothing, O_RDONLY, 0) ||
        posix_spawn_file_actions_addopen(files, 1, output ? output : nothing, write_flags, 0600);
    if (!failed && errors)
        return posix_spawn_file_actions_addopen(files, 2, errors, write_flags, 0600);
    return failed ? failed : posix_spawn_file_actions_adddup2(files, 1, 2);
}

pid_t nh_start_program(const nh_workshop *w, const char *const *argument, const char *input,
                       const char *output, const char *errors)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child = -1;
    int failed = posix_spawn_file_actions_init(&files);
    if (!failed && (failed = posix_spawnattr_init(&attributes)) == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, w->keeper > 0 ? w->keeper : 0);
        failed = open_files(&files, input, output, errors);
        if (!failed)
            failed = posix_spawnp(&child, argument[0], &files, &attributes, (char *const *)argument,
                                  environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&files);
    }
    errno = failed;
    return failed ? -1 : child;
}

int nh_finish_program(const nh_workshop *w, pid_t program, double seconds)
{
    enum { POLL_MICROSECONDS = 1000 };
    const double until = nh_clock_seconds() + seconds;
    int state = 0;
    pid_t ended = 0;
    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        ended = waitpid(program, &state, seconds > 0 ? WNOHANG : 0);
        if (ended == 0 && nh_clock_seconds() > until)
            nh_workshop_signal(w, program, SIGKILL);
        if (ended == 0)
            usleep(POLL_MICROSECONDS);
    }
    return ended == program && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}
