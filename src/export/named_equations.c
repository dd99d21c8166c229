/* The equations of a system with named parameters, in the variables that users see. */
#include "export/named_equations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/ast.h"

/* ---- from inner velocities to those that users see ---- */

/* q' in the variables that users see: the rates of a quaternion p = (p0, u) follow from its body
 * rate w, p0' = -u.w/2, u' = (p0 w + u x w)/2. */
static void rates_of_rotation(nh_graph *g, int first, int shown, nh_expr *rate)
{
    nh_expr p[4], w[3];
    for (int i = 0; i < 4; i++)
        p[i] = nh_variable(g, NH_Q, (uint32_t)(first + i));
    for (int i = 0; i < 3; i++)
        w[i] = nh_variable(g, NH_V, (uint32_t)(shown + i));
    nh_expr along[3];
    for (int i = 0; i < 3; i++)
        along[i] = nh_multiply(g, p[1 + i], w[i]);
    rate[0] = nh_scale(g, -0.5, nh_sum(g, along, 3));
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        const nh_expr term[] = {nh_multiply(g, p[0], w[i]), nh_multiply(g, p[1 + j], w[k]),
                                nh_negate(g, nh_multiply(g, p[1 + k], w[j]))};
        rate[1 + i] = nh_scale(g, 0.5, nh_sum(g, term, 3));
    }
}

/* All inner velocities; the first ones are the rates of the coordinates. */
static nh_expr *inner_velocities(nh_graph *g, const nh_problem *p)
{
    nh_expr *rate = calloc((size_t)p->velocities + 1, sizeof *rate);
    for (int i = 0, shown = 0, rotation = 0; rate && i < p->velocities;) {
        if (rotation < p->rotations && p->rotation[rotation].first == i) {
            rates_of_rotation(g, i, shown, rate + i);
            i += 4;
            shown += 3;
            rotation++;
        } else
            rate[i++] = nh_variable(g, NH_V, (uint32_t)shown++);
    }
    return rate;
}

/* w_i = 2 (p0 u' - u p0' - u x u')_i, for velocities and for accelerations. */
static nh_expr shown_rate(nh_graph *g, int first, const nh_expr *inner, int i)
{
    nh_expr p[4];
    for (int k = 0; k < 4; k++)
        p[k] = nh_variable(g, NH_Q, (uint32_t)(first + k));
    const int a = 1 + i, b = 1 + (i + 1) % 3, c = 1 + (i + 2) % 3;
    const nh_expr term[] = {
        nh_multiply(g, p[0], inner[a]), nh_negate(g, nh_multiply(g, p[a], inner[0])),
        nh_negate(g, nh_multiply(g, p[b], inner[c])), nh_multiply(g, p[c], inner[b])};
    return nh_scale(g, 2, nh_sum(g, term, 4));
}

static void show_accelerations(nh_equations *e, const nh_expr *inner)
{
    const nh_problem *p = e->problem;
    for (int i = 0, shown = 0, rotation = 0; i < p->velocities;) {
        if (rotation < p->rotations && p->rotation[rotation].first == i) {
            for (int k = 0; k < 3; k++)
                e->acceleration[shown++] = shown_rate(e->g, i, inner + i, k);
            i += 4;
            rotation++;
        } else
            e->acceleration[shown++] = inner[i++];
    }
}

static nh_expr show(nh_equations *e, nh_expr inner)
{
    return e->problem->rotations
               ? nh_substitute(e->g, inner, NH_V, e->rate, (size_t)e->problem->velocities)
               : inner;
}

/* The forces that correspond to the variables users see: f_j dv_j/dw_i. */
static bool show_forces(nh_equations *e)
{
    for (int j = 0; j < e->problem->velocities; j++) {
        nh_partials by;
        nh_expr f = show(e, e->problem->force[j]);
        if (f == NH_ZERO)
            continue;
        if (!nh_expr_gradient(e->g, e->rate[j], NH_V, &by))
            return false;
        for (size_t k = 0; k < by.count; k++) {
            nh_expr *to = &e->force[by.entry[k].index];
            *to = nh_add(e->g, *to, nh_multiply(e->g, f, by.entry[k].value));
        }
        nh_partials_free(&by);
    }
    return true;
}

static bool show_mass(nh_equations *e)
{
    nh_partials momentum, row;
    if (!nh_expr_gradient(e->g, e->lagrangian, NH_V, &momentum))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < momentum.count; i++) {
        ok = nh_expr_gradient(e->g, momentum.entry[i].value, NH_V, &row);
        for (size_t k = 0; ok && k < row.count; k++)
            e->mass[momentum.entry[i].index * (size_t)e->velocities + row.entry[k].index] =
                row.entry[k].value;
        if (ok)
            nh_partials_free(&row);
    }
    nh_partials_free(&momentum);
    return ok;
}

/* ---- what the mechanics derives ---- */

static nh_status show_motion(nh_equations *e, nh_report *report)
{
    nh_mechanics *s = e->mechanics;
    nh_expr_list list = {0};
    nh_status status = nh_mechanics_function(s, NH_FN_ACCELERATION, &list, report);
    if (status == NH_OK) {
        for (size_t i = 0; i < list.count; i++)
            list.item[i] = show(e, list.item[i]);
        show_accelerations(e, list.item);
        if (s->m)
            memcpy(e->multiplier, list.item + s->n, (size_t)s->m * sizeof *list.item);
    }
    nh_expr_list_free(&list);
    return status;
}

static nh_status show_observables(nh_equations *e, nh_report *report)
{
    nh_mechanics *s = e->mechanics;
    nh_expr_list list = {0};
    nh_status status = nh_mechanics_function(s, NH_FN_OBSERVE, &list, report);
    e->observables = status == NH_OK ? e->problem->observables : 0;
    const size_t before = list.count - (size_t)e->observables;
    e->observable = calloc((size_t)e->observables + 1, sizeof *e->observable);
    if (!e->observable)
        status = nh_fail_memory(report);
    for (int i = 0; status == NH_OK && i < e->observables; i++)
        e->observable[i] = show(e, list.item[before + (size_t)i]);
    nh_expr_list_free(&list);
    return status;
}

static nh_status show_inputs(nh_equations *e, nh_report *report)
{
    nh_expr_list list = {0};
    nh_status status = nh_mechanics_function(e->mechanics, NH_FN_INPUTS, &list, report);
    e->input = calloc(list.count + 1, sizeof *e->input);
    e->inner_input = calloc(list.count + 1, sizeof *e->inner_input);
    if (status == NH_OK && (!e->input || !e->inner_input))
        status = nh_fail_memory(report);
    for (size_t i = 0; status == NH_OK && i < list.count; i++)
        e->inner_input[i] = list.item[i];
    for (size_t i = 0; status == NH_OK && i < list.count; i++)
        e->input[i] = show(e, list.item[i]);
    nh_expr_list_free(&list);
    return status;
}

static bool make_room(nh_equations *e)
{
    const size_t n = (size_t)e->velocities, m = (size_t)e->constraints;
    e->rate = inner_velocities(e->g, e->problem);
    e->force = calloc(n + 1, sizeof *e->force);
    e->mass = calloc(n * n + 1, sizeof *e->mass);
    e->acceleration = calloc(n + 1, sizeof *e->acceleration);
    e->multiplier = calloc(m + 1, sizeof *e->multiplier);
    e->constraint = calloc(m + 1, sizeof *e->constraint);
    e->position = calloc(m + 1, sizeof *e->position);
    return e->rate && e->force && e->mass && e->acceleration && e->multiplier && e->constraint &&
           e->position;
}

static nh_status derive(nh_equations *e, nh_report *report)
{
    nh_mechanics *s = e->mechanics;
    e->problem = s->problem;
    e->g = s->g;
    e->coordinates = e->problem->coordinates;
    e->velocities = s->n - e->problem->rotations;
    e->constraints = s->m;
    e->positions = s->positions;
    if (!make_room(e))
        return nh_fail_memory(report);
    e->lagrangian = show(e, e->problem->lagrangian);
    e->energy = show(e, s->energy);
    for (int i = 0; i < s->m; i++)
        e->constraint[i] = show(e, s->k[i]);
    for (int i = 0; i < s->positions; i++)
        e->position[i] = s->position[i];
    if (!show_forces(e) || !show_mass(e))
        return nh_fail_memory(report);
    nh_status status = show_motion(e, report);
    if (status == NH_OK)
        status = show_observables(e, report);
    if (status == NH_OK)
        status = show_inputs(e, report);
    return status == NH_OK && nh_graph_failed(e->g) ? nh_fail_memory(report) : status;
}

/* Forces that depend on reactions, as functions of the state: with the multipliers of the motion
 * inserted, they are ordinary forces, and the constraints are ideal. */
static nh_status fold_friction(nh_mechanics *s, nh_report *report)
{
    nh_expr_list motion = {0};
    if (!s->facts.nonideal)
        return NH_OK;
    nh_status status = nh_mechanics_function(s, NH_FN_ACCELERATION, &motion, report);
    for (int i = 0; status == NH_OK && i < s->n; i++) {
        const nh_expr N =
            nh_substitute(s->g, s->friction[i], NH_X, motion.item + s->n, (size_t)s->m);
        s->problem->force[i] = nh_add(s->g, s->problem->force[i], N);
        s->F[i] = nh_add(s->g, s->F[i], N);
        s->rate[i] = nh_add(s->g, s->rate[i], N);
        s->friction[i] = NH_ZERO;
    }
    s->facts.nonideal = false;
    nh_expr_list_free(&motion);
    return status;
}

static nh_status open_with(nh_equations *out, const nh_system *system, const char *const *setting,
                           size_t settings, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    nh_problem *problem;
    *out = (nh_equations){.system = system};
    nh_status status =
        nh_model_parse(&out->model, from->file, from->text, strlen(from->text), report);
    if (status == NH_OK)
        status = nh_problem_build_named(&problem, out->model, setting, settings, report);
    if (status == NH_OK)
        status = nh_mechanics_derive(&out->mechanics, problem, report);
    if (status == NH_OK)
        status = fold_friction(out->mechanics, report);
    if (status == NH_OK)
        status = derive(out, report);
    return status;
}

/* Whether an input is a formula of time. */
static bool is_plain(const nh_problem_input *input)
{
    return input->first < 0 && !input->feedback;
}

static nh_status open_keeping(nh_equations *out, const nh_system *system, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    const size_t most = from->settings + (size_t)from->inputs;
    const char **setting = calloc(most + 1, sizeof *setting);
    char(*held)[NH_NAME_LONGEST + 40] = calloc((size_t)from->inputs + 1, sizeof *held);
    nh_status status = setting && held ? NH_OK : nh_fail_memory(report);
    size_t settings = from->settings;
    for (size_t i = 0; i < settings && status == NH_OK; i++)
        setting[i] = from->setting[i];
    for (int i = 0; i < from->inputs && status == NH_OK; i++)
        if (is_plain(from->input + i)) {
            snprintf(held[i], sizeof *held, "input %s:held", from->input[i].name);
            setting[settings++] = held[i];
        }
    if (status == NH_OK)
        status = open_with(out, system, setting, settings, report);
    out->inputs_kept = status == NH_OK;
    free(setting);
    free(held);
    return status;
}

nh_status nh_equations_open(nh_equations *out, const nh_system *system, bool keep_inputs,
                            nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    bool any = false;
    for (int i = 0; i < from->inputs; i++)
        any = any || is_plain(from->input + i);
    if (keep_inputs && any) {
        nh_report why;
        nh_status status = open_keeping(out, system, &why);
        if (status == NH_OK || status == NH_NO_MEMORY)
            return status == NH_OK ? NH_OK : nh_fail_memory(report);
        nh_equations_close(out);
    }
    return open_with(out, system, (const char *const *)from->setting, from->settings, report);
}

void nh_equations_close(nh_equations *e)
{
    nh_mechanics_free(e->mechanics);
    nh_model_free(e->model);
    free(e->rate);
    free(e->force);
    free(e->constraint);
    free(e->position);
    free(e->mass);
    free(e->acceleration);
    free(e->multiplier);
    free(e->observable);
    free(e->input);
    free(e->inner_input);
}

/* ---- access ---- */

void nh_equations_outputs(const nh_equations *e, nh_output *out)
{
    const int n = e->velocities, m = e->constraints;
    const nh_output all[NH_OUTPUTS] = {
        {"lagrangian", "The Lagrangian", NH_OUT_NUMBER, 1, 1, &e->lagrangian},
        {"energy", "The energy, v dL/dv - L", NH_OUT_NUMBER, 1, 1, &e->energy},
        {"constraints", "The constraints k(t, q, v), which vanish", NH_OUT_VECTOR, m, 1,
         e->constraint},
        {"positions", "The conditions on positions g(t, q), which vanish", NH_OUT_VECTOR,
         e->positions, 1, e->position},
        {"forces", "The forces that are not part of the Lagrangian", NH_OUT_VECTOR, n, 1, e->force},
        {"mass", "The mass matrix, d2L/dv2", NH_OUT_MATRIX, n, n, e->mass},
        {"rates", "The time derivatives of the coordinates", NH_OUT_VECTOR, e->coordinates, 1,
         e->rate},
        {"accelerations", "The time derivatives of the velocities", NH_OUT_VECTOR, n, 1,
         e->acceleration},
        {"multipliers", "The multipliers of the constraints", NH_OUT_VECTOR, m, 1, e->multiplier},
        {"observables", "The observables of the model", NH_OUT_VECTOR, e->observables, 1,
         e->observable}};
    memcpy(out, all, sizeof all);
}

size_t nh_output_size(const nh_output *output)
{
    return (size_t)output->rows * (size_t)output->columns;
}

uint32_t *nh_count_uses(const nh_graph *g, const nh_expr *order, size_t count, const nh_expr *root,
                        size_t roots)
{
    uint32_t *uses = calloc(nh_graph_size(g) + 1, sizeof *uses);
    for (size_t i = 0; uses && i < count; i++) {
        nh_node n = nh_look(g, order[i]);
        for (size_t k = 0; k < n.count; k++)
            uses[n.operand[k].expr]++;
    }
    for (size_t i = 0; uses && i < roots; i++)
        uses[root[i]]++;
    return uses;
}

/* ---- names ---- */

const char *nh_equations_coordinate(const void *e, int i)
{
    return ((const nh_equations *)e)->problem->coordinate_name[i];
}

const char *nh_equations_velocity(const void *e, int i)
{
    return nh_system_velocity_name(((const nh_equations *)e)->system, i);
}

const char *nh_equations_constraint(const void *e, int i)
{
    return ((const nh_equations *)e)->problem->constraint[i].name;
}

const char *nh_equations_observable(const void *e, int i)
{
    return ((const nh_equations *)e)->problem->observable[i].name;
}
