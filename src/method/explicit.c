/* The general kernel of all explicit methods; their descriptors supply the sizes, and their tables
 * the other numbers (explicit_table.h). */
#define STAGES (k->size[0])
#define EXTRA (k->size[1])
#define MORE_TERMS (k->size[2])
#define ESTIMATES (k->size[3])
#define ERROR_ORDER (k->size[4])
#define SPARE (k->size[5])
#define HERMITE_NODE (TABLE[CONTROLS + 2])
#include "method/explicit.h"
#include "method/explicit_own.h"

KERNEL_FUNCTIONS(start, step)

int EXPLICIT_START(nh_kernel_io *io)
{
    return start_step(io);
}

int EXPLICIT_ADVANCE(nh_kernel_io *io, int groups, long long steps)
{
    return advance_step(io, groups, steps);
}
