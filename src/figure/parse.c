/* Reads the text of a figure line by line. statement.c and expectation.c read the statements. A
 * figure file cannot execute code; it can only use the arithmetic of models. */
#include "figure/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

nh_status nh_reader_fail(nh_reader *r, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    nh_print_list(message, sizeof message, format, arguments);
    va_end(arguments);
    return nh_fail_at(r->report, &r->figure->source, r->line.word[r->line.at].place, "%s", message);
}

/* ---- words --------------------------------------------------------------------------------- */

bool nh_at_end(const nh_reader *r)
{
    return r->line.at >= r->line.count;
}

const char *nh_next_word(const nh_reader *r)
{
    return nh_at_end(r) ? "" : r->line.word[r->line.at].text;
}

bool nh_take_if(nh_reader *r, const char *word)
{
    bool is =
        !nh_at_end(r) && !r->line.word[r->line.at].quoted && strcmp(nh_next_word(r), word) == 0;
    r->line.at += is;
    return is;
}

nh_status nh_take_word(nh_reader *r, const char *what, const char **text)
{
    if (nh_at_end(r))
        return nh_reader_fail(r, "expected %s", what);
    *text = r->line.word[r->line.at++].text;
    return NH_OK;
}

nh_status nh_take_number(nh_reader *r, const char *what, double *value)
{
    const char *text = nh_next_word(r);
    char *end;
    if (nh_at_end(r))
        return nh_reader_fail(r, "expected %s", what);
    *value = nh_decimal(text, &end);
    if (strspn(text, "0123456789+-.eE") != strlen(text) || *end || !isfinite(*value))
        return nh_reader_fail(r, "expected %s, a number, not '%.40s'", what, text);
    r->line.at++;
    return NH_OK;
}

nh_status nh_take_positive(nh_reader *r, const char *what, double *value)
{
    nh_status status = nh_take_number(r, what, value);
    if (status == NH_OK && !(*value > 0)) {
        r->line.at--;
        return nh_reader_fail(r, "expected %s greater than 0", what);
    }
    return status;
}

nh_status nh_take_count(nh_reader *r, const char *what, int64_t least, int64_t most, int64_t *value)
{
    double number = 0;
    nh_status status = nh_take_number(r, what, &number);
    if (status)
        return status;
    if (number != floor(number) || number < (double)least || number > (double)most) {
        r->line.at--;
        return nh_reader_fail(r, "expected %s, a whole number from %lld to %lld", what,
                              (long long)least, (long long)most);
    }
    *value = (int64_t)number;
    return NH_OK;
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Where the line's statement ends: before a comment or trailing spaces. */
static size_t statement_length(const char *line, size_t length)
{
    bool quoted = false;
    size_t end = 0;
    for (; end < length && !(line[end] == '#' && !quoted); end++)
        quoted = quoted != (line[end] == '"');
    while (end > 0 && strchr(" \t\r", line[end - 1]))
        end--;
    return end;
}

/* Counts characters, not bytes, as messages do. */
static int column_of(const char *line, size_t at)
{
    int column = 1;
    for (size_t i = 0; i < at; i++)
        column += ((unsigned char)line[i] & 0xC0) != 0x80;
    return column;
}

static nh_status cut_word(nh_reader *r, const char *line, size_t length, size_t *at, int number)
{
    nh_line_words *words = &r->line;
    size_t from = *at, end = from;
    bool quoted = line[from] == '"';
    if (words->count == NH_WORDS_MOST)
        return nh_fail_at(r->report, &r->figure->source, (nh_place){.line = number, .column = 1},
                          "a statement has at most %d words", NH_WORDS_MOST);
    for (end += quoted; end < length && (quoted ? line[end] != '"' : !strchr(" \t", line[end]));
         end++)
        ;
    nh_place place = {.line = number, .column = column_of(line, from)};
    if (quoted && end == length)
        return nh_fail_at(r->report, &r->figure->source, place,
                          "a quote is not closed on its line");
    words->word[words->count++] = (nh_word){
        .text = nh_arena_text(&r->figure->arena, line + from + quoted, end - from - quoted),
        .rest = nh_arena_text(&r->figure->arena, line + from, length - from),
        .place = place,
        .quoted = quoted};
    *at = end + quoted;
    return r->figure->arena.failed ? nh_fail_memory(r->report) : NH_OK;
}

static nh_status cut_line(nh_reader *r, const char *line, size_t length, int number)
{
    nh_status status = NH_OK;
    size_t at = 0;
    r->line.count = r->line.at = 0;
    while (status == NH_OK) {
        at += strspn(line + at, " \t");
        if (at >= length)
            break;
        status = cut_word(r, line, length, &at, number);
    }
    r->line.word[r->line.count] =
        (nh_word){.text = "", .rest = "", .place = {number, column_of(line, length)}};
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* A panel or a table that draws nothing. */
static const nh_figure_panel *empty_panel(const nh_figure *figure)
{
    for (int i = 0; i < figure->panel_count; i++)
        if (!figure->panels[i].y.quantity)
            return &figure->panels[i];
    return NULL;
}

/* A table of orders has one column per case; others must say what their columns are. */
static bool lacks_columns(const nh_figure *figure)
{
    return figure->has_table && figure->table.measure != NH_MEASURE_ORDER &&
           figure->table.columns == 0;
}

static nh_status check_whole(nh_figure *figure, nh_report *report)
{
    const nh_figure_panel *empty = empty_panel(figure);
    if (empty)
        return nh_fail_at(report, &figure->source, empty->place,
                          "the panel draws nothing; expected 'draw' and a quantity in it");
    const char *missing = !figure->name                                 ? "its name: 'figure NAME'"
                          : !figure->case_count && !figure->setup.model ? "a model"
                          : !figure->method_count                       ? "a method"
                          : !figure->panel_count && !figure->has_table  ? "a panel"
                          : lacks_columns(figure)                       ? "a column of its table"
                                                                        : NULL;
    if (!missing)
        return NH_OK;
    return nh_fail(report, NH_BAD_MODEL, "%s: the figure lacks %s", figure->source.file, missing);
}

/* A figure without cases is one case. */
static void complete(nh_figure *figure)
{
    if (figure->case_count == 0)
        figure->cases[figure->case_count++] =
            (nh_case){.name = "all", .label = "", .setup = figure->setup};
    if (!figure->title)
        figure->title = figure->name;
}

nh_status nh_figure_read(nh_figure *figure, nh_report *report)
{
    nh_status status = nh_source_check(&figure->source, report);
    nh_reader *r = calloc(1, sizeof *r);
    if (!r)
        return nh_fail_memory(report);
    *r = (nh_reader){.figure = figure, .report = report};
    const char *line = figure->source.text, *end = line + figure->source.length;
    for (int number = 1; line < end && status == NH_OK; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        status = cut_line(r, line, statement_length(line, (size_t)(stop - line)), number);
        if (status == NH_OK && r->line.count > 0)
            status = nh_read_statement(r);
        line = stop + 1;
    }
    free(r);
    if (status == NH_OK)
        status = check_whole(figure, report);
    if (status == NH_OK)
        complete(figure);
    return status;
}
