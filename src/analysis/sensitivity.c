/* Sensitivities: named directions of a run and the derivatives along them, see nonholo.h. */
#include "analysis/sensitivity.h"

#include "analysis/functionals.h"
#include "base/status.h"
#include "model/input_table.h"
#include "model/source.h"
#include "run/tangent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

nh_status nh_sensitivity_add(nh_sensitivity *s, const char *name, nh_varied_kind kind, int index,
                             int64_t point, double value, nh_report *report)
{
    for (int i = 0; i < s->count; i++) {
        const nh_varied *other = s->variable + i;
        if (other->kind == kind && other->index == index && other->point == point)
            return NH_OK;
    }
    if (s->count == s->room) {
        const int room = s->room ? 2 * s->room : 16;
        nh_varied *more = realloc(s->variable, (size_t)room * sizeof *more);
        if (!more)
            return nh_fail_memory(report);
        s->variable = more;
        s->room = room;
    }
    char *own = strdup(name);
    if (!own)
        return nh_fail_memory(report);
    s->variable[s->count++] = (nh_varied){own, kind, index, point, value};
    return NH_OK;
}

/* ---- directions ---- */

/* The numbers of an input that is 1 at a point of its table and 0 at the others, at a time. */
static nh_status table_moves(const nh_problem_input *in, int64_t point, double t, double *u,
                             nh_report *report)
{
    nh_input_table unit;
    double piece[8] = {0};
    const nh_status status = nh_input_table_unit(&unit, &in->table, in->signal, point, report);
    if (status != NH_OK)
        return status;
    nh_input_table_piece(&unit, nh_input_table_find(&unit, t), piece);
    nh_input_table_free(&unit);
    if (in->table.values > 1)
        piece[in->table.values - 1] = 0; /* the time at which the piece begins */
    memcpy(u + in->first, piece, (size_t)in->table.values * sizeof *u);
    return NH_OK;
}

static nh_status find_direction(nh_sensitivity *s, nh_start_moves *start, int index,
                                nh_report *report)
{
    const nh_varied *by = s->variable + index;
    double *parameter = s->parameter + index * s->parameters, *input = s->input + index * s->open;
    const nh_problem_input *in = start->problem->input + by->index;
    nh_start_cause cause = {0};
    nh_status status = NH_OK;
    int form;
    if (by->kind == NH_BY_PARAMETER) {
        status = nh_start_moves_parameter(start, by->index, parameter, &form, report);
        cause.parameters = parameter;
        s->by_parameters = true;
    } else if (by->kind == NH_BY_INPUT) {
        if (in->table.rows > 0)
            status = table_moves(in, by->point, start->how.t, input, report);
        else
            input[in->first] = 1;
        cause.inputs = input;
    } else if (by->kind == NH_BY_POSITION)
        cause.position = by->index + 1;
    else
        cause.velocity = by->index + 1;
    return status == NH_OK ? nh_start_moves_find(start, &cause, s->q + index * s->directions,
                                                 s->v + index * s->velocities, report)
                           : status;
}

static bool make_room(nh_sensitivity *s)
{
    const size_t each = (size_t)(s->directions + s->velocities + s->parameters + s->open);
    s->q = calloc((size_t)s->count * each + 1, sizeof *s->q);
    s->v = s->q ? s->q + s->count * s->directions : NULL;
    s->parameter = s->q ? s->v + s->count * s->velocities : NULL;
    s->input = s->q ? s->parameter + s->count * s->parameters : NULL;
    return s->q != NULL;
}

static bool name_outputs(nh_sensitivity *s)
{
    const int states = s->directions + s->velocities;
    s->outputs = states + 1 + nh_system_observables(s->system);
    s->output_name = calloc((size_t)s->outputs + 1, sizeof *s->output_name);
    for (int i = 0; s->output_name && i < s->outputs; i++) {
        char text[NH_NAME_LONGEST + 40] = "energy";
        if (i < states)
            nh_functional_name(s->system, i, text, sizeof text);
        s->output_name[i] =
            strdup(i > states ? nh_system_observable_name(s->system, i - states - 1) : text);
        if (!s->output_name[i])
            return false;
    }
    return s->output_name != NULL;
}

/* ---- creation ---- */

nh_status nh_sensitivity_create(nh_sensitivity **out, const nh_system *system, const char *names,
                                const nh_start_options *start, nh_report *report)
{
    const nh_start_options usual = nh_start_options_default();
    nh_sensitivity *s = calloc(1, sizeof *s);
    nh_start_moves moves = {0};
    *out = NULL;
    if (!s)
        return nh_fail_memory(report);
    s->system = system;
    nh_status status = nh_start_moves_begin(&moves, system, start ? start : &usual, report);
    if (status == NH_OK) {
        s->directions = nh_system_directions(system);
        s->velocities = nh_system_velocities(system);
        s->parameters = nh_system_parameters(system);
        s->open = moves.open;
        status = nh_sensitivity_read(s, &moves, names, report);
    }
    if (status == NH_OK && !(make_room(s) && name_outputs(s)))
        status = nh_fail_memory(report);
    for (int i = 0; i < s->count && status == NH_OK; i++)
        status = find_direction(s, &moves, i, report);
    nh_start_moves_end(&moves);
    if (status == NH_OK)
        *out = s;
    else
        nh_sensitivity_free(s);
    return status;
}

void nh_sensitivity_free(nh_sensitivity *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++)
        free((char *)s->variable[i].name);
    for (int i = 0; s->output_name && i < s->outputs; i++)
        free(s->output_name[i]);
    free(s->output_name);
    free(s->variable);
    free(s->q);
    free(s);
}

/* ---- what it has ---- */

int nh_sensitivity_variables(const nh_sensitivity *s)
{
    return s->count;
}

const nh_varied *nh_sensitivity_variable(const nh_sensitivity *s, int index)
{
    return index >= 0 && index < s->count ? s->variable + index : NULL;
}

int nh_sensitivity_outputs(const nh_sensitivity *s)
{
    return s->outputs;
}

const char *nh_sensitivity_output_name(const nh_sensitivity *s, int index)
{
    return index >= 0 && index < s->outputs ? s->output_name[index] : NULL;
}

/* ---- of a run ---- */

nh_status nh_sensitivity_begin(const nh_sensitivity *s, nh_run *run, int member, nh_report *report)
{
    nh_status status = NH_OK;
    if (nh_run_directions(run) != s->count)
        status = nh_run_tangents(run, s->count, s->by_parameters, report);
    for (int i = 0; i < s->count && status == NH_OK; i++) {
        const nh_varied *by = s->variable + i;
        const nh_direction to = {.q = s->q + i * s->directions,
                                 .v = s->v + i * s->velocities,
                                 .parameters =
                                     s->by_parameters ? s->parameter + i * s->parameters : NULL,
                                 .inputs = s->input + i * s->open};
        status = nh_run_set_tangent(run, member, i, &to, report);
        const nh_problem *p = s->system->mechanics->problem;
        if (status == NH_OK && by->kind == NH_BY_INPUT && p->input[by->index].table.rows > 0)
            status = nh_tangent_vary_table(run, i, by->index, by->point, report);
    }
    return status == NH_OK ? nh_tangent_prepare(run, report) : status;
}

nh_status nh_sensitivity_values(const nh_sensitivity *s, const nh_run *run, int member,
                                double *values, nh_report *report)
{
    double *column = calloc((size_t)s->outputs + 1, sizeof *column);
    nh_status status = column ? NH_OK : nh_fail_memory(report);
    const int states = s->directions + s->velocities;
    for (int i = 0; i < s->count && status == NH_OK; i++) {
        nh_run_tangent(run, member, i, NULL, column, column + s->directions);
        status = nh_run_observe_tangent(run, member, i, column + states, report);
        for (int o = 0; o < s->outputs && status == NH_OK; o++)
            values[o * s->count + i] = column[o];
    }
    free(column);
    return status;
}
