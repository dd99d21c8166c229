/* A problem is built for one mode: closed contacts and held grips become constraints, and grips
 * that slip become forces that depend on reactions. With them come the functions that are watched,
 * since the mode ends where one of them falls to zero, and columns. */
#include "base/status.h"
#include "model/build.h"
#include "model/vector.h"

#include <stdio.h>

/* ---- forces ---- */

static nh_expr square(nh_graph *g, nh_expr e)
{
    return nh_multiply(g, e, e);
}

static nh_expr given_number(nh_builder *b, int number)
{
    return nh_variable(b->problem->graph, NH_U, (uint32_t)number);
}

static int number_of(const nh_problem *p, int item, int which)
{
    return p->first_of_items + NH_ITEM_NUMBERS * item + which;
}

/* The ratios of the two half axes of an ellipse, which are linear in the same reaction: their
 * coefficients; of constant ones, the limits themselves. */
static void half_axes(nh_builder *b, const nh_problem_item *item, nh_expr axis[2])
{
    nh_graph *g = b->problem->graph;
    nh_partials slope[2] = {{0}, {0}};
    if (!nh_expr_gradient(g, item->limit[0], NH_X, slope) ||
        !nh_expr_gradient(g, item->limit[1], NH_X, slope + 1))
        nh_build_memory(b);
    const bool loaded = slope[0].count > 0;
    for (int c = 0; c < 2; c++)
        axis[c] = loaded ? nh_partial_of(slope + c, slope[0].entry[0].index) : item->limit[c];
    const nh_expr a = nh_multiply(g, item->limit[0], axis[1]);
    const nh_expr d = nh_subtract(g, a, nh_multiply(g, item->limit[1], axis[0]));
    if (d != NH_ZERO)
        FAIL(&b->x, item->place,
             "the two limits of '%s' are not in a fixed ratio; expected two multiples of the "
             "same load",
             item->name);
    nh_partials_free(slope);
    nh_partials_free(slope + 1);
}

static nh_expr given_of_all(nh_builder *b, int which)
{
    return given_number(b, b->problem->open_values - NH_ALL_NUMBERS + which);
}

/* The direction of a slip with two components, of any length: the slip itself; or the direction in
 * which it began, turned by a function of time (run/contact_guide.c). */
static void find_direction(nh_builder *b, int index, nh_expr out[2])
{
    const nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    const nh_expr guided = given_of_all(b, NH_ALL_GUIDED), free = nh_subtract(g, NH_ONE, guided);
    const nh_expr since = nh_subtract(g, nh_variable(g, NH_TIME, 0), given_of_all(b, NH_ALL_FROM));
    const nh_expr x = nh_multiply(g, since, given_of_all(b, NH_ALL_RATE));
    nh_expr turn = NH_ZERO, along[2];
    for (int i = NH_TURNS; i-- > 0;) {
        const nh_expr part = given_number(b, number_of(p, index, NH_ITEM_TURN + i));
        turn = nh_add(g, part, nh_multiply(g, x, turn));
    }
    for (int c = 0; c < 2; c++)
        along[c] = given_number(b, number_of(p, index, NH_ITEM_ALONG + c));
    for (int c = 0; c < 2; c++) {
        const nh_expr across = c == 0 ? nh_negate(g, along[1]) : along[0];
        const nh_expr given = nh_add(g, along[c], nh_multiply(g, across, turn));
        out[c] = nh_add(g, nh_multiply(g, free, p->item[index].speed[c]), given);
    }
}

/* The force of a grip that slips, L(reactions) against the direction of slip. */
static void find_friction(nh_builder *b, int index, nh_expr force[2])
{
    const nh_problem_item *item = b->problem->item + index;
    nh_graph *g = b->problem->graph;
    if (item->components == 1) {
        const double sign = item->hold == NH_HOLD_FORWARD ? -1 : 1;
        force[0] = nh_scale(g, sign, item->limit[0]);
        return;
    }
    nh_expr axis[2] = {NH_ONE, NH_ONE}, slip[2], sum = NH_ZERO;
    if (item->ellipse)
        half_axes(b, item, axis);
    find_direction(b, index, slip);
    for (int c = 0; c < 2; c++) {
        slip[c] = nh_multiply(g, axis[c], slip[c]);
        sum = nh_add(g, sum, square(g, slip[c]));
    }
    const nh_expr size = nh_sqrt(g, sum);
    for (int c = 0; c < 2 && !b->x.status; c++)
        force[c] = nh_negate(g, nh_multiply(g, item->limit[c], nh_divide(g, slip[c], size)));
}

/* The values of all reactions in terms of those of constraints. */
static void find_values(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    nh_expr *value = p->reaction_value = nh_build_take(b, p->reactions, sizeof *value);
    for (int i = 0; i < p->reactions && !b->x.status; i++)
        value[i] = p->reaction[i] >= 0 ? nh_variable(g, NH_X, (uint32_t)i) : NH_ZERO;
    for (int i = 0; i < p->items && !b->x.status; i++) {
        const nh_problem_item *item = p->item + i;
        nh_expr force[2];
        if (!nh_slips(item->hold))
            continue;
        find_friction(b, i, force);
        for (int c = 0; c < item->components; c++)
            value[item->reaction[c]] = force[c];
    }
    /* a limit may depend on the force of another grip that slips */
    for (int round = 0; round <= p->items && !b->x.status; round++)
        for (int i = 0; i < p->reactions; i++)
            if (p->reaction[i] < 0)
                value[i] = nh_substitute(g, value[i], NH_X, value, (size_t)p->reactions);
    for (int i = 0; i < p->reactions && !b->x.status; i++) /* the same name, written differently */
        for (int k = 0; k < p->items && p->reaction[i] < 0; k++)
            for (int c = 0; c < p->item[k].components; c++)
                if (p->item[k].reaction[c] != i &&
                    nh_row_is_called(b->x.reaction[p->item[k].reaction[c]].name,
                                     b->x.reaction[i].name))
                    value[i] = value[p->item[k].reaction[c]];
}

static nh_expr with_values(nh_builder *b, nh_expr e)
{
    return nh_substitute(b->problem->graph, e, NH_X, b->problem->reaction_value,
                         (size_t)b->problem->reactions);
}

static void add_friction(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    for (int i = 0; i < p->velocities && !b->x.status; i++)
        p->force[i] = with_values(b, p->force[i]);
    for (int i = 0; i < p->items && !b->x.status; i++) {
        const nh_problem_item *item = p->item + i;
        for (int c = 0; c < item->components && nh_slips(item->hold); c++) {
            nh_partials by_v;
            if (!nh_expr_gradient(g, item->speed[c], NH_V, &by_v)) {
                nh_build_memory(b);
                return;
            }
            for (size_t k = 0; k < by_v.count; k++) {
                nh_expr *force = p->force + by_v.entry[k].index;
                const nh_expr friction = p->reaction_value[item->reaction[c]];
                *force = nh_add(g, *force, nh_multiply(g, friction, by_v.entry[k].value));
            }
            nh_partials_free(&by_v);
        }
    }
}

/* ---- what is watched and told ---- */

static nh_expr reaction_of(nh_builder *b, const nh_problem_item *item, int c)
{
    return b->problem->reaction_value[item->reaction[c]];
}

/* Positive as long as a grip holds: the static limit squared minus the force squared. */
static nh_expr reserve_of(nh_builder *b, const nh_problem_item *item)
{
    nh_graph *g = b->problem->graph;
    const nh_expr first = square(g, with_values(b, item->still[0]));
    const nh_expr force = square(g, reaction_of(b, item, 0));
    if (item->components == 1)
        return nh_subtract(g, first, force);
    const nh_expr across = square(g, reaction_of(b, item, 1));
    if (!item->ellipse)
        return nh_subtract(g, nh_subtract(g, first, force), across);
    const nh_expr second = square(g, with_values(b, item->still[1]));
    const nh_expr all =
        nh_subtract(g, nh_multiply(g, first, second), nh_multiply(g, force, second));
    return nh_subtract(g, all, nh_multiply(g, across, first));
}

/* Positive as long as the mode remains possible for an item; NH_ONE if it always does. */
static nh_expr watched_of(nh_builder *b, int index)
{
    const nh_problem_item *item = b->problem->item + index;
    nh_graph *g = b->problem->graph;
    if (item->contact)
        return item->hold == NH_HOLD_FIRM      ? reaction_of(b, item, 0)
               : item->hold == NH_HOLD_IMPLIED ? NH_ONE
                                               : item->gap;
    if (item->hold == NH_HOLD_IMPLIED)
        return NH_ONE;
    if (nh_holds(item->hold))
        return reserve_of(b, item);
    if (!nh_slips(item->hold))
        return NH_ONE;
    if (item->components == 1)
        return nh_scale(g, item->hold == NH_HOLD_FORWARD ? 1 : -1, item->speed[0]);
    const nh_expr size = nh_add(g, square(g, item->speed[0]), square(g, item->speed[1]));
    const nh_expr above =
        nh_subtract(g, size, given_number(b, number_of(b->problem, index, NH_ITEM_EDGE)));
    const nh_expr left = nh_subtract(g, given_of_all(b, NH_ALL_UNTIL), nh_variable(g, NH_TIME, 0));
    return nh_add(g, above,
                  nh_multiply(g, given_of_all(b, NH_ALL_GUIDED), nh_subtract(g, left, above)));
}

/* Positive as long as the limit is; for a closed contact, what changes its sign at a corner. */
static nh_expr limit_watched(nh_builder *b, const nh_problem_item *item)
{
    if (item->contact)
        return item->hold == NH_HOLD_FIRM ? nh_choices_of(b, item->gap) : NH_ONE;
    const bool firm = nh_holds(item->hold);
    return item->bilateral && item->hold != NH_HOLD_NONE
               ? with_values(b, firm ? item->still[0] : item->limit[0])
               : NH_ONE;
}

static void add_event(nh_builder *b, const char *name, const char *what, nh_expr value,
                      int direction)
{
    nh_problem *p = b->problem;
    char text[NH_NAME_LONGEST + 64];
    snprintf(text, sizeof text, "%s %s", name, what);
    p->event = nh_build_grown(b, p->event, p->events, sizeof *p->event);
    char *copy = nh_build_copy(b, text);
    if (!b->x.status)
        p->event[p->events++] = (nh_problem_event){copy, value, direction};
}

const char *const nh_told[2][NH_TOLD] = {{"slips", "grips", "reverses"},
                                         {"opens", "hits", "closes"}};

void nh_add_told_events(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->model_events = p->events;
    for (int i = 0; i < p->items && !b->x.status; i++)
        for (int k = 0; k < NH_TOLD; k++)
            add_event(b, p->item[i].name, nh_told[p->item[i].contact][k], NH_ONE, 0);
}

static void add_watched_events(nh_builder *b)
{
    nh_problem *p = b->problem;
    for (int e = 0; e < p->model_events && !b->x.status; e++)
        p->event[e].value = with_values(b, p->event[e].value);
    for (int i = 0; i < p->items && !b->x.status; i++) {
        add_event(b, p->item[i].name, "changes", watched_of(b, i), -1);
        add_event(b, p->item[i].name, "has no limit", limit_watched(b, p->item + i),
                  p->item[i].contact ? 0 : -1);
    }
}

/* ---- columns ---- */

static void add_column(nh_builder *b, const char *name, const char *what, nh_expr value)
{
    char text[NH_NAME_LONGEST + 64];
    snprintf(text, sizeof text, "%s.%s", name, what);
    nh_add_observable(b, nh_build_copy(b, text), value);
}

/* The power that a grip takes from the motion: minus its force times the slip. */
static nh_expr power_of(nh_builder *b, const nh_problem_item *item)
{
    nh_graph *g = b->problem->graph;
    nh_expr sum = NH_ZERO;
    for (int c = 0; c < item->components && nh_slips(item->hold); c++)
        sum = nh_subtract(g, sum, nh_multiply(g, reaction_of(b, item, c), item->speed[c]));
    return sum;
}

/* Observables read reactions from the numbers of the items, since a reaction depends on the mode.
 */
static void add_columns(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_expr *known = nh_build_take(b, p->reactions, sizeof *known);
    for (int i = 0; i < p->reactions && !b->x.status; i++)
        known[i] = given_number(b, number_of(p, p->items, 0) + i);
    for (int i = 0; i < p->observables && !b->x.status; i++)
        p->observable[i].value =
            nh_substitute(p->graph, p->observable[i].value, NH_X, known, (size_t)p->reactions);
    for (int i = 0; i < p->items && !b->x.status; i++) {
        add_column(b, p->item[i].name, "mode", given_number(b, number_of(p, i, NH_ITEM_SHOWN)));
        add_column(b, p->item[i].name, "dissipated",
                   given_number(b, number_of(p, i, NH_ITEM_SPENT)));
    }
    p->own_observables = p->observables;
    for (int i = 0; i < p->reactions && p->is_mode && !b->x.status; i++)
        add_column(b, "reaction", b->x.reaction[i].name, p->reaction_value[i]);
    for (int i = 0; i < p->items && p->is_mode && !b->x.status; i++)
        add_column(b, p->item[i].name, "power", power_of(b, p->item + i));
}

/* The numbers of the items come after those of open inputs. */
static void take_numbers(nh_builder *b)
{
    nh_problem *p = b->problem;
    const int count = NH_ITEM_NUMBERS * p->items + p->reactions + NH_ALL_NUMBERS;
    double *start = nh_build_take(b, p->open_values + count, sizeof *start);
    for (int i = 0; i < p->open_values && !b->x.status; i++) {
        const nh_node node = nh_look(p->graph, given_number(b, i));
        start[i] = nh_graph_given(p->graph, &node, 0);
    }
    p->first_of_items = p->open_values;
    p->open_values += count;
    if (!b->x.status)
        nh_graph_set_inputs(p->graph, start, (uint32_t)p->open_values);
}

void nh_finish_items(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->own_observables = p->observables;
    p->is_mode = b->hold != NULL;
    if (p->items == 0)
        return;
    if (p->frames && !b->x.status)
        FAIL(&b->x, p->frame_place,
             "a model with contacts or grips cannot have a frame: the number "
             "of its constraints changes");
    nh_finish_limits(b);
    take_numbers(b);
    find_values(b);
    add_friction(b);
    add_watched_events(b);
    add_columns(b);
}
