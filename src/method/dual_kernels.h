/* Kernels over values with derivatives in NH_TANGENTS directions: see kernel/dual.h. A number is
 * NH_DUAL_PLACES doubles: its value as often as there are directions, and the derivatives. Their
 * arguments are as for one lane of so many numbers each, and their functions are tapes made by
 * nh_tape_forward. */
#ifndef NH_METHOD_DUAL_KERNELS_H
#define NH_METHOD_DUAL_KERNELS_H

#include "code/interpret.h"
#include "method/method.h"

#ifdef NH_TANGENTS
enum { NH_DUAL_WIDTH = NH_TANGENTS };
#else
enum { NH_DUAL_WIDTH = 4 }; /* sizes only: a build without a C++ compiler has no such kernels */
#endif
enum { NH_DUAL_FIRST = NH_DUAL_WIDTH, NH_DUAL_PLACES = 2 * NH_DUAL_WIDTH };

/* Gives a number a value, and leaves its derivatives as they are. */
static inline void nh_dual_set(double *number, double value)
{
    for (int i = 0; i < NH_DUAL_FIRST; i++)
        number[i] = value;
}

/* NULL: this build has none. */
const nh_kernel *nh_dual_kernel(const nh_method *method);
/* Over numbers that are recorded (kernel/recording.h), nh_recorded of code/recorder.h. */
const nh_kernel *nh_recording_kernel(const nh_method *method);

#endif
