/* The pendulum CVT and the chaotic particle as a user would give them in C. */
#ifndef BENCH_USER_H
#define BENCH_USER_H

#include <nonholo.h>

extern const nh_functions user_cvt, user_chaotic;

#endif
