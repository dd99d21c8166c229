/* The one-forms of constraints that are affine in the velocities, for questions of integrability.
 *
 * A constraint is w = A dq + b dt. Columns are the velocities and, when anything depends on time or
 * is affine, time as the last one. */
#ifndef NH_MECHANICS_FORMS_H
#define NH_MECHANICS_FORMS_H

#include "mechanics/probe.h"

typedef struct nh_two_form_entry { /* dw(e_j, e_k), j < k; what is zero on the graph is left out */
    int form, j, k;
    nh_expr value;
} nh_two_form_entry;

typedef struct nh_forms {
    nh_mechanics *s;
    int rows, columns;
    bool with_time;
    nh_expr *entry;        /* [rows * columns] */
    nh_two_form_entry *dw; /* of all forms, form after form; the algebra is in it */
    int entries, room;
    bool too_many; /* entries to look at: not all are there */
} nh_forms;

/* The derivative of an expression along a column: of an algebra's there is none. */
nh_expr nh_column_derivative(const nh_forms *f, nh_expr e, int column);

/* Deep ends of integrability: the Lie flag of the distribution near a state (flag.c), and integrals
 * (primitive.c). */
typedef struct nh_flag {
    int count;               /* 0: not looked for */
    int rank[NH_GROWTH_MAX]; /* of D, D + [D, D], ... */
    int holonomic;           /* conditions that the flag leaves, or -1 */
    double *combination;     /* [holonomic * rows], caller frees: forms that vanish on the flag */
} nh_flag;
bool nh_find_flag(const nh_forms *forms, nh_probe *probe, int round, nh_flag *out);

/* f with df = sum of factor_i w_i, or NH_ZERO when none was found. */
nh_expr nh_primitive(nh_forms *forms, const double *factor, nh_probe *probe);

#endif
