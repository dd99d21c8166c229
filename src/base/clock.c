/* A monotonic clock, unaffected by changes of the time of day, and the time that a thread has spent
 * computing; in seconds. */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <time.h>

/* A page has no clock of its thread. */
static double read_clock(clockid_t clock)
{
    struct timespec now = {0};
    if (clock_gettime(clock, &now) != 0)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double nh_clock_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double nh_clock_cpu(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
