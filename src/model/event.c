/* Statements about the course of a run: its natural length (`span`), the sizes by which errors are
 * measured (`scale`), events, and what changes there (`when`). */
#include "model/build.h"
#include "model/statements.h"
#include "model/suggest.h"
#include "model/vector.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

void nh_read_span(nh_parser *p, nh_statement *s)
{
    nh_place *first = &p->model->span;
    nh_item *item = nh_add_item(p, s, s->place);
    if (first->line)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, s->place,
                                     "a second span; the first is on line %d", first->line);
    else if (item)
        item->right = nh_read_expression(p);
    *first = s->place;
}

void nh_read_scale(nh_parser *p, nh_statement *s)
{
    if (nh_read_for(p, s))
        nh_read_assignments(p, s);
}

/* Reads `for NAME in a..b:`, or only the colon, after the name of an event. */
static bool read_colon(nh_parser *p, nh_statement *s, const char *expected)
{
    return nh_at_word(p, 0, "for") ? nh_read_for(p, s) : nh_expect(p, ':', expected);
}

void nh_read_event(nh_parser *p, nh_statement *s)
{
    if (!nh_expect_name(p, "the name of the event, as in event floor: y falling"))
        return;
    nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
    if (!item || !(item->symbol = nh_define(p, SYMBOL_EVENT)) ||
        !read_colon(p, s, "':' and a function whose zeros are the events"))
        return;
    item->right = nh_read_expression(p);
    s->direction = nh_at_word(p, 0, "rising") ? 1 : nh_at_word(p, 0, "falling") ? -1 : 0;
    if (s->direction != 0)
        nh_take(p);
}

void nh_read_when(nh_parser *p, nh_statement *s)
{
    s->event = nh_read_reference(p, "the name of an event");
    for (int i = 0; s->event && i < 2 * NH_TOLD && !s->told; i++)
        s->told = nh_at_word(p, 0, nh_told[i / NH_TOLD][i % NH_TOLD])
                      ? nh_told[i / NH_TOLD][i % NH_TOLD]
                      : NULL;
    if (s->told)
        nh_take(p);
    if (s->event && read_colon(p, s, "':' and the change, as in when floor: y' = -y'"))
        nh_read_assignments(p, s);
}

/* ---- building ---- */

void nh_build_span(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    nh_value value = nh_expand_number(&b->x, s->item->right);
    if (b->x.status)
        return;
    if (value.symbolic)
        b->x.status = nh_fail_at(b->report, &b->model->source, s->item->right->place,
                                 "a span may contain only numbers and parameters");
    else if (!(value.number > 0) || !isfinite(value.number))
        b->x.status = nh_fail_at(b->report, &b->model->source, s->item->right->place,
                                 "the span is %g; expected a time greater than 0", value.number);
    b->problem->span = value.number;
}

void nh_add_scale(nh_builder *b, const nh_item *item, int64_t at, nh_expr value)
{
    nh_problem *p = b->problem;
    double number = 0;
    const bool known = nh_is_number(p->graph, value, &number);
    if (!p->scale)
        p->scale = nh_build_take(b, p->coordinates + p->velocities, sizeof *p->scale);
    if (b->x.status)
        return;
    if (!known)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->right->place,
                                 "a scale may contain only numbers and parameters");
    else if (!(number > 0) || !isfinite(number))
        b->x.status = nh_fail_at(b->report, &b->model->source, item->right->place,
                                 "the scale is %g; expected a size greater than 0", number);
    else if (p->scale[at] > 0)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->place,
                                 "'%s' already has a scale", item->left->name);
    else
        p->scale[at] = number;
}

/* Whether the present `when` refers to an event: by its name, or by that of its family. */
static bool is_meant(const nh_builder *b, const nh_problem_event *event)
{
    const char *rest = event->name + strlen(b->meant);
    if (strncmp(event->name, b->meant, strlen(b->meant)) != 0)
        return false;
    if (*rest == '[')
        rest = strchr(rest, ']') + 1;
    return b->meant_told ? *rest == ' ' && strcmp(rest + 1, b->meant_told) == 0 : *rest == 0;
}

static void unknown_event(nh_builder *b, const nh_ast *event)
{
    char name[sizeof b->meant + 16];
    snprintf(name, sizeof name, "%s%s%s", b->meant, b->meant_told ? " " : "",
             b->meant_told ? b->meant_told : "");
    nh_suggest suggest = nh_suggest_begin(name);
    for (int i = 0; i < b->problem->events; i++)
        nh_suggest_offer(&suggest, b->problem->event[i].name);
    b->x.status =
        nh_fail_at(b->report, &b->model->source, event->place, "there is no event '%s'%s", name,
                   *suggest.best ? nh_suggest_end(&suggest).text
                                 : "; expected the name of an 'event' statement");
}

/* The events that a `when` refers to: NAME[3], NAME[i] in a loop over i, or all that are called
 * NAME; NAME may be followed by "slips". */
static void find_events(nh_builder *b, const nh_statement *s, int64_t index)
{
    const nh_problem *p = b->problem;
    const nh_ast *event = s->event;
    int64_t member = event->child ? nh_expand_integer(&b->x, event->child, "the index") : index;
    if (event->child || s->loop)
        snprintf(b->meant, sizeof b->meant, "%s[%" PRId64 "]", event->name, member);
    else
        snprintf(b->meant, sizeof b->meant, "%s", event->name);
    b->meant_told = s->told;
    for (int e = 0; e < p->events; e++)
        if (is_meant(b, &p->event[e]))
            return;
    if (!b->x.status)
        unknown_event(b, event);
}

void nh_add_change(nh_builder *b, const nh_item *item, int64_t velocity, nh_expr value)
{
    nh_problem *p = b->problem;
    for (int e = 0; e < p->events && !b->x.status; e++) {
        if (!is_meant(b, &p->event[e]))
            continue;
        for (int i = 0; i < p->changes && !b->x.status; i++)
            if (p->change[i].event == e && p->change[i].velocity == velocity)
                b->x.status = nh_fail_at(b->report, &b->model->source, item->place,
                                         "'%s' already has a value at %s (line %d)",
                                         p->velocity_name[velocity], p->event[e].name,
                                         p->change[i].place.line);
        p->change = nh_build_grown(b, p->change, p->changes, sizeof *p->change);
        if (!b->x.status)
            p->change[p->changes++] = (nh_change){e, (int)velocity, value, item->place};
    }
}

void nh_build_when(nh_builder *b, const nh_statement *s, int64_t index)
{
    find_events(b, s, index);
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next)
        if (nh_is_position(item->left))
            b->x.status = nh_fail_at(b->report, &b->model->source, item->left->place,
                                     "'%s' is a coordinate, and positions do not change at an "
                                     "event; expected a velocity such as %s'",
                                     item->left->name, item->left->name);
    if (!b->x.status)
        nh_build_assignments(b, s, index);
}
