/* What verdicts on errors are made of. */
#ifndef NH_ANALYSIS_VERDICT_H
#define NH_ANALYSIS_VERDICT_H

#include <nonholo_analysis.h>

/* Classifies the error y(x); errors below `round_off` are considered round-off. */
nh_judgement nh_judge(const double *x, const double *y, int64_t count, double round_off);

/* Replaces y at each point by its mean over an interval of length `window` in x around the point;
 * points closer to an end than half a window are omitted. x must be increasing. Returns the number
 * of points written to mean_x and mean_y[count]. */
int64_t nh_running_mean(const double *x, const double *y, int64_t count, double window,
                        double *mean_x, double *mean_y);

/* Fits a mean square that grows like rate*x, by least squares through the origin. `exponent` is
 * that of the power x^exponent that fits best: 1 for a random walk, 2 for a common drift, 0 for a
 * bounded error. */
typedef struct nh_walk {
    double rate, rate_error, exponent;
} nh_walk;
nh_walk nh_fit_walk(const double *x, const double *mean_square, int64_t count);

#endif
