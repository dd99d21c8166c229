/* What differs between the members of an ensemble: swept values, then variations. */
#ifndef NH_SIMULATE_MACHINES_H
#define NH_SIMULATE_MACHINES_H

#include "run/save.h"
#include "simulate/simulation.h"

/* Finds out which of them are parameters and which are start values; refuses other names, and
 * distributions that have no values. */
nh_status nh_check_variations(nh_simulation *s, const nh_system *system, nh_report *report);

/* Whether parameters vary, so that each member is a machine of its own; and whether values that
 * differ between members are start values. */
bool nh_varies_machines(const nh_simulation *s);
bool nh_varies_starts(const nh_simulation *s);

/* A value of a sweep, the same for all members of a combination. */
double nh_simulation_swept_value(const nh_simulation *simulation, int64_t combination, int sweep);

/* Value `index` of a member: of its combination of swept values, or of the variation for its start,
 * which is counted within the combination; and the bounds of what it may be (of a normal
 * distribution, where most are). */
double nh_value_of(const nh_simulation *s, int64_t combination, int64_t start, int index);
void nh_value_bounds(const nh_simulation *s, int index, double *low, double *high);

/* The settings of the simulation and those of a member, without variations if `start` is negative:
 * texts "NAME=VALUE" to be freed in one
 * piece; NULL without memory. */
const char **nh_settings_of(const nh_simulation *s, int64_t combination, int64_t start,
                            size_t *count);
/* The start values of a member, as the text that nh_system_start takes, after those of the
 * simulation; and the names of those that a projection may move, separated by commas. Both to be
 * freed; NULL without memory. */
char *nh_assignments_of(const nh_simulation *s, int64_t combination, int64_t start);
char *nh_varied_starts(const nh_simulation *s, const nh_system *system);

void nh_same_variations(nh_identity *id, const nh_simulation *s, int64_t members);

#endif
