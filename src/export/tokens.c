/* Splits C source into tokens, just well enough to tell names, numbers, quotations and comments
 * apart, and evaluates preprocessor conditions. */
#include "export/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *end_of_quotation(const char *at, const char *end)
{
    const char quote = *at++;
    while (at < end && *at != quote)
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at + 1 : end;
}

static const char *end_of_comment(const char *at, const char *end)
{
    for (at += 2; at + 1 < end; at++)
        if (at[0] == '*' && at[1] == '/')
            return at + 2;
    return end;
}

/* Digits, letters, points, and a sign after an exponent. */
static const char *end_of_number(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        const bool exponent = strchr("eEpP", at[-1]) && (*at == '+' || *at == '-');
        if (!is_word(*at) && *at != '.' && !exponent)
            break;
    }
    return at;
}

nh_token nh_token_next(const char **at, const char *end)
{
    const char *from = *at, *to = from + 1;
    nh_token_kind kind = NH_TOKEN_SIGN;
    if (from >= end)
        return (nh_token){NH_TOKEN_END, from, 0};
    if (*from == '"' || *from == '\'') {
        kind = NH_TOKEN_QUOTED;
        to = end_of_quotation(from, end);
    } else if (*from == '/' && to < end && *to == '*') {
        kind = NH_TOKEN_COMMENT;
        to = end_of_comment(from, end);
    } else if (isdigit((unsigned char)*from) ||
               (*from == '.' && to < end && isdigit((unsigned char)*to))) {
        kind = NH_TOKEN_NUMBER;
        to = end_of_number(from, end);
    } else if (is_word(*from)) {
        kind = NH_TOKEN_NAME;
        while (to < end && is_word(*to))
            to++;
    } else if (*from == '\n') {
        kind = NH_TOKEN_SPACE;
    } else if (*from == ' ' || *from == '\t') {
        kind = NH_TOKEN_SPACE;
        while (to < end && (*to == ' ' || *to == '\t'))
            to++;
    }
    *at = to;
    return (nh_token){kind, from, (size_t)(to - from)};
}

bool nh_token_is(nh_token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

/* ---- fields ---- */

/* The next character that is not blank or part of a comment. */
static char sign_ahead(const char *at, const char *end)
{
    nh_token t;
    do
        t = nh_token_next(&at, end);
    while (t.kind == NH_TOKEN_SPACE || t.kind == NH_TOKEN_COMMENT);
    return t.kind == NH_TOKEN_SIGN ? *t.text : 0;
}

nh_walk nh_walk_begin(const char *text, size_t length)
{
    nh_walk walk = {.at = text, .end = text + length};
    nh_walk look = walk;
    nh_token t = nh_token_next(&look.at, look.end);
    while (t.kind == NH_TOKEN_COMMENT || t.kind == NH_TOKEN_SPACE || nh_token_is(t, "typedef"))
        t = nh_token_next(&look.at, look.end);
    walk.in_struct = nh_token_is(t, "struct") || nh_token_is(t, "union");
    return walk;
}

/* A field is a name that follows a point or an arrow or, in a struct, one that is followed by a
 * comma, a semicolon or a bracket. */
nh_token nh_walk_next(nh_walk *walk, bool *is_field)
{
    const nh_token t = nh_token_next(&walk->at, walk->end);
    *is_field = false;
    if (t.kind == NH_TOKEN_SIGN) {
        const char c = *t.text;
        walk->round += (c == '(' || c == '[') - (c == ')' || c == ']');
        walk->curly += (c == '{') - (c == '}');
        walk->behind_point = c == '.' || (walk->behind_point && c == '>');
        if (c == '-' && walk->at < walk->end && *walk->at == '>')
            walk->behind_point = true;
    } else if (t.kind == NH_TOKEN_NAME) {
        const char ahead = sign_ahead(walk->at, walk->end);
        const bool declared = walk->in_struct && walk->curly > 0 && walk->round == 0 &&
                              (ahead == ',' || ahead == ';' || ahead == '[');
        *is_field = walk->behind_point || declared;
        walk->behind_point = false;
    } else if (t.kind != NH_TOKEN_SPACE && t.kind != NH_TOKEN_COMMENT)
        walk->behind_point = false;
    return t;
}

/* ---- evaluating a condition ---- */

typedef struct macro {
    nh_token name;
    const char *body, *end; /* NULL: no longer defined */
    struct macro *before;
} macro;

typedef struct condition {
    const macro *macros;
    const char *at, *end;
    nh_token token; /* the next one */
    int depth;      /* of nested macros */
    bool failed;
} condition;

static void advance(condition *c)
{
    do
        c->token = nh_token_next(&c->at, c->end);
    while (c->token.kind == NH_TOKEN_SPACE || c->token.kind == NH_TOKEN_COMMENT ||
           nh_token_is(c->token, "\\"));
}

static bool takes(condition *c, const char *sign)
{
    for (size_t i = 0; sign[i]; i++)
        if (c->token.text + i >= c->end || c->token.text[i] != sign[i])
            return false;
    c->at = c->token.text + strlen(sign);
    advance(c);
    return true;
}

static const macro *look_up(const macro *m, nh_token name)
{
    while (m && (m->name.length != name.length || memcmp(m->name.text, name.text, name.length)))
        m = m->before;
    return m && m->body ? m : NULL;
}

static long choice(condition *c);

static long value_of_text(const condition *c, const char *text, const char *end, bool *failed)
{
    condition inner = {.macros = c->macros, .at = text, .end = end, .depth = c->depth + 1};
    advance(&inner);
    if (inner.token.kind == NH_TOKEN_END) /* defined as nothing */
        return 0;
    const long value = inner.depth > 50 ? 0 : choice(&inner);
    *failed = *failed || inner.failed || inner.depth > 50 || inner.token.kind != NH_TOKEN_END;
    return value;
}

static long value_of_macro(condition *c, nh_token name)
{
    const macro *m = look_up(c->macros, name);
    if (!m || !m->body)
        return 0;
    if (m->body < m->end && *m->body == '(' && m->body == m->name.text + m->name.length) {
        /* there is one function-like macro: OPTION_INT(i) pastes NH_OPTION_INT_i */
        char pasted[64] = "NH_OPTION_INT_";
        const char *open = c->token.text;
        while (open < c->end && *open != ')')
            open++;
        const size_t length = (size_t)(open - c->token.text);
        if (!nh_token_is(name, "OPTION_INT") || length < 2 || length > 8) {
            c->failed = true;
            return 0;
        }
        strncat(pasted, c->token.text + 1, length - 1);
        c->at = open + 1;
        advance(c);
        return value_of_macro(c, (nh_token){NH_TOKEN_NAME, pasted, strlen(pasted)});
    }
    return value_of_text(c, m->body, m->end, &c->failed);
}

static long primary(condition *c)
{
    const nh_token t = c->token;
    long value = 0;
    if (takes(c, "!"))
        return !primary(c);
    if (takes(c, "-"))
        return -primary(c);
    if (takes(c, "(")) {
        value = choice(c);
        c->failed = c->failed || !takes(c, ")");
        return value;
    }
    if (t.kind == NH_TOKEN_NUMBER) {
        advance(c);
        return strtol(t.text, NULL, 0);
    }
    if (t.kind != NH_TOKEN_NAME) {
        c->failed = true;
        return 0;
    }
    advance(c);
    if (!nh_token_is(t, "defined"))
        return value_of_macro(c, t);
    const bool open = takes(c, "(");
    value = look_up(c->macros, c->token) != NULL;
    advance(c);
    c->failed = c->failed || (open && !takes(c, ")"));
    return value;
}

static long product(condition *c)
{
    long value = primary(c);
    while (!c->failed && takes(c, "*"))
        value *= primary(c);
    return value;
}

static long sum(condition *c)
{
    long value = product(c);
    for (;;)
        if (takes(c, "+"))
            value += product(c);
        else if (takes(c, "-"))
            value -= product(c);
        else
            return value;
}

static long comparison(condition *c)
{
    const long value = sum(c);
    if (takes(c, "=="))
        return value == sum(c);
    if (takes(c, "!="))
        return value != sum(c);
    if (takes(c, "<="))
        return value <= sum(c);
    if (takes(c, ">="))
        return value >= sum(c);
    if (takes(c, "<"))
        return value < sum(c);
    if (takes(c, ">"))
        return value > sum(c);
    return value;
}

static long conjunction(condition *c)
{
    long value = comparison(c);
    while (takes(c, "&&")) {
        const long other = comparison(c);
        value = value && other;
    }
    return value;
}

static long disjunction(condition *c)
{
    long value = conjunction(c);
    while (takes(c, "||")) {
        const long other = conjunction(c);
        value = value || other;
    }
    return value;
}

static long choice(condition *c)
{
    const long value = disjunction(c);
    if (!takes(c, "?"))
        return value;
    const long yes = choice(c);
    c->failed = c->failed || !takes(c, ":");
    const long no = choice(c);
    return value ? yes : no;
}

/* ---- a text line by line ---- */

enum { DEPTH_MAX = 64 };

typedef struct deciding {
    nh_text *out;
    nh_arena arena;
    macro *macros;
    int depth;
    bool active[DEPTH_MAX], decided[DEPTH_MAX]; /* of each #if: this branch; any so far */
    bool failed;
} deciding;

static bool is_active(const deciding *d)
{
    for (int i = 0; i < d->depth; i++)
        if (!d->active[i])
            return false;
    return true;
}

static void note_macro(deciding *d, const char *at, const char *end, bool defined)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    macro *m = nh_arena_take(&d->arena, sizeof *m);
    if (!m)
        return;
    const nh_token name = nh_token_next(&at, end);
    *m = (macro){name, defined ? at : NULL, end, d->macros};
    d->macros = m;
}

static bool holds(deciding *d, const char *at, const char *end)
{
    const condition c = {.macros = d->macros};
    return value_of_text(&c, at, end, &d->failed) != 0;
}

static bool is_defined(const deciding *d, const char *at, const char *end)
{
    condition c = {.at = at, .end = end};
    advance(&c);
    return look_up(d->macros, c.token) != NULL;
}

static void open_branch(deciding *d, bool active)
{
    if (d->depth == DEPTH_MAX) {
        d->failed = true;
        return;
    }
    d->active[d->depth] = d->decided[d->depth] = active;
    d->depth++;
}

static void next_branch(deciding *d, bool is_else, const char *at, const char *end)
{
    if (d->depth == 0) {
        d->failed = true;
        return;
    }
    const int place = d->depth - 1;
    d->active[place] = true; /* the enclosing ones decide whether the condition is evaluated */
    const bool looked_at = !d->decided[place] && is_active(d);
    d->active[place] = looked_at && (is_else || holds(d, at, end));
    d->decided[place] = d->decided[place] || d->active[place];
}

/* A line that begins with #; true if it remains part of the text. */
static bool directive(deciding *d, const char *at, const char *end)
{
    const char *from = at + 1;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    const nh_token word = nh_token_next(&from, end);
    const bool active = is_active(d);
    if (nh_token_is(word, "if"))
        open_branch(d, active && holds(d, from, end));
    else if (nh_token_is(word, "ifdef"))
        open_branch(d, active && is_defined(d, from, end));
    else if (nh_token_is(word, "ifndef"))
        open_branch(d, active && !is_defined(d, from, end));
    else if (nh_token_is(word, "elif"))
        next_branch(d, false, from, end);
    else if (nh_token_is(word, "else"))
        next_branch(d, true, from, end);
    else if (nh_token_is(word, "endif"))
        d->depth -= d->depth > 0;
    else if (active && (nh_token_is(word, "define") || nh_token_is(word, "undef")))
        note_macro(d, from, end, nh_token_is(word, "define"));
    else
        return false;
    return active && (nh_token_is(word, "define") || nh_token_is(word, "undef"));
}

/* Where the line ends: lines that end with a backslash continue, and so do comments. */
static const char *end_of_line(const char *at, const char *end)
{
    while (at < end && *at != '\n') {
        if (*at == '\\' && at + 1 < end)
            at++;
        if (at[0] == '/' && at + 1 < end && at[1] == '*')
            at = end_of_comment(at, end);
        else
            at++;
    }
    return at;
}

bool nh_source_decide(nh_text *out, const char *text)
{
    deciding d = {.out = out};
    const char *end = text + strlen(text);
    for (const char *at = text; at < end && !d.failed;) {
        const char *stop = end_of_line(at, end), *first = at;
        while (first < stop && (*first == ' ' || *first == '\t'))
            first++;
        const bool keep =
            first < stop && *first == '#' ? directive(&d, first, stop) : is_active(&d);
        if (keep)
            nh_text_add(out, "%.*s\n", (int)(stop - at), at);
        at = stop + 1;
    }
    const bool good = !d.failed && d.depth == 0 && !d.arena.failed && !out->failed;
    nh_arena_free(&d.arena);
    return good;
}
