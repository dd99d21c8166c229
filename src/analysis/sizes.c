/* How large the terms of a quantity are: the measure of its errors, whatever the units are, where
 * the quantity itself is small because its terms cancel.
 *
 * A quantity is evaluated at the state, at rest, and with only those velocities whose index has a
 * certain bit set or not set. Two velocities differ in some bit, so terms that cancel each other
 * are seen apart, after 2 log2(n) evaluations. */
#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "system/system.h"

typedef struct terms {
    const nh_system *system;
    double t;
    const double *q;
    double *sizes, *rows;   /* what is found; either may be NULL */
    double *values, *k, *v; /* space */
} terms;

static void take_larger(double *sizes, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(values[i]))
            sizes[i] = fmax(sizes[i], fabs(values[i]));
}

/* A state at which a quantity does not exist says nothing about it. */
static void look_at(const terms *w, const double *v)
{
    if (w->sizes && nh_system_integral_values(w->system, w->t, w->q, v, w->values, NULL) == NH_OK)
        take_larger(w->sizes, w->values, nh_system_integrals(w->system));
    if (w->rows && nh_system_residual(w->system, w->t, w->q, v, w->k, NULL) == NH_OK)
        take_larger(w->rows, w->k, nh_system_constraints(w->system));
}

static void look_at_parts(const terms *w, const double *v)
{
    int n = nh_system_velocities(w->system);
    look_at(w, v);
    memset(w->v, 0, (size_t)n * sizeof *w->v);
    look_at(w, w->v);
    for (int bit = 1; bit < n; bit *= 2)
        for (int set = 0; set < 2; set++) {
            for (int i = 0; i < n; i++)
                w->v[i] = !(i & bit) == !set ? v[i] : 0;
            look_at(w, w->v);
        }
}

nh_status nh_system_term_sizes(const nh_system *system, double t, const double *q, const double *v,
                               double *integrals, double *constraints, nh_report *report)
{
    size_t n = (size_t)nh_system_velocities(system), m = (size_t)nh_system_constraints(system);
    size_t count = (size_t)nh_system_integrals(system);
    double *space = malloc((n + m + count + 1) * sizeof *space);
    if (!space)
        return nh_fail_memory(report);
    terms w = {system, t, q, integrals, constraints, space, space + count, space + count + m};
    look_at_parts(&w, v);
    free(space);
    return NH_OK;
}
