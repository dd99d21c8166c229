/* The number of processors on which the operating system lets this process run. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <sched.h>

int nh_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}
