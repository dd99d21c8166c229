/* Reads `draw [for i in a..b:] SHAPE [point {, point}] {KEY value}` and holds the tables of the
 * words. The first item of the statement holds the shape and its points, each further item a
 * key. */
#include "model/draw.h"
#include "model/statements.h"
#include "model/suggest.h"

#include <stdio.h>
#include <string.h>

#define HAS(KEY) (1u << NH_KEY_##KEY)

const nh_shape_words nh_shape_words_of[NH_DRAW_SHAPES] = {
#define SHAPE(NAME, name, least, most, needs, takes)                                               \
    {#name, least, most, needs, (needs) | (takes) | HAS(COLOR)},
#include "model/draw.def"
};

const nh_key_words nh_key_words_of[NH_DRAW_KEYS] = {
#define KEY(NAME, name, value) {#name, NH_KEY_IS_##value},
#include "model/draw.def"
};

const nh_colour nh_colours[] = {
#define COLOUR(name, light, dark) {#name, light, dark},
#include "model/draw.def"
};
const int nh_colour_total = sizeof nh_colours / sizeof nh_colours[0];

static const char *shape_name(int i)
{
    return nh_shape_words_of[i].name;
}

static const char *key_name(int i)
{
    return nh_key_words_of[i].name;
}

static const char *colour_name(int i)
{
    return nh_colours[i].name;
}

typedef const char *name_of(int i);

/* "point, line and circle", truncated to fit. */
static void list_names(char *text, size_t room, name_of *name, int count, unsigned wanted)
{
    size_t used = 0;
    for (int i = 0; i < count && used < room; i++)
        if (wanted & (i < 32 ? 1u << i : 0))
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", name(i));
}

/* Takes the next word and returns its index; -1 after a message that lists all words. */
static int read_word(nh_parser *p, const char *what, name_of *name, int count, unsigned wanted)
{
    char all[512] = "", expected[600];
    nh_token token = nh_peek(p, 0);
    for (int i = 0; i < count; i++)
        if (nh_at_word(p, 0, name(i)) && (wanted & (1u << i))) {
            nh_take(p);
            return i;
        }
    list_names(all, sizeof all, name, count, wanted);
    snprintf(expected, sizeof expected, "%s: %s", what, all);
    const char *word = token.kind == TOKEN_NAME ? nh_parser_name(p, &token) : NULL;
    nh_suggest suggest = nh_suggest_begin(word ? word : "");
    for (int i = 0; i < count; i++)
        if (wanted & (1u << i))
            nh_suggest_offer(&suggest, name(i));
    if (word && *suggest.best)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, token.place,
                                     "unknown word '%s'%s", word, nh_suggest_end(&suggest).text);
    else
        nh_unexpected(p, expected);
    return -1;
}

/* point {, point}, as a chain. */
static void read_points(nh_parser *p, nh_item *item, const nh_shape_words *shape)
{
    nh_ast **last = &item->left;
    int count = 0;
    do {
        nh_place place = nh_peek(p, 0).place;
        nh_ast *point = nh_read_expression(p);
        if (!point)
            return;
        if (++count > shape->most) {
            p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, place,
                                         "'%s' takes %d point%s, found more", shape->name,
                                         shape->most, shape->most == 1 ? "" : "s");
            return;
        }
        *last = point;
        last = &point->next;
    } while (nh_accept(p, ','));
    if (count < shape->least)
        p->lexer.status = nh_fail_at(
            p->lexer.report, p->lexer.source, item->place, "'%s' takes %s%d points, found %d",
            shape->name, shape->most > shape->least ? "at least " : "", shape->least, count);
}

static bool at_key(nh_parser *p)
{
    for (int i = 0; i < NH_DRAW_KEYS; i++)
        if (nh_at_word(p, 0, nh_key_words_of[i].name))
            return true;
    return nh_at_word(p, 0, "colour");
}

static bool is_done(nh_parser *p)
{
    nh_token_kind kind = nh_peek(p, 0).kind;
    return p->lexer.status || kind == TOKEN_LINE || kind == TOKEN_END;
}

/* KEY value; `given` has the keys that came before. */
static void read_key(nh_parser *p, nh_statement *s, const nh_shape_words *shape, unsigned *given)
{
    char what[80];
    snprintf(what, sizeof what, "a key of '%s'", shape->name);
    nh_token token = nh_peek(p, 0);
    bool british = nh_at_word(p, 0, "colour");
    int key = british ? NH_KEY_COLOR : read_word(p, what, key_name, NH_DRAW_KEYS, shape->takes);
    if (british)
        nh_take(p);
    nh_item *item = key < 0 ? NULL : nh_add_item(p, s, token.place);
    if (!item)
        return;
    if (*given & (1u << key)) {
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, token.place, "a second '%s'",
                                     nh_key_words_of[key].name);
        return;
    }
    *given |= 1u << key;
    item->word = key;
    if (nh_key_words_of[key].value == NH_KEY_IS_WORD)
        item->colour = read_word(p, "a colour", colour_name, nh_colour_total, ~0u);
    else
        item->right = nh_read_expression(p);
}

/* Allows at most one way of giving a body's attitude. */
static void check_keys(nh_parser *p, const nh_item *first, const nh_shape_words *shape,
                       unsigned given)
{
    const unsigned ways = HAS(ATTITUDE) | HAS(SPIN) | HAS(BODYSPIN) | HAS(ANGLE) | HAS(RATE);
    char list[128] = "";
    unsigned missing = shape->needs & ~given;
    list_names(list, sizeof list, key_name, NH_DRAW_KEYS, missing);
    if (missing)
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, first->place,
                       "'%s' lacks '%s'; expected it after the shape", shape->name, list);
    unsigned used = given & ways;
    if (!p->lexer.status && (used & (used - 1))) { /* more than one bit */
        list_names(list, sizeof list, key_name, NH_DRAW_KEYS, used);
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, first->place,
                       "'%s' is rotated in two ways: %s; expected one of them", shape->name, list);
    }
}

/* The name of a constraint stands for reaction(NAME). */
static nh_ast *reaction_of(nh_parser *p, nh_ast *name)
{
    nh_ast *call = name && name->kind == AST_NAME ? nh_parser_node(p, AST_CALL, name->place) : NULL;
    if (!call) {
        if (name && !p->lexer.status)
            p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, name->place,
                                         "expected the name of a constraint");
        return name;
    }
    call->name = "reaction";
    call->child = name;
    return call;
}

void nh_read_draw(nh_parser *p, nh_statement *s)
{
    if (!nh_read_for(p, s))
        return;
    nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
    int number = item ? read_word(p, "a shape", shape_name, NH_DRAW_SHAPES, ~0u) : -1;
    if (number < 0)
        return;
    const nh_shape_words *shape = &nh_shape_words_of[number];
    item->word = number;
    if (shape->most > 0 && (shape->least > 0 || !(is_done(p) || at_key(p))))
        read_points(p, item, shape);
    if (number == NH_DRAW_REACTION && !p->lexer.status)
        item->left = reaction_of(p, item->left);
    unsigned given = 0;
    while (!is_done(p) && (shape->most == 0 || at_key(p) || nh_peek(p, 0).kind == TOKEN_NAME))
        read_key(p, s, shape, &given);
    if (is_done(p) && !p->lexer.status)
        check_keys(p, item, shape, given);
}
