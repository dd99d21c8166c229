/* C source as a list of top-level items (macros, types, data and functions), so that an exported
 * program contains only what it uses.
 *
 * The build divides the texts of kernels and templates into items and decides the conditions of the
 * preprocessor that have the same value in all programs (tools/c_items.py). The others depend on
 * what a program defines, and are decided here. */
#ifndef NH_EXPORT_ITEMS_H
#define NH_EXPORT_ITEMS_H

#include "base/arena.h"
#include "base/text.h"

/* ---- tokens ---- */

typedef enum nh_c_kind {
    NH_C_END,
    NH_C_NAME,
    NH_C_NUMBER,
    NH_C_QUOTED,
    NH_C_COMMENT,
    NH_C_SPACE, /* one run of blanks, or one end of a line */
    NH_C_SIGN   /* one character of anything else */
} nh_c_kind;

typedef struct nh_c_token {
    nh_c_kind kind;
    const char *text;
    size_t length;
} nh_c_token;

/* Before the name of a field, which belongs only to its struct. */
enum { NH_FIELD_MARK = 2 };

/* The token at *at, which is moved past it. */
nh_c_token nh_c_token_next(const char **at, const char *end);
bool nh_c_token_is(nh_c_token token, const char *text);

/* ---- what the build prepares ---- */

/* What a program defines before conditions ask for it, by the places of the names. */
enum { NH_DEFINITIONS_MAX = 64 };
typedef struct nh_definition {
    bool defined;
    long value;
} nh_definition;
extern const char *const nh_definition_names[]; /* the last one is NULL */

typedef struct nh_prepared_item {
    int condition;     /* 0: none */
    const char *names; /* that it defines: each ends with a NUL, the last one with two */
    const char *text;  /* \1 CONDITION \1 is before what depends on another condition */
} nh_prepared_item;
extern const nh_prepared_item nh_prepared_items[];

bool nh_condition_holds(int condition, const nh_definition *definition);

/* The places of the items of a kernel or template, ended by -1. In a kernel, a second list follows
 * for what is behind the system's functions. */
const short *nh_prepared_list(const char *file);

/* ---- a program's items ---- */

typedef struct nh_c_item {
    const char *text; /* with the comment directly before it */
    size_t length;
    size_t body;       /* where it begins after that comment */
    const char *names; /* as above */
    bool is_macro;
    bool used;
    int twin; /* in a second program: its counterpart in the first, or -1 */
} nh_c_item;

typedef struct nh_c_items {
    nh_arena *arena;
    nh_c_item *item;
    int items, room;
    struct nh_name *table; /* names -> items, made when all have been added */
    size_t table_size;
    const char *prefix[64], *suffix[64]; /* with which macros paste names */
    int prefixes, suffixes;
    nh_definition definition[NH_DEFINITIONS_MAX];
} nh_c_items;

/* Text that was written for this program: macros, data and functions with one name each. */
void nh_items_add_text(nh_c_items *items, const char *text);
/* Returns the end of the list. */
const short *nh_items_add_prepared(nh_c_items *items, const short *list);
/* False without memory, also if it was missing before. */
bool nh_items_finish(nh_c_items *items);

/* The item that defines a name, or -1. The first definition counts. */
int nh_items_find(const nh_c_items *items, const char *name, size_t length);

/* Calls `mention` with every item that a text mentions. */
void nh_items_mentioned(const nh_c_items *items, const char *text, size_t length,
                        void (*mention)(void *self, int item), void *self);

/* What the macros paste a token to: with prefix number `place` or, after all prefixes, with a
 * suffix. False if there is no room for it. */
bool nh_items_paste(const nh_c_items *items, nh_c_token token, int place, char *pasted,
                    size_t room);

#endif
