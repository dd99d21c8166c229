/* Files written under a temporary name by the block writer, synchronised with fdatasync and
 * renamed; see file.h. */
#define _GNU_SOURCE
#include "output/file.h"

#include "output/temporary.h"
#include "output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct nh_file {
    char *path;      /* the final name, links resolved */
    char *temporary; /* NULL if `path` is written directly */
    bool kept;       /* it is not removed if the file cannot be completed */
    int descriptor;
    int error; /* the first errno, 0 if there was none */
    int64_t length;
    nh_writer writer;
};

bool nh_file_is_output(const char *path)
{
    return strcmp(path, "-") == 0;
}

static nh_status fail_file(nh_report *report, const char *what, const char *path, int error)
{
    return nh_fail(report, NH_FILE_FAILED, "%s %s: %s", what,
                   nh_file_is_output(path) ? "standard output" : path, strerror(error));
}

static void release(nh_file *file)
{
    free(file->path);
    free(file->temporary);
    free(file);
}

/* Where the bytes will end up: a link is followed, so that its target is replaced and not the
 * link. */
static char *resolve(const char *path)
{
    char *real = nh_file_is_output(path) ? strdup(path) : realpath(path, NULL);
    return real || errno == ENOMEM ? real : strdup(path);
}

static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

bool nh_file_is_special(const char *path)
{
    struct stat info;
    return nh_file_is_output(path) ||
           (is_special(path) && stat(path, &info) == 0 && !S_ISDIR(info.st_mode));
}

/* How a file begins: new; new, under a name that a later process finds (two of these); or where an
 * earlier process stopped. */
typedef enum beginning { NEW, PART, WHOLE, RESUMED } beginning;

static char *lasting_name(const char *path, beginning how)
{
    char *name = NULL;
    return asprintf(&name, how == WHOLE ? "%s.whole" : "%s.part", path) < 0 ? NULL : name;
}

static int open_resumed(const char *name, int64_t length)
{
    int descriptor = open(name, O_RDWR | O_CLOEXEC);
    struct stat info;
    if (descriptor < 0)
        return -1;
    bool long_enough =
        fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= length;
    if (long_enough && lseek(descriptor, length, SEEK_SET) == length)
        return descriptor;
    int error = long_enough ? errno : ENODATA;
    close(descriptor);
    errno = error;
    return -1;
}

static int open_new(nh_file *file, beginning how, int64_t length)
{
    if (nh_file_is_output(file->path))
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (is_special(file->path)) /* open refuses a folder by itself */
        return open(file->path, O_WRONLY | O_CLOEXEC);
    file->temporary = how == NEW ? nh_temporary_name(file->path) : lasting_name(file->path, how);
    if (!file->temporary) {
        errno = ENOMEM;
        return -1;
    }
    if (how == RESUMED)
        return open_resumed(file->temporary, length);
    if (how != NEW)
        unlink(file->temporary); /* of an earlier process that was killed */
    else if (!nh_temporary_clean(file->path)) {
        errno = ENOMEM;
        return -1;
    }
    return nh_temporary_open(file->temporary);
}

static nh_status begin(nh_file **out, const char *path, beginning how, int64_t length,
                       nh_report *report)
{
    *out = NULL;
    nh_file *file = calloc(1, sizeof *file);
    if (!file)
        return nh_fail_memory(report);
    file->path = resolve(path);
    if (!file->path) {
        release(file);
        return nh_fail_memory(report);
    }
    file->descriptor = open_new(file, how, length);
    file->length = how == RESUMED ? length : 0;
    if (file->descriptor < 0) {
        int error = errno;
        nh_status status =
            error == ENOMEM
                ? nh_fail_memory(report)
                : fail_file(report, how == RESUMED ? "cannot resume" : "cannot create",
                            how == RESUMED && file->temporary ? file->temporary : path, error);
        release(file);
        return status;
    }
    nh_writer_begin(&file->writer, file->descriptor);
    *out = file;
    return NH_OK;
}

nh_status nh_file_begin(nh_file **out, const char *path, nh_report *report)
{
    return begin(out, path, NEW, 0, report);
}

nh_status nh_file_begin_part(nh_file **out, const char *path, nh_report *report)
{
    return begin(out, path, PART, 0, report);
}

nh_status nh_file_begin_whole(nh_file **out, const char *path, nh_report *report)
{
    return begin(out, path, WHOLE, 0, report);
}

nh_status nh_file_resume(nh_file **out, const char *path, int64_t length, nh_report *report)
{
    return begin(out, path, RESUMED, length, report);
}

static void flush(nh_file *file)
{
    int error = nh_writer_drain(&file->writer);
    file->error = file->error ? file->error : error;
}

void nh_file_write(nh_file *file, const char *data, size_t size)
{
    nh_writer_add(&file->writer, data, size);
    file->length += (int64_t)size;
}

void nh_file_text(nh_file *file, const char *text)
{
    nh_file_write(file, text, strlen(text));
}

void nh_file_column(nh_file *file, const char *name)
{
    const bool quoted = strchr(name, ',') != NULL; /* no name has a quote */
    nh_file_text(file, quoted ? "\"" : "");
    nh_file_text(file, name);
    nh_file_text(file, quoted ? "\"" : "");
}

/* Data and size reach the disk; times may follow later. Devices and pipes cannot be synchronised:
 * EINVAL, EROFS. */
int nh_synchronise(int descriptor)
{
    if (fdatasync(descriptor) == 0 || errno == EINVAL || errno == EROFS)
        return 0;
    return errno;
}

nh_status nh_file_flush(nh_file *file, int64_t *length, nh_report *report)
{
    flush(file);
    if (!file->error)
        file->error = nh_synchronise(file->descriptor);
    if (length)
        *length = file->length;
    return file->error ? fail_file(report, "cannot write", file->path, file->error) : NH_OK;
}

int nh_write_at(int descriptor, int64_t at, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count =
            pwrite(descriptor, (const char *)data + done, size - done, (off_t)at + (off_t)done);
        if (count >= 0)
            done += (size_t)count;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

int nh_read_at(int descriptor, int64_t at, void *data, size_t size, size_t *done)
{
    for (*done = 0; *done < size;) {
        ssize_t count =
            pread(descriptor, (char *)data + *done, size - *done, (off_t)at + (off_t)*done);
        if (count == 0)
            break;
        if (count > 0)
            *done += (size_t)count;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

void nh_file_patch(nh_file *file, int64_t at, const char *data, size_t size)
{
    flush(file);
    if (!file->error)
        file->error = nh_write_at(file->descriptor, at, data, size);
}

nh_status nh_file_read(nh_file *file, int64_t at, char *data, size_t size, nh_report *report)
{
    size_t done = 0;
    flush(file);
    if (!file->error)
        file->error = nh_read_at(file->descriptor, at, data, size, &done);
    if (!file->error && done < size)
        file->error = ENODATA;
    return file->error ? fail_file(report, "cannot read again", file->temporary, file->error)
                       : NH_OK;
}

void nh_file_keep(nh_file *file)
{
    file->kept = true;
}

nh_status nh_file_cut(nh_file *file, nh_report *report)
{
    if (file->temporary && ftruncate(file->descriptor, file->length) != 0)
        file->error = errno;
    return file->error ? fail_file(report, "cannot resume", file->temporary, file->error) : NH_OK;
}

void nh_file_leave(nh_file *file)
{
    if (!file)
        return;
    flush(file);
    nh_writer_end(&file->writer);
    close(file->descriptor);
    release(file);
}

nh_status nh_file_commit(nh_file *file, nh_report *report)
{
    flush(file);
    nh_writer_end(&file->writer);
    int error = file->error;
    if (!error)
        error = nh_synchronise(file->descriptor);
    if (close(file->descriptor) != 0 && !error)
        error = errno;
    if (!error && file->temporary && rename(file->temporary, file->path) != 0)
        error = errno;
    if (error && file->temporary && !file->kept)
        unlink(file->temporary);
    nh_status status = error ? fail_file(report, "cannot write", file->path, error) : NH_OK;
    release(file);
    return status;
}

void nh_file_abandon(nh_file *file)
{
    if (!file)
        return;
    nh_writer_end(&file->writer);
    close(file->descriptor);
    if (file->temporary)
        unlink(file->temporary);
    release(file);
}

nh_status nh_file_can_begin(const char *path, nh_report *report)
{
    nh_file *file;
    if (nh_file_is_output(path))
        return fcntl(STDOUT_FILENO, F_GETFD) >= 0 ? NH_OK
                                                  : fail_file(report, "cannot write", path, errno);
    if (is_special(path)) { /* opening a pipe would wait for its reader */
        if (access(path, W_OK) != 0)
            return fail_file(report, "cannot write", path, errno);
        struct stat info;
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            return fail_file(report, "cannot create", path, EISDIR);
        return NH_OK;
    }
    nh_status status = nh_file_begin(&file, path, report);
    if (status == NH_OK)
        nh_file_abandon(file);
    return status;
}

nh_status nh_file_must_be_regular(const char *path, const char *format, nh_report *report)
{
    return is_special(path) || nh_file_is_output(path)
               ? nh_fail(report, NH_FILE_FAILED, "cannot write %s: %s needs a regular file", path,
                         format)
               : NH_OK;
}

int nh_file_ending(const char *path, const char *const *endings)
{
    size_t length = strlen(path);
    for (int i = 0; endings[i]; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && strcmp(path + length - tail, endings[i]) == 0)
            return i;
    }
    return -1;
}
