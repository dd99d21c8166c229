/* Reversibility: a symmetric method on a reversible system returns to its start when the velocities
 * are reversed. The reversibility defect of a method measures by how much it misses the start. */
#include <nonholo_analysis.h>

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

static nh_status go(const nh_system *system, const nh_run_options *options, int64_t steps, double t,
                    const double *q, const double *v, double *q1, double *v1, nh_report *report)
{
    nh_run *run;
    nh_status status = nh_run_create(&run, system, options, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, t, q, v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, steps, report);
    if (status == NH_OK)
        nh_run_state(run, 0, NULL, q1, v1);
    nh_run_free(run);
    return status;
}

static double difference(const double *a, const double *b, double sign, int count,
                         const double *scale)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (scale[i] > 0)
            most = fmax(most, fabs(a[i] - sign * b[i]) / scale[i]);
    return most;
}

/* Scales from the motion between the start and the point where the run turns back. */
static nh_status find_scales(const nh_system *system, double t, const double *q, const double *v,
                             const double *q1, const double *v1, double *scale, nh_report *report)
{
    int n = nh_system_coordinates(system), nv = nh_system_velocities(system);
    for (int i = 0; i < n; i++)
        scale[i] = fmax(fabs(q1[i] - q[i]), fabs(q[i]));
    for (int i = 0; i < nv; i++)
        scale[n + i] = fmax(fabs(v1[i]), fabs(v[i]));
    return nh_system_motion_scales(system, t, q, v, scale, report);
}

nh_status nh_reversibility_defect(const nh_system *system, const nh_run_options *options,
                                  int64_t steps, double t, const double *q, const double *v,
                                  double *defect, nh_report *report)
{
    int n = nh_system_coordinates(system), nv = nh_system_velocities(system);
    double *q1 = calloc(2 * (size_t)(n + nv) + 1, sizeof *q1), *v1 = q1 + n, *scale = v1 + nv;
    if (!q1)
        return nh_fail_memory(report);
    if (!nh_system_facts(system)->autonomous) {
        free(q1);
        return nh_fail(report, NH_NOT_APPLICABLE, "%s depends on time: it cannot be run backwards",
                       nh_system_name(system));
    }
    nh_status status = go(system, options, steps, t, q, v, q1, v1, report);
    for (int i = 0; i < nv; i++)
        v1[i] = -v1[i];
    if (status == NH_OK)
        status = find_scales(system, t, q, v, q1, v1, scale, report);
    if (status == NH_OK) /* a method may have left the constraints, and a run cannot start there */
        status = nh_system_project(system, t, q1, v1, report);
    if (status == NH_OK)
        status = go(system, options, steps, t, q1, v1, q1, v1, report);
    if (status == NH_OK)
        *defect = fmax(difference(q, q1, 1, n, scale), difference(v, v1, -1, nv, scale + n));
    free(q1);
    return status;
}
