/* Derivatives of a function forwards: along one direction in each lane. */
#ifndef NH_CODE_FORWARD_H
#define NH_CODE_FORWARD_H

#include "code/tape.h"

/* A tape over numbers that are a value, the same in all lanes, followed by its derivatives in as
 * many directions as there are lanes (kernel/dual.h): number i of the tape's arguments and results
 * becomes numbers 2i and 2i + 1. The time is number `inputs` of NH_U. The values are computed by
 * the same operations. `in_place`: as for nh_tape_lower. NULL if out of memory. */
nh_tape *nh_tape_forward(const nh_tape *tape, uint32_t inputs, bool in_place);

#endif
