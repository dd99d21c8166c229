/* Systems as programs and equations for elsewhere. */
#ifndef NH_EXPORT_EXPORT_H
#define NH_EXPORT_EXPORT_H

#include "base/text.h"
#include "export/source.h"
#include "run/run.h"

/* A text of src/export/template; NULL for unknown names. Written by tools/embed.py. */
const char *nh_template(const char *name);

/* Appends a template, or any text, in which keys (until one is NULL) are replaced by values. */
typedef struct nh_filling {
    const char *key, *value;
} nh_filling;
void nh_fill(nh_text *out, const char *text, const nh_filling *fill);

/* ---- C ---- */

typedef struct nh_export_job {
    const nh_system *system;
    const nh_run *run;  /* with the method, its tables and what it calls; not started */
    const char *name;   /* an identifier, with which all public names begin */
    const char *method; /* as it was asked for */
    double t;
    const double *q, *v; /* the start state */
    bool single;         /* precision */
} nh_export_job;

/* Appends NAME.c and NAME.h. */
nh_status nh_export_c(nh_text *source, nh_text *header, const nh_export_job *job,
                      nh_report *report);

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
