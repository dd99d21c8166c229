/* Splits the model text into tokens. */
#ifndef NH_MODEL_LEXER_H
#define NH_MODEL_LEXER_H

#include "model/source.h"

#include <locale.h>

typedef enum nh_token_kind {
    TOKEN_END,  /* of the text */
    TOKEN_LINE, /* the end of a statement's line: no parenthesis or bracket is open */
    TOKEN_NAME, /* perhaps with dots: frame.at */
    TOKEN_NUMBER,
    TOKEN_RANGE, /* .. */
    TOKEN_SIGN   /* one of + - * / ^ ( ) [ ] , = : ' < > */
} nh_token_kind;

typedef struct nh_token {
    nh_token_kind kind;
    char sign;
    nh_place place;
    const char *text;
    size_t length;
    double number;
} nh_token;

typedef struct nh_lexer {
    const nh_source *source;
    nh_report *report;
    nh_status status; /* the first failure; from then on every token is TOKEN_END */
    const char *at, *end;
    nh_place place;          /* of `at` */
    const char *begin;       /* of the text that is read */
    const nh_origin *origin; /* where the characters come from, and the next such entry */
    size_t origins;
    bool generated;
    int open;   /* parentheses and brackets */
    locale_t c; /* numbers are read the same way in every locale */
} nh_lexer;

/* The source must have passed nh_source_check. */
nh_status nh_lexer_begin(nh_lexer *lexer, const nh_source *source, size_t from, nh_report *report);
nh_token nh_lexer_next(nh_lexer *lexer);
/* The name of a model, which may also contain - and . ; length 0 if there is none. */
nh_token nh_lexer_word(nh_lexer *lexer);
void nh_lexer_end(nh_lexer *lexer);

/* "'+'", "the end of the line", "the name 'x'", for messages. */
typedef struct nh_token_text {
    char text[128];
} nh_token_text;
nh_token_text nh_token_describe(const nh_token *token);

#endif
