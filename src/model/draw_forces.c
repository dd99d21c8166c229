/* Arrows: the reaction of a constraint, forces at points, and velocities of points.
 *
 * A constraint k(q, v) = 0 exerts lambda dk/dv_i on coordinate i. Where the components of a point
 * are coordinates, up to what does not depend on them, these are the components of a force; other
 * constraints need its direction, `along`. The numbers are evaluated where lambda is known, so they
 * are arguments NH_X of the drawing. */
#include "base/status.h"
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/draw.h"
#include "model/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nh_is_drawn_vector(nh_draw_shape shape)
{
    return shape == NH_DRAW_REACTION || shape == NH_DRAW_FORCE || shape == NH_DRAW_VELOCITY;
}

bool nh_draws_all_forces(const nh_statement *s)
{
    return s->item->word == NH_DRAW_FORCE && !s->item->left;
}

static void fail(nh_builder *b, nh_place place, const char *text)
{
    if (!b->x.status)
        b->x.status = nh_fail_at(b->report, &b->model->source, place, "%s", text);
}

static const nh_item *key_of(const nh_statement *s, nh_draw_key key)
{
    for (const nh_item *item = s->item->next; item; item = item->next)
        if (item->word == (int)key)
            return item;
    return NULL;
}

/* ---- the components of a reaction ---- */

enum { COMPONENTS = 3 };

/* The lengths with which the coordinates begin: where a body is. */
static nh_value place_of(nh_builder *b)
{
    const nh_problem *p = b->problem;
    const int wanted = p->drawing->dimensions ? p->drawing->dimensions : 2;
    nh_value *entry = nh_build_take(b, wanted, sizeof *entry);
    int found = 0;
    for (int i = 0; i < p->coordinates && found < wanted && !b->x.status; i++)
        if (!p->angle[i])
            entry[found++] =
                (nh_value){.symbolic = true, .expr = nh_variable(p->graph, NH_Q, (uint32_t)i)};
    return (nh_value){.rows = wanted, .entry = entry};
}

/* The coordinate that moves one component of a point by as much as itself, and no other component;
 * -1: there is none, -2: the component does not move at all. */
static int coordinate_of(nh_builder *b, nh_value point, int component)
{
    nh_graph *g = b->problem->graph;
    nh_partials by_q;
    int found = -1;
    const nh_expr e = nh_value_expr(&b->x, point.entry[component]);
    if (!nh_depends(g, e, NH_Q))
        return -2;
    if (!nh_expr_gradient(g, e, NH_Q, &by_q)) {
        nh_build_memory(b);
        return -1;
    }
    for (size_t i = 0; i < by_q.count && found < 0; i++) {
        double slope;
        if (nh_is_number(g, by_q.entry[i].value, &slope) && slope == 1)
            found = (int)by_q.entry[i].index;
    }
    nh_partials_free(&by_q);
    return found;
}

/* What the constraint exerts on a coordinate, as an argument that evaluation fills in. */
static nh_expr exerted(nh_builder *b, const char *name, int coordinate, nh_place place)
{
    char wanted[512];
    snprintf(wanted, sizeof wanted, "%s@%d", name, coordinate);
    return nh_variable(b->problem->graph, NH_X, (uint32_t)nh_want_reaction(&b->x, wanted, place));
}

static nh_value components_of(nh_builder *b, const nh_ast *call, const char *name, nh_value point)
{
    nh_value *entry = nh_build_take(b, point.rows, sizeof *entry);
    for (int i = 0; i < (int)point.rows && !b->x.status; i++) {
        const int coordinate = coordinate_of(b, point, i);
        if (coordinate == -1)
            fail(b, call->place,
                 "the direction of this reaction does not follow from the point; expected 'along' "
                 "and the vector by which its constraint multiplies the velocity");
        else if (coordinate >= 0)
            entry[i] =
                (nh_value){.symbolic = true, .expr = exerted(b, name, coordinate, call->place)};
    }
    return (nh_value){.rows = point.rows, .entry = entry};
}

/* lambda times the vector after `along`. */
static nh_value along(nh_builder *b, nh_value reaction, const nh_item *item)
{
    nh_value vector = nh_expand(&b->x, item->right);
    nh_value *entry = nh_build_take(b, vector.rows, sizeof *entry);
    for (int i = 0; i < (int)vector.rows && !b->x.status && !nh_is_single(vector); i++)
        entry[i] = (nh_value){.symbolic = true,
                              .expr = nh_multiply(b->problem->graph, nh_value_expr(&b->x, reaction),
                                                  nh_value_expr(&b->x, vector.entry[i]))};
    return (nh_value){.rows = vector.rows, .entry = entry};
}

static const char *reaction_name(nh_builder *b, nh_value reaction)
{
    nh_partials by_x;
    if (!nh_expr_gradient(b->problem->graph, nh_value_expr(&b->x, reaction), NH_X, &by_x)) {
        nh_build_memory(b);
        return "";
    }
    const char *name = b->x.reaction[by_x.entry[0].index].name;
    nh_partials_free(&by_x);
    return name;
}

static void build_reaction(nh_builder *b, const nh_statement *s, nh_drawn *drawn)
{
    const nh_ast *call = s->item->left;
    const nh_item *at = key_of(s, NH_KEY_AT), *direction = key_of(s, NH_KEY_ALONG);
    nh_value reaction = nh_expand(&b->x, call);
    if (b->x.status)
        return;
    const char *name = reaction_name(b, reaction);
    nh_value point = at ? nh_expand(&b->x, at->right) : place_of(b), force = {0};
    if (!at && !b->x.status)
        drawn->key[NH_KEY_AT] = nh_build_drawn_vector(b, call->place, "the point", point, 0);
    if (!b->x.status)
        force = direction ? along(b, reaction, direction) : components_of(b, call, name, point);
    if (!b->x.status)
        drawn->key[NH_KEY_VECTOR] = nh_build_drawn_vector(b, call->place, "the force", force, 0);
    drawn->key[NH_KEY_ALONG] = (nh_drawn_value){0};
    drawn->name = name;
}

/* ---- forces and velocities ---- */

static void build_vectors(nh_builder *b, nh_drawn *drawn, const nh_ast *point, nh_value at,
                          const nh_ast *vector, nh_value value)
{
    if (!b->x.status)
        drawn->key[NH_KEY_AT] = nh_build_drawn_vector(b, point->place, "the point", at, 0);
    if (!b->x.status)
        drawn->key[NH_KEY_VECTOR] = nh_build_drawn_vector(b, vector->place, "the vector", value, 0);
}

void nh_build_drawn_force(nh_builder *b, const nh_statement *s, nh_drawn *drawn)
{
    const nh_ast *first = s->item->left;
    const nh_item *at = key_of(s, NH_KEY_AT);
    if (b->x.status)
        return;
    if (drawn->shape == NH_DRAW_REACTION) {
        build_reaction(b, s, drawn);
        return;
    }
    nh_value value = nh_expand(&b->x, first);
    if (drawn->shape == NH_DRAW_VELOCITY)
        build_vectors(b, drawn, first, value, first, nh_time_derivative(&b->x, first, value));
    else if (!at)
        fail(b, first->place, "expected 'at' and the point where this force acts");
    else
        build_vectors(b, drawn, at->right, nh_expand(&b->x, at->right), first, value);
}

static nh_drawn *force_of(nh_builder *b, const nh_statement *s, const nh_item *item)
{
    nh_drawn *drawn = nh_build_take(b, 1, sizeof *drawn);
    if (!drawn)
        return NULL;
    *drawn = (nh_drawn){.shape = NH_DRAW_FORCE, .colour = -1};
    for (const nh_item *key = s->item->next; key; key = key->next)
        if (nh_key_words_of[key->word].value == NH_KEY_IS_WORD)
            drawn->colour = key->colour;
    nh_value at = nh_expand(&b->x, item->left), force = nh_expand(&b->x, item->right);
    build_vectors(b, drawn, item->left, at, item->right, force);
    return drawn;
}

nh_drawn *nh_build_all_forces(nh_builder *b, const nh_statement *s)
{
    nh_drawn *first = NULL, **last = &first;
    for (const nh_statement *force = b->model->statement; force; force = force->next) {
        int64_t from = 0, count = 1;
        if (force->kind != STATEMENT_FORCE_AT)
            continue;
        nh_frame outer = nh_frame_open(&b->x, force->slots);
        if (force->loop)
            count = nh_expand_range(&b->x, force->loop->child, force->loop->child->next, 0, &from);
        for (int64_t i = 0; i < count && i < NH_DRAWN_MOST && !b->x.status; i++) {
            if (force->loop)
                b->x.slot[b->x.base + (size_t)force->loop->slot] =
                    (nh_value){.number = (double)(from + i)};
            for (const nh_item *item = force->item; item && !b->x.status; item = item->next)
                if ((*last = force_of(b, s, item)))
                    last = &(*last)->next;
        }
        nh_frame_close(&b->x, outer);
    }
    if (!first)
        fail(b, s->item->place,
             "'draw force' draws the forces of 'force at', and this model has none; expected a "
             "force and where it acts, as in draw force (f, 0) at (x, y)");
    return first;
}

/* ---- the constraints ---- */

/* slip, or slip[1], slip[2] together. */
static bool is_row_of(const char *row, const char *name, size_t length)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%.*s", (int)length, name);
    return nh_row_is_called(row, whole) || (strncmp(row, whole, length) == 0 && row[length] == '[');
}

void nh_find_drawn_reactions(nh_builder *b)
{
    const nh_problem *p = b->problem;
    nh_drawing *d = p->drawing;
    d->reactions = b->x.reactions;
    d->reaction = nh_build_take(b, d->reactions, sizeof *d->reaction);
    for (int i = 0; i < d->reactions && !b->x.status; i++) {
        nh_drawn_reaction *of = d->reaction + i;
        const char *name = b->x.reaction[i].name, *at = strchr(name, '@');
        *of = (nh_drawn_reaction){.velocity = at ? atoi(at + 1) : -1,
                                  .row = nh_build_take(b, p->constraints, sizeof *of->row)};
        for (int k = 0; k < p->constraints && !b->x.status; k++)
            if (is_row_of(p->constraint[k].name, name, at ? (size_t)(at - name) : strlen(name)))
                of->row[of->rows++] = k;
        if (of->rows == 0)
            fail(b, b->x.reaction[i].place,
                 "the reaction of a contact or of a grip depends on whether it holds and cannot be "
                 "drawn; expected a constraint that always holds");
    }
}
