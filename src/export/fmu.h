/* Functional mock-up units: models for importers of the FMI standard, versions 2.0 and 3.0. */
#ifndef NH_EXPORT_FMU_H
#define NH_EXPORT_FMU_H

#include "export/export.h"

typedef enum nh_fmu_role { /* of a variable: causality, variability and initial */
                           NH_FMU_TIME,
                           NH_FMU_STATE,
                           NH_FMU_RATE,      /* of a state */
                           NH_FMU_OUTPUT,    /* computed from the state */
                           NH_FMU_LOCAL,     /* the same, but of less interest */
                           NH_FMU_INDICATOR, /* of an event */
                           NH_FMU_INPUT,
                           NH_FMU_SETTING,   /* a parameter that may be changed at any time */
                           NH_FMU_PARAMETER, /* one that may be set before the start */
                           NH_FMU_CONSTANT
} nh_fmu_role;

typedef struct nh_fmu_variable {
    char *name;
    nh_fmu_role role;
    int reference;
    double start;     /* of states, inputs, settings and constants */
    int rate_of;      /* the state (its index in the list) of which this is the derivative, or -1 */
    const char *unit; /* or NULL */
    char *about;
} nh_fmu_variable;

typedef struct nh_fmu {
    const nh_export_job *job;
    int version;               /* 2 or 3 */
    bool co_simulation;        /* there are no events that act */
    const nh_export_job *open; /* the program for other parameters; NULL: they are constants */
    bool directions;           /* there are directional derivatives */
    const double *input;       /* at the start; followed by the parameters */
    nh_fmu_variable *variable;
    int variables;
    bool failed; /* without memory */
} nh_fmu;

/* If a constraint is violated by more than this, the state is projected back, unless another value
 * is set. */
#define NH_FMU_TOLERANCE 1e-9

/* Whether a parameter may be set: sizes, exponents and the like are constants. */
bool nh_fmu_can_be_set(const nh_fmu *fmu, int parameter);

/* How many of the first observables are omitted: the energies of a driver and its passengers, if
 * they are conserved only with the parameters of the export. */
int nh_fmu_left_out(const nh_fmu *fmu);

/* Lists the variables; their references are those that template/fmu_instance.c counts. */
void nh_fmu_list(nh_fmu *fmu);
void nh_fmu_free(nh_fmu *fmu);

/* modelDescription.xml and sources/buildDescription.xml. */
void nh_fmu_describe(nh_text *out, const nh_fmu *fmu, const char *token);
void nh_fmu_describe_build(nh_text *out, const nh_fmu *fmu);

#endif
