/* Derivatives of an end state against differences of the program: see nh_sensitivity_verify. */
#include <nonholo_analysis.h>

#include "analysis/sensitivity.h"
#include "base/status.h"
#include "base/text.h"
#include "run/measure.h"
#include "system/start.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INCREMENTS = 4, NAME_ROOM = 256 };
static const double increment[INCREMENTS] = {1e-3, 1e-4, 1e-2, 1e-5}; /* relative */
static const double enough = 1e-10; /* an agreement that no other increment needs to improve */

typedef struct direction { /* a change of positions: of a coordinate, or a turn about an axis */
    int coordinate, axis;  /* the first of a quaternion; 0: no turn */
} direction;

typedef struct verification {
    const nh_sensitivity *s;
    const nh_start_options *start;
    const nh_plan *plan;
    nh_run_options how;
    int coordinates, velocities, observables;
    direction *direction;          /* [s->directions] */
    bool solves, solves_positions; /* the model says `start solve` */
    double *start_q, *start_v;
    double *side[4];  /* ends at +-h, +-2h: q v energy observables */
    double *estimate; /* [INCREMENTS][outputs] */
} verification;

/* ---- the end of a run ---- */

static nh_status go(const verification *x, nh_run *run, nh_report *report)
{
    nh_status status = nh_run_advance(run, x->plan->steps, report);
    if (status == NH_OK && x->plan->rest > 0 && nh_run_ended(run, 0, NULL) < 0)
        status = nh_run_advance_by(run, x->plan->rest, report);
    return status;
}

static nh_status measure(const verification *x, const nh_system *system, nh_run *run, double *out,
                         nh_report *report)
{
    nh_measure m;
    double *row = calloc((size_t)x->observables + 2, sizeof *row);
    nh_status status = nh_measure_create(&m, system, false, false, report);
    if (status == NH_OK && row)
        status = nh_measure_members(&m, run, 0, row, 0);
    nh_run_state(run, 0, NULL, out, out + x->coordinates);
    double *rest = out + x->coordinates + x->velocities;
    rest[0] = row ? row[0] : NAN;
    for (int i = 0; i < x->observables && row; i++)
        rest[1 + i] = row[2 + i]; /* after the energy and the largest residual */
    nh_measure_free(&m);
    free(row);
    return row ? status : nh_fail_memory(report);
}

static bool is_turn(const verification *x, const nh_varied *by)
{
    return by->kind == NH_BY_POSITION && x->direction[by->index].axis > 0;
}

static void multiply_quaternions(const double a[4], const double b[4], double out[4])
{
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    for (int i = 0; i < 3; i++) {
        const int j = 1 + (i + 1) % 3, k = 1 + (i + 2) % 3;
        out[1 + i] = a[0] * b[1 + i] + a[1 + i] * b[0] + a[j] * b[k] - a[k] * b[j];
    }
}

/* "start R.2" is a turn of R about its second axis by an angle: R=(w, x, y, z). */
static void assign_turn(const verification *x, const nh_varied *by, const char *entry, double angle,
                        nh_text *text)
{
    const direction *d = x->direction + by->index;
    double turn[4] = {cos(angle / 2)}, to[4];
    turn[d->axis] = sin(angle / 2);
    multiply_quaternions(x->start_q + d->coordinate, turn, to);
    nh_text_add(text, "%s=(%.17g, %.17g, %.17g, %.17g)", entry, to[0], to[1], to[2], to[3]);
}

/* "start R.w2" is the second of body(R), which are given together. */
static bool is_rate(const nh_varied *by)
{
    return by->kind == NH_BY_VELOCITY && strchr(by->name, '.') != NULL;
}

static void assign_rate(const verification *x, const nh_varied *by, const char *entry, double value,
                        nh_text *text)
{
    const int axis = by->name[strlen(by->name) - 1] - '1';
    double w[3];
    memcpy(w, x->start_v + by->index - axis, sizeof w);
    w[axis] = value;
    nh_text_add(text, "body(%s)=(%.17g, %.17g, %.17g)", entry, w[0], w[1], w[2]);
}

/* What moves if a position is varied whose model solves for velocities only: all other positions,
 * and these velocities. */
static void list_movable(const verification *x, const nh_system *system, const char *entry,
                         nh_text *list)
{
    for (int i = 0; i < x->s->directions; i++) {
        const char *name = nh_system_coordinate_name(system, x->direction[i].coordinate);
        if (x->direction[i].axis == 0 && strcmp(name, entry) != 0)
            nh_text_add(list, "%s%s", list->data ? ", " : "", name);
    }
    for (int i = 0; i < x->velocities; i++) {
        const char *name = nh_system_velocity_name(system, i), *dot = strrchr(name, '.');
        if (!system->mechanics->problem->solve.v[nh_inner_index(system, i)])
            continue;
        if (!dot)
            nh_text_add(list, "%s%s", list->data ? ", " : "", name);
        else if (strcmp(dot, ".w1") == 0)
            nh_text_add(list, "%sbody(%.*s)", list->data ? ", " : "", (int)(dot - name), name);
    }
}

/* Start values are assigned in addition to those that are given. In a system with constraints the
 * model's `start solve` finds the others, or else, also if the start is projected, they are the
 * nearest ones, with this one kept. */
static nh_status find_start(const verification *x, const nh_system *system, const nh_varied *by,
                            double value, double *q, double *v, nh_report *report)
{
    char entry[NAME_ROOM];
    nh_start_options how = *x->start;
    nh_text text = {0}, list = {0};
    const int own = system->mechanics->problem->rotations; /* constraints on their quaternions */
    if (is_rate(by) && system->constraints > own) /* the command line keeps all three or none */
        return nh_fail(report, NH_BAD_START, "%s alone cannot be kept", by->name);
    if (by->kind == NH_BY_POSITION || by->kind == NH_BY_VELOCITY) {
        snprintf(entry, sizeof entry, "%s", by->name + strlen("start "));
        if (how.assignments)
            nh_text_add(&text, "%s, ", how.assignments);
        if (is_turn(x, by) || is_rate(by)) {
            *strrchr(entry, '.') = '\0';
            (is_rate(by) ? assign_rate : assign_turn)(x, by, entry, value, &text);
        } else
            nh_text_add(&text, "%s=%.17g", entry, value);
        how.assignments = text.data;
        const bool projects = how.project || how.keep || how.solve;
        if (system->constraints > 0 && !how.solve && (!x->solves || projects)) {
            how.project = true;
            if (by->kind == NH_BY_VELOCITY || system->shape.positions > 0 || is_turn(x, by))
                how.keep = entry;
        } else if (system->shape.positions > own && by->kind == NH_BY_POSITION && !projects &&
                   !x->solves_positions) {
            list_movable(x, system, entry, &list);
            how.project = true;
            how.solve = list.data;
        }
    }
    const nh_status status = text.failed || list.failed
                                 ? nh_fail_memory(report)
                                 : nh_system_begin(system, &how, q, v, report);
    free(text.data);
    free(list.data);
    return status;
}

/* ---- other systems ---- */

/* The system whose input has another value at a point of its table. */
static nh_status build_with_value(nh_system **out, const nh_system *system, const nh_varied *by,
                                  double value, nh_report *report)
{
    static const char *const kinds[] = {"", ":held", ":linear", ":spline"};
    const nh_problem_input *in = system->mechanics->problem->input + by->index;
    const nh_input_table *table = &in->table;
    nh_text text = {0};
    nh_text_add(&text, "input %s%s=", in->name, kinds[in->signal]);
    for (int64_t k = 0; k < table->rows; k++)
        nh_text_add(&text, "%s%.17g %.17g", k ? "; " : "[", table->time[k],
                    k == by->point ? value : table->piece[k * table->values]);
    nh_text_add(&text, table->rows ? "]" : "[0 %.17g]", value);
    const char *setting = text.data;
    const nh_status status = text.failed ? nh_fail_memory(report)
                                         : nh_system_build_more(out, system, &setting, 1, report);
    free(text.data);
    return status;
}

static nh_status find_end(const verification *x, const nh_varied *by, double value, double *out,
                          nh_report *report)
{
    nh_run *run = NULL;
    nh_system *own = NULL;
    nh_status status = NH_OK;
    if (by->kind == NH_BY_PARAMETER)
        status = nh_system_build_with(&own, x->s->system, 1, &by->name, &value, report);
    else if (by->kind == NH_BY_INPUT)
        status = build_with_value(&own, x->s->system, by, value, report);
    const nh_system *system = own ? own : x->s->system;
    double *q = out, *v = out + x->coordinates; /* where the end will be */
    if (status == NH_OK)
        status = find_start(x, system, by, value, q, v, report);
    if (status == NH_OK)
        status = nh_run_create(&run, system, &x->how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, x->start->t, q, v, report);
    if (status == NH_OK)
        status = go(x, run, report);
    if (status == NH_OK)
        status = measure(x, system, run, out, report);
    nh_run_free(run);
    nh_system_free(own);
    return status;
}

/* ---- one variable ---- */

/* How an output differs between two ends; of a rotation: the turn from one to the other. */
static double difference_of(const verification *x, int output, const double *a, const double *b)
{
    const int beyond = output - x->s->directions,
              at = beyond < 0 ? x->direction[output].coordinate : x->coordinates + beyond;
    const int axis = beyond < 0 ? x->direction[output].axis : 0;
    if (axis == 0)
        return a[at] - b[at];
    const double *from = b + at, back[4] = {from[0], -from[1], -from[2], -from[3]};
    double between[4];
    multiply_quaternions(back, a + at, between);
    return (between[0] < 0 ? -2 : 2) * between[axis];
}

/* The largest derivative by a variable, or 1. */
static double largest_by(const verification *x, const double *derivative, int variable)
{
    double most = 1;
    for (int o = 0; o < x->s->outputs; o++)
        most = fmax(most, fabs(derivative[o * x->s->count + variable]));
    return most;
}

static double difference(const verification *x, const double *derivative, int variable, double h,
                         double *estimate)
{
    double off = 0;
    for (int o = 0; o < x->s->outputs; o++) {
        const double d = derivative[o * x->s->count + variable];
        const double once = difference_of(x, o, x->side[0], x->side[1]) / (2 * h),
                     twice = difference_of(x, o, x->side[2], x->side[3]) / (4 * h);
        estimate[o] = (4 * once - twice) / 3;
        off = fmax(off, fabs(estimate[o] - d));
    }
    return off / largest_by(x, derivative, variable);
}

/* How much the differences by an increment are in doubt: by round-off of the ends; and by how far
 * they are from those of the increment that agrees with them most. */
static double doubt_of(const verification *x, const double *off, int best, double h)
{
    const int outputs = x->s->outputs;
    double least = INFINITY, end = 0;
    for (int i = 0; i < INCREMENTS; i++) {
        double apart = 0;
        for (int o = 0; o < outputs; o++) {
            const double *by = x->estimate + o;
            apart = fmax(apart, fabs(by[i * outputs] - by[best * outputs]));
        }
        if (i != best && isfinite(off[i]))
            least = fmin(least, apart);
    }
    for (int i = 0; i < x->coordinates + x->velocities; i++)
        end = fmax(end, fabs(x->side[0][i]));
    return fmax(isfinite(least) ? least : 0, DBL_EPSILON * end / h);
}

static nh_status verify_one(const verification *x, const double *derivative, int variable,
                            double *best, double *doubt, nh_report *report)
{
    static const double times[] = {1, -1, 2, -2};
    const nh_varied *by = x->s->variable + variable;
    const double value = is_turn(x, by) ? 0 : by->value, size = value != 0 ? fabs(value) : 1;
    double off[INCREMENTS];
    int which = 0;
    nh_status status = NH_OK;
    *best = INFINITY;
    for (int i = 0; i < INCREMENTS; i++)
        off[i] = INFINITY;
    for (int i = 0; i < INCREMENTS && status == NH_OK && !(*best < enough); i++) {
        const double h = increment[i] * size;
        nh_status found = NH_OK;
        for (int k = 0; k < 4 && found == NH_OK; k++)
            found = find_end(x, by, value + times[k] * h, x->side[k], report);
        if (found == NH_OK) {
            off[i] = difference(x, derivative, variable, h, x->estimate + i * x->s->outputs);
            which = off[i] < off[which] ? i : which;
            *best = off[which];
        } else if (found == NH_NO_MEMORY || i == INCREMENTS - 1)
            status = isfinite(*best) ? NH_OK : found;
    }
    *doubt = doubt_of(x, off, which, increment[which] * size) / largest_by(x, derivative, variable);
    return status;
}

/* ---- all of them ---- */

static void list_directions(verification *x, const nh_problem *p)
{
    direction *d = x->direction;
    for (int i = 0, r = 0; i < x->coordinates; i++) {
        const bool rotates = r < p->rotations && p->rotation[r].first == i;
        for (int axis = rotates; axis <= 3 * rotates; axis++)
            *d++ = (direction){i, axis};
        i += 3 * rotates;
        r += rotates;
    }
}

static nh_status verify_all(verification *x, const double *derivative, nh_verified *out,
                            nh_report *report)
{
    nh_status status = NH_OK;
    for (int k = 0; k < x->s->count && status == NH_OK; k++) {
        double off, doubt;
        status = verify_one(x, derivative, k, &off, &doubt, report);
        if (status == NH_BAD_START) { /* no command gives the start that belongs to this value */
            status = NH_OK;
            continue;
        }
        out->checked++;
        if (status == NH_OK && !(off <= out->difference)) {
            out->difference = off;
            out->doubt = doubt;
            out->worst = k;
        }
    }
    return status;
}

nh_status nh_sensitivity_verify(nh_verified *out, const nh_sensitivity *s,
                                const nh_start_options *start, const nh_run_options *run,
                                const nh_plan *plan, const double *derivative, nh_report *report)
{
    const nh_system *system = s->system;
    verification x = {.s = s,
                      .start = start,
                      .plan = plan,
                      .how = *run,
                      .coordinates = nh_system_coordinates(system),
                      .velocities = nh_system_velocities(system),
                      .observables = nh_system_observables(system)};
    const nh_selection *solve = &system->mechanics->problem->solve;
    for (int i = 0; i < system->shape.n; i++) {
        x.solves_positions |= i < x.coordinates && solve->q[i];
        x.solves |= solve->v[i];
    }
    x.solves |= x.solves_positions;
    x.how.method = plan->method;
    x.how.step = plan->step;
    x.how.steps = 0;
    x.how.members = 1;
    x.how.q = x.how.v = NULL;
    x.how.time = x.how.tolerance = x.how.absolute = x.how.t0 = 0;
    x.how.every = 0;
    x.how.event = NULL;
    *out = (nh_verified){.worst = -1};
    x.direction = calloc((size_t)s->directions + 1, sizeof *x.direction);
    const size_t size = (size_t)(x.coordinates + x.velocities + 1 + x.observables);
    double *room = malloc((5 * size + INCREMENTS * (size_t)s->outputs) * sizeof *room);
    if (!room || !x.direction) {
        free(room);
        free(x.direction);
        return nh_fail_memory(report);
    }
    list_directions(&x, system->mechanics->problem);
    for (size_t k = 0; k < 4; k++)
        x.side[k] = room + k * size;
    x.start_q = room + 4 * size;
    x.start_v = x.start_q + x.coordinates;
    x.estimate = room + 5 * size;
    nh_status status = nh_system_begin(system, start, x.start_q, x.start_v, report);
    if (status == NH_OK)
        status = verify_all(&x, derivative, out, report);
    free(room);
    free(x.direction);
    return status;
}
