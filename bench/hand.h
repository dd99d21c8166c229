/* The reference for timings: steps written by hand for one problem each, as a careful programmer
 * would who never simulates anything else. The state is in registers, no zeros are multiplied, the
 * same inline sine. All of them are hand_steps (contest.h). */
#ifndef NH_BENCH_HAND_H
#define NH_BENCH_HAND_H

#include <math.h>

#include "kernel/trig.h"

/* ---- pendulum CVT: |v|^2/2 - (x^2 + y^2)/2 - cos xi,  y' + sin(xi) x' = 0 ---- */

#define CVT_FROM(s) double x = (s)[0], y = (s)[1], xi = (s)[2], vx = (s)[3], vy = (s)[4], w = (s)[5]
#define CVT_TO(s) ((s)[0] = x, (s)[1] = y, (s)[2] = xi, (s)[3] = vx, (s)[4] = vy, (s)[5] = w)

__attribute__((always_inline)) static inline long
hand_dla01_cvt_with(double (*sine)(double), double *state, double h, long steps)
{
    CVT_FROM(state);
    for (long i = 0; i < steps; i++) {
        x += h / 2 * vx;
        y += h / 2 * vy;
        xi += h / 2 * w;
        double sm = sine(xi);
        vx -= h * x;
        vy -= h * y;
        w += h * sm;
        xi += h / 2 * w;
        double s1 = sine(xi);
        double l = (vy + s1 * vx) / (1 + s1 * sm);
        vx -= sm * l;
        vy -= l;
        x += h / 2 * vx;
        y += h / 2 * vy;
    }
    CVT_TO(state);
    return steps;
}

static long hand_dla01_cvt(double *state, double h, long steps)
{
    return hand_dla01_cvt_with(sin_, state, h, steps);
}

/* As most people would write it, with the C library's sine. */
static long hand_dla01_cvt_libm(double *state, double h, long steps)
{
    return hand_dla01_cvt_with(sin, state, h, steps);
}

/* With eps = 0.1: the pendulum's torque has eps cos(2 xi) = eps (1 - 2 sin(xi)^2) in it. */
#define CVT_EPS 0.1
#define CVT_TORQUE(s) ((s) + CVT_EPS * (1 - 2 * (s) * (s)))

static long hand_dla01_cvt_eps(double *state, double h, long steps)
{
    CVT_FROM(state);
    for (long i = 0; i < steps; i++) {
        x += h / 2 * vx;
        y += h / 2 * vy;
        xi += h / 2 * w;
        double sm = sin_(xi);
        vx -= h * x;
        vy -= h * y;
        w += h * CVT_TORQUE(sm);
        xi += h / 2 * w;
        double s1 = sin_(xi);
        double l = (vy + s1 * vx) / (1 + s1 * sm);
        vx -= sm * l;
        vy -= l;
        x += h / 2 * vx;
        y += h / 2 * vy;
    }
    CVT_TO(state);
    return steps;
}

static long hand_leapfrog_cvt_eps(double *state, double h, long steps)
{
    CVT_FROM(state);
    double s = sin_(xi);
    double l = (cos_(xi) * w * vx - y - s * x) / (1 + s * s); /* the continuous one */
    for (long i = 0; i < steps; i++) {
        vx -= h / 2 * (x + s * l);
        vy -= h / 2 * (y + l);
        w += h / 2 * CVT_TORQUE(s);
        x += h * vx;
        y += h * vy;
        xi += h * w;
        s = sin_(xi);
        vx -= h / 2 * x;
        vy -= h / 2 * y;
        w += h / 2 * CVT_TORQUE(s);
        double d = (vy + s * vx) / (1 + s * s);
        vx -= s * d;
        vy -= d;
        l = 2 / h * d;
    }
    CVT_TO(state);
    return steps;
}

static long hand_leapfrog_cvt(double *state, double h, long steps)
{
    CVT_FROM(state);
    double s = sin_(xi);
    double l = (cos_(xi) * w * vx - y - s * x) / (1 + s * s); /* the continuous one */
    for (long i = 0; i < steps; i++) {
        vx -= h / 2 * (x + s * l);
        vy -= h / 2 * (y + l);
        w += h / 2 * s;
        x += h * vx;
        y += h * vy;
        xi += h * w;
        s = sin_(xi);
        vx -= h / 2 * x;
        vy -= h / 2 * y;
        w += h / 2 * s;
        double d = (vy + s * vx) / (1 + s * s);
        vx -= s * d;
        vy -= d;
        l = 2 / h * d;
    }
    CVT_TO(state);
    return steps;
}

/* ---- chaotic particle, N = 3: V = (|q|^2 + z1^2 z2^2 + sum y_i^2 z_i^2)/2,  x' + sum y_i z_i' = 0
 * ---- */

typedef struct chaotic_state {
    double x, y[3], z[3], vx, vy[3], vz[3];
} chaotic_state;

#define EACH3(i) _Pragma("GCC unroll 3") for (int i = 0; i < 3; i++)

static inline void chaotic_kick(chaotic_state *s, double h)
{
    double yy[3], zz[3];
    EACH3(i)
    {
        yy[i] = s->y[i] * s->y[i];
        zz[i] = s->z[i] * s->z[i];
    }
    s->vx -= h * s->x;
    EACH3(i) s->vy[i] -= h * s->y[i] * (1 + zz[i]);
    s->vz[0] -= h * s->z[0] * (1 + yy[0] + zz[1]);
    s->vz[1] -= h * s->z[1] * (1 + yy[1] + zz[0]);
    s->vz[2] -= h * s->z[2] * (1 + yy[2]);
}

static inline void chaotic_drift(chaotic_state *s, double h)
{
    s->x += h * s->vx;
    EACH3(i)
    {
        s->y[i] += h * s->vy[i];
        s->z[i] += h * s->vz[i];
    }
}

static long hand_dla01_chaotic(double *state, double h, long steps)
{
    chaotic_state s;
    __builtin_memcpy(&s, state, sizeof s);
    for (long n = 0; n < steps; n++) {
        chaotic_drift(&s, h / 2);
        double ym[3];
        EACH3(i) ym[i] = s.y[i];
        chaotic_kick(&s, h);
        double r = s.vx, S = 1;
        EACH3(i)
        {
            double y1 = s.y[i] + h / 2 * s.vy[i];
            r += y1 * s.vz[i];
            S += y1 * ym[i];
        }
        double l = r / S;
        s.vx -= l;
        EACH3(i) s.vz[i] -= ym[i] * l;
        chaotic_drift(&s, h / 2);
    }
    __builtin_memcpy(state, &s, sizeof s);
    return steps;
}

static long hand_leapfrog_chaotic(double *state, double h, long steps)
{
    chaotic_state s;
    __builtin_memcpy(&s, state, sizeof s);
    double l = 0; /* which first multiplier does not matter for the time */
    for (long n = 0; n < steps; n++) {
        chaotic_kick(&s, h / 2);
        s.vx -= h / 2 * l;
        EACH3(i) s.vz[i] -= h / 2 * l * s.y[i];
        chaotic_drift(&s, h);
        chaotic_kick(&s, h / 2);
        double r = s.vx, S = 1;
        EACH3(i)
        {
            r += s.y[i] * s.vz[i];
            S += s.y[i] * s.y[i];
        }
        double d = r / S;
        s.vx -= d;
        EACH3(i) s.vz[i] -= s.y[i] * d;
        l = 2 / h * d;
    }
    __builtin_memcpy(state, &s, sizeof s);
    return steps;
}

#endif
