/* How far rounding errors alone move a system from a state: at an equilibrium, where the forces
 * cancel, the motion consists of nothing else.
 *
 * With M a = rate + K^T lambda, the errors of the accelerations are those of the forces and of the
 * reactions, divided by the masses; positions are as accurate as their numbers, or as the rounding
 * of the conditions on them allows. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/dense.h"
#include "base/status.h"
#include "system/start.h"

static const double several = 64; /* rounding errors of a force add up */

/* The errors of the forces in a state; `lambda` are the multipliers there. */
static bool force_errors(const nh_mechanics *s, double t, const double *q, const double *v,
                         const double *lambda, double *error)
{
    const int n = s->n, m = s->m;
    const size_t count = (size_t)(n + m * n);
    nh_expr_list list = {0};
    nh_bounded *value = malloc((count + 1) * sizeof *value);
    const nh_inputs at = {.t = t, .q = q, .v = v, .input_error = DBL_EPSILON / 2};
    bool ok = value != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(&list, s->rate[i]);
    for (int a = 0; ok && a < m; a++)
        for (int i = 0; ok && i < n; i++)
            ok = nh_expr_list_push(&list, nh_matrix_at(&s->K, a, i));
    ok = ok && nh_evaluate_bounded(s->g, list.item, count, &at, value);
    for (int i = 0; ok && i < n; i++) {
        error[i] = value[i].error;
        for (int a = 0; a < m; a++) {
            const nh_bounded entry = value[n + a * n + i];
            error[i] += (entry.error + DBL_EPSILON * fabs(entry.value)) * fabs(lambda[a]);
        }
    }
    nh_expr_list_free(&list);
    free(value);
    return ok;
}

/* x = |M^-1| f; zero where M is singular. */
static void divide_by_masses(int n, double *M, int *pivot, const double *f, double *column,
                             double *x)
{
    const bool regular = nh_dense_factor(n, M, pivot);
    for (int i = 0; i < n; i++)
        x[i] = 0;
    for (int j = 0; regular && j < n; j++) {
        for (int i = 0; i < n; i++)
            column[i] = i == j;
        nh_dense_solve(n, M, pivot, column);
        for (int i = 0; i < n; i++)
            x[i] += fabs(column[i]) * f[j];
    }
}

static nh_status accelerations(const nh_system *system, double t, const double *q, const double *v,
                               double *space, int *pivot, double *out, bool *balanced,
                               nh_report *report)
{
    nh_system *locked = (nh_system *)system; /* other threads may be adding to the graph */
    const int n = system->velocities;
    double *found = space, *force = found + n + system->constraints, *column = force + n,
           *M = column + n;
    nh_status status = nh_system_evaluate(system, NH_FN_ACCELERATION, t, q, v, NULL, found, report);
    if (status == NH_OK)
        status = nh_system_evaluate(system, NH_FN_MATRICES, t, q, v, NULL, M, report);
    if (status != NH_OK)
        return status;
    pthread_mutex_lock(&locked->lock);
    const bool known = force_errors(system->mechanics, t, q, v, found + n, force);
    pthread_mutex_unlock(&locked->lock);
    if (!known)
        return nh_fail_memory(report);
    divide_by_masses(n, M, pivot, force, column, out);
    *balanced = true;
    for (int i = 0; i < n; i++)
        *balanced = *balanced && fabs(found[i]) <= several * out[i];
    return NH_OK;
}

nh_status nh_inner_rounding(const nh_system *system, double t, const double *q, const double *v,
                            double time, double *moved, bool *balanced, nh_report *report)
{
    const int n = system->velocities, m = system->constraints;
    const double of_conditions = system->shape.size_of_positions;
    double *by_forces = moved + n;
    *balanced = false;
    for (int i = 0; i < n; i++) {
        moved[i] = i < system->coordinates ? 4 * DBL_EPSILON * (fabs(q[i]) + of_conditions) : 0;
        by_forces[i] = 0;
    }
    if (!system->mechanics || n > NH_DENSE_LOOKS_MAX)
        return NH_OK;
    const size_t size = (size_t)(3 * n + m) + nh_system_outputs(system, NH_FN_MATRICES);
    double *space = malloc((size + 1) * sizeof *space);
    int *pivot = malloc((size_t)(n + 1) * sizeof *pivot);
    nh_status status =
        space && pivot ? accelerations(system, t, q, v, space, pivot, by_forces, balanced, report)
                       : nh_fail_memory(report);
    for (int i = 0; i < n; i++) {
        by_forces[i] = isfinite(by_forces[i]) && status == NH_OK ? time * by_forces[i] : 0;
        moved[i] += time * by_forces[i];
    }
    free(space);
    free(pivot);
    return status == NH_NO_MEMORY ? status : NH_OK; /* otherwise forces say nothing */
}
