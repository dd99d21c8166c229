/* A monotonic clock. */
#ifndef NH_BASE_CLOCK_H
#define NH_BASE_CLOCK_H

double nh_clock_seconds(void);

#endif
