/* The lines that short forms stand for (short_lines.c). */
#ifndef NH_MODEL_SHORT_LINES_H
#define NH_MODEL_SHORT_LINES_H

#include "model/short_forms.h"

typedef struct nh_short_line {
    int forms;              /* 1 << nh_short_kind of those that it belongs to */
    uint64_t with, without; /* NH_SHORT_BIT of what it needs, and of what excludes it */
    const char *text;
} nh_short_line;

typedef enum nh_short_table {
    NH_LINES_DEFINITIONS,
    NH_LINES_ENERGIES,       /* that the text does not mention; */
    NH_LINES_ENERGIES_EARLY, /* that it does, which it may use after the short form */
    NH_LINES_TERMS,          /* of the Lagrangian, each with its sign */
    NH_LINES_LAWS,
    NH_LINES_FORCES,     /* of constraints, which definitions of the text may use; */
    NH_LINES_NO_FORCES,  /* in their place while the survey has no constraints */
    NH_LINES_DRAWINGS,   /* where nothing else is said */
    NH_LINES_PLACEMENTS, /* of `draw NAME SHAPE` */
    NH_LINES_SHAPES,     /* what the survey asks, as observables */
    NH_LINES_ROWS,
    NH_SHORT_TABLES
} nh_short_table;

/* The lines of a table that apply to a short form; of definitions and forces, those that are used.
 * Returns how many. */
enum { NH_SHORT_LINES_MOST = 80 };
size_t nh_short_lines(const nh_short *s, nh_short_table table, nh_short_stage stage,
                      const nh_short_line *out[NH_SHORT_LINES_MOST]);
/* Length of the word with which a text begins: small letters and underscores. */
size_t nh_short_word(const char *text);

#endif
