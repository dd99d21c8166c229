/* Expressions as Python: identifiers for the names of a model, and assignments that compute a list
 * of expressions and evaluate each shared part once. */
#ifndef NH_EXPORT_SCRIPT_H
#define NH_EXPORT_SCRIPT_H

#include "base/text.h"
#include "export/named_equations.h"

/* Identifiers that differ from one another and from those that Python and the script use. */
typedef struct nh_identifiers {
    char **q, **v, **u, **p; /* of coordinates, velocities, values of open inputs, parameters */
    char **all;              /* [count] owned */
    int count, room;
} nh_identifiers;

/* `inner`: use the internal velocities, of quaternions if there are rotations. False without
 * memory. */
bool nh_identifiers_make(nh_identifiers *out, const nh_equations *e, bool inner,
                         const char *reserved);
void nh_identifiers_free(nh_identifiers *names);

typedef struct nh_script {
    const nh_graph *g;
    const nh_identifiers *names;
    bool exact;         /* for SymPy: fractions instead of decimals, Piecewise */
    const char *indent; /* of a line */
    uint32_t *place;    /* by handle: number of the variable that holds it, or 0; owned */
    uint32_t variables;
} nh_script;

/* Appends assignments for whatever is shared or long below the roots. Afterwards nh_script_put
 * appends a root as an expression in terms of what was assigned. False without memory. */
bool nh_script_assign(nh_script *s, nh_text *out, const nh_expr *root, size_t roots);
void nh_script_put(const nh_script *s, nh_text *out, nh_expr e);
/* Appends a line: `begin`, then the expression, broken if it is long. */
void nh_script_line(const nh_script *s, nh_text *out, const char *begin, nh_expr e);
void nh_script_number(nh_text *out, double value, bool exact);
void nh_script_numbers(nh_text *out, const double *value, int count); /* [1.0, 2.0] */
void nh_script_close(nh_script *s);

/* "text" in Python. */
void nh_script_string(nh_text *out, const char *text);
/* ("x", "y"), of `count` names. */
void nh_script_names(nh_text *out, int count, const char *(*name)(const void *, int),
                     const void *of);

#endif
