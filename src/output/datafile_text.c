/* Reads tables from text: comma-separated values with a line of names. */
#define _GNU_SOURCE
#include "output/datafile.h"
#include "base/decimal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t count_lines(FILE *file)
{
    int64_t lines = 0;
    int before = '\n';
    for (int letter; (letter = getc(file)) != EOF; before = letter == '\r' ? before : letter)
        lines += letter == '\n' && before != '\n';
    return lines + (before != '\n');
}

size_t nh_column_length(const char *at)
{
    size_t i = 0;
    int depth = 0;
    for (; at[i] && !(at[i] == ',' && depth <= 0); i++)
        depth += (at[i] == '[') - (at[i] == ']');
    return i;
}

static nh_status read_names(nh_datafile *t, char *line, int64_t rows, nh_report *report)
{
    static const char mark[] = "\xef\xbb\xbf"; /* with which spreadsheets begin a file */
    char *at = strncmp(line, mark, strlen(mark)) == 0 ? line + strlen(mark) : line;
    at[strcspn(at, "\r\n")] = '\0';
    for (;; at++) {
        at += strspn(at, " \t");
        const size_t quoted = *at == '"';
        size_t length = quoted ? strcspn(at + 1, "\"") : nh_column_length(at);
        const char *name = at + quoted;
        at += length + quoted;
        at += strcspn(at, ",");
        while (length > 0 && !quoted && strchr(" \t", name[length - 1]))
            length--;
        if (!nh_datafile_add(t, name, length, rows))
            return nh_datafile_refuse(t, report);
        if (!*at)
            return NH_OK;
    }
}

static nh_status read_row(nh_datafile *t, char *line, int64_t row, nh_report *report)
{
    char *at = line;
    for (int c = 0; c < t->columns; c++) {
        char *end;
        const bool quoted = *at == '"';
        at += quoted;
        double value = nh_decimal(at, &end);
        bool last = c + 1 == t->columns;
        if (end != at)
            t->column[c][row] = value;
        end += quoted && *end == '"';
        if ((!last && *end != ',') || (last && *end && !strchr("\r\n", *end)))
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s:%lld: expected %d numbers separated by commas", t->path,
                           (long long)row + 2, t->columns);
        at = end + 1;
    }
    return NH_OK;
}

/* The next line; NULL at the end of the file, or, with a status, if it could not be read. */
static char *next_line(const nh_datafile *t, FILE *file, char **line, size_t *room,
                       nh_status *status, nh_report *report)
{
    if (*status != NH_OK)
        return NULL;
    errno = 0;
    if (getline(line, room, file) > 0)
        return *line;
    if (errno == ENOMEM)
        *status = nh_fail_memory(report);
    else if (!feof(file))
        *status = nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", t->path, strerror(errno));
    return NULL;
}

nh_status nh_datafile_read_csv(nh_datafile *t, int64_t member, nh_report *report)
{
    (void)member;
    FILE *file = fopen(t->path, "r");
    if (!file)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %s: %s", t->path, strerror(errno));
    int64_t lines = count_lines(file), row = 0;
    char *line = NULL;
    size_t room = 0;
    nh_status status = NH_OK;
    rewind(file);
    if (next_line(t, file, &line, &room, &status, report) && lines > 1)
        status = read_names(t, line, lines - 1, report);
    else if (status == NH_OK)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s: the file contains no data", t->path);
    while (row < t->rows && next_line(t, file, &line, &room, &status, report))
        if (line[strspn(line, "\r\n")])
            status = read_row(t, line, row++, report);
    free(line);
    fclose(file);
    return status;
}
