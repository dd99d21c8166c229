/* Decides which steps of several groups of lanes become one stretch of code (abreast.h); NH_ABREAST
 * is defined for these. This header comes before all functions because it changes how they are
 * compiled.
 *
 * A method whose step has no branches except those of sines says so by defining STRAIGHT, a
 * condition for #if, before it includes kernel.h. Steps without sines gain nothing, because the
 * processor finds enough to do in them by itself; nor do long ones, for lack of registers.
 * NH_OPERATIONS is the number of operations in the system's functions, NH_SINES how many of them
 * are sines; both are undefined if there are other operations that branch. */
#ifndef NH_KERNEL_STRAIGHT_H
#define NH_KERNEL_STRAIGHT_H

#if defined(NH_OPERATIONS) && defined(STRAIGHT)
#if STRAIGHT && NH_SINES > 0 && NH_OPERATIONS <= 64
#define NH_ABREAST 1
/* gcc would keep constants in registers from one step to the next and spill other values for them,
 * which costs 6 to 20% of the time. Other kernels gain from it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse")
#endif
#endif
#endif

#endif
