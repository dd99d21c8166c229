/* Exports systems as programs and equations. */
#ifndef NH_EXPORT_EXPORT_H
#define NH_EXPORT_EXPORT_H

#include "export/job.h"
#include "export/items.h"

/* Whether an exported program can compute how accelerations and outputs change with the state. */
bool nh_export_has_directions(const nh_export_job *job);

/* ---- parts of it ---- */

/* Whether a name of the kernel is one that the program itself needs; it is changed then. */
bool nh_export_takes(const nh_export_job *job, nh_c_token token);

/* What is written of two versions of a program: from `first` what `roots` needs, and from `second`
 * what `more_roots` needs, unless it is the same there; under another name if both have it.
 * `second` may be NULL. */
typedef struct nh_excerpt {
    nh_c_items *first, *second;
    const char *roots, *more_roots; /* texts that mention what is needed */
    const nh_export_job *job;
} nh_excerpt;
nh_status nh_excerpt_write(nh_text *out, const nh_excerpt *what, nh_report *report);

/* Marks what a text mentions, directly or not, as used. False without memory. */
bool nh_items_use(nh_c_items *items, const char *roots);

#endif
