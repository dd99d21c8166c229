/* Classifies the behaviour of an error over time: bounded, drift, random walk, growth.
 *
 * The classification uses low frequencies. With the line of slope.c subtracted, e(u) on u in (0,
 * 1), their power is
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
 *                    happens in one of a thousand walks), the drift exceeds round-off, continues
 *                    through the whole series and does not come at once; oscillations may have a
 *                    larger amplitude than the drift, but must not be so slow that they could have
 *                    caused the slope
 *     random walk    the exponent is between -1 and -3, no single power dominates, the walk with
 *                    these powers goes farther than the amplitude of everything else, its slowest
 *                    motions are those of a walk, and it does not consist of a few jumps
 *     exponential    the logarithms of the amplitudes in 64 intervals lie on a line, see below
 *     bounded        otherwise, unless the second half is far above the first (unclear)
 *     lost           at the end the quantity is a thousandth of what it was, or an error that does
 *                    not grow is as large as the quantity
 *
 * A bounded error whose correlations decay in a time r has the powers of a walk above the frequency
 * 1/r, but below it the powers do not increase any more. Over the interval, sqrt(2) cos(j pi u) has
 * in a walk an amplitude of variance V/(j pi)^2, independent of the others (Karhunen and Loeve),
 * and here one of V/(j pi)^2/(1 + (c/j)^2). The ratio of the two likelihoods, with the best c,
 * decides: in favour of the bounded error in 0.7% of walks, and of a walk in 0.2% of bounded errors
 * with r = T/60, 4% with T/40 and 20% with T/30. If the series is shorter than thirty times r, the
 * two cannot be told apart.
 *
 * test/analysis/test_verdict.c measures the error rate on series of known type. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/verdict.h"
#include "analysis/slope.h"
#include "base/decimal.h"

enum {
    BLOCKS = 64,
    POWERS = 48, /* k = 0 .. 47, of which 2 .. 47 are used */
    SLOW = 2,    /* the slowest one used: the line has absorbed the ones below */
    SLOW_END = 18,
    GAPS_MOST = 12, /* 999 of 1000 walks have fewer gaps */
    MODES = 24,     /* cosines that distinguish a walk from a bounded error */
    POINTS_LEAST = 4 * POWERS
};

static const double significant = 4;
static const double settled =
    3.6; /* logarithm of the ratio of likelihoods: 0.7% of walks exceed it */
static const double jump_most = 0.45; /* share of 3 steps in the sum of squares of 63; .27 in a
                                       * walk */

typedef struct series_view { /* what is computed from a series */
    nh_slope slope;
    double length;                 /* of time */
    double total, rest;            /* standard deviation of y, and of y without the line */
    double exponent;               /* exponent of the powers in k */
    double leak;                   /* variance that slow oscillations add to slope times length */
    double unevenness;             /* of the powers times k^2: mean relative to the expected mean */
    int gaps;                      /* powers that are far below the expected one */
    double noise, walk;            /* variance of the noise; of the walk at the end */
    double rest_for;               /* logarithm of the ratio of likelihoods: bounded over walk */
    double x[BLOCKS], top[BLOCKS]; /* for each stretch: its middle, its largest |y| */
    double jump; /* share of the change from stretch to stretch that happens at once */
} series_view;

int64_t nh_running_mean(const double *x, const double *y, int64_t count, double window,
                        double *mean_x, double *mean_y)
{
    int64_t first = 0, last = 0, found = 0;
    for (int64_t i = 0; window >= 0 && i < count; i++) {
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
        "random walk", "not finite", "unclear",      "lost"};
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

/* I_k of the residuals of the line, in pieces that stay in the cache. */
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

/* The variance at the end of a walk with the powers from..to-1; and how far the mean is above
 * it. */
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

/* How much an oscillation of k periods and amplitude 1 adds to the slope times the length: the
 * integral of sin^4(pi u) (u - 1/2) exp(2 pi i k u) over that of sin^4(pi u) (u - 1/2)^2. */
static double leak_at(int k)
{
    const double pi = 3.14159265358979323846;
    double beyond = k == 2 ? 0 : 1.0 / (k - 2);
    double wave =
        0.375 / k - 0.25 * (1.0 / (k - 1) + 1.0 / (k + 1)) + 0.0625 * (beyond + 1.0 / (k + 2));
    return wave / (2 * pi) / (1 / 32.0 - 15 / (64 * pi * pi));
}

/* The squares of the amplitudes of sqrt(2) cos(j pi u), j = 1 .. MODES, times (j pi)^2. */
static void find_modes(const double *y, int64_t count, double *square)
{
    enum { PIECE = 256 };
    const double pi = 3.14159265358979323846;
    wheel wheels[MODES + 1];
    for (int j = 1; j <= MODES; j++)
        wheels[j] = wheel_begin(j * pi / (double)count);
    for (int64_t first = 0; first < count; first += PIECE) {
        double e[PIECE];
        int length = count - first < PIECE ? (int)(count - first) : PIECE;
        for (int i = 0; i < length; i++)
            e[i] = (y[first + i] - y[0]) / (double)count;
        for (int j = 1; j <= MODES; j++)
            wheel_add(wheels + j, e, length);
    }
    for (int j = 1; j <= MODES; j++)
        square[j] = 2 * wheels[j].re * wheels[j].re * (j * pi) * (j * pi);
}

/* The logarithm of the ratio of likelihoods of a bounded error and of a walk with the variance V at
 * the end; see above. */
static double likelihood_ratio(const double *y, int64_t count, double V)
{
    static const double bends[] = {1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    double square[MODES + 1], best = 0;
    find_modes(y, count, square);
    for (size_t b = 0; b < sizeof bends / sizeof *bends; b++) {
        double sum = 0;
        for (int j = 1; j <= MODES; j++) {
            double bend = bends[b] * bends[b] / ((double)j * j);
            sum += 0.5 * log(1 + bend) - 0.5 * square[j] / V * bend;
        }
        best = fmax(best, sum);
    }
    return best;
}

/* How many of the powers are below a tenth of their expected value: 9.5% for a walk, many between
 * the lines of oscillations. */
static int count_gaps(const double *power, double walk)
{
    const double four_pi_squared = 39.47841760435743;
    int gaps = 0;
    for (int k = SLOW; k < POWERS; k++)
        gaps += power[k] * k * k < 0.1 * 1.5 * walk / four_pi_squared;
    return gaps;
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
    double all = walk_of(power, SLOW, POWERS, &share);
    v->rest_for = likelihood_ratio(y, count, all);
    v->gaps = count_gaps(power, all);
    v->noise = median(power + SLOW, SLOW_END - SLOW) / log_2 * (double)count / 1.5;
}

/* ---- the whole series ---------------------------------------------------------------------- */

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

/* The share of three consecutive steps in the sum of squares of the steps between the means of
 * stretches. */
static void look_at_jumps(series_view *v, const double *y, int64_t count)
{
    double before = 0, sum = 0, largest = 0, square[BLOCKS + 2] = {0};
    for (int b = 0; b < BLOCKS; b++) {
        int64_t first = count * b / BLOCKS, end = count * (b + 1) / BLOCKS;
        double mean = 0;
        for (int64_t i = first; i < end; i++)
            mean += (y[i] - y[0]) / (double)(end - first);
        square[b] = b ? (mean - before) * (mean - before) : 0;
        sum += square[b];
        before = mean;
    }
    for (int b = 0; b < BLOCKS; b++)
        largest = fmax(largest, square[b] + square[b + 1] + square[b + 2]);
    v->jump = sum > 0 ? largest / sum : 0;
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
    look_at_jumps(&v, y, count);
    return v;
}

/* ---- the verdict --------------------------------------------------------------------------- */

/* Whether noise of the observed kind would produce such a slope only once in a thousand times. The
 * slope depends on the slowest powers, which in noise that is not white are higher than those from
 * SLOW to SLOW_END. */
static bool is_significant(const series_view *v, int64_t count)
{
    double slower = pow(0.5 * (SLOW + SLOW_END) / SLOW, fmax(-v->exponent, 0));
    double variance = v->exponent < -1 ? v->walk * v->slope.walk / (double)count
                                       : v->noise * slower * v->slope.noise;
    return fabs(v->slope.line.slope) > significant * sqrt(variance);
}

/* Whether the means of the three thirds change in the direction of the line, by at least a fifth of
 * its change: those of an oscillation with few periods do not, nor do those of a series that has
 * come to rest. */
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

/* Growth by a constant factor: the logarithm of the amplitudes is a line, over a factor of 30 or
 * more, and a better line than the amplitudes themselves and than their square roots, which would
 * be linear for quadratic growth. */
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

/* A bounded error has reached its full size half way. */
static bool keeps_growing(const series_view *v)
{
    double half[2] = {0};
    for (int i = 0; i < BLOCKS; i++)
        half[2 * i / BLOCKS] = fmax(half[2 * i / BLOCKS], v->top[i]);
    return half[1] > 2.5 * half[0];
}

/* The verdict on an error that is neither round-off nor exponential. */
static nh_verdict tell_apart(const series_view *v, const double *y, int64_t count, double round_off)
{
    double led = fabs(v->slope.line.slope) * v->length;
    bool is_no_leak = led > v->rest || led > significant * sqrt(v->leak);
    bool jumps = v->jump > jump_most;
    if (is_significant(v, count) && is_no_leak && !jumps && led > round_off && v->rest < v->total &&
        is_steady(v, y, count))
        return NH_VERDICT_LINEAR;
    bool is_even =
        v->unevenness < 3 &&
        v->gaps < GAPS_MOST; /* oscillations stand out; one in 1000 walks has 2.6 or more */
    bool goes_on = v->rest_for < settled && !jumps;
    if (v->exponent < -1 && v->exponent > -3 && is_even && sqrt(v->walk) > v->rest && goes_on)
        return NH_VERDICT_RANDOM_WALK;
    if (!keeps_growing(v))
        return NH_VERDICT_BOUNDED;
    return v->rest < v->total && !jumps ? NH_VERDICT_LINEAR : NH_VERDICT_UNKNOWN;
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

/* The largest and the mean of |y - from| over the last eighth of the series. */
static double end_of(const double *y, int64_t count, double from, double *mean)
{
    int64_t first = count - (count + 7) / 8;
    double largest = 0;
    *mean = 0;
    for (int64_t i = first; i < count; i++) {
        largest = fmax(largest, fabs(y[i] - from));
        *mean += fabs(y[i] - from) / (double)(count - first);
    }
    return largest;
}

/* Whether the quantity has vanished, or has an error of its own size without growing. */
static bool is_lost(const nh_judgement *j, const double *y, int64_t count, double start,
                    double size)
{
    double mean, left = end_of(y, count, -start, &mean);
    bool was_there = fabs(start) > 1e-3 * size && size > 0;
    if (was_there && left < 1e-3 * fabs(start))
        return true;
    end_of(y, count, 0, &mean);
    bool grows = j->verdict == NH_VERDICT_LINEAR || j->verdict == NH_VERDICT_EXPONENTIAL;
    return size > 0 && !grows && mean > 0.5 * size;
}

static void describe(nh_judgement *j, double round_off)
{
    switch (j->verdict) {
    case NH_VERDICT_ROUND_OFF:
        nh_print(j->text, sizeof j->text, "round-off, at most %.2g", j->largest);
        break;
    case NH_VERDICT_BOUNDED:
        nh_print(j->text, sizeof j->text, "bounded by %.3g", j->largest);
        break;
    case NH_VERDICT_LINEAR:
        nh_print(j->text, sizeof j->text, "drifts by %.3g per unit of time", j->rate);
        break;
    case NH_VERDICT_EXPONENTIAL:
        nh_print(j->text, sizeof j->text, "grows exponentially, tenfold in %.3g",
                 log(10) / j->rate);
        break;
    case NH_VERDICT_RANDOM_WALK:
        nh_print(j->text, sizeof j->text, "random walk, about %.2g sqrt(t)", j->rate);
        break;
    case NH_VERDICT_NOT_FINITE:
        snprintf(j->text, sizeof j->text, "not finite");
        break;
    case NH_VERDICT_UNKNOWN:
        nh_print(j->text, sizeof j->text, "unclear, at most %.3g%s", j->largest,
                 j->largest <= round_off ? " (round-off)" : "");
        break;
    case NH_VERDICT_LOST:
        nh_print(j->text, sizeof j->text,
                 "lost: the error is as large as the quantity itself, %.3g", j->largest);
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

nh_judgement nh_judge_quantity(const double *x, const double *y, int64_t count, double start,
                               double size, double round_off)
{
    nh_judgement j = nh_judge(x, y, count, round_off);
    bool told = j.verdict != NH_VERDICT_ROUND_OFF && j.verdict != NH_VERDICT_NOT_FINITE;
    if (told && count > 1 && is_lost(&j, y, count, start, size)) {
        j.verdict = NH_VERDICT_LOST;
        j.rate = j.rate_error = NAN;
        describe(&j, round_off);
    }
    return j;
}

nh_walk nh_fit_walk(const double *x, const double *mean_square, int64_t count)
{
    double xx = 0, xy = 0, left = 0;
    nh_trend logs = {0};
    for (int64_t i = 0; i < count; i++) {
        xx += x[i] * x[i];
        xy += x[i] * mean_square[i];
        /* on a logarithmic scale, early times have as much weight as late ones, but are mostly
         * oscillation */
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
