/* A fleet of machines: systems of one model that differ in the values of some parameters, and
 * otherwise have the same equations. They are derived once. What follows from these parameters are
 * arguments NH_U of the tapes, so that machines run side by side in the same kernels. */
#ifndef NH_SYSTEM_FLEET_H
#define NH_SYSTEM_FLEET_H

#include "model/lineage.h"
#include "system/system.h"

typedef struct nh_fleet nh_fleet;

/* The parameters in which the machines differ, and bounds between which their values lie. */
typedef struct nh_fleet_range {
    const char *const *name; /* outlives the fleet */
    const double *low, *high;
    int parameters;
} nh_fleet_range;

/* *out is NULL, without an error, if the machines cannot be such a fleet: the form of the
 * equations depends on the values, or the model has open inputs, contacts or conditions on
 * positions. `functions`: what will be asked of the system. */
nh_status nh_fleet_create(nh_fleet **out, const nh_system *like, const nh_fleet_range *range,
                          nh_fn_set functions, nh_report *report);
void nh_fleet_free(nh_fleet *fleet);

/* The system of the machine that was taken last, to be used by one thread. A member of a run keeps
 * the machine with which it was started. */
const nh_system *nh_fleet_system(const nh_fleet *fleet);
/* Takes the machine with these values. It fits roughly if it does not have the bits of a system
 * that is built for them alone, but is the same within rounding; and not at all if its equations
 * have another form. */
nh_likeness nh_fleet_take(nh_fleet *fleet, const double *value);
/* Whether the machine that was taken computes functions as the system that was built for it does:
 * the same operations on the same numbers. */
nh_status nh_fleet_agrees(bool *out, const nh_fleet *fleet, const nh_system *alone,
                          nh_report *report);

#endif
