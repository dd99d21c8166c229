/* Internals of the parser: tokens with a short lookahead, shared by expressions and statements. */
#ifndef NH_MODEL_PARSER_H
#define NH_MODEL_PARSER_H

#include "model/ast.h"
#include "model/lexer.h"

enum { NH_LOOKAHEAD = 3 };

typedef struct nh_parser {
    nh_lexer lexer; /* holds the parser's status: once it is set, every token is the end */
    nh_arena *arena;
    nh_model *model; /* NULL while part of a command line is read */
    nh_token queue[NH_LOOKAHEAD];
    int queued;
    nh_token previous; /* the last token taken */
    int depth;         /* of nesting */
} nh_parser;

/* Reading functions return NULL (or false) after a failure, which is in lexer.status. */
nh_token nh_peek(nh_parser *p, int ahead); /* ahead < NH_LOOKAHEAD */
nh_token nh_take(nh_parser *p);
bool nh_at_sign(nh_parser *p, int ahead, char sign);
bool nh_at_word(nh_parser *p, int ahead, const char *word);
bool nh_accept(nh_parser *p, char sign);
bool nh_expect(nh_parser *p, char sign, const char *expected); /* `expected` for the message */
void nh_unexpected(nh_parser *p, const char *expected);        /* fails at the next token */
void *nh_parser_take(nh_parser *p, size_t size);               /* from the arena */
const char *nh_parser_name(nh_parser *p, const nh_token *token);
nh_ast *nh_parser_node(nh_parser *p, nh_ast_kind kind, nh_place place);

/* The kind of statement that begins with the next token; STATEMENT_KINDS: none. */
nh_statement_kind nh_keyword_kind(nh_parser *p);

/* expression.c */
nh_ast *nh_read_expression(nh_parser *p);
nh_ast *nh_read_reference(nh_parser *p,
                          const char *expected); /* NAME, NAME[index], with or without ' */
nh_ast *nh_read_call(nh_parser *p);              /* NAME(values) */
nh_ast *nh_read_range(nh_parser *p);             /* a..b, as a chain of two */
nh_ast *nh_read_loop(nh_parser *p);              /* NAME in a..b:, an AST_LOOP without body */

#endif
