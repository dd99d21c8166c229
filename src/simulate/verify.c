/* Derivatives of an end state against differences of the program: see nh_sensitivity_verify. */
#include <nonholo_analysis.h>

#include "analysis/sensitivity.h"
#include "base/status.h"
#include "base/text.h"
#include "run/measure.h"
#include "system/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INCREMENTS = 4 };
static const double increment[INCREMENTS] = {1e-3, 1e-4, 1e-2, 1e-5}; /* relative */
static const double enough = 1e-10; /* an agreement that no other increment needs to improve */

typedef struct verification {
    const nh_sensitivity *s;
    const nh_start_options *start;
    const nh_plan *plan;
    nh_run_options how;
    int coordinates, velocities, observables, plain; /* plain: coordinates before rotations */
    bool solves;                                     /* the model says `start solve` */
    double *side[4];                                 /* ends at +-h, +-2h: q v energy observables */
    double *estimate;                                /* [INCREMENTS][outputs] */
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

/* Start values are assigned in addition to those that are given. In a system with constraints the
 * model's `start solve` finds the others, or else, also if the start is projected, they are the
 * nearest ones, with this one kept. */
static nh_status find_start(const verification *x, const nh_system *system, const nh_varied *by,
                            double value, double *q, double *v, nh_report *report)
{
    const char *entry = by->name + strlen("start ");
    nh_start_options how = *x->start;
    nh_text text = {0};
    if (by->kind != NH_BY_PARAMETER) {
        nh_text_add(&text, "%s%s%s=%.17g", how.assignments ? how.assignments : "",
                    how.assignments ? ", " : "", entry, value);
        how.assignments = text.data;
        const bool projects = how.project || how.keep || how.solve;
        if (system->constraints > 0 && !how.solve && (!x->solves || projects)) {
            how.project = true;
            if (by->kind == NH_BY_VELOCITY || system->shape.positions > 0)
                how.keep = entry;
        }
    }
    const nh_status status =
        text.failed ? nh_fail_memory(report) : nh_system_begin(system, &how, q, v, report);
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

/* The place of an output among what is measured; -1: a turn of a rotation, which is not a number.
 */
static int place_of(const verification *x, int output)
{
    const int directions = x->s->directions;
    if (output < directions)
        return output < x->plain ? output : -1;
    return x->coordinates + output - directions;
}

static double difference(const verification *x, const double *derivative, int variable, double h,
                         double *estimate)
{
    double most = 0, off = 0;
    for (int o = 0; o < x->s->outputs; o++) {
        const int at = place_of(x, o);
        const double d = derivative[o * x->s->count + variable];
        most = fmax(most, fabs(d));
        estimate[o] = 0;
        if (at < 0)
            continue;
        const double once = (x->side[0][at] - x->side[1][at]) / (2 * h),
                     twice = (x->side[2][at] - x->side[3][at]) / (4 * h);
        estimate[o] = (4 * once - twice) / 3;
        off = fmax(off, fabs(estimate[o] - d));
    }
    return off / fmax(1, most);
}

/* How much the differences themselves are in doubt: how far the best ones are from those of the
 * increment that agrees with them most. */
static double doubt_of(const verification *x, const double *derivative, int variable,
                       const double *off, int best)
{
    const int outputs = x->s->outputs;
    double least = INFINITY;
    for (int i = 0; i < INCREMENTS; i++) {
        double apart = 0, most = 1;
        for (int o = 0; o < outputs; o++) {
            const double *by = x->estimate + o;
            apart = fmax(apart, fabs(by[i * outputs] - by[best * outputs]));
            most = fmax(most, fabs(derivative[o * x->s->count + variable]));
        }
        if (i != best && isfinite(off[i]))
            least = fmin(least, apart / most);
    }
    return isfinite(least) ? least : 0;
}

static nh_status verify_one(const verification *x, const double *derivative, int variable,
                            double *best, double *doubt, nh_report *report)
{
    static const double times[] = {1, -1, 2, -2};
    const nh_varied *by = x->s->variable + variable;
    const double size = by->value != 0 ? fabs(by->value) : 1;
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
            found = find_end(x, by, by->value + times[k] * h, x->side[k], report);
        if (found == NH_OK) {
            off[i] = difference(x, derivative, variable, h, x->estimate + i * x->s->outputs);
            which = off[i] < off[which] ? i : which;
            *best = off[which];
        } else if (found == NH_NO_MEMORY || i == INCREMENTS - 1)
            status = isfinite(*best) ? NH_OK : found;
    }
    *doubt = doubt_of(x, derivative, variable, off, which);
    return status;
}

/* ---- all of them ---- */

static nh_status verify_all(verification *x, const double *derivative, nh_verified *out,
                            nh_report *report)
{
    nh_status status = NH_OK;
    for (int k = 0; k < x->s->count && status == NH_OK; k++) {
        const nh_varied *by = x->s->variable + k;
        double off, doubt;
        if (by->kind == NH_BY_INPUT || isnan(by->value) || strchr(by->name, '.'))
            continue; /* no single number of the command line */
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
    for (int i = 0; i < system->shape.n; i++)
        x.solves |= (i < x.coordinates && solve->q[i]) || solve->v[i];
    x.plain = x.coordinates - 4 * system->mechanics->problem->rotations;
    x.how.method = plan->method;
    x.how.step = plan->step;
    x.how.steps = 0;
    x.how.members = 1;
    x.how.q = x.how.v = NULL;
    x.how.time = x.how.tolerance = x.how.absolute = x.how.t0 = 0;
    x.how.every = 0;
    x.how.event = NULL;
    *out = (nh_verified){.worst = -1};
    const size_t size = (size_t)(x.coordinates + x.velocities + 1 + x.observables);
    double *room = malloc((4 * size + INCREMENTS * (size_t)s->outputs) * sizeof *room);
    if (!room)
        return nh_fail_memory(report);
    for (size_t k = 0; k < 4; k++)
        x.side[k] = room + k * size;
    x.estimate = room + 4 * size;
    const nh_status status = verify_all(&x, derivative, out, report);
    free(room);
    return status;
}
