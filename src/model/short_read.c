/* Reads the outline of a text: where its statements are, and what its short forms contain. The
 * expressions of a short form are read by the ordinary parser, to find their ends and their
 * mistakes; what is kept of them is the text. */
#include "model/draw.h"
#include "model/short_forms.h"
#include "model/statements.h"

#include <stdio.h>
#include <string.h>

enum {
    SHORTS_MOST = 1000,     /* short forms of a model */
    SHORT_NAME_LONGEST = 40 /* characters, so that the names with dots are not too long */
};

#define HAS(PART) NH_SHORT_BIT(NH_PART_##PART)

static const char *const part_names[NH_SHORT_PARTS] = {[NH_PART_VECTOR] = "vector",
                                                       [NH_PART_FROM] = "from",
                                                       [NH_PART_TO] = "to",
                                                       [NH_PART_MASS] = "mass",
                                                       [NH_PART_INERTIA] = "inertia",
                                                       [NH_PART_AT] = "at",
                                                       [NH_PART_ATTITUDE] = "attitude",
                                                       [NH_PART_ANGLE] = "angle",
                                                       [NH_PART_RADIUS] = "radius",
                                                       [NH_PART_AXIS] = "axis",
                                                       [NH_PART_SPIN] = "spin",
                                                       [NH_PART_ON] = "on",
                                                       [NH_PART_PLANE] = "plane",
                                                       [NH_PART_NORMAL] = "normal",
                                                       [NH_PART_ALONG] = "along",
                                                       [NH_PART_FREE] = "free",
                                                       [NH_PART_GRIP] = "grip",
                                                       [NH_PART_RESTITUTION] = "restitution",
                                                       [NH_PART_STIFFNESS] = "stiffness",
                                                       [NH_PART_LENGTH] = "length",
                                                       [NH_PART_DAMPING] = "damping"};

const char *nh_short_part_name(int part)
{
    return part_names[part];
}

int nh_short_points(const char *shape)
{
    const size_t length = strspn(shape, "abcdefghijklmnopqrstuvwxyz");
    for (int i = 0; i < NH_DRAW_SHAPES; i++)
        if (strncmp(nh_shape_words_of[i].name, shape, length) == 0)
            return nh_shape_words_of[i].most;
    return 0;
}

static const struct form {
    const char *word;
    bool named;
    int points; /* without a word before them, from `first` on */
    nh_short_part first;
    uint64_t needs, takes;
} forms[NH_SHORT_KINDS] = {
    [NH_SHORT_GRAVITY] = {"gravity", false, 1, NH_PART_VECTOR, 0, 0},
    [NH_SHORT_BODY] = {"body", true, 0, 0, HAS(MASS) | HAS(AT),
                       HAS(INERTIA) | HAS(ATTITUDE) | HAS(ANGLE)},
    [NH_SHORT_WHEEL] = {"wheel", true, 0, 0, HAS(RADIUS) | HAS(AT),
                        HAS(MASS) | HAS(INERTIA) | HAS(ATTITUDE) | HAS(AXIS) | HAS(SPIN) | HAS(ON) |
                            HAS(NORMAL) | HAS(ALONG) | HAS(FREE) | HAS(GRIP) | HAS(RESTITUTION)},
    [NH_SHORT_BLADE] = {"blade", true, 0, 0, HAS(AT) | HAS(ALONG), HAS(GRIP)},
    [NH_SHORT_SPRING] = {"spring", false, 2, NH_PART_FROM, HAS(STIFFNESS),
                         HAS(LENGTH) | HAS(DAMPING)},
    [NH_SHORT_DAMPER] = {"damper", false, 2, NH_PART_FROM, HAS(DAMPING), 0}};

typedef struct reader {
    nh_parser p;
    nh_outline *outline;
    nh_short **last;
    int springs, gravities;
    nh_place gravity, lagrangian; /* the first; line 0: none */
} reader;

void nh_short_forms_offer(nh_suggest *suggest)
{
    for (int i = 0; i < NH_SHORT_KINDS; i++)
        nh_suggest_offer(suggest, forms[i].word);
}

#define FAIL_HERE(r, place, ...) FAIL(&(r)->p.lexer, place, __VA_ARGS__)

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* ---- parts ---- */

/* "mass, at", of those in `wanted`. */
static void list_parts(char *text, size_t room, uint64_t wanted)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < NH_SHORT_PARTS && used < room; i++)
        if ((wanted & NH_SHORT_BIT(i)))
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", part_names[i]);
}

static size_t offset_of(const reader *r, const nh_token *token)
{
    return (size_t)(token->text - r->outline->source->text);
}

/* Ends a slice behind the last token that was taken. */
static void end_slice(const reader *r, nh_slice *slice)
{
    slice->to = offset_of(r, &r->p.previous) + r->p.previous.length;
}

static bool read_value(reader *r, nh_short *s, nh_short_part part)
{
    const nh_token first = nh_peek(&r->p, 0);
    if (!nh_read_expression(&r->p))
        return false;
    s->part[part] = (nh_slice){.from = offset_of(r, &first), .place = first.place};
    end_slice(r, &s->part[part]);
    s->has |= NH_SHORT_BIT(part);
    return true;
}

/* `ground`, or `plane` and a point of it, after `on`. */
static bool read_surface(reader *r, nh_short *s)
{
    s->has |= HAS(ON);
    const bool plane = nh_at_word(&r->p, 0, "plane");
    if (!plane && !nh_at_word(&r->p, 0, "ground")) {
        nh_unexpected(&r->p, "'ground', or 'plane' with a point of it and 'normal'");
        return false;
    }
    nh_take(&r->p);
    return !plane || read_value(r, s, NH_PART_PLANE);
}

static void unknown_part(reader *r, const nh_short *s, uint64_t wanted)
{
    char list[256], expected[400];
    const nh_token token = nh_peek(&r->p, 0);
    list_parts(list, sizeof list, wanted & ~s->has);
    snprintf(expected, sizeof expected, "%s%s%s", *list ? "an operator, one of " : "an operator",
             list, *list ? " or the end of the line" : " or the end of the line");
    const char *word = token.kind == TOKEN_NAME ? nh_parser_name(&r->p, &token) : NULL;
    nh_suggest suggest = nh_suggest_begin(word ? word : "");
    for (int i = 0; i < NH_SHORT_PARTS; i++)
        if ((wanted & NH_SHORT_BIT(i)))
            nh_suggest_offer(&suggest, part_names[i]);
    if (word && *suggest.best)
        FAIL_HERE(r, token.place, "'%s' has no part '%s'%s", forms[s->kind].word, word,
                  nh_suggest_end(&suggest).text);
    else
        nh_unexpected(&r->p, expected);
}

static bool read_part(reader *r, nh_short *s)
{
    const uint64_t wanted = forms[s->kind].needs | forms[s->kind].takes;
    int part = 0;
    while (part < NH_SHORT_PARTS &&
           !((wanted & NH_SHORT_BIT(part)) && nh_at_word(&r->p, 0, part_names[part])))
        part++;
    if (part == NH_SHORT_PARTS) {
        unknown_part(r, s, wanted);
        return false;
    }
    const nh_token word = nh_take(&r->p);
    if (s->has & NH_SHORT_BIT(part)) {
        FAIL_HERE(r, word.place, "a second '%s'", part_names[part]);
        return false;
    }
    if (part == NH_PART_ON)
        return read_surface(r, s);
    s->has |= NH_SHORT_BIT(part);
    return part == NH_PART_FREE || read_value(r, s, (nh_short_part)part);
}

/* ---- what belongs together ---- */

static void check_wheel(reader *r, const nh_short *s)
{
    const uint64_t space = HAS(ATTITUDE) | HAS(AXIS), has = s->has;
    if ((has & HAS(ALONG)) && (has & (space | HAS(ON) | HAS(NORMAL))))
        FAIL_HERE(r, s->place,
                  "'%s' has 'along', as a wheel in a plane that is seen from above, and parts of a "
                  "wheel in space; expected either 'along', or 'attitude' and 'axis'",
                  s->name);
    else if (!(has & HAS(ALONG)) && (has & space) != space)
        FAIL_HERE(r, s->place,
                  "'%s' lacks %s; expected 'attitude R axis (0, 1, 0)', or in a plane that is seen "
                  "from above 'along' and its angle",
                  s->name,
                  has & HAS(ATTITUDE) ? "'axis'"
                  : has & HAS(AXIS)   ? "'attitude'"
                                      : "its attitude");
    else if ((has & HAS(ALONG)) && (has & HAS(INERTIA)) && !(has & HAS(SPIN)))
        FAIL_HERE(r, s->part[NH_PART_INERTIA].place,
                  "'%s' has an inertia and no coordinate by which it turns; expected 'spin s'",
                  s->name);
    else if ((has & HAS(FREE)) && (has & HAS(GRIP)))
        FAIL_HERE(r, s->place, "'%s' is free and has a grip; expected one of them", s->name);
    else if ((has & HAS(RESTITUTION)) && (has & (HAS(AXIS) | HAS(GRIP))) != (HAS(AXIS) | HAS(GRIP)))
        FAIL_HERE(r, s->part[NH_PART_RESTITUTION].place,
                  "'%s' cannot leave its plane; a wheel in space with 'grip' can", s->name);
    else if (!(has & HAS(PLANE)) != !(has & HAS(NORMAL)))
        FAIL_HERE(r, s->place, "'%s' lacks %s; expected 'on plane POINT normal VECTOR'", s->name,
                  has & HAS(PLANE) ? "the normal of its plane" : "the plane of its normal");
}

static void check_parts(reader *r, const nh_short *s)
{
    char list[128];
    const uint64_t missing = forms[s->kind].needs & ~s->has;
    list_parts(list, sizeof list, missing);
    if (missing)
        FAIL_HERE(r, s->place, "'%s' lacks '%s'",
                  forms[s->kind].named ? s->name : forms[s->kind].word, list);
    else if (s->kind == NH_SHORT_WHEEL)
        check_wheel(r, s);
    else if ((s->has & HAS(ATTITUDE)) && (s->has & HAS(ANGLE)))
        FAIL_HERE(r, s->place,
                  "'%s' has an attitude and an angle; expected 'attitude' in space, 'angle' in the "
                  "plane",
                  s->name);
    else if ((s->has & HAS(INERTIA)) && !(s->has & (HAS(ATTITUDE) | HAS(ANGLE))))
        FAIL_HERE(r, s->part[NH_PART_INERTIA].place,
                  "'%s' has an inertia and does not turn; expected 'attitude R', or in the plane "
                  "'angle A'",
                  s->name);
}

/* ---- short forms ---- */

static void read_name(reader *r, nh_short *s)
{
    char expected[64];
    snprintf(expected, sizeof expected, "the name of this %s", forms[s->kind].word);
    if (!nh_expect_name(&r->p, expected))
        return;
    const nh_token token = nh_take(&r->p);
    s->name = nh_parser_name(&r->p, &token);
    s->place = token.place;
    if (token.length > SHORT_NAME_LONGEST || memchr(token.text, '.', token.length))
        FAIL_HERE(r, token.place,
                  "the name of a %s has at most %d characters and no dot, which its properties "
                  "have: '.at', '.velocity'",
                  forms[s->kind].word, SHORT_NAME_LONGEST);
    for (const nh_short *other = r->outline->first; other && s->name; other = other->next)
        if (strcmp(other->name, s->name) == 0)
            FAIL_HERE(r, token.place, "'%s' is already the name of a %s (line %d)", s->name,
                      forms[other->kind].word, other->place.line);
}

/* for i in a..b: */
static void read_range(reader *r, nh_short *s)
{
    if (!nh_at_word(&r->p, 0, "for") || nh_peek(&r->p, 1).kind != TOKEN_NAME)
        return;
    nh_take(&r->p);
    const nh_token index = nh_peek(&r->p, 0);
    const nh_ast *loop = nh_read_loop(&r->p);
    if (!loop)
        return;
    s->index = loop->name;
    s->range = (nh_slice){.from = offset_of(r, &index), .place = index.place};
    end_slice(r, &s->range);
    s->range.to--; /* the colon */
}

/* Springs and dampers are counted; gravity may be given once. */
static void give_name(reader *r, nh_short *s, nh_place place)
{
    char name[32];
    s->place = place;
    if (s->kind == NH_SHORT_GRAVITY) {
        snprintf(name, sizeof name, "gravity");
        if (r->gravity.line)
            FAIL_HERE(r, place, "a second gravity; the first is on line %d", r->gravity.line);
        r->gravity = place;
    } else
        snprintf(name, sizeof name, "%s%d", forms[s->kind].word, ++r->springs);
    s->name = nh_arena_text(r->p.arena, name, strlen(name));
}

static nh_short *read_short(reader *r, nh_short_kind kind)
{
    nh_short *s = nh_parser_take(&r->p, sizeof *s);
    if (!s)
        return NULL;
    const struct form *form = &forms[kind];
    s->kind = kind;
    r->outline->shorts++;
    const nh_place place = nh_take(&r->p).place;
    if (!form->named) {
        give_name(r, s, place);
        if (kind != NH_SHORT_GRAVITY)
            read_range(r, s);
    } else
        read_name(r, s);
    if (form->named && !r->p.lexer.status)
        read_range(r, s);
    for (int i = 0; i < form->points && !r->p.lexer.status; i++)
        if (i == 0 || nh_expect(&r->p, ',', "',' and the other end"))
            read_value(r, s, form->first + (nh_short_part)i);
    while (!r->p.lexer.status && nh_peek(&r->p, 0).kind != TOKEN_LINE &&
           nh_peek(&r->p, 0).kind != TOKEN_END)
        if (!read_part(r, s))
            return NULL;
    check_parts(r, s);
    if (r->outline->shorts > SHORTS_MOST && !r->p.lexer.status)
        r->p.lexer.status = nh_too_large_at(r->p.lexer.report, r->p.lexer.source, s->place,
                                            "more than %d bodies, wheels and springs", SHORTS_MOST);
    s->has |= s->has & HAS(ALONG) ? NH_SHORT_BIT(NH_IS_UNKNOWN) : 0;
    *r->last = s;
    r->last = &s->next;
    return s;
}

/* The short form that begins with the next word, or -1. A coordinate may have the same name:
 * `wheel' = ...`. */
static int short_kind(reader *r)
{
    if (nh_peek(&r->p, 0).kind != TOKEN_NAME)
        return -1;
    for (int i = 0; i < NH_SHORT_KINDS; i++)
        if (nh_at_word(&r->p, 0, forms[i].word))
            return nh_at_sign(&r->p, 1, '\'') || nh_at_sign(&r->p, 1, '[') ? -1 : i;
    return -1;
}

/* ---- the whole ---- */

static void skip_statement(reader *r, nh_passage *passage)
{
    const bool drawing = nh_at_word(&r->p, 0, "draw");
    passage->kind = nh_keyword_kind(&r->p);
    nh_take(&r->p);
    if (passage->kind == STATEMENT_MODEL) {
        r->p.previous = nh_lexer_word(&r->p.lexer); /* no tokens have been read ahead */
        return;
    }
    for (int i = 0; nh_peek(&r->p, 0).kind != TOKEN_LINE && nh_peek(&r->p, 0).kind != TOKEN_END;
         i++) {
        const nh_token token = nh_take(&r->p);
        if (token.kind == TOKEN_NAME && is_word(token.text, token.length, "grip"))
            passage->grips = true;
        /* without conditions of short forms, solving for positions would be refused */
        if (passage->kind == STATEMENT_START && nh_peek(&r->p, 0).kind == TOKEN_NAME &&
            is_word(token.text, token.length, "solve"))
            passage->kind = STATEMENT_SOLVE;
        if (drawing && i == 1)
            passage->drawing = (nh_slice){.from = offset_of(r, &token), .place = token.place};
    }
}

static void note_lagrangian(reader *r, const nh_passage *passage)
{
    if (passage->kind != STATEMENT_LAGRANGIAN)
        return;
    if (r->lagrangian.line && r->outline->shorts)
        FAIL_HERE(r, passage->slice.place, "a second lagrangian; the first is on line %d",
                  r->lagrangian.line);
    r->lagrangian = passage->slice.place;
}

static nh_passage *read_passage(reader *r)
{
    nh_passage *passage = nh_parser_take(&r->p, sizeof *passage);
    const nh_token first = nh_peek(&r->p, 0);
    if (!passage || r->p.lexer.status)
        return NULL;
    passage->slice = (nh_slice){.from = offset_of(r, &first), .place = first.place};
    const int kind = short_kind(r);
    passage->kind = STATEMENT_KINDS;
    if (kind >= 0)
        passage->is = read_short(r, (nh_short_kind)kind);
    else
        skip_statement(r, passage);
    end_slice(r, &passage->slice);
    passage->end = r->p.previous.place;
    passage->end.column += (int)r->p.previous.length;
    passage->drawing.to = passage->slice.to;
    note_lagrangian(r, passage);
    return passage;
}

static bool is_shape(const char *word, size_t length)
{
    bool shape = false;
    for (int i = 0; i < NH_DRAW_SHAPES; i++)
        shape = shape || is_word(word, length, nh_shape_words_of[i].name);
    return shape;
}

/* A part with a shape that does not exist, or a shape for a part that does not. */
static void refuse_drawing(reader *r, const nh_passage *passage, const nh_short *part,
                           const char *word, size_t length)
{
    const char *unknown = nh_arena_text(r->p.arena, word, length);
    if (!unknown || r->p.lexer.status)
        return;
    nh_suggest suggest = nh_suggest_begin(unknown);
    for (int i = 0; i < NH_DRAW_SHAPES && part; i++)
        nh_suggest_offer(&suggest, nh_shape_words_of[i].name);
    for (const nh_short *s = part ? NULL : r->outline->first; s; s = s->next)
        nh_suggest_offer(&suggest, s->name);
    nh_place place = part ? passage->drawing.place : passage->slice.place;
    if (!part)
        place.column += (int)(word - (r->outline->source->text + passage->slice.from));
    if (part)
        FAIL_HERE(r, place, "'%s' is no shape in which '%s' can be drawn%s", unknown, part->name,
                  *suggest.best ? nh_suggest_end(&suggest).text
                                : "; expected 'none' or one such as 'box' or 'ball'");
    else
        FAIL_HERE(r, place, "no body, wheel or blade is called '%s'%s", unknown,
                  nh_suggest_end(&suggest).text);
}

/* draw NAME none, draw NAME SHAPE ..., where a short form has the name. */
static void find_drawn(reader *r, nh_passage *passage)
{
    const nh_outline *outline = r->outline;
    const char *text = outline->source->text;
    const char *name = text + passage->slice.from + strlen("draw");
    name += strspn(name, " \t");
    const size_t length = strcspn(name, " \t\r\n#");
    const char *next = text + passage->drawing.from;
    const size_t next_length = strspn(next, "abcdefghijklmnopqrstuvwxyz");
    const bool none = is_word(next, next_length, "none"), shape = is_shape(next, next_length);
    const bool plain = is_shape(name, length) || is_word(name, length, "for");
    nh_short *part = outline->first;
    while (part && !is_word(name, length, part->name))
        part = part->next;
    if (part && (none || (shape && (part->has & HAS(AT))))) {
        passage->draws = part;
        part->has &= ~NH_SHORT_BIT(NH_IS_DRAWN);
        part->has |= NH_SHORT_BIT(NH_IS_REDRAWN);
    } else if (part && !plain && !shape && next_length > 0)
        refuse_drawing(r, passage, part, next, next_length);
    else if (!part && !plain && (none || shape))
        refuse_drawing(r, passage, NULL, name, length);
}

/* frame.at: remembers that `at` of `frame` is used. */
static void note_use(reader *r, const nh_token *token)
{
    const char *dot = memchr(token->text, '.', token->length);
    for (nh_short *s = dot ? r->outline->first : NULL; s; s = s->next) {
        if (!is_word(token->text, (size_t)(dot - token->text), s->name))
            continue;
        const size_t length = token->length - (size_t)(dot + 1 - token->text);
        nh_use **last = &s->use;
        while (*last && !is_word(dot + 1, length, (*last)->word))
            last = &(*last)->next;
        if (*last)
            return;
        *last = nh_parser_take(&r->p, sizeof **last);
        if (*last) {
            (*last)->word = nh_arena_text(r->p.arena, dot + 1, length);
            (*last)->place = token->place;
        }
        return;
    }
}

/* What ordinary statements and short forms use of short forms. */
static void note_uses(reader *r, const nh_passage *passage)
{
    nh_lexer lexer;
    if (passage->kind == STATEMENT_MODEL || r->p.lexer.status)
        return;
    r->p.lexer.status =
        nh_lexer_begin(&lexer, r->outline->source, passage->slice.from, r->p.lexer.report);
    lexer.place = passage->slice.place;
    const char *end = r->outline->source->text + passage->slice.to;
    while (!lexer.status && !r->p.lexer.status && lexer.at < end) {
        const nh_token token = nh_lexer_next(&lexer);
        if (token.kind == TOKEN_NAME)
            note_use(r, &token);
    }
    nh_lexer_end(&lexer);
}

static void read_passages(reader *r)
{
    nh_outline *outline = r->outline;
    nh_passage **last = &outline->passage;
    for (;;) {
        while (nh_peek(&r->p, 0).kind == TOKEN_LINE)
            nh_take(&r->p);
        if (nh_peek(&r->p, 0).kind == TOKEN_END)
            break;
        *last = read_passage(r);
        if (r->p.lexer.status)
            return;
        last = &(*last)->next;
    }
    for (nh_short *s = outline->first; s; s = s->next)
        s->has |= NH_SHORT_BIT(NH_IS_DRAWN) | (r->gravity.line ? NH_SHORT_BIT(NH_IS_FALLING) : 0);
    for (nh_passage *passage = outline->passage; passage; passage = passage->next)
        if (passage->kind == STATEMENT_DRAW && passage->drawing.from)
            find_drawn(r, passage);
    for (nh_passage *passage = outline->passage; passage && outline->first; passage = passage->next)
        note_uses(r, passage);
}

nh_status nh_outline_read(nh_outline *outline, const nh_source *source, nh_report *report)
{
    *outline = (nh_outline){.source = source};
    reader r = {.p = {.arena = &outline->arena}, .outline = outline, .last = &outline->first};
    if (!nh_lexer_begin(&r.p.lexer, source, 0, report))
        read_passages(&r);
    nh_lexer_end(&r.p.lexer);
    /* Without short forms the ordinary reader finds the mistakes. */
    return outline->shorts || outline->arena.failed ? r.p.lexer.status : NH_OK;
}

void nh_outline_free(nh_outline *outline)
{
    nh_arena_free(&outline->arena);
}
