/* Systems as programs and equations for elsewhere. */
#ifndef NH_EXPORT_EXPORT_H
#define NH_EXPORT_EXPORT_H

#include "export/job.h"
#include "export/source.h"

/* Whether an exported program can tell how accelerations and outputs change with the state. */
bool nh_export_has_directions(const nh_export_job *job);

/* ---- parts of it ---- */

/* What is written of two sources: what `first` is asked for by `roots`, and what `second` is asked
 * for by `more_roots` unless it is the same there, under another name if both have it. Without a
 * second source, NULL. */
typedef struct nh_excerpt {
    nh_source *first, *second;
    const char *roots, *more_roots; /* texts that mention what is wanted */
    bool single;
} nh_excerpt;
nh_status nh_excerpt_write(nh_text *out, const nh_excerpt *what, nh_report *report);

/* Marks what a text mentions, directly or not, as used. False without memory. */
bool nh_source_use(nh_source *source, const char *roots);

#endif
