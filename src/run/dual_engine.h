/* Functions of a system over values with derivatives (kernel/dual.h). Numbers are NH_DUAL_PLACES
 * doubles: a value and its derivatives. */
#ifndef NH_RUN_DUAL_ENGINE_H
#define NH_RUN_DUAL_ENGINE_H

#include "method/dual_kernels.h"
#include "run/run.h"

/* NH_NOT_APPLICABLE if this build or this system has no derivatives. */
nh_status nh_dual_check(const nh_system *system, nh_report *report);
/* An engine that calls these functions; nh_engine_free in any case. */
nh_status nh_dual_engine(engine *e, const nh_system *system, nh_fn_set functions,
                         nh_report *report);

/* Evaluates a function of (q[n], v[n], u[inputs]), the parts of z, and its derivatives in `count`
 * directions of the same form: out[outputs], change[count][outputs]; either may be NULL. */
nh_status nh_dual_values(engine *e, const nh_system *system, nh_fn fn, double t, const double *z,
                         const double *direction, int count, double *out, double *change,
                         nh_report *report);

#endif
