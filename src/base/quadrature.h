/* Nodes, weights and coefficients of collocation methods, to full double precision. At most 64
 * nodes. */
#ifndef NH_BASE_QUADRATURE_H
#define NH_BASE_QUADRATURE_H

#include <stdbool.h>

/* In which coefficients are computed, before they are rounded. */
#ifdef NH_PRECISE
typedef nh_precise nh_extended;
#else
typedef long double nh_extended;
#endif

/* Gauss: the zeros of the shifted Legendre polynomial of degree s on [0, 1], and their weights. */
void nh_gauss_nodes(int s, double *c, double *b);

/* Lobatto: 0, 1 and the s - 2 optimal nodes between them; s >= 2. */
void nh_lobatto_nodes(int s, double *c, double *b);

/* P_degree on [0, 1], shifted Legendre. */
double nh_legendre(int degree, double x);

/* a[i*s + j] = integral from 0 to c_i of the Lagrange polynomial of node j. */
void nh_collocation(int s, const double *c, double *a);

/* value[i*s + j] = integral from 0 to x_i of the same polynomial. */
void nh_lagrange_integrals(int s, const double *c, int points, const double *x, double *value);

/* The Gauss method: nodes, weights and its collocation coefficients. */
void nh_gauss_table(int s, double *c, double *b, double *a);

/* The Lobatto III methods. A is the collocation method; C has the first weight as its first column
 * and is exact to degree s - 2; B and C* are the symplectic partners of A and C; D is the mean of C
 * and C*. */
typedef enum nh_lobatto {
    NH_LOBATTO_A,
    NH_LOBATTO_B,
    NH_LOBATTO_C,
    NH_LOBATTO_C_STAR,
    NH_LOBATTO_D
} nh_lobatto;
void nh_lobatto_table(int s, nh_lobatto kind, double *c, double *b, double *a);

/* value[i*s + j] = Lagrange polynomial of node j at x_i. */
void nh_lagrange(int s, const double *c, int points, const double *x, double *value);

#endif
