/* All lanes of a group at once (lanes.c): NH_LANES trajectories side by side, a row of NH_LANES
 * numbers for each number of a state. Only where kernels have so many lanes. */
#ifndef NH_RUN_LANES_H
#define NH_RUN_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run.h"

void nh_lanes_save(double *to, const double *from, size_t rows);
/* False where a number is not finite, or some are so large that their sum is not. The numbers lie
 * anywhere. */
bool nh_lanes_finite(const double *from, size_t rows);
/* The same of any number of numbers, on every machine. */
bool nh_numbers_finite(const double *x, size_t count);
/* Some rows of the groups' blocks, those of a group behind those of the one before. */
void nh_lanes_note(double *to, const group *first, int count, size_t row, size_t rows);
/* Sets a row: one number of each member, `stride` apart in `value`. */
void nh_lanes_put(double *row, const double *value, size_t stride);
/* Coordinates, with full revolutions, and velocities of some groups: shape->n for each member.
 * Returns what nh_lanes_finite does. */
bool nh_lanes_show(const nh_shape *shape, const group *first, int count, double *q, double *v);

#endif
