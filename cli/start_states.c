/* --starts: reads start states from a CSV file. */
#define _GNU_SOURCE
#include "command.h"
#include "ensemble_job.h"
#include "lines.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    ensemble_job *c;
    lines in;
    int columns;
    int *place;  /* of each column: coordinate i is i, velocity i is coordinates + i */
    char *solve; /* velocities for which the model solves and that are not columns, or NULL */
    int64_t rows, row_room;
} reader;

static int complain_line(const reader *r, const char *what, const char *word)
{
    return complain("%s:%lld: %s '%s'", r->in.path, r->in.number, what, word);
}

static const size_t list_max_bytes = (size_t)1 << 31;

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
    if (!lines_next(&r->in))
        return r->in.answer ? r->in.answer
                            : complain("%s: the first line must name the columns, as in x,y,x',y'",
                                       r->in.path);
    size_t columns = 1;
    for (const char *c = r->in.text; *c; c++)
        columns += *c == ',';
    r->place = calloc(columns, sizeof *r->place);
    if (!r->place)
        return complain("out of memory"), FAILED;
    char *rest = r->in.text, *name;
    while ((name = strsep(&rest, ","))) {
        name += strspn(name, " ");
        name[strcspn(name, " ")] = '\0';
        int place = find_place(r, name);
        if (place < 0)
            return complain_line(r, "there is no coordinate or velocity", name);
        for (int i = 0; i < r->columns; i++)
            if (r->place[i] == place)
                return complain_line(r, "this column occurs twice:", name);
        r->place[r->columns++] = place;
    }
    return 0;
}

/* What the model's `start solve` has to find in every row: a list of names. */
static int list_solved(reader *r)
{
    const subject *s = &r->c->subject;
    size_t length = 0;
    for (int i = 0; i < s->coordinates + s->velocities; i++) {
        bool position = i < s->coordinates;
        bool given = position ? !nh_system_solves_position(s->system, i)
                              : !nh_system_solves(s->system, i - s->coordinates);
        for (int c = 0; c < r->columns && !given; c++)
            given = r->place[c] == i;
        if (given)
            continue;
        const char *name = position ? nh_system_coordinate_name(s->system, i)
                                    : nh_system_velocity_name(s->system, i - s->coordinates);
        char *longer = realloc(r->solve, length + strlen(name) + 2);
        if (!longer)
            return complain("out of memory"), FAILED;
        r->solve = longer;
        length += (size_t)sprintf(longer + length, "%s%s", length ? "," : "", name);
    }
    return 0;
}

static int solve_row(const reader *r, double *q, double *v)
{
    const subject *s = &r->c->subject;
    nh_projection how = nh_projection_default();
    nh_report report;
    how.solve = r->solve;
    if (!r->solve || nh_system_project_state(s->system, &how, s->t, q, v, &report) == NH_OK)
        return 0;
    complain("%s:%lld: %s", r->in.path, r->in.number, report.text);
    return exit_code(report.status);
}

static int make_room(reader *r)
{
    ensemble_job *c = r->c;
    if (r->rows < r->row_room)
        return 0;
    size_t room = r->row_room ? 2 * (size_t)r->row_room : 64;
    size_t numbers = (size_t)(c->subject.coordinates + c->subject.velocities);
    if (r->rows > 0 && room > list_max_bytes / sizeof(double) / numbers)
        return complain("%s:%lld: more than %lld start states", r->in.path, r->in.number,
                        (long long)r->rows);
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
    char *rest = r->in.text, *item;
    for (; (item = strsep(&rest, ",")); column++) {
        double value;
        if (!parse_real(trim(item), &value))
            return complain_line(r, "this is not a number:", item);
        if (column >= r->columns)
            return complain_line(r, "more numbers than columns, beginning with", item);
        int place = r->place[column];
        *(place < s->coordinates ? q + place : v + place - s->coordinates) = value;
    }
    if (column < r->columns)
        return complain("%s:%lld: %d number%s for %d column%s", r->in.path, r->in.number, column,
                        plural(column), r->columns, plural(r->columns));
    r->rows++;
    return solve_row(r, q, v);
}

int read_starts(ensemble_job *c, const char *path, bool project)
{
    reader r = {.c = c};
    int answer = lines_open(&r.in, path);
    if (!answer)
        answer = read_names(&r);
    if (!answer && !project)
        answer = list_solved(&r);
    while (!answer && lines_next(&r.in))
        if (r.in.text[strspn(r.in.text, " ")]) /* empty lines are skipped */
            answer = read_row(&r);
    answer = answer ? answer : r.in.answer;
    if (!answer && r.rows == 0)
        answer = complain("%s has no start states after its first line", path);
    c->list_members = r.rows;
    lines_close(&r.in);
    free(r.place);
    free(r.solve);
    return answer;
}
