/* One periodic motion by Newton's method on the map of a period (shooting.h), and its multipliers.
 */
#include "simulate/periodic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/eigenvalues.h"
#include "base/lapack.h"
#include "base/status.h"

enum { STEPS = 40, CUTS = 8 };

static const double rank_tolerance = 1e-9;

/* ---- Newton's method ---- */

unknowns nh_orbit_unknowns(const nh_shooting *s, bool follows)
{
    unknowns u = {.period = -1, .shifts = s->dimension, .parameter = -1};
    if (!s->forced)
        u.period = u.shifts++;
    u.count = u.shifts + s->symmetries;
    if (follows)
        u.parameter = u.count++;
    return u;
}

/* d(residual)/d(unknowns) in the first `size` rows of a[..][count]. Periods and parameters are in
 * units of their own size. */
void nh_orbit_matrix(const nh_shooting *s, const unknowns *u, const double *unit, double *a)
{
    for (int r = 0; r < s->size; r++) {
        double *row = a + r * u->count;
        for (int k = 0; k < s->dimension; k++)
            row[k] = s->images[k * s->size + r] - s->space.basis[k * s->size + r];
        if (u->period >= 0)
            row[u->period] = s->rate[r] * unit[u->period];
        for (int i = 0; i < s->symmetries; i++)
            row[u->shifts + i] = -s->fields[i * s->size + r] * unit[u->shifts + i];
        if (u->parameter >= 0)
            row[u->parameter] = s->by_value[r] * unit[u->parameter];
    }
}

double nh_orbit_norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

bool nh_place_make(place *p, const nh_shooting *s)
{
    p->state =
        malloc((size_t)(s->coordinates + s->velocities + s->symmetries + 1) * sizeof *p->state);
    return p->state != NULL;
}

void nh_place_save(place *p, const nh_shooting *s)
{
    memcpy(p->state, s->q, (size_t)(s->coordinates + s->velocities + s->symmetries) * sizeof *s->q);
    p->period = s->period;
    p->value = s->value;
}

nh_status nh_place_restore(const place *p, nh_shooting *s, nh_report *report)
{
    memcpy(s->q, p->state, (size_t)(s->coordinates + s->velocities + s->symmetries) * sizeof *s->q);
    const nh_status status =
        s->parameter >= 0 && s->value != p->value ? nh_shooting_set(s, p->value, report) : NH_OK;
    s->period = p->period;
    return status;
}

/* Goes by factor * step, which is in the units, and evaluates there. */
nh_status nh_orbit_go(nh_shooting *s, const unknowns *u, const double *unit, const double *step,
                      double factor, nh_report *report)
{
    double *x = calloc((size_t)s->size + 1, sizeof *x);
    nh_status status = x ? NH_OK : nh_fail_memory(report);
    for (int k = 0; k < s->dimension && x; k++)
        for (int r = 0; r < s->size; r++)
            x[r] += factor * step[k] * s->space.basis[k * s->size + r];
    if (status == NH_OK && u->parameter >= 0)
        status =
            nh_shooting_set(s, s->value + factor * step[u->parameter] * unit[u->parameter], report);
    if (status == NH_OK)
        status = nh_shooting_move(s, x, report);
    if (u->period >= 0)
        s->period += factor * step[u->period] * unit[u->period];
    for (int i = 0; i < s->symmetries; i++)
        s->shift[i] += factor * step[u->shifts + i] * unit[u->shifts + i];
    free(x);
    if (status == NH_OK && !(s->period > 0 && isfinite(s->period)))
        status = nh_fail(report, NH_NOT_CONVERGED, "the period became %g", s->period);
    return status == NH_OK ? nh_shooting_evaluate(s, report) : status;
}

/* The shortest step that satisfies the equations best. */
bool nh_orbit_solve(int rows, int columns, const double *a, const double *b, double *x)
{
    nh_svd svd;
    const bool ok = nh_svd_find(&svd, rows, columns, a);
    if (ok)
        nh_svd_solve(&svd, nh_svd_rank(&svd, rank_tolerance), b, x);
    nh_svd_free(&svd);
    return ok;
}

/* A step that makes things worse is cut into halves. */
static nh_status take_step(nh_periodic *p, const unknowns *u, const double *unit,
                           const double *step, place *from, double before, nh_report *report)
{
    nh_shooting *s = &p->s;
    nh_status status = NH_OK;
    nh_place_save(from, s);
    double factor = 1;
    for (int cut = 0; cut <= CUTS; cut++, factor /= 2) {
        status = nh_orbit_go(s, u, unit, step, factor, report);
        const double least = NH_ORBIT_CLOSED * nh_shooting_size(s); /* rounding is not compared */
        if (status == NH_OK && nh_orbit_norm(s->size, s->residual) <= fmax(2 * before, least))
            return NH_OK;
        const nh_status back = nh_place_restore(from, s, report);
        if (back != NH_OK || nh_ends_search(status))
            return back != NH_OK ? back : status;
        /* the basis is that of the place */
        if ((status = nh_shooting_evaluate(s, report)) != NH_OK)
            return status;
    }
    return nh_fail(report, NH_NOT_CONVERGED,
                   "no periodic motion was found near the start: the state comes back within %.3g "
                   "after %.10g, and no nearby start is better; try another start or --period",
                   before, s->period);
}

/* The symmetries move the end by about as much as it has moved along them. */
static nh_status guess_shifts(nh_shooting *s, nh_report *report)
{
    const size_t size = (size_t)s->size, count = (size_t)s->symmetries;
    double *a = malloc((size * count + 1) * sizeof *a);
    for (size_t r = 0; a && r < size; r++)
        for (size_t i = 0; i < count; i++)
            a[r * count + i] = s->fields[i * size + r];
    const bool ok =
        a && (count == 0 || nh_orbit_solve((int)size, (int)count, a, s->moved, s->shift));
    free(a);
    return !ok ? nh_fail_memory(report) : count > 0 ? nh_shooting_evaluate(s, report) : NH_OK;
}

/* Newton's method until the residual is round-off, or no longer becomes much smaller. While the
 * start is held, only the period and the shifts change. */
static nh_status iterate(nh_periodic *p, bool held, nh_report *report)
{
    nh_shooting *s = &p->s;
    const unknowns u = nh_orbit_unknowns(s, false);
    const size_t count = (size_t)u.count, size = (size_t)s->size;
    double *a = malloc((size * count + 2 * count + size + 1) * sizeof *a);
    double *step = a + size * count, *unit = step + count, *b = unit + count;
    place from = {0};
    nh_status status = a && nh_place_make(&from, s) ? NH_OK : nh_fail_memory(report);
    double before = INFINITY, now = nh_orbit_norm(s->size, s->residual);
    for (int turn = 0; status == NH_OK && turn < STEPS; turn++) {
        const bool slow = now >= before / (held ? 4 : 2);
        if (now == 0 || (slow && (held || now <= NH_ORBIT_TOLERABLE * nh_shooting_size(s))))
            break;
        for (size_t i = 0; i < count; i++)
            unit[i] = 1;
        if (u.period >= 0)
            unit[u.period] = s->period;
        nh_orbit_matrix(s, &u, unit, a);
        for (size_t r = 0; r < size; r++) {
            b[r] = -s->residual[r];
            for (int k = 0; k < s->dimension && held; k++)
                a[r * count + (size_t)k] = 0;
        }
        if (!nh_orbit_solve(s->size, u.count, a, b, step)) {
            status = nh_fail_memory(report);
            break;
        }
        before = now;
        status = take_step(p, &u, unit, step, &from, before, report);
        now = nh_orbit_norm(s->size, s->residual);
        p->iterations++;
    }
    free(a);
    free(from.state);
    return status;
}

/* In a family of motions the one with the given start is meant, so the period is changed before the
 * start is. */
nh_status nh_orbit_find(nh_periodic *p, nh_report *report)
{
    nh_shooting *s = &p->s;
    nh_status status = nh_shooting_evaluate(s, report);
    if (status == NH_OK)
        status = guess_shifts(s, report);
    if (status == NH_OK && (!s->forced || s->symmetries > 0)) {
        const double period = s->period;
        status = iterate(p, true, report);
        if (!(s->period > period / 2 && s->period < 2 * period)) /* it went elsewhere */
            s->period = period;
        if (status == NH_OK || status == NH_NOT_CONVERGED)
            status = nh_shooting_evaluate(s, report);
    }
    if (status == NH_OK)
        status = iterate(p, false, report);
    p->residual = nh_orbit_norm(s->size, s->residual) / nh_shooting_size(s);
    if (status == NH_CALLBACK_STOPPED)
        return nh_fail(report, status,
                       "stopped after %d steps of Newton's method, with which the state came back "
                       "within %.3g of its size",
                       p->iterations, p->residual);
    if (status == NH_OK && p->residual > NH_ORBIT_TOLERABLE)
        status = nh_fail(report, NH_NOT_CONVERGED,
                         "no periodic motion was found near the start: after %d steps of Newton's "
                         "method the state comes back within %.3g of its size; try another start "
                         "or --period",
                         p->iterations, p->residual);
    return status;
}

/* ---- multipliers ---- */

/* Of the map of perturbations within the constraints. Those that are exactly 1, along the motion
 * and in families, are split off before the others are computed. */
bool nh_orbit_multipliers(const nh_shooting *s, double complex *out)
{
    const int d = s->dimension;
    nh_spectrum spectrum = {0};
    double *m = malloc(((size_t)d * (size_t)d + 1) * sizeof *m);
    for (int i = 0; m && i < d; i++)
        for (int j = 0; j < d; j++) {
            double sum = 0;
            for (int r = 0; r < s->size; r++)
                sum += s->space.basis[i * s->size + r] * s->images[j * s->size + r];
            m[i * d + j] = sum - (i == j);
        }
    const bool ok = m && nh_spectrum_find(&spectrum, d, m, -1);
    for (int i = 0; ok && i < d; i++)
        out[i] = i < spectrum.count ? 1 + spectrum.value[i] : 1;
    nh_spectrum_free(&spectrum);
    free(m);
    return ok;
}

nh_status nh_orbit_is_rest(nh_report *report)
{
    return nh_fail(report, NH_NOT_CONVERGED,
                   "the motion is a rest, where every time is a period: 'nonholo linearise' tells "
                   "how it is left; start further from it");
}

nh_status nh_orbit_check_rest(const nh_periodic *p, nh_report *report)
{
    const nh_shooting *s = &p->s;
    if (s->forced || nh_orbit_norm(s->size, s->flow) * s->period > 1e-7 * nh_shooting_size(s))
        return NH_OK;
    return nh_orbit_is_rest(report);
}
