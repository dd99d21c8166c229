/* Divides C source into its top-level items. */
#include "export/source.h"

#include <string.h>

#include "base/hash.h"

typedef struct nh_name {
    const char *text; /* ended by NUL; NULL: free */
    int item;
} nh_name;

/* ---- names -> items ---- */

static size_t hash(const char *text, size_t length)
{
    const uint64_t h = nh_hash(NH_HASH_START, text, length);
    return (size_t)(h ^ h >> 32);
}

static nh_name *place_of(const nh_source *s, const char *text, size_t length)
{
    size_t at = hash(text, length) & (s->room - 1);
    while (s->table[at].text &&
           (strlen(s->table[at].text) != length || memcmp(s->table[at].text, text, length) != 0))
        at = (at + 1) & (s->room - 1);
    return s->table + at;
}

int nh_source_find(const nh_source *source, const char *name, size_t length)
{
    const nh_name *at = place_of(source, name, length);
    return at->text ? at->item : -1;
}

/* ---- one item ---- */

typedef struct reading {
    nh_source *s;
    nh_arena *arena;
    const char *at, *end;
    const char **names; /* of the present item */
    int count, room;
} reading;

static void add_name(reading *r, nh_token token)
{
    if (r->count == r->room) {
        const int room = 2 * r->room + 8;
        const char **more = nh_arena_array(r->arena, (size_t)room, sizeof *more);
        if (!more)
            return;
        if (r->count > 0)
            memcpy(more, r->names, (size_t)r->count * sizeof *more);
        r->names = more;
        r->room = room;
    }
    const char *text = nh_arena_text(r->arena, token.text, token.length);
    if (text)
        r->names[r->count++] = text;
}

/* The rest of a line, including the lines that backslashes join to it. */
static void pass_directive(reading *r)
{
    while (r->at < r->end && *r->at != '\n')
        r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
}

static void note_pasted(reading *r, nh_item *item)
{
    nh_source *s = r->s;
    const char *at = item->text + item->body, *end = item->text + item->length;
    nh_token last = {0};
    bool joined = false; /* after ## */
    for (nh_token t; (t = nh_token_next(&at, end)).kind != NH_TOKEN_END;) {
        if (t.kind == NH_TOKEN_SIGN && *t.text == '#' && at < end && *at == '#') {
            at++;
            joined = true;
            if (last.kind == NH_TOKEN_NAME && s->prefixes < 64)
                s->prefix[s->prefixes++] = nh_arena_text(r->arena, last.text, last.length);
            continue;
        }
        if (joined && t.kind == NH_TOKEN_NAME && s->suffixes < 64)
            s->suffix[s->suffixes++] = nh_arena_text(r->arena, t.text, t.length);
        if (t.kind == NH_TOKEN_NAME || t.kind == NH_TOKEN_SIGN) {
            joined = false;
            last = t;
        }
    }
}

/* #define NAME ...: the second word. */
static void read_macro(reading *r, nh_item *item)
{
    const char *at = item->text + item->body + 1, *end = item->text + item->length;
    int words = 0;
    for (nh_token t; (t = nh_token_next(&at, end)).kind != NH_TOKEN_END && words < 2;)
        if (t.kind == NH_TOKEN_NAME && ++words == 2)
            add_name(r, t);
    item->is_macro = true;
    note_pasted(r, item);
}

/* What a declaration or definition defines: for a function, the name before the first parenthesis;
 * for data, the name before the bracket or equals sign; for a typedef, the last name; a tag; the
 * constants of an enumeration. */
typedef struct declaration {
    int round, curly; /* number of open ones */
    bool function, data, enumeration, is_typedef, at_constant, named;
    nh_token last; /* name at the outermost level */
} declaration;

static void note_name(reading *r, declaration *d, nh_token t)
{
    if (d->curly == 0 && d->round == 0) {
        d->enumeration = d->enumeration || nh_token_is(t, "enum");
        d->is_typedef = d->is_typedef || nh_token_is(t, "typedef");
        if (nh_token_is(d->last, "struct") || nh_token_is(d->last, "union"))
            add_name(r, t);
        d->last = t;
    } else if (d->enumeration && d->curly == 1 && d->at_constant) {
        add_name(r, t);
        d->at_constant = false;
    }
}

/* Returns whether the item ends here. */
static bool note_sign(reading *r, declaration *d, char c)
{
    const bool outermost = d->round == 0 && d->curly == 0;
    if (outermost && (c == '(' || c == '[' || c == '=') && !d->named && !d->is_typedef) {
        add_name(r, d->last);
        d->named = true;
        d->function = c == '(';
    }
    d->round += (c == '(' || c == '[') - (c == ')' || c == ']');
    d->curly += (c == '{') - (c == '}');
    if (c == '{' || c == ',')
        d->at_constant = d->curly == 1 && d->round == 0;
    if (c == ';' && d->round == 0 && d->curly == 0) {
        if (!d->named && d->last.kind == NH_TOKEN_NAME && !nh_token_is(d->last, "enum"))
            add_name(r, d->last);
        return true;
    }
    return c == '}' && d->curly == 0 && d->round == 0 && d->function;
}

static void read_declaration(reading *r)
{
    declaration d = {0};
    for (nh_token t; (t = nh_token_next(&r->at, r->end)).kind != NH_TOKEN_END;) {
        if (t.kind == NH_TOKEN_NAME)
            note_name(r, &d, t);
        else if (t.kind == NH_TOKEN_SIGN && *t.text == '#')
            pass_directive(r); /* a macro within the item */
        else if (t.kind == NH_TOKEN_SIGN && note_sign(r, &d, *t.text))
            return;
    }
}

/* Moves to the next item; `text` is where it begins, or the comment that belongs to it. */
static bool find_item(reading *r, const char **text, const char **body)
{
    const char *comment = NULL;
    int lines = 0; /* since the comment */
    for (;;) {
        const char *here = r->at;
        const nh_token t = nh_token_next(&r->at, r->end);
        if (t.kind == NH_TOKEN_END)
            return false;
        if (t.kind == NH_TOKEN_COMMENT) {
            comment = here;
            lines = 0;
        } else if (t.kind == NH_TOKEN_SPACE) {
            lines += *t.text == '\n';
            if (lines > 1)
                comment = NULL;
        } else if (*t.text != ';') { /* a semicolon after a macro at top level is not an item */
            r->at = here;
            *text = comment ? comment : here;
            *body = here;
            return true;
        }
    }
}

/* ---- all of them ---- */

static nh_item read_item(reading *r, const char *text, const char *body)
{
    nh_item item = {.text = text, .body = (size_t)(body - text), .twin = -1};
    r->names = NULL;
    r->count = r->room = 0;
    const bool is_directive = *body == '#';
    if (is_directive)
        pass_directive(r);
    else
        read_declaration(r);
    item.length = (size_t)(r->at - text);
    if (is_directive)
        read_macro(r, &item);
    item.name = r->names;
    item.names = r->count;
    return item;
}

static bool fill_table(nh_source *s, nh_arena *arena)
{
    size_t names = 1;
    for (int i = 0; i < s->items; i++)
        names += (size_t)s->item[i].names;
    for (s->room = 64; s->room < 2 * names;)
        s->room *= 2;
    s->table = nh_arena_array(arena, s->room, sizeof *s->table);
    if (!s->table)
        return false;
    for (int i = 0; i < s->items; i++)
        for (int j = 0; j < s->item[i].names; j++) {
            const char *name = s->item[i].name[j];
            nh_name *place = place_of(s, name, strlen(name));
            if (!place->text)
                *place = (nh_name){name, i};
        }
    return true;
}

bool nh_source_read(nh_source *out, const char *text, nh_arena *arena)
{
    *out = (nh_source){.prefix = nh_arena_array(arena, 64, sizeof *out->prefix),
                       .suffix = nh_arena_array(arena, 64, sizeof *out->suffix)};
    reading r = {.s = out, .arena = arena, .at = text, .end = text + strlen(text)};
    const char *begin, *body;
    int room = 0;
    while (!arena->failed && find_item(&r, &begin, &body)) {
        if (out->items == room) {
            nh_item *more = nh_arena_array(arena, (size_t)(room = 2 * room + 64), sizeof *more);
            if (!more)
                return false;
            if (out->items > 0)
                memcpy(more, out->item, (size_t)out->items * sizeof *more);
            out->item = more;
        }
        out->item[out->items++] = read_item(&r, begin, body);
    }
    return !arena->failed && fill_table(out, arena);
}

/* ---- mentions ---- */

bool nh_source_paste(const nh_source *s, nh_token t, int place, char *pasted, size_t room)
{
    const bool before = place < s->prefixes;
    const char *part = before ? s->prefix[place] : s->suffix[place - s->prefixes];
    const size_t length = strlen(part);
    if (length + t.length >= room)
        return false;
    memcpy(pasted + (before ? length : 0), t.text, t.length);
    memcpy(pasted + (before ? 0 : t.length), part, length);
    pasted[length + t.length] = 0;
    return true;
}

static void mention_pasted(const nh_source *s, nh_token t, void (*mention)(void *self, int item),
                           void *self)
{
    char pasted[128];
    for (int i = 0; i < s->prefixes + s->suffixes; i++) {
        const bool good = nh_source_paste(s, t, i, pasted, sizeof pasted);
        const int item = good ? nh_source_find(s, pasted, strlen(pasted)) : -1;
        if (item >= 0)
            mention(self, item);
    }
}

void nh_source_mentions(const nh_source *source, const char *text, size_t length,
                        void (*mention)(void *self, int item), void *self)
{
    nh_walk walk = nh_walk_begin(text, length);
    bool is_field;
    for (nh_token t; (t = nh_walk_next(&walk, &is_field)).kind != NH_TOKEN_END;) {
        if ((t.kind != NH_TOKEN_NAME && t.kind != NH_TOKEN_NUMBER) || is_field)
            continue;
        const int item = nh_source_find(source, t.text, t.length);
        if (item >= 0)
            mention(self, item);
        mention_pasted(source, t, mention, self);
    }
}
