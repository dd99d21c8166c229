/* Shared libraries for use elsewhere, made with the system's C compiler in a private folder. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "code/kernel_cache.h"
#include "code/compile.h"

enum { FILES_MAX = 8, ARGUMENTS_MAX = 64, POLL_MICROSECONDS = 1000 };

typedef struct workshop {
    char folder[NH_PATH_SIZE], made[NH_PATH_SIZE], messages[NH_PATH_SIZE];
    char file[FILES_MAX][NH_PATH_SIZE];
    int files;
} workshop;

static bool join(char *out, const char *folder, const char *name)
{
    return snprintf(out, NH_PATH_SIZE, "%s/%s", folder, name) < NH_PATH_SIZE;
}

static nh_status open_workshop(workshop *w, const nh_source_file *file, nh_report *report)
{
    const char *temporary = getenv("TMPDIR");
    char folder[NH_PATH_SIZE];
    *w = (workshop){0};
    const bool fits = join(folder, temporary && *temporary ? temporary : "/tmp", "nonholo-XXXXXX");
    if (!fits || !mkdtemp(folder)) {
        return nh_fail(report, NH_FILE_FAILED,
                       "cannot create a working folder for the compiler: %s",
                       fits ? strerror(errno) : "its path is too long");
    }
    memcpy(w->folder, folder, sizeof folder);
    bool good = join(w->made, folder, "made.so") && join(w->messages, folder, "messages.txt");
    for (; file->name && w->files < FILES_MAX && good; file++, w->files++)
        good = join(w->file[w->files], folder, file->name) &&
               nh_write_private(w->file[w->files], file->text->data, file->text->length);
    return good ? NH_OK
                : nh_fail(report, NH_FILE_FAILED, "cannot write to %s: %s", w->folder,
                          strerror(errno));
}

static void close_workshop(const workshop *w)
{
    if (!w->folder[0])
        return;
    for (int i = 0; i < w->files; i++)
        unlink(w->file[i]);
    unlink(w->made);
    unlink(w->messages);
    rmdir(w->folder);
}

/* Whether the compiler succeeded within its time limit. */
static bool wait_for(pid_t child)
{
    const double until = nh_clock_seconds() + nh_compiler_seconds();
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended != 0)
            continue;
        if (nh_clock_seconds() > until)
            kill(-child, SIGKILL);
        usleep(POLL_MICROSECONDS);
    }
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static nh_status call_compiler(const workshop *w, const char *const *flags, nh_report *report)
{
    const char *argument[ARGUMENTS_MAX] = {nh_compiler()};
    int count = 1;
    for (; *flags && count < ARGUMENTS_MAX - FILES_MAX - 4; flags++)
        argument[count++] = *flags;
    argument[count++] = "-o";
    argument[count++] = w->made;
    for (int i = 0; i < w->files; i++)
        if (strcmp(w->file[i] + strlen(w->file[i]) - 2, ".c") == 0)
            argument[count++] = w->file[i];
    argument[count++] = "-lm";
    argument[count] = NULL;
    const pid_t child = nh_compiler_spawn(argument, w->messages);
    if (child > 0 && wait_for(child))
        return NH_OK;
    char *message = child > 0 ? nh_compiler_message(w->messages) : NULL;
    nh_status status =
        nh_fail(report, NH_NO_COMPILER, "the C compiler '%s' %s%s", nh_compiler(),
                child > 0 ? "failed: " : "could not be called", message ? message : "");
    free(message);
    return status;
}

nh_status nh_compile_library(nh_text *out, const nh_source_file *file, const char *const *flags,
                             nh_report *report)
{
    workshop *w = malloc(sizeof *w);
    if (!w)
        return nh_fail_memory(report);
    nh_status status = open_workshop(w, file, report);
    if (status == NH_OK)
        status = call_compiler(w, flags, report);
    if (status == NH_OK) {
        size_t length = 0;
        chmod(w->made, 0600); /* whatever the umask is */
        char *bytes = nh_read_private(w->made, &length);
        if (bytes)
            nh_text_add_bytes(out, bytes, length);
        else
            status = nh_fail(report, NH_FILE_FAILED, "cannot read %s", w->made);
        free(bytes);
    }
    close_workshop(w);
    free(w);
    return status == NH_OK && out->failed ? nh_fail_memory(report) : status;
}
