/* How an explicit method declares its kernel: EXPLICIT_KERNEL(name), after the numbers that
 * explicit_layout.h needs.
 *
 * In an emitted kernel the step is compiled for the method, with these numbers as constants. All
 * explicit methods share one general kernel (explicit.c), which reads them at run time. */
#ifndef NH_METHOD_EXPLICIT_H
#define NH_METHOD_EXPLICIT_H

#ifdef NH_EMITTED
#include "method/explicit_own.h"
#define EXPLICIT_KERNEL(name) KERNEL(name, start, step)
#else
#include "kernel/kernel_io.h"
#define EXPLICIT_START OF_VARIANT(nh_explicit_start)
#define EXPLICIT_ADVANCE OF_VARIANT(nh_explicit_advance)
int EXPLICIT_START(nh_kernel_io *io);
int EXPLICIT_ADVANCE(nh_kernel_io *io, int groups, long long steps);
#define EXPLICIT_KERNEL(name)                                                                      \
    const nh_kernel OF_VARIANT(nh_kernel_##name) = {EXPLICIT_START, EXPLICIT_ADVANCE,              \
                                                    NH_KERNEL_TEAM}
#endif

#endif
