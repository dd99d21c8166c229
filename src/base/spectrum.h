/* How large the eigenvalues of a general matrix are, without finding them. */
#ifndef NH_BASE_SPECTRUM_H
#define NH_BASE_SPECTRUM_H

/* A smooth mean size of the eigenvalues of a row-major matrix, which is destroyed:
 *
 *     (s2^12 + s4^6 + s6^4)^(1/24),   sk = tr A^k
 *
 * It does not depend on the basis, is smooth where it is not 0, and is the same for A and -A. The
 * largest eigenvalues dominate. Rows and columns are scaled first, so that units do not matter. NaN
 * if an entry is not finite. `space` has room for 2 n^2 numbers. */
double nh_spectral_size(int n, double *a, double *space);

#endif
