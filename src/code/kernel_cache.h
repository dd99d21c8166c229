/* The cache of compiled kernels: a folder that only the user can write to. A file is named after
 * what the kernel was made from; the name and a digest stand at its end and are verified before it
 * is loaded. The size is limited: the least recently used kernels are removed first. */
#ifndef NH_CODE_KERNEL_CACHE_H
#define NH_CODE_KERNEL_CACHE_H

#include "base/workshop.h"

/* The folder, created if necessary. NH_FILE_FAILED says why there is none. */
nh_status nh_cache_folder(char folder[NH_PATH_SIZE], nh_report *report);

/* Whether a file in the cache is the user's own, unchanged, and the kernel of this name; it then
 * counts as used. */
bool nh_cache_has(const char *object, const char *name);

/* Puts a kernel that was made in a workshop into the cache, as `object`, and trims the cache to its
 * limit. The file is complete when it appears; another process that does the same writes the same
 * content. */
void nh_cache_keep(const char *folder, const nh_workshop *made_in, const char *made,
                   const char *name, const char *object);

#endif
