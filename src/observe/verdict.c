/* What became of an error in time: bounded, drifting, wandering off.
 *
 * The series is cut into BLOCKS stretches. Their means b_i are free of fast oscillations, and three
 * things tell them apart:
 *
 *     the line through the b_i, and what is left beside it;
 *     whether they wander: D(L) = mean of (b_{i+L} - b_i)^2 grows like L (not L^0: noise), one step
 * from b_i to b_{i+1} says little about the next (slow oscillations go on as they went), and the
 * whole has a wider range than its quarters; the line through log max |y| of each stretch, for
 * exponential growth.
 *
 * A random walk lies near a line more often than one would think, but what is left beside that line
 * is a random walk again, while beside a drift only oscillations are left. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/status.h"

enum {
    BLOCKS = 64,
    POINTS_LEAST = 3 * BLOCKS,
    WALK_LEAST =
        16 *
        BLOCKS /* with fewer points, oscillations are in the means still and look like a walk */
};

typedef struct blocks {
    double x[BLOCKS], mean[BLOCKS], top[BLOCKS]; /* top: the largest |y| */
    double width; /* of the oscillations: the range within a block, in the mean */
    int count;
    int64_t points;
} blocks;

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

/* ---- what the blocks say ------------------------------------------------------------------- */

static double range(const double *b, int64_t count)
{
    double least = INFINITY, greatest = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        least = fmin(least, b[i]);
        greatest = fmax(greatest, b[i]);
    }
    return greatest - least;
}

static void cut(blocks *b, const double *x, const double *y, int64_t count)
{
    b->count = BLOCKS;
    b->points = count;
    b->width = 0;
    for (int i = 0; i < BLOCKS; i++) {
        int64_t first = count * i / BLOCKS, end = count * (i + 1) / BLOCKS;
        b->x[i] = b->mean[i] = b->top[i] = 0;
        b->width += range(y + first, end - first) / BLOCKS;
        for (int64_t j = first; j < end; j++) {
            b->x[i] += x[j] / (double)(end - first);
            b->mean[i] += y[j] / (double)(end - first);
            b->top[i] = fmax(b->top[i], fabs(y[j]));
        }
    }
}

/* The share of the variance that the line explains, and what is left beside it. */
static double explained(const double *x, const double *y, int count, nh_line *line, double *rest)
{
    nh_trend trend = {0};
    double left = 0;
    for (int i = 0; i < count; i++)
        nh_trend_add(&trend, x[i], y[i]);
    *line = nh_trend_line(&trend);
    for (int i = 0; i < count; i++) {
        rest[i] = y[i] - line->intercept - line->slope * x[i];
        left += rest[i] * rest[i];
    }
    return trend.yy > 0 ? 1 - left / trend.yy : 0;
}

/* The power of L with which D(L) grows, from L = 1 to 8. */
static double wandering(const double *b, int count)
{
    nh_trend trend = {0};
    for (int lag = 1; lag <= 8; lag *= 2) {
        double sum = 0;
        for (int i = 0; i + lag < count; i++)
            sum += (b[i + lag] - b[i]) * (b[i + lag] - b[i]);
        nh_trend_add(&trend, log(lag), log(fmax(sum / (count - lag), DBL_MIN)));
    }
    return nh_trend_line(&trend).slope;
}

/* How much one difference of neighbours says about the next: -1/2 for noise, 1/4 for the means of a
 * walk, near 1 for what is smooth. */
static double persistence(const double *b, int count)
{
    double mean = (b[count - 1] - b[0]) / (count - 1), product = 0, square = DBL_MIN;
    for (int i = 0; i + 1 < count; i++) {
        double step = b[i + 1] - b[i] - mean;
        square += step * step;
        if (i + 2 < count)
            product += step * (b[i + 2] - b[i + 1] - mean);
    }
    return product / square;
}

/* A walk is as restless in every quarter; what settles down, or begins slowly, is none. */
static bool walks(const double *b, int count)
{
    double quarters = 0, least = INFINITY, most = 0, next = persistence(b, count);
    for (int i = 0; i < 4; i++) {
        double one = range(b + count * i / 4, count / 4);
        quarters += one / 4;
        least = fmin(least, one);
        most = fmax(most, one);
    }
    return wandering(b, count) > 0.5 && next > -0.25 && next < 0.65 &&
           range(b, count) > 1.3 * quarters && least > 0.1 * most;
}

/* Growth by a steady factor: the logarithm of the heights is a line, over a factor of 30 or more,
 * and a better one than the heights themselves and than their roots, which a square would make a
 * line of. */
static bool is_exponential(const blocks *b, nh_line *line)
{
    double logs[BLOCKS], roots[BLOCKS], rest[BLOCKS];
    nh_line straight;
    for (int i = 0; i < b->count; i++) {
        logs[i] = log(fmax(b->top[i], DBL_MIN));
        roots[i] = sqrt(b->top[i]);
    }
    double of_logs = explained(b->x, logs, b->count, line, rest);
    double of_heights = explained(b->x, b->top, b->count, &straight, rest);
    double of_roots = explained(b->x, roots, b->count, &straight, rest);
    double rise = line->slope * (b->x[b->count - 1] - b->x[0]);
    return rise > log(30) && of_logs > 0.9 && of_logs > of_heights && of_logs > of_roots;
}

/* The standard deviation of a walk after one unit of x, from the steps between neighbouring blocks.
 * The difference of the means of two neighbouring stretches of a walk has 2/3 of the variance of a
 * step from middle to middle. */
static double walk_rate(const blocks *b)
{
    double sum = 0;
    for (int i = 0; i + 1 < b->count; i++)
        sum += (b->mean[i + 1] - b->mean[i]) * (b->mean[i + 1] - b->mean[i]);
    return sqrt(1.5 * sum / (b->x[b->count - 1] - b->x[0]));
}

/* Growth that is no line and no exponential, like t^2: what is bounded has shown its size half way.
 */
static bool keeps_growing(const blocks *b)
{
    double first = 0, second = 0;
    for (int i = 0; i < b->count; i++)
        *(i < b->count / 2 ? &first : &second) = fmax(i < b->count / 2 ? first : second, b->top[i]);
    return second > 2.5 * first;
}

/* Whether nearly all differences of neighbours have one sign: half of a walk's have. */
static bool goes_one_way(const blocks *b)
{
    int up = 0;
    for (int i = 0; i + 1 < b->count; i++)
        up += b->mean[i + 1] > b->mean[i];
    return up > 0.8 * (b->count - 1) || up < 0.2 * (b->count - 1);
}

/* Of an error that is neither round-off nor exponential. */
static nh_verdict tell_apart(const blocks *b, nh_line *line)
{
    double rest[BLOCKS];
    double share = explained(b->x, b->mean, b->count, line, rest);
    double next = persistence(rest, b->count);
    if (share > 0.9 && (!walks(rest, b->count) || share > 0.999))
        return NH_VERDICT_LINEAR;
    /* a drift under oscillations; slow ones, of which there are few periods, do not count as one */
    if (share > 0.5 && !walks(rest, b->count) && next < 0.65)
        return NH_VERDICT_LINEAR;
    if (share > 0.5 && goes_one_way(b))
        return NH_VERDICT_LINEAR;
    /* a walk must lead out of the oscillations, whose means may wander within them as the blocks
     * cut them */
    bool leads_out = range(b->mean, b->count) > 0.5 * b->width;
    if (b->points >= WALK_LEAST && leads_out && walks(b->mean, b->count))
        return NH_VERDICT_RANDOM_WALK;
    return share > 0.5 && keeps_growing(b) ? NH_VERDICT_LINEAR : NH_VERDICT_BOUNDED;
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
    nh_line line = {NAN, NAN, NAN};
    blocks b;
    j.line = nh_fit_slope(x, y, count);
    for (int64_t i = 0; i < count; i++)
        j.largest = isnan(j.largest) || fabs(y[i]) <= j.largest ? j.largest : fabs(y[i]);
    if (!isfinite(j.largest))
        j.verdict = NH_VERDICT_NOT_FINITE;
    else if (count > 0 && j.largest <= round_off)
        j.verdict = NH_VERDICT_ROUND_OFF;
    else if (count >= POINTS_LEAST) {
        cut(&b, x, y, count);
        j.verdict = is_exponential(&b, &line) ? NH_VERDICT_EXPONENTIAL : tell_apart(&b, &line);
        if (j.verdict == NH_VERDICT_RANDOM_WALK)
            j.rate = walk_rate(&b);
        else if (j.verdict != NH_VERDICT_BOUNDED) {
            j.rate = line.slope;
            j.rate_error = line.slope_error;
        }
    }
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
