/* The cache of compiled kernels: a folder that only the user can write to. Its files are named by
 * what they were made from and verified before use. Its size is limited: the kernels that were not
 * used for longest are removed first. */
#ifndef NH_CODE_CACHE_H
#define NH_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

enum { NH_PATH_SIZE = 4096 };

/* The folder, which is made if need be; "" when there is none to be had. */
void nh_cache_folder(char folder[NH_PATH_SIZE]);

/* A kernel in the cache is NAME.so with its digest in NAME.sum. Whether both are there, ours, and
 * belong together; the kernel counts as used. */
bool nh_cache_has(const char *object, const char *sum);

/* Moves what was made in a private working folder to its place in the cache, and removes what is
 * too much. Both files are complete when they appear, and another process doing the same brings the
 * same content. */
void nh_cache_keep(const char *folder, const char *made, const char *work_sum, const char *object,
                   const char *sum);

/* The whole file, which must be regular, ours and closed to others; NULL when it is not. */
char *nh_read_private(const char *path, size_t *length);
/* Makes a new file, closed to others. */
bool nh_write_private(const char *path, const char *data, size_t length);

#endif
