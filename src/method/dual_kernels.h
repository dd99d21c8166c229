/* Kernels over values with derivatives in NH_TANGENTS directions: see kernel/dual.h. A number is
 * NH_DUAL_PLACES doubles, its value and the derivatives. Their arguments are as for one lane of so
 * many numbers each; the interpreter is an nh_interpreter whose constants have derivatives 0. */
#ifndef NH_METHOD_DUAL_KERNELS_H
#define NH_METHOD_DUAL_KERNELS_H

#include "code/interpret.h"
#include "method/method.h"

#ifdef NH_TANGENTS
enum { NH_DUAL_PLACES = NH_TANGENTS + 1 };
#else
enum { NH_DUAL_PLACES = 2 }; /* sizes only: a build without a C++ compiler has no such kernels */
#endif

/* NULL: this build has none. */
const nh_kernel *nh_dual_kernel(const nh_method *method);
nh_call_fn *nh_dual_interpreter(void);
/* Over numbers that are recorded (kernel/recording.h), nh_recorded of code/recorder.h. */
const nh_kernel *nh_recording_kernel(const nh_method *method);

#endif
