/* Builds the drawing of a model. It is expanded like the rest of the text, but into a graph of its
 * own, because a drawing must not change the order in which the motion is computed. */
#include "model/draw.h"
#include "base/status.h"
#include "model/build.h"
#include "model/vector.h"

#include <stdio.h>
#include <stdlib.h>

static void fail(nh_builder *b, nh_place place, const char *what, nh_value value,
                 const char *expected)
{
    if (!b->x.status)
        b->x.status = nh_fail_at(b->report, &b->model->source, place, "%s is %s; expected %s", what,
                                 nh_value_shape(value).text, expected);
}

/* Until all channels are known, the graph's handle stands for the channel. */
static nh_drawn_number number_of(nh_builder *b, nh_value value)
{
    double number;
    nh_expr e = value.symbolic ? value.expr : nh_number(b->problem->graph, value.number);
    if (nh_is_number(b->problem->graph, e, &number))
        return (nh_drawn_number){-1, number};
    return (nh_drawn_number){(int)e, 0};
}

static nh_drawn_value numbers_of(nh_builder *b, int count, const nh_value *entry)
{
    nh_drawn_value drawn = {count, nh_build_take(b, count, sizeof *drawn.number)};
    for (int i = 0; i < count && !b->x.status; i++)
        drawn.number[i] = number_of(b, entry[i]);
    return drawn;
}

/* The first vector decides whether the drawing is in the plane or in space. */
nh_drawn_value nh_build_drawn_vector(nh_builder *b, nh_place place, const char *what,
                                     nh_value value, int length)
{
    nh_drawing *d = b->problem->drawing;
    if (d->dimensions == 0 && length == 0 && value.columns == 0 &&
        (value.rows == 2 || value.rows == 3))
        d->dimensions = (int)value.rows;
    int wanted = length ? length : d->dimensions;
    if (wanted == 0 || value.columns || value.rows != wanted) {
        fail(b, place, what, value,
             wanted == 0   ? "a vector of length 2 or 3"
             : wanted == 2 ? "a vector of length 2, like the others in this drawing"
             : length      ? "a vector of length 3"
                           : "a vector of length 3, like the others in this drawing");
        return (nh_drawn_value){0};
    }
    return numbers_of(b, wanted, value.entry);
}

static nh_drawn_value build_matrix(nh_builder *b, nh_place place, nh_value value)
{
    if (value.rows != 3 || value.columns != 3) {
        fail(b, place, "the attitude", value, "a 3 by 3 matrix such as a rotation");
        return (nh_drawn_value){0};
    }
    return value.quaternion ? numbers_of(b, 4, value.quaternion) : numbers_of(b, 9, value.entry);
}

/* Axes and attitudes are allowed only in drawings in space. */
static bool is_in_space(nh_builder *b, nh_place place, const char *what)
{
    nh_drawing *d = b->problem->drawing;
    if (d->dimensions == 0)
        d->dimensions = 3;
    if (d->dimensions == 2 && !b->x.status)
        b->x.status = nh_fail_at(
            b->report, &b->model->source, place,
            "%s belongs in a drawing in space; the points of this one have length 2", what);
    return d->dimensions == 3;
}

static nh_drawn_value build_value(nh_builder *b, const nh_item *item)
{
    const nh_key_words *key = &nh_key_words_of[item->word];
    nh_value value = nh_expand(&b->x, item->right);
    nh_place place = item->right->place;
    char what[32];
    if (b->x.status)
        return (nh_drawn_value){0};
    snprintf(what, sizeof what, "'%s'", key->name);
    bool of_space = key->value == NH_KEY_IS_MATRIX || key->value == NH_KEY_IS_SPACE;
    if (of_space && !is_in_space(b, item->place, what))
        return (nh_drawn_value){0};
    switch (key->value) {
    case NH_KEY_IS_NUMBER:
        if (nh_is_single(value))
            return numbers_of(b, 1, &value);
        fail(b, place, what, value, "a single value");
        return (nh_drawn_value){0};
    case NH_KEY_IS_MATRIX:
        return build_matrix(b, place, value);
    case NH_KEY_IS_SPACE:
        return nh_build_drawn_vector(b, place, what, value, 3);
    default:
        return nh_build_drawn_vector(b, place, what, value, 0);
    }
}

static void build_points(nh_builder *b, const nh_item *item, nh_drawn *drawn)
{
    for (const nh_ast *a = item->left; a; a = a->next)
        drawn->points++;
    drawn->point = nh_build_take(b, drawn->points, sizeof *drawn->point);
    int i = 0;
    for (const nh_ast *a = item->left; a && !b->x.status; a = a->next, i++) {
        nh_value value = nh_expand(&b->x, a);
        if (!b->x.status)
            drawn->point[i] = nh_build_drawn_vector(b, a->place, "the point", value, 0);
    }
}

static nh_drawn *build_shape(nh_builder *b, const nh_statement *s)
{
    nh_drawn *drawn = nh_build_take(b, 1, sizeof *drawn);
    if (!drawn)
        return NULL;
    *drawn = (nh_drawn){.shape = (nh_draw_shape)s->item->word, .colour = -1};
    const bool is_arrow = nh_is_drawn_vector(drawn->shape);
    if (!is_arrow)
        build_points(b, s->item, drawn);
    for (const nh_item *item = s->item->next; item && !b->x.status; item = item->next)
        if (nh_key_words_of[item->word].value == NH_KEY_IS_WORD)
            drawn->colour = item->colour;
        else
            drawn->key[item->word] = build_value(b, item);
    if (is_arrow)
        nh_build_drawn_force(b, s, drawn);
    return drawn;
}

/* Once, or for the first members of a family (at most NH_DRAWN_MOST). */
static void build_statement(nh_builder *b, const nh_statement *s, nh_drawn ***last)
{
    int64_t first = 0, count = 1;
    nh_frame outer = nh_frame_open(&b->x, s->slots);
    if (s->loop)
        count = nh_expand_range(&b->x, s->loop->child, s->loop->child->next, 0, &first);
    if (count > NH_DRAWN_MOST) {
        b->problem->drawing->cut = true;
        count = NH_DRAWN_MOST;
    }
    for (int64_t i = 0; i < count && !b->x.status; i++) {
        if (s->loop)
            b->x.slot[b->x.base + (size_t)s->loop->slot] =
                (nh_value){.number = (double)(first + i)};
        nh_drawn *drawn = nh_draws_all_forces(s) ? nh_build_all_forces(b, s) : build_shape(b, s);
        if (!drawn)
            break;
        **last = drawn;
        for (; drawn; drawn = drawn->next)
            *last = &drawn->next;
    }
    nh_frame_close(&b->x, outer);
}

/* ---- channels ---- */

typedef struct numbering {
    nh_drawing *drawing;
    int *channel_of; /* [nodes of the graph]: 1 + the channel, or 0 */
} numbering;

static void number_value(numbering *n, nh_drawn_value *value)
{
    for (int i = 0; i < value->count; i++) {
        int *channel = &value->number[i].channel;
        if (*channel < 0)
            continue;
        if (!n->channel_of[*channel])
            n->channel_of[*channel] = ++n->drawing->channels;
        *channel = n->channel_of[*channel] - 1;
    }
}

static void number_channels(nh_builder *b)
{
    nh_drawing *d = b->problem->drawing;
    size_t nodes = nh_graph_size(d->graph);
    numbering n = {d, calloc(nodes + 1, sizeof *n.channel_of)};
    if (!n.channel_of) {
        nh_build_memory(b);
        return;
    }
    for (nh_drawn *drawn = d->first; drawn; drawn = drawn->next) {
        for (int i = 0; i < drawn->points; i++)
            number_value(&n, &drawn->point[i]);
        for (int i = 0; i < NH_DRAW_KEYS; i++)
            number_value(&n, &drawn->key[i]);
    }
    d->channel = nh_build_take(b, d->channels, sizeof *d->channel);
    for (size_t e = 0; e < nodes && !b->x.status; e++)
        if (n.channel_of[e])
            d->channel[n.channel_of[e] - 1] = (nh_expr)e;
    free(n.channel_of);
}

/* ---- the whole drawing ---- */

static bool has_drawing(const nh_model *model)
{
    const nh_statement *s = model->statement;
    while (s && s->kind != STATEMENT_DRAW)
        s = s->next;
    return s != NULL;
}

static void build_all(nh_builder *b)
{
    nh_drawn **last = &b->problem->drawing->first;
    nh_build_rates(b);
    for (const nh_statement *s = b->model->statement; s && !b->x.status; s = s->next)
        if (s->kind == STATEMENT_DRAW)
            build_statement(b, s, &last);
    if (!has_drawing(b->model))
        nh_draw_by_default(b, last);
    if (!b->x.status && nh_graph_failed(b->problem->graph))
        nh_build_memory(b);
    nh_find_drawn_reactions(b);
    if (!b->x.status)
        number_channels(b);
    if (b->problem->drawing->dimensions == 0)
        b->problem->drawing->dimensions = 2;
}

/* Uses an expander of its own, because its lets must not be those of the motion's graph. */
void nh_build_drawing(nh_builder *b)
{
    if (b->x.status || (!has_drawing(b->model) && b->problem->coordinates == 0))
        return;
    nh_graph *motion = b->problem->graph;
    nh_expander outer = b->x;
    nh_drawing *drawing = nh_build_take(b, 1, sizeof *drawing);
    int lets = b->model->symbols.count[SYMBOL_LET];
    nh_value *let = nh_build_take(b, lets, sizeof *let);
    bool *known = nh_build_take(b, lets, sizeof *known);
    if (b->x.status || !(drawing->graph = nh_graph_create(NULL))) {
        nh_build_memory(b);
        return;
    }
    b->problem->drawing = drawing;
    b->problem->graph = drawing->graph;
    b->x = (nh_expander){.source = outer.source,
                         .report = outer.report,
                         .arena = outer.arena,
                         .graph = drawing->graph,
                         .parameter = outer.parameter,
                         .parameters = outer.parameters,
                         .coordinate = outer.coordinate,
                         .velocity = outer.velocity,
                         .rotation = outer.rotation,
                         .families_settled = true,
                         .let = let,
                         .let_known = known,
                         .input = outer.input,
                         .inputs_as_given = true};
    nh_forget_inputs(&b->x, b->model->symbols.count[SYMBOL_INPUT]);
    build_all(b);
    outer.status = b->x.status;
    nh_expander_free(&b->x);
    b->x = outer;
    b->problem->graph = motion;
}
