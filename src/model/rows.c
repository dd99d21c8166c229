/* What a model adds row by row: observables, events and constraints; of vectors, one row for each
 * component. */
#include "model/build.h"
#include "model/arithmetic.h"
#include "model/vector.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *nh_entry_name(nh_builder *b, const char *base, const nh_statement *s, int64_t index,
                    nh_value value, int64_t entry)
{
    char name[NH_NAME_LONGEST + 96];
    size_t used = (size_t)snprintf(name, sizeof name, "%s", base);
    if (s->loop)
        used += (size_t)snprintf(name + used, sizeof name - used, "[%" PRId64 "]", index);
    if (value.columns)
        snprintf(name + used, sizeof name - used, "[%" PRId64 ",%" PRId64 "]",
                 entry / value.columns + 1, entry % value.columns + 1);
    else if (!nh_is_single(value))
        snprintf(name + used, sizeof name - used, "[%" PRId64 "]", entry + 1);
    return nh_build_copy(b, name);
}

void *nh_build_grown(nh_builder *b, void *array, int count, size_t size)
{
    if (count & (count - 1))
        return array; /* between two powers of two, there is room already */
    void *larger = nh_build_take(b, count ? 2 * (int64_t)count : 1, size);
    if (larger && count)
        memcpy(larger, array, (size_t)count * size);
    return larger ? larger : array;
}

nh_expr nh_entry_of(nh_builder *b, nh_value value, int64_t i)
{
    nh_value entry = nh_is_single(value) ? value : value.entry[i];
    return entry.symbolic ? entry.expr : nh_number(b->problem->graph, entry.number);
}

static int64_t entries_of(nh_value value)
{
    return nh_is_single(value) ? 1 : nh_value_entries(value);
}

void nh_add_observable(nh_builder *b, char *name, nh_expr value)
{
    nh_problem *p = b->problem;
    p->observable = nh_build_grown(b, p->observable, p->observables, sizeof *p->observable);
    if (!b->x.status)
        p->observable[p->observables++] = (nh_named_expr){name, value};
}

void nh_build_observe(nh_builder *b, const nh_statement *s, int64_t index)
{
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_value value = nh_expand(&b->x, item->symbol->body);
        for (int64_t i = 0; i < entries_of(value) && !b->x.status; i++) {
            char *name = nh_entry_name(b, item->symbol->name, s, index, value, i);
            nh_add_observable(b, name, nh_entry_of(b, value, i));
        }
    }
}

#define ASKED "observe\n"

bool nh_is_asked_setting(const char *text)
{
    return strncmp(text, ASKED, strlen(ASKED)) == 0;
}

/* "observe\nNAME\nEXPRESSION" */
static void build_asked(nh_builder *b, const char *setting)
{
    const char *name = setting + strlen(ASKED), *text = strchr(name, '\n') + 1;
    char *label = nh_build_copy(b, name);
    nh_ast *value = NULL;
    if (b->x.status)
        return;
    label[text - 1 - name] = '\0';
    nh_source source = {
        .text = nh_build_copy(b, text), .length = strlen(text), .file = label, .argument = true};
    if (!b->x.status)
        b->x.status = nh_source_check(&source, b->report);
    if (!b->x.status)
        b->x.status = nh_parse_expression(&value, &b->built->arena, &source, 0, b->report);
    if (!b->x.status)
        b->x.status = nh_resolve_setting(value, &source, &b->model->symbols, -1, b->report);
    if (b->x.status)
        return;
    const nh_source *outer_source = b->x.source;
    const nh_frame outer = nh_frame_open(&b->x, NH_NESTING_DEEPEST);
    b->x.source = &source;
    const nh_value found = nh_expand(&b->x, value);
    const nh_expr e = nh_value_expr(&b->x, found);
    if (!b->x.status)
        nh_add_observable(b, label, e);
    b->x.source = outer_source;
    nh_frame_close(&b->x, outer);
}

void nh_build_asked(nh_builder *b, const char *const *settings, size_t count)
{
    for (size_t i = 0; i < count && !b->x.status; i++)
        if (nh_is_asked_setting(settings[i]))
            build_asked(b, settings[i]);
}

void nh_build_event(nh_builder *b, const nh_statement *s, int64_t index)
{
    nh_problem *p = b->problem;
    const nh_item *item = s->item;
    nh_value value = nh_expand(&b->x, item->right);
    for (int64_t i = 0; i < entries_of(value) && !b->x.status; i++) {
        char *name = nh_entry_name(b, item->symbol->name, s, index, value, i);
        nh_expr e = nh_entry_of(b, value, i);
        if (nh_is_number(p->graph, e, NULL))
            b->x.status = nh_fail_at(
                b->report, &b->model->source, item->right->place,
                "%s is constant; an event is a sign change of a function of the state or of time",
                name);
        p->event = nh_build_grown(b, p->event, p->events, sizeof *p->event);
        if (!b->x.status)
            p->event[p->events++] = (nh_problem_event){name, e, s->direction};
    }
}

/* k(t, q, v) = 0, or without velocities g(t, q) = 0. */
void nh_add_constraint(nh_builder *b, char *name, nh_expr value, nh_place place)
{
    nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    nh_problem_constraint c = {.name = name, .value = value, .place = place};
    if (!nh_depends(g, value, NH_V)) {
        c.on_positions = true;
        c.position = value;
        c.value = nh_total_derivative(g, value);
        p->positions++;
    }
    if (nh_graph_failed(g))
        nh_build_memory(b); /* the expressions built so far are invalid */
    else if (c.on_positions && !nh_depends(g, value, NH_Q))
        b->x.status = nh_fail_at(
            b->report, &b->model->source, place,
            value == NH_ZERO
                ? "the two sides of %s are equal; expected a condition on velocities or coordinates"
                : "%s contains neither a velocity nor a coordinate; expected a condition on one of "
                  "them",
            name);
    else if (p->constraints == NH_COORDINATES_MOST)
        b->x.status = nh_too_large_at(b->report, &b->model->source, place,
                                      "more than %d constraints", NH_COORDINATES_MOST);
    p->constraint = nh_build_grown(b, p->constraint, p->constraints, sizeof *p->constraint);
    if (!b->x.status)
        p->constraint[p->constraints++] = c;
}

/* Left minus right, component i. */
static nh_expr difference_of(nh_builder *b, nh_value left, nh_value right, int64_t i)
{
    nh_expr minuend = nh_entry_of(b, left, i), subtrahend = nh_entry_of(b, right, i);
    return nh_subtract(b->problem->graph, minuend, subtrahend);
}

/* For v + w x r = 0 on level ground the third component is 0 = 0, which is no reason to reject the
 * other two. */
static bool any_differ(nh_builder *b, nh_value left, nh_value right)
{
    for (int64_t i = 0; i < entries_of(left); i++)
        if (difference_of(b, left, right, i) != NH_ZERO)
            return true;
    return false;
}

/* Records that the constraints from `first` on are components of one vector equation. */
void nh_note_vector(nh_builder *b, const char *base, int first)
{
    nh_problem *p = b->problem;
    for (int i = first; i < p->constraints && !b->x.status; i++) {
        char name[2 * NH_NAME_LONGEST];
        p->constraint[i].vector = first + 1;
        snprintf(name, sizeof name, "%s[%s]", base, i == first ? "u" : "v");
        p->constraint[i].combined = i < first + 2 ? nh_build_copy(b, name) : NULL;
    }
}

static void add_implied(nh_builder *b, const char *name, nh_expr value, nh_place place)
{
    nh_problem *p = b->problem;
    p->implied = nh_build_grown(b, p->implied, p->implieds, sizeof *p->implied);
    if (!b->x.status)
        p->implied[p->implieds++] = (nh_problem_constraint){.name = nh_build_copy(b, name),
                                                            .position = value,
                                                            .on_positions = true,
                                                            .place = place};
}

/* An equation between rotations is three equations, not nine: the turn between them is zero. Since
 * the sine also vanishes at half a turn, that case is recognised by the trace of a^T b, which is 3
 * only without a turn. */
static void write_as_turn(nh_builder *b, const nh_item *item, nh_value *left, nh_value *right)
{
    static const nh_value zeros[3] = {{0}};
    if (b->x.status || !left->quaternion || !right->quaternion)
        return;
    const nh_value *a = left->entry, *c = right->entry, three = {.number = 3};
    const nh_value trace = nh_sum_of_products(&b->x, item->left, a, c, 1, 9);
    add_implied(b, item->symbol ? item->symbol->name : "an equation between rotations",
                difference_of(b, trace, three, 0), item->place);
    *left = nh_turn_between(&b->x, item->left, *left, *right);
    *right = nh_vector(&b->x, 3, 0, zeros);
}

/* A constraint with a grip: one or two equations. */
static void build_gripping(nh_builder *b, const nh_statement *s, int64_t index, nh_value left,
                           nh_value right)
{
    const nh_item *item = s->item;
    const nh_value whole = {0};
    nh_expr value[2];
    char *row_name[2];
    int rows = 0;
    if (!b->x.status && !item->symbol)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->place,
                                 "a constraint with a grip needs a name, as in constraint roll: "
                                 "x' - r*phi' = 0 grip mu*reaction(ground)");
    for (int64_t i = 0; i < entries_of(left) && !b->x.status; i++) {
        const nh_expr e = difference_of(b, left, right, i);
        if (e == NH_ZERO)
            continue;
        if (rows == 2)
            b->x.status =
                nh_fail_at(b->report, &b->model->source, item->place,
                           "'%s' has more than two components; a grip acts in a plane and "
                           "has one or two",
                           item->symbol->name);
        else {
            value[rows] = e;
            row_name[rows++] = nh_entry_name(b, item->symbol->name, s, index, left, i);
        }
    }
    if (!b->x.status && rows == 0)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->place,
                                 "the two sides of '%s' are equal; expected a condition on "
                                 "velocities",
                                 item->symbol->name);
    if (!b->x.status)
        nh_build_grip(b, s, nh_entry_name(b, item->symbol->name, s, index, whole, 0), rows,
                      row_name, value);
}

/* A vector equation is one constraint for each component; components that are equal on both sides
 * are left out. */
void nh_build_constraint(nh_builder *b, const nh_statement *s, int64_t index)
{
    const nh_item *item = s->item;
    nh_value left = nh_expand(&b->x, item->left), right = nh_expand(&b->x, item->right);
    if (!nh_same_shape(left, right) && !b->x.status)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->right->place,
                                 "this equation has %s on the left and %s on the right",
                                 nh_value_shape(left).text, nh_value_shape(right).text);
    write_as_turn(b, item, &left, &right);
    const bool leave_out = !b->x.status && any_differ(b, left, right);
    const int first = b->problem->constraints;
    if (s->limit) {
        build_gripping(b, s, index, left, right);
        return;
    }
    for (int64_t i = 0; i < entries_of(left) && !b->x.status; i++) {
        nh_expr value = difference_of(b, left, right, i);
        if (leave_out && value == NH_ZERO)
            continue;
        char number[32];
        snprintf(number, sizeof number, "constraint %d", b->problem->constraints + 1);
        char *name = item->symbol ? nh_entry_name(b, item->symbol->name, s, index, left, i)
                                  : nh_build_copy(b, number);
        if (!b->x.status)
            nh_add_constraint(b, name, value, item->place);
    }
    const nh_value whole = {0};
    if (!b->x.status && !left.columns && b->problem->constraints > first + 1)
        nh_note_vector(b,
                       item->symbol ? nh_entry_name(b, item->symbol->name, s, index, whole, 0)
                                    : b->problem->constraint[first].name,
                       first);
}

/* Moves conditions on positions behind all other constraints, keeping the order of the file within
 * both groups. Leaves room for leaving out each of them, for the combination that replaces it, and
 * for a vector that is being examined. */
void nh_order_constraints(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_problem_constraint *from = p->constraint, *to = nh_build_take(b, p->constraints, sizeof *to);
    if (b->x.status)
        return;
    int count = 0;
    for (int behind = 0; behind < 2; behind++)
        for (int i = 0; i < p->constraints; i++)
            if (from[i].on_positions == behind)
                to[count++] = from[i];
    p->constraint = to;
    nh_problem_constraint *implied =
        nh_build_take(b, 3 * (int64_t)p->constraints + p->implieds, sizeof *implied);
    if (b->x.status)
        return;
    for (int i = 0; i < p->implieds; i++)
        implied[i] = p->implied[i];
    p->implied = implied;
}

/* ---- reactions ---- */

/* A constraint by its name. For a vector in a loop the indices may be written together: "slip[3,1]"
 * means "slip[3][1]". */
bool nh_row_is_called(const char *row, const char *name)
{
    while (*row && (*row == *name || (*row == ']' && row[1] == '[' && *name == ','))) {
        row += *row == *name ? 1 : 2;
        name++;
    }
    return !*row && !*name;
}

static int find_constraint(const nh_problem *p, const char *name)
{
    for (int i = 0; i < p->constraints; i++)
        if (nh_row_is_called(p->constraint[i].name, name))
            return i;
    return -1;
}

/* Whether it is the reaction of a contact or grip, which need not be a constraint at present. */
static bool is_of_item(const nh_builder *b, int reaction)
{
    const nh_problem *p = b->problem;
    for (int i = 0; i < p->items; i++)
        for (int c = 0; c < p->item[i].components; c++)
            if (nh_row_is_called(b->x.reaction[p->item[i].reaction[c]].name,
                                 b->x.reaction[reaction].name))
                return true;
    return false;
}

static void fail_reaction(nh_builder *b, const struct nh_wanted_reaction *wanted)
{
    const nh_problem *p = b->problem;
    const size_t length = strlen(wanted->name);
    for (int i = 0; i < p->constraints; i++)
        if (strncmp(p->constraint[i].name, wanted->name, length) == 0 &&
            p->constraint[i].name[length] == '[') {
            b->x.status =
                nh_fail_at(b->report, &b->model->source, wanted->place,
                           "'%s' is more than one constraint; expected one of them, as in "
                           "reaction(%s)",
                           wanted->name, p->constraint[i].name);
            return;
        }
    b->x.status =
        nh_fail_at(b->report, &b->model->source, wanted->place,
                   "there is no constraint '%s'; expected one of those that 'nonholo check' lists",
                   wanted->name);
}

void nh_find_reactions(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->reactions = b->x.reactions;
    p->reaction = nh_build_take(b, p->reactions, sizeof *p->reaction);
    for (int i = 0; i < p->reactions && !b->x.status; i++) {
        p->reaction[i] = find_constraint(p, b->x.reaction[i].name);
        if (p->reaction[i] < 0 && !is_of_item(b, i))
            fail_reaction(b, &b->x.reaction[i]);
    }
}
