/* Statements of the model language, one per line, each beginning with its keyword:
 *
 *     model WORD
 *     parameter                NAME = expression {, NAME = expression}
 *     let                      NAME [(NAME {, NAME})] = expression {, ...}
 *     let                      NAME[NAME] = expression {, ...}
 *     let | observe            for NAME in a..b: NAME[NAME] = expression {, ...}
 *     observe                  NAME = expression {, ...}
 *     coordinate | velocity    NAME [[a..b]] [angle] {, NAME [[a..b]] [angle]}
 *     rotation                 NAME [[a..b]] {, NAME [[a..b]]}
 *     lagrangian               expression
 *     constraint               [NAME] [:] [for NAME in a..b:] expression = expression
 *                              [grip expression [static expression]]
 *     contact                  NAME [for NAME in a..b]: expression >= expression
 *                              [restitution expression]
 *     impacts                  in turn
 *     force                    [for ...:] reference = value {, ...}
 *     force                    at [for ...:] expression = expression {, ...}
 *     dissipation              expression
 *     pace                     expression
 *     reference = expression {, ...}          without a keyword: kinematics, g' = cross(g, w)
 *     table                    NAME = (x, y) {, (x, y)}
 *     input                    NAME [[a..b]] = expression {, ...}
 *     start                    [when expression = expression:] [for ...:] reference = value {, ...}
 *     frame                    [for ...:] (list {, list} | reference = value {, ...})
 *     bracket                  [reference, reference] = expression {, ...}
 *     draw                     [for ...:] SHAPE [expression {, expression}] {KEY expression}
 *     span                     expression
 *     event                    NAME [for NAME in a..b]: expression [rising | falling]
 *     when                     NAME [[index]] [for NAME in a..b]: reference = value {, ...}
 *
 * Words such as `for` and `angle` are keywords only in the places shown above, so any of them may
 * also be used as a name. */
#include "base/status.h"
#include "model/short_forms.h"
#include "model/statements.h"

/* ---- the whole ---- */

static const struct keyword {
    const char *name;
    nh_statement_kind kind;
    nh_statement_reader *read;
    const char *end; /* what may follow it */
} keywords[] = {
    {"model", STATEMENT_MODEL, nh_read_model, "the end of the line"},
    {"parameter", STATEMENT_PARAMETER, nh_read_definitions,
     "an operator, ',' or the end of the line"},
    {"coordinate", STATEMENT_COORDINATE, nh_read_declarations, "',' or the end of the line"},
    {"velocity", STATEMENT_VELOCITY, nh_read_declarations, "',' or the end of the line"},
    {"rotation", STATEMENT_ROTATION, nh_read_declarations, "',' or the end of the line"},
    {"table", STATEMENT_TABLE, nh_read_table, "',' or the end of the line"},
    {"input", STATEMENT_INPUT, nh_read_inputs, "an operator, ',' or the end of the line"},
    {"dissipation", STATEMENT_DISSIPATION, nh_read_dissipation,
     "an operator or the end of the line"},
    {"pace", STATEMENT_PACE, nh_read_pace, "an operator or the end of the line"},
    {"let", STATEMENT_LET, nh_read_definitions, "an operator, ',' or the end of the line"},
    {"lagrangian", STATEMENT_LAGRANGIAN, nh_read_lagrangian, "an operator or the end of the line"},
    {"force", STATEMENT_FORCE, nh_read_force, "an operator, ',' or the end of the line"},
    {"constraint", STATEMENT_CONSTRAINT, nh_read_constraint,
     "an operator, 'grip', 'static' or the end of the line"},
    {"contact", STATEMENT_CONTACT, nh_read_contact,
     "an operator, 'restitution' or the end of the line"},
    {"impacts", STATEMENT_IMPACTS, nh_read_impacts, "the end of the line"},
    {"frame", STATEMENT_FRAME, nh_read_frame, "an operator, ',' or the end of the line"},
    {"bracket", STATEMENT_BRACKET, nh_read_brackets, "an operator, ',' or the end of the line"},
    {"start", STATEMENT_START, nh_read_start, "an operator, ',' or the end of the line"},
    {"span", STATEMENT_SPAN, nh_read_span, "an operator or the end of the line"},
    {"scale", STATEMENT_SCALE, nh_read_scale, "an operator, ',' or the end of the line"},
    {"event", STATEMENT_EVENT, nh_read_event,
     "an operator, 'rising', 'falling' or the end of the line"},
    {"when", STATEMENT_WHEN, nh_read_when, "an operator, ',' or the end of the line"},
    {"observe", STATEMENT_OBSERVE, nh_read_definitions, "an operator, ',' or the end of the line"},
    {"draw", STATEMENT_DRAW, nh_read_draw, "an operator, ',', a key such as 'color' or the end"},
};
enum { KEYWORDS = sizeof keywords / sizeof keywords[0] };

static const struct keyword *known_keyword(nh_parser *p)
{
    for (int i = 0; i < KEYWORDS; i++)
        if (nh_at_word(p, 0, keywords[i].name))
            return &keywords[i];
    return NULL;
}

nh_statement_kind nh_keyword_kind(nh_parser *p)
{
    const struct keyword *keyword = known_keyword(p);
    return keyword ? keyword->kind : STATEMENT_KINDS;
}

static const struct keyword *find_keyword(nh_parser *p)
{
    const struct keyword *known = known_keyword(p);
    if (known)
        return known;
    nh_token token = nh_peek(p, 0);
    const char *word = token.kind == TOKEN_NAME ? nh_parser_name(p, &token) : NULL;
    if (!word) {
        nh_unexpected(p, "a statement such as 'parameter', 'lagrangian' or 'constraint'");
        return NULL;
    }
    nh_suggest suggest = nh_suggest_begin(word);
    for (int i = 0; i < KEYWORDS; i++)
        nh_suggest_offer(&suggest, keywords[i].name);
    nh_short_forms_offer(&suggest);
    p->lexer.status =
        nh_fail_at(p->lexer.report, p->lexer.source, token.place, "unknown statement '%s'%s", word,
                   *suggest.best ? nh_suggest_end(&suggest).text
                                 : "; expected one such as 'parameter' or 'lagrangian'");
    return NULL;
}

/* g' = ..., or y[1]' = ... for a known y: no keyword is followed by a prime. */
static bool is_kinematics(nh_parser *p)
{
    nh_token token = nh_peek(p, 0);
    if (token.kind != TOKEN_NAME || nh_at_sign(p, 1, '\''))
        return token.kind == TOKEN_NAME;
    const char *name = nh_at_sign(p, 1, '[') ? nh_parser_name(p, &token) : NULL;
    const nh_symbol *symbol = name ? nh_symbols_find(&p->model->symbols, name) : NULL;
    return symbol && symbol->kind == SYMBOL_COORDINATE;
}

static nh_statement *read_statement(nh_parser *p, int order)
{
    static const struct keyword kinematics = {"", STATEMENT_KINEMATICS, nh_read_assignments,
                                              "an operator, ',' or the end of the line"};
    nh_token token = nh_peek(p, 0);
    bool plain = order > 0 && is_kinematics(p);
    const struct keyword *keyword = plain ? &kinematics : find_keyword(p);
    nh_statement *s = keyword ? nh_parser_take(p, sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (nh_statement){.kind = keyword->kind, .place = token.place, .order = order};
    if (order == 0 && s->kind != STATEMENT_MODEL) {
        nh_unexpected(p, "'model NAME' as the first statement");
        return NULL;
    }
    if (!plain)
        nh_take(p);
    keyword->read(p, s);
    nh_token end = nh_peek(p, 0);
    if (end.kind != TOKEN_LINE && end.kind != TOKEN_END)
        nh_unexpected(p, keyword->end);
    return s;
}

static void read_statements(nh_parser *p)
{
    nh_statement **last = &p->model->statement;
    for (int order = 0;; order++) {
        while (nh_peek(p, 0).kind == TOKEN_LINE)
            nh_take(p);
        if (nh_peek(p, 0).kind == TOKEN_END)
            return;
        *last = read_statement(p, order);
        if (p->lexer.status)
            return;
        last = &(*last)->next;
    }
}

nh_status nh_parse_model(nh_model *model, nh_report *report)
{
    nh_parser p = {.arena = &model->arena, .model = model};
    if (!nh_lexer_begin(&p.lexer, &model->source, 0, report))
        read_statements(&p);
    if (!p.lexer.status && !model->statement)
        p.lexer.status = nh_fail(report, NH_BAD_MODEL,
                                 "%s: there is no statement; a model begins with 'model NAME'",
                                 model->source.file);
    nh_lexer_end(&p.lexer);
    return p.lexer.status;
}

/* ---- pieces of a command line ---- */

nh_status nh_parse_expression(nh_ast **out, nh_arena *arena, const nh_source *source, size_t from,
                              nh_report *report)
{
    nh_parser p = {.arena = arena};
    if (!nh_lexer_begin(&p.lexer, source, from, report))
        *out = nh_read_expression(&p);
    if (!p.lexer.status && nh_peek(&p, 0).kind != TOKEN_END)
        nh_unexpected(&p, "an operator or the end");
    nh_lexer_end(&p.lexer);
    return p.lexer.status;
}

nh_status nh_parse_names(nh_statement **out, nh_arena *arena, const nh_source *source,
                         nh_report *report)
{
    nh_parser p = {.arena = arena};
    if (!nh_lexer_begin(&p.lexer, source, 0, report)) {
        *out = nh_parser_take(&p, sizeof **out);
        if (*out)
            nh_read_names(&p, *out);
    }
    if (!p.lexer.status && nh_peek(&p, 0).kind != TOKEN_END)
        nh_unexpected(&p, "',' or the end");
    nh_lexer_end(&p.lexer);
    return p.lexer.status;
}

nh_status nh_parse_assignments(nh_statement **out, nh_arena *arena, const nh_source *source,
                               nh_report *report)
{
    nh_parser p = {.arena = arena};
    if (!nh_lexer_begin(&p.lexer, source, 0, report)) {
        *out = nh_parser_take(&p, sizeof **out);
        if (*out)
            (*out)->kind = STATEMENT_START;
        if (*out && nh_peek(&p, 0).kind != TOKEN_END)
            nh_read_assignments(&p, *out);
    }
    if (!p.lexer.status && nh_peek(&p, 0).kind != TOKEN_END)
        nh_unexpected(&p, "an operator, ',' or the end");
    nh_lexer_end(&p.lexer);
    return p.lexer.status;
}
