/* What is measured of every member of a run: energy, constraints, observables and, on request,
 * multipliers. Members are evaluated in SIMD lanes where possible, with the same bits as one by
 * one. */
#ifndef NH_RUN_MEASURE_H
#define NH_RUN_MEASURE_H

#include "run/run.h"

typedef struct nh_measure {
    const nh_run *run;
    engine engine; /* of NH_FN_OBSERVE and NH_FN_ACCELERATION */
    int lanes, observables;
    bool multipliers;
    double *q, *v,
        *whole_q; /* states, lanes side by side; whole_q with full revolutions added back */
    double *values, *whole, *acceleration; /* what the functions return */
    double *one_q, *one_v, *one_u;         /* a member's state and open inputs */
    double *u;                             /* open inputs, lanes side by side */
} nh_measure;

nh_status nh_measure_create(nh_measure *measure, const nh_run *run, bool multipliers,
                            nh_report *report);
void nh_measure_free(nh_measure *measure);

/* Measures the members [first, first + measure->lanes), as far as they exist: row l of `rows`,
 * `width` numbers apart, gets energy, the largest |k|, the observables, and the multipliers if
 * requested. */
nh_status nh_measure_members(nh_measure *measure, int first, double *rows, size_t width);

#endif
