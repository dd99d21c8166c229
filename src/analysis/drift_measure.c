/* The drift of the passengers' energy in a run: the slope of its change, beside that of the change
 * that a law predicts, fitted to the same times. */
#include <nonholo_analysis.h>

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 60000 };

typedef struct record {
    const nh_system *system;
    int energy, coordinates, width;
    double *values, *t, *change;
    int64_t points;
    double start, begin;
} record;

static int find_energy(const nh_system *system)
{
    for (int i = 0; i < nh_system_integrals(system); i++)
        if (strcmp(nh_system_integral_name(system, i), "passenger energy") == 0)
            return i;
    return -1;
}

static nh_status take_samples(void *user, const nh_samples *samples, nh_report *report)
{
    record *r = user;
    nh_status status = NH_OK;
    for (int64_t i = 0; i < samples->count && status == NH_OK && r->points < POINTS_MAX; i++) {
        const double *row = samples->row + i * r->width;
        status = nh_system_integral_values(r->system, row[0], samples->wrapped + i * r->coordinates,
                                           row + 1 + r->coordinates, r->values, report);
        if (r->points == 0)
            r->start = r->values[r->energy];
        r->t[r->points] = row[0] - r->begin;
        r->change[r->points++] = r->values[r->energy] - r->start;
    }
    return status;
}

static nh_status follow(record *r, const nh_run_options *how, double t, const double *q,
                        const double *v, nh_report *report)
{
    nh_run *run;
    nh_sample_options wanted = {.steps = how->steps,
                                .every = how->steps / (POINTS_MAX - 2) + 1,
                                .first = true,
                                .user = r,
                                .samples = take_samples};
    nh_status status = nh_run_create(&run, r->system, how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, t, q, v, report);
    if (status == NH_OK)
        status = nh_run_sample(run, &wanted, report);
    nh_run_free(run);
    return status;
}

nh_status nh_drift_measure(nh_drift_rate *out, const nh_system *system, const nh_run_options *how,
                           double t, const double *q, const double *v, const nh_drift_law *law,
                           nh_report *report)
{
    record r = {.system = system,
                .energy = find_energy(system),
                .coordinates = nh_system_coordinates(system),
                .begin = t};
    r.width = 1 + r.coordinates + nh_system_velocities(system);
    *out = (nh_drift_rate){NAN, NAN, NAN};
    if (r.energy < 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s does not conserve the energy of its passengers, whose drift could be "
                       "measured",
                       nh_system_name(system));
    r.values = calloc((size_t)nh_system_integrals(system) + 2 * POINTS_MAX, sizeof *r.values);
    if (!r.values)
        return nh_fail_memory(report);
    r.t = r.values + nh_system_integrals(system);
    r.change = r.t + POINTS_MAX;
    nh_status status = follow(&r, how, t, q, v, report);
    if (status == NH_OK) {
        const nh_line fitted = nh_fit_slope(r.t, r.change, r.points);
        out->measured = fitted.slope;
        out->error = fitted.slope_error;
        for (int64_t i = 0; i < r.points && law; i++)
            r.change[i] = nh_drift_change(law, how->step, r.t[i]);
        out->predicted = law ? nh_fit_slope(r.t, r.change, r.points).slope : NAN;
    }
    free(r.values);
    return status;
}
