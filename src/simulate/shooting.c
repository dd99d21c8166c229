/* The map of a time and its derivatives: see shooting.h. */
#include "simulate/shooting.h"

#include "analysis/functionals.h"
#include "base/dense.h"
#include "base/status.h"
#include "simulate/even.h"
#include "system/attitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double usual_tolerance = 1e-12;
static const double pi = 3.14159265358979323846;

/* ---- creation ---- */

static const nh_system *present(const nh_shooting *s)
{
    return s->own ? s->own : s->system;
}

static bool allocate(nh_shooting *s)
{
    const size_t n = (size_t)s->coordinates, k = (size_t)s->velocities, size = (size_t)s->size;
    const size_t shifts = (size_t)s->symmetries;
    s->memory =
        calloc(n + k + shifts + 5 * size + size * size + shifts * size + 1, sizeof *s->memory);
    if (!s->memory)
        return false;
    s->q = s->memory;
    s->v = s->q + n;
    s->shift = s->v + k;
    s->residual = s->shift + shifts;
    s->rate = s->residual + size;
    s->by_value = s->rate + size;
    s->flow = s->by_value + size;
    s->moved = s->flow + size;
    s->images = s->moved + size;
    s->fields = s->images + size * size;
    return true;
}

/* The system's point at a state, with inputs. */
static bool point_of(nh_shooting *s, const double *q, const double *v, double **point)
{
    *point = calloc((size_t)s->local.width + 1, sizeof **point);
    if (!*point)
        return false;
    memcpy(*point, q, (size_t)s->coordinates * sizeof *q);
    nh_inner_velocities(present(s), q, v, *point + s->local.v, 1);
    nh_local_inputs(&s->local, *point);
    return true;
}

static nh_status find_symmetries(nh_shooting *s, const double *q, const double *v,
                                 nh_report *report)
{
    double *point;
    if (!s->relative)
        return NH_OK;
    nh_status status = point_of(s, q, v, &point) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_generators_find(&s->generators, &s->local, point, -1, NULL, report);
    s->symmetries = s->generators.count;
    free(point);
    return status;
}

nh_status nh_shooting_begin(nh_shooting *s, const nh_system *system, const nh_run_options *how,
                            const double *q, const double *v, bool relative, int parameter,
                            nh_report *report)
{
    *s = (nh_shooting){.system = system,
                       .how = *how,
                       .relative = relative,
                       .parameter = parameter,
                       .t0 = how->t0,
                       .coordinates = nh_system_coordinates(system),
                       .velocities = nh_system_velocities(system)};
    nh_status status = nh_local_begin(&s->local, system, NULL, s->t0, report);
    if (status != NH_OK)
        return status;
    s->positions = s->coordinates - s->local.problem->rotations;
    s->size = s->positions + s->velocities;
    s->forced = nh_mechanics_uses_time(system->mechanics);
    if (s->forced)
        s->period = nh_mechanics_period(system->mechanics);
    status = find_symmetries(s, q, v, report);
    if (status == NH_OK && !allocate(s))
        status = nh_fail_memory(report);
    if (status != NH_OK)
        return status;
    memcpy(s->q, q, (size_t)s->coordinates * sizeof *q);
    memcpy(s->v, v, (size_t)s->velocities * sizeof *v);
    if (parameter >= 0)
        s->value = nh_system_parameter_value(system, parameter);
    for (int i = 0; i < s->coordinates; i++)
        s->scale = hypot(s->scale, q[i]);
    s->scale = s->scale > 0 ? fmin(1, s->scale) : 1;
    return NH_OK;
}

void nh_shooting_end(nh_shooting *s)
{
    nh_tangent_space_free(&s->space);
    nh_generators_free(&s->generators);
    nh_local_end(&s->local);
    nh_system_free(s->own);
    free(s->memory);
}

nh_status nh_shooting_set(nh_shooting *s, double value, nh_report *report)
{
    nh_system *own;
    if (s->own && value == s->value)
        return NH_OK;
    nh_status status = nh_system_build_set(
        &own, s->system, nh_system_parameter_name(s->system, s->parameter), value, report);
    if (status != NH_OK)
        return status;
    nh_system_free(s->own);
    s->own = own;
    s->value = value;
    nh_local_end(&s->local);
    status = nh_local_begin(&s->local, own, NULL, s->t0, report);
    if (status == NH_OK && s->forced)
        s->period = nh_mechanics_period(own->mechanics);
    return status;
}

/* ---- perturbations ---- */

/* z of a perturbation x of the state q, v. */
static void inner_of(const nh_shooting *s, const double *q, const double *v, const double *x,
                     double *room, double *z)
{
    const int n = s->local.n;
    double *one = room + 3 * n;
    memset(z, 0, 2 * (size_t)n * sizeof *z);
    for (int k = 0; k < s->size; k++) {
        if (x[k] == 0)
            continue;
        nh_functional_direction(present(s), q, v, k, s->positions, room, one);
        for (int i = 0; i < 2 * n; i++)
            z[i] += x[k] * one[i];
    }
}

/* x of a perturbation z; e has the functionals at the state. */
static void shown_of(const nh_shooting *s, const double *e, const double *z, double *x)
{
    const int n = s->local.n, columns = s->coordinates + n;
    for (int i = 0; i < s->size; i++) {
        x[i] = 0;
        for (int c = 0; c < columns; c++)
            x[i] += e[i * columns + c] * z[c < s->coordinates ? c : n + c - s->coordinates];
    }
}

/* The quaternion of R_0^T R_1, and its angle times the axis. */
static void turn_between(const double *a, const double *b, double *x)
{
    double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], u[3];
    for (int i = 0; i < 3; i++) {
        const int j = 1 + (i + 1) % 3, k = 1 + (i + 2) % 3;
        u[i] = a[0] * b[1 + i] - b[0] * a[1 + i] - (a[j] * b[k] - a[k] * b[j]);
    }
    const double sine = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    const double sign = w < 0 ? -1 : 1, angle = 2 * atan2(sine, sign * w);
    for (int i = 0; i < 3; i++)
        x[i] = sine > 0 ? sign * u[i] / sine * angle : 0;
}

/* State 1 minus state 0; if `wraps`, angles by less than half a revolution. */
static void difference(const nh_shooting *s, bool wraps, const double *q0, const double *v0,
                       const double *q1, const double *v1, double *x)
{
    const nh_problem *p = s->local.problem;
    int at = 0, rotation = 0;
    for (int i = 0; i < s->coordinates; i++) {
        if (rotation < p->rotations && i == p->rotation[rotation].first) {
            turn_between(q0 + i, q1 + i, x + at);
            at += 3;
            i += 3;
            rotation++;
            continue;
        }
        x[at] = q1[i] - q0[i];
        if (wraps && p->angle[i])
            x[at] = remainder(x[at], 2 * pi);
        at++;
    }
    for (int i = 0; i < s->velocities; i++)
        x[at + i] = v1[i] - v0[i];
}

/* The rate of change of a state. */
static nh_status find_rate(nh_shooting *s, double t, const double *q, const double *v, double *x,
                           nh_report *report)
{
    memcpy(x, v, (size_t)s->positions * sizeof *x); /* those of coordinates come first */
    return nh_system_acceleration(present(s), t, q, v, x + s->positions, NULL, report);
}

/* ---- symmetries ---- */

/* What the symmetries do to a state, in s->fields; e has room for the functionals there. */
static void find_fields(nh_shooting *s, const double *point, double *e, double *z)
{
    const int n = s->local.n;
    memset(e, 0, (size_t)s->size * (size_t)(s->coordinates + n) * sizeof *e);
    nh_functionals_fill(&s->local, point, e);
    for (int i = 0; i < s->symmetries; i++) {
        memset(z, 0, 2 * (size_t)n * sizeof *z);
        nh_generator_add(&s->generators, i, 1, point, true, z);
        nh_generator_add(&s->generators, i, 1, point + s->local.v, false, z + n);
        shown_of(s, e, z, s->fields + i * s->size);
    }
}

/* exp(-sum of shift_i X_i) acts on positions as turn q + by, on velocities as turn v. */
static bool find_action(const nh_shooting *s, double *turn, double *by)
{
    const int n = s->coordinates, all = n + 1;
    const size_t N = (size_t)all * (size_t)all;
    double *a = calloc(2 * N + 2 * (size_t)all, sizeof *a), *e = a ? a + N : NULL;
    double *unit = e ? e + N : NULL, *out = unit ? unit + all : NULL;
    if (!a)
        return false;
    for (int k = 0; k <= n; k++) {
        memset(unit, 0, 2 * (size_t)all * sizeof *unit);
        if (k < n)
            unit[k] = 1;
        for (int i = 0; i < s->symmetries; i++)
            nh_generator_add(&s->generators, i, -s->shift[i], unit, k == n, out);
        for (int r = 0; r < n; r++)
            a[r * all + k] = out[r];
    }
    const bool ok = nh_dense_exponential(all, a, e) == NH_OK;
    for (int r = 0; r < n && ok; r++) {
        memcpy(turn + r * n, e + r * all, (size_t)n * sizeof *turn);
        by[r] = e[r * all + n];
    }
    free(a);
    return ok;
}

/* Velocities without coordinates do not turn. */
static void turn_velocities(const nh_shooting *s, const double *turn, const double *inner,
                            double *out)
{
    const int n = s->coordinates;
    memcpy(out, inner, (size_t)s->local.n * sizeof *out);
    nh_dense_multiply(n, n, 1, turn, inner, out);
}

/* Brings the end, the rate there and the images back, and finds the fields there. `inner` is room
 * for 10 states. */
static bool bring_back(nh_shooting *s, double *q1, double *v1, double *room)
{
    const int nq = s->coordinates, n = s->local.n, columns = nq + n;
    double *turn = calloc((size_t)nq * (size_t)nq + (size_t)nq + 1, sizeof *turn);
    double *e = calloc((size_t)s->size * (size_t)columns + 1, sizeof *e), *point = NULL;
    double *q = room, *inner = q + n, *back = inner + n, *z = back + n, *to = z + 2 * n,
           *scratch = to + 2 * n;
    bool ok = turn && e && find_action(s, turn, turn + nq * nq);
    if (ok) {
        nh_dense_multiply(nq, nq, 1, turn, q1, q);
        for (int i = 0; i < nq; i++)
            q[i] += turn[nq * nq + i];
        nh_inner_velocities(present(s), q1, v1, inner, 1);
        turn_velocities(s, turn, inner, back);
        double *shown = scratch;
        nh_show_velocities(present(s), q, back, 1, shown);
        ok = point_of(s, q, shown, &point);
    }
    if (ok)
        find_fields(s, point, e, z);
    double *vectors[] = {s->rate, s->by_value};
    for (int k = 0; ok && k < s->dimension + 2; k++) {
        double *x = k < s->dimension ? s->images + k * s->size : vectors[k - s->dimension];
        inner_of(s, q1, v1, x, scratch, z);
        nh_dense_multiply(nq, nq, 1, turn, z, to);
        turn_velocities(s, turn, z + n, to + n);
        shown_of(s, e, to, x);
    }
    if (ok) {
        memcpy(q1, q, (size_t)nq * sizeof *q);
        nh_show_velocities(present(s), q, back, 1, v1);
    }
    free(turn);
    free(e);
    free(point);
    return ok;
}

/* ---- the map ---- */

static nh_status make_run(const nh_shooting *s, double time, nh_run **run, int64_t *steps,
                          nh_report *report)
{
    nh_run_options how = s->how;
    nh_plan plan;
    how.size = sizeof how;
    how.time = time;
    how.q = s->q;
    how.v = s->v;
    how.t0 = s->t0;
    if (how.step > 0)
        how.step = time / fmax(1, round(time / how.step));
    else if (!how.method) {
        double even = 0;
        const nh_status status = nh_even_step(present(s), s->t0, time, s->q, s->v, &even, report);
        if (status != NH_OK)
            return status;
        if (even > 0) {
            how.method = "dop853";
            how.step = time / ceil(time / even);
            how.tolerance = how.absolute = 0;
        } else if (!(how.tolerance > 0)) {
            how.tolerance = usual_tolerance;
            if (!(how.absolute > 0)) /* small and slow motions have small numbers */
                how.absolute = usual_tolerance * s->scale * fmin(1, 2 * pi / s->period);
        }
    }
    how.steps = how.step > 0 ? 0 : 1;
    nh_status status = nh_plan_make(&plan, present(s), &how, report);
    if (status != NH_OK)
        return status;
    how.method = plan.method;
    *steps = plan.steps + (plan.rest > plan.step / 2);
    how.step = time / (double)*steps;
    how.steps = *steps;
    how.time = how.tolerance = how.absolute = how.t0 = 0;
    how.q = how.v = NULL;
    return nh_run_create(run, present(s), &how, report);
}

static nh_status set_directions(nh_shooting *s, nh_run *run, nh_report *report)
{
    const int parameters = nh_system_parameters(s->system);
    double *unit = calloc((size_t)parameters + 1, sizeof *unit);
    nh_status status = unit ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < s->dimension && status == NH_OK; i++) {
        const double *x = s->space.basis + i * s->size;
        status =
            nh_run_set_tangent(run, 0, i, &(nh_direction){.q = x, .v = x + s->positions}, report);
    }
    if (status == NH_OK && s->parameter >= 0) {
        unit[s->parameter] = 1;
        status =
            nh_run_set_tangent(run, 0, s->dimension, &(nh_direction){.parameters = unit}, report);
    }
    free(unit);
    return status;
}

static nh_status advance(nh_shooting *s, double *q1, double *v1, nh_report *report)
{
    nh_run *run = NULL;
    int64_t steps;
    nh_status status = make_run(s, s->period, &run, &steps, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, s->t0, s->q, s->v, report);
    if (status == NH_OK)
        status =
            nh_run_tangents(run, s->dimension + (s->parameter >= 0), s->parameter >= 0, report);
    if (status == NH_OK)
        status = set_directions(s, run, report);
    if (status == NH_OK)
        status = nh_run_advance(run, steps, report);
    if (status == NH_OK) {
        double t1;
        nh_run_state(run, 0, &t1, q1, v1);
        for (int i = 0; i < s->dimension; i++)
            nh_run_tangent(run, 0, i, NULL, s->images + i * s->size,
                           s->images + i * s->size + s->positions);
        if (s->parameter >= 0)
            nh_run_tangent(run, 0, s->dimension, NULL, s->by_value, s->by_value + s->positions);
        status = find_rate(s, t1, q1, v1, s->rate, report);
    }
    nh_run_free(run);
    return status;
}

/* If the period follows the parameter, so does the end. */
static nh_status follow_period(nh_shooting *s, nh_report *report)
{
    if (!s->forced || s->parameter < 0)
        return NH_OK;
    const double small = 1e-6 * (1 + fabs(s->value)), value = s->value;
    double period[2];
    for (int i = 0; i < 2; i++) {
        nh_system *beside;
        nh_status status = nh_system_build_set(&beside, s->system,
                                               nh_system_parameter_name(s->system, s->parameter),
                                               value + (i ? small : -small), report);
        if (status != NH_OK)
            return status;
        period[i] = nh_mechanics_period(beside->mechanics);
        nh_system_free(beside);
    }
    const double by = (period[1] - period[0]) / (2 * small);
    for (int i = 0; i < s->size && isfinite(by); i++)
        s->by_value[i] += by * s->rate[i];
    return NH_OK;
}

nh_status nh_shooting_evaluate(nh_shooting *s, nh_report *report)
{
    const size_t n = (size_t)s->local.n;
    double *room = malloc((16 * n + 1) * sizeof *room), *q1 = room, *v1 = room + n;
    if (!room)
        return nh_fail_memory(report);
    nh_tangent_space_free(&s->space);
    nh_status status = nh_tangent_space_find(&s->space, present(s), s->t0, s->q, s->v, report);
    s->dimension = s->space.dimension;
    if (status == NH_OK)
        status = find_rate(s, s->t0, s->q, s->v, s->flow, report);
    if (status == NH_OK)
        status = advance(s, q1, v1, report);
    if (status == NH_OK)
        status = follow_period(s, report);
    if (status == NH_OK)
        difference(s, false, s->q, s->v, q1, v1, s->moved);
    if (status == NH_OK && s->symmetries > 0 && !bring_back(s, q1, v1, room + 2 * n))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        difference(s, true, s->q, s->v, q1, v1, s->residual);
    free(room);
    if (status == NH_OK)
        nh_shooting_use_units(s);
    return status;
}

nh_status nh_shooting_move(nh_shooting *s, const double *by, nh_report *report)
{
    const size_t n = (size_t)s->local.n;
    double *room = malloc((8 * n + (size_t)s->size + 1) * sizeof *room), *z = room + 5 * n;
    if (!room)
        return nh_fail_memory(report);
    double *inner = z + 2 * n, *x = inner + n;
    for (int c = 0; c < s->size; c++)
        x[c] = by[c] * (c < s->positions ? 1 : s->pace);
    const nh_problem *p = s->local.problem;
    inner_of(s, s->q, s->v, x, room, z);
    nh_inner_velocities(present(s), s->q, s->v, inner, 1);
    for (int i = 0; i < s->coordinates; i++)
        s->q[i] += z[i];
    for (int i = 0; i < p->rotations; i++) {
        double *r = s->q + p->rotation[i].first;
        const double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
        for (int k = 0; k < 4; k++)
            r[k] /= length;
    }
    for (int i = 0; i < s->velocities; i++)
        s->v[i] += x[s->positions + i];
    free(room);
    if (nh_system_constraints(present(s)) == 0)
        return NH_OK;
    return nh_system_project_state(present(s), NULL, s->t0, s->q, s->v, report);
}

/* ---- a first guess ---- */

/* Without the parts along symmetries. */
static void leave_symmetries(const nh_shooting *s, double *x)
{
    for (int k = 0; k < s->symmetries; k++) {
        const double *field = s->fields + k * s->size;
        double part = 0, length = 0;
        for (int c = 0; c < s->size; c++) {
            part += x[c] * field[c];
            length += field[c] * field[c];
        }
        for (int c = 0; c < s->size && length > 0; c++)
            x[c] -= part / length * field[c];
    }
}

static nh_status find_fields_at_start(nh_shooting *s, nh_report *report)
{
    const size_t n = (size_t)s->local.n, size = (size_t)s->size;
    double *point = NULL;
    double *e = malloc((size * ((size_t)s->coordinates + n) + 2 * n + 1) * sizeof *e);
    const bool ok = e && point_of(s, s->q, s->v, &point);
    if (ok)
        find_fields(s, point, e, e + size * ((size_t)s->coordinates + n));
    free(e);
    free(point);
    return ok ? NH_OK : nh_fail_memory(report);
}

/* A fraction of the time in which the motion changes. */
static nh_status sampling(nh_shooting *s, double *h, nh_report *report)
{
    nh_plan plan;
    const nh_run_options how = {.size = sizeof how, .t0 = s->t0, .q = s->q, .v = s->v};
    const nh_status status = nh_plan_make(&plan, present(s), &how, report);
    *h = status == NH_OK ? (plan.step * (double)plan.steps + plan.rest) / 1200 : 0;
    return status;
}

nh_status nh_shooting_guess(nh_shooting *s, double *period, nh_report *report)
{
    enum { SAMPLES = 20000 };
    double h, before = 0, last = 0, largest = 0, t;
    nh_run *run = NULL;
    nh_run_options how = s->how;
    nh_status status = sampling(s, &h, report);
    double *q = malloc((2 * (size_t)s->local.n + (size_t)s->size + 1) * sizeof *q);
    double *v = q + s->local.n, *x = v + s->local.n;
    *period = 0;
    how.method = "dop853:tolerance=1e-9";
    how.step = h;
    how.steps = SAMPLES;
    how.time = how.tolerance = how.absolute = how.t0 = 0;
    how.q = how.v = NULL;
    if (status == NH_OK)
        status = q ? find_fields_at_start(s, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_run_create(&run, present(s), &how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, s->t0, s->q, s->v, report);
    const double pace = nh_shooting_pace(0.1 / h); /* ten periods or so in the time of a run */
    /* the first minimum of the distance that is small beside the largest distance before it */
    for (int i = 0; i < SAMPLES && status == NH_OK && *period == 0; i++) {
        status = nh_run_advance(run, 1, report);
        nh_run_state(run, 0, &t, q, v);
        difference(s, true, s->q, s->v, q, v, x);
        leave_symmetries(s, x);
        double away = 0;
        for (int c = 0; c < s->size; c++)
            away = hypot(away, x[c] / (c < s->positions ? 1 : pace));
        if (i > 1 && last < before && last < away && last < 0.2 * largest)
            *period = t - s->t0 - h;
        largest = fmax(largest, last);
        before = last;
        last = away;
    }
    nh_run_free(run);
    free(q);
    return status;
}
