/* Positions and velocities of R^k x SO(3)^b, for methods that work on the rotation group itself.
 *
 * The system's functions are written in quaternions p with p' = p (0, w/2), where w is the body
 * rate. So a velocity xi stores x' in the places of coordinates and (0, w/2) in those of a
 * quaternion. */
#ifndef NH_METHOD_ATTITUDES_H
#define NH_METHOD_ATTITUDES_H

#include "kernel/kernel.h"
#include "kernel/small.h"
#include "method/quaternions.h"

enum { LIE_CAYLEY, LIE_EXPONENTIAL };

#define MA (M - POSITIONS) /* constraints on velocities: all other ones belong to the rotations */

/* xi of a velocity or an acceleration x at q, and back. */
static inline void to_body(kernel *k, const real *q, const real *x, real *xi)
{
    EACH(i, N) xi[i] = x[i];
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r);
        vector_part(q + at, x + at, xi + at + 1);
        xi[at] = broadcast(0);
    }
}

static inline void to_velocity(kernel *k, const real *q, const real *xi, real *v)
{
    EACH(i, N) v[i] = xi[i];
    EACH_ROTATION(r)
    quaternion_times(q + ROTATION(r), broadcast(0), xi + ROTATION(r) + 1, v + ROTATION(r));
}

/* The quaternion (1, a)/|..| or (cos |a|, a sin |a| / |a|), for half a rotation vector a. */
static inline void tau_of(int tau, const real *a, real *turn)
{
    const real square = dot_(3, a, a);
    real along;
    if (tau == LIE_CAYLEY) {
        turn[0] = along = broadcast(1) / sqrt_(1.0 + square);
    } else {
        const mask small = less(square, broadcast(1e-8));
        const real angle = sqrt_(select_(small, broadcast(1), square));
        const real series = fma_(square, broadcast(-1.0 / 6), broadcast(1));
        turn[0] = select_(small, fma_(square, broadcast(-0.5), broadcast(1)), cos_(angle));
        along = select_(small, series, sin_(angle) / angle);
    }
    for (int i = 0; i < 3; i++)
        turn[1 + i] = a[i] * along;
}

/* Returns p to the unit sphere, which it has left by round-off. */
static inline void normalise(real *p)
{
    const real scale = fma_(broadcast(-0.5), dot_(4, p, p), broadcast(1.5));
    for (int i = 0; i < 4; i++)
        p[i] = p[i] * scale;
}

/* q = q0 exp(share log tau(h u)), for shares 0, 1/2 and 1 with the Cayley map */
static inline void move(kernel *k, int tau, scalar h, const real *q0, const real *u, double share,
                        real *q)
{
    EACH(i, N) q[i] = fma_(broadcast(share * h), u[i], q0[i]);
    EACH_ROTATION(r)
    {
        const int at = ROTATION(r), half = tau == LIE_CAYLEY && share == 0.5;
        const scalar scale = half ? h : share * h;
        real a[3], turn[4];
        for (int i = 0; i < 3; i++)
            a[i] = u[at + 1 + i] * scale;
        tau_of(tau, a, turn);
        if (half) { /* the square root of a unit quaternion */
            turn[0] = turn[0] + 1.0;
            const real inverse = broadcast(1) / sqrt_(dot_(4, turn, turn));
            for (int i = 0; i < 4; i++)
                turn[i] = turn[i] * inverse;
        }
        quaternion_times(q0 + at, turn[0], turn + 1, q + at);
        normalise(q + at);
    }
}

/* Ends a step of a method with the state (q, xi). */
static inline void commit_body(kernel *k, const real *q, const real *xi, real *v)
{
    to_velocity(k, q, xi, v);
    COMMIT(i, q[i], v[i], q[i] - k->q[i], v[i] - k->v[i]);
}

#endif
