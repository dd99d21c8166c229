/* The cost of a step: the number of evaluations of functions of the system. */
#include <nonholo_analysis.h>

#include "analysis/cost.h"

#include "run/run.h"

enum { WARM_UP = 4, COUNTED = 16 }; /* steps; implicit methods extrapolate from the ones before */

typedef struct counter { /* sits between the kernel and what it calls, and counts */
    nh_call_fn *call[NH_FN_COUNT];
    const void *self;
    int64_t *count;
} counter;

static int count_call(const void *self, int fn, double t, const void *q, const void *v,
                      const void *x, void *out, const void *u)
{
    const counter *c = self;
    ++*c->count;
    return c->call[fn](c->self, fn, t, q, v, x, out, u);
}

nh_status nh_count_evaluations(const nh_system *system, const nh_run_options *wanted, double t,
                               const double *q, const double *v, double *per_step,
                               nh_report *report)
{
    nh_run *run;
    nh_run_options options = *wanted;
    options.backend = NH_BACKEND_TAPE;
    options.members = 1;
    nh_status status = nh_run_create(&run, system, &options, report);
    if (status == NH_OK) {
        run->unwatched = true; /* only the method's own evaluations are counted */
        status = nh_run_start(run, 0, t, q, v, report);
    }
    if (status == NH_OK)
        status = nh_run_advance(run, WARM_UP, report);
    if (status == NH_OK) {
        int64_t count = 0;
        counter c = {.self = run->engines->careful.self, .count = &count};
        for (int fn = 0; fn < NH_FN_COUNT; fn++) {
            c.call[fn] = run->engines->careful.call[fn];
            run->engines->careful.call[fn] = count_call;
        }
        for (int fn = NH_FN_COUNT; fn < NH_CALLS; fn++) /* these are several evaluations */
            run->engines->careful.call[fn] = NULL;
        run->engines->careful.self = &c;
        status = nh_run_advance(run, COUNTED, report);
        *per_step = (double)count / COUNTED;
    }
    nh_run_free(run);
    return status;
}

nh_status nh_evaluations(const nh_system *system, const char *method, double step, double t,
                         const double *q, const double *v, double *per_step, nh_report *report)
{
    nh_run_options options = {.method = method, .step = step};
    return nh_count_evaluations(system, &options, t, q, v, per_step, report);
}
