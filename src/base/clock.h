/* Clocks. */
#ifndef NH_BASE_CLOCK_H
#define NH_BASE_CLOCK_H

double nh_clock_seconds(void); /* a monotonic one */
double nh_clock_cpu(void);     /* of the processor, spent by the calling thread */

#endif
