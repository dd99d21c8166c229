/* The divergence of the flow on the constraints.
 *
 * The accelerations solve M a = f + K^T l together with k' = 0 in all states, also in those off the
 * constraints, so the flow keeps k, and the conditions on positions g where k = 0. For a volume
 * Omega of all (q, v) the flow therefore changes Omega/(dg dk), a volume on the constraints, at the
 * rate at which it changes Omega. With Omega = det(M) dq dv, the rate is
 *
 *     tr(da/dv) + (log det M)'.
 *
 * The volume of positions and velocities in which the kinetic energy measures lengths is
 * sqrt(det(K M^-1 K^T) det(G M^-1 G^T)) times as large, where G = dg/dq; and up to signs,
 * det(M) det(K M^-1 K^T) is the determinant of the matrix (M, K^T; K, 0). */
#include "analysis/divergence.h"

#include "base/dense.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t all_of(const nh_local *s)
{
    return (size_t)s->n + (size_t)s->m;
}

size_t nh_divergence_room(const nh_local *s)
{
    const size_t all = all_of(s), table = (size_t)s->rows * (size_t)s->width;
    return all * (size_t)(s->u + s->given) + 2 * all * all + 2 * all + table + (size_t)s->width + 1;
}

/* The matrix (M, R^T; R, 0) for `count` rows R of the Jacobian, or its change. */
static void fill(const nh_local *s, const double *jacobian, int row, int count, int column,
                 double *a)
{
    const int all = s->n + count;
    memset(a, 0, (size_t)(all * all) * sizeof *a);
    for (int i = 0; i < s->n; i++) {
        for (int j = 0; j < s->n; j++)
            a[i * all + j] = jacobian[(size_t)i * (size_t)s->width + (size_t)(s->a + j)];
        for (int j = 0; j < count; j++)
            a[i * all + s->n + j] = a[(s->n + j) * all + i] =
                jacobian[(size_t)(row + j) * (size_t)s->width + (size_t)(column + i)];
    }
}

/* In units in which masses are one, and rows have length one. */
static void find_units(int n, int all, const double *a, double *unit)
{
    for (int i = 0; i < all; i++) {
        double most = i < n ? sqrt(fabs(a[i * all + i])) : 0;
        for (int j = 0; j < n && i >= n; j++)
            most = fmax(most, fabs(a[i * all + j]) * unit[j]);
        unit[i] = most > 0 ? 1 / most : 1;
    }
}

/* Adds half the rate of log |det a|, which is tr(a^-1 change), to *sum, and its terms to *size;
 * false if a is singular. room: two matrices, and 2 * all. */
static bool add_rate(const nh_local *s, const double *jacobian, const double *change, int row,
                     int count, int column, double *room, int *pivot, double *sum, double *size)
{
    const int all = s->n + count;
    double *a = room, *b = a + all * all, *unit = b + all * all, *x = unit + all;
    fill(s, jacobian, row, count, column, a);
    fill(s, change, row, count, column, b);
    find_units(s->n, all, a, unit);
    for (int i = 0; i < all * all; i++) {
        a[i] *= unit[i / all] * unit[i % all];
        b[i] *= unit[i / all] * unit[i % all];
    }
    if (!nh_dense_factor(all, a, pivot))
        return false;
    for (int c = 0; c < all; c++) {
        for (int r = 0; r < all; r++)
            x[r] = b[r * all + c];
        nh_dense_solve(all, a, pivot, x);
        *sum += x[c] / 2;
        *size += fabs(x[c]) / 2;
    }
    return isfinite(*sum);
}

/* How everything moves along the motion. */
static void set_direction(const nh_local *s, const double *point, const double *jacobian,
                          double *direction)
{
    memset(direction, 0, (size_t)s->width * sizeof *direction);
    memcpy(direction, point + s->v, (size_t)s->coordinates * sizeof *direction);
    memcpy(direction + s->v, point + s->a, (size_t)s->n * sizeof *direction);
    nh_local_follow(s, jacobian, direction);
}

nh_status nh_divergence_at(nh_local *s, double *point, double *jacobian, double *room,
                           double *divergence, double *size, nh_report *report)
{
    const int columns = s->u + s->given;
    const size_t all = all_of(s);
    double *by_state = room, *change = by_state + all * (size_t)columns;
    double *direction = change + (size_t)s->rows * (size_t)s->width;
    double *matrices = direction + s->width;
    bool ok = nh_local_accelerate(s, point, jacobian);
    if (ok)
        nh_local_jacobian(s, point, -1, jacobian);
    if (!ok || !nh_local_solve(s, jacobian, by_state))
        return nh_fail(report, NH_NOT_CONVERGED, "there are no accelerations");
    *divergence = *size = 0;
    for (int i = 0; i < s->n; i++) {
        const double own = by_state[(s->m + i) * columns + s->v + i];
        *divergence += own;
        *size += fabs(own);
    }
    set_direction(s, point, jacobian, direction);
    const nh_status status = nh_local_jacobian_along(s, point, jacobian, direction, change, report);
    int *pivot = malloc((all + 1) * sizeof *pivot);
    if (status != NH_OK || !pivot) {
        free(pivot);
        return status != NH_OK ? status : nh_fail_memory(report);
    }
    ok = add_rate(s, jacobian, change, s->k, s->m, s->v, matrices, pivot, divergence, size) &&
         add_rate(s, jacobian, change, s->g_row, s->positions, s->q, matrices, pivot, divergence,
                  size);
    free(pivot);
    return ok ? NH_OK : nh_fail(report, NH_NOT_CONVERGED, "the constraints depend on each other");
}
