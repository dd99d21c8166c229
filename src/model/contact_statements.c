/* Contacts, which can open, and grips, which can slip: `contact`, `constraint .. grip`, `impacts in
 * turn`, and the limits of grips. What a mode makes of them is in mode_equations.c. */
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
        FAIL(&b->x, s->restitution->place,
             "a coefficient of restitution may contain only numbers and parameters");
    else if (!(value.number >= 0 && value.number <= 1))
        FAIL(&b->x, s->restitution->place,
             "the coefficient of restitution is %g; expected a number from 0 to 1", value.number);
    return value.number;
}

void nh_build_contact(nh_builder *b, const nh_statement *s, int64_t index)
{
    const nh_item *from = s->item;
    nh_graph *g = b->problem->graph;
    const nh_value left = nh_expand(&b->x, from->left), right = nh_expand(&b->x, from->right);
    const nh_value whole = {0};
    if (!b->x.status && (!nh_is_single(left) || !nh_is_single(right)))
        FAIL(&b->x, from->place, "a contact is a condition on one number, found %s",
             nh_value_shape(nh_is_single(left) ? right : left).text);
    if (b->x.status)
        return;
    const nh_expr minuend = nh_entry_of(b, left, 0), subtrahend = nh_entry_of(b, right, 0);
    const nh_expr gap = nh_subtract(g, minuend, subtrahend);
    if (nh_depends(g, gap, NH_V))
        FAIL(&b->x, from->place,
             "the gap of contact '%s' contains velocities; expected a function of time and "
             "positions",
             from->symbol->name);
    else if (!nh_depends(g, gap, NH_Q))
        FAIL(&b->x, from->place, "the gap of contact '%s' contains no coordinate",
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
                FAIL(&b->x, ast->place,
                     "the limit of '%s' contains the reaction of '%s' itself; expected that of "
                     "a contact or of another constraint",
                     item->name, name);
        if (nh_depends(g, slope.entry[i].value, NH_X))
            FAIL(&b->x, ast->place,
                 "the limit of '%s' is not linear in reaction(%s); expected a sum such as "
                 "mu*reaction(%s)",
                 item->name, name, name);
        else if (nh_is_number(g, slope.entry[i].value, &number) && number < 0)
            FAIL(&b->x, ast->place,
                 "the limit of '%s' has the coefficient %g of reaction(%s); expected one that "
                 "is not negative",
                 item->name, number, name);
    }
    if (slope.count == 0 && nh_is_number(g, limit, &number) && number < 0)
        FAIL(&b->x, ast->place, "the limit of '%s' is %g; expected a limit that is not negative",
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
        FAIL(&b->x, ast->place,
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
        FAIL(&b->x, ast->place, "'%s' has %d component%s, and its limit is %s", item->name,
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
            FAIL(&b->x, p->item[i].place,
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
        FAIL(&b->x, s->item->place,
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
            FAIL(&b->x, s->item->place,
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

void nh_finish_limits(nh_builder *b)
{
    nh_problem *p = b->problem;
    for (int i = 0; i < p->items && !b->x.status; i++)
        if (!p->item[i].contact)
            find_loads(b, p->item + i);
    for (int i = 0; i < p->items && !b->x.status; i++)
        p->item[i].bilateral = !p->item[i].contact && is_bilateral(b, p->item + i);
    check_cycles(b);
}
