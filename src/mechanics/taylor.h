/* Truncated Taylor polynomials of expressions in several variables, with bounds on their round-off.
 *
 * Around a point, the expressions of a graph become polynomials in the scaled displacements
 * xi = (x - x0)/size of the inputs that occur. The size of a polynomial is the sum of the absolute
 * values of its coefficients, so that the size of a product is at most the product of the sizes. */
#ifndef NH_MECHANICS_TAYLOR_H
#define NH_MECHANICS_TAYLOR_H

#include "model/graph.h"

enum { NH_TAYLOR_TERMS = 1024 };

typedef struct nh_taylor {
    int variables, degree, terms;
    int *first; /* [degree + 2]: the first term of each degree; terms are graded */
    uint16_t
        *times;     /* [terms * variables]: the term times a variable, for those below the degree */
    uint16_t *last; /* [terms]: the last variable of a term */
    uint16_t *parent;     /* [terms]: the term without it */
    uint16_t *product;    /* [terms * terms], as far as the degree goes */
    unsigned char *power; /* [terms * variables] */
} nh_taylor;

typedef struct nh_polynomial {
    double *c; /* [terms] */
    double error;
} nh_polynomial;

/* The number of terms, or NH_TAYLOR_TERMS + 1 if there are too many. */
int nh_taylor_terms(int variables, int degree);
bool nh_taylor_init(nh_taylor *s, int variables, int degree);
void nh_taylor_free(nh_taylor *s);

/* `out` must not be one of the operands; nh_taylor_add adds to it. */
void nh_taylor_add(const nh_taylor *s, nh_polynomial *out, double factor, const nh_polynomial *a);
void nh_taylor_multiply(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a,
                        const nh_polynomial *b);
void nh_taylor_derive(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a, int variable);
void nh_taylor_clear(const nh_taylor *s, nh_polynomial *out);
bool nh_taylor_invert(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a);
double nh_taylor_size(const nh_taylor *s, const nh_polynomial *a);

/* The inputs that the variables stand for, their values at the point, and their sizes. */
typedef struct nh_expansion {
    const nh_input *kind;  /* [variables] */
    const uint32_t *index; /* [variables] */
    const double *at;      /* [variables] */
    const double *size;    /* [variables] */
} nh_expansion;

/* Polynomials of expressions: out[count * terms], error[count]. No other inputs may occur. False if
 * out of memory. */
bool nh_taylor_expand(const nh_taylor *s, const nh_graph *g, const nh_expr *list, size_t count,
                      const nh_expansion *x, double *out, double *error);

#endif
