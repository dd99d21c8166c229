/* The slope of a time series, insensitive to oscillations.
 *
 * The plain least-squares slope is the mean of y' with the weight 6 u (1 - u), u in [0, 1], which
 * has corners at the ends: an oscillation a cos(w t) adds up to 12 a/(w T^2) to it, depending on
 * where in its period the series begins and ends. Here points have the weight sin^4(pi u), which
 * vanishes smoothly at both ends, and the same oscillation adds only terms of order (w T)^-5, which
 * are negligible for more than about five periods. Slope and intercept of a straight line are still
 * exact; if the residuals are independent noise, the standard deviation is 2.1 times as large.
 *
 * The error is estimated from the residuals e_i. With slope = sum g_i y_i, the terms g_i e_i are
 * summed over blocks, and the squares of the sums and the products of adjacent ones give the
 * variance (Newey and West): correlated noise is fully taken into account, while an oscillation
 * cancels within the blocks. */
#include "analysis/slope.h"

#include <math.h>

enum { BLOCKS = 64, LAGS = 4 };

static const double half_pi = 1.57079632679489661923;

/* The position of the i-th point in (0, 1): each is the centre of a piece of equal length. */
static double place_of(const double *x, int64_t count, int64_t i)
{
    double whole = (x[count - 1] - x[0]) * (double)count / (double)(count - 1);
    return (x[i] - x[0]) / whole + 0.5 / (double)count;
}

static double weight_at(const double *x, int64_t count, int64_t i)
{
    double s = sin(2 * half_pi * place_of(x, count, i));
    return s * s * s * s;
}

/* Distributes a term of the slope at u in (0, 1) over the two nearest blocks, with weights that
 * change smoothly from one block to the next, so that oscillations cancel within them. */
static void share_out(double term, double u, int blocks, double *sum)
{
    double place = u * blocks - 0.5, below = floor(place), s = sin(half_pi * (place - below));
    int b = (int)below;
    sum[b < 0 ? 0 : b] += (1 - s * s) * term;
    sum[b + 1 < blocks ? b + 1 : blocks - 1] += s * s * term;
}

/* The variance of the sum over all blocks, from the blocks and their neighbours, with Bartlett's
 * weights, which keep it positive. For independent terms it would give 19/20, since each term is in
 * two blocks. */
static double variance_of_blocks(const double *sum, int blocks)
{
    double variance = 0;
    for (int lag = 0; lag <= LAGS; lag++)
        for (int b = 0; b + lag < blocks; b++)
            variance += (lag ? 2 : 1) * (1 - lag / (LAGS + 1.0)) * sum[b] * sum[b + lag];
    return fmax(variance, 0) / 0.95;
}

/* g_i = weight_i (x_i - mean) scale: slope = sum g_i y_i. False when there is no line. */
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
        tail += g; /* the contribution of one increment of a walk, up to its sign */
        s.walk += tail * tail;
    }
    s.line.intercept = y[0] + mean_y / sum - s.line.slope * mean_x;
    if (count < 3)
        return s;
    int blocks = count < BLOCKS ? (int)count : BLOCKS;
    for (int64_t i = 0; i < count; i++) {
        double left = y[i] - s.line.intercept - s.line.slope * x[i];
        share_out(weight_at(x, count, i) * (x[i] - mean_x) * scale * left, place_of(x, count, i),
                  blocks, sums);
    }
    s.line.slope_error = sqrt(variance_of_blocks(sums, blocks));
    return s;
}

nh_line nh_fit_slope(const double *x, const double *y, int64_t count)
{
    return nh_slope_of(x, y, count).line;
}
