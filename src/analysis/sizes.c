/* How large the terms of a quantity are. Errors are measured relative to that, independently of
 * units, because the quantity itself may be small when its terms cancel.
 *
 * A quantity is evaluated at the state, at rest, and with only those velocities whose index has a
 * certain bit set, or not set. Two velocities differ in some bit, so terms that cancel each other
 * are seen separately, after 2 log2(n) evaluations. For conditions on positions, the same is done
 * with some of the coordinates. */
#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sizes.h"
#include "base/status.h"
#include "mechanics/mechanics.h"
#include "system/system.h"

typedef struct terms {
    const nh_system *system;
    double t;
    const double *q;
    double *sizes, *rows;   /* what is found; either may be NULL */
    double *values, *k, *v; /* space, v also for coordinates */
} terms;

static void take_larger(double *sizes, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(values[i]))
            sizes[i] = fmax(sizes[i], fabs(values[i]));
}

/* A state at which a quantity does not exist is ignored. */
static void look_at(const terms *w, const double *v)
{
    if (w->sizes && nh_system_integral_values(w->system, w->t, w->q, v, w->values, NULL) == NH_OK)
        take_larger(w->sizes, w->values, nh_system_integrals(w->system));
    if (w->rows && nh_system_residual(w->system, w->t, w->q, v, w->k, NULL) == NH_OK)
        take_larger(w->rows, w->k, nh_system_constraints(w->system));
}

/* A condition on positions g = 0, whose row of k is its derivative: its own terms. */
static void look_at_positions(const terms *w, const double *q)
{
    int count = nh_system_positions(w->system);
    double *last = w->rows + nh_system_constraints(w->system) - count;
    if (nh_system_position_residual(w->system, w->t, q, w->k, NULL) == NH_OK)
        take_larger(last, w->k, count);
}

/* Calls `look` with all n numbers, with none of them, and with parts of them. */
static void look_at_parts(const terms *w, const double *x, int n,
                          void (*look)(const terms *, const double *))
{
    look(w, x);
    memset(w->v, 0, (size_t)n * sizeof *w->v);
    look(w, w->v);
    for (int bit = 1; bit < n; bit *= 2)
        for (int set = 0; set < 2; set++) {
            for (int i = 0; i < n; i++)
                w->v[i] = !(i & bit) == !set ? x[i] : 0;
            look(w, w->v);
        }
}

nh_status nh_constraint_reach(const nh_system *s, double t, const double *q, const double *v,
                              double *reach, nh_report *report)
{
    const int n = s->velocities, m = s->constraints;
    double *M = calloc(nh_system_outputs(s, NH_FN_MATRICES) + 1, sizeof *M), twice = 0;
    if (!M)
        return nh_fail_memory(report);
    bool known = nh_system_evaluate(s, NH_FN_MATRICES, t, q, v, NULL, M, NULL) == NH_OK;
    for (int i = 0; i < n * n; i++)
        twice += v[i / n] * M[i] * v[i % n];
    for (int i = 0; i < m; i++) {
        reach[i] = 0;
        for (int j = 0; j < n && known; j++)
            if (M[j * n + j] > 0 && twice > 0)
                reach[i] += fabs(M[n * n + i * n + j]) * sqrt(twice / M[j * n + j]);
    }
    free(M);
    return NH_OK;
}

/* The terms of velocities that are at rest have no size of their own. Their size is what the
 * kinetic energy could make it; at least a hundred millionth of that counts as motion. */
static nh_status add_sizes_at_rest(const terms *w, const double *v, nh_report *report)
{
    const int m = w->system->constraints;
    double *reach = calloc((size_t)m + 1, sizeof *reach);
    nh_status status = reach ? nh_constraint_reach(w->system, w->t, w->q, v, reach, report)
                             : nh_fail_memory(report);
    for (int i = 0; i < m && status == NH_OK; i++)
        if (w->rows[i] < 1e-8 * reach[i])
            w->rows[i] = reach[i];
    free(reach);
    return status;
}

nh_status nh_system_term_sizes(const nh_system *system, double t, const double *q, const double *v,
                               double *integrals, double *constraints, nh_report *report)
{
    int n = nh_system_coordinates(system), nv = nh_system_velocities(system);
    size_t m = (size_t)nh_system_constraints(system), count = (size_t)nh_system_integrals(system);
    double *space =
        malloc((size_t)(n > nv ? n : nv) * sizeof *space + (m + count + 1) * sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    terms w = {system, t, q, integrals, constraints, space, space + count, space + count + m};
    look_at_parts(&w, v, nv, look_at);
    if (constraints && nh_system_positions(system) > 0)
        look_at_parts(&w, q, n, look_at_positions);
    free(space);
    const bool rotates = system->user_velocities != system->velocities;
    if (constraints && m > 0 && !rotates && nv <= NH_DENSE_LOOKS_MAX)
        return add_sizes_at_rest(&w, v, report);
    return NH_OK;
}
