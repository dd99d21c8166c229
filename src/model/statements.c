/* Reading the statements of the model language: one function for each form of statement, and their
 * common parts. parser.c has the grammar and the list of keywords. */
#include "model/statements.h"

#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- parts of statements ---- */

nh_item *nh_add_item(nh_parser *p, nh_statement *s, nh_place place)
{
    nh_item *item = nh_parser_take(p, sizeof *item);
    if (!item)
        return NULL;
    item->place = place;
    nh_item **last = s->last_item ? s->last_item : &s->item;
    *last = item;
    s->last_item = &item->next;
    return item;
}

bool nh_expect_name(nh_parser *p, const char *expected)
{
    if (nh_peek(p, 0).kind == TOKEN_NAME)
        return true;
    nh_unexpected(p, expected);
    return false;
}

static bool is_for(nh_parser *p, int ahead)
{
    return nh_at_word(p, ahead, "for") && nh_peek(p, ahead + 1).kind == TOKEN_NAME;
}

/* for NAME in a..b: */
bool nh_read_for(nh_parser *p, nh_statement *s)
{
    if (!is_for(p, 0))
        return true;
    nh_take(p);
    s->loop = nh_read_loop(p);
    return s->loop != NULL;
}

/* when expression = expression: */
static bool read_when(nh_parser *p, nh_statement *s)
{
    if (!nh_at_word(p, 0, "when") || nh_at_sign(p, 1, '=') || nh_at_sign(p, 1, '[') ||
        nh_at_sign(p, 1, '\''))
        return true;
    nh_take(p);
    s->when = nh_read_expression(p);
    if (!s->when || !nh_expect(p, '=', "'=' in the condition, as in when N = 2:"))
        return false;
    s->when->next = nh_read_expression(p);
    return s->when->next && nh_expect(p, ':', "':' after the condition");
}

/* ---- new names ---- */

static bool is_reserved(nh_parser *p, const nh_symbol *symbol, bool apart)
{
    static const char *const columns[] = {"energy", "driver_energy", "passenger_energy",
                                          "latitude"};
    const char *what = NULL;
    if (strcmp(symbol->name, "t") == 0)
        what = "is the time";
    else if (strcmp(symbol->name, "pi") == 0)
        what = "is a number";
    else if (strcmp(symbol->name, "sum") == 0)
        what = "is a function of the language";
    for (int i = 0; i < nh_builtin_total; i++)
        if (!nh_builtins[i].vector && strcmp(symbol->name, nh_builtins[i].name) == 0)
            what = "is a function of the language";
    bool moves = symbol->kind == SYMBOL_COORDINATE || symbol->kind == SYMBOL_VELOCITY ||
                 symbol->kind == SYMBOL_ROTATION || symbol->kind == SYMBOL_INPUT;
    if (moves && strchr(symbol->name, '.'))
        what = "contains a dot, as only definitions may";
    bool output = symbol->kind == SYMBOL_COORDINATE || symbol->kind == SYMBOL_VELOCITY ||
                  symbol->kind == SYMBOL_OBSERVABLE || symbol->kind == SYMBOL_INPUT;
    for (size_t i = 0; output && i < sizeof columns / sizeof columns[0]; i++)
        if (strcmp(symbol->name, columns[i]) == 0)
            what = "is a column of the output";
    if (what && !apart && symbol->kind != SYMBOL_EVENT)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, symbol->place,
                                     "'%s' %s; expected another name", symbol->name, what);
    return p->lexer.status != NH_OK;
}

/* Takes the next name and defines it. */
nh_symbol *nh_define(nh_parser *p, nh_symbol_kind kind)
{
    nh_token token = nh_take(p);
    nh_symbol *symbol = nh_parser_take(p, sizeof *symbol);
    if (!symbol || !(symbol->name = nh_parser_name(p, &token)))
        return NULL;
    symbol->kind = kind;
    symbol->place = token.place;
    const bool apart = kind == SYMBOL_CONSTRAINT || kind == SYMBOL_CONTACT;
    if (is_reserved(p, symbol, apart))
        return NULL;

    nh_symbols *table = apart                  ? &p->model->constraint_names
                        : kind == SYMBOL_EVENT ? &p->model->event_names
                                               : &p->model->symbols;
    nh_symbol *other = nh_symbols_find(table, symbol->name);
    if (other)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, token.place,
                                     "'%s' is already the name of %s (line %d)", symbol->name,
                                     nh_symbol_a(other->kind), other->place.line);
    else if (!nh_symbols_add(table, p->arena, symbol))
        p->lexer.status = nh_fail_memory(p->lexer.report);
    return p->lexer.status ? NULL : symbol;
}

/* ---- statements ---- */

void nh_read_model(nh_parser *p, nh_statement *s)
{
    if (s->order > 0) {
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, s->place,
                                     "a second 'model' statement; a file contains only one model");
        return;
    }
    nh_token word = nh_lexer_word(&p->lexer); /* no tokens have been read ahead */
    p->previous = word;
    if (!p->lexer.status && word.length == 0)
        nh_unexpected(p, "a name for the model (letters, digits, - _ and .)");
    p->model->name = nh_parser_name(p, &word);
}

/* (a, b): the arguments of a function being defined. */
static bool read_arguments(nh_parser *p, nh_symbol *symbol)
{
    nh_ast **last = &symbol->argument;
    do {
        if (!nh_expect_name(p, "the name of an argument (a function takes one or more)"))
            return false;
        nh_token token = nh_take(p);
        if (symbol->arguments == NH_ARGUMENTS_MOST) {
            p->lexer.status =
                nh_too_large_at(p->lexer.report, p->lexer.source, token.place,
                                "a function of more than %d arguments", NH_ARGUMENTS_MOST);
            return false;
        }
        nh_ast *argument = nh_parser_node(p, AST_NAME, token.place);
        if (!argument || !(argument->name = nh_parser_name(p, &token)))
            return false;
        *last = argument;
        last = &argument->next;
        symbol->arguments++;
    } while (nh_accept(p, ','));
    return nh_expect(p, ')', "',' or ')' after an argument");
}

/* [i] after the name of a let or an observable: an index of its own, or that of the preceding
 * `for`. */
static bool read_own_index(nh_parser *p, nh_statement *s, nh_symbol *symbol)
{
    nh_token name = nh_peek(p, 0);
    bool loop = s->loop && nh_at_word(p, 0, s->loop->name);
    if (s->loop && !loop) {
        char expected[NH_NAME_LONGEST + 32];
        snprintf(expected, sizeof expected, "the index '%s' of this 'for'", s->loop->name);
        nh_unexpected(p, expected);
        return false;
    }
    if (!nh_expect_name(p, "the name of an index"))
        return false;
    nh_take(p);
    symbol->indexed = true;
    if (symbol->kind == SYMBOL_FUNCTION) {
        symbol->argument = nh_parser_node(p, AST_NAME, name.place);
        if (!symbol->argument || !(symbol->argument->name = nh_parser_name(p, &name)))
            return false;
        symbol->arguments = 1;
        symbol->from = s->loop ? s->loop->child : NULL;
        symbol->to = s->loop ? s->loop->child->next : NULL;
    }
    return nh_expect(p, ']', "']' after the index");
}

/* [1..N] after the name of a family. */
static bool read_bounds(nh_parser *p, nh_symbol *symbol)
{
    if (!nh_accept(p, '['))
        return true;
    symbol->from = nh_read_range(p);
    if (!symbol->from || !nh_expect(p, ']', "']' after the range of the family"))
        return false;
    symbol->to = symbol->from->next;
    return true;
}

static bool read_head(nh_parser *p, nh_statement *s, nh_symbol *symbol)
{
    if (symbol->kind == SYMBOL_PARAMETER)
        return read_bounds(p, symbol);
    if (symbol->kind == SYMBOL_FUNCTION && nh_accept(p, '('))
        return read_arguments(p, symbol);
    bool index = symbol->kind == SYMBOL_FUNCTION || s->loop;
    if (index && !nh_expect(p, '[', "'[' and the index of the 'for', as in h[i]"))
        return false;
    return !index || read_own_index(p, s, symbol);
}

/* `observe NAME` and `observe NAME[2]` without an expression show a let under its own name. */
static bool shows_let(nh_parser *p, const nh_statement *s)
{
    const nh_token next = nh_peek(p, 1);
    return s->kind == STATEMENT_OBSERVE && !s->loop &&
           (nh_at_sign(p, 1, ',') || nh_at_sign(p, 1, '[') || next.kind == TOKEN_LINE ||
            next.kind == TOKEN_END);
}

/* What was read since this token, without spaces. */
static const char *written_since(nh_parser *p, const nh_token *first)
{
    const size_t length = (size_t)(p->previous.text + p->previous.length - first->text);
    char *name = nh_parser_take(p, length + 1);
    for (size_t i = 0, k = 0; name && i < length; i++)
        if (!isspace((unsigned char)first->text[i]))
            name[k++] = first->text[i];
    return name;
}

static void read_shown(nh_parser *p, nh_statement *s)
{
    const nh_token token = nh_peek(p, 0);
    nh_item *item = nh_add_item(p, s, token.place);
    nh_symbol *symbol = item ? nh_parser_take(p, sizeof *symbol) : NULL;
    if (!symbol || !(symbol->body = nh_read_expression(p)) ||
        !(symbol->name = written_since(p, &token)))
        return;
    symbol->kind = SYMBOL_OBSERVABLE;
    symbol->place = token.place;
    item->symbol = symbol;
    if (symbol->body->kind != AST_NAME)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, token.place,
                                     "an expression needs a name; expected 'observe NAME = ...'");
    const nh_symbol *other = nh_symbols_find(&p->model->shown_names, symbol->name);
    if (p->lexer.status)
        return;
    if (other)
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, token.place,
                       "'%s' is observed already (line %d)", symbol->name, other->place.line);
    else if (!nh_symbols_add(&p->model->shown_names, p->arena, symbol))
        p->lexer.status = nh_fail_memory(p->lexer.report);
}

void nh_read_definitions(nh_parser *p, nh_statement *s)
{
    static const nh_symbol_kind kinds[STATEMENT_KINDS] = {[STATEMENT_PARAMETER] = SYMBOL_PARAMETER,
                                                          [STATEMENT_LET] = SYMBOL_LET,
                                                          [STATEMENT_OBSERVE] = SYMBOL_OBSERVABLE};
    if (s->kind != STATEMENT_PARAMETER && !nh_read_for(p, s))
        return;
    do {
        if (!nh_expect_name(p, "a name to define"))
            return;
        if (shows_let(p, s)) {
            read_shown(p, s);
            continue;
        }
        nh_symbol_kind kind = kinds[s->kind];
        if (kind == SYMBOL_LET && (s->loop || nh_at_sign(p, 1, '(') || nh_at_sign(p, 1, '[')))
            kind = SYMBOL_FUNCTION;
        nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
        nh_symbol *symbol = item ? nh_define(p, kind) : NULL;
        if (!symbol)
            return;
        item->symbol = symbol;
        if (!read_head(p, s, symbol) || !nh_expect(p, '=', "'=' after the name"))
            return;
        symbol->body = nh_read_expression(p);
    } while (!p->lexer.status && nh_accept(p, ','));
    if (s->kind == STATEMENT_LET)
        s->loop = NULL; /* each symbol has the bounds now, and is expanded where it is used */
}

/* Where the word `angle` was seen among the coordinates of a statement. */
typedef struct seen_angle {
    nh_place first;
    int count;
    bool last; /* the last coordinate so far has it */
} seen_angle;

static void see_angle(nh_parser *p, seen_angle *angle)
{
    angle->last = nh_at_word(p, 0, "angle");
    if (!angle->last)
        return;
    nh_place place = nh_take(p).place;
    if (!angle->count++)
        angle->first = place;
}

/* `a, b angle` and `a angle, b angle` mean the same; a mixture of the two would be ambiguous. */
static void mark_angles(nh_parser *p, nh_statement *s, const seen_angle *angle)
{
    if (!angle->count)
        return;
    int coordinates = 0;
    for (nh_item *item = s->item; item; item = item->next, coordinates++)
        item->symbol->angle = true;
    if (!angle->last || (angle->count > 1 && angle->count < coordinates))
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, angle->first,
                       "'angle' applies to every coordinate of its statement; expected it once, at "
                       "the end, or after each of them");
}

nh_symbol *nh_define_family(nh_parser *p, nh_statement *s, nh_symbol_kind kind)
{
    nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
    nh_symbol *symbol = item ? nh_define(p, kind) : NULL;
    if (!symbol)
        return NULL;
    item->symbol = symbol;
    return read_bounds(p, symbol) ? symbol : NULL;
}

void nh_read_declarations(nh_parser *p, nh_statement *s)
{
    seen_angle angle = {0};
    nh_symbol_kind kind = s->kind == STATEMENT_COORDINATE ? SYMBOL_COORDINATE
                          : s->kind == STATEMENT_ROTATION ? SYMBOL_ROTATION
                                                          : SYMBOL_VELOCITY;
    do {
        if (!nh_expect_name(p, kind == SYMBOL_COORDINATE ? "the name of a coordinate"
                               : kind == SYMBOL_ROTATION ? "the name of a rotation"
                                                         : "the name of a velocity"))
            return;
        if (!nh_define_family(p, s, kind))
            return;
        if (kind == SYMBOL_COORDINATE)
            see_angle(p, &angle);
    } while (nh_accept(p, ','));
    mark_angles(p, s, &angle);
}

void nh_read_lagrangian(nh_parser *p, nh_statement *s)
{
    nh_place *first = &p->model->lagrangian;
    if (first->line) {
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, s->place,
                                     "a second lagrangian; the first is on line %d", first->line);
        return;
    }
    nh_item *item = nh_add_item(p, s, s->place);
    if (item)
        item->right = nh_read_expression(p);
    *first = s->place;
}

void nh_read_constraint(nh_parser *p, nh_statement *s)
{
    nh_item *item = nh_add_item(p, s, s->place);
    if (!item)
        return;
    bool named = !is_for(p, 0) && nh_peek(p, 0).kind == TOKEN_NAME &&
                 (nh_at_sign(p, 1, ':') || is_for(p, 1));
    if (named && !(item->symbol = nh_define(p, SYMBOL_CONSTRAINT)))
        return;
    if (named)
        nh_accept(p, ':');
    if (!nh_read_for(p, s))
        return;
    item->place = nh_peek(p, 0).place;
    item->left = nh_read_expression(p);
    if (item->left &&
        nh_expect(p, '=', "an operator or '=': a constraint is an equation such as x' = 0"))
        item->right = nh_read_expression(p);
    nh_read_grip(p, s);
}

/* The target of an assignment: a name, or body(R) and space(R). */
static nh_ast *read_target(nh_parser *p, const char *expected)
{
    bool rate = nh_at_sign(p, 1, '(') && (nh_at_word(p, 0, "body") || nh_at_word(p, 0, "space"));
    return rate ? nh_read_call(p) : nh_read_reference(p, expected);
}

/* reference = value, ... */
void nh_read_assignments(nh_parser *p, nh_statement *s)
{
    do {
        nh_ast *left = read_target(p, "the name of a coordinate or velocity");
        nh_item *item = left ? nh_add_item(p, s, left->place) : NULL;
        if (!item || !nh_expect(p, '=', "'=' and a value"))
            return;
        item->left = left;
        item->right = nh_read_expression(p);
    } while (nh_accept(p, ','));
}

/* point = force, ... */
static void read_points(nh_parser *p, nh_statement *s)
{
    do {
        nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
        if (!item || !(item->left = nh_read_expression(p)) ||
            !nh_expect(p, '=', "'=' and the force at this point"))
            return;
        item->right = nh_read_expression(p);
    } while (nh_accept(p, ','));
}

/* A coordinate may also be called 'at'; then '=' or an index follows. */
void nh_read_force(nh_parser *p, nh_statement *s)
{
    bool at = nh_at_word(p, 0, "at") && !nh_at_sign(p, 1, '=') && !nh_at_sign(p, 1, '[');
    if (at) {
        nh_take(p);
        s->kind = STATEMENT_FORCE_AT;
    }
    if (nh_read_for(p, s))
        (at ? read_points : nh_read_assignments)(p, s);
}

void nh_read_dissipation(nh_parser *p, nh_statement *s)
{
    nh_item *item = nh_add_item(p, s, s->place);
    if (item)
        item->right = nh_read_expression(p);
}

void nh_read_table(nh_parser *p, nh_statement *s)
{
    if (!nh_expect_name(p, "a name to define"))
        return;
    nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
    nh_symbol *symbol = item ? nh_define(p, SYMBOL_TABLE) : NULL;
    if (!symbol || !nh_expect(p, '=', "'=' and points such as (0, 1), (1, 3)"))
        return;
    item->symbol = symbol;
    symbol->body = nh_parser_node(p, AST_LIST, nh_peek(p, 0).place);
    nh_ast **last = symbol->body ? &symbol->body->child : NULL;
    do {
        nh_ast *point = last ? nh_read_expression(p) : NULL;
        if (!point)
            return;
        *last = point;
        last = &point->next;
    } while (nh_accept(p, ','));
}

/* reference, ... */
void nh_read_names(nh_parser *p, nh_statement *s)
{
    s->kind = STATEMENT_SOLVE;
    do {
        nh_ast *left = read_target(p, "the name of a coordinate or velocity such as x'");
        nh_item *item = left ? nh_add_item(p, s, left->place) : NULL;
        if (!item)
            return;
        item->left = left;
    } while (nh_accept(p, ','));
}

/* A coordinate may also be called 'solve'; then a prime, an index or '=' follows. */
void nh_read_start(nh_parser *p, nh_statement *s)
{
    if (!read_when(p, s) || !nh_read_for(p, s))
        return;
    if (nh_at_word(p, 0, "solve") && nh_peek(p, 1).kind == TOKEN_NAME) {
        nh_take(p);
        nh_read_names(p, s);
    } else
        nh_read_assignments(p, s);
}

void nh_read_frame(nh_parser *p, nh_statement *s)
{
    if (!nh_read_for(p, s))
        return;
    if (!nh_at_sign(p, 0, '(')) {
        nh_read_assignments(p, s);
        return;
    }
    do {
        nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
        if (item && !nh_at_sign(p, 0, '('))
            nh_unexpected(p, "a vector such as (cos(theta), sin(theta), 0)");
        if (item)
            item->right = nh_read_expression(p);
    } while (nh_accept(p, ','));
}

void nh_read_brackets(nh_parser *p, nh_statement *s)
{
    do {
        nh_item *item = nh_add_item(p, s, nh_peek(p, 0).place);
        if (!item || !nh_expect(p, '[', "a bracket such as [w1, w2] = w3"))
            return;
        item->left = nh_read_reference(p, "the name of a velocity");
        if (!item->left || !nh_expect(p, ',', "',' and the second velocity of the bracket"))
            return;
        item->left->next = nh_read_reference(p, "the name of a velocity");
        if (!item->left->next || !nh_expect(p, ']', "']' after the second velocity") ||
            !nh_expect(p, '=', "'=' and the value of the bracket"))
            return;
        item->right = nh_read_expression(p);
    } while (nh_accept(p, ','));
}
