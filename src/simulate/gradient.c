/* Gradients of numbers: how the run is planned, and what its derivatives by the first state mean
 * for named variables. See nonholo_analysis.h. */
#include "simulate/gradient_parts.h"

#include "base/option_struct.h"
#include "base/status.h"
#include "run/tangent.h"
#include "system/attitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_MEMORY = 100 * 1000 * 1000 };

/* ---- creation ---- */

static nh_status make_plan(nh_gradient *g, nh_report *report)
{
    const nh_gradient_options *o = &g->options;
    nh_run_options how = o->run ? *o->run : nh_run_options_default();
    if (o->at == NH_GRADIENT_DATA && o->data->rows > 0) {
        const double length = o->data->t[o->data->rows - 1] - how.t0;
        how.time = length > 0 ? length : 1;
        how.steps = 0;
    }
    how.user = NULL;
    how.stop = NULL;
    return nh_plan_make(&g->plan, g->system, &how, report);
}

static nh_status start_run(nh_gradient *g, const nh_run_options *given, nh_report *report)
{
    const size_t n = (size_t)nh_system_coordinates(g->system),
                 k = (size_t)nh_system_velocities(g->system);
    nh_start_options at = g->options.start ? *g->options.start : nh_start_options_default();
    if (given->q)
        return nh_run_start(g->run, 0, given->t0, given->q, given->v, report);
    double *q = malloc((n + k + 1) * sizeof *q);
    at.t = given->t0;
    nh_status status =
        q ? nh_system_begin(g->system, &at, q, q + n, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_run_start(g->run, 0, at.t, q, q + n, report);
    free(q);
    return status;
}

static nh_status make_run(nh_gradient *g, nh_report *report)
{
    const nh_run_options given = g->options.run ? *g->options.run : nh_run_options_default();
    nh_run_options how = given;
    how.method = g->plan.method;
    how.step = g->plan.step;
    how.steps = g->plan.steps;
    how.q = how.v = NULL;
    how.members = 1;
    how.time = how.tolerance = how.absolute = how.t0 = 0;
    how.every = 0;
    nh_status status = nh_run_create(&g->run, g->system, &how, report);
    return status == NH_OK ? start_run(g, &given, report) : status;
}

static nh_status make_room(nh_gradient *g, nh_report *report)
{
    const size_t results = nh_system_outputs(g->system, NH_FN_OBSERVE),
                 shown = (size_t)g->system->shape.n;
    g->numbers = nh_backward_adjoint(g->backward)->numbers;
    g->d = calloc(g->numbers + 1, sizeof *g->d);
    g->weight = calloc((results > shown ? results : shown) + 1, sizeof *g->weight);
    g->start = malloc(g->run->state_size * sizeof *g->start);
    g->gradient = calloc((size_t)g->by->count + 1, sizeof *g->gradient);
    if (!g->d || !g->weight || !g->start || !g->gradient)
        return nh_fail_memory(report);
    memcpy(g->start, g->run->group->block, g->run->state_size * sizeof *g->start);
    return NH_OK;
}

/* ---- variables ---- */

static double dot(size_t count, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The derivative by one variable, from d at the start. */
static nh_status contract(nh_gradient *g, int index, double *inner, nh_report *report)
{
    const nh_sensitivity *by = g->by;
    const nh_varied *one = by->variable + index;
    const nh_problem *p = g->system->mechanics->problem;
    const size_t n = (size_t)g->system->shape.n, open = (size_t)by->open;
    const double *of_inputs = g->d + g->numbers - nh_backward_adjoint(g->backward)->inputs;
    double by_point = 0;
    nh_status status = NH_OK;
    memset(inner, 0, 2 * n * sizeof *inner);
    nh_inner_change(g->system, g->start, g->start + n, by->q + index * by->directions,
                    by->v + index * by->velocities, inner, inner + n, 1);
    double sum = dot(2 * n, inner, g->d) + dot(open, by->input + (size_t)index * open, of_inputs);
    if (by->by_parameters)
        sum +=
            dot((size_t)by->parameters, by->parameter + index * by->parameters, of_inputs + open);
    if (one->kind == NH_BY_INPUT && p->input[one->index].table.rows > 0)
        status = nh_backward_by_point(g->backward, one->index, one->point, &by_point, report);
    g->gradient[index] = sum + by_point;
    return status;
}

static void remark_size(nh_gradient *g)
{
    double most = 0;
    for (int i = 0; i < g->by->count; i++)
        most = fmax(most, fabs(g->gradient[i]));
    nh_remark_growth(&g->remarks, most, g->time - g->run->time);
}

static nh_status contract_all(nh_gradient *g, nh_report *report)
{
    nh_status status = NH_OK;
    double *inner = malloc(2 * (size_t)g->system->shape.n * sizeof *inner + 1);
    if (!inner)
        return nh_fail_memory(report);
    for (int i = 0; i < g->by->count && status == NH_OK; i++) {
        status = contract(g, i, inner, report);
        if (status == NH_OK && !isfinite(g->gradient[i]))
            status = nh_fail(report, NH_NOT_FINITE, "the derivative by %s is not finite",
                             g->by->variable[i].name);
    }
    free(inner);
    return status;
}

/* ---- the whole ---- */

static void take_remarks(nh_gradient *g)
{
    for (int i = 0; i < nh_run_remarks(g->run); i++)
        nh_remarks_add(&g->remarks, nh_run_remark(g->run, i), "%s", nh_run_remark(g->run, i));
}

static nh_status compute(nh_gradient *g, nh_report *report)
{
    const nh_gradient_options *o = &g->options;
    if (!g->system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; models can",
                       g->system->name);
    nh_status status = nh_gradient_choose(g, report);
    if (status == NH_OK)
        status = nh_sensitivity_create(&g->by, g->system, o->by ? o->by : "all", o->start, report);
    if (status == NH_OK)
        status = make_plan(g, report);
    if (status == NH_OK)
        status = make_run(g, report);
    if (status == NH_OK)
        status = nh_backward_create(&g->backward, g->run, g->by->by_parameters,
                                    o->memory ? o->memory : USUAL_MEMORY, report);
    if (status == NH_OK)
        status = make_room(g, report);
    if (status == NH_OK)
        status = nh_gradient_run(g, report);
    if (status == NH_OK)
        take_remarks(g);
    if (status == NH_OK)
        status = nh_gradient_sweep(g, report);
    if (status == NH_OK)
        status = contract_all(g, report);
    if (status == NH_OK)
        remark_size(g);
    return status;
}

nh_status nh_gradient_compute(nh_gradient **out, const nh_system *system,
                              const nh_gradient_options *options, nh_report *report)
{
    nh_gradient_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_gradient_options, progress, report);
    nh_gradient *g = status == NH_OK ? calloc(1, sizeof *g) : NULL;
    if (!g)
        return status == NH_OK ? nh_fail_memory(report) : status;
    g->options = o;
    g->system = system;
    status = compute(g, report);
    if (status == NH_OK)
        *out = g;
    else
        nh_gradient_free(g);
    return status;
}

void nh_gradient_free(nh_gradient *g)
{
    if (!g)
        return;
    for (int64_t i = 0; g->row && i < g->options.data->rows; i++)
        free(g->row[i].residual);
    nh_backward_free(g->backward);
    nh_run_free(g->run);
    nh_sensitivity_free(g->by);
    nh_remarks_free(&g->remarks);
    free(g->row);
    free(g->breaks);
    free(g->column);
    free(g->in_data);
    free(g->d);
    free(g->weight);
    free(g->start);
    free(g->gradient);
    free(g);
}

/* ---- what was found ---- */

double nh_gradient_value(const nh_gradient *g)
{
    return g->value;
}

int nh_gradient_variables(const nh_gradient *g)
{
    return g->by->count;
}

const nh_varied *nh_gradient_variable(const nh_gradient *g, int index)
{
    return nh_sensitivity_variable(g->by, index);
}

double nh_gradient_by(const nh_gradient *g, int index)
{
    return index >= 0 && index < g->by->count ? g->gradient[index] : NAN;
}

const nh_plan *nh_gradient_plan(const nh_gradient *g)
{
    return &g->plan;
}

double nh_gradient_end(const nh_gradient *g)
{
    return g->time;
}

int64_t nh_gradient_steps(const nh_gradient *g)
{
    return nh_backward_moves(g->backward);
}

size_t nh_gradient_memory(const nh_gradient *g)
{
    return nh_backward_memory(g->backward);
}

double nh_gradient_seconds(const nh_gradient *g, bool back)
{
    return g->seconds[back];
}

int nh_gradient_remarks(const nh_gradient *g)
{
    return g->remarks.count;
}

const char *nh_gradient_remark(const nh_gradient *g, int index)
{
    return nh_remarks_text(&g->remarks, index);
}
