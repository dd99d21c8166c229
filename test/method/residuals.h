/* Constraints of the shipped models, written out by hand: the matrix recomputes what the library says
 * about them. Each returns the largest |k|. */
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

typedef double residual_function(const double *q, const double *v);

/* NULL for constraints that depend on time: turntable-ball. */
static residual_function *residual_of(const char *model)
{
    static const struct {
        const char *model;
        residual_function *residual;
    } table[] = {
        {"appell-hamel", appell_residual},
        {"asymmetric-gearbox", cvt_residual},
        {"chaotic-particle", chaotic_residual},
        {"chaotic-particle-holonomic", chaotic_holonomic_residual},
        {"chaplygin-sleigh", skate_residual},
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
        {"suslov", suslov_residual},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].model, model) == 0)
            return table[i].residual;
    return NULL;
}

#endif
