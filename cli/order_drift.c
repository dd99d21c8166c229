/* nonholo order --drift: how fast methods let the energy of the passengers of a coupled system
 * drift, as predicted by the theory and as measured over many periods of the driver. Both are
 * slopes of the same kind, fitted to the energy at the same times. */
#include "order_drift.h"

#include <nonholo_analysis.h>

#include "command.h"
#include "json.h"
#include "message.h"
#include "method_list.h"
#include "order_report.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIODS = 1000, STEPS_PER_PERIOD = 25, DRIFT_HALVINGS = 4 };

/* Where no methods are named: those with a formula. */
static const char *const with_formula[] = {"dla",
                                           "dla:alpha=0.49",
                                           "dla:alpha=0.51",
                                           "dla01",
                                           "gauss:stages=1",
                                           "gauss:stages=2",
                                           "newmark",
                                           "newmark:beta=0.1",
                                           "newmark:beta=0.3",
                                           "newmark:constraint=average",
                                           "newmark:beta=0.1,constraint=average",
                                           "newmark:beta=0.01,beta2=0",
                                           "newmark-pair",
                                           "lobatto-ab",
                                           "lobatto-ab-midpoint",
                                           "lobatto-abd",
                                           "lobatto-ad",
                                           "lobatto-d",
                                           "shifted",
                                           "shifted:force=5/24",
                                           "shifted:reaction=0.2",
                                           "staggered",
                                           "staggered:passengers=whole",
                                           "leapfrog",
                                           "avf-p",
                                           "dd",
                                           NULL};

typedef struct line {
    const candidate *method;
    nh_drift_law law;
    bool has_law;
    double predicted[STEP_SIZES_MAX], measured[STEP_SIZES_MAX], error[STEP_SIZES_MAX];
    char failure[160];
} line;

typedef struct drifts {
    subject subject;
    candidate *methods;
    int count, sizes;
    int64_t steps[STEP_SIZES_MAX];
    double h[STEP_SIZES_MAX], time;
    nh_drift *drift;
    line *lines;
    bool no_memory; /* for some run */
} drifts;

/* ---- steps --------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, at most x. */
static double round_number(double x)
{
    const double power = pow(10, floor(log10(x))), head = x / power;
    return power * (head >= 5 ? 5 : head >= 2 ? 2 : 1);
}

static int list_steps(drifts *d, const options *given)
{
    const double period = nh_drift_period(d->drift);
    d->time = isnan(given->time) ? PERIODS * period : given->time;
    double step = isnan(given->step) ? round_number(period / STEPS_PER_PERIOD) : given->step;
    if (given->steps_list && (!isnan(given->step) || given->halvings >= 0))
        return complain("order takes either --steps-list or --step and --halvings, not both");
    if (given->steps_list) {
        d->sizes = parse_steps_list(given->steps_list, STEP_SIZES_MAX, d->steps);
        if (d->sizes < 0)
            return BAD_USAGE;
        for (int i = 0; i < d->sizes; i++)
            d->h[i] = d->time / (double)d->steps[i];
        return 0;
    }
    if (step > d->time)
        return complain("--step %.10g is longer than --time %.10g", step, d->time);
    d->sizes = 1 + (int)(given->halvings >= 0 ? given->halvings : DRIFT_HALVINGS);
    if (ldexp(d->time / step, d->sizes - 1) > 1e9)
        return complain("--time %.10g needs too many steps of %.10g", d->time,
                        ldexp(step, 1 - d->sizes));
    for (int i = 0; i < d->sizes; i++) {
        d->h[i] = ldexp(step, -i);
        d->steps[i] = (int64_t)ceil(d->time / d->h[i] - 1e-9);
    }
    return 0;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void measure(drifts *d, const options *given, line *one, int size)
{
    const subject *s = &d->subject;
    const nh_run_options how = run_options(given, one->method->text, d->h[size], d->steps[size]);
    nh_report report = {0};
    nh_drift_rate rate;
    const nh_status status = nh_drift_measure(&rate, s->system, &how, s->t, s->q, s->v,
                                              one->has_law ? &one->law : NULL, &report);
    d->no_memory |= status == NH_NO_MEMORY;
    if (status != NH_OK)
        snprintf(one->failure, sizeof one->failure, "%.*s", (int)sizeof one->failure - 1,
                 report.text);
    one->measured[size] = rate.measured;
    one->error[size] = rate.error;
    one->predicted[size] = rate.predicted;
}

static void measure_all(drifts *d, const options *given)
{
    int64_t all = 0, done = 0;
    progress bar;
    for (int i = 0; i < d->sizes; i++)
        all += d->steps[i];
    progress_begin(&bar, all * d->count, given->quiet);
    for (int m = 0; m < d->count; m++) {
        line *one = d->lines + m;
        one->method = d->methods + m;
        const nh_status law = nh_drift_law_of(&one->law, d->drift, one->method->text, NULL);
        d->no_memory |= law == NH_NO_MEMORY;
        one->has_law = law == NH_OK;
        for (int i = 0; i < d->sizes; i++) {
            measure(d, given, one, i);
            progress_update(&bar, done += d->steps[i]);
        }
    }
    progress_end(&bar);
}

/* ---- the report ---------------------------------------------------------------------------- */

/* Whether something is predicted that the slopes can show. */
static bool is_visible(const line *one, int size)
{
    return one->has_law && fabs(one->predicted[size]) > 3 * one->error[size] &&
           fabs(one->predicted[size]) > 1e-14;
}

static double ratio(const line *one, int size)
{
    return is_visible(one, size) ? one->measured[size] / one->predicted[size] : NAN;
}

/* The ratio as the step goes to zero, from the last two: its error falls like h for methods of
 * order 1, else like h^2. */
static double limit(const drifts *d, const line *one)
{
    const int i = d->sizes - 1;
    if (i < 1)
        return NAN;
    const double first = ratio(one, i - 1), last = ratio(one, i);
    const double shrinks = pow(d->h[i - 1] / d->h[i], one->law.power == 1 ? 1 : 2);
    return (shrinks * last - first) / (shrinks - 1);
}

static void print_driver(const drifts *d)
{
    printf("%s, drift of the passengers' energy until t = %.10g\n",
           nh_system_name(d->subject.system), d->subject.t + d->time);
    printf("one period of the driver, %.8g, turns the passengers by", nh_drift_period(d->drift));
    for (int i = 0; i < nh_drift_modes(d->drift); i++)
        printf("%s %.6f", i ? "," : "", nh_drift_angle(d->drift, i));
    printf("\n\n");
}

static void print_law(const line *one)
{
    if (!one->has_law)
        printf("\n%s: no formula\n", one->method->text);
    else
        printf("\n%s: %s (%s)\n", one->method->text, one->law.formula, one->law.standing);
}

static void print_text(const drifts *d)
{
    print_driver(d);
    printf("  %-14s %12s %12s %10s %8s\n", "step", "predicted", "measured", "+-", "ratio");
    for (int m = 0; m < d->count; m++) {
        const line *one = d->lines + m;
        print_law(one);
        for (int i = 0; i < d->sizes; i++) {
            if (isnan(one->measured[i])) {
                printf("  %-14.8g %12s %12s %s\n", d->h[i], "", "-", one->failure);
                continue;
            }
            char predicted[32] = "-", share[32] = "";
            if (one->has_law)
                snprintf(predicted, sizeof predicted, "%.3e", one->predicted[i]);
            if (is_visible(one, i))
                snprintf(share, sizeof share, "%.4f", ratio(one, i));
            printf("  %-14.8g %12s %12.3e %10.0e %8s\n", d->h[i], predicted, one->measured[i],
                   one->error[i], share);
        }
        if (!isnan(limit(d, one)))
            printf("  %-14s %12s %12s %10s %8.4f\n", "to 0", "", "", "", limit(d, one));
    }
}

static void put_line(json *j, const drifts *d, const line *one)
{
    json_object(j, NULL);
    json_text(j, "method", one->method->text);
    json_text(j, "formula", one->has_law ? one->law.formula : NULL);
    json_text(j, "standing", one->has_law ? one->law.standing : NULL);
    json_real(j, "power", one->has_law ? one->law.power : NAN);
    json_real(j, "coefficient", one->has_law ? one->law.coefficient : NAN);
    json_reals(j, "growth", one->law.growth, one->law.modes);
    json_array(j, "points");
    for (int i = 0; i < d->sizes; i++) {
        json_object(j, NULL);
        json_real(j, "step", d->h[i]);
        json_integer(j, "steps", d->steps[i]);
        json_real(j, "predicted", one->predicted[i]);
        json_real(j, "measured", one->measured[i]);
        json_real(j, "error", one->error[i]);
        json_real(j, "ratio", ratio(one, i));
        json_close_object(j);
    }
    json_close_array(j);
    json_real(j, "limit", limit(d, one));
    json_text(j, "failure", one->failure[0] ? one->failure : NULL);
    json_close_object(j);
}

static void print_json(const drifts *d)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(d->subject.system));
    json_real(&j, "time", d->time);
    json_real(&j, "period", nh_drift_period(d->drift));
    json_array(&j, "modes");
    for (int i = 0; i < nh_drift_modes(d->drift); i++) {
        json_object(&j, NULL);
        json_real(&j, "angle", nh_drift_angle(d->drift, i));
        json_real(&j, "energy", nh_drift_share(d->drift, i));
        json_close_object(&j);
    }
    json_close_array(&j);
    json_array(&j, "methods");
    for (int m = 0; m < d->count; m++)
        put_line(&j, d, d->lines + m);
    json_close_array(&j);
    json_remarks(&j);
    json_end(&j);
}

/* A method that failed at every step makes the command fail. */
static int complain_failures(const drifts *d)
{
    int answer = DONE;
    if (d->no_memory) /* not a result of a method */
        return complain("out of memory"), FAILED;
    for (int m = 0; m < d->count; m++) {
        bool failed = true;
        for (int i = 0; i < d->sizes; i++)
            failed = failed && isnan(d->lines[m].measured[i]);
        if (failed) {
            complain("%s: %s", d->methods[m].text, d->lines[m].failure);
            answer = FAILED;
        }
    }
    return answer;
}

/* ---- the command --------------------------------------------------------------------------- */

static int prepare(drifts *d, const options *given)
{
    nh_report report;
    const subject *s = &d->subject;
    if (nh_system_check_start(s->system, s->t, s->q, s->v, &report) != NH_OK ||
        nh_drift_create(&d->drift, s->system, s->q, s->v, &report) != NH_OK)
        return complain_report(&report);
    int answer = list_steps(d, given);
    if (!answer)
        answer = choose_methods(&d->methods, &d->count, with_formula, s, given);
    if (answer)
        return answer;
    d->lines = calloc((size_t)d->count, sizeof *d->lines);
    if (d->lines)
        return 0;
    complain("out of memory");
    return FAILED;
}

int order_drift(const options *given)
{
    drifts d = {0};
    if (given->compose)
        return complain("--drift predicts the drift of single methods; it does not know that of "
                        "compositions");
    if (given->plot)
        return complain("--drift has no picture; 'nonholo compare --plot' draws the errors");
    int answer = subject_find(&d.subject, given);
    if (!answer)
        answer = subject_open(&d.subject, given);
    if (!answer)
        answer = prepare(&d, given);
    if (!answer) {
        measure_all(&d, given);
        if (given->json)
            print_json(&d);
        else
            print_text(&d);
        answer = complain_failures(&d);
    }
    free(d.lines);
    free(d.methods);
    nh_drift_free(d.drift);
    subject_free(&d.subject);
    return answer;
}
