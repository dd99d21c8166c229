/* Functions of a system over values with derivatives (kernel/dual.h). A number is NH_DUAL_PLACES
 * doubles: its value NH_DUAL_FIRST times, and its derivatives. Behind the inputs there is room for
 * the time. */
#ifndef NH_RUN_DUAL_ENGINE_H
#define NH_RUN_DUAL_ENGINE_H

#include "method/dual_kernels.h"
#include "run/run.h"

/* NH_NOT_APPLICABLE if this build or this system has no derivatives. */
nh_status nh_dual_check(const nh_system *system, nh_report *report);
/* An engine that calls these functions, and those of a run's method, if there is one. Parameters
 * that are not `varied` (NULL: all are) are numbers. nh_engine_free in any case. */
nh_status nh_dual_engine(engine *e, const nh_system *system, nh_fn_set functions, const nh_run *run,
                         const bool *varied, nh_report *report);

/* Evaluates a function at numbers with derivatives, at a time with the derivatives `moves` (NULL:
 * none), which is put behind the inputs. */
void nh_dual_evaluate(const engine *e, nh_fn fn, size_t inputs, double t, const double *moves,
                      const double *q, const double *v, const double *x, double *out, double *u);

/* Evaluates a function of (q[n], v[n], u[inputs]), the parts of z, and its derivatives in `count`
 * directions of the same form: out[outputs], change[count][outputs]; either may be NULL. */
nh_status nh_dual_values(engine *e, const nh_system *system, nh_fn fn, double t, const double *z,
                         const double *direction, int count, double *out, double *change,
                         nh_report *report);

#endif
