/* The linear complementarity problem. */
#ifndef NH_CONTACT_LEMKE_H
#define NH_CONTACT_LEMKE_H

#include <stdbool.h>

#define NH_LEMKE_ROOM(n) ((n) * (2 * (n) + 2))

/* Finds z >= 0 with w = m z + q >= 0 and z w = 0 by Lemke's method; false if it ends in a ray,
 * which for copositive matrices means that there is no solution. Ties between rows are broken
 * lexicographically, so it does not cycle. `room` has NH_LEMKE_ROOM(n) doubles, `basis` n ints. */
bool nh_lemke(int n, const double *m, const double *q, double *z, double *room, int *basis);

#endif
