/* Errors as a function of the step size: the distance of the final state from a reference solution,
 * and its cost. The series of an outcome run over the steps: h, error, steps, evaluations (of
 * functions of the system, for the whole run), seconds. */
#include "figure/figure.h"
#include "analysis/cost.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    const nh_contestant *method;
    const char *compose;
    const nh_system *system;
    const double *q, *v;
    double time;
    const double *q1, *v1; /* the reference's end */
    double *at;            /* room for a state */
    int n, nv;
    double scale;
} trial;

static const char *const columns[] = {"h", "error", "steps", "evaluations", "seconds"};
enum { H, ERROR, STEPS, EVALUATIONS, SECONDS, COLUMNS };

static double largest(const double *a, const double *b, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(b ? a[i] - b[i] : a[i]));
    return most;
}

/* The least time of several runs: disturbances only add time. */
static double time_again(const trial *t, nh_run *run, int64_t steps)
{
    double least = nh_run_seconds(run), total = least;
    for (int i = 0; i < 9 && total < 0.02; i++) {
        if (nh_run_start(run, 0, 0, t->q, t->v, NULL) != NH_OK ||
            nh_run_advance(run, steps, NULL) != NH_OK)
            break;
        least = fmin(least, nh_run_seconds(run) - total);
        total = nh_run_seconds(run);
    }
    return least;
}

/* Measures one step size; NaN if the method fails. */
static void measure(const trial *t, double h, int64_t steps, double *value)
{
    nh_run *run;
    nh_run_options options = {
        .method = t->method->text, .compose = t->compose, .step = h, .steps = steps, .members = 1};
    double calls = NAN;
    nh_status status = nh_run_create(&run, t->system, &options, NULL);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, t->q, t->v, NULL);
    if (status == NH_OK)
        status = nh_run_advance(run, steps, NULL);
    value[H] = h;
    value[STEPS] = (double)steps;
    value[ERROR] = value[EVALUATIONS] = value[SECONDS] = NAN;
    if (status == NH_OK) {
        nh_run_state(run, 0, NULL, t->at, t->at + t->n);
        value[ERROR] = fmax(largest(t->at, t->q1, t->n), largest(t->at + t->n, t->v1, t->nv));
        value[SECONDS] = time_again(t, run, steps);
        if (nh_count_evaluations(t->system, &options, 0, t->q, t->v, &calls, NULL) == NH_OK)
            value[EVALUATIONS] = calls * (double)steps;
    }
    nh_run_free(run);
}

static nh_status all_sizes(const trial *t, double accuracy, nh_outcome *out)
{
    int sizes = out->halvings + 1;
    double level[32], h[32], error[32];
    nh_point mark[32];
    int64_t steps = llround(t->time / out->step);
    steps = steps < 1 ? 1 : steps;
    for (int i = 0; i < sizes; i++, steps *= 2) {
        double value[COLUMNS];
        measure(t, t->time / (double)steps, steps, value);
        out->t[i] = h[i] = value[H];
        error[i] = value[ERROR];
        level[i] = t->scale * fmax(accuracy, DBL_EPSILON / 2 * sqrt((double)steps));
        for (int c = 0; c < COLUMNS; c++)
            out->data[c * sizes + i] = value[c];
    }
    out->order = nh_fit_order(h, error, level, sizes, mark);
    return NH_OK;
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
static nh_status find_target(nh_target *target, const trial *t, nh_report *report)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!target->known) {
        target->known = true;
        target->state = calloc((size_t)(t->n + t->nv) + 1, sizeof *target->state);
        target->status =
            target->state ? nh_reference(t->system, 0, t->q, t->v, t->time, 1e-13, target->state,
                                         target->state + t->n, &target->accuracy, &target->report)
                          : nh_fail_memory(&target->report);
    }
    pthread_mutex_unlock(&lock);
    if (target->status)
        *report = target->report;
    return target->status;
}

nh_status nh_study_errors(nh_target *target, const nh_setup *setup, const nh_contestant *method,
                          const nh_system *system, double time, const double *q, const double *v,
                          nh_outcome *out)
{
    trial t = {.method = method, .system = system, .q = q, .v = v, .time = time};
    t.compose = method->compose ? method->compose : setup->compose;
    t.n = nh_system_coordinates(system);
    t.nv = nh_system_velocities(system);
    t.at = calloc((size_t)(t.n + t.nv) + 1, sizeof *t.at);
    if (!t.at)
        return nh_fail_memory(&out->report);
    nh_status status = nh_outcome_of_sizes(out, columns, COLUMNS, out->halvings + 1);
    if (status == NH_OK)
        status = find_target(target, &t, &out->report);
    if (status == NH_OK) {
        t.q1 = target->state;
        t.v1 = t.q1 + t.n;
        t.scale = fmax(largest(t.q1, NULL, t.n), largest(t.v1, NULL, t.nv));
        status = all_sizes(&t, target->accuracy.error, out);
    }
    free(t.at);
    return status;
}
