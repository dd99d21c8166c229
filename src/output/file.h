/* A file that appears whole or not at all.
 *
 * Written under a temporary name in the folder of the wanted one, in large blocks, synchronised and
 * renamed at the end; whatever fails before leaves the old file, if any, as it was. A path that
 * exists and is no regular file (a device, a named pipe) is written directly: it must not be
 * replaced. */
#ifndef NH_OUTPUT_FILE_H
#define NH_OUTPUT_FILE_H

#include "base/status.h"

typedef struct nh_file nh_file;

nh_status nh_file_begin(nh_file **out, const char *path, nh_report *report);

/* Errors of the disk are remembered and come out of nh_file_commit. */
void nh_file_write(nh_file *file, const char *data, size_t size);
void nh_file_text(nh_file *file, const char *text);

/* Ends the file, for better or worse; `file` is freed in both cases. */
nh_status nh_file_commit(nh_file *file, nh_report *report);
void nh_file_abandon(nh_file *file);

/* Whether nh_file_begin would succeed; leaves nothing behind. */
nh_status nh_file_can_begin(const char *path, nh_report *report);

/* One of `endings` (NULL at the end) that the path ends with, or -1. */
int nh_file_ending(const char *path, const char *const *endings);

#endif
