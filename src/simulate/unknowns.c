/* Motions for values of named unknowns: see unknowns.h. */
#include "simulate/unknowns.h"

#include "analysis/functionals.h"
#include "base/decimal.h"
#include "base/status.h"
#include "base/text.h"
#include "model/suggest.h"
#include "system/attitude.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double apart = 1e-3; /* relative step of differences of start states */

/* ---- names ---- */

static bool is_start(const char *name)
{
    return strncmp(name, "start ", 6) == 0;
}

static bool find_parameter(nh_unknowns *s, nh_unknown *item)
{
    for (int i = 0; i < s->parameters; i++)
        if (strcmp(nh_system_parameter_name(s->base, i), item->entry) == 0) {
            item->parameter = i;
            item->value = nh_system_parameter_value(s->base, i);
            return true;
        }
    return false;
}

/* The rotation that a name like "R.2" or "R.w2" belongs to. */
static void find_rotation(const nh_unknowns *s, nh_unknown *item)
{
    const nh_problem *p = s->base->mechanics->problem;
    const char *dot = strrchr(item->entry, '.');
    item->rotation = -1;
    nh_print(item->assigned[0], sizeof item->assigned[0], "%s", item->entry);
    for (int i = 0; dot && i < p->rotations; i++) {
        const char *name = p->rotation[i].name;
        const bool spins = item->place >= s->positions;
        if (strlen(name) != (size_t)(dot - item->entry) ||
            strncmp(name, item->entry, strlen(name)) != 0)
            continue;
        item->rotation = i;
        item->axis = dot[spins ? 2 : 1] - '1';
        nh_print(item->assigned[0], sizeof item->assigned[0], spins ? "body(%s)" : "%s", name);
        if (spins)
            nh_print(item->assigned[1], sizeof item->assigned[1], "space(%s)", name);
    }
}

static bool find_start(const nh_unknowns *s, nh_unknown *item)
{
    char name[NH_NAME_LONGEST + 40];
    for (int i = 0; i < s->positions + s->velocities; i++) {
        nh_functional_name(s->base, i, name, sizeof name);
        if (strcmp(name, item->entry) != 0)
            continue;
        item->place = i;
        find_rotation(s, item);
        return true;
    }
    return false;
}

static nh_status refuse_name(const nh_unknowns *s, nh_unknown *item, nh_report *report)
{
    nh_suggest suggest = nh_suggest_begin(item->entry);
    char name[NH_NAME_LONGEST + 40];
    if (!is_start(item->name)) {
        for (int i = 0; i < s->parameters; i++)
            nh_suggest_offer(&suggest, nh_system_parameter_name(s->base, i));
        const bool value = find_start(s, item);
        return nh_fail(report, NH_BAD_ARGUMENT, "there is no parameter '%s'%s%s%s%s", item->entry,
                       value ? "; its start value is 'start " : nh_suggest_end(&suggest).text,
                       value ? item->entry : "", value ? "'" : "",
                       s->parameters == 0 && !value ? ": the model has none" : "");
    }
    const nh_problem *p = s->base->mechanics->problem;
    for (int i = 0; i < p->rotations; i++)
        if (strcmp(p->rotation[i].name, item->entry) == 0)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s: a rotation is varied about its axes, as 'start %s.1', 'start "
                           "%s.2', 'start %s.3'",
                           item->name, item->entry, item->entry, item->entry);
    for (int i = 0; i < s->positions + s->velocities; i++) {
        nh_functional_name(s->base, i, name, sizeof name);
        nh_suggest_offer(&suggest, name);
    }
    return nh_fail(report, NH_BAD_ARGUMENT, "%s: there is no coordinate or velocity '%s'%s",
                   item->name, item->entry, nh_suggest_end(&suggest).text);
}

static nh_status find_item(nh_unknowns *s, int index, const char *name, nh_report *report)
{
    nh_unknown *item = s->item + index;
    *item = (nh_unknown){.name = name, .entry = name, .parameter = -1, .place = -1, .rotation = -1};
    if (is_start(name))
        item->entry += 6 + strspn(name + 6, " ");
    for (int i = 0; i < index; i++)
        if (strcmp(s->item[i].entry, item->entry) == 0)
            return nh_fail(report, NH_BAD_ARGUMENT, "'%s' is named twice", name);
    if (!(is_start(name) ? find_start(s, item) : find_parameter(s, item)))
        return refuse_name(s, item, report);
    s->by_parameters |= item->parameter >= 0;
    return NH_OK;
}

/* What cannot be varied has no derivatives either: parameters that decide the form of the
 * equations, and start values that are solved for. */
static nh_status check_varied(const nh_unknowns *s, nh_report *report)
{
    nh_sensitivity *found = NULL;
    nh_text names = {0};
    for (int i = 0; i < s->count; i++)
        nh_text_add(&names, "%s%s", i ? "," : "", s->item[i].name);
    nh_status status = s->count == 0 ? NH_OK
                       : names.failed
                           ? nh_fail_memory(report)
                           : nh_sensitivity_create(&found, s->base, names.data, &s->start, report);
    nh_sensitivity_free(found);
    nh_text_free(&names);
    return status;
}

/* ---- starts ---- */

static bool is_varied(const nh_unknowns *s, const char *item, size_t length)
{
    size_t name = strcspn(item, "=");
    name = name < length ? name : length;
    while (length > 0 && (*item == ' ')) {
        item++;
        name--;
        length--;
    }
    while (name > 0 && item[name - 1] == ' ')
        name--;
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < 2 && s->item[i].place >= 0; k++)
            if (strlen(s->item[i].assigned[k]) == name &&
                strncmp(s->item[i].assigned[k], item, name) == 0)
                return true;
    return false;
}

static void add_item(nh_text *text, const char *item, size_t length)
{
    if (text->length > 0)
        nh_text_add_plain(text, ", ");
    nh_text_add_bytes(text, item, length);
}

/* The given assignments without those of what is varied. */
static void add_given(const nh_unknowns *s, nh_text *text)
{
    const char *from = s->start.assignments;
    int depth = 0;
    for (const char *c = from; from && *from; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (*c && (*c != ',' || depth > 0))
            continue;
        if (!is_varied(s, from, (size_t)(c - from)))
            add_item(text, from, (size_t)(c - from));
        from = *c ? c + 1 : c;
    }
}

/* The value that is assigned to a rotation, or to its rates, with the varied ones replaced. */
static void describe_rotation(const nh_unknowns *s, const double *value, const nh_unknown *item,
                              char *text, size_t room)
{
    const nh_rotation *r = s->base->mechanics->problem->rotation + item->rotation;
    const bool spins = item->place >= s->positions;
    const double *p = s->first + r->first;
    double w[3] = {0};
    const int rates = item->place - item->axis - s->positions;
    for (int i = 0; i < 3 && spins; i++)
        w[i] = s->first[nh_system_coordinates(s->base) + rates + i];
    for (int i = 0; i < s->count; i++)
        if (s->item[i].place >= 0 && s->item[i].rotation == item->rotation &&
            strcmp(s->item[i].assigned[0], item->assigned[0]) == 0)
            w[s->item[i].axis] = value[i];
    if (spins) {
        nh_print(text, room, "%s=(%.17g,%.17g,%.17g)", item->assigned[0], w[0], w[1], w[2]);
        return;
    }
    const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), c = cos(angle / 2);
    const double by = angle > 0 ? sin(angle / 2) / angle : 0.5;
    for (int i = 0; i < 3; i++)
        w[i] *= by;
    nh_print(text, room, "%s=(%.17g,%.17g,%.17g,%.17g)", item->assigned[0],
             p[0] * c - p[1] * w[0] - p[2] * w[1] - p[3] * w[2],
             p[1] * c + p[0] * w[0] + p[2] * w[2] - p[3] * w[1],
             p[2] * c + p[0] * w[1] + p[3] * w[0] - p[1] * w[2],
             p[3] * c + p[0] * w[2] + p[1] * w[1] - p[2] * w[0]);
}

/* Whether an unknown before it has assigned the same rotation already. */
static bool is_assigned(const nh_unknowns *s, int index)
{
    for (int i = 0; i < index; i++)
        if (s->item[i].place >= 0 && s->item[i].rotation >= 0 &&
            strcmp(s->item[i].assigned[0], s->item[index].assigned[0]) == 0)
            return true;
    return false;
}

/* The options of the start at these values; with NULL, of the given start. */
static bool describe_start(const nh_unknowns *s, const double *value, nh_start_options *o,
                           nh_text *assignments, nh_text *keep)
{
    const int n = nh_system_coordinates(s->base);
    bool moves = false, solves = false;
    *o = s->start;
    if (!value)
        return true;
    add_given(s, assignments);
    if (o->keep)
        nh_text_add_plain(keep, o->keep);
    for (int i = 0; i < s->count; i++) {
        const nh_unknown *item = s->item + i;
        if (item->place < 0 || is_assigned(s, i))
            continue;
        char text[400];
        if (item->rotation >= 0)
            describe_rotation(s, value, item, text, sizeof text);
        else
            nh_print(text, sizeof text, "%s=%.17g", item->entry, value[i]);
        add_item(assignments, text, strlen(text));
        if (item->place >= s->positions || s->base->shape.positions > 0)
            add_item(keep, item->assigned[0], strlen(item->assigned[0]));
        moves = true;
    }
    for (int i = 0; i < n + s->velocities; i++)
        solves |= i < n ? nh_system_solves_position(s->base, i) : nh_system_solves(s->base, i - n);
    o->assignments = assignments->data;
    if (moves && !solves && !o->solve && nh_system_constraints(s->base) > 0) {
        o->project = true;
        o->keep = keep->data;
    }
    return !assignments->failed && !keep->failed;
}

/* The system and its start at these values (NULL: those of the base). */
static nh_status build(const nh_unknowns *s, const double *value, nh_system **system, double *q,
                       double *v, nh_report *report)
{
    const char **name = calloc((size_t)s->count + 1, sizeof *name);
    double *number = calloc((size_t)s->count + 1, sizeof *number);
    nh_text assignments = {0}, keep = {0};
    nh_start_options o;
    nh_status status = name && number ? NH_OK : nh_fail_memory(report);
    int parameters = 0;
    for (int i = 0; status == NH_OK && i < s->count && value; i++)
        if (s->item[i].parameter >= 0) {
            name[parameters] = s->item[i].entry;
            number[parameters++] = value[i];
        }
    *system = NULL;
    if (status == NH_OK)
        status = nh_system_build_with(system, s->base, parameters, name, number, report);
    if (status == NH_OK && !describe_start(s, value, &o, &assignments, &keep))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_system_begin(*system, &o, q, v, report);
    nh_text_free(&assignments);
    nh_text_free(&keep);
    free(name);
    free(number);
    return status;
}

/* ---- directions ---- */

/* What belongs to one changed value: positions, velocities, parameters. */
static nh_status look_beside(const nh_unknowns *s, double *value, int which, double by, double *to,
                             nh_report *report)
{
    const int n = nh_system_coordinates(s->base);
    const double old = value[which];
    nh_system *system;
    value[which] = old + by;
    nh_status status = build(s, value, &system, to, to + n, report);
    value[which] = old;
    for (int i = 0; i < s->parameters && status == NH_OK; i++)
        to[n + s->velocities + i] = nh_system_parameter_value(system, i);
    nh_system_free(system);
    return status;
}

/* Extrapolated central differences; start expressions, and those of parameters that follow others,
 * are smooth. */
static nh_status find_direction(nh_unknowns *s, double *value, int which, double *room,
                                nh_report *report)
{
    const int n = nh_system_coordinates(s->base), all = n + s->velocities + s->parameters;
    const double h = apart * fmax(1e-3, fabs(value[which]));
    double *at[4] = {room, room + all, room + 2 * all, room + 3 * all};
    double *change = room + 4 * all, *shown = change + all;
    const double step[4] = {-2 * h, -h, h, 2 * h};
    nh_status status = NH_OK;
    for (int i = 0; i < 4 && status == NH_OK; i++)
        status = look_beside(s, value, which, step[i], at[i], report);
    if (status != NH_OK)
        return status;
    for (int i = 0; i < all; i++) {
        const double near = (at[2][i] - at[1][i]) / (2 * h), far = (at[3][i] - at[0][i]) / (4 * h);
        change[i] = (4 * near - far) / 3;
    }
    memcpy(s->dv + which * s->velocities, change + n, (size_t)s->velocities * sizeof *change);
    memcpy(s->dp + which * s->parameters, change + n + s->velocities,
           (size_t)s->parameters * sizeof *change);
    memset(change + n, 0, (size_t)(all - n) * sizeof *change);
    nh_show_velocities(s->system, s->q, change, 1, shown); /* a rotation changes about its axes */
    memcpy(s->dq + which * s->positions, shown, (size_t)s->positions * sizeof *shown);
    return NH_OK;
}

static nh_status find_directions(nh_unknowns *s, nh_report *report)
{
    const int all = nh_system_coordinates(s->base) + s->velocities + s->parameters;
    double *value = malloc(((size_t)s->count + 6 * (size_t)all + 1) * sizeof *value);
    if (!value)
        return nh_fail_memory(report);
    for (int i = 0; i < s->count; i++)
        value[i] = s->item[i].value;
    nh_status status = NH_OK;
    for (int i = 0; i < s->count && status == NH_OK; i++)
        status = find_direction(s, value, i, value + s->count, report);
    free(value);
    return status;
}

nh_status nh_unknowns_set(nh_unknowns *s, const double *value, nh_report *report)
{
    const int n = nh_system_coordinates(s->base);
    double *q = malloc((size_t)(n + s->velocities + 1) * sizeof *q);
    nh_system *system;
    if (!q)
        return nh_fail_memory(report);
    nh_status status = build(s, value, &system, q, q + n, report);
    if (status == NH_OK) {
        nh_system_free(s->system);
        s->system = system;
        memcpy(s->q, q, (size_t)n * sizeof *q);
        memcpy(s->v, q + n, (size_t)s->velocities * sizeof *q);
        for (int i = 0; i < s->count && value; i++)
            s->item[i].value = value[i];
        status = value ? find_directions(s, report) : NH_OK;
    } else
        nh_system_free(system);
    free(q);
    return status;
}

/* ---- for users ---- */

static bool allocate(nh_unknowns *s)
{
    const size_t n = (size_t)nh_system_coordinates(s->base), k = (size_t)s->velocities,
                 count = (size_t)s->count, positions = (size_t)s->positions,
                 parameters = (size_t)s->parameters;
    s->item = calloc(count + 1, sizeof *s->item);
    s->q = calloc(2 * (n + k) + count * (positions + k + parameters) + 1, sizeof *s->q);
    if (!s->item || !s->q)
        return false;
    s->v = s->q + n;
    s->first = s->v + k;
    s->dq = s->first + n + k;
    s->dv = s->dq + count * positions;
    s->dp = s->dv + count * k;
    return true;
}

/* The values at the start; a rotation is not turned from it. */
static void find_values(nh_unknowns *s)
{
    const int n = nh_system_coordinates(s->base);
    const nh_problem *p = s->base->mechanics->problem;
    memcpy(s->first, s->q, (size_t)(n + s->velocities) * sizeof *s->first);
    for (int i = 0; i < s->count; i++) {
        nh_unknown *item = s->item + i;
        int coordinate = item->place;
        for (int k = 0; k < p->rotations; k++) /* these have a number more than directions */
            coordinate += coordinate >= p->rotation[k].first;
        if (item->place >= s->positions)
            item->value = s->v[item->place - s->positions];
        else if (item->place >= 0)
            item->value = item->rotation >= 0 ? 0 : s->q[coordinate];
    }
}

nh_status nh_unknowns_begin(nh_unknowns *out, const nh_system *base, const nh_start_options *start,
                            int count, const char *const *name, nh_report *report)
{
    *out = (nh_unknowns){.base = base,
                         .start = start ? *start : nh_start_options_default(),
                         .count = count,
                         .positions = nh_system_directions(base),
                         .velocities = nh_system_velocities(base),
                         .parameters = nh_system_parameters(base)};
    if (!base->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; models can",
                       base->name);
    nh_status status = allocate(out) ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < count && status == NH_OK; i++)
        status = find_item(out, i, name[i], report);
    if (status == NH_OK)
        status = check_varied(out, report);
    if (status == NH_OK)
        status = nh_unknowns_set(out, NULL, report);
    if (status == NH_OK)
        find_values(out);
    return status;
}

void nh_unknowns_end(nh_unknowns *s)
{
    nh_system_free(s->system);
    free(s->item);
    free(s->q);
    *s = (nh_unknowns){0};
}

nh_status nh_unknowns_start(const nh_unknowns *s, nh_run *run, int member, int first,
                            nh_report *report)
{
    nh_status status = nh_run_start(run, member, s->start.t, s->q, s->v, report);
    for (int i = 0; i < s->count && status == NH_OK; i++)
        status = nh_run_set_tangent(run, member, first + i,
                                    &(nh_direction){.q = s->dq + i * s->positions,
                                                    .v = s->dv + i * s->velocities,
                                                    .parameters = s->dp + i * s->parameters},
                                    report);
    return status;
}
