/* The one-forms of constraints that are affine in the velocities, for questions of integrability.
 *
 * A constraint is w = A dq + b dt. The columns are the velocities and, if anything depends on time
 * or is affine, time as the last one. */
#ifndef NH_MECHANICS_FORMS_H
#define NH_MECHANICS_FORMS_H

#include "mechanics/probe.h"

typedef struct nh_two_form_entry { /* dw(e_j, e_k), j < k; structural zeros are left out */
    int form, j, k;
    nh_expr value;
} nh_two_form_entry;

typedef struct nh_forms {
    nh_mechanics *s;
    int rows, columns;
    bool with_time;
    nh_expr *entry;        /* [rows * columns] */
    nh_two_form_entry *dw; /* of all forms, one after another; includes the Lie algebra's terms */
    int entries, room;
    bool too_many; /* too many entries to examine: the list is incomplete */
} nh_forms;

/* The derivative of an expression along a column; zero for velocities of a Lie algebra. */
nh_expr nh_column_derivative(const nh_forms *f, nh_expr e, int column);

/* Further questions of integrability: the Lie flag of the distribution near a state (flag.c), and
 * integrals (primitive.c). */
typedef struct nh_flag {
    int count;               /* 0: not computed */
    int rank[NH_GROWTH_MAX]; /* of D, D + [D, D], ... */
    int holonomic;           /* conditions that the flag leaves, or -1 if unknown */
    double *combination;     /* [holonomic * rows], caller frees: forms that vanish on the flag */
} nh_flag;
bool nh_find_flag(const nh_forms *forms, nh_probe *probe, int round, nh_flag *out);

/* f with df = sum of factor_i w_i, or NH_ZERO if none was found. */
nh_expr nh_primitive(nh_forms *forms, const double *factor, nh_probe *probe);

#endif
