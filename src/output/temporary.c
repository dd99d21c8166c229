/* Temporary files are hidden, are in the same folder as the final file and are named after it and
 * the process: .NAME.PID.tmp. A process that is killed leaves its file behind, and the next process
 * that writes the same file removes it. A lock rather than the PID shows whether the writer is
 * still running, because on another machine or in another container the same PID is another
 * process. */
#define _GNU_SOURCE
#include "output/temporary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 100, NAME_SHOWN = 200 }; /* long names are cut to fit NAME_MAX */

static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

char *nh_temporary_name(const char *path)
{
    int folder = folder_length(path);
    char *name = NULL;
    if (asprintf(&name, "%.*s.%.*s.%ld.tmp", folder, path, NAME_SHOWN, path + folder,
                 (long)getpid()) < 0)
        return NULL;
    return name;
}

/* The process named by an entry of the folder, if the entry is a temporary name of `name`; else
 * 0. */
static long process_of(const char *entry, const char *name)
{
    size_t length = strnlen(name, NAME_SHOWN);
    if (entry[0] != '.' || strncmp(entry + 1, name, length) != 0 || entry[length + 1] != '.' ||
        !isdigit((unsigned char)entry[length + 2]))
        return 0;
    char *end;
    long process = strtol(entry + length + 2, &end, 10);
    return strcmp(end, ".tmp") == 0 ? process : 0;
}

/* A leftover with the name of this very process is older than the process. */
static void remove_leftover(int folder, const char *entry, bool own)
{
    struct stat info;
    int file = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    bool nobodys = fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                   (own || flock(file, LOCK_EX | LOCK_NB) == 0);
    if (nobodys)
        unlinkat(folder, entry, 0);
    close(file);
}

bool nh_temporary_clean(const char *path)
{
    int length = folder_length(path);
    char *name = length ? strndup(path, (size_t)length) : strdup(".");
    DIR *folder = name ? opendir(name) : NULL;
    bool memory = folder || (name && errno != ENOMEM);
    free(name);
    if (!folder) /* unless memory ran out, creating the file will report the error */
        return memory;
    for (struct dirent *entry; (entry = readdir(folder));) {
        long process = process_of(entry->d_name, path + length);
        if (process > 0)
            remove_leftover(dirfd(folder), entry->d_name, process == (long)getpid());
    }
    closedir(folder);
    return true;
}

/* Between creation and locking, another process may have mistaken the file for a leftover and
 * removed it: then it no longer has a name, and is created again. Where there are no locks, nothing
 * is taken for a leftover. */
int nh_temporary_open(const char *name)
{
    struct stat info;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0)
            return -1;
        flock(file, LOCK_EX);
        if (fstat(file, &info) != 0 || info.st_nlink > 0)
            return file;
        close(file);
    }
    errno = EBUSY;
    return -1;
}
