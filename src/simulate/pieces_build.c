/* From the options to a problem: the goal's expressions (pieces_read.c) become observables, the
 * controls open inputs of a system that is built again from its text. See pieces.h. */
#include "simulate/pieces.h"

#include "base/status.h"
#include "base/text.h"
#include "model/input_table.h"
#include "model/suggest.h"
#include "simulate/simulation.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_PIECES = 20, PIECES_MOST = 100000, FIRST_STEPS = 4 };

/* ---- controls ---- */

static nh_status refuse_input(const nh_system *system, const char *name, nh_report *report)
{
    const nh_problem *p = system->mechanics->problem;
    nh_suggest suggest = nh_suggest_begin(name);
    nh_text list = {0};
    for (int i = 0; i < p->inputs; i++) {
        nh_suggest_offer(&suggest, p->input[i].name);
        nh_text_add(&list, "%s%s", i ? ", " : "", p->input[i].name);
    }
    const nh_status status =
        p->inputs == 0
            ? nh_fail(report, NH_BAD_ARGUMENT,
                      "'%s' is not an input: the model %s has none; a statement such as 'input u = "
                      "0' declares one",
                      name, system->name)
            : nh_fail(report, NH_BAD_ARGUMENT,
                      "'%s' is not an input%s; inputs of the model: %.300s", name,
                      nh_suggest_end(&suggest).text, list.data);
    nh_text_free(&list);
    return status;
}

static nh_status find_controls(nh_pieces *p, const nh_optimise_options *o, nh_report *report)
{
    const nh_problem *problem = p->base->mechanics->problem;
    p->controls = o->controls;
    p->control = calloc((size_t)o->controls + 1, sizeof *p->control);
    if (!p->control)
        return nh_fail_memory(report);
    for (int c = 0; c < o->controls; c++) {
        nh_piece_input *in = p->control + c;
        *in = (nh_piece_input){.name = o->control[c].name,
                               .input = -1,
                               .linear = o->control[c].kind == NH_CONTROL_LINEAR};
        for (int i = 0; i < problem->inputs; i++)
            if (strcmp(problem->input[i].name, in->name) == 0)
                in->input = i;
        if (in->input < 0)
            return refuse_input(p->base, in->name, report);
        for (int before = 0; before < c; before++)
            if (p->control[before].input == in->input)
                return nh_fail(report, NH_BAD_ARGUMENT, "'%s' is named twice", in->name);
        if (!(o->control[c].lower < o->control[c].upper))
            return nh_fail(report, NH_BAD_ARGUMENT, "%s: the bounds %g and %g do not ascend",
                           in->name, o->control[c].lower, o->control[c].upper);
    }
    return NH_OK;
}

/* Whether a coefficient of velocities in a constraint depends on an input: a jump of the input
 * turns the directions that are free. */
static bool turns_directions(const nh_system *open, const nh_piece_input *in)
{
    const nh_mechanics *m = open->mechanics;
    bool found = false;
    for (int i = 0; i < m->m && !found; i++) {
        nh_partials by_v, by_u;
        if (!nh_expr_gradient(m->g, m->k[i], NH_V, &by_v))
            return false;
        for (size_t e = 0; e < by_v.count && !found; e++) {
            if (!nh_expr_gradient(m->g, by_v.entry[e].value, NH_U, &by_u))
                break;
            for (size_t k = 0; k < by_u.count; k++)
                found |= (int)by_u.entry[k].index == in->first;
            nh_partials_free(&by_u);
        }
        nh_partials_free(&by_v);
    }
    return found;
}

static bool open_system_settings(const nh_pieces *p, nh_text *settings)
{
    bool ok = true;
    for (int c = 0; c < p->controls; c++) {
        nh_text_add(settings + c, "input %s:open %s", p->control[c].name,
                    p->control[c].linear ? "linear" : "held");
        ok = ok && !settings[c].failed;
    }
    return ok;
}

static nh_status build_open(nh_pieces *p, const nh_asked *a, nh_report *report)
{
    const size_t all = (size_t)(p->controls + a->count);
    const char **setting = calloc(all + 1, sizeof *setting);
    nh_text *own = calloc((size_t)p->controls + 1, sizeof *own);
    nh_status status =
        setting && own && open_system_settings(p, own) ? NH_OK : nh_fail_memory(report);
    for (int c = 0; c < p->controls && status == NH_OK; c++)
        setting[c] = own[c].data;
    for (int i = 0; i < a->count && status == NH_OK; i++) {
        setting[p->controls + i] = a->item[i].data;
        if (a->item[i].failed)
            status = nh_fail_memory(report);
    }
    nh_system_free(p->open);
    p->open = NULL;
    if (status == NH_OK)
        status = nh_system_build_more(&p->open, p->base, setting, all, report);
    for (int c = 0; own && c < p->controls; c++)
        nh_text_free(own + c);
    free(own);
    free(setting);
    const nh_problem *problem = status == NH_OK ? p->open->mechanics->problem : NULL;
    for (int c = 0; problem && c < p->controls; c++)
        p->control[c].first = problem->input[p->control[c].input].first;
    return status;
}

/* Those that turn directions are linear, unless they were asked for otherwise. */
static nh_status open_inputs(nh_pieces *p, const nh_optimise_options *o, const nh_asked *a,
                             nh_report *report)
{
    bool again = false;
    nh_report why;
    nh_status status = build_open(p, a, &why);
    for (int c = 0; c < p->controls; c++) {
        nh_piece_input *in = p->control + c;
        /* one that may not jump cannot be held */
        const bool turns =
            status != NH_OK ? strstr(why.text, "is held, so it jumps") && strstr(why.text, in->name)
                            : turns_directions(p->open, in);
        if (o->control[c].kind == NH_CONTROL_AUTO && turns && !in->linear) {
            in->linear = again = true;
            nh_remarks_extend(p->remarks, "linear", in->name);
            nh_remarks_add(p->remarks, "linear",
                           "%s is interpolated linearly, since its jumps would turn the directions "
                           "that constraints leave free, or have no meaning; '%s:held' holds it",
                           in->name, in->name);
        }
    }
    if (again)
        return build_open(p, a, report);
    return status == NH_OK ? NH_OK : nh_fail(report, why.status, "%s", why.text);
}

/* ---- sizes ---- */

static int find_observable(const nh_system *system, int asked_index, int count)
{
    const nh_problem *p = system->mechanics->problem;
    int last = -1, left = count - asked_index;
    for (int i = p->observables - 1; i >= 0 && left > 0; i--)
        if (strncmp(p->observable[i].name, "--", 2) == 0) {
            left--;
            last = i;
        }
    return last;
}

static void number_everything(nh_pieces *p, const nh_optimise_options *o, int asked_count)
{
    int offset = 0, row = 0;
    for (int c = 0; c < p->controls; c++) {
        p->control[c].points = p->pieces + p->control[c].linear;
        p->control[c].offset = offset;
        offset += p->control[c].points;
    }
    p->unknowns = offset + o->varied + p->free_time;
    for (int i = 0; i < p->conditions; i++) {
        p->condition[i].row = row;
        p->condition[i].observable =
            find_observable(p->open, p->condition[i].observable, asked_count);
        row += nh_condition_rows(p, p->condition + i);
    }
    p->rows = row;
    if (p->integrand >= 0)
        p->integrand = find_observable(p->open, p->integrand, asked_count);
    if (p->last_cost >= 0)
        p->last_cost = find_observable(p->open, p->last_cost, asked_count);
}

/* How many changes of the state occur: velocities follow from the constraints, and from the inputs
 * in them. */
static int count_changes(const nh_pieces *p)
{
    const int constraints = nh_system_constraints(p->open);
    const int positions = p->open->shape.positions;
    int inputs = 0;
    for (int c = 0; c < p->controls; c++)
        inputs += 1 + p->control[c].linear;
    const int globals = p->varied.count + p->free_time;
    if (constraints == 0)
        return p->states;
    const int most = p->states - constraints - positions + inputs + globals;
    return most < p->states ? most : p->states;
}

static bool make_room(nh_pieces *p)
{
    p->positions = nh_system_directions(p->open);
    p->states = p->positions + nh_system_velocities(p->open);
    p->carried = count_changes(p);
    p->directions = p->carried;
    for (int c = 0; c < p->controls; c++) {
        p->control[c].direction = p->directions;
        p->directions += 1 + p->control[c].linear;
    }
    p->directions += p->varied.count + p->free_time;
    p->observables = nh_system_observables(p->open);
    const size_t s = (size_t)p->states, r = (size_t)p->carried, d = (size_t)p->directions,
                 n = (size_t)p->unknowns, g = (size_t)p->rows, o = (size_t)p->observables,
                 pieces = (size_t)p->pieces, u = (size_t)p->controls,
                 state = 1 + (size_t)nh_system_coordinates(p->open) +
                         (size_t)nh_system_velocities(p->open);
    const size_t parts[] = {r * s,
                            r * n,
                            s * d,
                            s,
                            d * n,
                            o,
                            o * d,
                            2 * (size_t)p->open->shape.inputs,
                            n,
                            g,
                            g * n,
                            (pieces + 1) * state,
                            (pieces + 1) * r * s,
                            pieces * r * r,
                            pieces * r * u,
                            (s + r) * d};
    double **to[] = {&p->basis,    &p->coefficients, &p->map,        &p->moved,    &p->selection,
                     &p->values,   &p->moves,        &p->numbers,    &p->gradient, &p->value,
                     &p->jacobian, &p->node,         &p->kept_basis, &p->A,        &p->B,
                     &p->rest};
    size_t all = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        all += parts[i];
    double *at = calloc(all, sizeof *at);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; at = at ? at + parts[i] : NULL, i++)
        *to[i] = at;
    return p->basis != NULL;
}

/* ---- beginning and end ---- */

static nh_status refuse(const nh_pieces *p, const nh_optimise_options *o, nh_report *report)
{
    if (!p->base->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; models can",
                       p->base->name);
    bool named = o->controls >= 0 && o->varied >= 0;
    for (int i = 0; i < o->controls && named; i++)
        named = o->control && o->control[i].name;
    for (int i = 0; i < o->varied && named; i++)
        named = o->vary && o->vary[i].name;
    if (!named)
        return nh_fail(report, NH_BAD_ARGUMENT, "what is chosen needs names");
    if (o->controls == 0 && o->varied == 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "nothing is left to choose: name inputs as controls, or parameters or start "
                       "values to vary");
    if (o->pieces < 0 || o->pieces > PIECES_MOST)
        return nh_fail(report, NH_BAD_ARGUMENT, "the number of pieces must be from 1 to %d",
                       PIECES_MOST);
    for (int i = 0; i < p->base->mechanics->problem->inputs; i++)
        if (p->base->mechanics->problem->input[i].sampled)
            return nh_fail(report, NH_NOT_APPLICABLE,
                           "the input '%s' is sampled with a period; give it as an expression or a "
                           "table",
                           p->base->mechanics->problem->input[i].name);
    return nh_system_refuse_items(p->base, "there are no derivatives of runs", report);
}

static nh_status choose_time(nh_pieces *p, const nh_optimise_options *o, nh_report *report)
{
    p->free_time = o->free_time;
    p->time = o->time > 0 ? o->time : nh_system_span(p->base);
    if (o->free_time && !(p->time > 0))
        p->time = o->time_least > 0 && o->time_most > 0 ? sqrt(o->time_least * o->time_most) : 1;
    if (o->free_time && o->time_most > 0 && !(o->time_least < o->time_most))
        return nh_fail(report, NH_BAD_ARGUMENT, "the bounds of the time, %g and %g, do not ascend",
                       o->time_least, o->time_most);
    if (o->free_time && o->time_most > 0)
        p->time = fmin(fmax(p->time, o->time_least), o->time_most);
    return p->time > 0 ? NH_OK
                       : nh_fail(report, NH_BAD_ARGUMENT,
                                 "how long the motion takes is not given: say --time T or --time "
                                 "free, or 'span T' in the model");
}

/* Whether the integrand changes within a piece: then its integral needs several nodes. */
static bool integrand_moves(const nh_pieces *p)
{
    const nh_problem *problem = p->open->mechanics->problem;
    bool moves = false;
    if (p->integrand < 0)
        return false;
    const nh_expr e = problem->observable[p->integrand].value;
    for (int c = 0; c < p->controls; c++)
        moves = moves || p->control[c].linear;
    return moves || nh_depends(problem->graph, e, NH_Q) || nh_depends(problem->graph, e, NH_V) ||
           nh_depends(problem->graph, e, NH_TIME) || nh_depends(problem->graph, e, NH_X);
}

/* The method without a tolerance of its own, and the steps. */
static nh_status choose_method(nh_pieces *p, nh_report *report)
{
    nh_run_options how = p->how;
    nh_plan plan;
    how.time = p->time;
    how.t0 = p->start;
    how.q = p->varied.q;
    how.v = p->varied.v;
    how.members = 0;
    if (!(how.step > 0)) {
        how.steps = 1;
        if (!(how.tolerance > 0) && !(how.method && strstr(how.method, "tolerance=")))
            how.tolerance = 1e-9;
    }
    nh_status status = nh_plan_make(&plan, p->varied.system, &how, report);
    if (status != NH_OK)
        return status;
    snprintf(p->method, sizeof p->method, "%s", plan.method);
    if (plan.tolerance > 0)
        p->method[strcspn(p->method, ":")] = '\0';
    const double longest = p->how.step;
    const double steps = longest > 0          ? ceil(p->time / p->pieces / longest - 1e-9)
                         : integrand_moves(p) ? FIRST_STEPS
                                              : 1;
    p->how.tolerance = p->how.absolute = p->how.time = p->how.t0 = 0;
    p->how.q = p->how.v = NULL;
    p->how.steps = p->how.every = 0;
    p->how.backend = NH_BACKEND_TAPE;
    if (steps > 1e6)
        return nh_fail(report, NH_BAD_ARGUMENT, "%g steps in a piece are too many", steps);
    return nh_pieces_set_steps(p, steps < 1 ? 1 : (int)steps) ? NH_OK : nh_fail_memory(report);
}

static nh_status begin(nh_pieces *p, const nh_optimise_options *o, nh_asked *a, nh_report *report)
{
    nh_status status = nh_pieces_read(p, o, a, report);
    if (status == NH_OK)
        status = find_controls(p, o, report);
    if (status == NH_OK)
        status = open_inputs(p, o, a, report);
    if (status != NH_OK)
        return status;
    number_everything(p, o, a->count);
    const char **name = calloc((size_t)o->varied + 1, sizeof *name);
    for (int i = 0; name && i < o->varied; i++)
        name[i] = o->vary[i].name;
    const nh_start_options start = o->start ? *o->start : nh_start_options_default();
    status = name ? nh_unknowns_begin(&p->varied, p->open, &start, o->varied, name, report)
                  : nh_fail_memory(report);
    free(name);
    if (status == NH_OK && !make_room(p))
        status = nh_fail_memory(report);
    return status == NH_OK ? choose_method(p, report) : status;
}

nh_status nh_pieces_begin(nh_pieces *p, const nh_system *system, const nh_optimise_options *o,
                          nh_remarks *remarks, nh_report *report)
{
    nh_asked a = {0};
    *p = (nh_pieces){.base = system,
                     .pieces = o->pieces ? o->pieces : USUAL_PIECES,
                     .start = o->start ? o->start->t : 0,
                     .how = o->run ? *o->run : nh_run_options_default(),
                     .remarks = remarks};
    nh_status status = refuse(p, o, report);
    if (status == NH_OK)
        status = choose_time(p, o, report);
    if (status == NH_OK)
        status = begin(p, o, &a, report);
    for (int i = 0; i < a.count; i++)
        nh_text_free(a.item + i);
    free(a.item);
    return status;
}

void nh_pieces_end(nh_pieces *p)
{
    nh_run_free(p->run);
    nh_unknowns_end(&p->varied);
    nh_system_free(p->open);
    for (int i = 0; i < p->conditions; i++)
        free(p->condition[i].name);
    free(p->condition);
    free(p->control);
    free(p->weight);
    free(p->basis);
    *p = (nh_pieces){0};
}

/* ---- first values ---- */

static double default_at(const nh_system *system, int input, double t)
{
    const nh_problem *p = system->mechanics->problem;
    const nh_problem_input *in = p->input + input;
    double value = 0, piece[8] = {0};
    if (in->table.rows > 0) {
        nh_input_table_piece(&in->table, nh_input_table_find(&in->table, t), piece);
        return nh_signal_value(in->signal, piece, t);
    }
    if (!nh_evaluate(p->graph, &in->given, 1, t, NULL, NULL, NULL, &value) || !isfinite(value))
        value = 0;
    return value;
}

void nh_pieces_defaults(const nh_pieces *p, double *x)
{
    for (int c = 0; c < p->controls; c++)
        for (int k = 0; k < p->control[c].points; k++)
            x[p->control[c].offset + k] =
                default_at(p->base, p->control[c].input, p->start + k * p->time / p->pieces);
    for (int i = 0; i < p->varied.count; i++)
        x[p->unknowns - p->free_time - p->varied.count + i] = p->varied.item[i].value;
    if (p->free_time)
        x[p->unknowns - 1] = p->time;
}
