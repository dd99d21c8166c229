/* How far each component of a state moves. Errors are measured relative to that, independently of
 * units. */
#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sizes.h"
#include "base/status.h"
#include "system/system.h"

enum { TRIES = 20, WEIGHED_MOST = 200 }; /* velocities whose masses are computed */
static const double negligible = 1e-6;   /* a motion relative to the largest one */

typedef struct scaling {
    const nh_system *system;
    int coordinates, velocities;
    double *scale; /* of coordinates, then of velocities */
} scaling;

/* The mass that moves with velocity i: the second difference of the energy, which does not depend
 * on `by` if the kinetic energy is quadratic. 0 if there is none. */
static double mass_of(const nh_system *system, double t, const double *q, double *v, int i,
                      double by)
{
    for (int tries = 0; tries < TRIES; tries++, by *= 1e3) {
        double energy[3], before = v[i];
        for (int k = 0; k < 3; k++) {
            v[i] = before + (k - 1) * by;
            if (nh_system_energy(system, t, q, v, &energy[k], NULL) != NH_OK)
                energy[k] = NAN;
        }
        v[i] = before;
        double second = energy[0] - 2 * energy[1] + energy[2];
        if (second > 1e-6 * (fabs(energy[0]) + fabs(energy[1]) + fabs(energy[2])))
            return second / (by * by);
    }
    return 0;
}

/* A component that hardly moves compared with the others is measured by the others, because its
 * motion may be nothing but rounding. Masses make lengths and angles comparable, whatever their
 * units. */
static void raise_small(const double *weight, int count, double *scale)
{
    double largest = 0;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, weight[i] * scale[i]);
    for (int i = 0; i < count; i++)
        if (weight[i] > 0)
            scale[i] = fmax(scale[i], negligible * largest / weight[i]);
}

static double largest_of(const double *x, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, x[i]);
    return most;
}

/* The components of an attitude, and of its rate, share one size: which of them moves depends on
 * the choice of axes. Coordinates get the weights of their velocities; |p'| is half the body
 * rate. */
static void join_rotations(const scaling *s, double *weight, double *of_coordinate)
{
    const nh_shape *shape = &s->system->shape;
    double *rate = s->scale + s->coordinates;
    int rotation = 0, velocity = 0;
    for (int i = 0; i < s->coordinates;) {
        if (rotation == shape->rotations || shape->rotation[rotation] != i) {
            of_coordinate[i++] = weight[velocity++];
            continue;
        }
        double size = largest_of(s->scale + i, 4), rates = largest_of(rate + velocity, 3);
        double most = largest_of(weight + velocity, 3);
        for (int k = 0; k < 4; k++, i++) {
            s->scale[i] = size;
            of_coordinate[i] = 2 * most;
        }
        for (int k = 0; k < 3; k++)
            rate[velocity++] = rates;
        rotation++;
    }
}

nh_status nh_system_motion_scales(const nh_system *system, double t, const double *q,
                                  const double *v, double *scales, nh_report *report)
{
    const scaling s = {system, nh_system_coordinates(system), nh_system_velocities(system), scales};
    const nh_shape *shape = &system->shape;
    const int n = s.coordinates, velocities = s.velocities;
    double *weight = malloc((size_t)(n + 2 * velocities + 1) * sizeof *weight);
    if (!weight)
        return nh_fail_memory(report);
    double *at = weight + n + velocities;
    memcpy(at, v, (size_t)velocities * sizeof *at);
    for (int a = 0; a < shape->angles; a++) /* a revolution leads back to the same position */
        scales[shape->angle[a]] = fmin(scales[shape->angle[a]], 6.283185307179586);
    for (int i = 0; i < velocities; i++) {
        double by = scales[n + i] > 0 ? scales[n + i] : 1e-12; /* any size, if it is at rest */
        weight[i] = velocities > WEIGHED_MOST ? 1 : sqrt(mass_of(system, t, q, at, i, by));
    }
    join_rotations(&s, weight, weight + velocities);
    raise_small(weight, velocities, scales + n);
    raise_small(weight + velocities, n, scales);
    free(weight);
    return NH_OK;
}
