/* The cache of compiled kernels: a folder that only the user can write to. Files are named after
 * what they were made from and verified before use. The size is limited: the least recently used
 * kernels are removed first. */
#ifndef NH_CODE_KERNEL_CACHE_H
#define NH_CODE_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

enum { NH_PATH_SIZE = 4096 };

/* The folder, created if necessary; "" if there is none. */
void nh_cache_folder(char folder[NH_PATH_SIZE]);

/* A kernel in the cache is NAME.so with its digest in NAME.sum. Whether both exist, belong to the
 * user and match; the kernel then counts as used. */
bool nh_cache_has(const char *object, const char *sum);

/* Moves the files made in a private working folder to their place in the cache, and trims the cache
 * to its limit. Both files are complete when they appear; another process that does the same writes
 * the same content. */
void nh_cache_keep(const char *folder, const char *made, const char *work_sum, const char *object,
                   const char *sum);

/* The contents of a file, which must be regular, the user's own and inaccessible to others;
 * otherwise NULL. */
char *nh_read_private(const char *path, size_t *length);
/* Creates a file that others cannot access. */
bool nh_write_private(const char *path, const char *data, size_t length);

#endif
