/* Two upright disks that roll on a plane, tied by springs (models/disk-chain.nh with N = 2): n = 8,
 * m = 4. A disk's two conditions are solved as a 2 x 2 system on paper. State: x, y, theta, phi of
 * both disks by kind, as the model lists them, then the velocities. */
#ifndef NH_BENCH_HAND_DISKS_H
#define NH_BENCH_HAND_DISKS_H

#include "kernel/trig.h"

enum { DISKS = 2, DISK_SIZE = 4 * DISKS };
static const double disk_J = 0.25, disk_I = 0.5, disk_k = 1,
                    disk_kt = 0.3; /* mass and radius are 1 */

typedef struct disks {
    double x[DISKS], y[DISKS], theta[DISKS], phi[DISKS], vx[DISKS], vy[DISKS], w[DISKS], u[DISKS];
} disks;

static inline void disks_kick(disks *d, double h)
{
    double fx = h * disk_k * (d->x[1] - d->x[0]), fy = h * disk_k * (d->y[1] - d->y[0]);
    double torque = h / disk_J * disk_kt * sin_(d->theta[1] - d->theta[0]);
    d->vx[0] += fx, d->vx[1] -= fx;
    d->vy[0] += fy, d->vy[1] -= fy;
    d->w[0] += torque, d->w[1] -= torque;
}

/* Moves v along M^-1 A^T of the heading (cm, sm) until A v = 0 at the heading (c, s). */
static inline void disk_settle(disks *d, int i, double cm, double sm, double c, double s,
                               double *l1, double *l2)
{
    const double j = 1 / disk_I;
    double a11 = 1 + j * c * cm, a12 = j * c * sm, a21 = j * s * cm, a22 = 1 + j * s * sm;
    double r1 = d->vx[i] - c * d->u[i], r2 = d->vy[i] - s * d->u[i];
    double inverse = 1 / (a11 * a22 - a12 * a21);
    *l1 = (a22 * r1 - a12 * r2) * inverse;
    *l2 = (a11 * r2 - a21 * r1) * inverse;
    d->vx[i] -= *l1;
    d->vy[i] -= *l2;
    d->u[i] += j * (cm * *l1 + sm * *l2);
}

static inline void disks_drift(disks *d, double h)
{
    for (int i = 0; i < DISKS; i++) {
        d->x[i] += h * d->vx[i];
        d->y[i] += h * d->vy[i];
        d->theta[i] += h * d->w[i];
        d->phi[i] += h * d->u[i];
    }
}

static long hand_dla01_disks(double *state, double h, long steps)
{
    disks d;
    __builtin_memcpy(&d, state, sizeof d);
    for (long n = 0; n < steps; n++) {
        double cm[DISKS], sm[DISKS], c, s, l1, l2;
        disks_drift(&d, h / 2);
        for (int i = 0; i < DISKS; i++)
            sincos_(d.theta[i], sm + i, cm + i);
        disks_kick(&d, h);
        for (int i = 0; i < DISKS; i++) {
            d.theta[i] += h / 2 * d.w[i];
            sincos_(d.theta[i], &s, &c);
            disk_settle(&d, i, cm[i], sm[i], c, s, &l1, &l2);
            d.x[i] += h / 2 * d.vx[i];
            d.y[i] += h / 2 * d.vy[i];
            d.phi[i] += h / 2 * d.u[i];
        }
    }
    __builtin_memcpy(state, &d, sizeof d);
    return steps;
}

static long hand_leapfrog_disks(double *state, double h, long steps)
{
    disks d;
    double l1[DISKS] = {0}, l2[DISKS] = {0}, c[DISKS],
           s[DISKS]; /* impulses of the last half kick */
    __builtin_memcpy(&d, state, sizeof d);
    for (int i = 0; i < DISKS; i++)
        sincos_(d.theta[i], s + i, c + i);
    for (long n = 0; n < steps; n++) {
        disks_kick(&d, h / 2);
        for (int i = 0; i < DISKS; i++) {
            d.vx[i] -= l1[i];
            d.vy[i] -= l2[i];
            d.u[i] += 1 / disk_I * (c[i] * l1[i] + s[i] * l2[i]);
        }
        disks_drift(&d, h);
        for (int i = 0; i < DISKS; i++)
            sincos_(d.theta[i], s + i, c + i);
        disks_kick(&d, h / 2);
        for (int i = 0; i < DISKS; i++)
            disk_settle(&d, i, c[i], s[i], c[i], s[i], l1 + i, l2 + i);
    }
    __builtin_memcpy(state, &d, sizeof d);
    return steps;
}

#endif
