/* The names of what a run is differentiated by: see nonholo.h. */
#include "analysis/sensitivity.h"

#include "analysis/functionals.h"
#include "base/status.h"
#include "model/source.h"
#include "model/suggest.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = NH_NAME_LONGEST + 40, LIST_ROOM = 400 };

typedef struct reader {
    nh_sensitivity *s;
    nh_start_moves *start;
    char name[NAME_ROOM]; /* the item that is being read */
    bool pattern;         /* it may mean several things, some of which cannot be varied */
    bool found;
    nh_report *report;
} reader;

/* ---- patterns ---- */

/* Whether a text is what a pattern means: a star stands for any letters. */
static bool matches(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
    return *pattern == *text && (!*text || matches(pattern + 1, text + 1));
}

/* Also the members of a family or of a rotation by its name: "y" is y[1], "y'" is y[1]', "R" is
 * R.1. */
static bool means(const char *pattern, const char *text)
{
    if (matches(pattern, text))
        return true;
    const size_t length = strcspn(pattern, "'");
    const char *rest = text + length;
    if (strncmp(pattern, text, length) != 0 || (*rest != '[' && *rest != '.'))
        return false;
    if (*rest == '.')
        return pattern[length] == '\0' && isdigit((unsigned char)rest[1]);
    const char *end = strchr(rest, ']');
    return end && strcmp(end + 1, pattern + length) == 0;
}

/* ---- what is meant ---- */

static nh_status add(reader *r, const char *name, nh_varied_kind kind, int index, int64_t point,
                     double value)
{
    r->found = true;
    return nh_sensitivity_add(r->s, name, kind, index, point, value, r->report);
}

static nh_status add_parameter(reader *r, int index)
{
    const nh_problem *p = r->start->problem;
    const char *name = p->parameter[index].name;
    double *change = malloc((size_t)p->parameters * sizeof *change);
    int form;
    nh_status status = change ? nh_start_moves_parameter(r->start, index, change, &form, r->report)
                              : nh_fail_memory(r->report);
    free(change);
    if (status != NH_OK || form < 0)
        return status == NH_OK ? add(r, name, NH_BY_PARAMETER, index, 0, p->parameter[index].value)
                               : status;
    r->found = true;
    if (r->pattern)
        return NH_OK;
    char follows[NAME_ROOM + 40] = "";
    if (form != index)
        snprintf(follows, sizeof follows, "%s follows from it, which ", p->parameter[form].name);
    return nh_fail(r->report, NH_BAD_ARGUMENT,
                   "there is no derivative by %s: %sdecides the form of the equations, as a number "
                   "of members, an index, an exponent or a condition does",
                   name, form != index ? follows : "it ");
}

static nh_status read_parameters(reader *r, const char *pattern)
{
    const nh_problem *p = r->start->problem;
    nh_status status = NH_OK;
    for (int i = 0; i < p->parameters && status == NH_OK; i++)
        if (means(pattern, p->parameter[i].name))
            status = add_parameter(r, i);
    return status;
}

/* A value of an input's table, or the value that an input keeps. */
static nh_status add_input(reader *r, int index, const char *pattern)
{
    const nh_problem_input *in = r->start->problem->input + index;
    char name[NAME_ROOM];
    nh_status status = NH_OK;
    if (in->table.rows == 0 && !means(pattern, in->name))
        return NH_OK;
    if (in->table.rows == 0 && in->first >= 0 && nh_input_is_free(in) &&
        in->signal == NH_SIGNAL_HELD)
        return add(r, in->name, NH_BY_INPUT, index, 0, r->start->z[2 * r->start->n + in->first]);
    r->found = r->found || means(pattern, in->name);
    if (in->table.rows == 0)
        return r->pattern ? NH_OK
                          : nh_fail(r->report, NH_BAD_ARGUMENT,
                                    "the input %s is an expression: name the parameters that occur "
                                    "in it, or give it as a table (--input \"%s:linear=[...]\")",
                                    in->name, in->name);
    for (int64_t k = 0; k < in->table.rows && status == NH_OK; k++) {
        const double value = in->table.piece[k * in->table.values];
        snprintf(name, sizeof name, "%s[%lld]", in->name, (long long)k);
        if (means(pattern, name) || means(pattern, in->name))
            status = add(r, name, NH_BY_INPUT, index, k, value);
    }
    return status;
}

static nh_status read_inputs(reader *r, const char *pattern)
{
    nh_status status = NH_OK;
    for (int i = 0; i < r->start->problem->inputs && status == NH_OK; i++)
        status = add_input(r, i, pattern);
    return status;
}

/* ---- start values ---- */

/* The inner index of a functional: of a position, or of a velocity. */
static int inner_of(const reader *r, int functional)
{
    const nh_problem *p = r->start->problem;
    if (functional >= r->s->directions)
        return nh_inner_index(r->s->system, functional - r->s->directions);
    int index = functional;
    for (int i = 0; i < p->rotations; i++)
        index += index >= p->rotation[i].first;
    return index;
}

static nh_status refuse_solved(const reader *r, const char *name)
{
    char list[LIST_ROOM] = "";
    size_t used = 0;
    for (int i = 0; i < r->s->directions + r->s->velocities && used < LIST_ROOM / 2; i++) {
        char other[NAME_ROOM];
        const bool position = i < r->s->directions;
        const bool *may = position ? r->start->may.q : r->start->may.v;
        nh_functional_name(r->s->system, i, other, sizeof other);
        if (!may[inner_of(r, i)])
            used += (size_t)snprintf(list + used, LIST_ROOM - used, "%sstart %s", used ? ", " : "",
                                     other);
    }
    return nh_fail(r->report, NH_BAD_ARGUMENT,
                   "%s is computed by the model's 'start solve'; what can be varied instead: %s, "
                   "and the parameters",
                   name, used ? list : "nothing of the state");
}

static nh_status add_start(reader *r, int functional)
{
    nh_start_moves *m = r->start;
    const bool position = functional < r->s->directions;
    const int at = position ? functional : functional - r->s->directions,
              inner = inner_of(r, functional);
    const bool projects = m->how.project || m->how.keep || m->how.solve;
    const bool rotates = position && m->named->coordinates > r->s->directions;
    char own[NAME_ROOM], name[NAME_ROOM + 8];
    nh_functional_name(r->s->system, functional, own, sizeof own);
    snprintf(name, sizeof name, "start %s", own);
    r->found = true;
    if ((position ? m->may.q : m->may.v)[inner] && !projects)
        return r->pattern ? NH_OK : refuse_solved(r, name);
    double *room = malloc((size_t)(2 * m->n + 1) * sizeof *room), value = NAN;
    if (!room)
        return nh_fail_memory(r->report);
    const nh_start_cause cause = {.position = position ? at + 1 : 0,
                                  .velocity = position ? 0 : at + 1};
    nh_report why;
    nh_status status = nh_start_moves_find(m, &cause, room, room + m->n, &why);
    if (status == NH_OK) {
        nh_show_velocities(r->s->system, m->z, m->z + m->n, 1, room);
        if (!position)
            value = room[at];
        else if (!rotates || !strchr(own, '.'))
            value = m->z[inner];
        status = add(r, name, position ? NH_BY_POSITION : NH_BY_VELOCITY, at, 0, value);
    } else if (status != NH_BAD_ARGUMENT)
        status = nh_fail(r->report, status, "%s", why.text);
    else
        status = r->pattern ? NH_OK
                            : nh_fail(r->report, status,
                                      "%s cannot be varied: %s, whatever the other start values",
                                      name, why.text);
    free(room);
    return status;
}

static nh_status read_starts(reader *r, const char *pattern)
{
    nh_status status = NH_OK;
    for (int i = 0; i < r->s->directions + r->s->velocities && status == NH_OK; i++) {
        char name[NAME_ROOM];
        nh_functional_name(r->s->system, i, name, sizeof name);
        if (means(pattern, name))
            status = add_start(r, i);
    }
    return status;
}

/* ---- names that mean nothing ---- */

static void list_name(char *list, size_t *used, nh_suggest *suggest, const char *name)
{
    nh_suggest_offer(suggest, name);
    if (*used < LIST_ROOM - NAME_ROOM)
        *used += (size_t)snprintf(list + *used, LIST_ROOM - *used, "%s%s", *used ? ", " : "", name);
    else if (*used < LIST_ROOM - 8 && strcmp(list + *used - 3, "...") != 0)
        *used += (size_t)snprintf(list + *used, LIST_ROOM - *used, ", ...");
}

static nh_status refuse(const reader *r)
{
    const nh_problem *p = r->start->problem;
    nh_suggest suggest = nh_suggest_begin(r->name);
    char list[LIST_ROOM] = "";
    size_t used = 0;
    for (int i = 0; i < p->parameters; i++)
        if (!p->fixed[i])
            list_name(list, &used, &suggest, p->parameter[i].name);
    for (int i = 0; i < p->inputs; i++)
        if (p->input[i].table.rows > 0)
            list_name(list, &used, &suggest, p->input[i].name);
    for (int i = 0; i < r->s->directions + r->s->velocities; i++) {
        char name[NAME_ROOM] = "start ";
        nh_functional_name(r->s->system, i, name + 6, sizeof name - 6);
        if (strcmp(name + 6, r->name) == 0)
            return nh_fail(r->report, NH_BAD_ARGUMENT,
                           "'%s' is no parameter and no input; its start value is named '%s'",
                           r->name, name);
        list_name(list, &used, &suggest, name);
    }
    return nh_fail(r->report, NH_BAD_ARGUMENT,
                   "nothing named '%s' to differentiate by%s\nwhat can be named: %s", r->name,
                   nh_suggest_end(&suggest).text, list);
}

/* ---- the list ---- */

static nh_status read_item(reader *r)
{
    static const char start[] = "start";
    const size_t length = sizeof start - 1;
    const bool all = strcmp(r->name, "all") == 0;
    const bool starts =
        strncmp(r->name, start, length) == 0 && isspace((unsigned char)r->name[length]);
    const char *pattern = all ? "*" : r->name;
    r->pattern = all || strchr(r->name, '*') != NULL;
    r->found = false;
    nh_status status = NH_OK;
    if (starts) {
        for (pattern += length; isspace((unsigned char)*pattern);)
            pattern++;
        return (status = read_starts(r, pattern)) == NH_OK && !r->found ? refuse(r) : status;
    }
    status = read_parameters(r, pattern);
    if (status == NH_OK && all)
        status = read_starts(r, pattern);
    if (status == NH_OK)
        status = read_inputs(r, pattern);
    return status == NH_OK && !r->found && !all ? refuse(r) : status;
}

nh_status nh_sensitivity_read(nh_sensitivity *s, nh_start_moves *start, const char *names,
                              nh_report *report)
{
    reader r = {.s = s, .start = start, .report = report};
    nh_status status = NH_OK;
    for (const char *at = names; at && status == NH_OK;) {
        const char *end = at + strcspn(at, ","), *next = *end ? end + 1 : NULL;
        while (at < end && isspace((unsigned char)*at))
            at++;
        while (end > at && isspace((unsigned char)end[-1]))
            end--;
        if (end - at >= NAME_ROOM || end == at)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "names to differentiate by, separated by commas, are expected instead "
                           "of '%.80s'",
                           names);
        snprintf(r.name, sizeof r.name, "%.*s", (int)(end - at), at);
        status = read_item(&r);
        at = next;
    }
    if (status == NH_OK && s->count == 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "'%s': nothing of %s can be varied", names,
                         s->system->name);
    return status;
}
