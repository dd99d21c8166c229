/* The public functions of a system: names, sizes, facts, and values at a state. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "mechanics/symmetries.h"
#include "system/start.h"

const char *nh_system_name(const nh_system *system)
{
    return system->name;
}

int nh_system_remarks(const nh_system *system)
{
    return system->remarks.count;
}

const char *nh_system_remark(const nh_system *system, int index)
{
    return nh_remarks_text(&system->remarks, index);
}

int nh_system_coordinates(const nh_system *system)
{
    return system->coordinates;
}

int nh_system_velocities(const nh_system *system)
{
    return system->user_velocities;
}

int nh_system_constraints(const nh_system *system)
{
    return system->constraints;
}

int nh_system_positions(const nh_system *system)
{
    return system->shape.positions;
}

int nh_system_rotations(const nh_system *system)
{
    return system->shape.rotations;
}

static const nh_problem *problem_of(const nh_system *system)
{
    return system->mechanics ? system->mechanics->problem : NULL;
}

const char *nh_system_coordinate_name(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    if (index < 0 || index >= system->coordinates)
        return NULL;
    return problem ? problem->coordinate_name[index] : system->name_of_coordinate[index];
}

bool nh_system_is_angle(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    return problem && index >= 0 && index < system->coordinates && problem->angle[index];
}

const char *nh_system_velocity_name(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    if (index < 0 || index >= system->user_velocities)
        return NULL;
    if (!problem)
        return system->name_of_velocity[index];
    int inner = nh_inner_index(system, index), before = 0;
    for (int i = 0; i < problem->rotations && problem->rotation[i].first <= inner; i++, before++)
        if (problem->rotation[i].first == inner)
            return problem->rotation[i].rate_name[index - (inner - before)];
    return problem->velocity_name[inner];
}

const char *nh_system_constraint_name(const nh_system *system, int index)
{
    const nh_problem *problem = problem_of(system);
    if (index < 0 || index >= system->constraints)
        return NULL;
    return problem ? problem->constraint[index].name : "constraint";
}

int nh_system_parameters(const nh_system *system)
{
    const nh_problem *problem = problem_of(system);
    return problem ? problem->parameters : 0;
}

const char *nh_system_parameter_name(const nh_system *system, int index)
{
    bool is_there = index >= 0 && index < nh_system_parameters(system);
    return is_there ? problem_of(system)->parameter[index].name : NULL;
}

double nh_system_parameter_value(const nh_system *system, int index)
{
    bool is_there = index >= 0 && index < nh_system_parameters(system);
    return is_there ? problem_of(system)->parameter[index].value : NAN;
}

/* ---- observables ---- */

static int built_in_observables(const nh_system *system)
{
    return system->facts.coupled ? NH_COUPLED_OBSERVABLES : 0;
}

int nh_system_observables(const nh_system *system)
{
    const nh_problem *problem = problem_of(system);
    return built_in_observables(system) + (problem ? problem->observables : 0);
}

const char *nh_system_observable_name(const nh_system *system, int index)
{
    static const char *const built_in[] = {"driver_energy", "passenger_energy"};
    int before = built_in_observables(system);
    if (index < 0 || index >= nh_system_observables(system))
        return NULL;
    return index < before ? built_in[index] : problem_of(system)->observable[index - before].name;
}

int nh_system_inputs(const nh_system *system)
{
    return problem_of(system) ? problem_of(system)->inputs : 0;
}

static const nh_problem_input *input_at(const nh_system *system, int index)
{
    return index >= 0 && index < nh_system_inputs(system) ? problem_of(system)->input + index
                                                          : NULL;
}

const char *nh_system_input_name(const nh_system *system, int index)
{
    const nh_problem_input *input = input_at(system, index);
    return input ? input->name : NULL;
}

nh_signal nh_system_input_signal(const nh_system *system, int index)
{
    const nh_problem_input *input = input_at(system, index);
    return input ? input->signal : NH_SIGNAL_FORMULA;
}

char *nh_system_input_text(const nh_system *system, int index)
{
    const nh_problem_input *input = input_at(system, index);
    if (!input || input->table.rows == 0)
        return input ? nh_expr_text(problem_of(system), input->given) : NULL;
    const nh_input_table *table = &input->table;
    const size_t room = 160;
    char *text = malloc(room);
    if (text)
        nh_print(text, room, "a table of %lld point%s from t = %.10g to %.10g, %s",
                 (long long)table->rows, table->rows == 1 ? "" : "s", table->time[0],
                 table->time[table->rows - 1],
                 input->signal == NH_SIGNAL_HELD     ? "held"
                 : input->signal == NH_SIGNAL_LINEAR ? "linear interpolation"
                                                     : "cubic spline");
    return text;
}

/* Calls NH_FN_OBSERVE and returns the part [first, first + count) of its results. */
static nh_status observe_part(const nh_system *system, nh_instant at, const double *q,
                              const double *v, size_t first, size_t count, double *out,
                              nh_report *report)
{
    double *all = malloc((nh_system_outputs(system, NH_FN_OBSERVE) + 1) * sizeof *all), *own = NULL;
    const double *inner = all ? nh_inner_copy(system, q, v, &own, report) : NULL;
    nh_status status =
        !all     ? nh_fail_memory(report)
        : !inner ? NH_NO_MEMORY
                 : nh_system_evaluate_at(system, NH_FN_OBSERVE, at, q, inner, all, report);
    if (status == NH_OK)
        memcpy(out, all + first, count * sizeof *out);
    free(own);
    free(all);
    return status;
}

nh_status nh_inner_energy(const nh_system *system, double t, const double *q, const double *v,
                          double *energy, nh_report *report)
{
    double *all = malloc((nh_system_outputs(system, NH_FN_OBSERVE) + 1) * sizeof *all);
    if (!all)
        return nh_fail_memory(report);
    nh_status status = nh_system_evaluate(system, NH_FN_OBSERVE, t, q, v, NULL, all, report);
    if (status == NH_OK)
        *energy = all[0];
    free(all);
    return status;
}

nh_status nh_system_energy(const nh_system *system, double t, const double *q, const double *v,
                           double *energy, nh_report *report)
{
    return observe_part(system, (nh_instant){.t = t}, q, v, 0, 1, energy, report);
}

nh_status nh_system_residual(const nh_system *system, double t, const double *q, const double *v,
                             double *k, nh_report *report)
{
    return observe_part(system, (nh_instant){.t = t}, q, v, 1, (size_t)system->constraints, k,
                        report);
}

nh_status nh_system_position_residual(const nh_system *system, double t, const double *q, double *g,
                                      nh_report *report)
{
    size_t count = (size_t)system->shape.positions;
    double *all = malloc((count + (size_t)system->shape.ng + 1) * sizeof *all);
    if (!all)
        return nh_fail_memory(report);
    nh_status status =
        count == 0 ? NH_OK
                   : nh_system_evaluate(system, NH_FN_SURFACE, t, q, NULL, NULL, all, report);
    if (status == NH_OK)
        memcpy(g, all, count * sizeof *g);
    free(all);
    return status;
}

nh_status nh_system_largest_residual(const nh_system *system, double t, const double *q,
                                     const double *v, double *largest, nh_report *report)
{
    size_t count = (size_t)(system->constraints + system->shape.positions);
    double *residual = malloc((count + 1) * sizeof *residual);
    if (!residual)
        return nh_fail_memory(report);
    nh_status status = observe_part(system, (nh_instant){.t = t}, q, v, 1, count, residual, report);
    *largest = 0;
    for (size_t i = 0; status == NH_OK && i < count; i++)
        *largest = isnan(*largest) || fabs(residual[i]) <= *largest ? *largest : fabs(residual[i]);
    free(residual);
    return status;
}

/* The index of the first observable in the results of NH_FN_OBSERVE. */
static size_t first_observable(const nh_system *system)
{
    return 1 + (size_t)system->constraints + (size_t)system->shape.positions;
}

nh_status nh_system_observe(const nh_system *system, double t, const double *q, const double *v,
                            double *values, nh_report *report)
{
    return nh_system_observe_at(system, (nh_instant){.t = t}, q, v, values, report);
}

nh_status nh_system_observe_at(const nh_system *system, nh_instant at, const double *q,
                               const double *v, double *values, nh_report *report)
{
    return observe_part(system, at, q, v, first_observable(system),
                        (size_t)nh_system_observables(system), values, report);
}

nh_status nh_system_partial_energies(const nh_system *system, double t, const double *q,
                                     const double *v, double *values, nh_report *report)
{
    if (!system->facts.coupled)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no driver and passengers", system->name);
    return observe_part(system, (nh_instant){.t = t}, q, v, first_observable(system), 2, values,
                        report);
}

nh_status nh_system_acceleration(const nh_system *system, double t, const double *q,
                                 const double *v, double *acceleration, double *multipliers,
                                 nh_report *report)
{
    return nh_system_acceleration_with(system, t, q, v, NULL, acceleration, multipliers, report);
}

nh_status nh_system_acceleration_with(const nh_system *system, double t, const double *q,
                                      const double *v, const double *u, double *acceleration,
                                      double *multipliers, nh_report *report)
{
    size_t n = (size_t)system->velocities, m = (size_t)system->constraints;
    double *both = malloc((n + m + 1) * sizeof *both), *own = NULL;
    const double *inner = both ? nh_inner_copy(system, q, v, &own, report) : NULL;
    nh_status status =
        !both    ? nh_fail_memory(report)
        : !inner ? NH_NO_MEMORY
        : u      ? nh_system_evaluate_with(system, NH_FN_ACCELERATION, t, q, inner, NULL, u, both,
                                           report)
                 : nh_system_evaluate(system, NH_FN_ACCELERATION, t, q, inner, NULL, both, report);
    if (status == NH_OK && acceleration)
        nh_show_velocities(system, q, both, 1, acceleration);
    if (status == NH_OK && multipliers)
        memcpy(multipliers, both + n, m * sizeof *both);
    free(own);
    free(both);
    return status;
}

/* ---- facts ---- */

const nh_facts *nh_system_facts(const nh_system *system)
{
    return &system->facts;
}

bool nh_system_fibration(const nh_system *system, nh_fibration *out)
{
    const nh_facts *f = &system->facts;
    *out = (nh_fibration){.integrals = -1, .angles = -1};
    if (!f->coupled || !f->linear_passengers)
        return false;
    const int size = f->passenger_rank + 1; /* dimension of (y, v) */
    out->fibre = system->velocities - 1 - f->passenger_rank;
    if (size == 1)
        snprintf(out->group, sizeof out->group, "%s", f->passenger_pull ? "R" : "1");
    else
        snprintf(out->group, sizeof out->group, "%s(%d)", f->passenger_pull ? "SE" : "SO", size);
    if (size > 1 && f->passenger_pull)
        return true;
    out->angles = 1 + size / 2; /* that of the driver, and those of a rotation */
    out->integrals = size + 2 - out->angles;
    return true;
}

/* The derived equations, if there is a constraint of this index. */
static const nh_mechanics *mechanics_of(const nh_system *system, int index)
{
    return index >= 0 && index < system->constraints ? system->mechanics : NULL;
}

nh_constraint_kind nh_system_constraint_kind(const nh_system *system, int index)
{
    const nh_mechanics *s = mechanics_of(system, index);
    return s ? s->kind[index] : NH_AFFINE;
}

bool nh_system_constraint_depends_on_time(const nh_system *system, int index)
{
    const nh_mechanics *s = mechanics_of(system, index);
    return s && nh_depends(s->g, s->k[index], NH_TIME);
}

nh_answer nh_system_constraint_integrable(const nh_system *system, int index)
{
    const nh_mechanics *s = mechanics_of(system, index);
    return s ? s->constraint_integrable[index] : NH_UNKNOWN;
}

nh_status nh_system_integrability(const nh_system *system, double t, const double *q,
                                  const double *v, nh_integrability *out, nh_report *report)
{
    nh_system *own = (nh_system *)system; /* creates expressions that nobody else uses */
    size_t n = (size_t)system->velocities;
    *out = (nh_integrability){.integrable = NH_UNKNOWN, .holonomic = -1};
    if (!system->mechanics)
        return NH_OK;
    double *state = calloc(2 * n + 1, sizeof *state); /* velocities may be more than coordinates */
    if (!state)
        return nh_fail_memory(report);
    memcpy(state, q, (size_t)system->coordinates * sizeof *q);
    nh_inner_velocities(system, q, v, state + n, 1);
    pthread_mutex_lock(&own->lock);
    bool ok = nh_judge_integrability(own->mechanics, t, state, state + n, out);
    pthread_mutex_unlock(&own->lock);
    free(state);
    return ok ? NH_OK : nh_fail_memory(report);
}

int nh_system_surfaces(const nh_system *system)
{
    return system->mechanics ? system->mechanics->surfaces : 0;
}

const char *nh_system_surface(const nh_system *system, int index)
{
    bool is_there = index >= 0 && index < nh_system_surfaces(system);
    return is_there ? system->mechanics->surface_text[index] : NULL;
}

int nh_system_integrals(const nh_system *system)
{
    if (nh_system_items(system) > 0) /* different things are constant in different modes */
        return 0;
    nh_system *own = (nh_system *)system; /* integrals are searched for on the first request */
    pthread_mutex_lock(&own->lock);
    if (own->mechanics && !own->mechanics->sought && !nh_find_symmetries(own->mechanics))
        nh_remarks_add(
            &own->remarks, "memory",
            "out of memory while searching for conserved quantities: some may be missing");
    pthread_mutex_unlock(&own->lock);
    char **list = system->mechanics ? system->mechanics->conserved : NULL;
    int count = 0;
    while (list && list[count])
        count++;
    return count;
}

const char *nh_system_integral_name(const nh_system *system, int index)
{
    bool is_there = index >= 0 && index < nh_system_integrals(system);
    return is_there ? system->mechanics->conserved[index] : NULL;
}
