/* The slope of a time series (slope.c), and the standard deviation of that slope for two kinds of
 * noise. */
#ifndef NH_ANALYSIS_SLOPE_H
#define NH_ANALYSIS_SLOPE_H

#include <nonholo_analysis.h>

#include "base/status.h"

typedef struct nh_slope {
    nh_line line;
    double noise; /* the slope's variance, if y is independent noise of variance 1 */
    double walk;  /* and if y is a random walk whose steps have variance 1 */
} nh_slope;

/* x increases; the points are about equally spaced. */
nh_slope nh_slope_of(const double *x, const double *y, int64_t count);

#endif
