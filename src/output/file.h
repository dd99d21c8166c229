/* Files that appear either complete or not at all.
 *
 * A file is written under a temporary name in the same folder, in large blocks, then synchronised
 * and renamed; a failure before that leaves the old file, if any, unchanged. An existing path that
 * is not a regular file (a device, a named pipe) is written directly, because it must not be
 * replaced. */
#ifndef NH_OUTPUT_FILE_H
#define NH_OUTPUT_FILE_H

#include "base/status.h"

typedef struct nh_file nh_file;

/* The path '-' is standard output, which is written directly, too. */
bool nh_file_is_output(const char *path);
/* A device, a pipe or standard output. */
bool nh_file_is_special(const char *path);

nh_status nh_file_begin(nh_file **out, const char *path, nh_report *report);

/* The same, but the temporary name is PATH.part; nh_file_leave keeps the file for nh_file_resume,
 * which continues at a length that the file had; nh_file_cut removes what is beyond. */
nh_status nh_file_begin_part(nh_file **out, const char *path, nh_report *report);
nh_status nh_file_resume(nh_file **out, const char *path, int64_t length, nh_report *report);
/* The same with PATH.whole, for a file that is finally made from PATH.part. */
nh_status nh_file_begin_whole(nh_file **out, const char *path, nh_report *report);
nh_status nh_file_cut(nh_file *file, nh_report *report);
void nh_file_leave(nh_file *file);
/* Waits until what was written to a descriptor is on the disk; 0 or an errno. */
int nh_synchronise(int descriptor);
/* Writes or reads all of it at a position in a file; 0 or an errno. A file that ends earlier is not
 * an error: `done` tells how much was read. */
int nh_write_at(int descriptor, int64_t at, const void *data, size_t size);
int nh_read_at(int descriptor, int64_t at, void *data, size_t size, size_t *done);
/* Sends what was written to the disk, and tells how long the file is. */
nh_status nh_file_flush(nh_file *file, int64_t *length, nh_report *report);
/* Overwrites bytes at a position; the file must have been flushed. */
void nh_file_patch(nh_file *file, int64_t at, const char *data, size_t size);
/* Reads what was written before, if the file is not a device; flushes it first. */
nh_status nh_file_read(nh_file *file, int64_t at, char *data, size_t size, nh_report *report);

/* Disk errors are remembered and reported by nh_file_commit. */
void nh_file_write(nh_file *file, const char *data, size_t size);
void nh_file_text(nh_file *file, const char *text);
/* The name of a column in a table of text: in quotes if it has a comma, as M[1,2]. */
void nh_file_column(nh_file *file, const char *name);

/* A line of comma separated values. */
void nh_file_numbers(nh_file *file, const double *row, int columns);

/* If nh_file_commit fails, the temporary file stays for nh_file_resume. */
void nh_file_keep(nh_file *file);

/* Ends the file, successfully or not; `file` is freed in both cases. */
nh_status nh_file_commit(nh_file *file, nh_report *report);
void nh_file_abandon(nh_file *file);

/* Whether nh_file_begin would succeed; leaves nothing behind. */
nh_status nh_file_can_begin(const char *path, nh_report *report);

/* A file that is read while it is written cannot be a device or a pipe: NH_FILE_FAILED. */
nh_status nh_file_must_be_regular(const char *path, const char *format, nh_report *report);

/* Which of `endings` (a list that ends with NULL) the path ends with, or -1. */
int nh_file_ending(const char *path, const char *const *endings);

/* Whether the lock is that of `path`, which may be the same file under another name. */
bool nh_lock_covers(const nh_lock *lock, const char *path);

#endif
