/* What only values can tell about short forms. First their shapes: is an inertia a number, a vector
 * or a matrix, a direction an angle or a vector. Then, in short_rows.c, which constraints need not
 * be stated. */
#include "model/draw.h"
#include "model/short_survey.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAS(PART) NH_SHORT_BIT(NH_PART_##PART)
#define IS(ANSWER) NH_SHORT_BIT(NH_IS_##ANSWER)

enum { ASKED_MOST = 9 }; /* values of one answer */

/* ---- a model with the questions ---- */

nh_status nh_survey_ask(nh_survey *a, const nh_outline *outline, nh_short_stage stage, bool named,
                        nh_report *report)
{
    *a = (nh_survey){.model = calloc(1, sizeof(nh_model))};
    if (!a->model)
        return nh_fail_memory(report);
    nh_model *m = a->model;
    nh_status status = nh_outline_write(outline, stage, &m->arena, &m->source, report);
    if (!status)
        status = nh_parse_model(m, report);
    if (!status)
        status = nh_resolve_model(m, report);
    if (!status)
        status =
            (named ? nh_problem_build_named : nh_problem_build)(&a->problem, m, NULL, 0, report);
    return status;
}

void nh_survey_free(nh_survey *a)
{
    nh_problem_free(a->problem);
    nh_model_free(a->model);
}

typedef struct answer {
    int count;   /* 0: it was not asked */
    bool matrix; /* rather than a vector */
    nh_expr value[ASKED_MOST];
} answer;

/* Of a family, the answer for the first member. */
static answer find(const nh_survey *a, const nh_short *s, const char *what)
{
    char base[128];
    answer found = {0};
    size_t length = (size_t)snprintf(base, sizeof base, "%s.asked_%s", s->name, what);
    for (int i = 0; i < a->problem->observables; i++) {
        const char *name = a->problem->observable[i].name;
        if (strncmp(name, base, length) != 0 || (name[length] && name[length] != '['))
            continue;
        if (s->index && found.count == 0) {
            length += strcspn(name + length, "]") + 1;
            snprintf(base, sizeof base, "%.*s", (int)length, name);
        }
        found.matrix = found.matrix || strchr(name + length, ',');
        if (found.count < ASKED_MOST)
            found.value[found.count] = a->problem->observable[i].value;
        found.count++;
    }
    return found;
}

static bool is_constant(const nh_survey *a, const answer *found)
{
    bool constant = true;
    for (int i = 0; i < found->count && i < ASKED_MOST; i++)
        constant = constant && nh_is_number(a->problem->graph, found->value[i], NULL);
    return constant;
}

/* ---- shapes ---- */

typedef struct shapes {
    const nh_outline *outline;
    const nh_survey *answers;
    nh_report *report;
    nh_status status;
    int gravity;      /* its length, or 0 */
    nh_place falling; /* its place */
} shapes;

#define FAIL_SHAPE(x, where, ...)                                                                  \
    ((x)->status = (x)->status                                                                     \
                       ? (x)->status                                                               \
                       : nh_fail_at((x)->report, (x)->outline->source, where, __VA_ARGS__))

static void see_point(shapes *x, nh_short *s)
{
    const bool space = s->has & (HAS(ATTITUDE) | HAS(AXIS));
    const bool plane = s->has & (HAS(ANGLE) | HAS(ALONG));
    const answer at = find(x->answers, s, "at");
    const nh_place place = s->part[NH_PART_AT].place;
    if (at.matrix || (at.count != 2 && at.count != 3) || (space && at.count != 3) ||
        (plane && at.count != 2))
        FAIL_SHAPE(x, place, "the point of '%s' has %d component%s; expected a vector of length %s",
                   s->name, at.count, nh_plural(at.count),
                   space   ? "3"
                   : plane ? "2, since it is in a plane"
                           : "3, or in a plane 2");
    else if (x->gravity && x->gravity != at.count && (s->has & HAS(MASS)))
        FAIL_SHAPE(x, place, "the point of '%s' has length %d, and gravity (line %d) has length %d",
                   s->name, at.count, x->falling.line, x->gravity);
    if (at.count == 3)
        s->has |= IS(IN_SPACE);
}

static void see_inertia(shapes *x, nh_short *s)
{
    const bool space = s->has & HAS(ATTITUDE), wheel = s->kind == NH_SHORT_WHEEL;
    const answer inertia = find(x->answers, s, "inertia");
    const bool pair = wheel && inertia.count == 2, matrix = space && inertia.count == 9;
    const bool diagonal = space && inertia.count == 3 && !inertia.matrix;
    if (inertia.count != 1 && !pair && !matrix && !diagonal)
        FAIL_SHAPE(x, s->part[NH_PART_INERTIA].place,
                   "the inertia of '%s' has %d components; expected %s%s", s->name, inertia.count,
                   space ? "a number, a vector of length 3 or a 3 by 3 matrix" : "a number",
                   wheel ? ", or (across, along) the axle" : "");
    for (int i = 0; i < inertia.count && !x->status; i += matrix ? 4 : 1) {
        double moment = 0;
        if (nh_is_number(x->answers->problem->graph, inertia.value[i], &moment) && moment < 0)
            FAIL_SHAPE(x, s->part[NH_PART_INERTIA].place,
                       "a moment of inertia of '%s' is %.6g; expected one that is not negative",
                       s->name, moment);
    }
    s->has |= (pair ? IS(PAIR) : 0) | (diagonal ? IS(DIAGONAL) : 0) |
              (diagonal || matrix ? IS(MATRIX) : 0);
}

static void see_axis(shapes *x, const nh_short *s)
{
    const nh_place place = s->part[NH_PART_AXIS].place;
    const answer axis = find(x->answers, s, "axis");
    double square = 0;
    if (axis.count != 3 || axis.matrix)
        FAIL_SHAPE(x, place, "the axis of '%s' has %d component%s; expected a vector of length 3",
                   s->name, axis.count, nh_plural(axis.count));
    for (int i = 0; i < 3 && !x->status; i++) {
        double part = 0;
        if (!nh_is_number(x->answers->problem->graph, axis.value[i], &part))
            FAIL_SHAPE(x, place,
                       "the axis of '%s' changes with the motion; expected one that is fixed in "
                       "its attitude, such as (0, 1, 0)",
                       s->name);
        square += part * part;
    }
    if (fabs(square - 1) > 1e-9)
        FAIL_SHAPE(x, place, "the axis of '%s' has norm %.6g; expected a unit vector such as %s",
                   s->name, sqrt(square), "(0, 1, 0)");
}

static void see_surface(shapes *x, nh_short *s)
{
    const answer plane = find(x->answers, s, "plane"), normal = find(x->answers, s, "normal");
    const bool point = plane.count != 3;
    if (point || normal.count != 3)
        FAIL_SHAPE(x, s->part[point ? NH_PART_PLANE : NH_PART_NORMAL].place,
                   "the %s the plane of '%s' has %d components; expected a vector of length 3",
                   point ? "point of" : "normal of", s->name, point ? plane.count : normal.count);
    else if (!is_constant(x->answers, &plane) || !is_constant(x->answers, &normal))
        s->has |= IS(CARRIED);
}

static void see_direction(shapes *x, nh_short *s)
{
    const answer along = find(x->answers, s, "along");
    if (along.count != 1 && (along.count != 2 || along.matrix))
        FAIL_SHAPE(x, s->part[NH_PART_ALONG].place,
                   "the direction of '%s' has %d components; expected an angle or a vector of "
                   "length 2",
                   s->name, along.count);
    s->has |= along.count == 2 ? IS(DIRECTION) : 0;
}

static void see_ends(shapes *x, nh_short *s)
{
    const answer from = find(x->answers, s, "from"), to = find(x->answers, s, "to");
    if (from.matrix || (from.count != 2 && from.count != 3) || to.count != from.count)
        FAIL_SHAPE(x, s->part[NH_PART_TO].place,
                   "the ends have %d and %d components; expected two vectors of length 3, or of "
                   "length 2 in a plane",
                   from.count, to.count);
    s->has |= from.count == 3 ? IS(IN_SPACE) : 0;
}

static void see_gravity(shapes *x, const nh_short *s)
{
    const answer vector = find(x->answers, s, "vector");
    x->gravity = vector.count;
    x->falling = s->place;
    if (vector.count != 2 && vector.count != 3)
        FAIL_SHAPE(x, s->part[NH_PART_VECTOR].place,
                   "gravity has %d component%s; expected a vector such as (0, 0, -9.81)",
                   vector.count, nh_plural(vector.count));
    for (int i = 0; i < vector.count && !x->status; i++) {
        nh_partials by;
        const bool done = nh_expr_gradient(x->answers->problem->graph, vector.value[i], NH_Q, &by);
        if (!done || by.count > 0)
            FAIL_SHAPE(x, s->part[NH_PART_VECTOR].place,
                       "gravity depends on coordinates; expected the same vector everywhere. A "
                       "field is written as its potential, in a lagrangian");
        nh_partials_free(&by);
    }
}

/* A single value. What is known not to be positive is refused; a mass may be zero. */
static void see_number(shapes *x, nh_short *s, nh_short_part part)
{
    const char *what = nh_short_part_name(part);
    const bool sized = part == NH_PART_MASS || part == NH_PART_RADIUS;
    const answer found = find(x->answers, s, what);
    double value = 1;
    if (found.count != 1)
        FAIL_SHAPE(x, s->part[part].place, "the %s of '%s' has %d components; expected a number",
                   what, s->name, found.count);
    else if (!nh_is_number(x->answers->problem->graph, found.value[0], &value) || !sized)
        return;
    if (value < 0 || (value == 0 && part == NH_PART_RADIUS))
        FAIL_SHAPE(x, s->part[part].place, "the %s of '%s' is %.6g; expected a positive number",
                   what, s->name, value);
    s->has |= value == 0 ? IS(MASSLESS) : 0;
}

static void see_shapes(shapes *x)
{
    static const nh_short_part numbers[] = {NH_PART_MASS,      NH_PART_RADIUS, NH_PART_SPIN,
                                            NH_PART_STIFFNESS, NH_PART_LENGTH, NH_PART_DAMPING};
    for (nh_short *s = x->outline->first; s && !x->status; s = s->next) {
        s->has &= ~IS(UNKNOWN);
        if (s->kind == NH_SHORT_GRAVITY)
            see_gravity(x, s);
    }
    for (nh_short *s = x->outline->first; s && !x->status; s = s->next) {
        if (s->index && find(x->answers, s, "at").count == 0)
            continue; /* a family without members */
        if (s->has & HAS(AT))
            see_point(x, s);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (s->has & NH_SHORT_BIT(numbers[i]))
                see_number(x, s, numbers[i]);
        if (s->has & HAS(INERTIA))
            see_inertia(x, s);
        if (s->has & HAS(AXIS))
            see_axis(x, s);
        if (s->has & HAS(PLANE))
            see_surface(x, s);
        if (s->has & HAS(ALONG))
            see_direction(x, s);
        if (s->has & HAS(FROM))
            see_ends(x, s);
    }
}

/* Bodies are not drawn among shapes of another dimension, as a plane model that is drawn in
 * space. */
static void see_drawing(const nh_outline *outline, const nh_problem *problem)
{
    int dimensions = 0;
    for (const nh_drawn *d = problem->drawing ? problem->drawing->first : NULL; d; d = d->next) {
        if (d->points > 0)
            dimensions = d->point[0].count;
        else if (d->key[NH_KEY_AT].count)
            dimensions = d->key[NH_KEY_AT].count;
    }
    for (nh_short *s = outline->first; s; s = s->next) {
        const int own = s->has & IS(IN_SPACE) ? 3 : 2;
        if (s->kind == NH_SHORT_GRAVITY || s->kind == NH_SHORT_BLADE || !(s->has & IS(DRAWN)))
            continue;
        dimensions = dimensions ? dimensions : own;
        if (own != dimensions || (s->has & IS(MASSLESS)))
            s->has &= ~IS(DRAWN);
    }
}

/* ---- the whole ---- */

static nh_status survey_shapes(nh_outline *outline, nh_report *report)
{
    nh_survey a;
    nh_status status = nh_survey_ask(&a, outline, NH_STAGE_SHAPES, false, report);
    shapes x = {.outline = outline, .answers = &a, .report = report};
    if (!status) {
        see_shapes(&x);
        status = x.status;
    }
    nh_survey_free(&a);
    return status;
}

static nh_status survey_rows(nh_outline *outline, nh_report *report)
{
    nh_survey a;
    nh_status status = nh_survey_ask(&a, outline, NH_STAGE_ROWS, false, report);
    if (!status) {
        see_drawing(outline, a.problem);
        status = nh_survey_rows(&a, outline, report);
    }
    nh_survey_free(&a);
    return status;
}

nh_status nh_outline_survey(nh_outline *outline, nh_report *report)
{
    const nh_status status = survey_shapes(outline, report);
    return status ? status : survey_rows(outline, report);
}
