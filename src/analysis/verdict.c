/* Classifies the behaviour of an error over time: bounded, drift, random walk, growth.
 *
 * The classification uses low frequencies. With the line of slope.c subtracted, e(u) on u in
 * (0, 1), their power is
 *
 *     I_k = |sum w_j e_j exp(-2 pi i k u_j)|^2,    w ~ sin^2(pi u), sum w = 1,    k = 2 .. 47,
 *
 * where the smooth weights suppress fast oscillations and the ends of the series. The expected
 * values of these powers are known:
 *
 *     independent noise of variance v      1.5 v/n, whatever k
 *     a random walk, variance V at the end 1.5 V/(4 pi^2 k^2)
 *
 * and the powers are distributed exponentially about them, so that the median is ln 2 times the
 * mean. An oscillation affects only two or three powers, to which medians are insensitive. So the
 * exponent of k shows the kind of noise (the median of the exponents of all pairs, after Theil and
 * Sen: -2 for a walk, 0 for noise; its standard deviation is .3), and the median of the powers its
 * strength. Where the powers decrease more steeply than those of a walk, slow oscillations dominate
 * the first ones, and the powers from k = 18 on give the strength of the noise.
 *
 *     linear drift   the slope is more than four times the slope that such noise would cause (which
 *                    happens in one of a thousand walks), the drift exceeds round-off, and it
 *                    continues through the whole series; oscillations may have a larger amplitude
 *                    than the drift, but must not be so slow that they could have caused the slope
 *     random walk    the exponent is between -1 and -3, no single power dominates, and the walk
 *                    with these powers goes farther than the amplitude of everything else
 *     exponential    the logarithms of the amplitudes in 64 intervals lie on a line, see below
 *     bounded        otherwise, unless the second half is far above the first
 *
 * test/analysis/test_verdict.c measures the error rate on series of known type.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/slope.h"

enum {
    BLOCKS = 64,
    POWERS = 48, /* k = 0 .. 47, of which 2 .. 47 are used */
    SLOW = 2,    /* the slowest: below, the line has taken its part */
    SLOW_END = 18,
    POINTS_LEAST = 4 * POWERS
};

static const double significant = 4;

typedef struct series_view { /* what is seen of a series */
    nh_slope slope;
    double length;                 /* of time */
    double total, rest;            /* standard deviation of y, and beside the line */
    double exponent;               /* of the powers in k */
    double leak;                   /* variance that slow oscillations add to slope times length */
    double unevenness;             /* of the powers times k^2: mean over expected mean */
    double noise, walk;            /* variance of the noise; of the walk at the end */
    double x[BLOCKS], top[BLOCKS]; /* of stretches: the middle, the largest |y| */
} series_view;

int64_t nh_running_mean(const double *x, const double *y, int64_t count, double window,
                        double *mean_x, double *mean_y)
{
    int64_t first = 0, last = 0, found = 0;
    for (int64_t i = 0; i < count; i++) {
        double from = x[i] - window / 2, to = x[i] + window / 2;
        if (from < x[0] || to > x[count - 1])
            continue;
        while (x[first] < from)
            first++;
        while (last < count && x[last] <= to)
            last++;
        double sum = 0;
        for (int64_t j = first; j < last; j++)
            sum += y[j];
        mean_x[found] = x[i];
        mean_y[found++] = sum / (double)(last - first);
    }
    return found;
}

double nh_round_off_level(double size, int64_t steps)
{
    return DBL_EPSILON * size * (16 + 4 * sqrt((double)steps));
}

const char *nh_verdict_name(nh_verdict verdict)
{
    static const char *const names[] = {
        "round-off",   "bounded",    "linear drift", "exponential growth",
        "random walk", "not finite", "unclear"};
    return names[verdict];
}

/* ---- slow motions ---------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, ascending);
    return 0.5 * (value[(count - 1) / 2] + value[count / 2]);
}

/* A phase that advances by the same angle from point to point, and the sum over the points. */
typedef struct wheel {
    double c, s, turn_c, turn_s, re, im;
} wheel;

static wheel wheel_begin(double angle)
{
    return (wheel){cos(angle / 2), sin(angle / 2), cos(angle), sin(angle), 0, 0};
}

static void wheel_add(wheel *w, const double *value, int count)
{
    for (int i = 0; i < count; i++) {
        double before = w->c;
        w->re += value[i] * w->c;
        w->im += value[i] * w->s;
        w->c = before * w->turn_c - w->s * w->turn_s;
        w->s = w->s * w->turn_c + before * w->turn_s;
    }
}

/* I_k of what is left beside the line, in pieces that stay in the nearest memory. */
static void find_powers(const double *x, const double *y, int64_t count, const nh_line *line,
                        double *power)
{
    enum { PIECE = 256 };
    const double angle = 6.283185307179586 / (double)count;
    wheel wheels[POWERS];
    for (int k = SLOW; k < POWERS; k++)
        wheels[k] = wheel_begin(k * angle);
    for (int64_t first = 0; first < count; first += PIECE) {
        double e[PIECE];
        int length = count - first < PIECE ? (int)(count - first) : PIECE;
        for (int i = 0; i < length; i++) {
            int64_t at = first + i;
            double left = y[at] - line->intercept - line->slope * x[at];
            e[i] = (1 - cos(((double)at + 0.5) * angle)) * left / (double)count;
        }
        for (int k = SLOW; k < POWERS; k++)
            wheel_add(wheels + k, e, length);
    }
    for (int k = SLOW; k < POWERS; k++)
        power[k] = wheels[k].re * wheels[k].re + wheels[k].im * wheels[k].im;
}

/* The exponent of k: the median over all pairs. */
static double exponent_of(const double *power)
{
    enum { COUNT = POWERS - SLOW, PAIRS = COUNT * (COUNT - 1) / 2 };
    double slope[PAIRS];
    int found = 0;
    for (int j = SLOW; j < POWERS; j++)
        for (int k = j + 1; k < POWERS; k++)
            slope[found++] =
                log(fmax(power[k], DBL_MIN) / fmax(power[j], DBL_MIN)) / log((double)k / j);
    return median(slope, found);
}

/* The variance at the end of a walk with the powers from..to-1; how far the mean is above it. */
static double walk_of(const double *power, int from, int to, double *mean_share)
{
    const double four_pi_squared = 39.47841760435743, log_2 = 0.6931471805599453;
    double red[POWERS], mean = 0;
    for (int k = from; k < to; k++) {
        red[k - from] = power[k] * k * k;
        mean += red[k - from] / (to - from);
    }
    double middle = median(red, to - from) / log_2;
    *mean_share = mean / middle;
    return middle * four_pi_squared / 1.5;
}

/* How much an oscillation of k periods and size 1 adds to the slope times the length: the integral
 * of sin^4(pi u) (u - 1/2) exp(2 pi i k u) over that of sin^4(pi u) (u - 1/2)^2. */
static double leak_at(int k)
{
    const double pi = 3.14159265358979323846;
    double beyond = k == 2 ? 0 : 1.0 / (k - 2);
    double wave =
        0.375 / k - 0.25 * (1.0 / (k - 1) + 1.0 / (k + 1)) + 0.0625 * (beyond + 1.0 / (k + 2));
    return wave / (2 * pi) / (1 / 32.0 - 15 / (64 * pi * pi));
}

static void look_at_slow_motions(series_view *v, const double *x, const double *y, int64_t count)
{
    const double log_2 = 0.6931471805599453;
    double power[POWERS], share;
    find_powers(x, y, count, &v->slope.line, power);
    v->leak = 0;
    for (int k = SLOW; k < POWERS; k++) /* an oscillation of size a is a^2/4 in one, 1/16 beside */
        v->leak += 2 / 1.5 * power[k] * leak_at(k) * leak_at(k);
    v->exponent = exponent_of(power);
    v->walk = walk_of(power, SLOW, SLOW_END, &v->unevenness);
    if (v->exponent < -3)
        v->walk = walk_of(power, SLOW_END, POWERS, &share);
    v->noise = median(power + SLOW, SLOW_END - SLOW) / log_2 * (double)count / 1.5;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void look_at_widths(series_view *v, const double *x, const double *y, int64_t count)
{
    double mean = 0, square = 0, left = 0;
    for (int64_t i = 0; i < count; i++)
        mean += (y[i] - y[0]) / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double e = y[i] - v->slope.line.intercept - v->slope.line.slope * x[i];
        square += (y[i] - y[0] - mean) * (y[i] - y[0] - mean) / (double)count;
        left += e * e / (double)count;
    }
    v->total = sqrt(square);
    v->rest = sqrt(left);
}

static void look_at_heights(series_view *v, const double *x, const double *y, int64_t count)
{
    for (int b = 0; b < BLOCKS; b++) {
        int64_t first = count * b / BLOCKS, end = count * (b + 1) / BLOCKS;
        v->x[b] = 0.5 * (x[first] + x[end - 1]);
        v->top[b] = 0;
        for (int64_t i = first; i < end; i++)
            v->top[b] = fmax(v->top[b], fabs(y[i]));
    }
}

static series_view look(const double *x, const double *y, int64_t count)
{
    series_view v = {.slope = nh_slope_of(x, y, count), .length = x[count - 1] - x[0]};
    look_at_slow_motions(&v, x, y, count);
    look_at_widths(&v, x, y, count);
    look_at_heights(&v, x, y, count);
    return v;
}

/* ---- what it is ---------------------------------------------------------------------------- */

/* Whether noise of the kind that is there would make such a slope once in a thousand times only. */
static bool is_significant(const series_view *v, int64_t count)
{
    double variance =
        v->exponent < -1 ? v->walk * v->slope.walk / (double)count : v->noise * v->slope.noise;
    return fabs(v->slope.line.slope) > significant * sqrt(variance);
}

/* Whether the means of the three thirds follow each other as the line does, by a fifth of its steps
 * or more: those of an oscillation of few periods do not, nor does what has come to rest. */
static bool is_steady(const series_view *v, const double *y, int64_t count)
{
    double mean[3] = {0};
    for (int64_t i = 0; i < count; i++)
        mean[3 * i / count] += (y[i] - y[0]) / ((double)count / 3);
    double step = v->slope.line.slope * v->length / 3;
    return (mean[1] - mean[0]) / step > 0.2 && (mean[2] - mean[1]) / step > 0.2;
}

/* The share of the variance that a line explains. */
static double explained(const double *x, const double *y, nh_line *line)
{
    nh_trend trend = {0};
    for (int i = 0; i < BLOCKS; i++)
        nh_trend_add(&trend, x[i], y[i]);
    *line = nh_trend_line(&trend);
    return trend.yy > 0 ? line->slope * trend.xy / trend.yy : 0;
}

/* Growth by a steady factor: the logarithm of the heights is a line, over a factor of 30 or more,
 * and a better one than the heights themselves and than their roots, which a square would make a
 * line of. */
static bool is_exponential(const series_view *v, nh_line *line)
{
    double logs[BLOCKS], roots[BLOCKS];
    nh_line other;
    for (int i = 0; i < BLOCKS; i++) {
        logs[i] = log(fmax(v->top[i], DBL_MIN));
        roots[i] = sqrt(v->top[i]);
    }
    double of_logs = explained(v->x, logs, line);
    double of_heights = explained(v->x, v->top, &other), of_roots = explained(v->x, roots, &other);
    double rise = line->slope * (v->x[BLOCKS - 1] - v->x[0]);
    return rise > log(30) && of_logs > 0.9 && of_logs > of_heights && of_logs > of_roots;
}

/* What is bounded has shown its size half way. */
static bool keeps_growing(const series_view *v)
{
    double half[2] = {0};
    for (int i = 0; i < BLOCKS; i++)
        half[2 * i / BLOCKS] = fmax(half[2 * i / BLOCKS], v->top[i]);
    return half[1] > 2.5 * half[0];
}

/* Of an error that is neither round-off nor exponential. */
static nh_verdict tell_apart(const series_view *v, const double *y, int64_t count, double round_off)
{
    double led = fabs(v->slope.line.slope) * v->length;
    bool is_no_leak = led > v->rest || led > significant * sqrt(v->leak);
    if (is_significant(v, count) && is_no_leak && led > round_off && v->rest < v->total &&
        is_steady(v, y, count))
        return NH_VERDICT_LINEAR;
    bool is_even =
        v->unevenness < 3; /* oscillations stand out; of 1000 walks one has 2.6 or more */
    if (v->exponent < -1 && v->exponent > -3 && is_even && sqrt(v->walk) > v->rest)
        return NH_VERDICT_RANDOM_WALK;
    return keeps_growing(v) && v->rest < v->total ? NH_VERDICT_LINEAR : NH_VERDICT_BOUNDED;
}

static nh_verdict judge_course(const double *x, const double *y, int64_t count, double round_off,
                               nh_judgement *j)
{
    nh_line growth;
    series_view v = look(x, y, count);
    nh_verdict verdict = NH_VERDICT_EXPONENTIAL;
    if (!is_exponential(&v, &growth))
        verdict = tell_apart(&v, y, count, round_off);
    if (verdict == NH_VERDICT_EXPONENTIAL) {
        j->rate = growth.slope;
        j->rate_error = growth.slope_error;
    } else if (verdict == NH_VERDICT_LINEAR) {
        j->rate = v.slope.line.slope;
        j->rate_error = v.slope.line.slope_error;
    } else if (verdict == NH_VERDICT_RANDOM_WALK)
        j->rate = sqrt(v.walk / v.length);
    return verdict;
}

static void describe(nh_judgement *j, double round_off)
{
    switch (j->verdict) {
    case NH_VERDICT_ROUND_OFF:
        snprintf(j->text, sizeof j->text, "round-off, at most %.2g", j->largest);
        break;
    case NH_VERDICT_BOUNDED:
        snprintf(j->text, sizeof j->text, "bounded by %.3g", j->largest);
        break;
    case NH_VERDICT_LINEAR:
        snprintf(j->text, sizeof j->text, "drifts by %.3g per unit of time", j->rate);
        break;
    case NH_VERDICT_EXPONENTIAL:
        snprintf(j->text, sizeof j->text, "grows exponentially, tenfold in %.3g",
                 log(10) / j->rate);
        break;
    case NH_VERDICT_RANDOM_WALK:
        snprintf(j->text, sizeof j->text, "random walk, about %.2g sqrt(t)", j->rate);
        break;
    case NH_VERDICT_NOT_FINITE:
        snprintf(j->text, sizeof j->text, "not finite");
        break;
    case NH_VERDICT_UNKNOWN:
        snprintf(j->text, sizeof j->text, "too few points to tell, at most %.3g%s", j->largest,
                 j->largest <= round_off ? " (round-off)" : "");
        break;
    }
}

nh_judgement nh_judge(const double *x, const double *y, int64_t count, double round_off)
{
    nh_judgement j = {.verdict = NH_VERDICT_UNKNOWN, .rate = NAN, .rate_error = NAN};
    j.line = nh_fit_slope(x, y, count);
    for (int64_t i = 0; i < count; i++)
        j.largest = isnan(j.largest) || fabs(y[i]) <= j.largest ? j.largest : fabs(y[i]);
    if (!isfinite(j.largest))
        j.verdict = NH_VERDICT_NOT_FINITE;
    else if (count > 0 && j.largest <= round_off)
        j.verdict = NH_VERDICT_ROUND_OFF;
    else if (count >= POINTS_LEAST)
        j.verdict = judge_course(x, y, count, round_off, &j);
    describe(&j, round_off);
    return j;
}

nh_walk nh_fit_walk(const double *x, const double *mean_square, int64_t count)
{
    double xx = 0, xy = 0, left = 0;
    nh_trend logs = {0};
    for (int64_t i = 0; i < count; i++) {
        xx += x[i] * x[i];
        xy += x[i] * mean_square[i];
        /* early times weigh as much as late ones on a logarithmic scale, but are mostly oscillation
         */
        if (x[i] > 0.05 * x[count - 1] && mean_square[i] > 0)
            nh_trend_add(&logs, log(x[i]), log(mean_square[i]));
    }
    nh_walk walk = {.rate = xy / xx, .rate_error = NAN, .exponent = nh_trend_line(&logs).slope};
    for (int64_t i = 0; i < count; i++)
        left += (mean_square[i] - walk.rate * x[i]) * (mean_square[i] - walk.rate * x[i]);
    if (count > 1)
        walk.rate_error = sqrt(left / (double)(count - 1) / xx);
    return walk;
}
