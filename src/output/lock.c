/* Locks on files that are being written: see nh_lock in nonholo.h.
 *
 * A file that will be replaced by another one of the same name cannot itself be locked. So the lock
 * is on .NAME.lock beside it, which contains the owner's process and machine, for messages. The
 * system releases the lock when the process ends, for whatever reason; a lock file that was left
 * behind is simply reused. After taking a lock, a process checks that the file still has its name,
 * because the previous owner removes it while holding the lock. */
#define _GNU_SOURCE
#include "base/status.h"
#include "output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100, NAME_SHOWN = 240, HOST = 64 }; /* long names are cut to fit NAME_MAX */

struct nh_lock {
    char *name; /* of the lock file */
    int descriptor;
};

static char *lock_name(const char *path)
{
    char *real = realpath(path, NULL), *name = NULL;
    const char *whole = real ? real : path, *slash = strrchr(whole, '/');
    int folder = slash ? (int)(slash - whole) + 1 : 0;
    if (asprintf(&name, "%.*s.%.*s.lock", folder, whole, NAME_SHOWN, whole + folder) < 0)
        name = NULL;
    free(real);
    return name;
}

/* In world-writable folders (/tmp), O_CREAT may not be used to open another user's file. */
static int open_lock(const char *name)
{
    const int careful = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | careful, 0644);
    if (file >= 0)
        fchmod(file, 0644); /* so that whoever finds it locked can read by whom */
    else if (errno == EEXIST && (file = open(name, O_RDWR | careful)) < 0 && errno == EACCES)
        file = open(name, O_RDONLY | careful);
    return file;
}

static bool is_named(int file, const char *name)
{
    struct stat own, there;
    return fstat(file, &own) == 0 && stat(name, &there) == 0 && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev;
}

static void host_name(char host[HOST])
{
    if (gethostname(host, HOST) != 0)
        host[0] = '\0';
    host[HOST - 1] = '\0';
}

static void sign(int file)
{
    char host[HOST], text[HOST + 32];
    host_name(host);
    int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), host);
    if (nh_write_at(file, 0, text, (size_t)length) != 0 || ftruncate(file, length) != 0)
        return; /* then messages do not say who */
}

/* Who holds the lock; just after it was taken this is not written yet. */
static bool read_owner(int file, long *process, char host[HOST])
{
    for (int attempt = 0; attempt < 20; attempt++) {
        char text[HOST + 32] = "";
        size_t length;
        nh_read_at(file, 0, text, sizeof text - 1, &length);
        if (sscanf(text, "%ld %63[-.0-9A-Za-z]", process, host) == 2 && *process > 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return false;
}

static nh_status tell_owner(int file, const char *path, nh_report *report)
{
    char host[HOST], there[HOST];
    long process;
    host_name(host);
    if (!read_owner(file, &process, there))
        return nh_fail(report, NH_FILE_FAILED, "%s is being written by another process", path);
    if (strcmp(host, there) != 0)
        return nh_fail(report, NH_FILE_FAILED, "%s is being written by process %ld on %s", path,
                       process, there);
    return nh_fail(report, NH_FILE_FAILED, "%s is being written by %s %ld", path,
                   process == (long)getpid() ? "this very process," : "process", process);
}

/* A descriptor that holds the lock; otherwise -1 with errno, or -2 after a report. */
static int hold(const char *name, const char *path, nh_report *report)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int file = open_lock(name);
        if (file < 0 && errno == ENOENT && attempt + 1 < ATTEMPTS)
            continue; /* just removed, or the folder does not exist */
        if (file < 0)
            return -1;
        bool held = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (held)
            tell_owner(file, path, report);
        else if (is_named(file, name)) { /* also if the file system has no locks */
            sign(file);
            return file;
        }
        close(file);
        if (held)
            return -2;
    }
    errno = EBUSY;
    return -1;
}

nh_status nh_lock_take(nh_lock **out, const char *path, nh_report *report)
{
    *out = NULL;
    if (nh_file_is_special(path))
        return NH_OK;
    nh_status status = nh_file_can_begin(path, report);
    if (status != NH_OK)
        return status;
    nh_lock *lock = calloc(1, sizeof *lock);
    char *name = lock ? lock_name(path) : NULL;
    int file = name ? hold(name, path, report) : -1, error = errno;
    if (file >= 0) {
        *lock = (nh_lock){name, file};
        *out = lock;
        return NH_OK;
    }
    bool memory = !name || error == ENOMEM;
    free(name);
    free(lock);
    if (file == -2)
        return NH_FILE_FAILED;
    return memory ? nh_fail_memory(report)
                  : nh_fail(report, NH_FILE_FAILED, "cannot lock %s: %s", path, strerror(error));
}

bool nh_lock_covers(const nh_lock *lock, const char *path)
{
    char *name = lock ? lock_name(path) : NULL;
    bool same = name && is_named(lock->descriptor, name);
    free(name);
    return same;
}

void nh_lock_release(nh_lock *lock)
{
    if (!lock)
        return;
    unlink(lock->name);
    close(lock->descriptor);
    free(lock->name);
    free(lock);
}
