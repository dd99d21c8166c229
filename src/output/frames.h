/* The frames of an animation: the numbers of a model's drawing along a recorded trajectory, reduced
 * to as few frames as look the same. */
#ifndef NH_OUTPUT_FRAMES_H
#define NH_OUTPUT_FRAMES_H

#include "base/text.h"
#include "output/record.h"

/* Adds {"t":..,"channels":[..]} (packed.h). Straight lines between the frames that are kept are
 * within a fraction of a pixel of what was recorded; if the frames would take more than `most`
 * bytes, a larger error is allowed. */
nh_status nh_frames_put(nh_text *text, const nh_record *record, size_t most, nh_report *report);

#endif
