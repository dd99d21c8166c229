/* Series of numbers in compact form, for pages: rounded to multiples of a step, stored as
 * differences from the linear extrapolation of the two previous values, in base64. scene.js reads
 * them (unpack). */
#ifndef NH_OUTPUT_PACKED_H
#define NH_OUTPUT_PACKED_H

#include <stdint.h>

#include "base/text.h"

/* Adds {"count":..,"from":..,"step":..,"data":".."}; NaN become gaps. Consecutive values are
 * `stride` numbers apart. */
void nh_pack(nh_text *text, const double *value, int64_t count, int64_t stride, double step);

#endif
