/* Which steps of several groups of lanes become one stretch of code (abreast.h), where NH_ABREAST
 * is defined. It stands before all functions, as it changes how they are compiled.
 *
 * A method whose step has no branches but those of sines says so by defining STRAIGHT before it
 * includes kernel.h, as a condition for #if. Steps without sines gain nothing, as the processor
 * finds enough to do in them by itself, nor do long ones, for want of registers. NH_OPERATIONS is
 * how many the system's functions have, NH_SINES how many of them are sines; without them there are
 * others that branch. */
#ifndef NH_KERNEL_STRAIGHT_H
#define NH_KERNEL_STRAIGHT_H

#if defined(NH_OPERATIONS) && defined(STRAIGHT)
#if STRAIGHT && NH_SINES > 0 && NH_OPERATIONS <= 64
#define NH_ABREAST 1
/* gcc would keep constants in registers from one step to the next, and spill others for them: 6 to
 * 20% of the time. Other kernels gain from it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse")
#endif
#endif
#endif

#endif
