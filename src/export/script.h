/* Expressions in other languages: identifiers for the names of a model, and assignments that
 * compute a list of expressions and evaluate each shared part once. */
#ifndef NH_EXPORT_SCRIPT_H
#define NH_EXPORT_SCRIPT_H

#include "base/text.h"
#include "export/named_equations.h"

/* How a language writes what languages write differently. */
typedef struct nh_dialect {
    const char *prefix;              /* of functions: "np." */
    const char *arc[4];              /* asin, acos, atan, atan2 */
    const char *power;               /* "**" */
    const char *time;                /* "t" */
    const char *when[3], *unless[3]; /* around a condition and the value that it chooses */
    const char *broken, *end;        /* where a line is broken, and at the end of a statement */
    bool exact;                      /* fractions instead of decimals */
} nh_dialect;
extern const nh_dialect nh_dialect_numpy, nh_dialect_sympy, nh_dialect_casadi, nh_dialect_matlab,
    nh_dialect_modelica;

/* Identifiers that differ from one another and from those that the language and the script use. */
typedef struct nh_identifiers {
    /* of coordinates, velocities, values of open inputs, parameters, observables */
    char **q, **v, **u, **p, **o;
    char **all; /* [count] owned */
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
    const nh_dialect *dialect;
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

/* Where a function finds its arguments: q[0], or q(1). */
typedef struct nh_arguments {
    const char *before, *after;
    int first;
    void (*parameter)(nh_text *out, const nh_equations *e, const nh_identifiers *names, int index);
} nh_arguments;
/* Appends assignments that give names to the arguments that occur below the roots. */
bool nh_script_unpack(const nh_script *s, nh_text *out, const nh_equations *e,
                      const nh_arguments *from, const nh_expr *root, size_t roots);

/* "text" in Python. */
void nh_script_string(nh_text *out, const char *text);
/* Of Python: COORDINATES = ("x", "y"), likewise VELOCITIES, CONSTRAINTS, OBSERVABLES and INPUTS,
 * and PARAMETERS and FIXED with their values. */
void nh_script_lists(nh_text *out, const nh_equations *e, const nh_identifiers *names);
/* ("x", "y"), of `count` names. */
void nh_script_names(nh_text *out, int count, const char *(*name)(const void *, int),
                     const void *of);

#endif
