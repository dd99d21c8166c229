/* Splits the model text into tokens. Positions are counted in characters, so that the caret in a
 * message is under the right one. */
#include "model/lexer.h"

#include "base/decimal.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nh_status nh_lexer_begin(nh_lexer *lexer, const nh_source *source, size_t from, nh_report *report)
{
    *lexer = (nh_lexer){
        .source = source, .report = report, .place = {.line = 1, .column = 1 + (int)from}};
    lexer->begin = source->expanded ? source->expanded : source->text;
    lexer->at = lexer->begin + from;
    lexer->end = lexer->begin + (source->expanded ? source->expanded_length : source->length);
    lexer->origin = source->origin;
    lexer->origins = source->origins;
    if (from == 0 && source->length >= 3 && memcmp(lexer->at, "\xEF\xBB\xBF", 3) == 0)
        lexer->at += 3;
    lexer->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!lexer->c)
        lexer->status = nh_fail_memory(report);
    return lexer->status;
}

void nh_lexer_end(nh_lexer *lexer)
{
    if (lexer->c)
        freelocale(lexer->c);
    lexer->c = (locale_t)0;
}

/* ---- characters ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The character k bytes ahead; 0 past the end (the text itself has no NUL). */
static char ahead(const nh_lexer *lexer, size_t k)
{
    return (size_t)(lexer->end - lexer->at) > k ? lexer->at[k] : 0;
}

/* Where the text that is read was put together, places are those of the text as it was written. */
static void find_origin(nh_lexer *lexer)
{
    const size_t at = (size_t)(lexer->at - lexer->begin);
    while (lexer->origins > 0 && lexer->origin->at <= at) {
        lexer->place = lexer->origin->place;
        lexer->generated = lexer->origin->generated;
        lexer->origin++;
        lexer->origins--;
    }
}

/* Steps over characters of one line. */
static void step_over(nh_lexer *lexer, size_t length)
{
    lexer->at += length;
    if (!lexer->generated)
        lexer->place.column += (int)length;
}

static void next_line(nh_lexer *lexer)
{
    if (!lexer->generated)
        lexer->place = (nh_place){.line = lexer->place.line + 1, .column = 1};
}

static void skip_space(nh_lexer *lexer)
{
    for (;;) {
        char c = ahead(lexer, 0);
        if (c == '#') {
            while (lexer->at < lexer->end && *lexer->at != '\n')
                lexer->at++; /* the column on this line no longer matters */
        } else if (c == '\n' && lexer->open > 0) {
            lexer->at++;
            next_line(lexer);
        } else if (c == ' ' || c == '\t' || c == '\r')
            step_over(lexer, 1);
        else
            return;
        find_origin(lexer);
    }
}

static nh_token take(nh_lexer *lexer, nh_token_kind kind, size_t length)
{
    lexer->place.at = (int)(lexer->at - lexer->begin);
    nh_token token = {.kind = kind, .place = lexer->place, .text = lexer->at, .length = length};
    step_over(lexer, length);
    return token;
}

/* ---- tokens ---- */

static nh_token fail_here(nh_lexer *lexer, const char *message)
{
    if (!lexer->status)
        lexer->status = nh_fail_at(lexer->report, lexer->source, lexer->place, "%s", message);
    return (nh_token){.kind = TOKEN_END, .place = lexer->place};
}

static size_t digits(const nh_lexer *lexer, size_t from)
{
    size_t n = from;
    while (is_digit(ahead(lexer, n)))
        n++;
    return n;
}

static nh_token number(nh_lexer *lexer)
{
    if (ahead(lexer, 0) == '0' && (ahead(lexer, 1) | 32) == 'x')
        return fail_here(lexer, "hexadecimal numbers are not supported; expected a decimal number");
    size_t n = digits(lexer, 0);
    if (ahead(lexer, n) == '.' && ahead(lexer, n + 1) != '.') /* `1..N` is a range */
        n = digits(lexer, n + 1);
    if ((ahead(lexer, n) | 32) == 'e') {
        size_t exponent = n + 1 + (ahead(lexer, n + 1) == '+' || ahead(lexer, n + 1) == '-');
        if (is_digit(ahead(lexer, exponent)))
            n = digits(lexer, exponent);
    }

    locale_t outside = uselocale(lexer->c);
    double value = nh_decimal(lexer->at, NULL); /* reads the characters counted above */
    uselocale(outside);
    if (isinf(value))
        return fail_here(lexer, "this number is too large; the largest is about 1.8e308");
    bool zero = strspn(lexer->at, "0.") >= n || strchr("eE", lexer->at[strspn(lexer->at, "0.")]);
    if (value == 0 && !zero)
        return fail_here(lexer, "this number is too small to be distinguished from 0");

    nh_token token = take(lexer, TOKEN_NUMBER, n);
    token.number = value;
    if (is_letter(ahead(lexer, 0)))
        return fail_here(
            lexer, "a number is followed directly by a name; multiplication is written with *");
    if (ahead(lexer, 0) == '.' && ahead(lexer, 1) != '.')
        return fail_here(lexer, "a second decimal point in a number");
    return token;
}

static nh_token too_long(nh_lexer *lexer)
{
    if (!lexer->status)
        lexer->status = nh_too_large_at(lexer->report, lexer->source, lexer->place,
                                        "a name of more than %d characters", NH_NAME_LONGEST);
    return (nh_token){.kind = TOKEN_END, .place = lexer->place};
}

static nh_token name(nh_lexer *lexer)
{
    size_t n = 1;
    while (is_letter(ahead(lexer, n)) || is_digit(ahead(lexer, n)) ||
           (ahead(lexer, n) == '.' && is_letter(ahead(lexer, n + 1))))
        n++;
    return n > NH_NAME_LONGEST ? too_long(lexer) : take(lexer, TOKEN_NAME, n);
}

/* Papers and word processors use other characters for some of our signs. */
static const char *our_sign(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *ours;
    } known[] = {
        {0x2019, "'"}, {0x2032, "'"}, {0x2212, "-"},  {0x2013, "-"}, {0x00B7, "*"},
        {0x22C5, "*"}, {0x00D7, "*"}, {0x2026, ".."}, {'%', "#"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (code == known[i].code)
            return known[i].ours;
    return NULL;
}

/* A character that is not part of the language. */
static nh_token unexpected_character(nh_lexer *lexer)
{
    uint32_t code = 0;
    int size = (int)nh_utf8(lexer->at, (size_t)(lexer->end - lexer->at), &code);
    const char *ours = our_sign(code);
    char text[160];
    if (code < 0x20 || (code >= 0x7F && code < 0xA0))
        snprintf(text, sizeof text, "unexpected control character U+%04X", (unsigned)code);
    else if (ours)
        snprintf(text, sizeof text, "unexpected character '%.*s'; expected %s instead", size,
                 lexer->at, ours);
    else
        snprintf(text, sizeof text, "unexpected character '%.*s'%s", size, lexer->at,
                 code < 0x80 ? "" : "; names consist of the letters a-z and A-Z, digits and _");
    return fail_here(lexer, text);
}

static nh_token sign(nh_lexer *lexer, char c)
{
    if (c == '(' || c == '[')
        lexer->open++;
    if ((c == ')' || c == ']') && lexer->open > 0)
        lexer->open--;
    nh_token token = take(lexer, TOKEN_SIGN, 1);
    token.sign = c;
    return token;
}

nh_token nh_lexer_next(nh_lexer *lexer)
{
    find_origin(lexer);
    skip_space(lexer);
    char c = ahead(lexer, 0);
    if (lexer->status || lexer->at >= lexer->end)
        return (nh_token){.kind = TOKEN_END, .place = lexer->place};
    if (c == '\n') {
        nh_token token = take(lexer, TOKEN_LINE, 1);
        lexer->place = token.place;
        next_line(lexer);
        return token;
    }
    if (is_digit(c) || (c == '.' && is_digit(ahead(lexer, 1))))
        return number(lexer);
    if (is_letter(c))
        return name(lexer);
    if (c == '.' && ahead(lexer, 1) == '.')
        return take(lexer, TOKEN_RANGE, 2);
    if (strchr("+-*/^()[],=:'<>", c))
        return sign(lexer, c);
    return unexpected_character(lexer);
}

nh_token nh_lexer_word(nh_lexer *lexer)
{
    skip_space(lexer);
    size_t n = 0;
    while (is_letter(ahead(lexer, n)) || is_digit(ahead(lexer, n)) || ahead(lexer, n) == '-' ||
           ahead(lexer, n) == '.')
        n++;
    return n > NH_NAME_LONGEST ? too_long(lexer) : take(lexer, TOKEN_NAME, n);
}

nh_token_text nh_token_describe(const nh_token *token)
{
    nh_token_text out = {"the end"};
    int length = (int)token->length;
    if (token->kind == TOKEN_LINE)
        snprintf(out.text, sizeof out.text, "the end of the line");
    else if (token->kind == TOKEN_NAME || token->kind == TOKEN_NUMBER)
        snprintf(out.text, sizeof out.text, "'%.*s'", length > 70 ? 70 : length, token->text);
    else if (token->kind != TOKEN_END)
        snprintf(out.text, sizeof out.text, "'%.*s'", length, token->text);
    return out;
}
