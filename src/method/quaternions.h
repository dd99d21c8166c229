/* Products of quaternions, for methods that work on the rotation group itself. A rotation occupies
 * four of the coordinates: a unit quaternion p with p' = p (0, w/2), where w is the body rate. */
#ifndef NH_METHOD_QUATERNIONS_H
#define NH_METHOD_QUATERNIONS_H

#include "kernel/kernel.h"

#define EACH_ROTATION(r) for (int r = 0; r < ROTATIONS; r++)

/* out = p (s, u); all may overlap */
static inline void quaternion_times(const real *p, real s, const real *u, real *out)
{
    const real a = fma_(p[0], s, -fma_(p[1], u[0], fma_(p[2], u[1], p[3] * u[2])));
    const real b = fma_(p[0], u[0], fma_(p[1], s, fma_(p[2], u[2], -(p[3] * u[1]))));
    const real c = fma_(p[0], u[1], fma_(p[2], s, fma_(p[3], u[0], -(p[1] * u[2]))));
    const real d = fma_(p[0], u[2], fma_(p[3], s, fma_(p[1], u[1], -(p[2] * u[0]))));
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

/* u = the vector part of conj(p) x; all may overlap */
static inline void vector_part(const real *p, const real *x, real *u)
{
    const real a = fma_(p[0], x[1], fma_(-p[1], x[0], fma_(p[3], x[2], -(p[2] * x[3]))));
    const real b = fma_(p[0], x[2], fma_(-p[2], x[0], fma_(p[1], x[3], -(p[3] * x[1]))));
    const real c = fma_(p[0], x[3], fma_(-p[3], x[0], fma_(p[2], x[1], -(p[1] * x[2]))));
    u[0] = a, u[1] = b, u[2] = c;
}

#endif
