/* Operations on all lanes of a group at once (lanes.c): NH_LANES trajectories side by side, with a
 * row of NH_LANES numbers for each number of a state. Only used where kernels have that many
 * lanes. */
#ifndef NH_RUN_LANES_H
#define NH_RUN_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run.h"

void nh_lanes_save(double *to, const double *from, size_t rows);
/* False if a number is not finite, or if some are so large that their sum is not. The numbers need
 * no alignment. */
bool nh_lanes_finite(const double *from, size_t rows);
/* The same for any number of values, on every machine. */
bool nh_numbers_finite(const double *x, size_t count);
/* Copies some rows of the blocks of several groups, one group after the other. */
void nh_lanes_note(double *to, const group *first, int count, size_t row, size_t rows);
/* Sets a row: one number of each member, which are `stride` apart in `value`. */
void nh_lanes_put(double *row, const double *value, size_t stride);
/* Coordinates, with full revolutions, and velocities of some groups: shape->n for each member.
 * Returns what nh_lanes_finite does. */
bool nh_lanes_show(const nh_shape *shape, const group *first, int count, double *q, double *v);

#endif
