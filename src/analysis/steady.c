/* Finds steady motions by the method of Levenberg and Marquardt: see steady.h. Solutions are
 * usually not isolated (a bicycle may ride at any speed). The damping |F|^2 then gives quadratic
 * convergence to a solution near the start, and afterwards the point moves along the family to the
 * one nearest to the start, in terms of q and rates. Directions of the symmetries themselves are
 * excluded. */
#include "analysis/steady.h"

#include "base/decimal.h"
#include "base/lapack.h"
#include "base/status.h"
#include "system/attitude.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 200, MOVES = 200, POLISH = 4 };

/* Relative to the terms of the conditions: what counts as solved, and up to where a singular value
 * of their matrix counts as zero. */
static const double solved = 1e-11, singular = 3e-12;

/* The weight of the conditions that exclude moving along symmetries. */
static const double strictly = 1e3;

/* Multipliers should not count in distances. */
static const double multiplier_unit = 1e3;

/* ---- creation ---- */

bool nh_steady_begin(nh_steady *w, nh_local *s, const nh_generators *g)
{
    *w = (nh_steady){.s = s, .g = g};
    w->rates = s->coordinates;
    w->free = w->rates + g->count;
    w->multipliers = w->free + s->n - s->coordinates;
    w->unknowns = w->multipliers + s->m;
    w->conditions = s->n + s->m + s->positions + g->count;
    const size_t N = (size_t)w->unknowns, R = (size_t)w->conditions, W = (size_t)s->width;
    const size_t most = (N > R ? N : R) + W;
    w->unknown = calloc(2 * N + W + 2 * R + R * N + 4 * most + 1, sizeof *w->unknown);
    w->jacobian = malloc(((size_t)s->rows * W + 1) * sizeof *w->jacobian);
    if (!w->unknown || !w->jacobian)
        return false;
    w->first = w->unknown + N;
    w->point = w->first + N;
    w->residual = w->point + W;
    w->unit = w->residual + R;
    w->matrix = w->unit + R;
    w->work = w->matrix + R * N;
    return true;
}

void nh_steady_end(nh_steady *w)
{
    free(w->unknown);
    free(w->jacobian);
    *w = (nh_steady){0};
}

void nh_steady_field(const nh_steady *w, const double *rate, const double *x, bool whole,
                     double *out)
{
    memset(out, 0, (size_t)w->s->n * sizeof *out);
    for (int i = 0; i < w->g->count; i++)
        if (rate[i] != 0)
            nh_generator_add(w->g, i, rate[i], x, whole, out);
}

const double *nh_steady_rates(const nh_steady *w)
{
    return w->unknown + w->rates;
}

/* The point that belongs to the unknowns. */
static void place(nh_steady *w)
{
    nh_local *s = w->s;
    const double *rate = nh_steady_rates(w);
    double *v = w->point + s->v, *a = w->point + s->a;
    memset(w->point, 0, (size_t)s->width * sizeof *w->point);
    memcpy(w->point, w->unknown, (size_t)s->coordinates * sizeof *w->point);
    nh_steady_field(w, rate, w->point, true, v);
    nh_steady_field(w, rate, v, false, a);
    for (int i = s->coordinates; i < s->n; i++)
        v[i] = w->unknown[w->free + i - s->coordinates];
    memcpy(w->point + s->l, w->unknown + w->multipliers, (size_t)s->m * sizeof *v);
    nh_local_inputs(s, w->point);
}

/* ---- the conditions ---- */

/* The row of the equations for a condition: balance, k, g. */
static int row_of(const nh_local *s, int condition)
{
    return condition < s->n ? condition : s->k + condition - s->n;
}

static double at(const nh_steady *w, int condition, int column)
{
    return w->jacobian[(size_t)row_of(w->s, condition) * (size_t)w->s->width + (size_t)column];
}

/* Masses become one, and rows of constraints have length one. */
static void find_units(nh_steady *w)
{
    const nh_local *s = w->s;
    for (int i = 0; i < w->conditions; i++) {
        double most = 0;
        if (i < s->n)
            most = sqrt(fabs(at(w, i, s->a + i)));
        for (int c = 0; i >= s->n && i < w->conditions - w->g->count && c < s->u; c++)
            most = fmax(most, fabs(at(w, i, c)));
        w->unit[i] = most > 0 && isfinite(most) ? 1 / most : 1;
    }
}

static double unit_of_multiplier(const nh_steady *w, int j)
{
    const nh_local *s = w->s;
    double most = 0;
    for (int i = 0; i < s->n; i++)
        most = fmax(most, fabs(at(w, i, s->l + j)) * w->unit[i]);
    return most > 0 ? multiplier_unit / most : 1;
}

/* The column of the conditions for a change of v and a that accompany a change of q (or none). */
static void fill(nh_steady *w, int unknown, int column, const double *v, const double *a)
{
    const nh_local *s = w->s;
    for (int i = 0; i < w->conditions - w->g->count; i++) {
        double sum = column >= 0 ? at(w, i, column) : 0;
        for (int c = 0; c < s->coordinates && v; c++)
            sum += at(w, i, s->v + c) * v[c] + at(w, i, s->a + c) * a[c];
        w->matrix[i * w->unknowns + unknown] = sum * w->unit[i];
    }
}

static void fill_coordinates(nh_steady *w)
{
    const nh_local *s = w->s;
    double *one = w->work, *v = one + s->n, *a = v + s->n;
    bool moves = false;
    for (int i = 0; i < w->g->count; i++)
        moves |= nh_steady_rates(w)[i] != 0;
    memset(one, 0, (size_t)s->n * sizeof *one);
    for (int i = 0; i < s->coordinates; i++) {
        one[i] = 1;
        nh_steady_field(w, nh_steady_rates(w), one, false, v);
        nh_steady_field(w, nh_steady_rates(w), v, false, a);
        fill(w, i, i, moves ? v : NULL, a);
        one[i] = 0;
    }
}

static void fill_rates(nh_steady *w)
{
    const nh_local *s = w->s;
    const int first = w->conditions - w->g->count; /* no change along the symmetries themselves */
    double *v = w->work, *a = v + s->n;
    for (int i = 0; i < w->g->count; i++) {
        double length = 0;
        memset(v, 0, (size_t)s->n * sizeof *v);
        nh_generator_add(w->g, i, 1, w->point, true, v);
        nh_steady_field(w, nh_steady_rates(w), v, false, a);
        nh_generator_add(w->g, i, 1, w->point + s->v, false, a);
        fill(w, w->rates + i, -1, v, a);
        for (int c = 0; c < s->coordinates; c++)
            length += v[c] * v[c];
        for (int c = 0; c < s->coordinates && length > 0; c++)
            w->matrix[(first + i) * w->unknowns + c] = strictly * v[c] / sqrt(length);
    }
}

/* Residuals and their derivatives by the unknowns, and the size of their terms. */
static void find_conditions(nh_steady *w)
{
    nh_local *s = w->s;
    place(w);
    nh_local_jacobian(s, w->point, -1, w->jacobian);
    memset(w->matrix, 0, (size_t)w->conditions * (size_t)w->unknowns * sizeof *w->matrix);
    find_units(w);
    fill_coordinates(w);
    fill_rates(w);
    for (int i = s->coordinates; i < s->n; i++)
        fill(w, w->free + i - s->coordinates, s->v + i, NULL, NULL);
    for (int j = 0; j < s->m; j++)
        fill(w, w->multipliers + j, s->l + j, NULL, NULL);
    w->size = 0;
    for (int i = 0; i < w->conditions - w->g->count; i++)
        for (int c = 0; c < w->unknowns; c++) {
            const double x = c < w->multipliers ? fmax(1, fabs(w->unknown[c])) : w->unknown[c];
            w->size = fmax(w->size, fabs(w->matrix[i * w->unknowns + c] * x));
        }
    for (int j = 0; j < s->m; j++)
        for (int i = 0; i < w->conditions; i++)
            w->matrix[i * w->unknowns + w->multipliers + j] *= unit_of_multiplier(w, j);
}

/* The length of the residuals at the present point; infinite if there are none. */
static double find_residual(nh_steady *w)
{
    nh_local *s = w->s;
    double *r = w->work, sum = 0;
    place(w);
    nh_local_values(s, w->point, r);
    for (int i = 0; i < w->conditions; i++) {
        w->residual[i] = i < w->conditions - w->g->count ? r[row_of(s, i)] * w->unit[i] : 0;
        sum += w->residual[i] * w->residual[i];
    }
    return isfinite(sum) ? sqrt(sum) : INFINITY;
}

/* ---- iteration ---- */

static void take_step(nh_steady *w, const double *from, const double *step, double length)
{
    for (int i = 0; i < w->unknowns; i++) {
        const int j = i - w->multipliers;
        w->unknown[i] = from[i] + length * step[i] * (j < 0 ? 1 : unit_of_multiplier(w, j));
    }
}

static void damped_step(const nh_svd *svd, const double *residual, double damping, double *step)
{
    memset(step, 0, (size_t)svd->columns * sizeof *step);
    for (int i = 0; i < svd->values; i++) {
        double along = 0;
        const double s = svd->value[i], divisor = s * s + damping;
        for (int r = 0; r < svd->rows; r++)
            along -= svd->left[i * svd->rows + r] * residual[r];
        for (int c = 0; c < svd->columns && divisor > 0; c++)
            step[c] += s / divisor * along * svd->right[i * svd->columns + c];
    }
}

/* One step that reduces the residual; false if there is none. `effort` scales the damping. */
static bool improve(nh_steady *w, double *size, double *effort, double *from)
{
    nh_svd svd;
    double *step = from + w->unknowns;
    bool better = false, ok;
    find_conditions(w);
    *size = find_residual(w); /* in the new units */
    ok = isfinite(w->size) && nh_svd_find(&svd, w->conditions, w->unknowns, w->matrix);
    if (!ok) {
        nh_svd_free(&svd);
        return false;
    }
    memcpy(from, w->unknown, (size_t)w->unknowns * sizeof *from);
    double *residual = step + w->unknowns;
    memcpy(residual, w->residual, (size_t)w->conditions * sizeof *residual);
    for (int turn = 0; turn < 40 && !better; turn++) {
        const double relative = w->size > 0 ? *size / w->size : 0;
        damped_step(&svd, residual, *effort * relative * relative * svd.value[0] * svd.value[0],
                    step);
        take_step(w, from, step, 1);
        const double now = find_residual(w);
        better = now < *size * (1 - 1e-4);
        *effort = better ? *effort / 8 : *effort * 5;
        *size = better ? now : *size;
    }
    if (!better) {
        take_step(w, from, step, 0);
        find_residual(w);
    }
    nh_svd_free(&svd);
    return better;
}

/* Whether every residual is small compared with what the unknowns contribute to its condition, or
 * small changes of them would balance it: a force that only fades away at infinity, such as exp(x),
 * is not balanced anywhere. Residuals that no unknown affects are compared with their terms. */
static bool is_solved(const nh_steady *w)
{
    bool is = true, *open = calloc((size_t)w->s->rows + 1, sizeof *open);
    for (int i = 0; open && i < w->conditions - w->g->count; i++) {
        double size = 0, slope = 0;
        for (int c = 0; c < w->unknowns; c++) {
            const int j = c - w->multipliers;
            const double x = j < 0 ? w->unknown[c] : w->unknown[c] / unit_of_multiplier(w, j);
            const double part = fabs(w->matrix[i * w->unknowns + c]);
            size = fmax(size, part * fabs(x));
            slope = fmax(slope, j < 0 ? part : part / multiplier_unit);
        }
        open[row_of(w->s, i)] = !(fabs(w->residual[i]) <= fmax(solved * size, 1e-7 * slope));
        is = is && !open[row_of(w->s, i)];
    }
    if (open && !is && nh_local_is_balanced(w->s, w->point, open, solved, &is, NULL) != NH_OK)
        is = false;
    free(open);
    return is;
}

static bool converge(nh_steady *w, double *from)
{
    double size = 0, effort = 1e-8;
    for (int turn = 0; turn < TURNS; turn++) {
        if (!improve(w, &size, &effort, from))
            break;
        if (size <= 0x1p-50 * w->size)
            break;
    }
    return size <= solved * w->size && isfinite(w->size) && is_solved(w);
}

/* ---- the nearest member of the family ---- */

/* The step along the family that brings the unknowns but the multipliers closest to those of the
 * start; returns its length. */
static double step_along(const nh_steady *w, const nh_svd *svd, int rank, double *step)
{
    const int N = w->unknowns;
    double length = 0;
    memset(step, 0, (size_t)N * sizeof *step);
    for (int i = rank; i < N; i++) {
        const double *along = svd->right + (size_t)i * (size_t)N;
        double part = 0;
        for (int c = 0; c < w->multipliers; c++)
            part += along[c] * (w->first[c] - w->unknown[c]);
        for (int c = 0; c < N; c++)
            step[c] += part * along[c];
    }
    for (int c = 0; c < w->multipliers; c++)
        length += step[c] * step[c];
    return sqrt(length);
}

/* Newton's method onto the family, whose matrix has the given rank. */
static bool return_to_family(nh_steady *w, int rank, double *from)
{
    double *step = from + w->unknowns, before = INFINITY;
    for (int turn = 0; turn < 12; turn++) {
        nh_svd svd;
        find_conditions(w);
        const double size = find_residual(w);
        if (size <= 0x1p-51 * w->size || !(size < before))
            return size <= solved * w->size || before <= solved * w->size;
        before = size;
        const bool ok = nh_svd_find(&svd, w->conditions, w->unknowns, w->matrix);
        if (ok) {
            nh_svd_solve(&svd, rank < svd.values ? rank : svd.values, w->residual, step);
            memcpy(from, w->unknown, (size_t)w->unknowns * sizeof *from);
            take_step(w, from, step, -1);
        }
        nh_svd_free(&svd);
        if (!ok)
            return false;
    }
    return true;
}

/* Moves along the family to where it is nearest to the start. */
static bool approach(nh_steady *w, double *from)
{
    double *step = from + w->unknowns, *back = step + w->unknowns, least = INFINITY;
    for (int move = 0; move < MOVES; move++) {
        nh_svd svd;
        find_conditions(w);
        if (!nh_svd_find(&svd, w->conditions, w->unknowns, w->matrix)) {
            nh_svd_free(&svd);
            return false;
        }
        const int rank = nh_svd_rank(&svd, singular);
        if (move == 0) {
            nh_svd_solve(&svd, rank, w->residual, step);
            for (int c = 0; c < w->multipliers; c++)
                w->uncertainty = fmax(w->uncertainty, fabs(step[c]));
        }
        const double length = step_along(w, &svd, rank, step);
        nh_svd_free(&svd);
        if (length < 1e-14 || (length < 1e-9 && length > least / 2))
            break;
        least = fmin(least, length);
        memcpy(back, w->unknown, (size_t)w->unknowns * sizeof *back);
        memcpy(from, w->unknown, (size_t)w->unknowns * sizeof *from);
        take_step(w, from, step, length > 0.3 ? 0.3 / length : 1);
        if (!return_to_family(w, rank, from)) {
            memcpy(w->unknown, back, (size_t)w->unknowns * sizeof *back);
            find_conditions(w);
            break;
        }
    }
    find_residual(w);
    return true;
}

/* ---- the start ---- */

/* The rates that are closest to the velocities of the start. */
static bool rates_of(nh_steady *w, const double *start)
{
    const nh_local *s = w->s;
    const int d = w->g->count, n = s->coordinates;
    double *a = calloc((size_t)(n * d) + 1, sizeof *a), *X = w->work;
    if (!a)
        return false;
    for (int i = 0; i < d; i++) {
        memset(X, 0, (size_t)s->n * sizeof *X);
        nh_generator_add(w->g, i, 1, start, true, X);
        for (int c = 0; c < n; c++)
            a[c * d + i] = X[c];
    }
    nh_svd svd;
    const bool ok = nh_svd_find(&svd, n, d, a);
    if (ok)
        nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-12), start + s->v, w->unknown + w->rates);
    nh_svd_free(&svd);
    free(a);
    return ok;
}

/* Multipliers that balance the forces best. */
static bool guess_multipliers(nh_steady *w)
{
    const nh_local *s = w->s;
    const int n = s->n, m = s->m;
    double *a = calloc((size_t)(n * m) + 1, sizeof *a), *x = w->work + s->rows;
    if (!a)
        return false;
    find_conditions(w);
    find_residual(w);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * m + j] = at(w, i, s->l + j) * w->unit[i];
    nh_svd svd;
    const bool ok = nh_svd_find(&svd, n, m, a);
    if (ok)
        nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-10), w->residual, x);
    for (int j = 0; ok && j < m; j++)
        w->unknown[w->multipliers + j] -= x[j];
    nh_svd_free(&svd);
    free(a);
    return ok;
}

/* ---- all of it ---- */

/* The largest residuals, each with what it belongs to, and the state. */
static nh_status refuse(const nh_steady *w, nh_report *report)
{
    const nh_local *s = w->s;
    char text[700] = "", state[500] = "";
    const int own = w->conditions - w->g->count;
    bool *told = calloc((size_t)own + 1, sizeof *told);
    for (int turn = 0; told && turn < 4; turn++) {
        int worst = -1;
        for (int i = 0; i < own; i++)
            if (!told[i] && w->residual[i] != 0 &&
                (worst < 0 || !(fabs(w->residual[i]) <= fabs(w->residual[worst]))))
                worst = i;
        if (worst < 0)
            break;
        told[worst] = true;
        const bool force = worst < s->n;
        const int constraint =
            worst < s->n + s->m ? worst - s->n : worst - s->n - s->m + s->m - s->positions;
        nh_print(text + strlen(text), sizeof text - strlen(text), "%s%s %s: %.3g", turn ? ", " : "",
                 force ? "force on" : "constraint",
                 force ? nh_inner_velocity_name(s->system, worst)
                       : nh_system_constraint_name(s->system, constraint),
                 w->residual[worst] / w->unit[worst]);
    }
    free(told);
    for (int i = 0; i < s->coordinates && i < 12; i++)
        nh_print(state + strlen(state), sizeof state - strlen(state), "%s%s = %.6g", i ? ", " : "",
                 s->problem->coordinate_name[i], w->point[i]);
    return nh_fail(report, NH_NOT_CONVERGED,
                   "found no steady motion near the start; what remains where the equations are "
                   "satisfied best: %s; the state there: %s%s; try another start (--start), or "
                   "other values of parameters",
                   text[0] ? text : "no finite values", state, s->coordinates > 12 ? ", ..." : "");
}

nh_status nh_steady_find(nh_steady *w, const double *start, nh_report *report)
{
    const nh_local *s = w->s;
    double *from = malloc((3 * (size_t)w->unknowns + (size_t)w->conditions + 1) * sizeof *from);
    w->uncertainty = 0;
    memset(w->unknown, 0, (size_t)w->unknowns * sizeof *w->unknown);
    memcpy(w->unknown, start, (size_t)s->coordinates * sizeof *start);
    memcpy(w->unknown + w->free, start + s->v + s->coordinates,
           (size_t)(s->n - s->coordinates) * sizeof *start);
    bool ok = from && rates_of(w, start);
    memcpy(w->first, w->unknown, (size_t)w->unknowns * sizeof *w->first);
    if (!ok || !guess_multipliers(w)) {
        free(from);
        return nh_fail_memory(report);
    }
    double size = find_residual(w);
    w->kept = size <= 1e-13 * w->size;
    w->kept = w->kept && is_solved(w);
    bool found = w->kept || converge(w, from);
    if (found && !w->kept)
        approach(w, from);
    if (found) {
        found = nh_generators_settle(w->g, s, w->point, w->unknown + w->rates);
        find_conditions(w);
        find_residual(w);
    }
    free(from);
    return found ? NH_OK : refuse(w, report);
}

/* ---- with a parameter ---- */

/* How the unknowns of the start change. */
static bool change_of_first(const nh_steady *w, const double *start, double *out)
{
    const nh_local *s = w->s;
    const int d = w->g->count, n = s->coordinates;
    double *a = calloc((size_t)(n * d) + 2 * (size_t)s->n + 1, sizeof *a);
    if (!a)
        return false;
    double *X = a + n * d, *rest = X + s->n;
    memset(out, 0, (size_t)w->unknowns * sizeof *out);
    memcpy(out, start, (size_t)n * sizeof *out);
    memcpy(out + w->free, start + s->v + n, (size_t)(s->n - n) * sizeof *out);
    nh_steady_field(w, w->first + w->rates, start, false, X);
    for (int c = 0; c < n; c++)
        rest[c] = start[s->v + c] - X[c];
    for (int i = 0; i < d; i++) {
        memset(X, 0, (size_t)s->n * sizeof *X);
        nh_generator_add(w->g, i, 1, w->first, true, X);
        for (int c = 0; c < n; c++)
            a[c * d + i] = X[c];
    }
    nh_svd svd;
    const bool ok = nh_svd_find(&svd, n, d, a);
    if (ok)
        nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-12), rest, out + w->rates);
    nh_svd_free(&svd);
    free(a);
    return ok;
}

/* The change of the point that belongs to one of the unknowns. */
static void direction_of(const nh_steady *w, const double *change, double *direction)
{
    const nh_local *s = w->s;
    double *v = direction + s->v, *a = direction + s->a, *part = w->work;
    memset(direction, 0, (size_t)s->width * sizeof *direction);
    memcpy(direction, change, (size_t)s->coordinates * sizeof *direction);
    nh_steady_field(w, nh_steady_rates(w), change, false, v);
    nh_steady_field(w, change + w->rates, w->point, true, part);
    for (int i = 0; i < s->coordinates; i++)
        v[i] += part[i];
    for (int i = s->coordinates; i < s->n; i++)
        v[i] = change[w->free + i - s->coordinates];
    nh_steady_field(w, nh_steady_rates(w), v, false, a);
    nh_steady_field(w, change + w->rates, w->point + s->v, false, part);
    for (int i = 0; i < s->n; i++)
        a[i] = i < s->coordinates ? a[i] + part[i] : 0;
    memcpy(direction + s->l, change + w->multipliers, (size_t)s->m * sizeof *direction);
}

bool nh_steady_along(nh_steady *w, int parameter, const double *start, double *direction,
                     double *rates)
{
    const nh_local *s = w->s;
    const size_t N = (size_t)w->unknowns, R = (size_t)w->conditions;
    double *change = malloc((3 * N + R + 1) * sizeof *change);
    nh_svd svd = {0};
    find_conditions(w);
    nh_local_jacobian(w->s, w->point, parameter, w->jacobian);
    bool ok = change && change_of_first(w, start, change + N) &&
              nh_svd_find(&svd, w->conditions, w->unknowns, w->matrix);
    double *first = change + N, *b = first + N;
    for (int i = 0; ok && i < w->conditions; i++)
        b[i] = i < w->conditions - w->g->count ? -at(w, i, s->u + s->open + parameter) * w->unit[i]
                                               : 0;
    if (ok) {
        const int rank = nh_svd_rank(&svd, singular);
        nh_svd_solve(&svd, rank, b, change);
        for (int i = rank; i < w->unknowns; i++) {
            const double *along = svd.right + (size_t)i * N;
            double part = 0;
            for (int c = 0; c < w->multipliers; c++)
                part += along[c] * (first[c] - change[c]);
            for (size_t c = 0; c < N; c++)
                change[c] += part * along[c];
        }
        for (int j = 0; j < s->m; j++)
            change[w->multipliers + j] *= unit_of_multiplier(w, j);
        direction_of(w, change, direction);
        direction[s->u + s->open + parameter] = 1;
        nh_local_follow(s, w->jacobian, direction);
        memcpy(rates, change + w->rates, (size_t)w->g->count * sizeof *rates);
    }
    nh_svd_free(&svd);
    free(change);
    return ok;
}
