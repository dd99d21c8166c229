/* Splits a line of a figure file into words: sequences of characters without spaces, or "texts in
 * quotes". */
#ifndef NH_FIGURE_WORDS_H
#define NH_FIGURE_WORDS_H

#include <nonholo_analysis.h>

#include "figure/figure.h"

enum { NH_WORDS_MOST = 128 };

typedef struct nh_word {
    const char *text; /* ended by NUL, in the figure's arena */
    nh_place place;
    const char *rest; /* the line from here on, without a comment: for texts with spaces */
    bool quoted;
} nh_word;

typedef struct nh_line_words {
    nh_word word[NH_WORDS_MOST + 1]; /* one more: the end of the line, with an empty text */
    int count, at;                   /* at: the next one to be read */
} nh_line_words;

typedef enum nh_section {
    NH_IN_FIGURE,
    NH_IN_CASE,
    NH_IN_METHOD,
    NH_IN_PANEL,
    NH_IN_TABLE
} nh_section;

/* A reader of statements: the figure so far, the section, the line. */
typedef struct nh_reader {
    nh_figure *figure;
    nh_report *report;
    nh_section section;
    nh_line_words line;
} nh_reader;

/* The message points at the next word. */
__attribute__((format(printf, 2, 3))) nh_status nh_reader_fail(nh_reader *r, const char *format,
                                                               ...);

/* Takes the next word; NH_BAD_MODEL when there is none: "expected WHAT". */
nh_status nh_take_word(nh_reader *r, const char *what, const char **text);
nh_status nh_take_number(nh_reader *r, const char *what, double *value);
nh_status nh_take_positive(nh_reader *r, const char *what, double *value);
nh_status nh_take_count(nh_reader *r, const char *what, int64_t least, int64_t most,
                        int64_t *value);
bool nh_take_if(nh_reader *r, const char *word); /* and returns whether it was this one */
bool nh_at_end(const nh_reader *r);
const char *nh_next_word(const nh_reader *r); /* "" at the end */

/* statement.c: one line. finding.c's grammar is in expectation.c. */
nh_status nh_read_statement(nh_reader *r);
nh_status nh_read_finding(nh_reader *r, nh_finding_role role);
nh_status nh_read_chain(nh_reader *r, nh_chain *chain);
nh_status nh_read_measure(nh_reader *r, nh_finding_kind *measure);

#endif
