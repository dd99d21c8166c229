/* Other solvers for bench/precision.py, which passes them the rates of models as functions. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "peers.h"

static const struct {
    const char *label;
    const peer *peer;
} solvers[] = {
#ifdef HAVE_GSL
    {"GSL rk8pd", &nh_peer_gsl},
#endif
#ifdef HAVE_SUNDIALS
    {"CVODE Adams", &nh_peer_cvode_adams},
    {"IDA", &nh_peer_ida},
#endif
};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* NULL after the last one. */
__attribute__((visibility("default"))) const char *peer_label(int which);
const char *peer_label(int which)
{
    return which < SOLVERS ? solvers[which].label : NULL;
}

/* Seconds until T, or -1 when the solver gives up; y is q, v, first of the start, then of the end.
 */
__attribute__((visibility("default"))) double peer_seconds(int which,
                                                           void (*rate)(const double *, double *),
                                                           int n, double T, double tolerance,
                                                           double *y);
double peer_seconds(int which, void (*rate)(const double *, double *), int n, double T,
                    double tolerance, double *y)
{
    peer_problem problem = {.n = n, .T = T, .rate = rate};
    struct timespec begin, end;
    if (n > PEER_SIZE)
        return -1;
    memcpy(problem.q, y, (size_t)n * sizeof *y);
    memcpy(problem.v, y + n, (size_t)n * sizeof *y);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const bool ok = solvers[which].peer->solve(&problem, tolerance, y, y + n);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ok ? (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)
              : -1;
}
