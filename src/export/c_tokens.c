/* Splits C source into tokens, just well enough to tell names, numbers, quotations and comments
 * apart. */
#include "export/items.h"

#include <ctype.h>
#include <string.h>

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

nh_c_token nh_c_token_next(const char **at, const char *end)
{
    const char *from = *at, *to = from + 1;
    nh_c_kind kind = NH_C_SIGN;
    if (from >= end)
        return (nh_c_token){NH_C_END, from, 0};
    if (*from == '"' || *from == '\'') {
        kind = NH_C_QUOTED;
        to = end_of_quotation(from, end);
    } else if (*from == '/' && to < end && *to == '*') {
        kind = NH_C_COMMENT;
        to = end_of_comment(from, end);
    } else if (isdigit((unsigned char)*from) ||
               (*from == '.' && to < end && isdigit((unsigned char)*to))) {
        kind = NH_C_NUMBER;
        to = end_of_number(from, end);
    } else if (is_word(*from)) {
        kind = NH_C_NAME;
        while (to < end && is_word(*to))
            to++;
    } else if (*from == '\n') {
        kind = NH_C_SPACE;
    } else if (*from == ' ' || *from == '\t') {
        kind = NH_C_SPACE;
        while (to < end && (*to == ' ' || *to == '\t'))
            to++;
    }
    *at = to;
    return (nh_c_token){kind, from, (size_t)(to - from)};
}

bool nh_c_token_is(nh_c_token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}
