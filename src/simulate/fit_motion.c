/* Residuals of a fit and their derivatives, by runs with derivatives; see fit.h. */
#include "simulate/fit.h"

#include "base/decimal.h"
#include "base/status.h"
#include "run/interrupt.h"
#include "simulate/even.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double usual_tolerance = 1e-11;
static const double pi = 3.14159265358979323846;

/* ---- columns ---- */

bool nh_fit_find_column(const nh_system *system, const char *name, nh_fit_column *c)
{
    const nh_problem *p = system->mechanics->problem;
    for (int i = 0; i < nh_system_directions(system) - 3 * p->rotations; i++)
        if (strcmp(name, nh_system_coordinate_name(system, i)) == 0) {
            *c = (nh_fit_column){NH_FIT_POSITION, i, p->angle[i]};
            return true;
        }
    for (int i = 0; i < nh_system_velocities(system); i++)
        if (strcmp(name, nh_system_velocity_name(system, i)) == 0) {
            *c = (nh_fit_column){NH_FIT_VELOCITY, i, false};
            return true;
        }
    for (int i = 0; i < nh_system_observables(system); i++)
        if (strcmp(name, nh_system_observable_name(system, i)) == 0) {
            *c = (nh_fit_column){NH_FIT_OBSERVABLE, i, false};
            return true;
        }
    *c = (nh_fit_column){NH_FIT_ENERGY, 0, false};
    return strcmp(name, "energy") == 0;
}

nh_suggest_text nh_fit_suggest_column(const nh_system *system, const char *name)
{
    nh_suggest suggest = nh_suggest_begin(name);
    const nh_problem *p = system->mechanics->problem;
    for (int i = 0; i < nh_system_directions(system) - 3 * p->rotations; i++)
        nh_suggest_offer(&suggest, nh_system_coordinate_name(system, i));
    for (int i = 0; i < nh_system_velocities(system); i++)
        nh_suggest_offer(&suggest, nh_system_velocity_name(system, i));
    for (int i = 0; i < nh_system_observables(system); i++)
        nh_suggest_offer(&suggest, nh_system_observable_name(system, i));
    nh_suggest_offer(&suggest, "energy");
    return nh_suggest_end(&suggest);
}

static nh_status refuse_column(const nh_system *system, const nh_fit_data *d, const char *name,
                               nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "%s: the column '%s' is no coordinate, velocity or observable of %s%s", d->name,
                   name, system->name, nh_fit_suggest_column(system, name).text);
}

static nh_status check_times(const nh_fit_problem *p, const nh_fit_data *d, nh_report *report)
{
    if (d->rows < 1)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: there are no data", d->name);
    if (d->t[0] < p->start.t)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: row 1: the time %g is before the start of the run, t = %g", d->name,
                       d->t[0], p->start.t);
    for (int64_t i = 0; i < d->rows; i++)
        if (!isfinite(d->t[i]) || (i > 0 && d->t[i] <= d->t[i - 1]))
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "%s: row %lld: the time %g is not later than that before", d->name,
                           (long long)i + 1, d->t[i]);
    return NH_OK;
}

static nh_status check_cells(const nh_fit_data *d, nh_report *report)
{
    for (int64_t i = 0; i < d->rows; i++)
        for (int c = 0; c < d->columns; c++) {
            const int64_t cell = i * d->columns + c;
            const double weight = d->weight ? d->weight[cell] : 1;
            if (isinf(d->value[cell]))
                return nh_fail(report, NH_BAD_ARGUMENT, "%s: row %lld: %s is not finite", d->name,
                               (long long)i + 1, d->column[c]);
            if (!isnan(d->value[cell]) && !(weight >= 0 && weight < INFINITY))
                return nh_fail(report, NH_BAD_ARGUMENT,
                               "%s: row %lld: the weight of %s is %g, which is no number from 0 on",
                               d->name, (long long)i + 1, d->column[c], weight);
        }
    return NH_OK;
}

/* ---- one table of data ---- */

static nh_status list_unknowns(nh_fit_problem *p, nh_fit_run *r, const nh_fit_options *o,
                               nh_report *report)
{
    const char **name = calloc((size_t)o->unknowns + 1, sizeof *name);
    nh_status status = name ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < o->unknowns && status == NH_OK; i++)
        name[i] = o->unknown[i].name;
    if (status == NH_OK)
        status = nh_unknowns_begin(&r->varied, p->system, &p->start, o->unknowns, name, report);
    free(name);
    return status;
}

static nh_status begin_run(nh_fit_problem *p, nh_fit_run *r, const nh_fit_options *o,
                           nh_report *report)
{
    const nh_fit_data *d = r->data;
    const size_t cells = (size_t)d->rows * (size_t)d->columns;
    nh_status status = check_times(p, d, report);
    r->column = calloc((size_t)d->columns + 1, sizeof *r->column);
    r->unknown = calloc((size_t)o->unknowns + 1, sizeof *r->unknown);
    r->steps = calloc((size_t)d->rows + 1, sizeof *r->steps);
    r->room = malloc((4 * cells + 1) * sizeof *r->room);
    if (!r->column || !r->unknown || !r->steps || !r->room)
        return nh_fail_memory(report);
    r->model = r->room;
    r->residual = r->model + cells;
    r->kept_model = r->residual + cells;
    r->kept_residual = r->kept_model + cells;
    if (status == NH_OK)
        status = check_cells(d, report);
    for (int i = 0; i < d->columns && status == NH_OK; i++)
        if (!nh_fit_find_column(p->system, d->column[i], r->column + i))
            status = refuse_column(p->system, d, d->column[i], report);
    r->first = p->values;
    for (size_t i = 0; i < cells; i++)
        p->values += !isnan(d->value[i]);
    return status == NH_OK ? list_unknowns(p, r, o, report) : status;
}

/* A method that chooses its steps, if nothing is given. */
static nh_status make_plan(nh_fit_problem *p, nh_fit_run *r, nh_report *report)
{
    nh_run_options how = p->how;
    const double length = r->data->t[r->data->rows - 1] - p->start.t;
    const bool own = how.method && strstr(how.method, "tolerance=");
    how.time = length > 0 ? length : 1;
    how.t0 = p->start.t;
    how.q = r->varied.q;
    how.v = r->varied.v;
    how.members = 0;
    how.user = NULL;
    how.stop = NULL;
    if (!(how.step > 0)) {
        how.steps = 1;
        if (!(how.tolerance > 0) && !own)
            how.tolerance = usual_tolerance;
    }
    return nh_plan_make(&r->plan, r->varied.system, &how, report);
}

static nh_run_options options_of(const nh_fit_problem *p, const nh_fit_run *r)
{
    nh_run_options how = p->how;
    how.method = r->plan.method;
    how.step = r->plan.step;
    how.steps = 0;
    how.members = 1;
    how.backend = NH_BACKEND_TAPE;
    how.q = how.v = NULL;
    how.time = how.tolerance = how.absolute = how.t0 = 0;
    how.every = 0;
    return how;
}

/* How many steps the run takes itself between the rows of the data. */
static nh_status count_steps(nh_fit_run *r, nh_run *run, const nh_run_options *how,
                             nh_report *report)
{
    nh_status status = NH_OK;
    int64_t before = 0, accepted, rejected;
    for (int64_t i = 0; i < r->data->rows && status == NH_OK; i++) {
        double now;
        nh_run_state(run, 0, &now, NULL, NULL);
        status = nh_ask_to_go_on(how, report);
        if (status == NH_OK && r->data->t[i] > now)
            status = nh_run_advance_by(run, r->data->t[i] - now, report);
        nh_run_own_steps(run, 0, &accepted, &rejected);
        r->steps[i] = accepted > before + 1 ? accepted - before + 1 : 1;
        before = accepted;
    }
    return status;
}

/* Steps that a method chooses by a tolerance are frozen, for derivatives and for a smooth sum of
 * squares: between two rows there are as many steps of equal length as it takes itself. */
static nh_status freeze_steps(nh_fit_problem *p, nh_fit_run *r, nh_report *report)
{
    nh_run_options how = options_of(p, r);
    char method[sizeof r->plan.method];
    nh_run *run = NULL;
    double even = 0;
    if (!strstr(r->plan.method, "tolerance="))
        return NH_OK;
    snprintf(method, sizeof method, "%s", r->plan.method);
    how.method = method;
    nh_status status = nh_run_create(&run, r->varied.system, &how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, p->start.t, r->varied.q, r->varied.v, report);
    if (status == NH_OK)
        status = count_steps(r, run, &how, report);
    nh_run_free(run);
    if (status == NH_OK)
        status =
            nh_even_step(r->varied.system, p->start.t, r->data->t[r->data->rows - 1] - p->start.t,
                         r->varied.q, r->varied.v, &even, report);
    r->longest = even > 0 ? even : INFINITY; /* nothing limits the steps, but changes do */
    return status;
}

nh_status nh_fit_freeze_steps(nh_fit_problem *p, nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 0; i < p->runs && status == NH_OK; i++)
        status = freeze_steps(p, p->run + i, report);
    return status;
}

static void end_run(nh_fit_run *r)
{
    nh_unknowns_end(&r->varied);
    free(r->column);
    free(r->unknown);
    free(r->steps);
    free(r->room);
}

void nh_fit_keep(nh_fit_problem *p)
{
    for (int i = 0; i < p->runs; i++) {
        nh_fit_run *r = p->run + i;
        double *model = r->model, *residual = r->residual;
        r->model = r->kept_model;
        r->residual = r->kept_residual;
        r->kept_model = model;
        r->kept_residual = residual;
    }
}

/* ---- unknowns ---- */

static bool name_unknown(nh_fit_problem *p, int given, const char *name, const char *of_run)
{
    nh_text text = {0};
    nh_text_add_plain(&text, name);
    if (of_run)
        nh_text_add(&text, " (%s)", of_run);
    p->name[p->count] = text.data;
    p->given[p->count++] = given;
    return !text.failed;
}

/* Parameters are common to all runs; each run has start values of its own. */
static bool count_unknowns(nh_fit_problem *p, const nh_fit_options *o)
{
    const size_t most = (size_t)o->unknowns * (size_t)p->runs + 1;
    p->name = calloc(most, sizeof *p->name);
    p->given = calloc(most, sizeof *p->given);
    bool ok = p->name && p->given;
    for (int i = 0; i < o->unknowns && ok; i++) {
        const bool own = p->run[0].varied.item[i].place >= 0 && p->runs > 1;
        for (int r = 0; r < p->runs && ok; r++) {
            if (r == 0 || own)
                ok = name_unknown(p, i, o->unknown[i].name, own ? p->run[r].data->name : NULL);
            p->run[r].unknown[i] = p->count - 1;
        }
    }
    const size_t count = (size_t)p->count, values = (size_t)p->values;
    p->r = calloc(values * (count + 1) + count + 1, sizeof *p->r);
    if (!ok || !p->r)
        return false;
    p->J = p->r + values;
    p->x = p->J + values * count;
    return true;
}

nh_status nh_fit_problem_begin(nh_fit_problem *p, const nh_system *system, const nh_fit_options *o,
                               nh_remarks *remarks, nh_report *report)
{
    *p = (nh_fit_problem){.system = system,
                          .start = o->start ? *o->start : nh_start_options_default(),
                          .how = o->run ? *o->run : nh_run_options_default(),
                          .remarks = remarks};
    p->run = calloc((size_t)o->runs + 1, sizeof *p->run);
    if (!p->run)
        return nh_fail_memory(report);
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; models can",
                       system->name);
    nh_status status = NH_OK;
    for (; p->runs < o->runs && status == NH_OK; p->runs++) {
        p->run[p->runs].data = o->data + p->runs;
        status = begin_run(p, p->run + p->runs, o, report);
    }
    if (status == NH_OK && !count_unknowns(p, o))
        status = nh_fail_memory(report);
    for (int i = 0; i < p->runs && status == NH_OK; i++)
        for (int k = 0; k < o->unknowns; k++)
            p->x[p->run[i].unknown[k]] = p->run[i].varied.item[k].value;
    for (int i = 0; i < p->runs && status == NH_OK; i++)
        status = make_plan(p, p->run + i, report);
    if (status == NH_OK && p->values < p->count)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%d unknowns cannot be found from %lld value%s: there must be at least as "
                       "many data as unknowns",
                       p->count, (long long)p->values, nh_plural(p->values));
    return status;
}

void nh_fit_problem_end(nh_fit_problem *p)
{
    for (int i = 0; i < p->runs; i++)
        end_run(p->run + i);
    for (int i = 0; p->name && i < p->count; i++)
        free(p->name[i]);
    free(p->name);
    free(p->given);
    free(p->run);
    free(p->r);
    free(p->factor);
}

/* ---- residuals ---- */

typedef struct reading { /* of one run */
    nh_fit_problem *p;
    nh_fit_run *r;
    nh_run *run;
    double *q, *v, *observed;     /* energy first */
    double *dq, *dv, *d_observed; /* in every direction */
    bool observes;
} reading;

static bool make_room(reading *x)
{
    const nh_unknowns *s = &x->r->varied;
    const size_t n = (size_t)nh_system_coordinates(s->system), k = (size_t)s->velocities,
                 o = 1 + (size_t)nh_system_observables(s->system), c = (size_t)s->count,
                 d = (size_t)s->positions;
    x->q = malloc((n + k + o + c * (d + k + o) + 1) * sizeof *x->q);
    if (!x->q)
        return false;
    x->v = x->q + n;
    x->observed = x->v + k;
    x->dq = x->observed + o;
    x->dv = x->dq + c * d;
    x->d_observed = x->dv + c * k;
    for (int i = 0; i < x->r->data->columns; i++)
        x->observes |= x->r->column[i].kind >= NH_FIT_ENERGY;
    return true;
}

static nh_status open_run(reading *x, nh_report *report)
{
    const nh_unknowns *s = &x->r->varied;
    nh_run_options how = options_of(x->p, x->r);
    char method[sizeof x->r->plan.method];
    if (x->r->plan.tolerance > 0) { /* with the steps of freeze_steps instead */
        snprintf(method, sizeof method, "%.*s", (int)strcspn(how.method, ":"), how.method);
        how.method = method;
    }
    nh_status status = nh_run_create(&x->run, s->system, &how, report);
    if (status == NH_OK)
        status = nh_run_tangents(x->run, s->count, s->by_parameters, report);
    return status == NH_OK ? nh_unknowns_start(s, x->run, 0, 0, report) : status;
}

/* To a row of the data, in equal steps. */
static nh_status advance_to(reading *x, int64_t row, nh_report *report)
{
    const nh_fit_run *r = x->r;
    const double t = r->data->t[row];
    double now;
    nh_run_state(x->run, 0, &now, NULL, NULL);
    const double longest = r->plan.tolerance > 0 ? r->longest : r->plan.step;
    const double given = r->plan.tolerance > 0 ? (double)r->steps[row] : 1;
    const double steps = fmax(given, ceil((t - now) / longest - 1e-9));
    nh_status status = NH_OK;
    for (double left = steps; left > 0 && t > now && status == NH_OK; left--) {
        status = nh_run_advance_by(x->run, (t - now) / left, report);
        nh_run_state(x->run, 0, &now, NULL, NULL);
    }
    if (status == NH_OK && fabs(now - t) > 1e-9 * fmax(1, fabs(t)))
        return nh_fail(report, NH_NOT_CONVERGED, "the run ended at t = %g, before the data", now);
    return status;
}

static nh_status look(reading *x, nh_report *report)
{
    const nh_unknowns *s = &x->r->varied;
    const int o = 1 + nh_system_observables(s->system);
    double t;
    nh_run_state(x->run, 0, &t, x->q, x->v);
    nh_status status = NH_OK;
    if (x->observes) {
        status = nh_system_energy(s->system, t, x->q, x->v, x->observed, report);
        if (status == NH_OK)
            status = nh_system_observe(s->system, t, x->q, x->v, x->observed + 1, report);
    }
    for (int i = 0; i < s->count && status == NH_OK; i++) {
        nh_run_tangent(x->run, 0, i, NULL, x->dq + i * s->positions, x->dv + i * s->velocities);
        if (x->observes)
            status = nh_run_observe_tangent(x->run, 0, i, x->d_observed + i * o, report);
    }
    return status;
}

static double value_of(const reading *x, const nh_fit_column *c)
{
    return c->kind == NH_FIT_POSITION   ? x->q[c->index]
           : c->kind == NH_FIT_VELOCITY ? x->v[c->index]
                                        : x->observed[c->kind == NH_FIT_ENERGY ? 0 : 1 + c->index];
}

static double derivative_of(const reading *x, const nh_fit_column *c, int i)
{
    const nh_unknowns *s = &x->r->varied;
    const int o = 1 + nh_system_observables(s->system);
    return c->kind == NH_FIT_POSITION ? x->dq[i * s->positions + c->index]
           : c->kind == NH_FIT_VELOCITY
               ? x->dv[i * s->velocities + c->index]
               : x->d_observed[i * o + (c->kind == NH_FIT_ENERGY ? 0 : 1 + c->index)];
}

/* Those of one row; `at` counts the values that are there. */
static void fill_row(const reading *x, int64_t row, int64_t *at)
{
    nh_fit_problem *p = x->p;
    const nh_fit_data *d = x->r->data;
    for (int c = 0; c < d->columns; c++) {
        const int64_t cell = row * d->columns + c;
        const nh_fit_column *column = x->r->column + c;
        double residual = value_of(x, column) - d->value[cell];
        if (column->angle)
            residual = remainder(residual, 2 * pi);
        x->r->model[cell] = value_of(x, column);
        x->r->residual[cell] = -residual;
        if (isnan(d->value[cell]))
            continue;
        const double root =
            sqrt((d->weight ? d->weight[cell] : 1) * (p->factor ? p->factor[*at] : 1));
        p->r[*at] = root * residual;
        for (int i = 0; i < x->r->varied.count; i++)
            p->J[*at * p->count + x->r->unknown[i]] = root * derivative_of(x, column, i);
        ++*at;
    }
}

static void keep_remarks(nh_fit_problem *p, const nh_run *run)
{
    for (int i = 0; i < nh_run_remarks(run); i++)
        nh_remarks_add(p->remarks, "run", "%s", nh_run_remark(run, i));
}

static nh_status evaluate_run(nh_fit_problem *p, nh_fit_run *r, nh_report *report)
{
    reading x = {.p = p, .r = r};
    int64_t at = r->first;
    nh_status status = make_room(&x) ? open_run(&x, report) : nh_fail_memory(report);
    for (int64_t row = 0; row < r->data->rows && status == NH_OK; row++) {
        status = nh_ask_to_go_on(&p->how, report);
        if (status == NH_OK)
            status = advance_to(&x, row, report);
        if (status == NH_OK)
            status = look(&x, report);
        if (status == NH_OK)
            fill_row(&x, row, &at);
    }
    if (x.run)
        keep_remarks(p, x.run);
    nh_run_free(x.run);
    free(x.q);
    return status;
}

nh_status nh_fit_move(nh_fit_problem *p, const double *x, nh_report *report)
{
    nh_status status = NH_OK;
    memcpy(p->x, x, (size_t)p->count * sizeof *x);
    double *own = malloc(((size_t)p->count + 1) * sizeof *own);
    if (!own)
        return nh_fail_memory(report);
    for (int i = 0; i < p->runs && status == NH_OK; i++) {
        nh_fit_run *r = p->run + i;
        for (int k = 0; k < r->varied.count; k++)
            own[k] = x[r->unknown[k]];
        status = nh_unknowns_set(&r->varied, own, report);
    }
    free(own);
    return status;
}

nh_status nh_fit_evaluate(nh_fit_problem *p, const double *x, nh_report *report)
{
    memset(p->J, 0, (size_t)p->values * (size_t)p->count * sizeof *p->J);
    nh_status status = nh_fit_move(p, x, report);
    for (int i = 0; i < p->runs && status == NH_OK; i++)
        status = evaluate_run(p, p->run + i, report);
    for (int64_t i = 0; i < p->values && status == NH_OK; i++)
        if (!isfinite(p->r[i]))
            status = nh_fail(report, NH_NOT_FINITE, "the motion is not finite");
    return status;
}
