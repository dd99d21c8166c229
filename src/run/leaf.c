/* Walks along the surface to which holonomic constraints bind the positions:
 *
 *     dq/ds = P(q) u,   s from 0 to 1
 *
 * P projects onto the displacements that the holonomic constraints admit at this moment (A dq = 0,
 * orthogonally in the mass metric). The integrals need not be known: whatever they are, they do not
 * change along such a path. The equation is solved by Gragg's method with the extrapolation of
 * Bulirsch and Stoer, to nearly all digits. */
#include "run/leaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "system/start.h"

enum { ROWS = 9 };
/* The last correction of a step, relative to the coordinate and its change. Rounding may keep it
 * above: then it no longer decreases. */
static const double accuracy = 1e-14, fair = 1e-13;
static const double shortest = 1e-5;

bool nh_leaf_open(nh_leaf *leaf, const nh_system *system, double t)
{
    size_t n = (size_t)system->coordinates;
    bool any = false;
    *leaf = (nh_leaf){.system = system, .t = t};
    if (!system->mechanics || system->coordinates != system->velocities || !system->facts.affine)
        return true;
    leaf->holonomic = calloc((size_t)system->constraints + 1, sizeof *leaf->holonomic);
    for (int i = 0; leaf->holonomic && i < system->constraints; i++)
        any |= leaf->holonomic[i] = system->facts.integrable == NH_YES ||
                                    nh_system_constraint_integrable(system, i) == NH_YES;
    if (any)
        leaf->space = malloc((ROWS + 5) * n * sizeof *leaf->space);
    bool done = leaf->holonomic && (leaf->space || !any);
    if (!any) {
        free(leaf->holonomic);
        leaf->holonomic = NULL;
    }
    return done;
}

void nh_leaf_close(nh_leaf *leaf)
{
    free(leaf->holonomic);
    free(leaf->space);
}

/* P(q) u */
static bool rate(nh_leaf *leaf, const double *u, const double *q, double *out)
{
    memcpy(out, u, (size_t)leaf->system->coordinates * sizeof *out);
    nh_report report;
    nh_status status =
        nh_project_displacement(leaf->system, leaf->holonomic, leaf->t, q, out, &report);
    leaf->out_of_memory |= status == NH_NO_MEMORY;
    return status == NH_OK;
}

/* Gragg: `parts` steps of the midpoint rule over `length`, smoothed. `f` is the rate at q. */
static bool midpoint(nh_leaf *leaf, const double *u, const double *q, const double *f,
                     double length, int parts, double *out)
{
    int n = leaf->system->coordinates;
    double h = length / parts, *before = leaf->space, *now = before + n, *slope = now + n;
    memcpy(before, q, (size_t)n * sizeof *q);
    for (int i = 0; i < n; i++)
        now[i] = q[i] + h * f[i];
    for (int part = 1; part < parts; part++) {
        if (!rate(leaf, u, now, slope))
            return false;
        for (int i = 0; i < n; i++) {
            double next = before[i] + 2 * h * slope[i];
            before[i] = now[i];
            now[i] = next;
        }
    }
    if (!rate(leaf, u, now, slope))
        return false;
    for (int i = 0; i < n; i++)
        out[i] = 0.5 * (now[i] + before[i] + h * slope[i]);
    return true;
}

/* One row of Aitken and Neville's table: T holds the row before and gets the new one. Returns the
 * last correction, relative to the coordinate and its change. */
static double next_row(int n, int row, const double *fresh, const double *q, const double *f,
                       double length, double *T)
{
    double error = 0;
    for (int i = 0; i < n; i++) {
        double entry = fresh[i], last = entry;
        for (int k = 1; k <= row; k++) {
            double ratio = (double)(row + 1) / (row + 1 - k), old = T[(k - 1) * n + i];
            T[(k - 1) * n + i] = last = entry;
            entry += (entry - old) / (ratio * ratio - 1);
        }
        T[row * n + i] = entry;
        double size = fabs(q[i]) + fabs(entry - q[i]) + fabs(length * f[i]);
        if (entry != last)
            error = fmax(error, fabs(entry - last) / size);
        if (!isfinite(entry))
            error = INFINITY;
    }
    return error;
}

/* One step with as many rows as it takes: their number, 0 when they do not suffice, -1 where there
 * is no rate. On success q has moved. */
static int extrapolate(nh_leaf *leaf, const double *u, double length, double *q)
{
    int n = leaf->system->coordinates;
    double *f = leaf->space + 3 * n, *fresh = f + n, *T = fresh + n, last = INFINITY;
    if (!rate(leaf, u, q, f))
        return -1;
    for (int row = 0; row < ROWS; row++) {
        if (!midpoint(leaf, u, q, f, length, 2 * (row + 1), fresh))
            return 0;
        double error = next_row(n, row, fresh, q, f, length, T);
        bool stagnant = row > 2 && error <= fair && error >= last / 2;
        last = error;
        if (row > 1 && (error <= accuracy || stagnant)) {
            memcpy(q, T + (size_t)row * (size_t)n, (size_t)n * sizeof *q);
            return row + 1;
        }
    }
    return 0;
}

bool nh_leaf_walk(nh_leaf *leaf, const double *direction, double *q)
{
    int n = leaf->system->coordinates;
    if (!leaf->holonomic) {
        for (int i = 0; i < n; i++)
            q[i] += direction[i];
        return true;
    }
    double done = 0, length = 1;
    while (done < 1) {
        length = fmin(length, 1 - done);
        int rows = extrapolate(leaf, direction, length, q);
        if (rows < 0 || leaf->out_of_memory)
            return false;
        done = rows > 0 ? (length == 1 - done ? 1 : done + length) : done;
        length = rows == 0 ? length / 2 : rows <= ROWS / 2 ? 2 * length : length;
        if (length < shortest)
            return false;
    }
    return true;
}
