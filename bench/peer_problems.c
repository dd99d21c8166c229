/* The pendulum CVT and the chaotic particle, written by hand for other solvers. */
#include "peers.h"

#include <math.h>

static void cvt_normal(const double *q, double *A)
{
    A[0] = sin(q[2]);
    A[1] = 1;
    A[2] = 0;
}

static void cvt_gradient(const double *q, double *g)
{
    g[0] = q[0];
    g[1] = q[1];
    g[2] = -sin(q[2]);
}

static double cvt_drift(const double *q, const double *v)
{
    return cos(q[2]) * v[2] * v[0];
}

static double cvt_given(const double *q, const double *v)
{
    return -sin(q[2]) * v[0];
}

/* y = x, y, xi, x', xi' */
static void cvt_reduced(const double *y, double *dy)
{
    double s = sin(y[2]), c = cos(y[2]), u = y[3], w = y[4];
    dy[0] = u;
    dy[1] = -s * u;
    dy[2] = w;
    dy[3] = (s * y[1] - y[0] - s * c * w * u) / (1 + s * s);
    dy[4] = s;
}

/* q = x, y1..y3, z1..z3 with x' + y.z' = 0 */
static void chaotic_normal(const double *q, double *A)
{
    A[0] = 1;
    for (int i = 0; i < 3; i++) {
        A[1 + i] = 0;
        A[4 + i] = q[1 + i];
    }
}

static void chaotic_gradient(const double *q, double *g)
{
    const double *y = q + 1, *z = q + 4;
    g[0] = q[0];
    for (int i = 0; i < 3; i++) {
        g[1 + i] = y[i] * (1 + z[i] * z[i]);
        g[4 + i] = z[i] * (1 + y[i] * y[i]);
    }
    g[4] += z[0] * z[1] * z[1];
    g[5] += z[1] * z[0] * z[0];
}

static double chaotic_drift(const double *q, const double *v)
{
    (void)q;
    return v[1] * v[4] + v[2] * v[5] + v[3] * v[6];
}

static double chaotic_given(const double *q, const double *v)
{
    return -(q[1] * v[4] + q[2] * v[5] + q[3] * v[6]);
}

/* y = q, then the velocities of y and z */
static void chaotic_reduced(const double *y, double *dy)
{
    double g[7], power = 0, size = 1;
    const double *u = y + 7, *w = y + 10;
    chaotic_gradient(y, g);
    dy[0] = 0;
    for (int i = 0; i < 3; i++) {
        dy[0] -= y[1 + i] * w[i];
        dy[1 + i] = u[i];
        dy[4 + i] = w[i];
        power += y[1 + i] * g[4 + i] - u[i] * w[i];
        size += y[1 + i] * y[1 + i];
    }
    double l = (g[0] + power) / size;
    for (int i = 0; i < 3; i++) {
        dy[7 + i] = -g[1 + i];
        dy[10 + i] = y[1 + i] * l - g[4 + i];
    }
}

const peer_problem peer_problems[PEER_PROBLEMS] = {
    {.name = "pendulum-cvt",
     .label = "pendulum CVT",
     .n = 3,
     .T = 3000,
     .normal = cvt_normal,
     .gradient = cvt_gradient,
     .drift = cvt_drift,
     .dropped = 1,
     .given = cvt_given,
     .reduced = cvt_reduced},
    {.name = "chaotic-particle",
     .label = "chaotic particle, N = 3",
     .setting = "N=3",
     .n = 7,
     .T = 50,
     .normal = chaotic_normal,
     .gradient = chaotic_gradient,
     .drift = chaotic_drift,
     .dropped = 0,
     .given = chaotic_given,
     .reduced = chaotic_reduced},
};
