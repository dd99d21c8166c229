/* Which points of a curve are drawn where it has more of them than a picture has pixels: what is
 * drawn covers what was computed. Angles are wrapped before anything else, and a curve is
 * interrupted where one wraps or a value is not finite. */
#ifndef NH_OUTPUT_THIN_H
#define NH_OUTPUT_THIN_H

#include "base/status.h"

#include <nonholo.h>

typedef struct nh_points {
    const double *x, *y;
    int64_t stride_x, stride_y; /* from one value to the next */
    int64_t count;
    bool x_turns, y_turns; /* angles, which are drawn between -pi and pi */
    bool x_log;
    bool dots; /* no lines from one to the next */
} nh_points;

enum { NH_GAP = -1 };

/* Points by their numbers, in the order of drawing, with NH_GAP where the line is interrupted. */
typedef struct nh_kept {
    int64_t *point, count, room;
} nh_kept;

double nh_wrapped(double angle); /* between -pi and pi */

/* A function, that is, x does not decrease: of each of so many columns of pixels, the first and the
 * last point and those with the least and the greatest value. Both append to `kept`, which the
 * caller frees with nh_kept_free, also after a failure. */
nh_status nh_thin_function(nh_kept *kept, const nh_points *points, int columns, nh_report *report);

/* A path that may go anywhere: every stretch that reaches a pixel which nothing before it has
 * reached; `pixels` is the number of them across and up. */
nh_status nh_thin_path(nh_kept *kept, const nh_points *points, int pixels, nh_report *report);

void nh_kept_free(nh_kept *kept);

#endif
