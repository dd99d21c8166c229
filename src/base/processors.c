/* The processors on which the operating system lets this process run. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <sched.h>
#include <stdio.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int nh_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

#if defined(__x86_64__)
/* Family and model, and the instructions that it has. */
void nh_processor_kind(char text[NH_PROCESSOR_TEXT])
{
    unsigned kind = 0, ignored, features[4] = {0};
    __get_cpuid(1, &kind, &ignored, features, &ignored);
    if (__get_cpuid_max(0, NULL) >= 7)
        __cpuid_count(7, 0, ignored, features[1], features[2], features[3]);
    snprintf(text, NH_PROCESSOR_TEXT, "%x %x %x %x %x", kind, features[0], features[1], features[2],
             features[3]);
}
#else
void nh_processor_kind(char text[NH_PROCESSOR_TEXT])
{
    snprintf(text, NH_PROCESSOR_TEXT, "any");
}
#endif
