/* The syntax tree of a model: statements, the expressions in them, and the names they define.
 *
 * Everything is allocated in the model's arena and never changes after nh_resolve_model; a build
 * with given parameter values (expand.h, problem.c) only reads it. */
#ifndef NH_MODEL_AST_H
#define NH_MODEL_AST_H

#include "base/arena.h"
#include "model/source.h"

typedef enum nh_symbol_kind {
    SYMBOL_PARAMETER,
    SYMBOL_COORDINATE,
    SYMBOL_VELOCITY, /* on a Lie algebra: it has no coordinate */
    SYMBOL_ROTATION, /* four coordinates each */
    SYMBOL_LET,
    SYMBOL_FUNCTION, /* let f(s) = ..., and let r[i] = ... */
    SYMBOL_TABLE,
    SYMBOL_INPUT,
    SYMBOL_OBSERVABLE,
    SYMBOL_CONSTRAINT, /* in a table of their own: a constraint and a let may have the same name */
    SYMBOL_CONTACT,    /* among the constraints */
    SYMBOL_EVENT,      /* in a table of their own */
    SYMBOL_KINDS
} nh_symbol_kind;

/* What a name means. */
typedef struct nh_symbol {
    nh_symbol_kind kind;
    const char *name;
    nh_place place;
    int number;               /* the index among the symbols of its kind, from 0 */
    struct nh_ast *from, *to; /* bounds of a family; NULL for a single one */
    bool angle;
    bool indexed;            /* a function written as r[i] */
    bool reacting;           /* a definition that contains a constraint force */
    struct nh_ast *argument; /* of a function, as a chain of names */
    int arguments;
    struct nh_ast *body; /* of a definition */
    int slots;           /* arguments and indices in scope at once in the body */
    struct nh_symbol *next;
} nh_symbol;

/* Expressions. The parser creates only the kinds of the first group; resolve.c then turns every
 * name into one of the second group and every call into one of the third. */
typedef enum nh_ast_kind {
    AST_NUMBER,
    AST_SUM,     /* sum of the children; an `inverse` child is subtracted */
    AST_PRODUCT, /* product of the children; it is divided by an `inverse` child */
    AST_POWER,   /* base, exponent */
    AST_LOOP,    /* sum(name in from..to: body): children from, to, body */
    AST_LIST,    /* (a, b, ...): a vector; a matrix if of vectors; for a family, one value each */
    AST_NAME,    /* name, name', name[children], name[children]' */
    AST_IF,      /* if(a > b, c, d): four children; the name is the relation */
    AST_PART,    /* any other value followed by an index or a prime: the value, the indices */
    AST_CALL,    /* name(children) */

    AST_TIME,
    AST_SLOT, /* an index or a function's argument; children: indices of a component */
    AST_PARAMETER,
    AST_COORDINATE,
    AST_VELOCITY,
    AST_ROTATION, /* children: the index of a family, otherwise those of a component */
    AST_LET,      /* children: indices of a component */
    AST_INPUT,    /* child: the index of a family */

    AST_REACTION, /* reaction(child), the name of a constraint as an AST_NAME */
    AST_BUILTIN,  /* sin(child), atan2(child, child) */
    AST_APPLY,    /* a function of the model */
    AST_TABLE     /* a table of the model */
} nh_ast_kind;

typedef struct nh_ast {
    nh_ast_kind kind;
    bool inverse, prime;
    nh_place place;
    const char *name;
    double number;        /* AST_NUMBER */
    const char *digits;   /* ... as it is written, or NULL: pi, deg */
    double cost;          /* lower bound of the visits in an expansion, loops counted once */
    struct nh_ast *child; /* the first; the others follow by `next` */
    struct nh_ast *next;
    nh_symbol *symbol;
    int slot;    /* AST_SLOT, AST_LOOP: relative to the frame of the definition or statement */
    int builtin; /* index in nh_builtins */
} nh_ast;

/* The functions that every model knows. The names of functions of numbers are reserved; a model may
 * define a function with the name of a vector function (`dot`), which then takes precedence. */
struct nh_expander;
struct nh_value;
typedef struct nh_value nh_vector_function(struct nh_expander *x, const struct nh_ast *call,
                                           const struct nh_value *argument);
enum { NH_BUILTIN_ARGUMENTS = 2 }; /* maximum */
typedef struct nh_builtin {
    const char *name;
    int arguments;
    int function;               /* for numbers: nh_function, or -1 for the square root */
    nh_vector_function *vector; /* for vectors and matrices (vector.c), or NULL */
} nh_builtin;
extern const nh_builtin nh_builtins[];
extern const int nh_builtin_total;

/* Statements. Each holds items; the meaning of an item's parts depends on the kind. */
typedef enum nh_statement_kind {
    STATEMENT_MODEL,
    STATEMENT_PARAMETER,   /* symbol */
    STATEMENT_COORDINATE,  /* symbol */
    STATEMENT_VELOCITY,    /* symbol */
    STATEMENT_ROTATION,    /* symbol */
    STATEMENT_LET,         /* symbol */
    STATEMENT_TABLE,       /* symbol */
    STATEMENT_INPUT,       /* symbol, its default in the body */
    STATEMENT_LAGRANGIAN,  /* right */
    STATEMENT_DISSIPATION, /* right */
    STATEMENT_PACE,        /* right */
    STATEMENT_FORCE,       /* left = right, left a coordinate, a member or a family, or body(R) */
    STATEMENT_FORCE_AT,    /* left = right, a point and the force there */
    STATEMENT_KINEMATICS,  /* left = right, left the velocity of a coordinate */
    STATEMENT_CONSTRAINT,  /* left = right, any expressions; symbol is its name, if it has one */
    STATEMENT_CONTACT,     /* left >= right; symbol is its name */
    STATEMENT_IMPACTS,     /* `impacts in turn` */
    STATEMENT_FRAME,       /* right, a list; or, with left, all items together make one vector */
    STATEMENT_BRACKET,     /* [left, left->next] = right */
    STATEMENT_START,       /* left = right; the left side may be a call body(R) or space(R) */
    STATEMENT_SOLVE,       /* left: `start solve x', body(R)` */
    STATEMENT_OBSERVE,     /* symbol */
    STATEMENT_DRAW,        /* word: shape, left: points; then word: key, right or colour (draw.h) */
    STATEMENT_SPAN,        /* right */
    STATEMENT_SCALE,       /* left = right, left a coordinate or velocity, a member or a family */
    STATEMENT_EVENT,       /* symbol: where right changes its sign */
    STATEMENT_WHEN,        /* left = right, left a velocity or body(R) */
    STATEMENT_KINDS
} nh_statement_kind;

typedef struct nh_item {
    nh_symbol *symbol;
    nh_ast *left, *right;
    int word, colour; /* of a drawing */
    nh_place place;
    struct nh_item *next;
} nh_item;

typedef struct nh_statement {
    nh_statement_kind kind;
    nh_place place;
    int order;        /* position in the file, from 0 */
    nh_ast *loop;     /* `for i in 1..N:` as an AST_LOOP without body, or NULL */
    nh_ast *when;     /* `when N = 2:` the two sides, or NULL */
    nh_ast *event;    /* of STATEMENT_WHEN: the name of an event, or of one of a family */
    const char *told; /* of STATEMENT_WHEN: what happens to a contact or grip, as "slips" */
    int direction;    /* of STATEMENT_EVENT: 1 rising, -1 falling, 0 both */
    nh_ast *limit;    /* of a constraint that grips, and the one while it holds, or NULL */
    nh_ast *static_limit;
    nh_ast *restitution; /* of a contact, or NULL */
    int slots;           /* the largest number of indices in scope at once */
    nh_item *item;       /* the first */
    nh_item **last_item;
    struct nh_statement *next;
} nh_statement;

/* The names of a model, in a hash table that keeps the order of the file. */
typedef struct nh_symbols {
    nh_symbol **slot; /* open addressing; size a power of two */
    size_t size, used;
    nh_symbol *first, **last;
    int count[SYMBOL_KINDS];
} nh_symbols;

nh_symbol *nh_symbols_find(const nh_symbols *symbols, const char *name);
struct nh_suggest;
/* Offers the names of one kind as suggestions, and lists them; returns how long the list is. */
size_t nh_symbols_offer(const nh_symbols *symbols, nh_symbol_kind kind, struct nh_suggest *suggest,
                        char *list, size_t room);
/* The name must be new. Gives the symbol its number. False if out of memory. */
bool nh_symbols_add(nh_symbols *symbols, nh_arena *arena, nh_symbol *symbol);
/* "a coordinate", for messages. */
const char *nh_symbol_a(nh_symbol_kind kind);

struct nh_model {
    nh_arena arena;
    nh_source source;
    const char *name;
    nh_statement *statement; /* the first */
    nh_symbols symbols, constraint_names, event_names;
    nh_symbols shown_names; /* of `observe NAME`, where NAME is that of a let */
    nh_place lagrangian;    /* its position; line 0 if there is none */
    nh_place span;          /* likewise */
};

/* Reading, in two passes (parser.c, resolve.c). The source must have passed nh_source_check. */
nh_status nh_parse_model(nh_model *model, nh_report *report);
nh_status nh_resolve_model(nh_model *model, nh_report *report);

/* Parts of a command line; what is read is allocated in the arena. */
nh_status nh_parse_expression(nh_ast **out, nh_arena *arena, const nh_source *source, size_t from,
                              nh_report *report);
nh_status nh_parse_assignments(nh_statement **out, nh_arena *arena, const nh_source *source,
                               nh_report *report);
/* x', y[2]', ...: a list of velocities as a statement of kind STATEMENT_SOLVE. */
nh_status nh_parse_names(nh_statement **out, nh_arena *arena, const nh_source *source,
                         nh_report *report);
/* Resolves the names in a parameter's value: numbers and parameters before number `before`. */
nh_status nh_resolve_setting(nh_ast *ast, const nh_source *source, const nh_symbols *symbols,
                             int before, nh_report *report);
/* Resolves the names in start assignments. */
nh_status nh_resolve_assignments(nh_statement *statement, const nh_source *source,
                                 const nh_symbols *symbols, nh_report *report);

#endif
