/* What the general kernels of several methods share, compiled once for each variant: Newton's
 * method, steps with conditions on positions, and Newmark's method on rotations. */
#define NH_SHARED_HERE
#include "kernel/newton.h"
#include "method/lie_newmark.h"
#include "method/surface.h"
