/* Quantities by name, as nh_system_quantity_name lists them (nonholo_analysis.h), along a run. */
#ifndef NH_ANALYSIS_QUANTITIES_H
#define NH_ANALYSIS_QUANTITIES_H

#include <nonholo_analysis.h>

typedef struct nh_watch nh_watch;

/* Prepares the evaluation of the named quantities along runs from `start` with this step. Returns
 * NH_BAD_ARGUMENT for an unknown name, NH_NOT_APPLICABLE for a quantity that this system or start
 * state does not have. */
nh_status nh_watch_create(nh_watch **out, const nh_system *system, const char *const *names,
                          int count, double step, const nh_state *start, nh_report *report);
void nh_watch_free(nh_watch *watch);
bool nh_watch_looks_back(const nh_watch *watch); /* needs the state one step earlier */
/* `before` is the state one step earlier; if it is NULL, quantities that need it are NaN. The
 * values[count] are in the order of the names. */
nh_status nh_watch_values(const nh_watch *watch, const nh_state *now, const nh_state *before,
                          double *values, nh_report *report);

/* Whether the latitude may exist for some start state of the system. */
bool nh_system_may_have_latitude(const nh_system *system);

/* "shifted_energy"; NH_NOT_APPLICABLE for systems that have none. */
bool nh_system_has_shifted_energy(const nh_system *system);
nh_status nh_shifted_energy(const nh_system *system, double step, const double *q, const double *v,
                            double *value, nh_report *report);

#endif
