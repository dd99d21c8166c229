/* What the general kernels of several methods share, compiled once for each variant: Newton's
 * method, and steps with conditions on positions. */
#define NH_SHARED_HERE
#include "kernel/newton.h"
#include "method/surface.h"
