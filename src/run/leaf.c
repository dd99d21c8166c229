/* Moves along the surface to which holonomic constraints confine the positions:
 *
 *     dq/ds = P(q) u,   s from 0 to 1
 *
 * P projects onto the displacements that the holonomic constraints admit at a fixed time (A
 * dq = 0), orthogonally in the mass metric. The integrals need not be known: whatever they are,
 * they are constant along such a path. The equation is solved to nearly full accuracy by Gragg's
 * method with Bulirsch-Stoer extrapolation. */
#include "run/leaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "system/start.h"

enum { ROWS = 9 };
/* Bounds of the last correction of a step, relative to the coordinates and their change. Rounding
 * may keep it above the first bound; then it no longer decreases. */
static const double accuracy = 2e-15, fair = 1e-13;
static const double shortest = 1e-5;

/* Marks the constraints that are holonomic and returns how many there are. If some combination of
 * constraints is holonomic, and its integral was found, all of them count: a path that obeys all of
 * them stays on its surface too. */
static int mark_holonomic(const nh_system *system, bool *holonomic)
{
    int count = 0, m = system->constraints, stated = m - system->shape.positions;
    for (int i = 0; i < m; i++) {
        holonomic[i] = i >= stated || system->facts.integrable == NH_YES ||
                       nh_system_constraint_integrable(system, i) == NH_YES;
        count += holonomic[i];
    }
    bool hidden =
        system->facts.holonomic > count && system->mechanics->surfaces >= system->facts.holonomic;
    for (int i = 0; hidden && i < m; i++)
        holonomic[i] = true;
    return hidden ? m : count;
}

bool nh_leaf_open(nh_leaf *leaf, const nh_system *system, double t)
{
    size_t n = (size_t)system->coordinates;
    *leaf = (nh_leaf){.system = system, .t = t};
    bool known = system->facts.affine || system->shape.positions > 0;
    if (!system->mechanics || system->coordinates != system->velocities || !known)
        return true;
    leaf->holonomic = calloc((size_t)system->constraints + 1, sizeof *leaf->holonomic);
    if (!leaf->holonomic)
        return false;
    if (mark_holonomic(system, leaf->holonomic) == 0) {
        free(leaf->holonomic);
        leaf->holonomic = NULL;
        return true;
    }
    leaf->space = malloc((ROWS + 6) * n * sizeof *leaf->space);
    return leaf->space != NULL;
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
    if (leaf->left-- <= 0)
        return false;
    nh_status status =
        nh_project_displacement(leaf->system, leaf->holonomic, leaf->t, q, out, &report);
    leaf->out_of_memory |= status == NH_NO_MEMORY;
    return status == NH_OK;
}

/* Gragg's method: `parts` steps of the midpoint rule over `length`, smoothed. `f` is the rate at
 * q. */
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

/* The size of each coordinate and of its change. A coordinate that stays 0 up to rounding is
 * compared with the largest of its kind: angles with angles, others with others. */
static void find_sizes(const nh_leaf *leaf, const double *u, const double *q, double length,
                       double *size)
{
    int n = leaf->system->coordinates, angles = leaf->system->shape.angles;
    const int *angle = leaf->system->shape.angle;
    double largest[2] = {0, 0};
    for (int i = 0, a = 0; i < n; i++) {
        bool is_angle = a < angles && angle[a] == i;
        a += is_angle;
        size[i] = fabs(q[i]) + fabs(length * u[i]);
        largest[is_angle] = fmax(largest[is_angle], size[i]);
    }
    for (int i = 0, a = 0; i < n; i++) {
        bool is_angle = a < angles && angle[a] == i;
        a += is_angle;
        size[i] = fmax(size[i], largest[is_angle]);
    }
}

/* One row of the Aitken-Neville table: T holds the previous row and gets the new one. Returns the
 * last correction, relative to the sizes. */
static double next_row(int n, int row, const double *fresh, const double *size, double *T)
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
        if (entry != last)
            error = fmax(error, fabs(entry - last) / size[i]);
        if (!isfinite(entry))
            error = INFINITY;
    }
    return error;
}

/* One step with as many rows as it takes. Returns their number, 0 if they do not suffice, -1 if
 * there is no rate. On success q has moved. */
static int extrapolate(nh_leaf *leaf, const double *u, double length, double *q)
{
    int n = leaf->system->coordinates;
    double *f = leaf->space + 3 * n, *fresh = f + n, *size = fresh + n, *T = size + n;
    double last = INFINITY;
    if (!rate(leaf, u, q, f))
        return -1;
    find_sizes(leaf, u, q, length, size);
    for (int row = 0; row < ROWS; row++) {
        if (!midpoint(leaf, u, q, f, length, 2 * (row + 1), fresh))
            return 0;
        double error = next_row(n, row, fresh, size, T);
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
