/* --starts: start states out of a file. */
#define _GNU_SOURCE
#include "command.h"
#include "crowd.h"
#include "message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    crowd *c;
    const char *path;
    FILE *file;
    char *line;
    size_t room;
    long long number; /* of the line */
    int columns;
    int *place; /* of each column: coordinate i is i, velocity i is coordinates + i */
    int64_t rows, row_room;
} reader;

static int complain_line(const reader *r, const char *what, const char *word)
{
    return complain("%s:%lld: %s '%s'", r->path, r->number, what, word);
}

/* The next line without its end, or false at the end of the file. */
static bool next_line(reader *r)
{
    ssize_t length = getline(&r->line, &r->room, r->file);
    if (length < 0)
        return false;
    r->number++;
    while (length > 0 && strchr("\r\n", r->line[length - 1]))
        r->line[--length] = '\0';
    return true;
}

/* -1: no such coordinate or velocity. */
static int find_place(const reader *r, const char *name)
{
    const subject *s = &r->c->subject;
    for (int i = 0; i < s->coordinates; i++)
        if (strcmp(name, nh_system_coordinate_name(s->system, i)) == 0)
            return i;
    for (int i = 0; i < s->velocities; i++)
        if (strcmp(name, nh_system_velocity_name(s->system, i)) == 0)
            return s->coordinates + i;
    return -1;
}

static int read_names(reader *r)
{
    if (!next_line(r))
        return complain("%s: the first line names the columns, as in x,y,x',y'", r->path);
    size_t columns = 1;
    for (const char *c = r->line; *c; c++)
        columns += *c == ',';
    r->place = calloc(columns, sizeof *r->place);
    if (!r->place)
        return complain("out of memory"), FAILED;
    char *rest = r->line, *name;
    while ((name = strsep(&rest, ","))) {
        name += strspn(name, " ");
        name[strcspn(name, " ")] = '\0';
        int place = find_place(r, name);
        if (place < 0)
            return complain_line(r, "no coordinate or velocity is called", name);
        for (int i = 0; i < r->columns; i++)
            if (r->place[i] == place)
                return complain_line(r, "this column comes twice:", name);
        r->place[r->columns++] = place;
    }
    return 0;
}

static int make_room(reader *r)
{
    crowd *c = r->c;
    if (r->rows < r->row_room)
        return 0;
    size_t room = r->row_room ? 2 * (size_t)r->row_room : 64;
    double *q = realloc(c->list_q, (room * (size_t)c->subject.coordinates + 1) * sizeof *q);
    c->list_q = q ? q : c->list_q;
    double *v = realloc(c->list_v, (room * (size_t)c->subject.velocities + 1) * sizeof *v);
    c->list_v = v ? v : c->list_v;
    if (!q || !v)
        return complain("out of memory"), FAILED;
    r->row_room = (int64_t)room;
    return 0;
}

static int read_row(reader *r)
{
    const subject *s = &r->c->subject;
    int answer = make_room(r), column = 0;
    if (answer)
        return answer;
    double *q = r->c->list_q + r->rows * s->coordinates,
           *v = r->c->list_v + r->rows * s->velocities;
    memcpy(q, s->q, (size_t)s->coordinates * sizeof *q);
    memcpy(v, s->v, (size_t)s->velocities * sizeof *v);
    char *rest = r->line, *item, *end;
    for (; (item = strsep(&rest, ",")); column++) {
        double value = strtod(item, &end);
        if (end == item || end[strspn(end, " ")] || !isfinite(value))
            return complain_line(r, "this is not a number:", item);
        if (column >= r->columns)
            return complain_line(r, "more numbers than columns, from here on:", item);
        int place = r->place[column];
        *(place < s->coordinates ? q + place : v + place - s->coordinates) = value;
    }
    if (column < r->columns)
        return complain("%s:%lld: %d numbers for %d columns", r->path, r->number, column,
                        r->columns);
    r->rows++;
    return 0;
}

int read_starts(crowd *c, const char *path)
{
    reader r = {.c = c, .path = path, .file = fopen(path, "re")};
    if (!r.file)
        return complain("cannot read %s: %s", path, strerror(errno)), FAILED;
    int answer = read_names(&r);
    while (!answer && next_line(&r))
        if (r.line[strspn(r.line, " ")]) /* empty lines are skipped */
            answer = read_row(&r);
    if (!answer && ferror(r.file))
        answer = (complain("cannot read %s: %s", path, strerror(errno)), FAILED);
    if (!answer && r.rows == 0)
        answer = complain("%s has no start states below its first line", path);
    c->list_members = r.rows;
    fclose(r.file);
    free(r.line);
    free(r.place);
    return answer;
}
