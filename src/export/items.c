/* Takes the items of a program from what the build has prepared and from what was written for it,
 * and finds them by their names. */
#include "export/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* ---- adding an item ---- */

/* The macros that paste names: NAME##parameter and parameter##NAME. */
static void note_pasted(nh_c_items *s, const nh_c_item *item)
{
    const char *at = item->text + item->body, *end = item->text + item->length;
    nh_c_token last = {0};
    bool joined = false; /* after ## */
    for (nh_c_token t; (t = nh_c_token_next(&at, end)).kind != NH_C_END;) {
        if (t.kind == NH_C_SIGN && *t.text == '#' && at < end && *at == '#') {
            at++;
            joined = true;
            if (last.kind == NH_C_NAME && s->prefixes < 64)
                s->prefix[s->prefixes++] = nh_arena_text(s->arena, last.text, last.length);
            continue;
        }
        if (joined && t.kind == NH_C_NAME && s->suffixes < 64)
            s->suffix[s->suffixes++] = nh_arena_text(s->arena, t.text, t.length);
        if (t.kind == NH_C_NAME || t.kind == NH_C_SIGN) {
            joined = false;
            last = t;
        }
    }
}

static size_t length_of_comment(const char *text, size_t length)
{
    const char *at = text, *here = text;
    nh_c_token t;
    do {
        here = at;
        t = nh_c_token_next(&at, text + length);
    } while (t.kind == NH_C_COMMENT || t.kind == NH_C_SPACE);
    return (size_t)(here - text);
}

static void add_item(nh_c_items *s, const char *text, size_t length, const char *names)
{
    if (s->items == s->room) {
        const int room = 2 * s->room + 64;
        nh_c_item *more = nh_arena_array(s->arena, (size_t)room, sizeof *more);
        if (!more)
            return;
        if (s->items > 0)
            memcpy(more, s->item, (size_t)s->items * sizeof *more);
        s->item = more;
        s->room = room;
    }
    nh_c_item *item = s->item + s->items++;
    *item = (nh_c_item){text, length, length_of_comment(text, length), names, .twin = -1};
    item->is_macro = text[item->body] == '#';
    if (item->is_macro)
        note_pasted(s, item);
}

/* ---- items that were written ---- */

/* A macro ends with its line, which backslashes continue. */
static const char *end_of_macro(const char *at, const char *end, nh_c_token *name)
{
    int words = 0; /* `define` and the name */
    const char *to = at;
    for (nh_c_token t; words < 2 && (t = nh_c_token_next(&to, end)).kind != NH_C_END;)
        if (t.kind == NH_C_NAME && ++words == 2)
            *name = t;
    while (at < end && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* The value follows the name. */
static void note_definition(nh_c_items *s, nh_c_token name)
{
    const char *value = name.text + name.length;
    for (int i = 0; nh_definition_names[i]; i++)
        if (nh_c_token_is(name, nh_definition_names[i]))
            s->definition[i] = (nh_definition){true, strtol(value + strspn(value, " ("), NULL, 0)};
}

/* Types and data end with a semicolon, functions with a brace; the name is before the first
 * bracket, equals sign or semicolon. */
static const char *end_of_definition(const char *at, const char *end, nh_c_token *name)
{
    nh_c_token last = {0};
    bool function = false;
    int open = 0;
    for (nh_c_token t; (t = nh_c_token_next(&at, end)).kind != NH_C_END;) {
        const char c = t.kind == NH_C_SIGN ? *t.text : ' ';
        if (t.kind == NH_C_NAME)
            last = t;
        if (!name->text && (c == '(' || c == '[' || c == '=' || c == ';')) {
            *name = last;
            function = c == '(';
        }
        open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (open == 0 && (c == ';' || (c == '}' && function)))
            break;
    }
    return at;
}

void nh_items_add_text(nh_c_items *s, const char *text)
{
    text = nh_arena_text(s->arena, text, strlen(text));
    const char *const end = text ? text + strlen(text) : NULL;
    for (const char *at = text; at;) {
        const char *const begin = at + strspn(at, " \n");
        const char *const body = begin + length_of_comment(begin, (size_t)(end - begin));
        nh_c_token name = {0};
        if (body == end)
            return;
        at = *body == '#' ? end_of_macro(body, end, &name) : end_of_definition(body, end, &name);
        if (*body == '#')
            note_definition(s, name);
        char *names = nh_arena_take(s->arena, name.length + 2);
        if (!names)
            return;
        if (name.length > 0)
            memcpy(names, name.text, name.length);
        add_item(s, begin, (size_t)(at - begin), names);
    }
}

/* ---- items that the build has prepared ---- */

/* The text without the parts whose conditions do not hold. */
static const char *decided_text(nh_c_items *s, const char *text)
{
    if (!strchr(text, '\1'))
        return text;
    char *out = nh_arena_take(s->arena, strlen(text) + 1), *to = out, *from;
    bool holds = true;
    for (; out && *text; text++)
        if (*text == '\1') {
            holds = nh_condition_holds((int)strtol(text + 1, &from, 10), s->definition);
            text = from; /* the second \1 */
        } else if (holds)
            *to++ = *text;
    return out;
}

const short *nh_items_add_prepared(nh_c_items *s, const short *list)
{
    for (; *list >= 0; list++) {
        const nh_prepared_item *item = nh_prepared_items + *list;
        const bool holds = nh_condition_holds(item->condition, s->definition);
        const char *text = holds ? decided_text(s, item->text) : NULL;
        if (text)
            add_item(s, text, strlen(text), item->names);
    }
    return list + 1;
}

/* ---- names ---- */

typedef struct nh_name {
    const char *text; /* NULL: free */
    int item;
} nh_name;

static nh_name *place_of(const nh_c_items *s, const char *text, size_t length)
{
    const uint64_t hash = nh_hash(NH_HASH_START, text, length);
    size_t at = (size_t)(hash ^ hash >> 32) & (s->table_size - 1);
    while (s->table[at].text &&
           (strlen(s->table[at].text) != length || memcmp(s->table[at].text, text, length) != 0))
        at = (at + 1) & (s->table_size - 1);
    return s->table + at;
}

int nh_items_find(const nh_c_items *s, const char *name, size_t length)
{
    const nh_name *at = place_of(s, name, length);
    return at->text ? at->item : -1;
}

bool nh_items_finish(nh_c_items *s)
{
    size_t names = 1;
    for (int i = 0; i < s->items; i++)
        for (const char *name = s->item[i].names; *name; name += strlen(name) + 1)
            names++;
    for (s->table_size = 64; s->table_size < 2 * names;)
        s->table_size *= 2;
    s->table = nh_arena_array(s->arena, s->table_size, sizeof *s->table);
    if (s->arena->failed)
        return false;
    for (int i = 0; i < s->items; i++)
        for (const char *name = s->item[i].names; *name; name += strlen(name) + 1) {
            nh_name *place = place_of(s, name, strlen(name));
            if (!place->text)
                *place = (nh_name){name, i};
        }
    return true;
}

/* ---- mentions ---- */

bool nh_items_paste(const nh_c_items *s, nh_c_token t, int place, char *pasted, size_t room)
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

static void mention_pasted(const nh_c_items *s, nh_c_token t, void (*mention)(void *self, int item),
                           void *self)
{
    char pasted[128];
    for (int i = 0; i < s->prefixes + s->suffixes; i++) {
        const bool good = nh_items_paste(s, t, i, pasted, sizeof pasted);
        const int item = good ? nh_items_find(s, pasted, strlen(pasted)) : -1;
        if (item >= 0)
            mention(self, item);
    }
}

void nh_items_mentioned(const nh_c_items *s, const char *text, size_t length,
                        void (*mention)(void *self, int item), void *self)
{
    const char *at = text, *end = text + length;
    bool is_field = false;
    for (nh_c_token t; (t = nh_c_token_next(&at, end)).kind != NH_C_END;
         is_field = *t.text == NH_FIELD_MARK) {
        if ((t.kind != NH_C_NAME && t.kind != NH_C_NUMBER) || is_field)
            continue;
        const int item = nh_items_find(s, t.text, t.length);
        if (item >= 0)
            mention(self, item);
        mention_pasted(s, t, mention, self);
    }
}
