/* Numbers of a model with more digits than a `double` holds.
 *
 * A build of quadruple precision needs 1/3 with 34 digits, but trees of syntax, the graph and tapes
 * hold doubles. There a double is a label: it stands for a number that it equals to 16 digits,
 * usually for its nearest one, and a table has the number with all its digits. A double that is not
 * in the table stands for itself. So everything that compares numbers or decides by their size goes
 * on as before; only where numbers are computed from others, the functions below have to do it.
 * Without a table (NULL) they do what their names say with doubles. */
#ifndef NH_MODEL_LABELS_H
#define NH_MODEL_LABELS_H

#include <math.h>

#include "base/precise.h"

typedef struct nh_labels nh_labels;
typedef struct nh_lineage nh_lineage; /* lineage.h */

/* NULL if out of memory, or if there are no such numbers. */
nh_labels *nh_labels_create(void);
/* Labels of the other kind: doubles that stand for what is computed from parameters (lineage.h).
 * They have the values of doubles. The lineage remains the caller's. */
nh_labels *nh_labels_descend(nh_lineage *lineage);
nh_lineage *nh_labels_lineage(const nh_labels *labels); /* NULL: there is none */
void nh_labels_free(nh_labels *labels);
/* Out of memory since it was created: labels may stand for the wrong numbers. */
bool nh_labels_failed(const nh_labels *labels);

typedef enum nh_operation { NH_PLUS, NH_TIMES, NH_OVER, NH_TO_THE } nh_operation;
double nh_label_operation(nh_labels *labels, nh_operation operation, double a, double b);
/* A function of the language (nh_function) or, if that is negative, the square root. */
double nh_label_function(nh_labels *labels, int function, double a, double b);
/* A number as it was written; pi. */
double nh_label_literal(nh_labels *labels, const char *text);
double nh_label_pi(nh_labels *labels);
/* What a caller's double means: the number of its shortest decimal. */
double nh_label_given(nh_labels *labels, double x);
#ifdef NH_HAVE_PRECISE
nh_precise nh_label_value(const nh_labels *labels, double label);
#endif

static inline double nh_plus(nh_labels *labels, double a, double b)
{
    return labels ? nh_label_operation(labels, NH_PLUS, a, b) : a + b;
}

static inline double nh_times(nh_labels *labels, double a, double b)
{
    return labels ? nh_label_operation(labels, NH_TIMES, a, b) : a * b;
}

static inline double nh_over(nh_labels *labels, double a, double b)
{
    return labels ? nh_label_operation(labels, NH_OVER, a, b) : a / b;
}

static inline double nh_to_the(nh_labels *labels, double a, double b)
{
    return labels ? nh_label_operation(labels, NH_TO_THE, a, b) : pow(a, b);
}

static inline double nh_square_root_of(nh_labels *labels, double a)
{
    return labels ? nh_label_function(labels, -1, a, 0) : sqrt(a);
}

#endif
