/* Nodes, weights and coefficients of collocation methods, to full double precision. */
#ifndef NH_BASE_QUADRATURE_H
#define NH_BASE_QUADRATURE_H

/* Gauss: the zeros of the shifted Legendre polynomial of degree s on [0, 1], and their weights. */
void nh_gauss_nodes(int s, double *c, double *b);

/* P_degree on [0, 1], shifted Legendre. */
double nh_legendre(int degree, double x);

/* a[i*s + j] = integral from 0 to c_i of the Lagrange polynomial of node j. */
void nh_collocation(int s, const double *c, double *a);

/* value[i*s + j] = Lagrange polynomial of node j at x_i. */
void nh_lagrange(int s, const double *c, int points, const double *x, double *value);

#endif
