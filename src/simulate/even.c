/* Steps for motions in which nothing accelerates: see even.h. */
#include "simulate/even.h"

#include <nonholo_analysis.h>

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Times the rate at which accelerations change with the state: errors of order 8 are 1e-11 then. */
static const double steps_per_rate = 0.1;

static double largest_of(size_t count, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

nh_status nh_even_step(const nh_system *system, double t, const double *q, const double *v,
                       double *step, nh_report *report)
{
    nh_dynamics *d;
    *step = 0;
    nh_status status = nh_dynamics_create(&d, system, report);
    if (status != NH_OK)
        return status;
    const size_t k = (size_t)nh_system_velocities(system),
                 positions = (size_t)nh_dynamics_positions(d);
    const nh_states at = {1, &t, q, v, NULL};
    double *a = malloc((k + k * positions + k * k + 1) * sizeof *a), *by_q = a + k,
           *by_v = by_q + k * positions;
    status = a ? nh_dynamics_acceleration(d, &at, a, NULL, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_dynamics_jacobian(d, &at, by_q, by_v, NULL, report);
    if (status == NH_OK) {
        const double rate = fmax(sqrt(largest_of(k * positions, by_q)), largest_of(k * k, by_v));
        if (rate > 0 && largest_of(k, a) <= 1e-12 * rate * largest_of(k, v))
            *step = steps_per_rate / rate;
    }
    free(a);
    nh_dynamics_free(d);
    return status;
}
