/* Singular values, least squares and eigenvalues of dense matrices, by LAPACK. A library built
 * without LAPACK has none of them: the functions then return false, and nh_have_lapack says so.
 * LAPACK is loaded when it is first asked for. Matrices are row-major. */
#ifndef NH_BASE_LAPACK_H
#define NH_BASE_LAPACK_H

#include <complex.h>
#include <stdbool.h>

bool nh_have_lapack(void);

/* A singular value decomposition a = sum_i value[i] left[i] right[i]^T, values descending. The rows
 * of `right` from min(rows, columns) on complete an orthonormal basis. */
typedef struct nh_svd {
    int rows, columns, values; /* values = min(rows, columns) */
    double *value;
    double *left;  /* [values][rows] */
    double *right; /* [columns][columns] */
} nh_svd;

/* False if out of memory, or if it does not converge; nh_svd_free in either case. */
bool nh_svd_find(nh_svd *out, int rows, int columns, const double *a);
void nh_svd_free(nh_svd *svd);

/* How many singular values exceed `tolerance` times the largest. */
int nh_svd_rank(const nh_svd *svd, double tolerance);

/* The shortest x that minimises |a x - b|, with the first `rank` singular values. */
void nh_svd_solve(const nh_svd *svd, int rank, const double *b, double *x);

/* Eigenvalues with eigenvectors a x = value x, y^H a = value y^H, both of length 1, and the
 * condition number 1/|y^H x| of each eigenvalue, of the balanced matrix. */
typedef struct nh_eigen {
    int n;
    double complex *value;
    double complex *right, *left; /* [n][n], a row for each eigenvalue */
    double *condition;
} nh_eigen;

bool nh_eigen_find(nh_eigen *out, int n, const double *a);
void nh_eigen_free(nh_eigen *eigen);

/* An orthonormal basis, `count` rows of `basis`[n][n], of what belongs to the solutions of
 * a x = value b x with |value| < 1. False if out of memory or without convergence. */
bool nh_stable_subspace(int n, const double *a, const double *b, int *count, double *basis);

#endif
