/* Shared libraries for use elsewhere, made with the system's C compiler in a private folder. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "base/workshop.h"
#include "code/compile.h"

enum { FILES_MAX = 8, ARGUMENTS_MAX = 64 };

typedef struct library {
    nh_workshop place;
    char made[NH_PATH_SIZE], messages[NH_PATH_SIZE], file[FILES_MAX][NH_PATH_SIZE];
    int files;
} library;

static nh_status lay_out(library *w, const nh_source_file *file, nh_report *report)
{
    nh_status status = nh_workshop_open(&w->place, NULL, "the compiler", report);
    bool good = status == NH_OK && nh_workshop_path(&w->place, "made.so", w->made) &&
                nh_workshop_path(&w->place, "messages.txt", w->messages);
    for (; good && file->name && w->files < FILES_MAX; file++, w->files++)
        good = nh_workshop_path(&w->place, file->name, w->file[w->files]) &&
               nh_write_private(w->file[w->files], file->text->data, file->text->length);
    return good || status != NH_OK
               ? status
               : nh_fail(report, NH_FILE_FAILED, "cannot write to %s", w->place.path);
}

static nh_status call_compiler(const library *w, const char *const *flags, nh_report *report)
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
    const pid_t child = nh_start_program(&w->place, argument, NULL, w->messages, NULL);
    if (child > 0 && nh_finish_program(&w->place, child, nh_compiler_seconds()) == 0)
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
    library *w = calloc(1, sizeof *w);
    if (!w)
        return nh_fail_memory(report);
    nh_status status = lay_out(w, file, report);
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
    nh_workshop_close(&w->place);
    free(w);
    return status == NH_OK && out->failed ? nh_fail_memory(report) : status;
}
