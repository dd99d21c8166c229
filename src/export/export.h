/* Exports systems as programs and equations. */
#ifndef NH_EXPORT_EXPORT_H
#define NH_EXPORT_EXPORT_H

#include "export/job.h"
#include "export/source.h"

/* Whether an exported program can compute how accelerations and outputs change with the state. */
bool nh_export_has_directions(const nh_export_job *job);

/* ---- parts of it ---- */

/* What is written from two sources: from `first` what `roots` needs, and from `second` what
 * `more_roots` needs, unless it is the same there; under another name if both have it. `second` may
 * be NULL. */
typedef struct nh_excerpt {
    nh_source *first, *second;
    const char *roots, *more_roots; /* texts that mention what is needed */
    bool single;
} nh_excerpt;
nh_status nh_excerpt_write(nh_text *out, const nh_excerpt *what, nh_report *report);

/* Marks what a text mentions, directly or not, as used. False without memory. */
bool nh_source_use(nh_source *source, const char *roots);

#endif
