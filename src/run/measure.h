/* What is measured of states: energy, constraints, observables and, on request, multipliers. States
 * are placed in lanes and evaluated together, with the same bits as one by one. */
#ifndef NH_RUN_MEASURE_H
#define NH_RUN_MEASURE_H

#include "run/run.h"

typedef struct nh_measure {
    const nh_system *system;
    engine engine; /* of NH_FN_OBSERVE and NH_FN_ACCELERATION */
    int lanes, observables;
    bool multipliers;
    bool revolves; /* the angles of a state include revolutions, which observables may count */
    double *q, *v, *whole_q, *u; /* states, lanes side by side; whole_q with revolutions */
    double *values, *whole, *acceleration;     /* what the functions return */
    double *one_q, *one_whole, *one_v, *one_u; /* one state */
} nh_measure;

/* `several`: of several states at a time, if possible. */
nh_status nh_measure_create(nh_measure *measure, const nh_system *system, bool several,
                            bool multipliers, nh_report *report);
void nh_measure_free(nh_measure *measure);

/* Places a state with inner velocities in a lane, from lane 0 on; q has wrapped angles, and whole_q
 * may have full revolutions. */
void nh_measure_place(nh_measure *measure, int lane, const double *q, const double *whole_q,
                      const double *v, const double *u);
/* Measures what was placed. */
nh_status nh_measure_evaluate(nh_measure *measure, double t);
/* Energy, the largest |k|, the observables, and the multipliers if requested. */
void nh_measure_row(const nh_measure *measure, int lane, double *row);

/* Measures the members [first, first + measure->lanes) of a run, as far as they exist: row l of
 * `rows`, `width` numbers apart, is that of member first + l. */
nh_status nh_measure_members(nh_measure *measure, const nh_run *run, int first, double *rows,
                             size_t width);

#endif
