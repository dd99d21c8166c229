/* Reads the data of `nonholo fit`: see fit_data.h. */
#define _GNU_SOURCE
#include "fit_data.h"
#include "command.h"
#include "lines.h"
#include "message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 4096 };

typedef struct reader {
    const subject *s;
    lines in;
    size_t width; /* columns of the file */
    char **name;  /* [width] */
    double *cell; /* [rows][width] */
    int64_t rows, row_room;
} reader;

/* ---- lines and cells ----------------------------------------------------------------------- */

/* The next line that has something on it and is no comment. */
static bool next_line(reader *r)
{
    while (lines_next(&r->in)) {
        const char *text = r->in.text + strspn(r->in.text, " \t");
        if (*text && *text != '#')
            return true;
    }
    return false;
}

static char *trimmed(char *item)
{
    item = trim(item);
    const size_t length = strlen(item);
    if (length > 1 && item[0] == '"' && item[length - 1] == '"') {
        item[length - 1] = '\0';
        item++;
    }
    return item;
}

__attribute__((format(printf, 3, 4))) static int complain_at(const reader *r, const char *place,
                                                             const char *format, ...)
{
    char text[600];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    return complain("%s:%lld:%d: %s", r->in.path, r->in.number, (int)(place - r->in.text) + 1,
                    text);
}

/* Cuts the text at the next comma that is not between brackets, as in M[1,2]. */
static char *next_name(char **rest)
{
    char *name = *rest, *at = name;
    int depth = 0;
    for (; at && *at && !(*at == ',' && depth <= 0); at++)
        depth += (*at == '[') - (*at == ']');
    *rest = at && *at ? at + 1 : NULL;
    if (at)
        *at = '\0';
    return name;
}

static int read_names(reader *r)
{
    if (!next_line(r))
        return r->in.answer
                   ? r->in.answer
                   : complain("%s: the first line must name the columns, as in t,x,y", r->in.path);
    char *rest = r->in.text, *item;
    while ((item = next_name(&rest))) {
        item = trimmed(item);
        if (r->width == COLUMNS_MOST)
            return complain_at(r, item, "more than %d columns", COLUMNS_MOST);
        for (size_t i = 0; i < r->width; i++)
            if (strcmp(r->name[i], item) == 0)
                return complain_at(r, item, "the column '%s' occurs twice", item);
        char **name = realloc(r->name, (r->width + 1) * sizeof *name);
        r->name = name ? name : r->name;
        if (!name || !(name[r->width] = strdup(item)))
            return complain("out of memory"), FAILED;
        r->width++;
    }
    return 0;
}

static int read_cell(const reader *r, const char *item, double *value)
{
    *value = NAN; /* missing */
    return *item == '\0' || parse_real(item, value)
               ? 0
               : complain_at(r, item,
                             "'%.40s' is not a finite decimal number; leave the cell of a missing "
                             "value empty",
                             item);
}

static int read_row(reader *r)
{
    if (r->rows == r->row_room) {
        const int64_t room = r->row_room ? 2 * r->row_room : 256;
        double *cell = realloc(r->cell, (size_t)room * r->width * sizeof *cell);
        if (!cell)
            return complain("out of memory"), FAILED;
        r->cell = cell;
        r->row_room = room;
    }
    char *rest = r->in.text, *item;
    size_t column = 0;
    int answer = 0;
    while ((item = strsep(&rest, ",")) && !answer) {
        item = trimmed(item);
        if (column == r->width)
            return complain_at(r, item, "more cells than the %zu columns", r->width);
        answer = read_cell(r, item, r->cell + (size_t)r->rows * r->width + column++);
    }
    if (!answer && column < r->width)
        return complain_at(r, r->in.text, "%zu cell%s for %zu columns", column,
                           plural((int64_t)column), r->width);
    r->rows++;
    return answer;
}

/* Whether the time of the last row follows that of the row before. */
static int check_time(const reader *r, size_t column)
{
    const double *row = r->cell + (size_t)(r->rows - 1) * r->width;
    const double t = row[column], before = r->rows > 1 ? row[column - r->width] : -INFINITY;
    const char *place = r->in.text; /* cells end with NUL now */
    for (size_t i = 0; i < column; i++)
        place += strlen(place) + 1;
    if (isnan(t))
        return complain_at(r, place, "the time is missing");
    if (r->rows == 1 && t < r->s->t)
        return complain_at(r, place, "the time %g is before the start of the run, t = %g (--t0)", t,
                           r->s->t);
    if (t <= before)
        return complain_at(r, place, "the time %g is not later than that of the row before, %g", t,
                           before);
    return 0;
}

/* ---- columns ------------------------------------------------------------------------------- */

static size_t find_name(const reader *r, const char *name)
{
    size_t i = 0;
    while (i < r->width && strcmp(r->name[i], name) != 0)
        i++;
    return i;
}

static bool computes(const nh_system *system, const char *name)
{
    bool found = strcmp(name, "energy") == 0;
    for (int i = 0; i < nh_system_coordinates(system) && !found; i++)
        found = strcmp(name, nh_system_coordinate_name(system, i)) == 0;
    for (int i = 0; i < nh_system_velocities(system) && !found; i++)
        found = strcmp(name, nh_system_velocity_name(system, i)) == 0;
    for (int i = 0; i < nh_system_observables(system) && !found; i++)
        found = strcmp(name, nh_system_observable_name(system, i)) == 0;
    return found;
}

static int complain_column(const reader *r, size_t column)
{
    const nh_system *system = r->s->system;
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system),
              o = nh_system_observables(system);
    const char **names = malloc((size_t)(n + k + o + 1) * sizeof *names);
    int count = 0;
    for (int i = 0; names && i < n; i++)
        names[count++] = nh_system_coordinate_name(system, i);
    for (int i = 0; names && i < k; i++)
        names[count++] = nh_system_velocity_name(system, i);
    for (int i = 0; names && i < o; i++)
        names[count++] = nh_system_observable_name(system, i);
    const char *near = nearest(r->name[column], names, count);
    size_t place = 1;
    for (size_t i = 0; i < column; i++)
        place += strlen(r->name[i]) + 1;
    const int answer =
        complain("%s:1:%zu: the column '%s' is no coordinate, velocity or observable of %s%s%s%s",
                 r->in.path, place, r->name[column], nh_system_name(system),
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(names);
    return answer;
}

/* ---- weights ------------------------------------------------------------------------------- */

typedef struct weighing { /* of a column of the data: by a number or another column */
    double number;
    size_t column; /* the width: by the number */
} weighing;

static int parse_weighing(const reader *r, const char *text, weighing *w)
{
    *w = (weighing){1, find_name(r, text)};
    if (w->column == r->width && !(parse_real(text, &w->number) && w->number >= 0))
        return complain("--weights: '%s' is neither a column of %s nor a number from 0 on", text,
                        r->in.path);
    return 0;
}

/* "COLUMN", or "NAME=WEIGHT,..." */
static int parse_weights(const reader *r, const char *text, weighing *w)
{
    char *copy = strdup(text), *rest = copy, *item;
    int answer = copy ? 0 : (complain("out of memory"), FAILED);
    if (!answer && !strchr(text, '=')) {
        answer = parse_weighing(r, trimmed(copy), w);
        for (size_t i = 1; i < r->width; i++)
            w[i] = w[0];
    } else
        while (!answer && (item = strsep(&rest, ","))) {
            char *of = strsep(&item, "=");
            const size_t column = find_name(r, trimmed(of));
            if (!item || column == r->width)
                answer = complain("--weights: '%s' is no column of %s; expected NAME=WEIGHT,...",
                                  trimmed(of), r->in.path);
            else
                answer = parse_weighing(r, trimmed(item), w + column);
        }
    free(copy);
    return answer;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Which columns are data: those that are neither the time nor a weight. */
static int choose_columns(const reader *r, const weighing *w, size_t time, bool *is_data)
{
    for (size_t i = 0; i < r->width; i++) {
        is_data[i] = i != time;
        for (size_t k = 0; k < r->width; k++)
            is_data[i] = is_data[i] && w[k].column != i;
    }
    for (size_t i = 0; i < r->width; i++)
        if (is_data[i] && !computes(r->s->system, r->name[i]))
            return complain_column(r, i);
    return 0;
}

static int fill_table(const reader *r, const weighing *w, size_t time, const bool *is_data,
                      fit_data *d)
{
    const size_t rows = (size_t)r->rows, width = r->width;
    d->t = malloc((rows + 1) * sizeof *d->t);
    d->value = malloc((rows * width + 1) * sizeof *d->value);
    d->weight = malloc((rows * width + 1) * sizeof *d->weight);
    d->column = calloc(width + 1, sizeof *d->column);
    if (!d->t || !d->value || !d->weight || !d->column)
        return complain("out of memory"), FAILED;
    int columns = 0;
    for (size_t i = 0; i < width; i++)
        if (is_data[i] && !(d->column[columns++] = strdup(r->name[i])))
            return complain("out of memory"), FAILED;
    size_t at = 0;
    for (size_t row = 0; row < rows; row++) {
        const double *cell = r->cell + row * width;
        d->t[row] = cell[time];
        for (size_t i = 0; i < width; i++) {
            if (!is_data[i])
                continue;
            const double weight = w[i].column < width ? cell[w[i].column] : w[i].number;
            if (!isnan(cell[i]) && !(weight >= 0))
                return complain("%s: the weight of %s at t = %g is not a number from 0 on",
                                r->in.path, r->name[i], cell[time]);
            d->value[at] = cell[i];
            d->weight[at++] = weight;
        }
    }
    d->data = (nh_fit_data){.name = r->in.path,
                            .rows = r->rows,
                            .columns = columns,
                            .column = (const char *const *)d->column,
                            .t = d->t,
                            .value = d->value,
                            .weight = d->weight};
    return columns > 0 && r->rows > 0 ? 0 : complain("%s has no data", r->in.path);
}

static int read_table(reader *r, const char *weights, fit_data *d)
{
    int answer = read_names(r);
    const size_t time = answer ? 0 : find_name(r, "t");
    if (!answer && time == r->width)
        answer =
            complain("%s:%lld:1: there is no column 't' with the times", r->in.path, r->in.number);
    weighing *w = calloc(r->width + 1, sizeof *w);
    bool *is_data = calloc(r->width + 1, sizeof *is_data);
    if (!answer && (!w || !is_data))
        answer = (complain("out of memory"), FAILED);
    for (size_t i = 0; !answer && i < r->width; i++)
        w[i] = (weighing){1, r->width};
    if (!answer && weights)
        answer = parse_weights(r, weights, w);
    if (!answer)
        answer = choose_columns(r, w, time, is_data);
    while (!answer && next_line(r)) {
        answer = read_row(r);
        if (!answer)
            answer = check_time(r, time);
    }
    answer = answer ? answer : r->in.answer;
    if (!answer)
        answer = fill_table(r, w, time, is_data, d);
    free(w);
    free(is_data);
    return answer;
}

int fit_data_read(fit_data *out, const subject *s, const char *path, const char *weights)
{
    reader r = {.s = s};
    *out = (fit_data){0};
    int answer = lines_open(&r.in, path);
    if (!answer)
        answer = read_table(&r, weights, out);
    lines_close(&r.in);
    for (size_t i = 0; i < r.width; i++)
        free(r.name[i]);
    free(r.name);
    free(r.cell);
    return answer;
}

void fit_data_free(fit_data *d)
{
    for (int i = 0; d->column && d->column[i]; i++)
        free(d->column[i]);
    free(d->column);
    free(d->t);
    free(d->value);
    free(d->weight);
}
