/* Families of periodic motions along a parameter, by pseudo-arclength, and what happens in them:
 * folds, period doublings, Neimark-Sacker points. */
#include "simulate/periodic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lapack.h"
#include "base/status.h"

enum { POINTS_MOST = 100000 };

static const double on_circle = 1e-9;

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
    nh_orbit_multipliers(s, o.multiplier);
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
    *t = (track){.u = nh_orbit_unknowns(s, true)};
    t->wide = s->size + t->u.count - s->dimension;
    const size_t count = (size_t)t->u.count, rows = (size_t)s->size + 2, wide = (size_t)t->wide;
    t->unit = malloc((rows * count + 2 * count + 2 * wide + rows + 1) * sizeof *t->unit);
    if (!t->unit || !nh_place_make(&t->from, s))
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
    nh_orbit_matrix(s, &t->u, t->unit, t->a);
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
    if (!nh_orbit_solve(rows, t->u.count, t->a, t->b, t->step))
        return false;
    const double length = nh_orbit_norm(t->u.count, t->step);
    for (int i = 0; i < t->u.count; i++)
        t->step[i] /= length;
    t->turning = t->step[t->u.parameter];
    widen(s, t, t->step, t->next);
    return length > 0 && isfinite(length);
}

static nh_status find_tests(const nh_shooting *s, track *t, nh_report *report)
{
    double complex *m = malloc(((size_t)s->dimension + 1) * sizeof *m);
    if (!m || !find_direction(s, t) || !nh_orbit_multipliers(s, m)) {
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
    nh_status status = nh_place_restore(&t->from, s, report);
    if (status == NH_OK)
        status = nh_shooting_evaluate(s, report);
    if (status != NH_OK)
        return status;
    double gone = 0, before = INFINITY;
    narrow(s, t, t->direction, t->step);
    status = nh_orbit_go(s, &t->u, t->unit, t->step, length, report);
    for (*iterations = 0; status == NH_OK && *iterations < 12; ++*iterations) {
        const double now = nh_orbit_norm(s->size, s->residual) / nh_shooting_size(s);
        if (now <= NH_ORBIT_CLOSED || (now <= NH_ORBIT_TOLERABLE && now >= before / 2))
            break;
        before = now;
        const int rows = fill_track(s, t);
        for (int i = 0; i < rows; i++)
            t->b[i] = i < s->size ? -s->residual[i] : 0;
        if (!nh_orbit_solve(rows, t->u.count, t->a, t->b, t->step))
            return nh_fail_memory(report);
        gone += nh_orbit_norm(t->u.count, t->step);
        if (gone > fabs(length) + 1e-9) /* it went elsewhere */
            return nh_fail(report, NH_NOT_CONVERGED, "the family was lost");
        status = nh_orbit_go(s, &t->u, t->unit, t->step, 1, report);
    }
    if (status == NH_OK &&
        nh_orbit_norm(s->size, s->residual) > NH_ORBIT_TOLERABLE * nh_shooting_size(s))
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
        nh_place_save(&t->from, s);
        status = correct(s, t, length, &iterations, report);
        if (status == NH_NOT_CONVERGED && length > shortest) {
            length /= 2;
            status = nh_place_restore(&t->from, s, report);
            if (status == NH_OK)
                status = nh_shooting_evaluate(s, report);
            continue;
        }
        if (status != NH_OK)
            break;
        read_tests(t, next);
        const bool ended = s->value < range[0] || s->value > range[1];
        place *here = &(place){0};
        if (!nh_place_make(here, s))
            return nh_fail_memory(report);
        nh_place_save(here, s);
        double *direction = malloc((size_t)t->wide * sizeof *direction);
        if (direction)
            memcpy(direction, t->next, (size_t)t->wide * sizeof *direction);
        if (direction && !ended)
            status = locate_all(p, t, test, next, length, report);
        if (status == NH_OK)
            status = nh_place_restore(here, s, report);
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
nh_status nh_family_follow(nh_periodic *p, const double range[2], nh_report *report)
{
    nh_shooting *s = &p->s;
    track t;
    place start = {0};
    nh_status status =
        track_make(&t, s) && nh_place_make(&start, s) ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < t.u.count && status == NH_OK; i++)
        t.unit[i] = 1;
    if (status == NH_OK) {
        if (t.u.period >= 0)
            t.unit[t.u.period] = s->period;
        t.unit[t.u.parameter] = (range[1] - range[0]) / 4;
        nh_place_save(&start, s);
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
            status = nh_place_restore(&start, s, report);
        if (status == NH_OK)
            status = nh_shooting_evaluate(s, report);
    }
    free(start.state);
    track_free(&t);
    return status;
}
