/* The general kernel of all SPARK methods; their descriptors supply the sizes (spark_table.h). */
#define STAGES (k->size[0])
#define BETWEEN (k->size[1])
#define SPLIT (k->size[2])
#define REMEMBERED (k->size[3])
#include "method/refined.h"
#include "method/spark.h"
#include "method/spark_step.h"

KERNEL_FUNCTIONS(start, step)
KERNEL_FUNCTIONS(begin_refined, refined)

int SPARK_START(nh_kernel_io *io)
{
    return start_step(io);
}

int SPARK_ADVANCE(nh_kernel_io *io, int groups, long long steps)
{
    return advance_step(io, groups, steps);
}

int REFINED_START(nh_kernel_io *io)
{
    return start_refined(io);
}

int REFINED_ADVANCE(nh_kernel_io *io, int groups, long long steps)
{
    return advance_refined(io, groups, steps);
}
