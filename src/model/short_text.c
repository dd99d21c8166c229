/* Writes the text that a text with short forms stands for: its ordinary statements as they are, and
 * in place of short forms the lines of short_lines.c. Every character is marked with the place that
 * it comes from. */
#include "model/short_lines.h"

#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

typedef struct writer {
    const nh_outline *outline;
    nh_short_stage stage;
    nh_text out;
    nh_origin *origin;
    size_t origins, room;
} writer;

#define HAS(PART) NH_SHORT_BIT(NH_PART_##PART)
#define IS(ANSWER) NH_SHORT_BIT(NH_IS_##ANSWER)

/* From here on, characters come from this place. */
static void mark(writer *w, nh_place place, bool generated)
{
    if (w->origins == w->room) {
        const size_t room = 2 * w->room + 64;
        nh_origin *origin = realloc(w->origin, room * sizeof *origin);
        w->out.failed = w->out.failed || !origin;
        if (!origin)
            return;
        w->origin = origin;
        w->room = room;
    }
    w->origin[w->origins++] = (nh_origin){w->out.length, place, generated};
}

static void put_slice(writer *w, const nh_slice *slice)
{
    mark(w, slice->place, false);
    nh_text_add_bytes(&w->out, w->outline->source->text + slice->from, slice->to - slice->from);
}

static int part_of(const char *word, size_t length)
{
    int part = 0;
    while (part < NH_SHORT_PARTS && (strncmp(nh_short_part_name(part), word, length) != 0 ||
                                     nh_short_part_name(part)[length]))
        part++;
    return part;
}

/* Mistakes in generated text are reported at the last part that it is made of. */
static nh_place place_of(const nh_short *s, const char *text)
{
    nh_place place = s->place;
    for (; (text = strpbrk(text, "${")); text++) {
        const size_t length = nh_short_word(text + 1);
        const int part = length ? part_of(text + 1, length) : NH_SHORT_PARTS;
        if (part < NH_SHORT_PARTS && s->part[part].to)
            place = s->part[part].place;
    }
    return place;
}

/* $ and $at, with the index of a family: "trailer.at[i]". reaction() takes indices together. */
static const char *put_property(writer *w, const nh_short *s, const char *text, const char *begin)
{
    const size_t length = nh_short_word(text);
    nh_text_add(&w->out, "%s%s%.*s", s->name, length ? "." : "", (int)length, text);
    text += length;
    if (!s->index)
        return text;
    const bool joined = *text == '[' && (size_t)(text - begin) > length + 9 &&
                        memcmp(text - length - 10, "reaction($", 10) == 0;
    nh_text_add(&w->out, joined ? "[%s, " : "[%s]", s->index);
    return text + joined;
}

static void put_text(writer *w, const nh_short *s, const char *text)
{
    const nh_place place = place_of(s, text);
    const char *begin = text;
    mark(w, place, true);
    while (*text) {
        const size_t plain = strcspn(text, "${");
        nh_text_add_bytes(&w->out, text, plain);
        text += plain;
        if (*text == '$')
            text = put_property(w, s, text + 1, begin);
        else if (*text == '{') {
            const size_t length = nh_short_word(text + 1);
            put_slice(w, &s->part[part_of(text + 1, length)]);
            mark(w, place, true);
            text += length + 2;
        }
    }
}

/* for i in 1..N: */
static void put_range(writer *w, const nh_short *s)
{
    nh_text_add_plain(&w->out, "for ");
    put_slice(w, &s->range);
    mark(w, s->place, true);
    nh_text_add_plain(&w->out, ": ");
}

/* A term; of a family, the sum: "sum(i in 1..N: $kinetic[i])". */
static void put_sum(writer *w, const nh_short *s, const char *text)
{
    if (s->index) {
        nh_text_add_plain(&w->out, "sum(");
        put_slice(w, &s->range);
        mark(w, s->place, true);
        nh_text_add_plain(&w->out, ": ");
    }
    put_text(w, s, text);
    if (s->index)
        nh_text_add_plain(&w->out, ")");
}

/* A statement, for all members of a family: "let for i in 1..N: $at[i] = ...", "constraint $touch
 * for i in 1..N: ...", "dissipation sum(i in 1..N: ...)". */
static void put_statement(writer *w, const nh_short *s, const char *text)
{
    mark(w, s->place, true);
    const size_t word = strcspn(text, " ") + 1;
    if (s->index && text[word] == '$' && *text == 'c') { /* a constraint or a contact */
        const char *name = text + word + 1;
        const size_t length = nh_short_word(name);
        nh_text_add(&w->out, "%.*s%s%s%.*s ", (int)word, text, s->name, length ? "." : "",
                    (int)length, name);
        put_range(w, s);
        text = name + length + strlen(": ");
    } else if (s->index && strncmp(text, "dissipation", word - 1) == 0) {
        nh_text_add_bytes(&w->out, text, word);
        put_sum(w, s, text + word);
        return;
    } else if (s->index) {
        nh_text_add_bytes(&w->out, text, word);
        put_range(w, s);
        text += word;
    }
    put_text(w, s, text);
}

static void end_line(writer *w)
{
    if (w->out.length && w->out.data[w->out.length - 1] != '\n')
        nh_text_add_plain(&w->out, "\n");
}

static void put_lines(writer *w, const nh_short *s, nh_short_table table)
{
    const nh_short_line *line[NH_SHORT_LINES_MOST];
    const size_t count = nh_short_lines(s, table, w->stage, line);
    for (size_t i = 0; i < count; i++) {
        end_line(w);
        put_statement(w, s, line[i]->text);
    }
}

/* ---- passages ---- */

static bool is_kept(nh_statement_kind kind, nh_short_stage stage)
{
    switch (kind) {
    case STATEMENT_MODEL:
    case STATEMENT_PARAMETER:
    case STATEMENT_COORDINATE:
    case STATEMENT_VELOCITY:
    case STATEMENT_ROTATION:
    case STATEMENT_LET:
    case STATEMENT_TABLE:
    case STATEMENT_INPUT:
        return true;
    case STATEMENT_START:
    case STATEMENT_CONSTRAINT:
    case STATEMENT_DRAW:
        return stage != NH_STAGE_SHAPES;
    default:
        return stage == NH_STAGE_WHOLE;
    }
}

/* As a comment, on one line. */
static void put_original(writer *w, const nh_passage *passage)
{
    mark(w, passage->slice.place, true);
    nh_text_add_plain(&w->out, "# ");
    const char *text = w->outline->source->text;
    for (size_t i = passage->slice.from; i < passage->slice.to; i++)
        nh_text_add_bytes(&w->out, text[i] == '\n' || text[i] == '\r' ? " " : &text[i], 1);
}

/* draw NAME none, draw NAME SHAPE ... */
static void put_drawing(writer *w, const nh_passage *passage)
{
    const nh_short *s = passage->draws;
    const nh_slice shape = passage->drawing;
    const char *word = w->outline->source->text + shape.from;
    nh_slice name = shape, keys = shape;
    name.to = name.from + nh_short_word(word);
    keys.from = name.to;
    keys.place.column += (int)(name.to - name.from);
    const nh_short_line *line[NH_SHORT_LINES_MOST];
    const size_t count = nh_short_lines(s, NH_LINES_PLACEMENTS, w->stage, line);
    put_original(w, passage);
    if (strncmp(word, "none", 4) == 0)
        return;
    const int points = nh_short_points(word);
    nh_text_add_plain(&w->out, "\n");
    put_statement(w, s, "draw ");
    put_slice(w, &name);
    for (size_t i = 0; i < count && points == 0; i++)
        put_text(w, s, line[i]->text);
    if (points == 1)
        put_text(w, s, " $at");
    put_slice(w, &keys);
}

static bool has_terms(const nh_outline *outline)
{
    const nh_short_line *line[NH_SHORT_LINES_MOST];
    for (const nh_short *s = outline->first; s; s = s->next)
        if (nh_short_lines(s, NH_LINES_TERMS, NH_STAGE_WHOLE, line))
            return true;
    return false;
}

/* The Lagrangian of the text becomes one term of the whole. */
static void put_own_lagrangian(writer *w, const nh_passage *passage)
{
    nh_slice rest = passage->slice;
    rest.from += strlen("lagrangian");
    rest.place.column += (int)strlen("lagrangian");
    mark(w, passage->slice.place, true);
    nh_text_add_plain(&w->out, "let lagrangian.own =");
    put_slice(w, &rest);
}

static void put_short(writer *w, const nh_passage *passage)
{
    if (w->stage == NH_STAGE_WHOLE)
        put_original(w, passage);
    put_lines(w, passage->is, NH_LINES_DEFINITIONS);
    put_lines(w, passage->is, w->stage == NH_STAGE_WHOLE ? NH_LINES_FORCES : NH_LINES_NO_FORCES);
    if (w->stage == NH_STAGE_WHOLE)
        put_lines(w, passage->is, NH_LINES_ENERGIES_EARLY);
    if (w->stage != NH_STAGE_WHOLE)
        put_lines(w, passage->is, w->stage == NH_STAGE_SHAPES ? NH_LINES_SHAPES : NH_LINES_ROWS);
}

static void put_passage(writer *w, const nh_passage *passage)
{
    const bool whole = w->stage == NH_STAGE_WHOLE;
    if (passage->is)
        put_short(w, passage);
    else if (passage->draws && whole)
        put_drawing(w, passage);
    else if (passage->kind == STATEMENT_LAGRANGIAN && whole && has_terms(w->outline))
        put_own_lagrangian(w, passage);
    else if (whole || (is_kept(passage->kind, w->stage) && !passage->draws && !passage->grips))
        put_slice(w, &passage->slice);
}

/* ---- what follows at the end ---- */

/* "+ $kinetic", without its sign at the beginning; of a family, the sum. */
static void put_term(writer *w, const nh_short *s, const char *term, bool first)
{
    mark(w, s->place, true);
    if (!first)
        nh_text_add(&w->out, " %c ", *term);
    else if (*term == '-')
        nh_text_add_plain(&w->out, "-");
    put_sum(w, s, term + 2);
}

static void put_lagrangian(writer *w)
{
    bool own = false;
    for (const nh_passage *p = w->outline->passage; p; p = p->next)
        own = own || p->kind == STATEMENT_LAGRANGIAN;
    bool first = !own;
    nh_text_add(&w->out, "\nlagrangian (%s", own ? "lagrangian.own" : "");
    for (const nh_short *s = w->outline->first; s; s = s->next) {
        const nh_short_line *line[NH_SHORT_LINES_MOST];
        const size_t count = nh_short_lines(s, NH_LINES_TERMS, w->stage, line);
        if (count && !first)
            nh_text_add_plain(&w->out, "\n ");
        for (size_t i = 0; i < count; i++, first = false)
            put_term(w, s, line[i]->text, first);
    }
    nh_text_add_plain(&w->out, ")");
}

/* The ground under a wheel that is drawn. */
static bool lacks_ground(const nh_outline *outline)
{
    bool wheel = false;
    for (const nh_short *s = outline->first; s; s = s->next)
        wheel = wheel || (s->kind == NH_SHORT_WHEEL && (s->has & HAS(AXIS)) &&
                          (s->has & IS(DRAWN)) && !(s->has & HAS(PLANE)));
    for (const nh_passage *p = outline->passage; p && wheel; p = p->next) {
        const char *text = outline->source->text + p->slice.from;
        if (p->kind == STATEMENT_DRAW && !p->draws) {
            text += strlen("draw");
            wheel = strncmp(text + strspn(text, " \t"), "ground", 6) != 0;
        }
    }
    return wheel;
}

static void put_end(writer *w)
{
    const nh_outline *outline = w->outline;
    for (const nh_short *s = outline->first; s; s = s->next)
        put_lines(w, s, NH_LINES_ENERGIES);
    if (has_terms(outline))
        put_lagrangian(w);
    for (const nh_short *s = outline->first; s; s = s->next)
        put_lines(w, s, NH_LINES_LAWS);
    if (lacks_ground(outline))
        nh_text_add_plain(&w->out, "\ndraw ground");
    for (const nh_short *s = outline->first; s; s = s->next)
        if (s->has & IS(DRAWN))
            put_lines(w, s, NH_LINES_DRAWINGS);
    nh_text_add_plain(&w->out, "\n");
}

/* ---- the whole ---- */

static void write_all(writer *w)
{
    nh_slice between = {.place = {.line = 1, .column = 1}};
    for (const nh_passage *p = w->outline->passage; p; p = p->next) {
        between.to = p->slice.from;
        put_slice(w, &between);
        put_passage(w, p);
        between = (nh_slice){.from = p->slice.to, .place = p->end};
    }
    between.to = w->outline->source->length;
    put_slice(w, &between);
    if (w->stage != NH_STAGE_WHOLE)
        return;
    mark(w, between.place, true);
    end_line(w);
    put_end(w);
}

nh_status nh_outline_write(const nh_outline *outline, nh_short_stage stage, nh_arena *arena,
                           nh_source *expanded, nh_report *report)
{
    writer w = {.outline = outline, .stage = stage};
    write_all(&w);
    *expanded = *outline->source;
    nh_origin *origin = nh_arena_array(arena, w.origins, sizeof *origin);
    if (origin && !w.out.failed) {
        memcpy(origin, w.origin, w.origins * sizeof *origin);
        expanded->expanded = nh_arena_text(arena, w.out.data, w.out.length);
        expanded->expanded_length = w.out.length;
        expanded->origin = origin;
        expanded->origins = w.origins;
    }
    const bool failed = !expanded->expanded;
    nh_text_free(&w.out);
    free(w.origin);
    return failed ? nh_fail_memory(report) : NH_OK;
}
