/* How a SPARK method gets its kernel: SPARK_KERNEL(name), after the sizes that spark_step.h asks
 * for.
 *
 * In an emitted kernel the step is compiled for the method, with its sizes as constants. The
 * general kernels of all SPARK methods are one (spark.c), which reads the sizes at run time. */
#ifndef NH_METHOD_SPARK_H
#define NH_METHOD_SPARK_H

#ifdef NH_EMITTED
#include "method/spark_step.h"
#define SPARK_KERNEL(name) KERNEL(name, start, step)
#else
#include "kernel/kernel_io.h"
#define SPARK_PASTE2(name, variant) name##_##variant
#define SPARK_PASTE(name, variant) SPARK_PASTE2(name, variant)
#define SPARK_START SPARK_PASTE(nh_spark_start, NH_VARIANT)
#define SPARK_ADVANCE SPARK_PASTE(nh_spark_advance, NH_VARIANT)
int SPARK_START(nh_kernel_io *io);
int SPARK_ADVANCE(nh_kernel_io *io, int groups, long long steps);
#define SPARK_KERNEL(name)                                                                         \
    const nh_kernel SPARK_PASTE(nh_kernel_##name, NH_VARIANT) = {SPARK_START, SPARK_ADVANCE}
#endif

#endif
