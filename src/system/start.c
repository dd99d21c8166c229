/* Start states: consistency with the constraints, and the M-orthogonal projection onto them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"
#include "system/system.h"

/* A residual counts as zero up to this many times the size of the velocities. */
#define START_TOLERANCE 1e-9

nh_status nh_system_start(const nh_system *system, const char *assignments, double *q, double *v,
                          nh_report *report)
{
    if (system->mechanics)
        return nh_problem_start(system->mechanics->problem, assignments, q, v, report);
    if (assignments && *assignments)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a system of C functions has no named start values; give q and v");
    memset(q, 0, (size_t)system->coordinates * sizeof *q);
    memset(v, 0, (size_t)system->velocities * sizeof *v);
    return NH_OK;
}

static nh_status check_finite(const double *x, int count, const nh_system *system, bool velocity,
                              nh_report *report)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return nh_fail(report, NH_BAD_START, "the start value of %s is not a finite number",
                           velocity ? nh_system_velocity_name(system, i)
                                    : nh_system_coordinate_name(system, i));
    return NH_OK;
}

nh_status nh_system_check_start(const nh_system *system, double t, const double *q, const double *v,
                                nh_report *report)
{
    int m = system->constraints, worst = 0;
    nh_status status = check_finite(q, system->coordinates, system, false, report);
    if (status == NH_OK)
        status = check_finite(v, system->velocities, system, true, report);
    if (status != NH_OK || m == 0)
        return status;
    double *k = malloc((size_t)m * sizeof *k), size = 1;
    if (!k)
        return nh_fail_memory(report);
    status = nh_system_evaluate(system, NH_FN_CONSTRAINT, t, q, v, NULL, k, report);
    for (int i = 0; i < system->velocities; i++)
        size = fmax(size, fabs(v[i]));
    for (int i = 1; i < m; i++)
        if (!(fabs(k[i]) <= fabs(k[worst])))
            worst = i;
    double residual = k[worst];
    free(k);
    if (status != NH_OK || fabs(residual) <= START_TOLERANCE * size)
        return status;
    status = nh_fail(
        report, NH_BAD_START,
        "the start state is off the constraints: %s has residual %.6g; give velocities that "
        "satisfy it, or project them onto the constraints",
        nh_system_constraint_name(system, worst), residual);
    if (report)
        report->residual = fabs(residual);
    return nh_fail_about(report, status, "project");
}

/* One Newton iteration: v -= M^-1 K^T (K M^-1 K^T)^-1 k. */
static nh_status project_once(const nh_system *system, double t, const double *q, double *v,
                              double *space, int *pivot, double *change, nh_report *report)
{
    int n = system->velocities, m = system->constraints;
    double *M = space, *K = M + n * n, *k = K + m * n, *B = k + m, *S = B + m * n;
    nh_status status = nh_system_evaluate(system, NH_FN_MATRICES, t, q, v, NULL, M, report);
    if (status == NH_OK)
        status = nh_system_evaluate(system, NH_FN_CONSTRAINT, t, q, v, NULL, k, report);
    if (status != NH_OK)
        return status;
    if (!nh_dense_factor(n, M, pivot))
        return nh_fail(report, NH_SINGULAR_MASS, "the mass matrix is singular at the start state");
    for (int j = 0; j < m; j++) {
        memcpy(B + j * n, K + j * n, (size_t)n * sizeof *B);
        nh_dense_solve(n, M, pivot, B + j * n);
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            S[i * m + j] = 0;
            for (int c = 0; c < n; c++)
                S[i * m + j] += K[i * n + c] * B[j * n + c];
        }
    if (!nh_dense_factor(m, S, pivot))
        return nh_fail(report, NH_DEPENDENT_CONSTRAINTS,
                       "the constraints depend on each other at the start state");
    nh_dense_solve(m, S, pivot, k);
    *change = 0;
    for (int j = 0; j < m; j++)
        for (int c = 0; c < n; c++) {
            double move = B[j * n + c] * k[j];
            v[c] -= move;
            *change = fmax(*change, fabs(move));
        }
    return NH_OK;
}

nh_status nh_system_project(const nh_system *system, double t, const double *q, double *v,
                            nh_report *report)
{
    size_t n = (size_t)system->velocities, m = (size_t)system->constraints;
    if (m == 0)
        return NH_OK;
    if (n > 5000)
        return nh_fail(report, NH_TOO_LARGE,
                       "projection of a start state handles up to 5000 velocities, not %zu", n);
    double *space = malloc((n * n + 2 * m * n + m + m * m) * sizeof *space);
    int *pivot = malloc((n + m + 1) * sizeof *pivot);
    nh_status status = space && pivot ? NH_OK : nh_fail_memory(report);
    double change = INFINITY;
    for (int iteration = 0; status == NH_OK && iteration < 50; iteration++) {
        double before = change;
        status = project_once(system, t, q, v, space, pivot, &change, report);
        if (change == 0 || (iteration > 1 && change >= before / 2))
            break; /* round-off, or no progress: the check below tells which */
    }
    free(space);
    free(pivot);
    return status == NH_OK ? nh_system_check_start(system, t, q, v, report) : status;
}
