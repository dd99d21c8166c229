/* Dense linear algebra for small matrices in double precision, for start states, ranks and
 * diagnostics; steps do not use it. Matrices are row-major. */
#ifndef NH_BASE_DENSE_H
#define NH_BASE_DENSE_H

#include <nonholo.h>
#include <stdbool.h>

/* LU factorisation with row exchanges, in place; false if singular. */
bool nh_dense_factor(int n, double *a, int *pivot);
void nh_dense_solve(int n, const double *lu, const int *pivot, double *x);

/* The lower Cholesky factor of a symmetric matrix, stored in its lower half (the upper half becomes
 * 0); false if it is not positive definite, up to rounding. */
bool nh_dense_cholesky(int n, double *a);
void nh_dense_cholesky_solve(int n, const double *l, double *x);

/* out[rows][columns] = a b, with `inner` columns of a; out is neither. */
void nh_dense_multiply(int rows, int inner, int columns, const double *a, const double *b,
                       double *out);

/* exp(a), by scaling and squaring; NH_NOT_FINITE if it is beyond the numbers. */
nh_status nh_dense_exponential(int n, const double *a, double *out);

/* Rank of a (rows x columns) by elimination; a is destroyed. A row counts if more than `tolerance`
 * of it remains after the earlier rows have been eliminated from it. Rows and columns are first
 * scaled to the same size, so that units do not matter; entries that consist only of rounding
 * errors must be set to zero by the caller. `dependent` (may be NULL) gets the first row that
 * depends on earlier ones, or -1. */
int nh_dense_rank(int rows, int columns, double *a, double tolerance, int *dependent);

/* Complete pivoting: exchanges rows and columns of a [n][n] so that the largest of the entries from
 * (done, done) on comes there, and columns in `order`; `row` is where it was. False, and nothing is
 * exchanged, unless it is larger than `least`. */
bool nh_dense_largest_first(int n, int done, double least, double *a, int *order, int *row);

/* Eigenvalues of a symmetric matrix, which is destroyed, and its eigenvectors as rows of `vector`.
 */
void nh_dense_eigen(int n, double *a, double *value, double *vector);

#endif
