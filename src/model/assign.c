/* Statements that assign values to coordinates and velocities: force, start, frame, scale. */
#include "model/build.h"

#include "base/status.h"
#include "model/arithmetic.h"
#include "model/vector.h"

/* Frames of large families are left out: as dense arrays they would be larger than everything
 * else. */
enum { FRAME_ENTRIES_MOST = 16000000 };

static nh_status fail(nh_builder *b, nh_place place, const char *text)
{
    return b->x.status = nh_fail_at(b->report, &b->model->source, place, "%s", text);
}

/* ---- assigning one value to one entry ---- */

/* Decides whether an assignment overrides an earlier one. */
static bool prevails(nh_builder *b, nh_given *given, const nh_item *item, int strength,
                     const char *name)
{
    if (given->place.line && given->strength == strength) {
        bool rate = item->left->kind == AST_CALL; /* body(R), whose entries have inner names */
        b->x.status =
            nh_fail_at(b->report, &b->model->source, item->place, "'%s' already has %s (line %d)",
                       rate ? item->left->child->name : name,
                       rate ? "an angular velocity" : "a value", given->place.line);
        return false;
    }
    if (given->place.line && given->strength > strength)
        return false;
    *given = (nh_given){item->place, strength};
    return true;
}

static void assign(nh_builder *b, const nh_statement *s, const nh_item *item, int64_t at,
                   nh_expr value)
{
    nh_problem *p = b->problem;
    const nh_ast *target = item->left;
    bool rate = target->kind == AST_CALL; /* body(R) */
    bool member = (rate ? target->child : target)->child != NULL;
    int strength = s->kind == STATEMENT_START ? member + 2 * (s->when != NULL) : 0;
    bool velocity = target->prime || target->kind == AST_VELOCITY || rate;
    if (s->kind == STATEMENT_FRAME)
        b->frame_row[at] = value;
    else if (s->kind == STATEMENT_WHEN)
        nh_add_change(b, item, at, value);
    else if (s->kind == STATEMENT_SCALE)
        nh_add_scale(b, item, velocity ? p->coordinates + at : at, value);
    else if (s->kind == STATEMENT_FORCE) {
        if (prevails(b, &b->force[at], item, strength,
                     at < p->coordinates ? p->coordinate_name[at] : p->velocity_name[at]))
            p->force[at] = value;
    } else if (velocity) {
        if (prevails(b, &b->start_v[at], item, strength, p->velocity_name[at]))
            p->start_v[at] = value;
    } else if (prevails(b, &b->start_q[at], item, strength, p->coordinate_name[at]))
        p->start_q[at] = value;
}

/* ---- what a value may depend on ---- */

static void check_value(nh_builder *b, const nh_statement *s, const nh_item *item,
                        const nh_ast *ast, nh_expr value)
{
    const nh_graph *g = b->problem->graph;
    if (b->x.status)
        return;
    bool position = item->left && !item->left->prime &&
                    (item->left->kind == AST_COORDINATE || item->left->kind == AST_ROTATION);
    if (s->kind == STATEMENT_START && position && nh_depends(g, value, NH_V))
        fail(b, ast->place,
             "the start of a coordinate cannot depend on velocities; expected coordinates and "
             "parameters");
    else if (s->kind == STATEMENT_FRAME && nh_depends(g, value, NH_V))
        fail(b, ast->place,
             "a frame cannot depend on velocities; expected coordinates and parameters");
}

/* ---- assignments ---- */

static int64_t length(const nh_ast *list)
{
    int64_t count = 0;
    for (const nh_ast *a = list->child; a; a = a->next)
        count++;
    return count;
}

/* One value for all members, or a list with one for each. */
static void assign_members(nh_builder *b, const nh_statement *s, const nh_item *item,
                           nh_family members)
{
    const nh_ast *right = item->right;
    bool list = right->kind == AST_LIST;
    if (list && !item->left->symbol->from)
        fail(b, right->place, "a list of values for a single quantity; expected one value");
    else if (list && item->left->child)
        fail(b, right->place, "a list of values for one member; expected one value");
    else if (list && length(right) != members.count)
        b->x.status =
            nh_fail_at(b->report, &b->model->source, right->place,
                       "a list of %lld value%s; expected %lld, one for each member of '%s'",
                       (long long)length(right), nh_plural(length(right)), (long long)members.count,
                       item->left->name);
    bool whole = item->left->symbol->from && !item->left->child;
    const nh_ast *element = list ? right->child : right;
    nh_value given = list || b->x.status ? (nh_value){0} : nh_expand(&b->x, right);
    for (int64_t i = 0; i < members.count && !b->x.status; i++) {
        nh_value one = list ? nh_expand_single(&b->x, element)
                            : nh_member_value(&b->x, right, given, whole, i, members.count);
        nh_expr value = nh_value_expr(&b->x, one);
        check_value(b, s, item, element, value);
        if (!b->x.status)
            assign(b, s, item, members.first + i, value);
        if (list)
            element = element->next;
    }
}

/* force body(R) = torque */
static void push_rotations(nh_builder *b, const nh_item *item, nh_family members, nh_value torque)
{
    for (int64_t i = 0; i < members.count && !b->x.status; i++) {
        nh_value rotation = nh_rotation_value(&b->x, item->left, members.first + 4 * i);
        nh_vector_function *rate = item->left->name[0] == 's' ? nh_space_rate : nh_body_rate;
        nh_build_force_on(b, item->right, rate(&b->x, item->left, &rotation), torque);
    }
}

/* A rotation or its angular velocity: four values to each member. */
static void assign_rotations(nh_builder *b, const nh_statement *s, const nh_item *item,
                             nh_family members)
{
    const nh_ast *right = item->right;
    bool rate = item->left->kind == AST_CALL;
    nh_value given = nh_expand(&b->x, right), value[4], p[4];
    if (s->kind == STATEMENT_FORCE) {
        push_rotations(b, item, members, given);
        return;
    }
    for (int64_t i = 0; i < members.count && !b->x.status; i++) {
        int64_t first = members.first + 4 * i;
        for (int k = 0; k < 4; k++)
            p[k] = nh_as_value(&b->x, right,
                               nh_variable(b->problem->graph, NH_Q, (uint32_t)(first + k)));
        bool space = rate && item->left->name[0] == 's';
        bool right_shape = rate ? nh_start_rate(&b->x, right, given, space, p, value)
                                : nh_start_quaternion(&b->x, right, given, value);
        for (int k = 0; k < 4 && right_shape && !b->x.status; k++) {
            nh_expr expr = nh_value_expr(&b->x, value[k]);
            check_value(b, s, item, right, expr);
            if (!b->x.status)
                assign(b, s, item, first + k, expr);
        }
    }
}

/* The members that a target names; of body(R) those of R. */
static nh_family members_of(nh_builder *b, const nh_item *item)
{
    bool rate = item->left->kind == AST_CALL;
    return nh_expand_target(&b->x, rate ? item->left->child : item->left);
}

void nh_build_assignments(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_family members = members_of(b, item);
        if (b->x.status)
            return;
        if (members.width == 4 && s->kind == STATEMENT_SCALE)
            fail(b, item->left->place,
                 "a rotation has no scale; expected a coordinate or velocity");
        else if (members.width == 4)
            assign_rotations(b, s, item, members);
        else
            assign_members(b, s, item, members);
    }
}

bool nh_is_position(const nh_ast *target)
{
    return target->kind != AST_VELOCITY && target->kind != AST_CALL && !target->prime;
}

nh_status nh_refuse_position(nh_report *report, const nh_source *source, const nh_ast *target)
{
    return nh_fail_at(report, source, target->place,
                      "'%s' is a coordinate, which a projection does not change unless there are "
                      "conditions on positions; expected a velocity such as %s'",
                      target->name, target->name);
}

/* start solve x', y' */
void nh_build_solve(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_family members = members_of(b, item);
        bool position = nh_is_position(item->left);
        if (position && !b->solved)
            b->solved = item->left;
        for (int64_t i = 0; i < members.count * members.width && !b->x.status; i++)
            (position ? b->problem->solve.q : b->problem->solve.v)[members.first + i] = true;
    }
}

/* ---- frames ---- */

/* How many vectors all frame statements make. */
static int64_t count_vectors(nh_builder *b)
{
    int64_t vectors = 0;
    for (const nh_statement *s = b->model->statement; s && !b->x.status; s = s->next) {
        if (s->kind != STATEMENT_FRAME)
            continue;
        int64_t each = 0;
        for (const nh_item *item = s->item; item; item = item->next)
            each += !item->left;
        vectors += nh_repetitions(b, s) * (each ? each : 1);
    }
    return vectors;
}

void nh_open_frames(nh_builder *b)
{
    nh_problem *p = b->problem;
    int64_t vectors = count_vectors(b);
    b->frames_left_out = (double)vectors * p->velocities > FRAME_ENTRIES_MOST;
    if (b->x.status || b->frames_left_out)
        return;
    p->frame =
        nh_arena_array(&b->built->arena, (size_t)vectors * (size_t)p->velocities, sizeof(nh_expr));
    if (!p->frame)
        b->x.status = nh_fail_memory(b->report);
}

static void next_row(nh_builder *b)
{
    nh_problem *p = b->problem;
    b->frame_row = p->frame + (size_t)p->frames++ * (size_t)p->velocities;
}

static void set_component(nh_builder *b, const nh_statement *s, const nh_ast *component, int64_t at,
                          int64_t count)
{
    const nh_item plain = {0};
    nh_expr value = nh_expand_expr(&b->x, component);
    check_value(b, s, &plain, component, value);
    for (int64_t i = 0; i < count && !b->x.status; i++)
        b->frame_row[at + i] = value;
}

/* The components that belong to one family: a list with one value for each member, or one value for
 * all. */
static void set_family(nh_builder *b, const nh_statement *s, const nh_ast *component,
                       const nh_symbol *symbol)
{
    nh_family family =
        (symbol->kind == SYMBOL_COORDINATE ? b->x.coordinate : b->x.velocity)[symbol->number];
    if (component->kind != AST_LIST) {
        set_component(b, s, component, family.first, family.count);
        return;
    }
    if (length(component) != family.count) {
        b->x.status =
            nh_fail_at(b->report, &b->model->source, component->place,
                       "a list of %lld value%s; expected %lld, one for each member of '%s'",
                       (long long)length(component), nh_plural(length(component)),
                       (long long)family.count, symbol->name);
        return;
    }
    int64_t at = family.first;
    for (const nh_ast *a = component->child; a && !b->x.status; a = a->next)
        set_component(b, s, a, at++, 1);
}

/* (a, b, ...): one component for each velocity, or one for each name with families as lists. */
static void set_vector(nh_builder *b, const nh_statement *s, const nh_item *item)
{
    const nh_ast *vector = item->right;
    const nh_symbols *symbols = &b->model->symbols;
    int64_t names = symbols->count[SYMBOL_COORDINATE] + symbols->count[SYMBOL_VELOCITY];
    const nh_ast *component = vector->kind == AST_LIST ? vector->child : vector;
    int64_t count = vector->kind == AST_LIST ? length(vector) : 1,
            velocities = b->problem->velocities;
    bool nested = false;
    for (const nh_ast *a = vector->kind == AST_LIST ? component : NULL; a; a = a->next)
        nested |= a->kind == AST_LIST;

    if (count == velocities && !nested) {
        for (int64_t at = 0; at < count && !b->x.status; at++, component = component->next)
            set_component(b, s, component, at, 1);
    } else if (count == names) {
        for (int kind = SYMBOL_COORDINATE; kind <= SYMBOL_VELOCITY; kind++)
            for (const nh_symbol *symbol = symbols->first; symbol && !b->x.status;
                 symbol = symbol->next)
                if ((int)symbol->kind == kind) {
                    set_family(b, s, component, symbol);
                    component = component->next;
                }
    } else
        b->x.status =
            nh_fail_at(b->report, &b->model->source, item->place,
                       "a vector of length %lld; expected %lld components, one for each velocity",
                       (long long)count, (long long)velocities);
}

void nh_build_frame(nh_builder *b, const nh_statement *s, int64_t index)
{
    if (b->problem->frames == 0)
        b->problem->frame_place = s->place;
    if (s->item->left) {
        next_row(b);
        nh_build_assignments(b, s, index);
        return;
    }
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        next_row(b);
        set_vector(b, s, item);
    }
}
