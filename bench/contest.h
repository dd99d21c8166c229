/* Contests between ways to do the same steps. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench.h"

enum { CONTESTANTS_MAX = 32, COORDINATES_MAX = 8 };
#define STEP 0.05

/* Steps of a kernel written by hand. `state` is q, then v; returns the number of steps done. */
typedef long hand_steps(double *state, double h, long steps);

typedef struct contestant {
    const char *label;
    nh_run *run;         /* ours, freed by hold_contests, or */
    hand_steps *by_hand; /* one of bench/hand*.h */
    int members;         /* 0 means 1 */
    double best;         /* seconds a step and trajectory */
} contestant;

nh_run *make_run(const nh_system *system, const char *method, nh_backend backend, int members);

/* Announces a contest from a start with n coordinates, as many velocities; the others are compared
 * with the first contestant. */
void add_contest(const char *title, const contestant *c, int count, int n, const double *q,
                 const double *v);
/* Runs all contests in rounds and prints the results. */
void hold_contests(void);

/* Seconds per step of one run, timed once. */
double time_run(nh_run *run, const double *q, const double *v, long steps);

#endif
