/* Sources that are kept as text in the library, for emitted kernels; written by tools/embed.py. */
#ifndef NH_METHOD_EMBEDDED_H
#define NH_METHOD_EMBEDDED_H

#include "mechanics/mechanics.h"

const char *nh_embedded_kernel(const char *file); /* NULL for unknown names */

/* The functions of the system that a method's source calls, with its headers. */
nh_fn_set nh_embedded_calls(const char *file);
/* ... and those of them that it calls at four points at once. */
nh_fn_set nh_embedded_point_calls(const char *file);

#endif
