/* Folders for intermediate files of programs that the library calls (compilers, a browser), and
 * files that nobody else may have touched.
 *
 * A folder goes away with all that is in it, and the program that works in it is ended, when it is
 * closed or when this process ends, even by SIGKILL: a small process, the keeper, waits for that.
 */
#ifndef NH_BASE_WORKSHOP_H
#define NH_BASE_WORKSHOP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <nonholo.h>

enum { NH_PATH_SIZE = 4096 };

/* Whether nobody but this user and root can exchange a folder or what is in it: they own it and
 * every folder above it, and nobody else may write to these, except where, as in /tmp, entries
 * belong to who made them. `path` becomes the path without links. NH_FILE_FAILED says which folder
 * is open, and how. */
nh_status nh_folder_is_safe(char path[NH_PATH_SIZE], nh_report *report);

/* The contents of a file, which must be regular, the user's own and closed to changes by others;
 * otherwise NULL. */
char *nh_read_private(const char *path, size_t *length);
/* Creates a file that others cannot access. */
bool nh_write_private(const char *path, const void *data, size_t length);

typedef struct nh_workshop {
    char path[NH_PATH_SIZE]; /* "" if it is not open */
    pid_t keeper; /* -1: there is none, and nh_workshop_close removes the folder itself */
    int line;     /* to the keeper */
} nh_workshop;

/* A new folder in `place`, or if that is NULL in TMPDIR or /tmp, which must be safe. The message of
 * a failure says for whom it would have been: "the compiler". */
nh_status nh_workshop_open(nh_workshop *workshop, const char *place, const char *whose,
                           nh_report *report);
void nh_workshop_close(nh_workshop *workshop); /* one that is not open is allowed */

/* The path of a file in it; false if that is too long. */
bool nh_workshop_path(const nh_workshop *workshop, const char *name, char path[NH_PATH_SIZE]);

/* Starts a program without a shell and returns its process, or -1 and errno. Standard input, output
 * and error are these files; NULL: nothing, and for `errors` the same as `output`. */
pid_t nh_start_program(const nh_workshop *workshop, const char *const *argument, const char *input,
                       const char *output, const char *errors);
/* Sends a signal to it and to all that it has started. */
void nh_workshop_signal(const nh_workshop *workshop, pid_t program, int number);
/* Waits until it ends, or stops it after so many seconds (0: never). Returns its exit code, -1 if
 * it was stopped. */
int nh_finish_program(const nh_workshop *workshop, pid_t program, double seconds);

#endif
