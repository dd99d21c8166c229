/* A text that is being read, and messages that point into it. */
#ifndef NH_MODEL_SOURCE_H
#define NH_MODEL_SOURCE_H

#include "model/problem.h"

/* Limits on what is read; beyond them reading stops with NH_TOO_LARGE before anything is built. */
enum {
    NH_TEXT_LARGEST = 4 << 20, /* bytes of a model */
    NH_LINE_LONGEST = 1000000, /* characters of a line */
    NH_NAME_LONGEST = 64,      /* characters of a name */
    NH_NESTING_DEEPEST = 200,  /* parentheses, calls, powers and signs inside one another */
    NH_ARGUMENTS_MOST = 64,    /* of a function */
    NH_WORK_MOST = 100000000,  /* visits of an expression while sums and functions are expanded */
    NH_NODES_MOST = 12000000,  /* different expressions that they unfold to */
    NH_COORDINATES_MOST = 2000000 /* coordinates, velocities or constraints of a model */
};

typedef struct nh_source {
    const char *file; /* what messages begin with: "sleigh.nh"; "setting of N" for an argument */
    const char *text; /* ended by NUL */
    size_t length;
    bool argument; /* a piece of a command line: its failures are NH_BAD_ARGUMENT */
} nh_source;

/* Fills the report with
 *     file:line:column: message
 *         the line of the text
 *             ^
 * where a long line is cut to a window around the column. Returns NH_BAD_MODEL, or NH_BAD_ARGUMENT
 * when the source is an argument. Columns count characters, tabs keep the caret in its place, and
 * control characters of the text are not let through to a terminal. */
__attribute__((format(printf, 4, 5))) nh_status
nh_fail_at(nh_report *report, const nh_source *source, nh_place place, const char *format, ...);

/* The same for a limit: returns NH_TOO_LARGE. */
__attribute__((format(printf, 4, 5))) nh_status nh_too_large_at(nh_report *report,
                                                                const nh_source *source,
                                                                nh_place place, const char *format,
                                                                ...);

/* Refuses a text that is too long, has NUL bytes or is not UTF-8. */
nh_status nh_source_check(const nh_source *source, nh_report *report);

/* Bytes of the UTF-8 character at `text` (1 to 4), or 0 when it is none; `code` may be NULL. */
size_t nh_utf8(const char *text, size_t length, uint32_t *code);

#endif
