/* Temporary names of files that are being written, and removal of files left by killed processes.
 * */
#ifndef NH_OUTPUT_TEMPORARY_H
#define NH_OUTPUT_TEMPORARY_H

#include <stdbool.h>

/* The name under which this process writes `path`; NULL without memory. */
char *nh_temporary_name(const char *path);

/* Removes what earlier processes left beside `path` when they were killed while writing it. Files
 * that are still being written are locked, and stay. False only without memory. */
bool nh_temporary_clean(const char *path);

/* Opens a new file, locked against nh_temporary_clean in other processes; -1 and errno on
 * failure. */
int nh_temporary_open(const char *name);

#endif
