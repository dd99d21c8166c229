/* Linear systems without a unique solution, and the least point of a polyhedron. */
#ifndef NH_CONTACT_LEAST_H
#define NH_CONTACT_LEAST_H

#include <stdbool.h>

/* Solves A x = b for a square A, with exchanges of rows and columns; pivots up to `singular` count
 * as 0. Returns the dimension k of the null space, with a basis of it in rows of `null` [k][n], and
 * the largest right-hand side left over in rows without a pivot in *mismatch. A and b are
 * destroyed; `order` [n] is workspace. */
int nh_least_solve(int n, double *a, double *b, double singular, double *x, double *null,
                   double *mismatch, int *order);

/* Makes rows of `null` [k][n] orthonormal, and x the shortest of the points x + null z. */
void nh_least_shorten(int n, int k, double *null, double *x);

/* Workspace of nh_least_point, in doubles and in ints. */
#define NH_LEAST_ROOM(rows, n) (((n) + 1) * ((rows) + 3) + ((n) + 1) * ((n) + 2) + 3 * (rows))
#define NH_LEAST_MARKS(rows) (2 * (rows))

/* The shortest z [n] with g z >= h (g: [rows][n]); false if there is none. Lawson & Hanson, Solving
 * Least Squares Problems, chapter 23: least distance through nonnegative least squares. */
bool nh_least_point(int rows, int n, const double *g, const double *h, double *z, double *room,
                    int *marks);

#endif
