/* Steps as a map, and the products of its derivative forwards and backwards: see nonholo.h. */
#include "run/tangent.h"
#include "analysis/sensitivity.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "run/backward.h"
#include "system/attitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 100 * 1000 * 1000 };

struct nh_map {
    const nh_system *system;
    nh_sensitivity *by; /* parameters; NULL: none */
    nh_run *run, *forward;
    nh_backward *backward;
    double t;                  /* the last start: */
    double *q, *v, *u, *start; /* ... as users see it, its inputs, and its block */
    bool has_inputs, applied;
    int64_t steps;
    size_t coordinates, velocities, directions, inputs, open;
    double *d, *shown, *of_open, *of_parameters; /* room */
    size_t numbers;
    nh_run_options how;
    char *method, *compose;
};

/* ---- creation ---- */

static nh_status choose_parameters(nh_map *m, const char *names, nh_report *report)
{
    nh_status status =
        names ? nh_sensitivity_create(&m->by, m->system, names, NULL, report) : NH_OK;
    for (int i = 0; status == NH_OK && i < nh_map_parameters(m); i++)
        if (m->by->variable[i].kind != NH_BY_PARAMETER)
            status = nh_fail(report, NH_BAD_ARGUMENT,
                             "'%s' is no parameter; starts and inputs are arguments of the map",
                             m->by->variable[i].name);
    return status;
}

/* The clock of a run with a negative step goes backwards. */
static nh_status create_run(const nh_map *m, nh_run **out, nh_report *report)
{
    nh_run_options how = m->how;
    how.step = fabs(how.step);
    const nh_status status = nh_run_create(out, m->system, &how, report);
    if (status == NH_OK)
        (*out)->step = m->how.step;
    return status;
}

static nh_status make_run(nh_map *m, nh_report *report)
{
    nh_status status = create_run(m, &m->run, report);
    if (status == NH_OK)
        status = nh_backward_create(&m->backward, m->run, m->by != NULL, MEMORY, report);
    return status;
}

static bool make_room(nh_map *m)
{
    const nh_system *s = m->system;
    const nh_problem *p = s->mechanics->problem;
    m->coordinates = (size_t)nh_system_coordinates(s);
    m->velocities = (size_t)nh_system_velocities(s);
    m->directions = (size_t)nh_system_directions(s);
    m->inputs = (size_t)nh_system_inputs(s);
    m->open = (size_t)p->open_values;
    m->numbers = nh_backward_adjoint(m->backward)->numbers;
    const size_t n = (size_t)s->shape.n, parameters = (size_t)nh_system_parameters(s);
    m->q = calloc(m->coordinates + m->velocities + m->inputs + m->run->state_size + m->numbers +
                      4 * n + m->open + parameters + 2,
                  sizeof *m->q);
    if (!m->q)
        return false;
    m->v = m->q + m->coordinates;
    m->u = m->v + m->velocities;
    m->start = m->u + m->inputs;
    m->d = m->start + m->run->state_size;
    m->shown = m->d + m->numbers + 1;
    m->of_open = m->shown + 4 * n;
    m->of_parameters = m->of_open + m->open;
    return true;
}

static bool copy_options(nh_map *m, const nh_run_options *given)
{
    m->how = *given;
    m->how.members = 1;
    m->method = strdup(given->method ? given->method : "gauss");
    m->compose = given->compose ? strdup(given->compose) : NULL;
    m->how.method = m->method;
    m->how.compose = m->compose;
    return m->method && (m->compose || !given->compose);
}

static nh_status create(nh_map *m, const nh_run_options *given, const char *parameters,
                        nh_report *report)
{
    if (!m->system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; models can",
                       m->system->name);
    if (!copy_options(m, given))
        return nh_fail_memory(report);
    nh_status status = choose_parameters(m, parameters, report);
    if (status == NH_OK)
        status = make_run(m, report);
    return status == NH_OK && !make_room(m) ? nh_fail_memory(report) : status;
}

nh_status nh_map_create(nh_map **out, const nh_system *system, const nh_run_options *options,
                        const char *parameters, nh_report *report)
{
    nh_run_options given;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&given, options, nh_run_options, v, report);
    nh_map *m = status == NH_OK ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return status == NH_OK ? nh_fail_memory(report) : status;
    m->system = system;
    status = create(m, &given, parameters, report);
    if (status == NH_OK)
        *out = m;
    else
        nh_map_free(m);
    return status;
}

void nh_map_free(nh_map *m)
{
    if (!m)
        return;
    nh_backward_free(m->backward);
    nh_run_free(m->run);
    nh_run_free(m->forward);
    nh_sensitivity_free(m->by);
    free(m->q);
    free(m->method);
    free(m->compose);
    free(m);
}

int nh_map_parameters(const nh_map *m)
{
    return m->by ? m->by->count : 0;
}

const char *nh_map_parameter(const nh_map *m, int index)
{
    return index >= 0 && index < nh_map_parameters(m) ? m->by->variable[index].name : NULL;
}

/* ---- the map ---- */

static nh_status start(const nh_map *m, nh_run *run, nh_report *report)
{
    nh_status status = nh_run_start(run, 0, m->t, m->q, m->v, report);
    if (status == NH_OK && m->has_inputs)
        status = nh_run_set_inputs(run, 0, m->u, report);
    return status;
}

nh_status nh_map_apply(nh_map *m, double t, const double *q, const double *v, const double *inputs,
                       int64_t steps, double *q1, double *v1, nh_report *report)
{
    m->applied = false;
    m->t = t;
    m->steps = steps;
    m->has_inputs = inputs != NULL;
    memcpy(m->q, q, m->coordinates * sizeof *q);
    memcpy(m->v, v, m->velocities * sizeof *v);
    if (inputs)
        memcpy(m->u, inputs, m->inputs * sizeof *inputs);
    nh_status status = start(m, m->run, report);
    if (status != NH_OK)
        return status;
    memcpy(m->start, m->run->group->block, m->run->state_size * sizeof *m->start);
    nh_backward_restart(m->backward);
    nh_backward_plan(m->backward, steps);
    status = nh_backward_advance(m->backward, steps, 0, report);
    m->applied = status == NH_OK;
    if (m->applied)
        nh_run_state(m->run, 0, NULL, q1, v1);
    return status;
}

static nh_status check(const nh_map *m, nh_report *report)
{
    return m->applied ? NH_OK
                      : nh_fail(report, NH_BAD_ARGUMENT,
                                "a map has derivatives where nh_map_apply has succeeded");
}

/* ---- inputs ---- */

/* The number of the block for an input of the caller, or -1: what it is does not depend on him. */
static int place_of(const nh_map *m, size_t input)
{
    const nh_problem_input *in = m->system->mechanics->problem->input + input;
    return nh_input_is_free(in) ? in->first : -1;
}

static void open_inputs(nh_map *m, const double *inputs)
{
    memset(m->of_open, 0, m->open * sizeof *m->of_open);
    for (size_t i = 0; i < m->inputs; i++)
        if (place_of(m, i) >= 0)
            m->of_open[place_of(m, i)] = inputs[i];
}

/* ---- forwards ---- */

static nh_status make_forward(nh_map *m, int count, nh_report *report)
{
    if (m->forward && nh_run_directions(m->forward) == count)
        return NH_OK;
    nh_status status = NH_OK;
    if (!m->forward)
        status = create_run(m, &m->forward, report);
    return status == NH_OK ? nh_run_tangents(m->forward, count, m->by != NULL, report) : status;
}

static nh_status set_direction(nh_map *m, int i, const double *q, const double *v,
                               const double *inputs, const double *parameters, nh_report *report)
{
    nh_direction to = {.q = q ? q + (size_t)i * m->directions : NULL,
                       .v = v ? v + (size_t)i * m->velocities : NULL};
    const int named = nh_map_parameters(m), all = nh_system_parameters(m->system);
    if (inputs) {
        open_inputs(m, inputs + (size_t)i * m->inputs);
        to.inputs = m->of_open;
    }
    if (parameters && named > 0) {
        memset(m->of_parameters, 0, (size_t)all * sizeof *m->of_parameters);
        for (int k = 0; k < named; k++)
            for (int p = 0; p < all; p++)
                m->of_parameters[p] += parameters[i * named + k] * m->by->parameter[k * all + p];
        to.parameters = m->of_parameters;
    }
    return nh_run_set_tangent(m->forward, 0, i, &to, report);
}

nh_status nh_map_forward(nh_map *m, int count, const double *q, const double *v,
                         const double *inputs, const double *parameters, double *q1, double *v1,
                         nh_report *report)
{
    nh_status status = check(m, report);
    if (status == NH_OK)
        status = make_forward(m, count, report);
    if (status == NH_OK)
        status = start(m, m->forward, report);
    for (int i = 0; i < count && status == NH_OK; i++)
        status = set_direction(m, i, q, v, inputs, parameters, report);
    if (status == NH_OK)
        status = nh_run_advance(m->forward, m->steps, report);
    for (int i = 0; i < count && status == NH_OK; i++)
        nh_run_tangent(m->forward, 0, i, NULL, q1 ? q1 + (size_t)i * m->directions : NULL,
                       v1 ? v1 + (size_t)i * m->velocities : NULL);
    return status;
}

/* ---- backwards ---- */

/* Adds the weights of changes that users see to d: those are linear in the inner ones. */
static void take_weights(nh_map *m, const double *q1, const double *v1)
{
    const double *block = m->run->group->block;
    const size_t n = (size_t)m->system->shape.n;
    double *unit = m->shown, *seen = m->shown + 2 * n;
    memset(unit, 0, 2 * n * sizeof *unit);
    for (size_t i = 0; i < 2 * n; i++) {
        unit[i] = 1;
        nh_show_change(m->system, block, block + n, unit, unit + n, 1, seen, seen + n);
        unit[i] = 0;
        for (size_t k = 0; q1 && k < m->directions; k++)
            m->d[i] += q1[k] * seen[k];
        for (size_t k = 0; v1 && k < m->velocities; k++)
            m->d[i] += v1[k] * seen[n + k];
    }
}

static void give_state(nh_map *m, double *q, double *v)
{
    const size_t n = (size_t)m->system->shape.n;
    double *shown = m->shown, *inner = m->shown + 2 * n;
    memset(shown, 0, 2 * n * sizeof *shown);
    for (size_t k = 0; k < m->directions + m->velocities; k++) {
        const bool position = k < m->directions;
        double *out = position ? q : v, sum = 0;
        const size_t at = position ? k : k - m->directions, place = position ? at : n + at;
        if (!out)
            continue;
        shown[place] = 1;
        nh_inner_change(m->system, m->start, m->start + n, shown, shown + n, inner, inner + n, 1);
        shown[place] = 0;
        for (size_t i = 0; i < 2 * n; i++)
            sum += inner[i] * m->d[i];
        out[at] = sum;
    }
}

static void give_rest(nh_map *m, double *inputs, double *parameters)
{
    const double *of = m->d + m->numbers - nh_backward_adjoint(m->backward)->inputs;
    const int all = nh_system_parameters(m->system);
    for (size_t i = 0; inputs && i < m->inputs; i++)
        inputs[i] = place_of(m, i) >= 0 ? of[place_of(m, i)] : 0;
    for (int k = 0; parameters && k < nh_map_parameters(m); k++) {
        parameters[k] = 0;
        for (int p = 0; p < all; p++)
            parameters[k] += m->by->parameter[k * all + p] * of[m->open + (size_t)p];
    }
}

nh_status nh_map_backward(nh_map *m, const double *q1, const double *v1, double *q, double *v,
                          double *inputs, double *parameters, nh_report *report)
{
    nh_status status = check(m, report);
    if (status != NH_OK)
        return status;
    memset(m->d, 0, (m->numbers + 1) * sizeof *m->d);
    take_weights(m, q1, v1);
    status = nh_backward_back(m->backward, NULL, m->d, report);
    if (status != NH_OK)
        return status;
    give_state(m, q, v);
    give_rest(m, inputs, parameters);
    return NH_OK;
}
