/* Series of numbers, small enough for a page: rounded to a step, as differences from the straight
 * continuation of the two values before, in base64. scene.js reads them (unpack). */
#ifndef NH_OUTPUT_PACKED_H
#define NH_OUTPUT_PACKED_H

#include "base/status.h"
#include "base/text.h"

/* Adds {"count":..,"from":..,"step":..,"data":".."}; values that are no numbers become gaps.
 * `stride` numbers lie from one value to the next. */
void nh_pack(nh_text *text, const double *value, int64_t count, int64_t stride, double step);

#endif
