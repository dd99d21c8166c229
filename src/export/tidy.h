/* Shorter forms of expressions, for readers: sums of products of sines and cosines that are one
 * product. What a run computes is left as it is. */
#ifndef NH_EXPORT_TIDY_H
#define NH_EXPORT_TIDY_H

#include "model/graph.h"

/* Replaces each expression by a shorter one of the same value:
 *     sin(a)^2 + cos(a)^2 = 1,  1 - sin(a)^2 = cos(a)^2,
 *     cos(a)*cos(b) + sin(a)*sin(b) = cos(a - b), and the other three of this kind,
 * times any common factor. False if out of memory. */
bool nh_tidy(nh_graph *g, nh_expr *list, size_t count);

#endif
