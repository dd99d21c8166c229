/* Measures the findings of a figure, compares them with the expected values and describes the
 * result. */
#include "analysis/verdict.h"
#include "figure/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

/* ---- measuring ----------------------------------------------------------------------------- */

static double largest(const nh_series *s)
{
    double most = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (!isnan(s->y[i]) || i > 0)
            most = isnan(most) || fabs(s->y[i]) <= most ? most : fabs(s->y[i]);
    return s->count > 0 ? most : NAN;
}

/* The factor from one step to the next while y grows and is still below a hundredth of its largest
 * value: the eigenvalue of the method at the equilibrium that y leaves. */
static double growth(const nh_outcome *o, const nh_series *s)
{
    nh_trend trend = {0};
    double before = 0, limit = 0.01 * largest(s);
    for (int64_t i = 1; i < s->count; i++)
        if (fabs(s->y[i]) > before && fabs(s->y[i]) < limit) {
            nh_trend_add(&trend, s->x[i], log(fabs(s->y[i])));
            before = fabs(s->y[i]);
        } else if (trend.count > 2)
            break;
    return exp(nh_trend_line(&trend).slope * o->step);
}

static double plain_slope(const nh_series *s)
{
    nh_trend trend = {0};
    for (int64_t i = 0; i < s->count; i++)
        nh_trend_add(&trend, s->x[i], s->y[i]);
    return nh_trend_line(&trend).slope;
}

static double of_series(const nh_outcome *o, const nh_series *s, nh_finding_kind measure)
{
    switch (measure) {
    case NH_MEASURE_MAX:
        return largest(s);
    case NH_MEASURE_LAST:
        return s->count > 0 ? s->y[s->count - 1] : NAN;
    case NH_MEASURE_SLOPE:
        return nh_fit_slope(s->x, s->y, s->count).slope;
    case NH_MEASURE_DRIFT:
        return fabs(nh_fit_slope(s->x, s->y, s->count).slope);
    case NH_MEASURE_LINE:
        return plain_slope(s);
    case NH_MEASURE_RATE:
        return nh_fit_walk(s->x, s->y, s->count).rate;
    case NH_MEASURE_EXPONENT:
        return nh_fit_walk(s->x, s->y, s->count).exponent;
    case NH_MEASURE_GROWTH:
        return growth(o, s);
    default:
        return NAN;
    }
}

/* The size of a quantity, relative to which rounding is small. At least 1: figures use units in
 * which quantities are of that size, and a quantity that begins with 0 shows no size. */
static double size_of(const nh_outcome *o, const nh_chain *chain)
{
    int name = nh_outcome_find(o, chain->quantity);
    double size = name >= 0 && o->points > 0 ? fabs(o->data[(int64_t)name * o->points]) : 1;
    return fmax(1, isfinite(size) ? size : 1);
}

/* For the error of a quantity the size of the quantity is known, so that the verdict can be 'lost'.
 * A quantity that depends on two states has no first value. */
static nh_judgement judge(const nh_outcome *o, const nh_chain *chain, const nh_series *s)
{
    const double size = size_of(o, chain), level = nh_round_off_level(size, o->steps);
    const int name = nh_outcome_find(o, chain->quantity);
    const int64_t first = s->count > 0 && isnan(s->y[0]);
    const bool is_error = chain->ops == 1 && chain->op[0] == NH_SERIES_ERROR;
    if (!is_error || name < 0 || o->points <= first)
        return nh_judge(s->x + first, s->y + first, s->count - first, level);
    const double start = o->data[(int64_t)name * o->points + first];
    return nh_judge_quantity(s->x + first, s->y + first, s->count - first, start, size, level);
}

/* With several members the largest value counts. A run that did not reach its end has no value. */
double nh_measure_outcome(const nh_outcome *o, nh_finding_kind measure, const nh_chain *chain,
                          nh_judgement *judgement)
{
    double value = NAN;
    nh_judgement none = {.verdict = NH_VERDICT_NOT_FINITE, .text = "failed"};
    nh_judgement unasked, *judged = judgement ? judgement : &unasked;
    *judged = none;
    if (measure == NH_MEASURE_ORDER)
        return o->order.order;
    if (o->status != NH_OK)
        return measure == NH_MEASURE_MAX && o->status != NH_NOT_APPLICABLE ? INFINITY : NAN;
    for (int m = 0; m < o->members; m++) {
        nh_series s;
        if (nh_series_make(&s, o, chain, m) != NH_OK)
            return NAN;
        double one = of_series(o, &s, measure);
        value = m == 0 || fabs(one) > fabs(value) || isnan(one) ? one : value;
        if (m == 0)
            *judged = judge(o, chain, &s);
        nh_series_free(&s);
        if (nh_chain_has(chain, NH_SERIES_VARIANCE) || nh_chain_has(chain, NH_SERIES_MEAN_SQUARE))
            break;
    }
    return value;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static bool agrees(const nh_expectation *e, double found, double expected)
{
    switch (e->tolerance) {
    case NH_WITHIN_SHARE:
        return fabs(found - expected) <= e->allowed * fabs(expected);
    case NH_WITHIN_FACTOR:
        return found / expected <= e->allowed && expected / found <= e->allowed;
    case NH_WITHIN_BAND:
        return found >= e->band[0] && found <= e->band[1];
    default:
        return fabs(found - expected) <= e->allowed;
    }
}

static void describe_expected(const nh_expectation *e, double value, char *text, size_t size)
{
    int used = nh_print(text, size, "%s%.10g",
                        e->relation == '='   ? ""
                        : e->relation == '<' ? "< "
                                             : "> ",
                        value);
    if (e->relation != '=' || used < 0)
        return;
    if (e->tolerance == NH_WITHIN_BAND) {
        nh_print(text + used, size - (size_t)used, " from %g to %g", e->band[0], e->band[1]);
        return;
    }
    static const char *const forms[] = {" within %g%%", " within factor %g", " within %g"};
    double shown = e->tolerance == NH_WITHIN_SHARE ? 100 * e->allowed : e->allowed;
    nh_print(text + used, size - (size_t)used, forms[e->tolerance], shown);
}

static void check_number(const nh_figure *f, const nh_expectation *e, int by_case, nh_finding *out)
{
    const nh_outcome *o = nh_figure_outcome(f, by_case, e->left.by_method);
    out->measured = nh_measure_outcome(o, e->left.measure, &e->left.chain, NULL);
    out->expected = e->value;
    if (e->compared) {
        int other = e->right.by_case < 0 ? by_case : e->right.by_case;
        out->expected = nh_measure_outcome(nh_figure_outcome(f, other, e->right.by_method),
                                           e->right.measure, &e->right.chain, NULL);
    }
    out->passed = e->relation == '='   ? agrees(e, out->measured, out->expected)
                  : e->relation == '<' ? out->measured < out->expected
                                       : out->measured > out->expected;
    nh_print(out->measured_text, sizeof out->measured_text, "%.6g", out->measured);
    describe_expected(e, out->expected, out->expected_text, sizeof out->expected_text);
}

static void check_verdict(const nh_figure *f, const nh_expectation *e, int by_case, nh_finding *out)
{
    nh_judgement judgement;
    const nh_outcome *o = nh_figure_outcome(f, by_case, e->left.by_method);
    nh_measure_outcome(o, NH_MEASURE_VERDICT, &e->left.chain, &judgement);
    const char *name = nh_verdict_name(judgement.verdict);
    out->measured = out->expected = NAN;
    out->passed = strcmp(name, e->verdict) == 0;
    snprintf(out->measured_text, sizeof out->measured_text, "%s", judgement.text);
    snprintf(out->expected_text, sizeof out->expected_text, "%.60s", e->verdict);
}

static void check_one(nh_figure *f, const nh_expectation *e, int by_case)
{
    nh_finding *out = &f->result[f->result_count++];
    *out = (nh_finding){.text = e->text,
                        .in_case = f->case_count > 1 ? f->cases[by_case].label : "",
                        .is_claim = e->role.is_claim,
                        .is_test = e->role.is_test};
    if (f->quick && e->role.needs_time)
        return;
    out->checked = true;
    if (e->relation == 'i')
        check_verdict(f, e, by_case, out);
    else
        check_number(f, e, by_case, out);
}

nh_status nh_figure_check(nh_figure *f, nh_report *report)
{
    free(f->result);
    f->result_count = 0;
    f->result = calloc((size_t)(f->finding_count * f->case_count) + 1, sizeof *f->result);
    if (!f->result)
        return nh_fail_memory(report);
    for (int i = 0; i < f->finding_count; i++) {
        const nh_expectation *e = &f->findings[i];
        for (int c = 0; c < f->case_count; c++)
            if (e->left.by_case < 0 || e->left.by_case == c)
                check_one(f, e, c);
    }
    return NH_OK;
}
