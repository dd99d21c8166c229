/* Errors as a function of the step size: the distance of the final state from a reference solution,
 * and its cost. The series of an outcome run over the steps: h, error, steps, evaluations (of
 * functions of the system, for the whole run), seconds. */
#include "figure/figure.h"
#include "analysis/cost.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"h", "error", "steps", "evaluations", "seconds"};
enum { H, ERROR, STEPS, EVALUATIONS, SECONDS, COLUMNS };

/* Measures one step size; NaN if the method fails. */
static void measure(const nh_convergence *c, nh_run_options *how, int64_t steps, double *value)
{
    double calls = NAN;
    how->step = value[H] = c->time / (double)steps;
    value[STEPS] = (double)steps;
    value[EVALUATIONS] = NAN;
    if (nh_convergence_error(c, how, steps, &value[ERROR], &value[SECONDS], NULL) == NH_OK &&
        nh_count_evaluations(c->system, how, c->t0, c->q0, c->v0, &calls, NULL) == NH_OK)
        value[EVALUATIONS] = calls * (double)steps;
}

static void all_sizes(const nh_convergence *c, nh_run_options *how, nh_outcome *out)
{
    int sizes = out->halvings + 1;
    double level[32], h[32], error[32];
    nh_point mark[32];
    int64_t steps = llround(c->time / out->step);
    steps = steps < 1 ? 1 : steps;
    for (int i = 0; i < sizes; i++, steps *= 2) {
        double value[COLUMNS];
        measure(c, how, steps, value);
        out->t[i] = h[i] = value[H];
        error[i] = value[ERROR];
        level[i] = nh_convergence_level(c, steps);
        for (int k = 0; k < COLUMNS; k++)
            out->data[k * sizes + i] = value[k];
    }
    out->order = nh_fit_order(h, error, level, sizes, mark);
}

nh_status nh_outcome_of_sizes(nh_outcome *out, const char *const *names, int count, int sizes)
{
    memcpy(out->name, names, (size_t)count * sizeof *names);
    out->names = count;
    out->points = sizes;
    out->members = 1;
    out->t = calloc((size_t)sizes, sizeof *out->t);
    out->data = calloc((size_t)sizes * (size_t)count, sizeof *out->data);
    return out->t && out->data ? NH_OK : nh_fail_memory(&out->report);
}

/* The first method of a case computes the reference; the others wait for it. */
static nh_status find_target(nh_target *target, const nh_system *system, double time,
                             const double *q, const double *v, nh_report *report)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!target->known) {
        const nh_convergence_options wanted = {
            .size = sizeof wanted, .time = time, .q = q, .v = v, .unscaled = true};
        target->known = true;
        target->status =
            nh_convergence_create(&target->reference, system, &wanted, &target->report);
    }
    pthread_mutex_unlock(&lock);
    if (target->status)
        *report = target->report;
    return target->status;
}

/* Every method has a system of its own: what is derived in a system first decides about the
 * rounding of what is derived later. */
nh_status nh_study_errors(nh_target *target, const nh_setup *setup, const nh_contestant *method,
                          const nh_system *system, double time, const double *q, const double *v,
                          nh_outcome *out)
{
    nh_run_options how = {.method = method->text,
                          .compose = method->compose ? method->compose : setup->compose,
                          .members = 1};
    nh_status status = nh_outcome_of_sizes(out, columns, COLUMNS, out->halvings + 1);
    if (status == NH_OK)
        status = find_target(target, system, time, q, v, &out->report);
    if (status == NH_OK) {
        nh_convergence own = *target->reference;
        own.system = system;
        all_sizes(&own, &how, out);
    }
    return status;
}
