/* Random starts on an energy surface.
 *
 *     q = centre + s u,   v = P(q) (s w),   E(q, v) = energy
 *
 * u and w are normally distributed random vectors, P projects velocities onto the constraints
 * (M-orthogonally), angles are uniform and not scaled; s > 0 is found by bracketing and regula
 * falsi. If the energy is quadratic about the centre, the states are uniformly distributed on the
 * energy surface. A direction in which the energy is never reached is rejected and another drawn.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "system/start.h"

enum { ATTEMPTS = 1000, DOUBLINGS = 60, ITERATIONS = 200 };

typedef struct ray { /* from the centre into phase space */
    const nh_system *system;
    double t, energy;
    const double *centre; /* NULL: the origin */
    double *u, *w;        /* directions; u of an angle is the angle itself */
    double *q, *v;        /* the point last looked at */
    bool out_of_memory;   /* which says nothing about the ray */
} ray;

static bool is_angle(const nh_system *system, int coordinate)
{
    for (int a = 0; a < system->shape.angles; a++)
        if (system->shape.angle[a] == coordinate)
            return true;
    return false;
}

static void draw(ray *r, nh_stream *stream)
{
    for (int i = 0; i < r->system->coordinates; i++)
        r->u[i] = is_angle(r->system, i) ? 6.283185307179586 * (nh_stream_uniform(stream) - 0.5)
                                         : nh_stream_normal(stream);
    for (int i = 0; i < r->system->velocities; i++)
        r->w[i] = nh_stream_normal(stream);
}

/* Energy above the wanted one at s; NaN where there is no such state. */
static double excess(ray *r, double s)
{
    double found;
    for (int i = 0; i < r->system->coordinates; i++)
        r->q[i] = is_angle(r->system, i) ? r->u[i] : (r->centre ? r->centre[i] : 0) + s * r->u[i];
    for (int i = 0; i < r->system->velocities; i++)
        r->v[i] = s * r->w[i];
    nh_report report;
    nh_status status = nh_project(r->system, NULL, false, r->t, r->q, r->v, &report);
    if (status == NH_OK)
        status = nh_system_energy(r->system, r->t, r->q, r->v, &found, &report);
    r->out_of_memory |= status == NH_NO_MEMORY;
    return status == NH_OK ? found - r->energy : NAN;
}

/* Regula falsi with the Illinois rule, until nothing moves any more. */
static bool close_in(ray *r, double low, double low_value, double high, double high_value)
{
    double tiny = 4e-16 * fmax(1, fabs(r->energy)), best = low, best_value = low_value;
    int side = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        double s = high - high_value * (high - low) / (high_value - low_value);
        if (!(s > low && s < high))
            s = low + 0.5 * (high - low);
        if (s == low || s == high)
            break;
        double value = excess(r, s);
        if (isnan(value))
            return false;
        if (fabs(value) < fabs(best_value)) {
            best = s;
            best_value = value;
        }
        if (fabs(value) <= tiny)
            break;
        if (value < 0) {
            low = s;
            low_value = value;
            high_value *= side == -1 ? 0.5 : 1;
            side = -1;
        } else {
            high = s;
            high_value = value;
            low_value *= side == 1 ? 0.5 : 1;
            side = 1;
        }
    }
    return fabs(excess(r, best)) <= 1e-12 * fmax(1, fabs(r->energy));
}

/* Whether the energy is met along the ray; q and v are that state then. */
static bool find(ray *r)
{
    double low = 0, low_value = excess(r, 0), s = 0x1p-10;
    if (low_value == 0)
        return true;
    if (!(low_value < 0))
        return false;
    for (int i = 0; i < DOUBLINGS; i++, s *= 2) {
        double value = excess(r, s);
        if (!isfinite(value))
            return false;
        if (value >= 0)
            return close_in(r, low, low_value, s, value);
        low = s;
        low_value = value;
    }
    return false;
}

nh_status nh_random_start(const nh_system *system, double t, double energy, uint64_t seed,
                          uint64_t item, const double *centre, double *q, double *v,
                          nh_report *report)
{
    if (!isfinite(energy))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the energy of random starts must be a finite number");
    size_t n = (size_t)system->coordinates, k = (size_t)system->velocities;
    double *space = malloc((n + k + 1) * sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    ray r = {system, t, energy, centre, space, space + n, q, v, false};
    bool found = false;
    for (uint32_t attempt = 0; attempt < ATTEMPTS && !found && !r.out_of_memory; attempt++) {
        nh_stream stream = {.seed = seed, .item = item, .attempt = attempt};
        draw(&r, &stream);
        found = find(&r);
    }
    free(space);
    if (r.out_of_memory)
        return nh_fail_memory(report);
    if (found)
        return nh_system_check_start(system, t, q, v, report);
    return nh_fail(
        report, NH_BAD_START,
        "%d random directions from the %s hold no state of energy %.10g that satisfies the "
        "constraints",
        ATTEMPTS, centre ? "start state" : "origin", energy);
}
