/* Eigenvalues of a real matrix whose zeros are exact: the null space is split off before the others
 * are computed, and that of the rest after it, so that zeros with chains do not appear as 1e-8. */
#ifndef NH_ANALYSIS_EIGENVALUES_H
#define NH_ANALYSIS_EIGENVALUES_H

#include <complex.h>
#include <stdbool.h>

typedef struct nh_spectrum {
    int n, zeros, kernel; /* zeros in all; the dimension of the null space */
    int count;            /* other eigenvalues: n - zeros, those with larger real parts first */
    double complex *value;
    double complex *right, *left; /* [count][n], with left . right = 1 (without conjugation) */
    double *condition;            /* 1/|y^H x| of unit vectors */
    double *error;                /* estimated, from rounding */
    double *null;                 /* [kernel][n] orthonormal */
    double size;                  /* of the matrix: its largest singular value */
} nh_spectrum;

/* `zeros` is how many there are, if that is known, or -1. False if out of memory or without
 * convergence; nh_spectrum_free in either case. */
bool nh_spectrum_find(nh_spectrum *out, int n, const double *a, int zeros);
/* The same for x' = a x, where some of the x are velocities: what is zero is judged in a unit of
 * time in which the motion is neither fast nor slow. */
bool nh_spectrum_of_motion(nh_spectrum *out, int n, const double *a, const bool *velocity,
                           int zeros);
void nh_spectrum_free(nh_spectrum *s);

/* The derivative of a simple eigenvalue: left . (change right). */
double complex nh_spectrum_rate(const nh_spectrum *s, int index, const double *change);

#endif
