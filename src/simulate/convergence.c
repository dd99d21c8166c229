/* How the error at the end of a motion depends on the step: see nh_convergence. */
#include <nonholo_analysis.h>

#include "analysis/sizes.h"
#include "base/clock.h"
#include "base/option_struct.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ON_THE_WAY = 16, TIMED_MOST = 9, FIRST_PIECE = 64 };
static const double usual_tolerance = 1e-13, timed_long = 0.02; /* seconds */

/* The largest component of a state, or of its difference from another one, in their units. */
static double largest(const nh_convergence *c, const double *state, const double *from)
{
    double found = 0;
    for (int i = 0; i < c->coordinates + c->velocities; i++)
        if (c->scales[i] > 0)
            found = fmax(found, fabs(from ? state[i] - from[i] : state[i]) / c->scales[i]);
    return found;
}

/* How far the motion goes, from intermediate states. */
static nh_status follow_motion(const nh_convergence *c, double *state, nh_report *report)
{
    const int n = c->coordinates, width = n + c->velocities;
    nh_run *run;
    const nh_run_options how = {.method = "reference", .step = c->time / ON_THE_WAY};
    nh_status status = nh_run_create(&run, c->system, &how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, c->t0, c->q0, c->v0, report);
    for (int k = 0; k <= ON_THE_WAY && status == NH_OK; k++) {
        nh_run_state(run, 0, NULL, state, state + n);
        for (int i = 0; i < width; i++)
            c->scales[i] = fmax(c->scales[i], fabs(i < n ? state[i] - c->q0[i] : state[i]));
        status = k < ON_THE_WAY ? nh_run_advance(run, 1, report) : NH_OK;
    }
    nh_run_free(run);
    return status;
}

static nh_status find_scales(nh_convergence *c, nh_report *report)
{
    const int n = c->coordinates, width = n + c->velocities;
    double *state = calloc((size_t)width + 1, sizeof *state);
    if (!state)
        return nh_fail_memory(report);
    if (follow_motion(c, state, NULL) != NH_OK) /* then from its beginning to its end */
        for (int i = 0; i < width; i++)
            c->scales[i] =
                i < n ? fabs(c->q[i] - c->q0[i]) : fmax(fabs(c->q[i]), fabs(c->v0[i - n]));
    free(state);
    return nh_system_motion_scales(c->system, c->t0, c->q0, c->v0, c->scales, report);
}

static nh_status prepare(nh_convergence *c, const nh_convergence_options *o, nh_report *report)
{
    const int width = c->coordinates + c->velocities;
    const double tolerance = o->tolerance > 0 ? o->tolerance : usual_tolerance;
    nh_status status = nh_system_check_start(c->system, c->t0, c->q0, c->v0, report);
    if (status == NH_OK)
        status = nh_reference(c->system, c->t0, c->q0, c->v0, c->t0 + c->time, tolerance, c->q,
                              c->v, &c->accuracy, report);
    if (status == NH_OK && !o->unscaled)
        status = find_scales(c, report);
    for (int i = 0; i < width && o->unscaled; i++)
        c->scales[i] = 1;
    c->scale = fmax(o->unscaled ? 0 : 1, largest(c, c->q, NULL));
    return status;
}

nh_status nh_convergence_create(nh_convergence **out, const nh_system *system,
                                const nh_convergence_options *options, nh_report *report)
{
    nh_convergence_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_convergence_options, unscaled, report);
    if (status == NH_OK && (!system || !o.q || !o.v || !(o.time > 0)))
        status = nh_fail(report, NH_BAD_ARGUMENT,
                         "convergence is measured after some time from a "
                         "start, q and v, of a system");
    if (status != NH_OK)
        return status;
    const size_t n = (size_t)nh_system_coordinates(system),
                 k = (size_t)nh_system_velocities(system);
    nh_convergence *c = calloc(1, sizeof *c);
    double *room = calloc(3 * (n + k) + 1, sizeof *room);
    if (!c || !room) {
        free(room);
        free(c);
        return nh_fail_memory(report);
    }
    *c = (nh_convergence){.system = system,
                          .coordinates = (int)n,
                          .velocities = (int)k,
                          .t0 = o.t0,
                          .time = o.time,
                          .q0 = room,
                          .v0 = room + n,
                          .q = room + n + k,
                          .v = room + 2 * n + k,
                          .scales = room + 2 * (n + k)};
    memcpy(room, o.q, n * sizeof *room);
    memcpy(room + n, o.v, k * sizeof *room);
    status = prepare(c, &o, report);
    if (status == NH_OK)
        *out = c;
    else
        nh_convergence_free(c);
    return status;
}

void nh_convergence_free(nh_convergence *c)
{
    if (c)
        free((double *)c->q0);
    free(c);
}

/* The least time of several runs: disturbances only add time. */
static double time_again(const nh_convergence *c, nh_run *run, int64_t steps)
{
    double least = nh_run_seconds(run), total = least;
    for (int i = 0; i < TIMED_MOST && total < timed_long; i++) {
        if (nh_run_start(run, 0, c->t0, c->q0, c->v0, NULL) != NH_OK ||
            nh_run_advance(run, steps, NULL) != NH_OK)
            break;
        least = fmin(least, nh_run_seconds(run) - total);
        total = nh_run_seconds(run);
    }
    return least;
}

/* In pieces of about a twentieth of a second, so that it can be stopped. */
static nh_status advance(nh_run *run, const nh_run_options *how, int64_t steps, nh_report *report)
{
    nh_status status = NH_OK;
    int64_t piece = FIRST_PIECE;
    for (int64_t left = steps; left > 0 && status == NH_OK;) {
        const int64_t now = left < piece ? left : piece;
        const double begun = nh_clock_seconds();
        status = nh_run_advance(run, now, report);
        left -= now;
        if (status == NH_OK && how->stop && how->stop(how->user) != 0)
            status = nh_fail(report, NH_CALLBACK_STOPPED, "stopped");
        piece = nh_clock_seconds() - begun < 0.05 ? 2 * now : now;
    }
    return status;
}

nh_status nh_convergence_error(const nh_convergence *c, const nh_run_options *how, int64_t steps,
                               double *error, double *seconds, nh_report *report)
{
    nh_run_options options;
    nh_run *run = NULL;
    double *end = calloc((size_t)(c->coordinates + c->velocities) + 1, sizeof *end);
    nh_status status = NH_OPTIONS_TAKE(&options, how, nh_run_options, v, report);
    options.step = c->time / (double)steps;
    options.steps = steps;
    if (status == NH_OK)
        status = end ? nh_run_create(&run, c->system, &options, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, c->t0, c->q0, c->v0, report);
    if (status == NH_OK)
        status = advance(run, &options, steps, report);
    if (status == NH_OK)
        nh_run_state(run, 0, NULL, end, end + c->coordinates);
    *error = status == NH_OK ? largest(c, end, c->q) : NAN;
    if (seconds)
        *seconds = status == NH_OK ? time_again(c, run, steps) : NAN;
    nh_run_free(run);
    free(end);
    return status;
}

double nh_convergence_level(const nh_convergence *c, int64_t steps)
{
    return c->scale * fmax(c->accuracy.error, DBL_EPSILON / 2 * sqrt((double)steps));
}
