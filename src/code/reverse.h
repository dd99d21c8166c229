/* Derivatives of a function backwards: from those by its results to those by its arguments. */
#ifndef NH_CODE_REVERSE_H
#define NH_CODE_REVERSE_H

#include "code/tape.h"

/* A tape of the same arguments and of weights w[tape->outputs], arguments of the given kind from
 * `first_weight` on. Its results are the derivatives of the sum of w_i times result i by each of
 * tape->input. NULL if out of memory. */
nh_tape *nh_tape_reverse(const nh_tape *tape, nh_input kind, uint32_t first_weight);

#endif
