/* A linearisation in parts, for sweeps: begun, found (about.h), finished. */
#ifndef NH_ANALYSIS_LINEARISE_H
#define NH_ANALYSIS_LINEARISE_H

#include <nonholo_analysis.h>

#include "analysis/about.h"

nh_status nh_linearisation_begin(nh_linearisation **out, const nh_system *system,
                                 const nh_linearise_options *options, nh_report *report);
nh_about *nh_linearisation_about(nh_linearisation *l);

/* Names and remarks of what nh_about_find has found. */
nh_status nh_linearisation_finish(nh_linearisation *l, nh_report *report);

#endif
