/* Name resolution, shared by expressions (resolve.c) and statements (resolve_statements.c). */
#ifndef NH_MODEL_RESOLVE_H
#define NH_MODEL_RESOLVE_H

#include "model/ast.h"

/* An index in scope. */
typedef struct nh_loop_index {
    const char *name;
    int slot;
    const struct nh_loop_index *outer;
} nh_loop_index;

typedef struct nh_resolver {
    const nh_source *source;
    const nh_symbols *symbols;
    nh_report *report;
    nh_status status;
    const nh_symbol *current; /* the definition whose body is being read */
    const nh_loop_index *locals;
    int slots, most_slots; /* in use now, and the maximum so far */
    int parameters_before; /* in a parameter's value: how many it may use; otherwise -1 */
    bool constant;         /* in bounds and indices */
    bool reacting;         /* in an observable or a force, where reactions are available */
    bool reacted;          /* in a definition that has used one */
    const nh_symbols *constraint_names;
} nh_resolver;

/* An expression; the expression of an index; a list of those. Errors are left in the resolver. */
void nh_resolve(nh_resolver *r, nh_ast *ast);
void nh_resolve_index(nh_resolver *r, nh_ast *index);
void nh_resolve_indices(nh_resolver *r, nh_ast *first);

/* Brings the index of a loop into scope, in memory of the caller, and removes it. */
bool nh_resolve_open(nh_resolver *r, nh_ast *loop, nh_loop_index *index);
void nh_resolve_close(nh_resolver *r);

/* The index of a name that stands for a family (`whole`: it may stand for all of it); its prime;
 * the error for a name that is not defined. */
void nh_resolve_family(nh_resolver *r, nh_ast *ast, bool whole);
void nh_resolve_prime(nh_resolver *r, const nh_ast *ast);
void nh_resolve_unknown(nh_resolver *r, const nh_ast *ast);

#endif
