/* The slope of a series in time, free of its oscillations.
 *
 * The plain least-squares slope is the mean of y' with the weight 6 u (1 - u), u in [0, 1], which
 * has corners at the ends: an oscillation a cos(w t) adds up to 12 a/(w T^2) to it, depending on
 * where in its period the series begins and ends. Here points have the weight sin^4(pi u), which
 * vanishes smoothly at both ends, and the same oscillation adds only terms of order (w T)^-6:
 * nothing to speak of from some five periods on. Slope and intercept of a straight line are still
 * exact; where what is left beside the line is independent noise, the price is a standard
 * deviation 2.1 times as large.
 *
 * The error is estimated from what is left, e_i. With slope = sum g_i y_i, the terms g_i e_i are
 * summed over blocks, and the sums and their neighbours' products give the variance (Newey and
 * West): noise that is correlated counts in full, an oscillation within the blocks cancels. */
#include "observe/slope.h"

#include <math.h>

enum { BLOCKS = 64, LAGS = 4 };

/* Where the i-th point lies in (0, 1): each has the same piece of the interval around it. */
static double weight_at(const double *x, int64_t count, int64_t i)
{
    const double pi = 3.14159265358979323846;
    double whole = (x[count - 1] - x[0]) * (double)count / (double)(count - 1);
    double piece = whole / (double)count;
    double s = sin(pi * (x[i] - x[0] + 0.5 * piece) / whole);
    return s * s * s * s;
}

/* Sums over the blocks and their neighbours, with Bartlett's weights, which keep the sum positive.
 */
static double variance_of_blocks(const double *sum, int blocks)
{
    double variance = 0;
    for (int lag = 0; lag <= LAGS; lag++)
        for (int b = 0; b + lag < blocks; b++)
            variance += (lag ? 2 : 1) * (1 - lag / (LAGS + 1.0)) * sum[b] * sum[b + lag];
    return fmax(variance, 0);
}

/* weight[count] gets g_i: slope = sum g_i y_i. False when there is no line. */
static bool slope_weights(const double *x, int64_t count, double *mean_x, double *scale)
{
    double sum = 0, first = 0, square = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = weight_at(x, count, i);
        sum += w;
        first += w * (x[i] - x[0]);
    }
    *mean_x = x[0] + first / sum;
    for (int64_t i = 0; i < count; i++)
        square += weight_at(x, count, i) * (x[i] - *mean_x) * (x[i] - *mean_x);
    *scale = 1 / square;
    return square > 0 && isfinite(*scale);
}

nh_slope nh_slope_of(const double *x, const double *y, int64_t count)
{
    nh_slope s = {.line = {NAN, NAN, NAN}};
    double mean_x, scale, sum = 0, mean_y = 0, sums[BLOCKS] = {0}, tail = 0;
    if (count < 2 || !(x[count - 1] > x[0]) || !slope_weights(x, count, &mean_x, &scale))
        return s;
    s.line.slope = 0;
    for (int64_t i = 0; i < count; i++) {
        double w = weight_at(x, count, i), g = w * (x[i] - mean_x) * scale;
        s.line.slope += g * (y[i] - y[0]);
        sum += w;
        mean_y += w * (y[i] - y[0]);
        s.noise += g * g;
        tail += g; /* what an increment of a walk adds, up to the sign */
        s.walk += tail * tail;
    }
    s.line.intercept = y[0] + mean_y / sum - s.line.slope * mean_x;
    if (count < 3)
        return s;
    int blocks = count < BLOCKS ? (int)count : BLOCKS;
    for (int64_t i = 0; i < count; i++) {
        double left = y[i] - s.line.intercept - s.line.slope * x[i];
        sums[i * blocks / count] += weight_at(x, count, i) * (x[i] - mean_x) * scale * left;
    }
    s.line.slope_error = sqrt(variance_of_blocks(sums, blocks));
    return s;
}

nh_line nh_fit_slope(const double *x, const double *y, int64_t count)
{
    return nh_slope_of(x, y, count).line;
}
