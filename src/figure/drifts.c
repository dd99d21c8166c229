/* The drift of the passengers' energy as a function of the step size, measured and predicted. The
 * series of an outcome run over the steps: h, steps, drift_rate (the slope of the energy),
 * predicted_rate, rate_ratio. */
#include "figure/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static const char *const columns[] = {"h", "steps", "drift_rate", "predicted_rate", "rate_ratio"};
enum { H, STEPS, RATE, PREDICTED, RATIO, COLUMNS };

bool nh_wants_drifts(const nh_outcome *out)
{
    return nh_outcome_find(out, columns[RATE]) >= 0 ||
           nh_outcome_find(out, columns[PREDICTED]) >= 0 ||
           nh_outcome_find(out, columns[RATIO]) >= 0;
}

nh_status nh_study_drifts(const nh_setup *setup, const nh_contestant *method,
                          const nh_system *system, double time, const double *q, const double *v,
                          nh_outcome *out)
{
    const char *compose = method->compose ? method->compose : setup->compose;
    const int sizes = out->halvings + 1;
    nh_drift *drift = NULL;
    nh_drift_law law;
    bool known = !compose && nh_drift_create(&drift, system, q, v, NULL) == NH_OK &&
                 nh_drift_law_of(&law, drift, method->text, NULL) == NH_OK;
    nh_status status = nh_outcome_of_sizes(out, columns, COLUMNS, sizes);
    int64_t steps = llround(time / out->step);
    steps = steps < 1 ? 1 : steps;
    for (int i = 0; i < sizes && status == NH_OK; i++, steps *= 2) {
        const nh_run_options how = {.method = method->text,
                                    .compose = compose,
                                    .step = time / (double)steps,
                                    .steps = steps,
                                    .members = 1};
        nh_drift_rate rate;
        status = nh_drift_measure(&rate, system, &how, 0, q, v, known ? &law : NULL, &out->report);
        const double value[COLUMNS] = {how.step, (double)steps, rate.measured, rate.predicted,
                                       rate.measured / rate.predicted};
        out->t[i] = how.step;
        for (int c = 0; c < COLUMNS; c++)
            out->data[c * sizes + i] = value[c];
    }
    nh_drift_free(drift);
    return status;
}
