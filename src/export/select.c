/* Determines which items of a program are needed, and writes them. */
#include "export/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"

/* ---- what is used ---- */

typedef struct marking {
    nh_c_items *source;
    int *waiting; /* items whose own mentions are still to be followed */
    int count;
} marking;

static void mark(void *self, int item)
{
    marking *m = self;
    if (m->source->item[item].used)
        return;
    m->source->item[item].used = true;
    m->waiting[m->count++] = item;
}

bool nh_items_use(nh_c_items *source, const char *roots)
{
    marking m = {source, malloc(((size_t)source->items + 1) * sizeof *m.waiting), 0};
    if (!m.waiting)
        return false;
    nh_items_mentioned(source, roots, strlen(roots), mark, &m);
    while (m.count > 0) {
        const nh_c_item *item = source->item + m.waiting[--m.count];
        nh_items_mentioned(source, item->text + item->body, item->length - item->body, mark, &m);
    }
    free(m.waiting);
    return true;
}

/* ---- what a second source has in common with the first ---- */

static bool same_text(const nh_c_item *a, const nh_c_item *b)
{
    const size_t length = a->length - a->body;
    return length == b->length - b->body &&
           memcmp(a->text + a->body, b->text + b->body, length) == 0;
}

static int counterpart(const nh_c_items *first, const nh_c_item *item)
{
    const int found = *item->names ? nh_items_find(first, item->names, strlen(item->names)) : -1;
    return found >= 0 && same_text(first->item + found, item) ? found : -1;
}

typedef struct difference {
    const nh_c_items *second;
    int item;
    bool found;
} difference;

static void note_difference(void *self, int item)
{
    difference *d = self;
    d->found = d->found || (item != d->item && d->second->item[item].twin < 0);
}

static bool make_different(nh_c_items *second, const char *name, size_t length)
{
    const int item = nh_items_find(second, name, length);
    if (item < 0 || second->item[item].twin < 0)
        return false;
    second->item[item].twin = -1;
    return true;
}

/* Names that a macro pastes from one stem are renamed together, and so is the stem. */
static bool spread_to_pasted(nh_c_items *second, const char *name)
{
    const int first = second->prefixes, end = first + second->suffixes;
    const size_t length = strlen(name);
    char pasted[128];
    bool changed = false;
    for (int i = first; i < end; i++) {
        const char *suffix = second->suffix[i - first];
        const size_t size = strlen(suffix);
        if (length > size && strcmp(name + length - size, suffix) == 0)
            changed = make_different(second, name, length - size) || changed;
        const nh_c_token stem = {NH_C_NAME, name, length};
        if (nh_items_paste(second, stem, i, pasted, sizeof pasted))
            changed = make_different(second, pasted, strlen(pasted)) || changed;
    }
    return changed;
}

/* Two items are the same if their texts are and if everything that they mention is. */
static void compare(const nh_c_items *first, nh_c_items *second)
{
    for (int i = 0; i < second->items; i++)
        second->item[i].twin = counterpart(first, second->item + i);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < second->items; i++) {
            nh_c_item *item = second->item + i;
            difference d = {second, i, false};
            if (item->twin >= 0 && item->used)
                nh_items_mentioned(second, item->text + item->body, item->length - item->body,
                                   note_difference, &d);
            if (d.found)
                item->twin = -1;
            changed = changed || d.found;
            for (const char *name = item->names; *name; name += strlen(name) + 1)
                if (item->twin < 0 && item->used)
                    changed = spread_to_pasted(second, name) || changed;
        }
    }
}

/* ---- writing ---- */

typedef struct writing {
    nh_text *out;
    const nh_c_items *first, *second; /* second: whose items are written, or NULL */
    const nh_export_job *job;
} writing;

/* A number of double precision in a program of single precision. */
static void write_single(nh_text *out, nh_c_token t)
{
    char number[64];
    const bool hexadecimal = t.length > 2 && (t.text[1] == 'x' || t.text[1] == 'X');
    const bool real = memchr(t.text, '.', t.length) ||
                      (hexadecimal ? memchr(t.text, 'p', t.length) : memchr(t.text, 'e', t.length));
    if (!real || t.length >= sizeof number) {
        nh_text_add(out, "%.*s", (int)t.length, t.text);
        return;
    }
    memcpy(number, t.text, t.length);
    number[t.length] = 0;
    const char *exponent = hexadecimal ? strchr(number, 'p') : NULL;
    const double value =
        exponent ? ldexp(1, (int)strtol(exponent + 1, NULL, 10)) : nh_decimal(number, NULL);
    if (value > 1e38)
        nh_text_add_plain(out, "1e38f");
    else if (value != 0 && value < 1e-37)
        nh_text_add_plain(out, "1e-37f");
    else
        nh_text_add(out, "%.*sf", (int)t.length, t.text);
}

static bool single_function(nh_c_token t)
{
    static const char *const names[] = {"fma", "sqrt", "fabs",  "fmax", "fmin", "sin",  "cos",
                                        "tan", "asin", "acos",  "atan", "sinh", "cosh", "tanh",
                                        "exp", "log",  "atan2", "pow",  "rint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (nh_c_token_is(t, names[i]))
            return true;
    return false;
}

/* Both sources have it, but with differences. */
static bool differs(const writing *w, const char *name, size_t length)
{
    const int item = nh_items_find(w->second, name, length);
    return item >= 0 && w->second->item[item].twin < 0 && w->second->item[item].used &&
           nh_items_find(w->first, name, length) >= 0;
}

/* Also if a macro pastes something after it. */
static bool is_renamed(const writing *w, nh_c_token t)
{
    const nh_c_items *s = w->second;
    char pasted[128];
    bool found = differs(w, t.text, t.length);
    for (int i = s->prefixes; i < s->prefixes + s->suffixes && !found; i++)
        found =
            nh_items_paste(s, t, i, pasted, sizeof pasted) && differs(w, pasted, strlen(pasted));
    return found;
}

/* Passes a word at the beginning of a name. */
static bool pass(nh_c_token *t, const char *word)
{
    const size_t length = strlen(word);
    if (t->length <= length || memcmp(t->text, word, length) != 0)
        return false;
    t->text += length;
    t->length -= length;
    return true;
}

/* PREFIX becomes the name of the program, and the compiler's own functions become those of the
 * library. */
static void write_name(writing *w, nh_c_token t, bool is_field)
{
    const bool single = w->job->single;
    if (w->second && !is_field && is_renamed(w, t))
        nh_text_add_plain(w->out, "careful_");
    if (nh_c_token_is(t, "_Pragma"))
        nh_text_add_plain(w->out, "UNROLL");
    else if (single && nh_c_token_is(t, "double"))
        nh_text_add_plain(w->out, "float");
    else if (pass(&t, "PREFIX"))
        nh_text_add(w->out, "%s%.*s", w->job->name, (int)t.length, t.text);
    else {
        const char *mark = nh_export_takes(w->job, t) ? "_" : "";
        (void)pass(&t, "__builtin_");
        nh_text_add(w->out, "%.*s%s%s", (int)t.length, t.text, mark,
                    single && single_function(t) ? "f" : "");
    }
}

static void write_item(writing *w, const nh_c_item *item)
{
    const char *at = item->text, *end = item->text + item->length;
    bool is_field = false;
    for (nh_c_token t; (t = nh_c_token_next(&at, end)).kind != NH_C_END;
         is_field = *t.text == NH_FIELD_MARK) {
        if (t.kind == NH_C_NAME)
            write_name(w, t, is_field);
        else if (t.kind == NH_C_NUMBER && w->job->single)
            write_single(w->out, t);
        else if (*t.text != NH_FIELD_MARK)
            nh_text_add(w->out, "%.*s", (int)t.length, t.text);
    }
    nh_text_add_plain(w->out, "\n");
}

/* Writes items, with an empty line between all except macros. */
static void write_items(writing *w, const nh_c_items *source)
{
    bool was_macro = false;
    for (int i = 0; i < source->items; i++) {
        const nh_c_item *item = source->item + i;
        if (!item->used || (w->second && item->twin >= 0))
            continue;
        if (!(was_macro && item->is_macro))
            nh_text_add_plain(w->out, "\n");
        write_item(w, item);
        was_macro = item->is_macro;
    }
}

/* Writes what both have with the first one. */
static bool share(nh_c_items *first, const nh_c_items *second)
{
    bool good = true;
    for (int i = 0; i < second->items && good; i++) {
        const nh_c_item *item = second->item + i;
        if (item->used && item->twin >= 0 && !first->item[item->twin].used && *item->names)
            good = nh_items_use(first, item->names);
    }
    return good;
}

nh_status nh_excerpt_write(nh_text *out, const nh_excerpt *what, nh_report *report)
{
    writing w = {.out = out, .first = what->first, .job = what->job};
    bool good = nh_items_use(what->first, what->roots);
    if (good && what->second) {
        good = nh_items_use(what->second, what->more_roots);
        compare(what->first, what->second);
        good = good && share(what->first, what->second);
    }
    if (!good)
        return nh_fail_memory(report);
    write_items(&w, what->first);
    if (what->second) {
        w.second = what->second;
        write_items(&w, what->second);
    }
    return out->failed ? nh_fail_memory(report) : NH_OK;
}
