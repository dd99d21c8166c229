/* The variables of an FMU: names by the structured convention of the standard, x and der(x). */
#include "export/fmu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool is_listed(const nh_fmu *fmu, const char *name)
{
    for (int i = 0; i < fmu->variables; i++)
        if (strcmp(fmu->variable[i].name, name) == 0)
            return true;
    return false;
}

/* 'R.0', a component of a quaternion, becomes 'R.q0': parts of a name must begin with a letter. */
static void add_name(nh_text *out, const char *name)
{
    for (const char *c = name; *c; c++) {
        nh_text_add(out, "%c", *c);
        if (*c == '.' && isdigit((unsigned char)c[1]))
            nh_text_add_plain(out, "q");
    }
}

/* A velocity is der(x) if it is that of a coordinate. */
static void add_velocity_name(nh_text *out, const char *name)
{
    const size_t length = strlen(name);
    if (length > 1 && name[length - 1] == '\'')
        nh_text_add(out, "der(%.*s)", (int)length - 1, name);
    else
        add_name(out, name);
}

static void add_acceleration_name(nh_text *out, const char *name)
{
    const size_t length = strlen(name);
    if (length > 1 && name[length - 1] == '\'') {
        nh_text_add(out, "der(%.*s,2)", (int)length - 1, name);
        return;
    }
    nh_text_add_plain(out, "der(");
    add_name(out, name);
    nh_text_add_plain(out, ")");
}

/* ---- the list ---- */

/* Appends a variable, with a name that differs from those before it. Takes ownership of the
 * texts. */
static nh_fmu_variable *add(nh_fmu *fmu, nh_text *name, nh_fmu_role role, int reference)
{
    while (name->data && !name->failed && is_listed(fmu, name->data))
        nh_text_add_plain(name, "_");
    nh_fmu_variable *v = fmu->variable + fmu->variables;
    fmu->failed = fmu->failed || name->failed || !name->data;
    if (fmu->failed) {
        nh_text_free(name);
        return v; /* beyond the list, which has room for one more */
    }
    *v = (nh_fmu_variable){.name = name->data, .role = role, .reference = reference, .rate_of = -1};
    fmu->variables++;
    *name = (nh_text){0};
    return v;
}

static nh_fmu_variable *add_plain(nh_fmu *fmu, const char *name, nh_fmu_role role, int reference)
{
    nh_text text = {0};
    add_name(&text, name);
    return add(fmu, &text, role, reference);
}

static void explain(nh_fmu *fmu, nh_fmu_variable *v, const char *about, const char *name)
{
    nh_text text = {0};
    nh_text_add(&text, "%s%s", about, name);
    if (fmu->failed || text.failed)
        nh_text_free(&text);
    fmu->failed = fmu->failed || text.failed;
    if (!fmu->failed)
        v->about = text.data;
}

/* The coordinate whose velocity this is, or -1: a velocity without one, or a body rate. */
static int coordinate_of(const nh_system *system, int velocity)
{
    const char *name = nh_system_velocity_name(system, velocity);
    const size_t length = strlen(name);
    for (int i = 0; i < system->coordinates; i++) {
        const char *other = nh_system_coordinate_name(system, i);
        if (strlen(other) + 1 == length && name[length - 1] == '\'' &&
            memcmp(other, name, length - 1) == 0)
            return i;
    }
    return -1;
}

static const char *unit_of_velocity(const nh_system *system, int velocity, const char *unit)
{
    const int coordinate = coordinate_of(system, velocity);
    const bool turns = coordinate >= 0
                           ? nh_system_is_angle(system, coordinate)
                           : strchr(nh_system_velocity_name(system, velocity), '.') != 0;
    return turns ? unit : NULL;
}

/* States come first, so that what belongs to one is found by its index: q, then v. */
static void list_states(nh_fmu *fmu, int *reference)
{
    const nh_export_job *job = fmu->job;
    const nh_system *system = job->system;
    for (int i = 0; i < system->coordinates; i++) {
        nh_fmu_variable *v =
            add_plain(fmu, nh_system_coordinate_name(system, i), NH_FMU_STATE, (*reference)++);
        v->start = job->q[i];
        v->unit = nh_system_is_angle(system, i) ? "rad" : NULL;
    }
    for (int i = 0; i < system->user_velocities; i++) {
        const char *name = nh_system_velocity_name(system, i);
        nh_text text = {0};
        add_velocity_name(&text, name);
        nh_fmu_variable *v = add(fmu, &text, NH_FMU_STATE, (*reference)++);
        const int coordinate = coordinate_of(system, i);
        v->start = job->v[i];
        v->unit = unit_of_velocity(system, i, "rad/s");
        if (coordinate >= 0) {
            v->rate_of = 1 + coordinate;
            explain(fmu, v, "velocity of ", nh_system_coordinate_name(system, coordinate));
        }
    }
}

/* Derivatives of states that are no states themselves. */
static void list_rates(nh_fmu *fmu, int *reference)
{
    const nh_system *system = fmu->job->system;
    bool *is_velocity = calloc((size_t)system->coordinates + 1, sizeof *is_velocity);
    fmu->failed = fmu->failed || !is_velocity;
    for (int i = 0; i < system->user_velocities && is_velocity; i++)
        if (coordinate_of(system, i) >= 0)
            is_velocity[coordinate_of(system, i)] = true;
    for (int i = 0; i < system->coordinates && is_velocity; i++, (*reference)++) {
        if (is_velocity[i])
            continue;
        nh_text text = {0};
        add_acceleration_name(&text, nh_system_coordinate_name(system, i));
        add(fmu, &text, NH_FMU_RATE, *reference)->rate_of = 1 + i;
    }
    for (int i = 0; i < system->user_velocities; i++) {
        nh_text text = {0};
        add_acceleration_name(&text, nh_system_velocity_name(system, i));
        nh_fmu_variable *v = add(fmu, &text, NH_FMU_RATE, (*reference)++);
        v->rate_of = 1 + system->coordinates + i;
        v->unit = unit_of_velocity(system, i, "rad/s2");
    }
    free(is_velocity);
}

/* Runs record inputs among the observables. */
static bool is_open_input(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_inputs(system); i++)
        if (nh_system_input_signal(system, i) != NH_SIGNAL_FORMULA &&
            strcmp(nh_system_input_name(system, i), name) == 0)
            return true;
    return false;
}

static void list_outputs(nh_fmu *fmu, int *reference)
{
    const nh_system *system = fmu->job->system;
    const int energy = (*reference)++, violation = (*reference)++;
    for (int i = nh_fmu_left_out(fmu); i < nh_system_observables(system); i++, (*reference)++)
        if (!is_open_input(system, nh_system_observable_name(system, i)))
            add_plain(fmu, nh_system_observable_name(system, i), NH_FMU_OUTPUT, *reference);
    explain(fmu, add_plain(fmu, "energy", NH_FMU_OUTPUT, energy), "v dL/dv - L", "");
    explain(fmu, add_plain(fmu, "constraint_violation", NH_FMU_LOCAL, violation),
            "the largest violation of a constraint", "");
    for (int i = 0; i < nh_system_events(system); i++) {
        nh_text text = {0};
        nh_text_add(&text, "event.%s", nh_system_event_name(system, i));
        explain(fmu, add(fmu, &text, NH_FMU_INDICATOR, (*reference)++),
                "changes its sign at the event ", nh_system_event_name(system, i));
    }
}

static void list_inputs(nh_fmu *fmu, int *reference)
{
    const nh_problem *problem = fmu->job->system->mechanics->problem;
    for (int i = 0; i < problem->inputs; i++) {
        const nh_problem_input *input = problem->input + i;
        if (input->signal == NH_SIGNAL_FORMULA)
            continue;
        add_plain(fmu, input->name, NH_FMU_INPUT, *reference + input->first)->start =
            fmu->input[input->first];
    }
    *reference += fmu->job->system->shape.inputs;
}

int nh_fmu_left_out(const nh_fmu *fmu)
{
    return fmu->open
               ? nh_system_observables(fmu->job->system) - nh_system_observables(fmu->open->system)
               : 0;
}

bool nh_fmu_can_be_set(const nh_fmu *fmu, int parameter)
{
    return fmu->open && !fmu->open->system->mechanics->problem->fixed[parameter];
}

void nh_fmu_list(nh_fmu *fmu)
{
    const nh_system *system = fmu->job->system;
    const int parameters = nh_system_parameters(system);
    int reference = 0;
    const size_t most = 8 + 2 * ((size_t)system->coordinates + (size_t)system->user_velocities) +
                        (size_t)(nh_system_observables(system) + nh_system_events(system) +
                                 nh_system_inputs(system) + parameters);
    fmu->variable = calloc(most, sizeof *fmu->variable);
    fmu->failed = !fmu->variable;
    if (fmu->failed)
        return;
    add_plain(fmu, "time", NH_FMU_TIME, reference++)->unit = "s";
    list_states(fmu, &reference);
    list_rates(fmu, &reference);
    list_outputs(fmu, &reference);
    list_inputs(fmu, &reference);
    const int tolerance = reference++;
    for (int i = 0; i < parameters; i++)
        add_plain(fmu, nh_system_parameter_name(system, i),
                  nh_fmu_can_be_set(fmu, i) ? NH_FMU_PARAMETER : NH_FMU_CONSTANT, reference++)
            ->start = nh_system_parameter_value(system, i);
    nh_fmu_variable *v = add_plain(fmu, "constraint_tolerance", NH_FMU_SETTING, tolerance);
    v->start = NH_FMU_TOLERANCE;
    explain(fmu, v, "violation above which a state is moved back onto the constraints", "");
}

void nh_fmu_free(nh_fmu *fmu)
{
    for (int i = 0; i < fmu->variables; i++) {
        free(fmu->variable[i].name);
        free(fmu->variable[i].about);
    }
    free(fmu->variable);
}
