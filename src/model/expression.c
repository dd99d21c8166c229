/* Expressions, by recursive descent:
 *
 *     expression   term {(+|-) term}
 *     term         signed {(*|/) signed}
 *     signed       (-|+) signed | power
 *     power        postfix [^ signed]              right to left; -2^2 is -(2^2)
 *     postfix      primary {[ values ] | '}        components and time derivatives
 *     primary      NUMBER | reference | ( values ) | NAME ( values )
 *                  | sum ( NAME in expression .. expression : expression )
 *                  | if ( expression (<|>|<=|>=) expression , expression , expression )
 *     reference    NAME [ [ values ] ] [']
 *     values       expression {, expression}
 *
 * Sums and products are flat however long they are, so the depth of the tree is the depth of
 * nesting, which is limited. */
#include "model/parser.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* ---- tokens ---- */

nh_token nh_peek(nh_parser *p, int ahead)
{
    while (!p->lexer.status && p->queued <= ahead)
        p->queue[p->queued++] = nh_lexer_next(&p->lexer);
    return p->lexer.status ? (nh_token){.kind = TOKEN_END} : p->queue[ahead];
}

nh_token nh_take(nh_parser *p)
{
    p->previous = nh_peek(p, 0);
    if (p->queued) {
        p->queued--;
        memmove(p->queue, p->queue + 1, (size_t)p->queued * sizeof p->queue[0]);
    }
    return p->previous;
}

bool nh_at_sign(nh_parser *p, int ahead, char sign)
{
    nh_token token = nh_peek(p, ahead);
    return token.kind == TOKEN_SIGN && token.sign == sign;
}

bool nh_at_word(nh_parser *p, int ahead, const char *word)
{
    nh_token token = nh_peek(p, ahead);
    return token.kind == TOKEN_NAME && strlen(word) == token.length &&
           memcmp(word, token.text, token.length) == 0;
}

bool nh_accept(nh_parser *p, char sign)
{
    if (!nh_at_sign(p, 0, sign))
        return false;
    nh_take(p);
    return true;
}

bool nh_expect(nh_parser *p, char sign, const char *expected)
{
    if (nh_accept(p, sign))
        return true;
    nh_unexpected(p, expected);
    return false;
}

/* A likely reason for an unexpected token, appended to the message. */
static const char *hint(const nh_parser *p, const nh_token *next, const char *expected)
{
    const nh_token *last = &p->previous;
    bool after_value = last->kind == TOKEN_NAME || last->kind == TOKEN_NUMBER ||
                       (last->kind == TOKEN_SIGN && strchr(")]'", last->sign));
    bool value = next->kind == TOKEN_NAME || next->kind == TOKEN_NUMBER ||
                 (next->kind == TOKEN_SIGN && next->sign == '(');
    if (after_value && value && last->place.line == next->place.line &&
        strstr(expected, "an operator"))
        return "; multiplication is written with *";
    if (last->kind == TOKEN_SIGN && last->sign == '*' && next->kind == TOKEN_SIGN &&
        next->sign == '*')
        return "; a power is written x^2";
    if (next->kind == TOKEN_RANGE)
        return "; a range such as 1..N belongs in sum(i in 1..N: ...), for i in 1..N: and y[1..N]";
    return "";
}

void nh_unexpected(nh_parser *p, const char *expected)
{
    nh_token next = nh_peek(p, 0);
    if (!p->lexer.status)
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, next.place, "expected %s, found %s%s",
                       expected, nh_token_describe(&next).text, hint(p, &next, expected));
}

void *nh_parser_take(nh_parser *p, size_t size)
{
    void *piece = p->lexer.status ? NULL : nh_arena_take(p->arena, size);
    if (!piece && !p->lexer.status)
        p->lexer.status = nh_fail_memory(p->lexer.report);
    return piece;
}

const char *nh_parser_name(nh_parser *p, const nh_token *token)
{
    char *name = nh_parser_take(p, token->length + 1);
    return name ? memcpy(name, token->text, token->length) : NULL;
}

nh_ast *nh_parser_node(nh_parser *p, nh_ast_kind kind, nh_place place)
{
    nh_ast *ast = nh_parser_take(p, sizeof *ast);
    if (ast) {
        ast->kind = kind;
        ast->place = place;
    }
    return ast;
}

/* ---- primaries ---- */

/* Elements up to the closing parenthesis, as a chain; the opening one has been read. */
static nh_ast *read_elements(nh_parser *p, nh_place open)
{
    nh_ast *first = NULL, **last = &first;
    do {
        nh_ast *element = nh_read_expression(p);
        if (!element)
            return NULL;
        *last = element;
        last = &element->next;
    } while (nh_accept(p, ','));

    char expected[80];
    if (nh_peek(p, 0).kind == TOKEN_END && !p->lexer.status)
        p->lexer.status =
            nh_fail_at(p->lexer.report, p->lexer.source, open, "this '(' is never closed");
    if (open.line == nh_peek(p, 0).place.line)
        snprintf(expected, sizeof expected, "an operator, ',' or ')'");
    else
        snprintf(expected, sizeof expected, "')' to close the '(' on line %d, column %d", open.line,
                 open.column);
    return nh_expect(p, ')', expected) ? first : NULL;
}

/* [i] or [i, j], as a chain; the opening bracket has been read. */
static nh_ast *read_indices(nh_parser *p)
{
    nh_ast *first = NULL, **last = &first;
    do {
        nh_ast *index = nh_read_expression(p);
        if (!index)
            return NULL;
        *last = index;
        last = &index->next;
    } while (nh_accept(p, ','));
    return nh_expect(p, ']', "']' after the index") ? first : NULL;
}

/* Parentheses around one expression are that expression; around several they make a list. */
static nh_ast *read_parenthesis(nh_parser *p)
{
    nh_place open = nh_take(p).place;
    nh_ast *element = read_elements(p, open);
    if (!element || !element->next)
        return element;
    nh_ast *list = nh_parser_node(p, AST_LIST, open);
    if (list)
        list->child = element;
    return list;
}

nh_ast *nh_read_call(nh_parser *p)
{
    nh_token name = nh_take(p);
    nh_place open = nh_take(p).place;
    nh_ast *call = nh_parser_node(p, AST_CALL, name.place);
    if (!call || !(call->name = nh_parser_name(p, &name)))
        return NULL;
    if (nh_at_sign(p, 0, ')'))
        nh_unexpected(p, "an argument");
    call->child = read_elements(p, open);
    return call->child ? call : NULL;
}

nh_ast *nh_read_range(nh_parser *p)
{
    nh_ast *from = nh_read_expression(p);
    if (!from)
        return NULL;
    if (nh_peek(p, 0).kind != TOKEN_RANGE) {
        nh_unexpected(p, "'..' and the upper bound of a range");
        return NULL;
    }
    nh_take(p);
    from->next = nh_read_expression(p);
    return from->next ? from : NULL;
}

nh_ast *nh_read_loop(nh_parser *p)
{
    nh_token name = nh_peek(p, 0);
    if (name.kind != TOKEN_NAME) {
        nh_unexpected(p, "the name of an index, as in sum(i in 1..N: ...)");
        return NULL;
    }
    nh_take(p);
    nh_ast *loop = nh_parser_node(p, AST_LOOP, name.place);
    if (!loop || !(loop->name = nh_parser_name(p, &name)))
        return NULL;
    if (!nh_at_word(p, 0, "in")) {
        nh_unexpected(p, "'in' after the name of the index");
        return NULL;
    }
    nh_take(p);
    loop->child = nh_read_range(p);
    if (!loop->child || !nh_expect(p, ':', "':' after the range of the index"))
        return NULL;
    return loop;
}

static nh_ast *read_sum(nh_parser *p)
{
    nh_take(p);
    nh_place open = nh_take(p).place;
    nh_ast *loop = nh_read_loop(p);
    if (!loop)
        return NULL;
    nh_ast *body = read_elements(p, open);
    if (body && body->next && !p->lexer.status)
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, body->next->place,
                                     "a sum has one expression; expected ')' before this one");
    loop->child->next->next = body;
    return body && !p->lexer.status ? loop : NULL;
}

/* The prime; second derivatives are not allowed. */
static bool read_prime(nh_parser *p, nh_ast *value)
{
    value->prime = nh_accept(p, '\'');
    if (value->prime && nh_at_sign(p, 0, '\''))
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, nh_peek(p, 0).place,
                                     "only first derivatives may occur; expected one prime");
    return !p->lexer.status;
}

nh_ast *nh_read_reference(nh_parser *p, const char *expected)
{
    nh_token name = nh_peek(p, 0);
    if (name.kind != TOKEN_NAME) {
        nh_unexpected(p, expected);
        return NULL;
    }
    nh_take(p);
    nh_ast *reference = nh_parser_node(p, AST_NAME, name.place);
    if (!reference || !(reference->name = nh_parser_name(p, &name)))
        return NULL;
    if (nh_accept(p, '[')) {
        reference->child = read_indices(p);
        if (!reference->child)
            return NULL;
    }
    return read_prime(p, reference) ? reference : NULL;
}

static nh_ast *read_number(nh_parser *p)
{
    nh_token token = nh_take(p);
    nh_ast *number = nh_parser_node(p, AST_NUMBER, token.place);
    if (number)
        number->number = token.number, number->digits = token.text;
    return number;
}

static bool is_too_deep(nh_parser *p, int depth)
{
    if (depth >= NH_NESTING_DEEPEST && !p->lexer.status)
        p->lexer.status = nh_too_large_at(
            p->lexer.report, p->lexer.source, nh_peek(p, 0).place,
            "an expression is nested deeper than %d levels; use a let to name a part of it",
            NH_NESTING_DEEPEST);
    return p->lexer.status != NH_OK;
}

static const char *read_relation(nh_parser *p)
{
    static const char *const relations[] = {"<", ">", "<=", ">="};
    bool less = nh_accept(p, '<');
    if (!less && !nh_expect(p, '>', "one of < > <= >= in the condition of an if"))
        return NULL;
    return relations[!less + 2 * nh_accept(p, '=')];
}

static nh_ast *read_if(nh_parser *p)
{
    nh_ast *choice = nh_parser_node(p, AST_IF, nh_take(p).place);
    nh_place open = nh_take(p).place;
    nh_ast *left = choice ? nh_read_expression(p) : NULL;
    if (!left || !(choice->name = read_relation(p)) || !(left->next = nh_read_expression(p)) ||
        !nh_expect(p, ',', "',' and the value where the condition holds"))
        return NULL;
    choice->child = left;
    nh_ast *values = left->next->next = read_elements(p, open);
    if (values && (!values->next || values->next->next))
        p->lexer.status = nh_fail_at(p->lexer.report, p->lexer.source, choice->place,
                                     "an if has a condition and two values: if(x > 0, a, b)");
    return p->lexer.status ? NULL : choice;
}

static nh_ast *read_primary(nh_parser *p)
{
    if (nh_peek(p, 0).kind == TOKEN_NUMBER)
        return read_number(p);
    if (nh_at_sign(p, 0, '('))
        return read_parenthesis(p);
    bool own_if = p->model && nh_symbols_find(&p->model->symbols, "if");
    if (nh_at_sign(p, 1, '(') && nh_at_word(p, 0, "if") && !own_if)
        return read_if(p);
    if (nh_at_sign(p, 1, '(') && nh_peek(p, 0).kind == TOKEN_NAME)
        return nh_at_word(p, 0, "sum") ? read_sum(p) : nh_read_call(p);
    return nh_read_reference(p, "a number, a name or '('");
}

/* Indices and primes after a value; a name has read its first index and prime itself. */
static nh_ast *read_postfix(nh_parser *p)
{
    bool number = nh_peek(p, 0).kind == TOKEN_NUMBER;
    nh_ast *value = read_primary(p);
    for (int depth = p->depth;
         value && !number && (nh_at_sign(p, 0, '[') || nh_at_sign(p, 0, '\'')); depth++) {
        nh_ast *part = nh_parser_node(p, AST_PART, nh_peek(p, 0).place);
        if (!part || is_too_deep(p, depth))
            return NULL;
        part->child = value;
        if (nh_accept(p, '[') && !(value->next = read_indices(p)))
            return NULL;
        value = read_prime(p, part) ? part : NULL;
    }
    return value;
}

/* ---- operators ---- */

static nh_ast *read_signed(nh_parser *p);

static nh_ast *read_power(nh_parser *p)
{
    nh_ast *base = read_postfix(p);
    if (!base || !nh_at_sign(p, 0, '^'))
        return base;
    nh_take(p);
    nh_ast *power = nh_parser_node(p, AST_POWER, base->place);
    nh_ast *exponent = power ? read_signed(p) : NULL;
    if (!exponent)
        return NULL;
    power->child = base;
    base->next = exponent;
    return power;
}

/* Every descent into a nested expression passes through here. */
static nh_ast *read_signed(nh_parser *p)
{
    nh_token token = nh_peek(p, 0);
    if (is_too_deep(p, p->depth))
        return NULL;
    p->depth++;
    nh_ast *result;
    if (nh_accept(p, '+'))
        result = read_signed(p);
    else if (nh_accept(p, '-')) {
        nh_ast *operand = read_signed(p);
        result = operand ? nh_parser_node(p, AST_SUM, token.place) : NULL;
        if (result) {
            operand->inverse = true;
            result->child = operand;
        }
    } else
        result = read_power(p);
    p->depth--;
    return result;
}

/* operand {(plus|minus) operand}, as a flat chain; a single operand is returned as it is. */
static nh_ast *read_chain(nh_parser *p, nh_ast_kind kind, char plus, char minus,
                          nh_ast *(*read_operand)(nh_parser *))
{
    nh_ast *operand = read_operand(p);
    if (!operand || !(nh_at_sign(p, 0, plus) || nh_at_sign(p, 0, minus)))
        return operand;
    nh_ast *chain = nh_parser_node(p, kind, operand->place);
    if (!chain)
        return NULL;
    nh_ast **last = &chain->child;
    for (;;) {
        *last = operand;
        last = &operand->next;
        if (!nh_at_sign(p, 0, plus) && !nh_at_sign(p, 0, minus))
            return chain;
        bool inverse = nh_take(p).sign == minus;
        operand = read_operand(p);
        if (!operand)
            return NULL;
        operand->inverse = inverse;
    }
}

static nh_ast *read_term(nh_parser *p)
{
    return read_chain(p, AST_PRODUCT, '*', '/', read_signed);
}

nh_ast *nh_read_expression(nh_parser *p)
{
    return read_chain(p, AST_SUM, '+', '-', read_term);
}
