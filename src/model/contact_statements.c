/* Contacts, which can open, and grips, which can slip: `contact`, `constraint .. grip`, `impacts in
 * turn`. A problem is built for one mode: closed contacts and held grips become constraints, and
 * grips that slip become forces that depend on reactions. */
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/statements.h"
#include "model/vector.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* contact NAME [for i in a..b]: expression >= expression [restitution expression] */
void nh_read_contact(nh_parser *p, nh_statement *s)
{
    if (!nh_expect_name(p, "the name of the contact, as in contact ground: z - r >= 0"))
        return;
    nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
    if (!item || !(item->symbol = nh_define(p, SYMBOL_CONTACT)))
        return;
    const bool family = nh_at_word(p, 0, "for");
    if (!nh_read_for(p, s) || (!family && !nh_expect(p, ':',
                                                     "':' and a condition such as "
                                                     "z - r >= 0")))
        return;
    item->place = nh_peek(p, 0).place;
    if (!(item->left = nh_read_expression(p)) ||
        !nh_expect(p, '>', "an operator or '>=': a contact is a condition such as z - r >= 0") ||
        !nh_expect(p, '=', "'>=': a contact is a condition such as z - r >= 0"))
        return;
    item->right = nh_read_expression(p);
    if (item->right && nh_at_word(p, 0, "restitution")) {
        nh_take(p);
        s->restitution = nh_read_expression(p);
    }
}

void nh_read_impacts(nh_parser *p, nh_statement *s)
{
    (void)s;
    static const char *const words[] = {"in", "turn"};
    for (int i = 0; i < 2; i++) {
        if (!nh_at_word(p, 0, words[i])) {
            nh_unexpected(p, "'impacts in turn'");
            return;
        }
        nh_take(p);
    }
}

void nh_read_grip(nh_parser *p, nh_statement *s)
{
    if (p->lexer.status || !nh_at_word(p, 0, "grip"))
        return;
    nh_take(p);
    s->limit = nh_read_expression(p);
    if (s->limit && nh_at_word(p, 0, "static")) {
        nh_take(p);
        s->static_limit = nh_read_expression(p);
    }
}

/* ---- building ---- */

#define FAIL_AT(b, place_, ...)                                                                    \
    (b->x.status = b->x.status ? b->x.status                                                       \
                               : nh_fail_at(b->report, &b->model->source, place_, __VA_ARGS__))

static nh_hold hold_of(const nh_builder *b, int item)
{
    return b->hold ? b->hold[item] : NH_HOLD_NONE;
}

static nh_problem_item *new_item(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->item = nh_build_grown(b, p->item, p->items, sizeof *p->item);
    if (b->x.status)
        return NULL;
    nh_problem_item *item = p->item + p->items;
    *item = (nh_problem_item){.hold = hold_of(b, p->items)};
    p->items++;
    return item;
}

static double restitution_of(nh_builder *b, const nh_statement *s)
{
    if (!s->restitution)
        return 0;
    const nh_value value = nh_expand_number(&b->x, s->restitution);
    if (value.symbolic)
        FAIL_AT(b, s->restitution->place,
                "a coefficient of restitution may contain only numbers and parameters");
    else if (!(value.number >= 0 && value.number <= 1))
        FAIL_AT(b, s->restitution->place,
                "the coefficient of restitution is %g; expected a number from 0 to 1",
                value.number);
    return value.number;
}

void nh_build_contact(nh_builder *b, const nh_statement *s, int64_t index)
{
    const nh_item *from = s->item;
    nh_graph *g = b->problem->graph;
    const nh_value left = nh_expand(&b->x, from->left), right = nh_expand(&b->x, from->right);
    const nh_value whole = {0};
    if (!b->x.status && (!nh_is_single(left) || !nh_is_single(right)))
        FAIL_AT(b, from->place, "a contact is a condition on one number, found %s",
                nh_value_shape(nh_is_single(left) ? right : left).text);
    if (b->x.status)
        return;
    const nh_expr minuend = nh_entry_of(b, left, 0), subtrahend = nh_entry_of(b, right, 0);
    const nh_expr gap = nh_subtract(g, minuend, subtrahend);
    if (nh_depends(g, gap, NH_V))
        FAIL_AT(b, from->place,
                "the gap of contact '%s' contains velocities; expected a function of time and "
                "positions",
                from->symbol->name);
    else if (!nh_depends(g, gap, NH_Q))
        FAIL_AT(b, from->place, "the gap of contact '%s' contains no coordinate",
                from->symbol->name);
    char *name = nh_entry_name(b, from->symbol->name, s, index, whole, 0);
    const double e = restitution_of(b, s);
    nh_problem_item *item = b->x.status ? NULL : new_item(b);
    if (!item)
        return;
    item->name = name;
    item->contact = true;
    item->components = 1;
    item->gap = gap;
    item->speed[0] = nh_total_derivative(g, gap);
    item->restitution = e;
    item->place = from->place;
    item->reaction[0] = nh_want_reaction(&b->x, name, from->place);
    if (item->hold == NH_HOLD_FIRM)
        nh_add_constraint(b, name, gap, from->place);
}

void nh_build_impacts(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)s, (void)index;
    b->problem->impacts_in_turn = true;
}

/* ---- limits ---- */

/* A limit is linear in reactions, with coefficients that are not negative. */
static void check_limit(nh_builder *b, const nh_ast *ast, const nh_problem_item *item,
                        nh_expr limit)
{
    nh_graph *g = b->problem->graph;
    nh_partials slope;
    double number = 0;
    if (b->x.status)
        return;
    if (!nh_expr_gradient(g, limit, NH_X, &slope)) {
        nh_build_memory(b);
        return;
    }
    for (size_t i = 0; i < slope.count && !b->x.status; i++) {
        const char *name = b->x.reaction[slope.entry[i].index].name;
        for (int c = 0; c < item->components; c++)
            if (item->reaction[c] == (int)slope.entry[i].index)
                FAIL_AT(b, ast->place,
                        "the limit of '%s' contains the reaction of '%s' itself; expected that of "
                        "a contact or of another constraint",
                        item->name, name);
        if (nh_depends(g, slope.entry[i].value, NH_X))
            FAIL_AT(b, ast->place,
                    "the limit of '%s' is not linear in reaction(%s); expected a sum such as "
                    "mu*reaction(%s)",
                    item->name, name, name);
        else if (nh_is_number(g, slope.entry[i].value, &number) && number < 0)
            FAIL_AT(b, ast->place,
                    "the limit of '%s' has the coefficient %g of reaction(%s); expected one that "
                    "is not negative",
                    item->name, number, name);
    }
    if (slope.count == 0 && nh_is_number(g, limit, &number) && number < 0)
        FAIL_AT(b, ast->place, "the limit of '%s' is %g; expected a limit that is not negative",
                item->name, number);
    nh_partials_free(&slope);
}

/* A number or a number times one reaction is compared; other expressions are not. */
static void check_static(nh_builder *b, const nh_ast *ast, const nh_problem_item *item, int c)
{
    nh_graph *g = b->problem->graph;
    const nh_expr more = nh_subtract(g, item->still[c], item->limit[c]);
    nh_partials slope;
    double number = 0;
    if (b->x.status || !nh_expr_gradient(g, more, NH_X, &slope))
        return;
    bool less = nh_is_number(g, more, &number) && number < 0;
    for (size_t i = 0; i < slope.count; i++)
        less |= nh_is_number(g, slope.entry[i].value, &number) && number < 0;
    nh_partials_free(&slope);
    if (less)
        FAIL_AT(b, ast->place,
                "the static limit of '%s' is less than the limit in slip; expected at least as "
                "much",
                item->name);
}

static void expand_limit(nh_builder *b, const nh_ast *ast, const nh_problem_item *item,
                         nh_expr limit[2], bool *ellipse)
{
    const nh_value value = nh_expand(&b->x, ast);
    const int64_t count = nh_is_single(value) ? 1 : nh_value_entries(value);
    if (!b->x.status && (value.columns || count > item->components))
        FAIL_AT(b, ast->place, "'%s' has %d component%s, and its limit is %s", item->name,
                item->components, item->components == 1 ? "" : "s", nh_value_shape(value).text);
    for (int c = 0; c < item->components && !b->x.status; c++) {
        limit[c] = nh_entry_of(b, value, count > 1 ? c : 0);
        check_limit(b, ast, item, limit[c]);
    }
    *ellipse = count > 1;
}

/* Whether a limit needs the reaction of a constraint that may pull as well as push. */
static bool is_bilateral(const nh_builder *b, const nh_problem_item *item)
{
    bool found = false;
    for (int r = 0; r < b->problem->reactions; r++) {
        bool pushes = !item->loads[r];
        for (int k = 0; k < b->problem->items; k++)
            pushes |= b->problem->item[k].contact && b->problem->item[k].reaction[0] == r;
        found |= !pushes;
    }
    return found;
}

/* What the limit of a grip consists of, even where its coefficients are zero at some times. */
static void find_loads(nh_builder *b, nh_problem_item *item)
{
    nh_graph *g = b->problem->graph;
    const int reactions = b->problem->reactions;
    nh_expr *zero = nh_build_take(b, reactions + 1, sizeof *zero);
    item->loads = nh_build_take(b, reactions + 1, sizeof *item->loads);
    for (int c = 0; c < 2 * item->components && !b->x.status; c++) {
        const nh_expr limit = c % 2 ? item->still[c / 2] : item->limit[c / 2];
        nh_partials slope;
        if (!nh_expr_gradient(g, limit, NH_X, &slope))
            return;
        for (size_t i = 0; i < slope.count; i++)
            item->loads[slope.entry[i].index] = true;
        nh_partials_free(&slope);
        item->constant |= nh_substitute(g, limit, NH_X, zero, (size_t)reactions) != NH_ZERO;
    }
}

static bool needs_reaction_of(nh_builder *b, const nh_problem_item *from, const nh_problem_item *of)
{
    nh_partials slope;
    bool found = false;
    for (int c = 0; c < 2 * from->components && !from->contact; c++) {
        const nh_expr limit = c % 2 ? from->still[c / 2] : from->limit[c / 2];
        if (!nh_expr_gradient(b->problem->graph, limit, NH_X, &slope))
            return false;
        for (size_t i = 0; i < slope.count; i++)
            for (int k = 0; k < of->components; k++)
                found |= of->reaction[k] == (int)slope.entry[i].index;
        nh_partials_free(&slope);
    }
    return found;
}

/* Whether the limit of an item depends on the force of another, directly or through others. */
static bool depends_on(nh_builder *b, int item, int other, int depth)
{
    const nh_problem *p = b->problem;
    for (int i = 0; i < p->items && depth > 0; i++)
        if (!p->item[i].contact && needs_reaction_of(b, p->item + item, p->item + i) &&
            (i == other || depends_on(b, i, other, depth - 1)))
            return true;
    return false;
}

static void check_cycles(nh_builder *b)
{
    const nh_problem *p = b->problem;
    for (int i = 0; i < p->items && !b->x.status; i++)
        if (!p->item[i].contact && depends_on(b, i, i, p->items))
            FAIL_AT(b, p->item[i].place,
                    "the limit of '%s' depends on its own force, through the limits of other "
                    "grips; expected reactions of contacts or of constraints that always hold",
                    p->item[i].name);
}

/* The slip is linear or affine in the velocities. */
static void check_slip(nh_builder *b, const nh_statement *s, const char *name, nh_expr value)
{
    nh_graph *g = b->problem->graph;
    nh_partials slope;
    if (!nh_depends(g, value, NH_V)) {
        FAIL_AT(b, s->item->place,
                "'%s' is a condition on positions, which cannot slip; write contact %s: .. >= 0, "
                "or a condition on velocities",
                name, name);
        return;
    }
    if (!nh_expr_gradient(g, value, NH_V, &slope)) {
        nh_build_memory(b);
        return;
    }
    for (size_t i = 0; i < slope.count; i++)
        if (nh_depends(g, slope.entry[i].value, NH_V))
            FAIL_AT(b, s->item->place,
                    "'%s' is not linear in the velocities, and a grip needs a slip that is", name);
    nh_partials_free(&slope);
}

void nh_build_grip(nh_builder *b, const nh_statement *s, char *name, int rows, char **row_name,
                   const nh_expr *value)
{
    for (int c = 0; c < rows && !b->x.status; c++)
        check_slip(b, s, name, value[c]);
    nh_problem_item *item = b->x.status ? NULL : new_item(b);
    if (!item)
        return;
    item->name = name;
    item->components = rows;
    item->place = s->item->place;
    for (int c = 0; c < rows; c++) {
        item->speed[c] = value[c];
        item->reaction[c] = nh_want_reaction(&b->x, row_name[c], item->place);
    }
    bool same;
    expand_limit(b, s->limit, item, item->limit, &item->ellipse);
    if (s->static_limit)
        expand_limit(b, s->static_limit, item, item->still, &same);
    for (int c = 0; c < rows && !b->x.status; c++)
        if (!s->static_limit)
            item->still[c] = item->limit[c];
        else
            check_static(b, s->static_limit, item, c);
    const int first = b->problem->constraints;
    for (int c = 0; c < rows && !b->x.status; c++)
        if (nh_is_held_row(item->hold, c))
            nh_add_constraint(b, row_name[c], value[c], item->place);
    if (rows > 1 && item->hold == NH_HOLD_FIRM && !b->x.status)
        nh_note_vector(b, name, first);
}

/* ---- the mode ---- */

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
        FAIL_AT(b, item->place,
                "the two limits of '%s' are not in a fixed ratio; expected two multiples of the "
                "same load",
                item->name);
    nh_partials_free(slope);
    nh_partials_free(slope + 1);
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
    for (int c = 0; c < 2; c++) {
        const nh_expr begun = given_number(b, number_of(b->problem, index, NH_ITEM_ALONG + c));
        slip[c] = nh_multiply(g, axis[c], nh_add(g, item->speed[c], begun));
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
    return nh_subtract(g, size, given_number(b, number_of(b->problem, index, NH_ITEM_EDGE)));
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
        FAIL_AT(b, p->frame_place,
                "a model with contacts or grips cannot have a frame: the number "
                "of its constraints changes");
    for (int i = 0; i < p->items && !b->x.status; i++)
        if (!p->item[i].contact)
            find_loads(b, p->item + i);
    for (int i = 0; i < p->items && !b->x.status; i++)
        p->item[i].bilateral = !p->item[i].contact && is_bilateral(b, p->item + i);
    check_cycles(b);
    take_numbers(b);
    find_values(b);
    add_friction(b);
    add_watched_events(b);
    add_columns(b);
}
