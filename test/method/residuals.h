/* Constraints of the shipped models, written out by hand: the matrix recomputes what the library
 * says about them. Each returns the largest |k|. */
#ifndef TEST_RESIDUALS_H
#define TEST_RESIDUALS_H

#include <math.h>
#include <string.h>

static double chaotic_residual(const double *q, const double *v)
{
    /* N = 2: x, y1, y2, z1, z2 */
    return fabs(v[0] + q[1] * v[3] + q[2] * v[4]);
}

static double chaotic_holonomic_residual(const double *q, const double *v)
{
    /* N = 3: x, y1..y3, z1..z3 */
    return fabs(v[0] + q[4] * v[4] + q[5] * v[5] + q[6] * v[6]);
}

static double cvt_residual(const double *q, const double *v)
{
    return fabs(v[1] + sin(q[2]) * v[0]);
}

static double harmonic_residual(const double *q, const double *v)
{
    return fabs(v[0] + q[2] * v[1]);
}

static double particle_residual(const double *q, const double *v)
{
    return fabs(v[2] - q[1] * v[0]);
}

static double skate_residual(const double *q, const double *v) /* knife edge and inclined skate */
{
    return fabs(cos(q[2]) * v[1] - sin(q[2]) * v[0]);
}

static double disk_residual(const double *q, const double *v)
{
    return fmax(fabs(v[0] - v[3] * cos(q[2])), fabs(v[1] - v[3] * sin(q[2])));
}

static double robot_residual(const double *q, const double *v) /* the disk with r = -1 */
{
    return fmax(fabs(v[0] + v[3] * cos(q[2])), fabs(v[1] + v[3] * sin(q[2])));
}

static double suslov_residual(const double *q, const double *v)
{
    (void)q;
    return fabs(v[2]);
}

/* z'^2 = a^2 (x'^2 + y'^2) with a = 1/2, relative: the velocities grow as the particle falls. */
static double appell_residual(const double *q, const double *v)
{
    (void)q;
    double plane = v[0] * v[0] + v[1] * v[1], upright = v[2] * v[2];
    return fabs(upright - plane / 4) / (1 + plane + upright);
}

static double coin_residual(const double *q, const double *v) /* x, y, phi, theta, psi; r = 1 */
{
    return fmax(fabs(v[0] - v[4] * cos(q[2])), fabs(v[1] - v[4] * sin(q[2])));
}

/* A wheel at (px, py) from the point (x, y), turned by `angle`: the velocity across it. */
static double across(const double *v, double turn, double px, double py, double angle)
{
    return (v[1] + turn * px) * cos(angle) - (v[0] - turn * py) * sin(angle);
}

static double snakeboard_residual(const double *q,
                                  const double *v) /* x, y, theta, psi, phi1, phi2; r = 1/2 */
{
    double rx = cos(q[2]) / 2, ry = sin(q[2]) / 2;
    return fmax(fabs(across(v, v[2], rx, ry, q[2] + q[4])),
                fabs(across(v, v[2], -rx, -ry, q[2] + q[5])));
}

static double two_wheels_residual(const double *q,
                                  const double *v) /* x, y, theta, right, left; b = .4, r = .15 */
{
    double ahead = v[0] * cos(q[2]) + v[1] * sin(q[2]), turn = 0.4 * v[2];
    double rolls = fmax(fabs(ahead + turn - 0.15 * v[3]), fabs(ahead - turn - 0.15 * v[4]));
    return fmax(rolls, fabs(across(v, 0, 0, 0, q[2])));
}

static double bicycle_residual(const double *q,
                               const double *v) /* x, y, theta, lean, steer; b = 1 */
{
    return fmax(fabs(across(v, 0, 0, 0, q[2])),
                fabs(across(v, v[2], cos(q[2]), sin(q[2]), q[2] + q[4])));
}

static double trailers_residual(const double *q,
                                const double *v) /* x, y, theta0..theta3, delta; b = 1, l = 1.2 */
{
    double axle[2] = {v[0], v[1]};
    double worst = fabs(across(v, v[2], cos(q[2]), sin(q[2]), q[2] + q[6]));
    for (int i = 0; i <= 3; i++) { /* each drawbar leads back along its own heading */
        axle[0] += i ? 1.2 * sin(q[2 + i]) * v[2 + i] : 0;
        axle[1] -= i ? 1.2 * cos(q[2 + i]) * v[2 + i] : 0;
        worst = fmax(worst, fabs(across(axle, 0, 0, 0, q[2 + i])));
    }
    return worst;
}

static double sphere_residual(const double *q, const double *v) /* x, y, phi, theta, psi; r = 1 */
{
    double wx = v[3] * cos(q[2]) + v[4] * sin(q[3]) * sin(q[2]);
    double wy = v[3] * sin(q[2]) - v[4] * sin(q[3]) * cos(q[2]);
    return fmax(fabs(v[0] - wy), fabs(v[1] + wx));
}

static double chain_residual(const double *q,
                             const double *v) /* x1..3, y1..3, theta1..3, phi1..3; r = 1 */
{
    double worst = 0;
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fmax(fabs(v[i] - v[9 + i] * cos(q[6 + i])),
                                 fabs(v[3 + i] - v[9 + i] * sin(q[6 + i]))));
    return worst;
}

typedef double residual_function(const double *q, const double *v);

/* NULL for constraints that depend on time: turntable-ball; and for the rattleback, whose long ones
 * are compared through its end state (test/cli/test_models.py). */
static residual_function *residual_of(const char *model)
{
    static const struct {
        const char *model;
        residual_function *residual;
    } table[] = {
        {"appell-hamel", appell_residual},
        {"asymmetric-gearbox", cvt_residual},
        {"bicycle", bicycle_residual},
        {"chaotic-particle", chaotic_residual},
        {"chaotic-particle-holonomic", chaotic_holonomic_residual},
        {"chaplygin-sleigh", skate_residual},
        {"chaplygin-sphere", sphere_residual},
        {"disk-chain", chain_residual},
        {"driven-sleigh", skate_residual},
        {"harmonic-cvt", harmonic_residual},
        {"inclined-skate", skate_residual},
        {"knife-edge", skate_residual},
        {"mobile-robot", robot_residual},
        {"mobile-robot-wheel", disk_residual},
        {"nonholonomic-particle", particle_residual},
        {"pendulum-cvt", cvt_residual},
        {"rolling-coin", coin_residual},
        {"rolling-disk", disk_residual},
        {"snakeboard", snakeboard_residual},
        {"suslov", suslov_residual},
        {"tractor-trailers", trailers_residual},
        {"two-wheeled-robot", two_wheels_residual},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].model, model) == 0)
            return table[i].residual;
    return NULL;
}

#endif
