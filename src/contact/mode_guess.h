/* The mode of a problem with many undecided items, by linear complementarity. */
#ifndef NH_CONTACT_MODE_GUESS_H
#define NH_CONTACT_MODE_GUESS_H

#include "contact/modes.h"

/* Guess number `round` (from 0): exact for grips of one component; cones are pyramids, with twice
 * as many faces in each round. False if the method finds nothing or memory is short. */
bool nh_mode_guess(const nh_mode_problem *problem, int round, unsigned char *mode);

#endif
