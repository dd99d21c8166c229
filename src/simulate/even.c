/* Steps for motions in which nothing accelerates: see even.h. */
#include "simulate/even.h"

#include <nonholo_analysis.h>

#include "base/status.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times the rate at which accelerations change with the state: errors of order 8 are 1e-13 then. */
static const double steps_per_rate = 0.05;
/* Of a system that depends on time, how many times are looked at. */
enum { TIMES = 64 };

static double largest_of(size_t count, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* The largest acceleration in some states, and the largest rate at which it changes. */
static nh_status survey(const nh_system *system, const nh_states *at, double *most, double *rate,
                        nh_report *report)
{
    nh_dynamics *d;
    nh_status status = nh_dynamics_create(&d, system, report);
    if (status != NH_OK)
        return status;
    const size_t k = (size_t)nh_system_velocities(system), count = (size_t)at->count,
                 by_q_size = count * k * (size_t)nh_dynamics_positions(d);
    double *a = malloc((count * (k + k * k) + by_q_size + 1) * sizeof *a), *by_v = a + count * k,
           *by_q = by_v + count * k * k;
    status = a ? nh_dynamics_acceleration(d, at, a, NULL, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_dynamics_jacobian(d, at, by_q, by_v, NULL, report);
    if (status == NH_OK) {
        *most = largest_of(count * k, a);
        *rate = fmax(sqrt(largest_of(by_q_size, by_q)), largest_of(count * k * k, by_v));
    }
    free(a);
    nh_dynamics_free(d);
    return status;
}

nh_status nh_even_step(const nh_system *system, double t, double time, const double *q,
                       const double *v, double *step, nh_report *report)
{
    const size_t n = (size_t)nh_system_coordinates(system),
                 k = (size_t)nh_system_velocities(system);
    const int count = nh_mechanics_uses_time(system->mechanics) ? TIMES : 1;
    double most = 0, rate = 0;
    double *room = malloc(TIMES * (n + k + 1) * sizeof *room);
    *step = 0;
    if (!room)
        return nh_fail_memory(report);
    for (int i = 0; i < count; i++) {
        room[i] = t + i * time / count;
        memcpy(room + TIMES + (size_t)i * n, q, n * sizeof *q);
        memcpy(room + TIMES * (1 + n) + (size_t)i * k, v, k * sizeof *v);
    }
    const nh_states at = {count, room, room + TIMES, room + TIMES * (1 + n), NULL};
    const nh_status status = survey(system, &at, &most, &rate, report);
    if (status == NH_OK && rate > 0 && most <= 1e-12 * rate * largest_of(k, v))
        *step = steps_per_rate / rate;
    free(room);
    return status;
}
