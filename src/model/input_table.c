/* Tables of inputs: points (t, value) from a file or a text, converted to piecewise polynomials.
 *
 * A file has one line for each point, with numbers separated by commas, semicolons, tabs or spaces;
 * empty lines and lines that begin with # are skipped. If the first line consists of names, it is a
 * header: the columns used are "t" (or "time") and the one with the input's name. Without a header
 * the file has two columns. A text is "[t value; t value; ...]". Times must ascend. Before the
 * first point and after the last one the input is constant. */
#include "model/input_table.h"

#include "base/decimal.h"
#include "base/status.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 50000000, COLUMNS_MOST = 4096, LINE_LONGEST = 1 << 20 };

typedef struct reading {
    const char *input, *file; /* the name of the input; NULL file: a text */
    int64_t line;
    int columns, time, value; /* number of columns, and the two that are read */
    nh_input_table *table;
    int64_t room;
    nh_report *report;
} reading;

__attribute__((format(printf, 2, 3))) static nh_status fail(const reading *r, const char *format,
                                                            ...)
{
    char what[400], place[64] = "";
    va_list list;
    va_start(list, format);
    nh_print_list(what, sizeof what, format, list);
    va_end(list);
    if (r->file)
        snprintf(place, sizeof place, ":%" PRId64, r->line);
    return nh_fail(r->report, NH_BAD_ARGUMENT, "%s%s%.1000s%s: %s", r->file ? "" : "input ",
                   r->file ? "" : r->input, r->file ? r->file : "", place, what);
}

/* ---- points ---- */

static nh_status add_point(reading *r, double t, double value)
{
    nh_input_table *table = r->table;
    if (!isfinite(t) || !isfinite(value))
        return fail(r, "point %" PRId64 " is not finite", table->rows + 1);
    if (table->rows > 0 && !(t > table->time[table->rows - 1]))
        return fail(r, "times must ascend; expected more than %.17g, found %.17g",
                    table->time[table->rows - 1], t);
    if (table->rows == ROWS_MOST)
        return fail(r, "more than %d points", ROWS_MOST);
    if (table->rows == r->room) {
        int64_t room = r->room ? 2 * r->room : 256;
        double *time = realloc(table->time, (size_t)room * sizeof *time);
        if (time)
            table->time = time;
        double *values = realloc(table->piece, (size_t)room * sizeof *values);
        if (values)
            table->piece = values;
        if (!time || !values)
            return nh_fail_memory(r->report);
        r->room = room;
    }
    table->time[table->rows] = t;
    table->piece[table->rows++] = value;
    return NH_OK;
}

/* ---- texts ---- */

static bool read_number(const char **at, double *value)
{
    char *end;
    *value = nh_decimal(*at, &end);
    bool read = end > *at;
    *at = end;
    return read;
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static nh_status read_text(reading *r, const char *at)
{
    double t, value;
    do {
        at = skip_space(at + 1);
        if (*at == ']' && r->table->rows > 0)
            break; /* a semicolon after the last one */
        if (!read_number(&at, &t) || !read_number(&at, &value))
            return fail(r,
                        "expected points such as [0 1; 0.5 2], a time and a value each; point "
                        "%" PRId64 " is not of this form",
                        r->table->rows + 1);
        nh_status status = add_point(r, t, value);
        if (status != NH_OK)
            return status;
        at = skip_space(at);
    } while (*at == ';');
    return *at == ']' && !*skip_space(at + 1)
               ? NH_OK
               : fail(r, "expected ';' or ']' after point %" PRId64, r->table->rows);
}

/* ---- files ---- */

static const char *separator(const char *at)
{
    at += strspn(at, " \t");
    if (*at == ',' || *at == ';')
        at++;
    return at + strspn(at, " \t");
}

static size_t name_length(const char *at)
{
    return strcspn(at, *at == '"' ? "\r\n" : ",;\t\r\n ");
}

static bool is_name(const char *at, size_t length, const char *name)
{
    if (length >= 2 && at[0] == '"' && at[length - 1] == '"')
        at++, length -= 2;
    return strlen(name) == length && strncmp(at, name, length) == 0;
}

/* Takes a column for the times or the values; false if there already is one. */
static bool take_column(int *column, int index)
{
    if (*column >= 0)
        return false;
    *column = index;
    return true;
}

/* A line of names instead of numbers. Nothing is guessed: a column with another name may be
 * anything else. */
static nh_status read_header(reading *r, const char *at)
{
    const char *line = at;
    bool single = true;
    r->time = r->value = -1;
    for (r->columns = 0; *at && *at != '\r' && *at != '\n'; r->columns++) {
        size_t length = *at == '"' ? strcspn(at + 1, "\"") + 2 : name_length(at);
        if (is_name(at, length, r->input))
            single = take_column(&r->value, r->columns) && single;
        else if (is_name(at, length, "t") || is_name(at, length, "time"))
            single = take_column(&r->time, r->columns) && single;
        at = separator(at + (length <= strlen(at) ? length : strlen(at)));
        if (length == 0 && r->columns > COLUMNS_MOST)
            break;
    }
    if (single && r->time >= 0 && r->value >= 0)
        return NH_OK;
    return fail(r, "%s '%s' among '%.*s'; expected columns t,%s",
                single ? "there is no column" : "there is more than one column",
                r->time < 0 ? "t" : r->input,
                (int)strcspn(line, "\r\n") > 60 ? 60 : (int)strcspn(line, "\r\n"), line, r->input);
}

static nh_status read_line(reading *r, const char *at)
{
    double t = NAN, value = NAN, number;
    const char *begin = at = at + strspn(at, " \t");
    if (*at == '#' || *at == 0 || *at == '\r' || *at == '\n')
        return NH_OK;
    const char *first = at;
    if (r->columns == 0 && !read_number(&first, &number))
        return read_header(r, at);
    int column = 0;
    for (; *at && *at != '\r' && *at != '\n'; column++) {
        if (!read_number(&at, &number))
            return fail(r, "column %d: expected a number, found '%.*s'", column + 1,
                        (int)(name_length(at) > 20 ? 20 : name_length(at)), at);
        if (column == r->time)
            t = number;
        if (column == r->value)
            value = number;
        const char *next = separator(at);
        if (next == at && *at && *at != '\r' && *at != '\n')
            return fail(r, "column %d: expected a number, found '%.*s'", column + 1,
                        (int)(strcspn(begin, ",;\t\r\n ") > 20 ? 20 : strcspn(begin, ",;\t\r\n ")),
                        begin);
        at = begin = next;
    }
    if (r->columns == 0 && column != 2)
        return fail(r, "%d column%s and no header; expected two, t and %s", column,
                    column == 1 ? "" : "s", r->input);
    if (r->columns != 0 && column != r->columns)
        return fail(r, "%d column%s, expected %d", column, column == 1 ? "" : "s", r->columns);
    r->columns = column;
    return add_point(r, t, value);
}

static nh_status read_file(reading *r)
{
    FILE *file = fopen(r->file, "r");
    char *line = file ? malloc(LINE_LONGEST) : NULL;
    nh_status status = NH_OK;
    if (!file)
        return nh_fail(r->report, NH_FILE_FAILED, "cannot open %.1000s: %s", r->file,
                       strerror(errno));
    if (!line)
        status = nh_fail_memory(r->report);
    while (status == NH_OK && fgets(line, LINE_LONGEST, file)) {
        static const char mark[] = "\xef\xbb\xbf";
        const bool marked = r->line++ == 0 && strncmp(line, mark, 3) == 0;
        status = strlen(line) == LINE_LONGEST - 1 ? fail(r, "the line is too long")
                                                  : read_line(r, line + (marked ? 3 : 0));
    }
    if (status == NH_OK && ferror(file))
        status =
            nh_fail(r->report, NH_FILE_FAILED, "cannot read %.1000s: %s", r->file, strerror(errno));
    free(line);
    fclose(file);
    return status;
}

/* ---- pieces ---- */

/* Slopes of the natural cubic spline at the points: tridiagonal equations, solved in place. */
static bool spline_slopes(const double *t, const double *y, int64_t rows, double *slope)
{
    double *factor = malloc((size_t)rows * sizeof *factor);
    if (!factor)
        return false;
    for (int64_t i = 0; i < rows; i++) {
        const double before = i > 0 ? 1 / (t[i] - t[i - 1]) : 0;
        const double after = i < rows - 1 ? 1 / (t[i + 1] - t[i]) : 0;
        double right = 0;
        if (i > 0)
            right += 3 * (y[i] - y[i - 1]) * before * before;
        if (i < rows - 1)
            right += 3 * (y[i + 1] - y[i]) * after * after;
        const double diagonal = 2 * (before + after) - (i > 0 ? before * factor[i - 1] : 0);
        factor[i] = after / diagonal;
        slope[i] = (right - (i > 0 ? before * slope[i - 1] : 0)) / diagonal;
    }
    for (int64_t i = rows - 2; i >= 0; i--)
        slope[i] -= factor[i] * slope[i + 1];
    free(factor);
    return true;
}

/* Piece i begins at point i; the last one is constant. */
static void fill_piece(const nh_input_table *from, const double *slope, int64_t i, int values,
                       double *piece)
{
    const double *t = from->time, *y = from->piece;
    memset(piece, 0, (size_t)values * sizeof *piece);
    piece[values - 1] = t[i];
    piece[0] = y[i];
    if (values == 1 || i == from->rows - 1)
        return;
    const double h = t[i + 1] - t[i], chord = (y[i + 1] - y[i]) / h;
    piece[1] = slope ? slope[i] : chord;
    if (slope) {
        piece[2] = (3 * chord - 2 * slope[i] - slope[i + 1]) / h;
        piece[3] = (slope[i] + slope[i + 1] - 2 * chord) / (h * h);
    }
}

static nh_status make_pieces(nh_input_table *table, nh_signal signal, nh_report *report)
{
    const int values = nh_signal_values(signal);
    const bool spline = signal == NH_SIGNAL_SPLINE && table->rows > 1;
    double *piece = malloc((size_t)table->rows * (size_t)values * sizeof *piece);
    double *slope = spline ? malloc((size_t)table->rows * sizeof *slope) : NULL;
    bool ok = piece && (!spline || slope);
    if (ok && spline)
        ok = spline_slopes(table->time, table->piece, table->rows, slope);
    for (int64_t i = 0; ok && i < table->rows; i++)
        fill_piece(table, slope, i, values, piece + i * values);
    free(slope);
    free(table->piece);
    table->piece = piece;
    table->values = values;
    return ok ? NH_OK : nh_fail_memory(report);
}

bool nh_is_input_table(const char *text)
{
    size_t length = strlen(text);
    text = skip_space(text);
    return *text == '[' || (length > 4 && strcmp(text + strlen(text) - 4, ".csv") == 0);
}

nh_status nh_input_table_read(nh_input_table *out, const char *text, const char *input,
                              nh_signal signal, nh_report *report)
{
    *out = (nh_input_table){0};
    text = skip_space(text);
    reading r = {.input = input, .value = 1, .table = out, .report = report};
    if (*text != '[')
        r.file = text;
    nh_status status = r.file ? read_file(&r) : read_text(&r, text);
    if (status == NH_OK && out->rows == 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%.1000s has no points", r.file ? r.file : text);
    if (status == NH_OK)
        status = make_pieces(out, signal, report);
    if (status != NH_OK)
        nh_input_table_free(out);
    return status;
}

nh_status nh_input_table_unit(nh_input_table *out, const nh_input_table *of, nh_signal signal,
                              int64_t point, nh_report *report)
{
    const size_t rows = (size_t)of->rows;
    *out = (nh_input_table){.rows = of->rows,
                            .time = malloc(rows * sizeof *out->time),
                            .piece = calloc(rows, sizeof *out->piece)};
    nh_status status = out->time && out->piece ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK) {
        memcpy(out->time, of->time, rows * sizeof *out->time);
        out->piece[point] = 1;
        status = make_pieces(out, signal, report);
    }
    if (status != NH_OK)
        nh_input_table_free(out);
    return status;
}

void nh_input_table_free(nh_input_table *table)
{
    free(table->time);
    free(table->piece);
    *table = (nh_input_table){0};
}

/* ---- evaluation ---- */

int64_t nh_input_table_find(const nh_input_table *table, double t)
{
    int64_t low = -1, high = table->rows; /* time[low] <= t < time[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(table->time[middle] <= t ? &low : &high) = middle;
    }
    return low;
}

double nh_signal_value(nh_signal signal, const double *u, double t)
{
    const int values = nh_signal_values(signal);
    double sum = u[values == 1 ? 0 : values - 2];
    for (int p = values - 3; p >= 0; p--)
        sum = u[p] + (t - u[values - 1]) * sum;
    return sum;
}

void nh_input_table_piece(const nh_input_table *table, int64_t piece, double *u)
{
    const int values = table->values;
    const double *from = table->piece + (piece > 0 ? piece : 0) * values;
    for (int i = 0; i < values; i++)
        u[i] = piece >= 0 || i == 0 || i == values - 1 ? from[i] : 0;
}
