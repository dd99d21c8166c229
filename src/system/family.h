/* A family of machines: systems of one model that differ in the values of some parameters, and
 * otherwise have the same equations. They are derived once. What follows from these parameters are
 * arguments NH_U of the tapes, so that machines run side by side in the same kernels. */
#ifndef NH_SYSTEM_FAMILY_H
#define NH_SYSTEM_FAMILY_H

#include "model/recording.h"
#include "system/system.h"

typedef struct nh_family nh_family;

/* The parameters in which the machines differ, and bounds between which their values lie. */
typedef struct nh_family_range {
    const char *const *name; /* outlives the family */
    const double *low, *high;
    int parameters;
} nh_family_range;

/* *out is NULL, without an error, if the machines cannot be such a family: the form of the
 * equations depends on the values, or the model has open inputs, contacts or conditions on
 * positions. `functions`: what will be asked of the system. */
nh_status nh_family_create(nh_family **out, const nh_system *like, const nh_family_range *range,
                           nh_fn_set functions, nh_report *report);
void nh_family_free(nh_family *family);

/* The system of the machine that was taken last, to be used by one thread. A member of a run keeps
 * the machine with which it was started. */
const nh_system *nh_family_system(const nh_family *family);
/* Takes the machine with these values. It fits roughly if it does not have the bits of a system
 * that is built for them alone, but is the same within rounding; and not at all if its equations
 * have another form. */
nh_likeness nh_family_take(nh_family *family, const double *value);
/* Whether the machine that was taken computes functions as the system that was built for it does:
 * the same operations on the same numbers. */
nh_status nh_family_agrees(bool *out, const nh_family *family, const nh_system *alone,
                           nh_report *report);

#endif
