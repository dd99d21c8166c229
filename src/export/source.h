/* C source as a list of top-level items, so that an exported program contains only what it uses.
 *
 * The text of a kernel serves many purposes at once and is full of preprocessor conditions. Here
 * these are evaluated, and what remains is divided into macros, types, data and functions, each
 * with the names that it defines and those that it mentions. */
#ifndef NH_EXPORT_SOURCE_H
#define NH_EXPORT_SOURCE_H

#include "base/arena.h"
#include "base/text.h"

/* ---- tokens ---- */

typedef enum nh_token_kind {
    NH_TOKEN_END,
    NH_TOKEN_NAME,
    NH_TOKEN_NUMBER,
    NH_TOKEN_QUOTED,
    NH_TOKEN_COMMENT,
    NH_TOKEN_SPACE, /* one run of blanks, or one end of a line */
    NH_TOKEN_SIGN   /* one character of anything else */
} nh_token_kind;

typedef struct nh_token {
    nh_token_kind kind;
    const char *text;
    size_t length;
} nh_token;

/* The token at *at, which is moved past it. */
nh_token nh_token_next(const char **at, const char *end);
bool nh_token_is(nh_token token, const char *text);

/* Goes through the tokens of an item and distinguishes the names of fields, which belong only to
 * their struct, from all others. */
typedef struct nh_walk {
    const char *at, *end;
    bool in_struct, behind_point;
    int round, curly; /* number of open ones */
} nh_walk;
nh_walk nh_walk_begin(const char *text, size_t length);
nh_token nh_walk_next(nh_walk *walk, bool *is_field);

/* ---- conditions ---- */

/* Appends `text` with its #if, #ifdef, ... evaluated, according to what it defines itself; any
 * other name counts as undefined. False if a condition cannot be understood. */
bool nh_source_decide(nh_text *out, const char *text);

/* ---- items ---- */

typedef struct nh_item {
    const char *text; /* with the comment directly before it */
    size_t length;
    size_t body;             /* where it begins after that comment */
    const char *const *name; /* what it defines */
    int names;
    bool is_macro;
    bool used;
    int twin; /* of a second source: its counterpart in the first, or -1 */
} nh_item;

typedef struct nh_source {
    nh_item *item;
    int items;
    struct nh_name *table; /* names -> items */
    size_t room;
    const char **prefix, **suffix; /* with which macros paste names */
    int prefixes, suffixes;
} nh_source;

/* Divides a text, which must live as long as the arena. False without memory. */
bool nh_source_read(nh_source *out, const char *text, nh_arena *arena);

/* The item that defines a name, or -1. The first definition counts. */
int nh_source_find(const nh_source *source, const char *name, size_t length);

/* Calls `mention` with every item of `source` that a text mentions. */
void nh_source_mentions(const nh_source *source, const char *text, size_t length,
                        void (*mention)(void *self, int item), void *self);

/* What the macros paste a token to: with prefix number `place` or, after all prefixes, with a
 * suffix. False if there is no room for it. */
bool nh_source_paste(const nh_source *source, nh_token token, int place, char *pasted, size_t room);

#endif
