/* Start states: those of the model, and checks whether a state satisfies the constraints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "system/start.h"

/* A state satisfies the constraints if changing its numbers by this fraction of their size could
 * make every residual zero: values typed with ten digits pass, in whatever units. */
static const double start_tolerance = 1e-9;

static nh_status check_finite(const double *x, int count, const nh_system *system, bool velocity,
                              nh_report *report)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return nh_fail(report, NH_BAD_START, "the start value of %s is not a finite number",
                           velocity ? nh_inner_velocity_name(system, i)
                                    : nh_system_coordinate_name(system, i));
    return NH_OK;
}

/* ---- residuals and their uncertainty ---- */

/* The open inputs in a state: those of the instant, or the defaults, to be freed through `own`. */
static nh_status find_inputs(const nh_system *system, nh_instant at, const double *q,
                             const double *v, const double **u, double **own, nh_report *report)
{
    *own = NULL;
    *u = at.u;
    if (at.u || system->shape.inputs == 0)
        return NH_OK;
    *u = *own = malloc((size_t)system->shape.inputs * sizeof **own);
    return *own ? nh_system_default_inputs(system, at.t, q, v, *own, report)
                : nh_fail_memory(report);
}

static nh_status spreads_of_model(const nh_system *system, nh_level level, nh_instant at,
                                  const double *q, const double *v, double relative, double *k,
                                  double *spread, nh_report *report)
{
    nh_system *locked = (nh_system *)system; /* other threads may be adding to the graph */
    const nh_mechanics *s = system->mechanics;
    bool positions = level == NH_POSITIONS;
    const double *u;
    double *own;
    nh_status status = find_inputs(system, at, q, v, &u, &own, report);
    pthread_mutex_lock(&locked->lock);
    if (status == NH_OK && !nh_evaluate_spread(s->g, positions ? s->position : s->k,
                                               (size_t)(positions ? s->positions : s->m), at.t, q,
                                               v, u, relative, k, spread))
        status = nh_fail_memory(report);
    pthread_mutex_unlock(&locked->lock);
    free(own);
    return status;
}

/* The terms of A v + b, and the effect of a change of each coordinate on them; `work` has room for
 * end and q. */
static nh_status spreads_of_functions(const nh_system *system, double t, const double *q,
                                      const double *v, double relative, double *work, double *k,
                                      double *spread, nh_report *report)
{
    int n = system->velocities, m = system->constraints;
    double *end = work, *moved = end + nh_system_outputs(system, NH_FN_END);
    const double *K = end + n + m;
    nh_status status = nh_system_evaluate(system, NH_FN_END, t, q, v, NULL, end, report);
    for (int a = 0; status == NH_OK && a < m; a++) {
        k[a] = end[n + a];
        double rest = k[a], size = 0;
        for (int j = 0; j < n; j++) {
            rest -= K[a * n + j] * v[j];
            size += fabs(K[a * n + j] * v[j]);
        }
        spread[a] = relative * (size + fabs(rest));
    }
    memcpy(moved, q, (size_t)n * sizeof *q);
    for (int j = 0; status == NH_OK && j < n; j++) {
        moved[j] += relative * fabs(q[j]);
        status = nh_system_evaluate(system, NH_FN_CONSTRAINT, t, moved, v, NULL, end, report);
        for (int a = 0; a < m; a++)
            spread[a] += fabs(end[a] - k[a]);
        moved[j] = q[j];
    }
    return status;
}

nh_status nh_residual_spreads(const nh_system *system, nh_level level, nh_instant at,
                              const double *q, const double *v, double relative, double *k,
                              double *spread, nh_report *report)
{
    if (system->mechanics)
        return spreads_of_model(system, level, at, q, v, relative, k, spread, report);
    if (level == NH_POSITIONS) /* C functions have none */
        return NH_OK;
    size_t room = nh_system_outputs(system, NH_FN_END) + (size_t)system->velocities;
    double *work = malloc((room + 1) * sizeof *work);
    nh_status status =
        work ? spreads_of_functions(system, at.t, q, v, relative, work, k, spread, report)
             : NH_NO_MEMORY;
    free(work);
    return status == NH_NO_MEMORY ? nh_fail_memory(report) : status;
}

/* (K M^-1 K^T)_aa, from the results of NH_FN_STAGE. */
static double normal_square(const nh_system *system, const double *stage, int a)
{
    const nh_shape *s = &system->shape;
    const double *K = stage + 2 * s->n + s->m, *B = K + s->nk;
    double sum = 0;
    for (int i = s->k_first[a]; i < s->k_first[a + 1]; i++)
        for (int j = s->b_first[a]; j < s->b_first[a + 1]; j++)
            if (s->k_column[i] == s->b_column[j])
                sum += K[i] * B[j];
    return fabs(sum);
}

/* 2 T with the velocities v: the square of their length in the mass metric. */
static nh_status square_of(const nh_system *system, double t, const double *q, const double *v,
                           const double *rest, double *square, nh_report *report)
{
    double moving = 0, resting = 0;
    nh_status status = nh_inner_energy(system, t, q, v, &moving, report);
    if (status == NH_OK)
        status = nh_inner_energy(system, t, q, rest, &resting, report);
    *square = 2 * fabs(moving - resting);
    return status;
}

/* Adds the effect of rounding errors of the unknowns on each residual. It matters if all terms of a
 * row vanish at the state: compared with them, the last digits of a velocity that should be 0 are
 * large. In the mass metric, in which all velocities have one unit, |k_a| <= |K_a| |v|; likewise
 * for positions, where |q| is that of velocities with the same numbers. */
static nh_status add_rounding(const nh_system *system, nh_level level, nh_instant at,
                              const double *q, const double *v, double *spread, nh_report *report)
{
    size_t n = (size_t)system->velocities;
    double *stage = calloc(nh_system_outputs(system, NH_FN_STAGE) + 2 * n + 1, sizeof *stage);
    if (!stage)
        return nh_fail_memory(report);
    double *unknown = stage + nh_system_outputs(system, NH_FN_STAGE), square = 0;
    bool positions = level == NH_POSITIONS;
    int first = positions ? system->constraints - system->shape.positions : 0;
    memcpy(unknown, positions ? q : v,
           (size_t)(positions ? system->coordinates : system->velocities) * sizeof *unknown);
    nh_status status = square_of(system, at.t, q, unknown, unknown + n, &square, report);
    if (status == NH_OK)
        status = nh_system_evaluate_at(system, NH_FN_STAGE, at, q, v, stage, report);
    for (int a = first; status == NH_OK && a < system->constraints; a++) {
        double rounding = sqrt(normal_square(system, stage, a) * square);
        if (isfinite(rounding))
            spread[a - first] += 0x1p-46 * rounding;
    }
    free(stage);
    return status;
}

static bool is_satisfied(int count, const double *k, const double *spread)
{
    for (int a = 0; a < count; a++)
        if (!(fabs(k[a]) <= spread[a]))
            return false;
    return true;
}

nh_status nh_find_worst(const nh_system *system, nh_level level, nh_instant at, const double *q,
                        const double *v, int *worst, double *residual, nh_report *report)
{
    int count = level == NH_POSITIONS ? system->shape.positions : system->constraints;
    double *k = malloc((2 * (size_t)count + 1) * sizeof *k), *spread = k + count, least = 1;
    *worst = -1;
    if (!k)
        return nh_fail_memory(report);
    nh_status status =
        nh_residual_spreads(system, level, at, q, v, start_tolerance, k, spread, report);
    if (status == NH_OK && !is_satisfied(count, k, spread))
        status = add_rounding(system, level, at, q, v, spread, report);
    for (int a = 0; status == NH_OK && a < count; a++) {
        double times = fabs(k[a]) / spread[a];
        if (k[a] == 0 || times <= least)
            continue;
        *worst = system->constraints - count + a;
        *residual = k[a];
        if (isnan(times))
            break;
        least = times;
    }
    free(k);
    return status;
}

static nh_status refuse_start(const nh_system *system, nh_level level, int worst, double residual,
                              nh_report *report)
{
    bool positions = level == NH_POSITIONS;
    if (!isfinite(residual)) {
        nh_status undefined = nh_fail(
            report, NH_BAD_START,
            "%s is not defined at the start state: it gives %s there, as 1/x does at x = 0; give "
            "another start",
            nh_system_constraint_name(system, worst), isnan(residual) ? "no number" : "infinity");
        return nh_fail_about(report, undefined, "start");
    }
    nh_status status = nh_fail(
        report, NH_BAD_START,
        "the start state is off the constraints: %s has residual %.6g%s; give %s that satisfy it, "
        "or project them onto the constraints",
        nh_system_constraint_name(system, worst), residual, positions ? " in the positions" : "",
        positions ? "positions" : "velocities");
    if (report)
        report->residual = fabs(residual);
    return nh_fail_about(report, status, "project");
}

/* ---- constraints that were left out ---- */

/* Moves each input by a fraction of the largest, so that terms that vanish at the state show their
 * size. */
static void move_a_little(int count, const double *x, double part, double *moved)
{
    double size = 0;
    for (int i = 0; i < count; i++)
        size = fmax(size, fabs(x[i]));
    for (int i = 0; i < count; i++)
        moved[i] = x[i] + part * (size > 0 ? size : 1) * (i % 2 ? -1 : 1);
}

/* Constraints that follow from the others do so on one branch only: two axes that must be parallel
 * could also point in opposite directions. A state on another branch violates them by far more than
 * rounding. */
static const double branch_tolerance = 1e-6;

static bool is_implied(const nh_system *system, const nh_problem_constraint *c, nh_instant at,
                       const double *q, const double *v, double *work, double *residual)
{
    const int nq = system->coordinates, n = system->velocities;
    const nh_graph *g = system->mechanics->g;
    const nh_expr e = c->on_positions ? c->position : c->value;
    double value, spread = 0, spread_beside = 0, *q_beside = work, *v_beside = work + nq;
    move_a_little(nq, q, branch_tolerance, q_beside);
    move_a_little(n, v, branch_tolerance, v_beside);
    *residual = 0;
    if (!nh_evaluate_spread(g, &e, 1, at.t, q_beside, v_beside, at.u, branch_tolerance, &value,
                            &spread_beside) ||
        !nh_evaluate_spread(g, &e, 1, at.t, q, v, at.u, branch_tolerance, &value, &spread))
        return false;
    *residual = value;
    return fabs(value) <= spread + spread_beside;
}

static nh_status check_implied(const nh_system *system, nh_instant at, const double *q,
                               const double *v, nh_report *report)
{
    nh_system *locked = (nh_system *)system; /* other threads may be adding to the graph */
    const nh_problem *p = system->mechanics ? system->mechanics->problem : NULL;
    if (!p || p->implieds == 0)
        return NH_OK;
    double *own;
    nh_status status = find_inputs(system, at, q, v, &at.u, &own, report);
    double *work = malloc((size_t)(system->coordinates + system->velocities) * sizeof *work);
    const nh_problem_constraint *off = NULL;
    double residual = 0;
    pthread_mutex_lock(&locked->lock);
    for (int i = 0; status == NH_OK && work && i < p->implieds && !off; i++)
        if (!is_implied(system, p->implied + i, at, q, v, work, &residual))
            off = p->implied + i;
    pthread_mutex_unlock(&locked->lock);
    free(work);
    free(own);
    if (status != NH_OK)
        return status;
    if (!work || (off && residual == 0))
        return nh_fail_memory(report);
    if (!off)
        return NH_OK;
    nh_fail(report, NH_BAD_START,
            "the start state is off the constraints: %s has residual %.6g, although near there it "
            "follows from the others; give %s close to where all of them hold",
            off->name, residual, off->on_positions ? "positions" : "velocities");
    if (report)
        report->residual = fabs(residual);
    return NH_BAD_START;
}

nh_status nh_inner_check_start(const nh_system *system, nh_instant at, const double *q,
                               const double *v, nh_report *report)
{
    int worst;
    double residual;
    nh_status status = check_finite(q, system->coordinates, system, false, report);
    if (status == NH_OK)
        status = check_finite(v, system->velocities, system, true, report);
    for (int level = NH_POSITIONS; level <= NH_VELOCITIES && status == NH_OK; level++) {
        status = nh_find_worst(system, (nh_level)level, at, q, v, &worst, &residual, report);
        if (status == NH_OK && worst >= 0)
            status = refuse_start(system, (nh_level)level, worst, residual, report);
    }
    return status == NH_OK ? check_implied(system, at, q, v, report) : status;
}

/* ---- ranks ---- */

static nh_status ranks_of_model(const nh_system *system, nh_instant at, const double *q,
                                const double *v, nh_ranks *ranks, nh_report *report)
{
    nh_system *locked = (nh_system *)system; /* other threads may be adding to the graph */
    double *own;
    nh_status status = find_inputs(system, at, q, v, &at.u, &own, report);
    pthread_mutex_lock(&locked->lock);
    if (status == NH_OK && nh_find_ranks(system->mechanics, at.t, q, v, at.u,
                                         system->velocities <= NH_DENSE_LOOKS_MAX, ranks) != NH_OK)
        status = nh_fail_memory(report);
    pthread_mutex_unlock(&locked->lock);
    free(own);
    return status;
}

static nh_status ranks_of_functions(const nh_system *system, nh_instant at, const double *q,
                                    const double *v, nh_ranks *ranks, nh_report *report)
{
    const int n = system->velocities, m = system->constraints;
    const size_t count = nh_system_outputs(system, NH_FN_MATRICES);
    *ranks = (nh_ranks){-1, -1, -1};
    double *matrices = n <= NH_DENSE_LOOKS_MAX ? malloc((count + 1) * sizeof *matrices) : NULL;
    if (!matrices)
        return n <= NH_DENSE_LOOKS_MAX ? nh_fail_memory(report) : NH_OK;
    nh_status status = nh_system_evaluate_at(system, NH_FN_MATRICES, at, q, v, matrices, report);
    bool finite = status == NH_OK;
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(matrices[i]);
    if (finite) {
        ranks->mass = nh_dense_rank(n, n, matrices, 1e-14, NULL);
        ranks->constraints = nh_dense_rank(m, n, matrices + n * n, 1e-10, &ranks->dependent);
    }
    free(matrices);
    return status;
}

nh_status nh_inner_ranks(const nh_system *system, nh_instant at, const double *q, const double *v,
                         nh_ranks *ranks, nh_report *report)
{
    const nh_status status = system->mechanics
                                 ? ranks_of_model(system, at, q, v, ranks, report)
                                 : ranks_of_functions(system, at, q, v, ranks, report);
    if (status != NH_OK)
        return status;
    return ranks->mass >= 0 && ranks->mass < system->velocities ? NH_SINGULAR_MASS
           : ranks->constraints >= 0 && ranks->constraints < system->constraints
               ? NH_DEPENDENT_CONSTRAINTS
               : NH_OK;
}

/* ---- what may change ---- */

static bool names_velocity(const char *item, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(item, name, length) == 0;
}

/* Names of C functions' velocities, "q1', q3'". */
static nh_status select_numbered(const nh_system *system, const char *text, bool *chosen,
                                 nh_report *report)
{
    for (const char *item = text; item; item = strchr(item, ',')) {
        item += strspn(item, ", ");
        size_t length = strcspn(item, ", ");
        bool found = false;
        for (int i = 0; i < system->velocities && !found; i++) {
            found = names_velocity(item, length, system->name_of_velocity[i]);
            chosen[i] |= found;
        }
        if (!found)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "there is no velocity '%.*s'; the velocities are q1' to q%d'",
                           (int)length, item, system->velocities);
    }
    return NH_OK;
}

nh_status nh_select(const nh_system *system, const char *text, const char *what,
                    nh_selection chosen, nh_report *report)
{
    memset(chosen.q, 0, (size_t)system->coordinates);
    memset(chosen.v, 0, (size_t)system->velocities);
    if (system->mechanics)
        return nh_problem_select(system->mechanics->problem, text, what, chosen, report);
    return select_numbered(system, text, chosen.v, report);
}

bool nh_inner_solves(const nh_system *system, int index)
{
    return system->mechanics && index >= 0 && index < system->velocities &&
           system->mechanics->problem->solve.v[index];
}

bool nh_system_solves_position(const nh_system *system, int index)
{
    return system->mechanics && index >= 0 && index < system->coordinates &&
           system->mechanics->problem->solve.q[index];
}

/* ---- the start ---- */

static bool any(const bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        if (chosen[i])
            return true;
    return false;
}

/* What the model's `start solve` names, except what was given. */
static nh_status choose_as_model_says(const nh_system *system, const nh_start_options *o,
                                      nh_selection may, nh_report *report)
{
    const int nq = system->coordinates, n = system->velocities;
    bool *space = calloc((size_t)(nq + n) + 1, sizeof *space);
    nh_selection given = {space, space + nq};
    nh_status status = space ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && o->assignments)
        status = nh_problem_assigned(system->mechanics->problem, o->assignments, given, report);
    for (int i = 0; status == NH_OK && i < nq; i++)
        may.q[i] = nh_system_solves_position(system, i) && !given.q[i] && !o->q;
    for (int i = 0; status == NH_OK && i < n; i++)
        may.v[i] = nh_inner_solves(system, i) && !given.v[i] && !o->v;
    free(space);
    return status;
}

nh_status nh_start_choose(const nh_system *system, const nh_start_options *o, nh_selection may,
                          nh_report *report)
{
    memset(may.q, 0, (size_t)system->coordinates);
    memset(may.v, 0, (size_t)system->velocities);
    if (o->project || o->keep || o->solve) {
        nh_projection how = nh_projection_default();
        how.keep = o->keep;
        how.solve = o->solve;
        return nh_projection_choose(system, &how, may, report);
    }
    return system->mechanics ? choose_as_model_says(system, o, may, report) : NH_OK;
}

/* Replaces the positions and keeps the velocities that users see. */
static void replace_positions(const nh_system *system, const double *to, double *q, double *v)
{
    double *own = NULL;
    bool rotates = system->user_velocities != system->velocities;
    if (rotates && (own = malloc(((size_t)system->user_velocities + 1) * sizeof *own)))
        nh_show_velocities(system, q, v, 1, own);
    memcpy(q, to, (size_t)system->coordinates * sizeof *q);
    if (own)
        nh_inner_velocities(system, q, own, v, 1);
    free(own);
}

/* The open inputs of a start: the caller's values, and what the others give in this state. NULL:
 * there are no values of the caller. To be freed. */
static nh_status take_inputs(const nh_system *system, const nh_start_options *o, const double *q,
                             const double *v, double **u, nh_report *report)
{
    *u = NULL;
    if (!o->inputs || system->shape.inputs == 0)
        return NH_OK;
    const nh_problem *p = system->mechanics->problem;
    *u = malloc((size_t)system->shape.inputs * sizeof **u);
    nh_status status =
        *u ? nh_system_default_inputs(system, o->t, q, v, *u, report) : nh_fail_memory(report);
    for (int i = 0; status == NH_OK && i < p->inputs; i++)
        if (nh_input_is_free(p->input + i) && isfinite(o->inputs[i]))
            (*u)[p->input[i].first] = o->inputs[i];
    return status;
}

static nh_status project_start(const nh_system *system, const nh_start_options *o, double *q,
                               double *v, nh_report *report)
{
    double *u = NULL;
    bool *space = calloc((size_t)(system->coordinates + system->velocities) + 1, sizeof *space);
    nh_selection may = {space, space + system->coordinates};
    nh_status status = space ? nh_start_choose(system, o, may, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = take_inputs(system, o, q, v, &u, report);
    const nh_instant at = {o->t, u};
    const bool always = o->project || o->keep || o->solve;
    if (status == NH_OK && (always || any(may.q, system->coordinates)))
        status = nh_project_positions(system, may.q, true, at, q, v, report);
    if (status == NH_OK && (always || any(may.v, system->velocities)))
        status = nh_project(system, may.v, true, at, q, v, report);
    free(u);
    free(space);
    return status;
}

nh_status nh_inner_given(const nh_system *system, const nh_start_options *o, double *q, double *v,
                         nh_report *report)
{
    bool text = o->assignments && *o->assignments;
    nh_status status = NH_OK;
    if (text && !system->mechanics)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a system of C functions has no named start values; give q and v");
    memset(q, 0, (size_t)system->coordinates * sizeof *q);
    memset(v, 0, (size_t)system->velocities * sizeof *v);
    if (system->mechanics)
        status = nh_problem_start(system->mechanics->problem, o->assignments, o->t, o->inputs, q, v,
                                  report);
    if (status != NH_OK)
        return status;
    if (o->q)
        replace_positions(system, o->q, q, v);
    if (o->v)
        nh_inner_velocities(system, q, o->v, v, 1);
    return NH_OK;
}

nh_status nh_inner_begin(const nh_system *system, const nh_start_options *options, double *q,
                         double *v, nh_report *report)
{
    nh_start_options o;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_start_options, solve, report);
    if (status == NH_OK)
        status = nh_inner_given(system, &o, q, v, report);
    return status == NH_OK ? project_start(system, &o, q, v, report) : status;
}
