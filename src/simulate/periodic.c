/* Periodic motions by Newton's method on the map of a period (shooting.h), and families of them
 * along a parameter by pseudo-arclength; see nonholo_analysis.h. */
#include <nonholo_analysis.h>

#include "analysis/eigenvalues.h"
#include "base/lapack.h"
#include "base/option_struct.h"
#include "base/remarks.h"
#include "base/status.h"
#include "simulate/even.h"
#include "simulate/shooting.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 40, CUTS = 8, POINTS_MOST = 100000 };

static const double closed = 1e-12;   /* residuals of orbits, beside the state */
static const double tolerable = 1e-8; /* they may be no larger where rounding stops the iteration */
static const double rank_tolerance = 1e-9;
static const double on_circle = 1e-9;

typedef struct orbit { /* a point of a family */
    nh_orbit_kind kind;
    double value, period;
    double *q, *v; /* owned by q */
    double complex *multiplier;
    int multipliers;
} orbit;

struct nh_periodic {
    const nh_system *system;
    nh_shooting s;
    double residual;
    int iterations;
    double complex *multiplier; /* [dimension] */
    int multipliers;
    orbit *family;
    int64_t members, room;
    nh_remarks remarks;
    int (*progress)(void *user, double share);
    void *user;
};

/* ---- Newton's method ---- */

/* The unknowns: (perturbation of the start in the basis, period, shifts, parameter). */
typedef struct unknowns {
    int period, shifts, parameter, count; /* where they begin; -1: not unknown */
} unknowns;

static unknowns unknowns_of(const nh_shooting *s, bool follows)
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
static void fill_matrix(const nh_shooting *s, const unknowns *u, const double *unit, double *a)
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

static double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static double state_size(const nh_shooting *s)
{
    return 1 + norm(s->coordinates, s->q) + norm(s->velocities, s->v);
}

/* What Newton's method changes, to try shorter steps from the same place. */
typedef struct place {
    double *state; /* q, v, shifts */
    double period, value;
} place;

static bool place_make(place *p, const nh_shooting *s)
{
    p->state =
        malloc((size_t)(s->coordinates + s->velocities + s->symmetries + 1) * sizeof *p->state);
    return p->state != NULL;
}

static void place_save(place *p, const nh_shooting *s)
{
    memcpy(p->state, s->q, (size_t)(s->coordinates + s->velocities + s->symmetries) * sizeof *s->q);
    p->period = s->period;
    p->value = s->value;
}

static nh_status place_restore(const place *p, nh_shooting *s, nh_report *report)
{
    memcpy(s->q, p->state, (size_t)(s->coordinates + s->velocities + s->symmetries) * sizeof *s->q);
    const nh_status status =
        s->parameter >= 0 && s->value != p->value ? nh_shooting_set(s, p->value, report) : NH_OK;
    s->period = p->period;
    return status;
}

/* Goes by factor * step, which is in the units, and evaluates there. */
static nh_status go(nh_shooting *s, const unknowns *u, const double *unit, const double *step,
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
static bool solve(int rows, int columns, const double *a, const double *b, double *x)
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
    place_save(from, s);
    double factor = 1;
    for (int cut = 0; cut <= CUTS; cut++, factor /= 2) {
        status = go(s, u, unit, step, factor, report);
        if (status == NH_OK && norm(s->size, s->residual) <= 2 * before)
            return NH_OK;
        const nh_status back = place_restore(from, s, report);
        if (back != NH_OK || status == NH_NO_MEMORY)
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
    const bool ok = a && (count == 0 || solve((int)size, (int)count, a, s->moved, s->shift));
    free(a);
    return !ok ? nh_fail_memory(report) : count > 0 ? nh_shooting_evaluate(s, report) : NH_OK;
}

/* Newton's method until the residual is round-off, or no longer becomes much smaller. While the
 * start is held, only the period and the shifts change. */
static nh_status iterate(nh_periodic *p, bool held, nh_report *report)
{
    nh_shooting *s = &p->s;
    const unknowns u = unknowns_of(s, false);
    const size_t count = (size_t)u.count, size = (size_t)s->size;
    double *a = malloc((size * count + 2 * count + size + 1) * sizeof *a);
    double *step = a + size * count, *unit = step + count, *b = unit + count;
    place from = {0};
    nh_status status = a && place_make(&from, s) ? NH_OK : nh_fail_memory(report);
    double before = INFINITY, now = norm(s->size, s->residual);
    for (int turn = 0; status == NH_OK && turn < STEPS; turn++) {
        const bool slow = now >= before / (held ? 4 : 2);
        if (now == 0 || (slow && (held || now <= tolerable * state_size(s))))
            break;
        for (size_t i = 0; i < count; i++)
            unit[i] = 1;
        if (u.period >= 0)
            unit[u.period] = s->period;
        fill_matrix(s, &u, unit, a);
        for (size_t r = 0; r < size; r++) {
            b[r] = -s->residual[r];
            for (int k = 0; k < s->dimension && held; k++)
                a[r * count + (size_t)k] = 0;
        }
        if (!solve(s->size, u.count, a, b, step)) {
            status = nh_fail_memory(report);
            break;
        }
        before = now;
        status = take_step(p, &u, unit, step, &from, before, report);
        now = norm(s->size, s->residual);
        p->iterations++;
    }
    free(a);
    free(from.state);
    return status;
}

/* In a family of motions the one with the given start is meant, so the period is changed before the
 * start is. */
static nh_status find_orbit(nh_periodic *p, nh_report *report)
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
    p->residual = norm(s->size, s->residual) / state_size(s);
    if (status == NH_OK && p->residual > tolerable)
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
static bool find_multipliers(const nh_shooting *s, double complex *out)
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

static nh_status say_rest(nh_report *report)
{
    return nh_fail(report, NH_NOT_CONVERGED,
                   "the motion is a rest, where every time is a period: 'nonholo linearise' tells "
                   "how it is left; start further from it");
}

static nh_status check_rest(const nh_periodic *p, nh_report *report)
{
    const nh_shooting *s = &p->s;
    if (s->forced || norm(s->size, s->flow) * s->period > 1e-7 * state_size(s))
        return NH_OK;
    return say_rest(report);
}

/* ---- families ---- */

static bool add_orbit(nh_periodic *p, nh_orbit_kind kind)
{
    const nh_shooting *s = &p->s;
    if (p->members == p->room) {
        const int64_t room = p->room ? 2 * p->room : 64;
        orbit *family = realloc(p->family, (size_t)room * sizeof *family);
        if (!family)
            return false;
        p->family = family;
        p->room = room;
    }
    const size_t n = (size_t)s->coordinates, k = (size_t)s->velocities, d = (size_t)s->dimension;
    orbit o = {.kind = kind, .value = s->value, .period = s->period, .multipliers = s->dimension};
    o.q = malloc((n + k + 1) * sizeof *o.q);
    o.multiplier = malloc((d + 1) * sizeof *o.multiplier);
    if (!o.q || !o.multiplier) {
        free(o.q);
        free(o.multiplier);
        return false;
    }
    o.v = o.q + n;
    memcpy(o.q, s->q, n * sizeof *o.q);
    memcpy(o.v, s->v, k * sizeof *o.v);
    find_multipliers(s, o.multiplier);
    p->family[p->members++] = o;
    return true;
}

/* The family at one of its points: the direction in which it goes on, and what changes sign where
 * something happens. Directions are (x, period, shifts, parameter) in the units, with a
 * perturbation x in users' coordinates, since the basis is another one at every point. */
typedef struct track {
    unknowns u;
    int wide;                        /* numbers of a direction */
    double *unit, *direction, *next; /* [count]; [wide] */
    double *a, *b, *step;            /* with two rows more than the residual */
    place from;
    double turning;         /* of the parameter along the family */
    double doubling, torus; /* product of multipliers + 1; size of the largest pair - 1 */
} track;

static bool track_make(track *t, const nh_shooting *s)
{
    *t = (track){.u = unknowns_of(s, true)};
    t->wide = s->size + t->u.count - s->dimension;
    const size_t count = (size_t)t->u.count, rows = (size_t)s->size + 2, wide = (size_t)t->wide;
    t->unit = malloc((rows * count + 2 * count + 2 * wide + rows + 1) * sizeof *t->unit);
    if (!t->unit || !place_make(&t->from, s))
        return false;
    t->direction = t->unit + count;
    t->next = t->direction + wide;
    t->step = t->next + wide;
    t->b = t->step + count;
    t->a = t->b + rows;
    return true;
}

static void track_free(track *t)
{
    free(t->unit);
    free(t->from.state);
}

/* A direction in the present basis, and back. */
static void narrow(const nh_shooting *s, const track *t, const double *wide, double *out)
{
    for (int k = 0; k < s->dimension; k++) {
        out[k] = 0;
        for (int r = 0; r < s->size; r++)
            out[k] += wide[r] * s->space.basis[k * s->size + r];
    }
    memcpy(out + s->dimension, wide + s->size, (size_t)(t->u.count - s->dimension) * sizeof *out);
}

static void widen(const nh_shooting *s, const track *t, const double *narrow, double *out)
{
    memset(out, 0, (size_t)s->size * sizeof *out);
    for (int k = 0; k < s->dimension; k++)
        for (int r = 0; r < s->size; r++)
            out[r] += narrow[k] * s->space.basis[k * s->size + r];
    memcpy(out + s->size, narrow + s->dimension, (size_t)(t->u.count - s->dimension) * sizeof *out);
}

/* Rows: residual, no shift along the motion, and along the direction. Returns how many. */
static int fill_track(const nh_shooting *s, track *t)
{
    int rows = s->size;
    fill_matrix(s, &t->u, t->unit, t->a);
    if (!s->forced) {
        double *row = t->a + rows++ * t->u.count;
        memset(row, 0, (size_t)t->u.count * sizeof *row);
        for (int k = 0; k < s->dimension; k++)
            for (int r = 0; r < s->size; r++)
                row[k] += s->flow[r] * s->space.basis[k * s->size + r];
    }
    narrow(s, t, t->direction, t->a + rows++ * t->u.count);
    return rows;
}

/* The unit vector along the family at the present point, with a positive part along the direction
 * before; in t->next. */
static bool find_direction(const nh_shooting *s, track *t)
{
    const int rows = fill_track(s, t);
    memset(t->b, 0, (size_t)rows * sizeof *t->b);
    t->b[rows - 1] = 1;
    if (!solve(rows, t->u.count, t->a, t->b, t->step))
        return false;
    const double length = norm(t->u.count, t->step);
    for (int i = 0; i < t->u.count; i++)
        t->step[i] /= length;
    t->turning = t->step[t->u.parameter];
    widen(s, t, t->step, t->next);
    return length > 0 && isfinite(length);
}

static nh_status find_tests(const nh_shooting *s, track *t, nh_report *report)
{
    double complex *m = malloc(((size_t)s->dimension + 1) * sizeof *m);
    if (!m || !find_direction(s, t) || !find_multipliers(s, m)) {
        free(m);
        return nh_fail_memory(report);
    }
    double complex product = 1; /* the determinant of the map + 1 */
    t->torus = -1;
    for (int i = 0; i < s->dimension; i++) {
        product *= m[i] + 1;
        if (cimag(m[i]) > 0)
            t->torus = fmax(t->torus, cabs(m[i]) - 1);
    }
    t->doubling = creal(product);
    free(m);
    return NH_OK;
}

/* From the place where the track is, along its direction by `length`, and back to the family. */
static nh_status correct(nh_shooting *s, track *t, double length, int *iterations,
                         nh_report *report)
{
    nh_status status = place_restore(&t->from, s, report);
    if (status == NH_OK)
        status = nh_shooting_evaluate(s, report);
    if (status != NH_OK)
        return status;
    double gone = 0, before = INFINITY;
    narrow(s, t, t->direction, t->step);
    status = go(s, &t->u, t->unit, t->step, length, report);
    for (*iterations = 0; status == NH_OK && *iterations < 12; ++*iterations) {
        const double now = norm(s->size, s->residual) / state_size(s);
        if (now <= closed || (now <= tolerable && now >= before / 2))
            break;
        before = now;
        const int rows = fill_track(s, t);
        for (int i = 0; i < rows; i++)
            t->b[i] = i < s->size ? -s->residual[i] : 0;
        if (!solve(rows, t->u.count, t->a, t->b, t->step))
            return nh_fail_memory(report);
        gone += norm(t->u.count, t->step);
        if (gone > fabs(length) + 1e-9) /* it went elsewhere */
            return nh_fail(report, NH_NOT_CONVERGED, "the family was lost");
        status = go(s, &t->u, t->unit, t->step, 1, report);
    }
    if (status == NH_OK && norm(s->size, s->residual) > tolerable * state_size(s))
        status = nh_fail(report, NH_NOT_CONVERGED, "the family was lost");
    return status == NH_OK ? find_tests(s, t, report) : status;
}

/* What is zero where something of this kind happens. */
static double test_of(const track *t, nh_orbit_kind kind)
{
    return kind == NH_ORBIT_FOLD ? t->turning : kind == NH_ORBIT_DOUBLING ? t->doubling : t->torus;
}

/* Between the place of the track, where the test was `before`, and `length` further, where it was
 * `after`: regula falsi (Illinois). */
static nh_status locate(nh_periodic *p, track *t, nh_orbit_kind kind, double before, double length,
                        double after, nh_report *report)
{
    nh_shooting *s = &p->s;
    double a = 0, b = length, f = before, g = after;
    nh_status status = NH_OK;
    for (int turn = 0; turn < 60 && status == NH_OK && fabs(b - a) > 1e-13 * length; turn++) {
        int iterations;
        const double x = b - g * (b - a) / (g - f);
        status = correct(s, t, x, &iterations, report);
        const double y = test_of(t, kind);
        if (status != NH_OK || y == 0 || fabs(y) < 1e-13)
            break;
        if ((y < 0) == (g < 0)) {
            f /= 2;
        } else {
            a = b;
            f = g;
        }
        b = x;
        g = y;
    }
    if (status == NH_OK && !add_orbit(p, kind))
        status = nh_fail_memory(report);
    return status;
}

/* What happens between two points of the family, the track standing at the first of them. */
static nh_status locate_all(nh_periodic *p, track *t, const double before[3], const double after[3],
                            double length, nh_report *report)
{
    static const nh_orbit_kind kind[] = {NH_ORBIT_FOLD, NH_ORBIT_DOUBLING, NH_ORBIT_TORUS};
    nh_status status = NH_OK;
    for (int i = 0; i < 3 && status == NH_OK; i++) {
        const bool pair = kind[i] != NH_ORBIT_TORUS || (before[i] > -1 && after[i] > -1);
        const bool crosses = (before[i] < 0) != (after[i] < 0);
        if (pair && crosses && fmax(fabs(before[i]), fabs(after[i])) > on_circle)
            status = locate(p, t, kind[i], before[i], length, after[i], report);
    }
    return status;
}

static void read_tests(const track *t, double test[3])
{
    test[0] = t->turning;
    test[1] = t->doubling;
    test[2] = t->torus;
}

/* One way along the family, from the present point to one of the ends of the range. */
static nh_status follow_one_way(nh_periodic *p, track *t, const double range[2], double sign,
                                nh_report *report)
{
    nh_shooting *s = &p->s;
    const double longest = 0.05, shortest = 1e-7;
    double length = 0.005, test[3], next[3];
    memset(t->direction, 0, (size_t)t->wide * sizeof *t->direction);
    t->direction[t->wide - 1] = sign;
    nh_status status = find_tests(s, t, report);
    memcpy(t->direction, t->next, (size_t)t->wide * sizeof *t->next);
    read_tests(t, test);
    for (int point = 0; point < POINTS_MOST && status == NH_OK; point++) {
        int iterations;
        place_save(&t->from, s);
        status = correct(s, t, length, &iterations, report);
        if (status == NH_NOT_CONVERGED && length > shortest) {
            length /= 2;
            status = place_restore(&t->from, s, report);
            if (status == NH_OK)
                status = nh_shooting_evaluate(s, report);
            continue;
        }
        if (status != NH_OK)
            break;
        read_tests(t, next);
        const bool ended = s->value < range[0] || s->value > range[1];
        place *here = &(place){0};
        if (!place_make(here, s))
            return nh_fail_memory(report);
        place_save(here, s);
        double *direction = malloc((size_t)t->wide * sizeof *direction);
        if (direction)
            memcpy(direction, t->next, (size_t)t->wide * sizeof *direction);
        if (direction && !ended)
            status = locate_all(p, t, test, next, length, report);
        if (status == NH_OK)
            status = place_restore(here, s, report);
        if (status == NH_OK)
            status = nh_shooting_evaluate(s, report);
        if (direction)
            memcpy(t->direction, direction, (size_t)t->wide * sizeof *direction);
        else
            status = nh_fail_memory(report);
        free(direction);
        free(here->state);
        memcpy(test, next, sizeof test);
        if (ended || status != NH_OK)
            break;
        if (!add_orbit(p, NH_ORBIT_REGULAR))
            status = nh_fail_memory(report);
        length = iterations <= 3  ? fmin(1.4 * length, longest)
                 : iterations > 6 ? length / 2
                                  : length;
        if (p->progress && p->progress(p->user, (s->value - range[0]) / (range[1] - range[0])) != 0)
            return nh_fail(report, NH_CALLBACK_STOPPED, "stopped");
    }
    return status;
}

/* Both ways from the orbit that was found. Members are in the order in which they were found. */
static nh_status follow(nh_periodic *p, const double range[2], nh_report *report)
{
    nh_shooting *s = &p->s;
    track t;
    place start = {0};
    nh_status status = track_make(&t, s) && place_make(&start, s) ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < t.u.count && status == NH_OK; i++)
        t.unit[i] = 1;
    if (status == NH_OK) {
        if (t.u.period >= 0)
            t.unit[t.u.period] = s->period;
        t.unit[t.u.parameter] = (range[1] - range[0]) / 4;
        place_save(&start, s);
        if (!add_orbit(p, NH_ORBIT_REGULAR))
            status = nh_fail_memory(report);
    }
    for (int way = 0; way < 2 && status == NH_OK; way++) {
        status = follow_one_way(p, &t, range, way == 0 ? 1 : -1, report);
        if (status == NH_NOT_CONVERGED || status == NH_NOT_FINITE) {
            nh_remarks_add(&p->remarks, "lost", "the family could not be followed beyond %.10g: %s",
                           s->value, report ? report->text : "");
            status = NH_OK;
        }
        if (status == NH_OK)
            status = place_restore(&start, s, report);
        if (status == NH_OK)
            status = nh_shooting_evaluate(s, report);
    }
    free(start.state);
    track_free(&t);
    return status;
}

/* ---- for users ---- */

static int parameter_of(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_parameters(system); i++)
        if (strcmp(nh_system_parameter_name(system, i), name) == 0)
            return i;
    return -1;
}

static nh_status choose_period(nh_periodic *p, double given, nh_report *report)
{
    nh_shooting *s = &p->s;
    if (given > 0)
        s->period = given;
    else if (s->forced && !(s->period > 0))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s depends on time in another way than by sines and cosines of even rates; "
                       "give the period of its forces (--period)",
                       nh_system_name(p->system));
    else if (!s->forced) {
        double even;
        nh_status status = nh_even_step(p->system, s->t0, s->q, s->v, &even, report);
        if (status == NH_OK && even > 0 && norm(s->velocities, s->v) == 0)
            return say_rest(report);
        if (status == NH_OK)
            status = nh_shooting_guess(s, &s->period, report);
        if (status != NH_OK)
            return status;
        if (!(s->period > 0))
            return nh_fail(report, NH_NOT_CONVERGED,
                           "the motion does not come back near its start; give a start nearer to a "
                           "periodic motion, or a first guess of its period (--period)%s",
                           s->relative ? "" : ", or look for one up to a symmetry (--relative)");
    }
    return NH_OK;
}

static nh_status find_all(nh_periodic *p, const nh_periodic_options *o, nh_report *report)
{
    const size_t n = (size_t)nh_system_coordinates(p->system);
    const size_t k = (size_t)nh_system_velocities(p->system);
    nh_run_options how = o->run ? *o->run : nh_run_options_default();
    double *start = malloc((n + k + 1) * sizeof *start);
    const int parameter = o->follow ? parameter_of(p->system, o->follow) : -1;
    nh_status status = start ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && o->follow && parameter < 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s has no parameter '%s' to follow",
                         nh_system_name(p->system), o->follow);
    const double value = parameter >= 0 ? nh_system_parameter_value(p->system, parameter) : 0;
    if (status == NH_OK && o->follow && !(value >= o->from && value <= o->to))
        status = nh_fail(report, NH_BAD_ARGUMENT,
                         "the family begins with %s = %g, which is not between %g and %g",
                         o->follow, value, o->from, o->to);
    if (status == NH_OK && how.q) {
        memcpy(start, how.q, n * sizeof *start);
        memcpy(start + n, how.v, k * sizeof *start);
    } else if (status == NH_OK)
        status = nh_system_start(p->system, NULL, start, start + n, report);
    if (status == NH_OK)
        status = nh_shooting_begin(&p->s, p->system, &how, start, start + n, o->relative, parameter,
                                   report);
    free(start);
    if (status == NH_OK)
        status = choose_period(p, o->period, report);
    if (status == NH_OK)
        status = find_orbit(p, report);
    if (status == NH_OK)
        status = check_rest(p, report);
    p->multiplier = malloc(((size_t)p->s.size + 1) * sizeof *p->multiplier);
    p->multipliers = p->s.dimension;
    if (status == NH_OK && !(p->multiplier && find_multipliers(&p->s, p->multiplier)))
        status = nh_fail_memory(report);
    if (status == NH_OK && o->follow)
        status = follow(p, (const double[]){o->from, o->to}, report);
    return status;
}

nh_status nh_periodic_find(nh_periodic **out, const nh_system *system,
                           const nh_periodic_options *options, nh_report *report)
{
    nh_periodic_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_periodic_options, progress, report);
    nh_periodic *p = status == NH_OK ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return status == NH_OK ? nh_fail_memory(report) : status;
    if (!system->mechanics)
        status = nh_fail(report, NH_NOT_APPLICABLE,
                         "a system of C functions has no expressions to differentiate");
    p->system = system;
    p->progress = o.progress;
    p->user = o.user;
    if (status == NH_OK)
        status = find_all(p, &o, report);
    if (status == NH_OK || (p->members > 0 && status == NH_CALLBACK_STOPPED))
        *out = p;
    else
        nh_periodic_free(p);
    return status;
}

void nh_periodic_free(nh_periodic *p)
{
    if (!p)
        return;
    nh_shooting_end(&p->s);
    for (int64_t i = 0; i < p->members; i++) {
        free(p->family[i].q);
        free(p->family[i].multiplier);
    }
    nh_remarks_free(&p->remarks);
    free(p->family);
    free(p->multiplier);
    free(p);
}

double nh_periodic_period(const nh_periodic *p)
{
    return p->s.period;
}

double nh_periodic_residual(const nh_periodic *p)
{
    return p->residual;
}

int nh_periodic_iterations(const nh_periodic *p)
{
    return p->iterations;
}

void nh_periodic_state(const nh_periodic *p, double *q, double *v)
{
    memcpy(q, p->s.q, (size_t)p->s.coordinates * sizeof *q);
    memcpy(v, p->s.v, (size_t)p->s.velocities * sizeof *v);
}

int nh_periodic_symmetries(const nh_periodic *p)
{
    return p->s.symmetries;
}

const char *nh_periodic_symmetry_name(const nh_periodic *p, int index)
{
    return index >= 0 && index < p->s.symmetries ? p->s.generators.name[index] : NULL;
}

double nh_periodic_shift(const nh_periodic *p, int index)
{
    return index >= 0 && index < p->s.symmetries ? p->s.shift[index] : NAN;
}

int nh_periodic_multipliers(const nh_periodic *p)
{
    return p->multipliers;
}

void nh_periodic_multiplier(const nh_periodic *p, int index, double *re, double *im)
{
    const bool is_there = index >= 0 && index < p->multipliers;
    *re = is_there ? creal(p->multiplier[index]) : NAN;
    *im = is_there ? cimag(p->multiplier[index]) : NAN;
}

int64_t nh_periodic_family(const nh_periodic *p)
{
    return p->members;
}

nh_orbit nh_periodic_member(const nh_periodic *p, int64_t index)
{
    if (index < 0 || index >= p->members)
        return (nh_orbit){.value = NAN, .period = NAN};
    const orbit *o = p->family + index;
    return (nh_orbit){o->kind, o->value, o->period, o->q, o->v, o->multipliers};
}

void nh_periodic_member_multiplier(const nh_periodic *p, int64_t member, int index, double *re,
                                   double *im)
{
    const bool is_there =
        member >= 0 && member < p->members && index >= 0 && index < p->family[member].multipliers;
    *re = is_there ? creal(p->family[member].multiplier[index]) : NAN;
    *im = is_there ? cimag(p->family[member].multiplier[index]) : NAN;
}

const char *nh_orbit_kind_name(nh_orbit_kind kind)
{
    static const char *const name[] = {"orbit", "fold", "period-doubling", "neimark-sacker"};
    return kind >= 0 && kind <= NH_ORBIT_TORUS ? name[kind] : NULL;
}

int nh_periodic_remarks(const nh_periodic *p)
{
    return p->remarks.count;
}

const char *nh_periodic_remark(const nh_periodic *p, int index)
{
    return nh_remarks_text(&p->remarks, index);
}
