/* How a SPARK method declares its kernel: SPARK_KERNEL(name), after the sizes that spark_step.h
 * needs, as far as they are not the usual ones: STAGES (the first option), BETWEEN (0), SPLIT (0).
 * REFINED_KERNEL(name) declares a general kernel whose steps are divided into parts (refined.h).
 *
 * In an emitted kernel the step is compiled for the method, with its sizes as constants. All SPARK
 * methods share one general kernel (spark.c), which reads the sizes at run time. */
#ifndef NH_METHOD_SPARK_H
#define NH_METHOD_SPARK_H

#ifdef NH_EMITTED
#include "method/spark_step.h"
#define SPARK_KERNEL(name) KERNEL(name, start, step)
#else
#include "kernel/kernel_io.h"
#define SPARK_START OF_VARIANT(nh_spark_start)
#define SPARK_ADVANCE OF_VARIANT(nh_spark_advance)
#define REFINED_START OF_VARIANT(nh_refined_start)
#define REFINED_ADVANCE OF_VARIANT(nh_refined_advance)
int SPARK_START(nh_kernel_io *io);
int SPARK_ADVANCE(nh_kernel_io *io, int groups, long long steps);
int REFINED_START(nh_kernel_io *io);
int REFINED_ADVANCE(nh_kernel_io *io, int groups, long long steps);
#define SPARK_KERNEL(name)                                                                         \
    const nh_kernel OF_VARIANT(nh_kernel_##name) = {SPARK_START, SPARK_ADVANCE, NH_KERNEL_TEAM}
#define REFINED_KERNEL(name)                                                                       \
    const nh_kernel OF_VARIANT(nh_kernel_##name) = {REFINED_START, REFINED_ADVANCE, NH_KERNEL_TEAM}
#endif

#endif
