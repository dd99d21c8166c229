/* A reference solution: the Gauss method with 8 stages (order 16), the number of steps doubled
 * until two successive solutions agree.
 *
 * Before round-off dominates, each doubling divides the difference by up to 65536, so the finer of
 * two solutions that agree is far more accurate than their difference. At round-off level the
 * differences stop decreasing; then the best pair is taken, and its difference is the error
 * estimate. */
#include <nonholo_analysis.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "system/attitude.h"

#define METHOD "gauss:stages=8"
enum { FIRST_STEPS = 4, DOUBLINGS = 18, PATIENCE = 3 };
static const int64_t steps_max = INT64_C(1) << 24;
static const double first_step = 0.5; /* at most, of the time in which velocities change */
static const double first_steps_most = 65536;
static const double trusted = 1e-6; /* a relative difference too small to be chance */

typedef struct attempt {
    double *q, *v; /* end state */
    int64_t steps;
    double difference; /* from the previous attempt, relative */
} attempt;

typedef struct errand {
    const nh_system *system;
    double t0, t1;
    const double *q, *v;
    int coordinates, velocities;
    /* sqrt(M_ii), which gives all components the same unit: for positions, and for velocities as
     * users see them */
    double *weight, *weight_v;
} errand;

/* Runs from the start to the end in `steps` steps. */
static nh_status solve(const errand *task, attempt *out, int64_t steps, nh_report *report)
{
    nh_run *run;
    nh_run_options options = {.method = METHOD,
                              .step = (task->t1 - task->t0) / (double)steps,
                              .steps = steps,
                              .members = 1,
                              .compensated = NH_ON};
    nh_status status = nh_run_create(&run, task->system, &options, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, task->t0, task->q, task->v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, steps, report);
    if (status == NH_OK)
        nh_run_state(run, 0, NULL, out->q, out->v);
    out->steps = steps;
    nh_run_free(run);
    return status;
}

/* ---- sizes that do not depend on units ---- */

enum { WEIGHED_MOST = 1000 }; /* velocities; with more, the mass matrix would be too large */

static nh_status find_weights(errand *task, nh_report *report)
{
    size_t n = (size_t)task->system->velocities, m = (size_t)nh_system_constraints(task->system);
    bool weighed = n <= WEIGHED_MOST;
    double *M = malloc((weighed ? n * n + n * m : 1) * sizeof *M), *own = NULL;
    const double *inner = M ? nh_inner_copy(task->system, task->q, task->v, &own, report) : NULL;
    nh_status status = !M ? nh_fail_memory(report) : inner ? NH_OK : NH_NO_MEMORY;
    if (status == NH_OK && weighed)
        status = nh_system_evaluate(task->system, NH_FN_MATRICES, task->t0, task->q, inner, NULL, M,
                                    report);
    for (size_t i = 0; status == NH_OK && i < n; i++) {
        double size = 0; /* that of the row, if the diagonal is zero */
        for (size_t j = 0; weighed && j < n; j++)
            size = fmax(size, fabs(M[i * n + j]));
        if (weighed && M[i * n + i] != 0)
            size = fabs(M[i * n + i]);
        task->weight[i] = size > 0 && isfinite(size) ? sqrt(size) : 1;
    }
    for (int i = 0; status == NH_OK && i < task->velocities; i++)
        task->weight_v[i] = task->weight[nh_inner_index(task->system, i)];
    free(own);
    free(M);
    return status;
}

/* The largest weighted |a_i - b_i|; b may be NULL. */
static double largest(const double *weight, const double *a, const double *b, int count)
{
    double found = 0;
    for (int i = 0; i < count; i++)
        found = fmax(found, weight[i] * fabs(a[i] - (b ? b[i] : 0)));
    return found;
}

/* Velocities are compared with velocities and with path over time; positions with positions and the
 * path. */
static double relative_difference(const errand *task, const attempt *a, const attempt *b)
{
    double time = task->t1 - task->t0;
    int n = task->coordinates, k = task->velocities;
    const double *w = task->weight, *u = task->weight_v;
    double speed = fmax(fmax(largest(u, a->v, NULL, k), largest(u, task->v, NULL, k)),
                        largest(w, a->q, task->q, n) / time);
    double place = fmax(largest(w, a->q, NULL, n), time * speed);
    double in_q = largest(w, a->q, b->q, n), in_v = largest(u, a->v, b->v, k);
    return fmax(in_q > 0 ? in_q / place : 0, in_v > 0 ? in_v / speed : 0);
}

/* So many that the velocity changes little within one. */
static double first_steps(const errand *task)
{
    const double *w = task->weight_v;
    double speed = largest(w, task->v, NULL, task->velocities), steps = 16 * FIRST_STEPS;
    double *rate = malloc(((size_t)task->velocities + 1) * sizeof *rate);
    if (rate && speed > 0 &&
        nh_system_acceleration(task->system, task->t0, task->q, task->v, rate, NULL, NULL) == NH_OK)
        steps =
            (task->t1 - task->t0) * largest(w, rate, NULL, task->velocities) / speed / first_step;
    free(rate);
    return fmin(fmax(FIRST_STEPS, ceil(steps)), first_steps_most);
}

static void copy_attempt(const errand *task, attempt *to, const attempt *from)
{
    memcpy(to->q, from->q, (size_t)task->coordinates * sizeof(double));
    memcpy(to->v, from->v, (size_t)task->velocities * sizeof(double));
    to->steps = from->steps;
    to->difference = from->difference;
}

/* A step too long for its equations to be solved is not yet a failure: shorter ones follow. */
static bool may_get_better(nh_status status)
{
    return status == NH_NOT_CONVERGED || status == NH_NOT_FINITE || status == NH_SINGULAR_MASS ||
           status == NH_DEPENDENT_CONSTRAINTS;
}

/* Doubles the number of steps until the best of three attempts is accurate; `now` and `before`
 * alternate. */
static nh_status refine(const errand *task, attempt *best, attempt *now, attempt *before,
                        double tolerance, nh_report *report)
{
    int64_t steps = (int64_t)first_steps(task);
    int without_gain = 0;
    nh_status status = NH_OK;
    before->steps = 0;
    best->difference = INFINITY;
    for (int i = 0; i < DOUBLINGS && steps <= steps_max && without_gain < PATIENCE; i++) {
        status = solve(task, now, steps, report);
        if (status != NH_OK && !may_get_better(status))
            return status;
        now->difference = status == NH_OK && before->steps > 0
                              ? relative_difference(task, now, before)
                              : INFINITY;
        bool gain = now->difference < best->difference / 4;
        if (now->difference < best->difference)
            copy_attempt(task, best, now);
        if (best->difference <= tolerance || (best->difference < trusted && !gain))
            return NH_OK;
        without_gain = isfinite(best->difference) && !gain ? without_gain + 1 : 0;
        if (status == NH_OK)
            copy_attempt(task, before, now);
        steps *= 2;
    }
    if (best->difference < trusted)
        return NH_OK;
    return status != NH_OK ? status : NH_NOT_CONVERGED;
}

static nh_status complain(const errand *task, const attempt *best, nh_status status,
                          nh_report *report)
{
    if (status != NH_NOT_CONVERGED || !isfinite(best->difference))
        return status; /* the run has reported it */
    nh_fail(report, status,
            "no reference solution to t = %.10g was found: halving the step still changes it by "
            "%.2g; if the motion is chaotic, try a shorter time",
            task->t1, best->difference);
    if (report)
        report->residual = best->difference;
    return nh_fail_about(report, status, "time");
}

nh_status nh_reference(const nh_system *system, double t0, const double *q, const double *v,
                       double t1, double tolerance, double *q1, double *v1, nh_accuracy *accuracy,
                       nh_report *report)
{
    errand task = {
        system, t0,  t1, q, v, nh_system_coordinates(system), nh_system_velocities(system),
        NULL,   NULL};
    if (!(t1 > t0) || !isfinite(t1 - t0))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a reference solution must go forward in time, not from %g to %g", t0, t1);
    size_t size = (size_t)task.coordinates + (size_t)task.velocities;
    size_t weights = (size_t)task.velocities + (size_t)system->velocities;
    double *space = calloc(2 * size + weights + 1, sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    task.weight = space + 2 * size;
    task.weight_v = task.weight + system->velocities;
    attempt best = {.q = q1, .v = v1}, now = {.q = space, .v = space + task.coordinates};
    attempt before = {.q = space + size, .v = space + size + task.coordinates};
    nh_status status = find_weights(&task, report);
    if (status == NH_OK)
        status = refine(&task, &best, &now, &before, fmax(tolerance, DBL_EPSILON), report);
    if (status != NH_OK)
        status = complain(&task, &best, status, report);
    else if (accuracy)
        *accuracy = (nh_accuracy){.error = fmax(best.difference, DBL_EPSILON),
                                  .steps = best.steps,
                                  .reached = best.difference <= tolerance};
    free(space);
    return status;
}

const char *nh_reference_method(void)
{
    return METHOD;
}
