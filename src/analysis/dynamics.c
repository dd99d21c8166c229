/* The equations of motion in many states at once, for loops of users: see nonholo_analysis.h.
 *
 * The system is built once more with its inputs as arguments; states go through its functions side
 * by side as long as their times are equal. Derivatives come from local.h, one state at a time. */
#include <nonholo_analysis.h>

#include "analysis/functionals.h"
#include "base/status.h"
#include "system/attitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 3 }; /* ACCELERATION, MATRICES, BALANCE: derived when they are needed */

/* The system with certain inputs as arguments. */
typedef struct opened {
    nh_local local;
    bool *given; /* [inputs] which they are; NULL: not yet made */
    engine engine[FUNCTIONS];
    double *q, *inner, *u, *x, *out; /* lanes of them */
    double *one, *room;              /* for one state */
} opened;

struct nh_dynamics {
    const nh_system *system;
    const nh_problem *problem;
    int shown;         /* velocities */
    opened given, all; /* with the inputs that are given; with all, for derivatives by them */
};

/* ---- creation ---- */

static int index_of(nh_fn fn)
{
    return fn == NH_FN_ACCELERATION ? 0 : fn == NH_FN_MATRICES ? 1 : 2;
}

static void end(opened *o)
{
    if (!o->given)
        return;
    for (int i = 0; i < FUNCTIONS; i++)
        nh_engine_free(o->engine + i);
    nh_local_end(&o->local);
    free(o->given);
    free(o->q);
    free(o->one);
    free(o->room);
    *o = (opened){0};
}

static bool allocate(opened *o)
{
    const nh_local *s = &o->local;
    const size_t n = (size_t)s->n, m = (size_t)s->m, lanes = (size_t)s->lanes;
    const size_t outputs = n * n + m * n + n + m + (size_t)s->rows, u = (size_t)s->given;
    o->q = nh_aligned_doubles((2 * n + u + n + m + outputs) * lanes);
    o->one = calloc(outputs + 8 * n + (size_t)s->width + 1, sizeof *o->one);
    o->room =
        malloc(((size_t)s->rows * (size_t)s->width + (n + m) * (2 * n + u) + 1) * sizeof *o->room);
    if (!o->q || !o->one || !o->room)
        return false;
    o->inner = o->q + n * lanes;
    o->u = o->inner + n * lanes;
    o->x = o->u + u * lanes;
    o->out = o->x + (n + m) * lanes;
    return true;
}

/* Whether input i is given for a state. */
static bool is_given(const nh_dynamics *d, const nh_states *at, int64_t state, int i)
{
    return at->inputs && isfinite(at->inputs[state * d->problem->inputs + i]);
}

static nh_status begin(const nh_dynamics *d, opened *o, const nh_states *at, nh_report *report)
{
    const int inputs = d->problem->inputs;
    bool same = o->given != NULL;
    for (int i = 0; same && i < inputs; i++)
        same = o->given[i] == (o == &d->all || is_given(d, at, 0, i));
    if (same || at->count == 0)
        return NH_OK;
    end(o);
    o->given = calloc((size_t)inputs + 1, sizeof *o->given);
    if (!o->given)
        return nh_fail_memory(report);
    for (int i = 0; i < inputs; i++)
        o->given[i] = o == &d->all || is_given(d, at, 0, i);
    nh_status status = nh_local_begin(&o->local, d->system, o->given, 0, report);
    if (status == NH_OK && !allocate(o))
        status = nh_fail_memory(report);
    if (status != NH_OK)
        end(o);
    return status;
}

nh_status nh_dynamics_create(nh_dynamics **out, const nh_system *system, nh_report *report)
{
    *out = NULL;
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s is given by C functions: its equations have no such parts",
                       system->name);
    nh_dynamics *d = calloc(1, sizeof *d);
    if (!d)
        return nh_fail_memory(report);
    d->system = system;
    d->problem = system->mechanics->problem;
    d->shown = nh_system_velocities(system);
    *out = d;
    return NH_OK;
}

void nh_dynamics_free(nh_dynamics *d)
{
    if (!d)
        return;
    end(&d->given);
    end(&d->all);
    free(d);
}

/* ---- states side by side ---- */

static double time_of(const nh_states *at, int64_t i)
{
    return at->t ? at->t[i] : 0;
}

/* The inputs of one state: what is given, and otherwise what the system gives there. */
static nh_status find_inputs(const nh_dynamics *d, const opened *o, const nh_states *at, int64_t i,
                             const double *inner, double *u, nh_report *report)
{
    const nh_local *s = &o->local;
    const nh_problem *p = s->problem;
    const double *q = at->q + i * s->coordinates;
    bool all_given = true;
    for (int k = 0; k < p->inputs; k++) {
        const bool given = is_given(d, at, i, k);
        all_given &= given || p->input[k].first < 0;
        if (o == &d->given && given != o->given[k])
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the input %s must be given for all states or for none",
                           p->input[k].name);
    }
    const nh_status status =
        all_given ? NH_OK
                  : nh_system_default_inputs(s->system, time_of(at, i), q, inner, u, report);
    for (int k = 0; k < p->inputs && status == NH_OK; k++)
        if (is_given(d, at, i, k))
            u[p->input[k].first] = at->inputs[i * p->inputs + k];
    memcpy(u + s->open, s->parameter, (size_t)(s->given - s->open) * sizeof *u);
    return status;
}

/* Puts states of one time into the lanes, the first again in those that are left, and finds how
 * many there are. */
static nh_status place(const nh_dynamics *d, opened *o, const nh_states *at, int64_t first,
                       int64_t *count, nh_report *report)
{
    const nh_local *s = &o->local;
    const int nq = s->coordinates, lanes = s->lanes;
    const double t = time_of(at, first);
    double *inner = o->one, *u = inner + s->n;
    nh_status status = NH_OK;
    for (*count = 1; *count < lanes && first + *count < at->count;)
        if (time_of(at, first + *count) == t)
            ++*count;
        else
            break;
    for (int lane = 0; lane < lanes && status == NH_OK; lane++) {
        const int64_t i = first + (lane < *count ? lane : 0);
        const double *q = at->q + i * nq;
        nh_inner_velocities(d->system, q, at->v + i * d->shown, inner, 1);
        status = s->given > 0 ? find_inputs(d, o, at, i, inner, u, report) : NH_OK;
        for (int c = 0; c < s->n; c++) {
            o->q[c * lanes + lane] = c < nq ? q[c] : 0;
            o->inner[c * lanes + lane] = inner[c];
        }
        for (int k = 0; k < s->given; k++)
            o->u[k * lanes + lane] = u[k];
    }
    return status;
}

typedef void take_state(const nh_dynamics *d, const double *q, const double *values, int64_t i,
                        double *const *out);

static nh_status derive(opened *o, nh_fn fn, nh_report *report)
{
    engine *e = o->engine + index_of(fn);
    const nh_fn_set set = fn == NH_FN_ACCELERATION ? NH_FN_BIT(ACCELERATION)
                          : fn == NH_FN_MATRICES   ? NH_FN_BIT(MATRICES)
                                                   : NH_FN_BIT(BALANCE);
    return e->self
               ? NH_OK
               : nh_engine_call(e, o->local.system, o->local.variant, o->local.lanes, set, report);
}

/* Calls a function in all states; x is zero. */
static nh_status in_all(nh_dynamics *d, const nh_states *at, nh_fn fn, take_state *take,
                        double *const *out, nh_report *report)
{
    opened *o = &d->given;
    nh_status status = begin(d, o, at, report);
    if (status != NH_OK || at->count == 0)
        return status;
    const nh_local *s = &o->local;
    const engine *e = o->engine + index_of(fn);
    const size_t results = nh_system_outputs(s->system, fn);
    status = derive(o, fn, report);
    memset(o->x, 0, (size_t)((s->n + s->m) * s->lanes) * sizeof *o->x);
    for (int64_t i = 0, count; i < at->count && status == NH_OK; i += count) {
        status = place(d, o, at, i, &count, report);
        if (status == NH_OK)
            e->call[fn](e->self, fn, time_of(at, i), o->q, o->inner, o->x, o->out, o->u);
        for (int64_t lane = 0; lane < count && status == NH_OK; lane++) {
            for (size_t r = 0; r < results; r++)
                o->one[r] = o->out[r * (size_t)s->lanes + (size_t)lane];
            take(d, at->q + (i + lane) * s->coordinates, o->one, i + lane, out);
        }
    }
    return status;
}

static void take_acceleration(const nh_dynamics *d, const double *q, const double *values,
                              int64_t i, double *const *out)
{
    const int m = d->given.local.m;
    if (out[0])
        nh_show_velocities(d->system, q, values, 1, out[0] + i * d->shown);
    if (out[1])
        memcpy(out[1] + i * m, values + d->given.local.n, (size_t)m * sizeof *values);
}

nh_status nh_dynamics_acceleration(nh_dynamics *d, const nh_states *at, double *acceleration,
                                   double *multipliers, nh_report *report)
{
    double *const out[] = {acceleration, multipliers};
    return in_all(d, at, NH_FN_ACCELERATION, take_acceleration, out, report);
}

/* The inner velocities of a unit of shown velocity j. */
static void unit_velocity(const nh_dynamics *d, const double *q, int j, double *shown,
                          double *inner)
{
    memset(shown, 0, (size_t)d->shown * sizeof *shown);
    shown[j] = 1;
    nh_inner_velocities(d->system, q, shown, inner, 1);
}

/* M in terms of the velocities that are shown: v^T M v of unit velocities. */
static void take_mass(const nh_dynamics *d, const double *q, const double *values, int64_t i,
                      double *const *out)
{
    const int n = d->given.local.n, shown = d->shown;
    double *to = out[0] + i * shown * shown, *unit = d->given.room, *left = unit + shown,
           *right = left + n, *product = right + n;
    for (int k = 0; k < shown; k++) {
        unit_velocity(d, q, k, unit, right);
        for (int r = 0; r < n; r++) {
            product[r] = 0;
            for (int c = 0; c < n; c++)
                product[r] += values[r * n + c] * right[c];
        }
        for (int j = 0; j <= k; j++) {
            double sum = 0;
            unit_velocity(d, q, j, unit, left);
            for (int r = 0; r < n; r++)
                sum += left[r] * product[r];
            to[j * shown + k] = to[k * shown + j] = sum;
        }
    }
}

nh_status nh_dynamics_mass(nh_dynamics *d, const nh_states *at, double *mass, nh_report *report)
{
    double *const out[] = {mass};
    return in_all(d, at, NH_FN_MATRICES, take_mass, out, report);
}

/* Their power for unit velocities; the balance without accelerations and multipliers is -F. */
static void take_forces(const nh_dynamics *d, const double *q, const double *values, int64_t i,
                        double *const *out)
{
    const int n = d->given.local.n;
    double *to = out[0] + i * d->shown, *unit = d->given.room, *inner = unit + d->shown;
    for (int k = 0; k < d->shown; k++) {
        double sum = 0;
        unit_velocity(d, q, k, unit, inner);
        for (int r = 0; r < n; r++)
            sum += inner[r] * values[r];
        to[k] = -sum;
    }
}

nh_status nh_dynamics_forces(nh_dynamics *d, const nh_states *at, double *forces, nh_report *report)
{
    double *const out[] = {forces};
    return in_all(d, at, NH_FN_BALANCE, take_forces, out, report);
}

/* ---- derivatives ---- */

int nh_dynamics_positions(const nh_dynamics *d)
{
    return d->system->coordinates - d->problem->rotations;
}

/* A state as a point with its inputs, accelerations and multipliers. */
static nh_status go_to(const nh_dynamics *d, opened *o, const nh_states *at, int64_t i,
                       double *point, double *jacobian, nh_report *report)
{
    nh_local *s = &o->local;
    const nh_states one = {1, at->t ? at->t + i : NULL, at->q + i * s->coordinates,
                           at->v + i * d->shown,
                           at->inputs ? at->inputs + i * d->problem->inputs : NULL};
    int64_t count;
    s->t = time_of(&one, 0);
    nh_status status = place(d, o, &one, 0, &count, report);
    if (status != NH_OK)
        return status;
    memset(point, 0, (size_t)s->width * sizeof *point);
    for (int c = 0; c < s->n; c++) {
        point[c] = o->q[c * s->lanes];
        point[s->v + c] = o->inner[c * s->lanes];
    }
    for (int k = 0; k < s->given; k++)
        point[s->u + k] = o->u[k * s->lanes];
    return nh_local_accelerate(s, point, jacobian)
               ? NH_OK
               : nh_fail(report, NH_NOT_FINITE,
                         "%s has no acceleration in state %lld: its equations cannot be solved",
                         d->system->name, (long long)i);
}

/* What accelerations add to those shown in the axes of rotations that turn by dq: they are linear
 * in q there; the part without rotations is not of interest. `room` has place for three states. */
static void add_turned(const nh_dynamics *d, const double *dq, const double *from, int n,
                       double *room, double *to)
{
    double *turned = room, *plain = turned + n, *zero = plain + n;
    memset(zero, 0, (size_t)n * sizeof *zero);
    nh_show_velocities(d->system, dq, from, 1, turned);
    nh_show_velocities(d->system, zero, from, 1, plain);
    for (int i = 0; i < d->shown; i++)
        to[i] += turned[i] - plain[i];
}

/* Column k of `out`: the change of the shown accelerations in a direction z = (dq, dv). */
static void write_column(const nh_dynamics *d, const opened *o, const double *change,
                         const double *point, const double *z, int columns, int k, double *out)
{
    const nh_local *s = &o->local;
    const int n = s->n, width = 2 * n + s->given;
    double *inner = o->one, *to = inner + n, *room = to + n;
    for (int r = 0; r < n; r++) {
        const double *row = change + (size_t)(s->m + r) * (size_t)width;
        inner[r] = 0;
        for (int c = 0; c < 2 * n; c++)
            inner[r] += row[c] * z[c];
    }
    nh_show_velocities(d->system, point, inner, 1, to);
    add_turned(d, z, point + s->a, n, room, to);
    for (int r = 0; r < d->shown; r++)
        out[r * columns + k] = to[r];
}

static void write_by_state(const nh_dynamics *d, const opened *o, const double *change,
                           const double *point, const double *v, double *by_position,
                           double *by_velocity)
{
    const int n = o->local.n, positions = nh_dynamics_positions(d);
    double *room = o->one + 2 * n, *z = o->one + 6 * n;
    for (int k = 0; k < positions && by_position; k++) {
        nh_functional_direction(d->system, point, v, k, positions, room, z);
        write_column(d, o, change, point, z, positions, k, by_position);
    }
    for (int k = 0; k < d->shown && by_velocity; k++) {
        nh_functional_direction(d->system, point, v, positions + k, positions, room, z);
        write_column(d, o, change, point, z, d->shown, k, by_velocity);
    }
}

static void write_by_input(const nh_dynamics *d, const opened *o, const double *change,
                           const double *point, double *by_input)
{
    const nh_local *s = &o->local;
    const int n = s->n, inputs = d->problem->inputs;
    double *inner = o->one, *to = inner + n;
    for (int k = 0; k < inputs; k++) {
        const int column = 2 * n + s->problem->input[k].first;
        for (int r = 0; r < n; r++)
            inner[r] = change[(s->m + r) * (2 * n + s->given) + column];
        nh_show_velocities(d->system, point, inner, 1, to);
        for (int r = 0; r < d->shown; r++)
            by_input[r * inputs + k] = to[r];
    }
}

/* The change of (l, a) with everything in state i. */
static nh_status differentiate(const nh_dynamics *d, opened *o, const nh_states *at, int64_t i,
                               double **point, double **change, nh_report *report)
{
    nh_local *s = &o->local;
    double *jacobian = o->room;
    *change = jacobian + (size_t)s->rows * (size_t)s->width;
    *point = o->one + 8 * s->n;
    nh_status status = go_to(d, o, at, i, *point, jacobian, report);
    if (status != NH_OK)
        return status;
    nh_local_jacobian(s, *point, -1, jacobian);
    return nh_local_solve(s, jacobian, *change) ? NH_OK : nh_fail_memory(report);
}

nh_status nh_dynamics_jacobian(nh_dynamics *d, const nh_states *at, double *by_position,
                               double *by_velocity, double *by_input, nh_report *report)
{
    const int64_t shown = d->shown, positions = nh_dynamics_positions(d);
    const int64_t inputs = by_input ? d->problem->inputs : 0;
    nh_status status = begin(d, &d->given, at, report);
    if (status == NH_OK && inputs > 0)
        status = begin(d, &d->all, at, report);
    for (int64_t i = 0; i < at->count && status == NH_OK; i++) {
        double *point, *change;
        if (by_position || by_velocity) {
            status = differentiate(d, &d->given, at, i, &point, &change, report);
            if (status == NH_OK)
                write_by_state(d, &d->given, change, point, at->v + i * shown,
                               by_position ? by_position + i * shown * positions : NULL,
                               by_velocity ? by_velocity + i * shown * shown : NULL);
        }
        if (inputs > 0 && status == NH_OK) {
            status = differentiate(d, &d->all, at, i, &point, &change, report);
            if (status == NH_OK)
                write_by_input(d, &d->all, change, point, by_input + i * shown * inputs);
        }
    }
    return status;
}
