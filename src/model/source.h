/* A text that is being read, and messages that point into it. */
#ifndef NH_MODEL_SOURCE_H
#define NH_MODEL_SOURCE_H

#include "base/text.h"
#include "model/problem.h"

/* Limits on the text; a text beyond them is rejected with NH_TOO_LARGE before anything is built. */
enum {
    NH_TEXT_LARGEST = 4 << 20,    /* bytes of a model */
    NH_LINE_LONGEST = 1000000,    /* characters of a line */
    NH_NAME_LONGEST = 64,         /* characters of a name */
    NH_NESTING_DEEPEST = 200,     /* parentheses, calls, powers and signs inside one another */
    NH_ARGUMENTS_MOST = 64,       /* of a function */
    NH_WORK_MOST = 100000000,     /* visits of expressions while sums and functions are expanded */
    NH_NODES_MOST = 4000000,      /* distinct expressions that result */
    NH_COORDINATES_MOST = 2000000 /* coordinates, velocities or constraints of a model */
};

/* From this offset of a text that is read, its characters come from a place in the text as it was
 * written; where it is generated, all of them from one place. */
typedef struct nh_origin {
    size_t at;
    nh_place place;
    bool generated;
} nh_origin;

typedef struct nh_source {
    const char *file; /* prefix of messages: "sleigh.nh"; "setting of N" for an argument */
    const char *text; /* as it was written, for messages; ends with a NUL */
    size_t length;
    bool argument;        /* part of a command line: its failures are NH_BAD_ARGUMENT */
    const char *expanded; /* the text that is read instead (short_forms.h), or NULL */
    size_t expanded_length;
    const nh_origin *origin; /* [origins] of the expanded text, ascending */
    size_t origins;
} nh_source;

/* Fills the report with
 *     file:line:column: message
 *         the line of the text
 *             ^
 * where a long line is cut to a window around the column. Returns NH_BAD_MODEL, or NH_BAD_ARGUMENT
 * if the source is an argument. Columns count characters, tabs do not displace the caret, and
 * control characters of the text do not reach a terminal. */
__attribute__((format(printf, 4, 5))) nh_status
nh_fail_at(nh_report *report, const nh_source *source, nh_place place, const char *format, ...);

/* The same for a limit: returns NH_TOO_LARGE. */
__attribute__((format(printf, 4, 5))) nh_status nh_too_large_at(nh_report *report,
                                                                const nh_source *source,
                                                                nh_place place, const char *format,
                                                                ...);

/* Refuses a text that is too long, has NUL bytes or is not UTF-8. */
nh_status nh_source_check(const nh_source *source, nh_report *report);

/* Fails at a position in the text, unless something failed before. */
#define FAIL(x, place, ...)                                                                        \
    ((x)->status =                                                                                 \
         (x)->status ? (x)->status : nh_fail_at((x)->report, (x)->source, place, __VA_ARGS__))

#endif
