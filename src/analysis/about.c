/* Linearises at given values of the parameters: see about.h. */
#include "analysis/about.h"

#include "base/lapack.h"
#include "system/start.h"
#include "base/status.h"
#include "model/suggest.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

/* The start as the options and the present parameters give it. */
static nh_status find_start(nh_about *s, nh_report *report)
{
    const nh_local *local = &s->local;
    memset(s->point, 0, (size_t)local->width * sizeof *s->point);
    return nh_inner_begin(local->system, &s->start, s->point, s->point + local->v, report);
}

nh_status nh_about_begin(nh_about *s, const nh_system *system, const nh_start_options *start,
                         bool keep_symmetries, nh_report *report)
{
    *s = (nh_about){.start = start ? *start : nh_start_options_default(),
                    .keep_symmetries = keep_symmetries,
                    .zeros = -1};
    if (!nh_have_lapack())
        return nh_fail(
            report, NH_NOT_APPLICABLE,
            "this build of nonholo has no LAPACK, which linearisation needs: install "
            "liblapack-dev and build again ('nonholo --version' tells what is built in)");
    nh_status status =
        nh_system_refuse_items(system, "steady motions are not linearised in models", report);
    if (status == NH_OK)
        status = nh_local_begin(&s->local, system, NULL, s->start.t, report);
    if (status != NH_OK)
        return status;
    if (nh_mechanics_uses_time(s->local.system->mechanics))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s depends on time, so nothing in it is steady: give inputs constant "
                       "values (--input NAME=VALUE), or study the motion over a period",
                       system->name);
    s->point = malloc(((size_t)s->local.width + 1) * sizeof *s->point);
    if (!s->point)
        return nh_fail_memory(report);
    return nh_about_vary(s, -1, NULL, report);
}

nh_status nh_about_vary(nh_about *s, int parameter, const double range[2], nh_report *report)
{
    nh_steady_end(&s->steady);
    nh_generators_free(&s->generators);
    nh_status status = find_start(s, report);
    if (status == NH_OK) {
        nh_local_inputs(&s->local, s->point);
        status = nh_generators_find(&s->generators, &s->local, s->point, parameter, range, report);
    }
    if (status == NH_OK && !nh_steady_begin(&s->steady, &s->local, &s->generators))
        status = nh_fail_memory(report);
    return status;
}

void nh_about_end(nh_about *s)
{
    nh_spectrum_free(&s->spectrum);
    nh_reduced_free(&s->reduced);
    nh_steady_end(&s->steady);
    nh_generators_free(&s->generators);
    nh_local_end(&s->local);
    free(s->point);
    *s = (nh_about){0};
}

/* ---- parameters ---- */

int nh_about_parameter(const nh_about *s, const char *name, nh_report *report)
{
    const nh_problem *p = s->local.problem;
    nh_suggest suggest = nh_suggest_begin(name);
    for (int i = 0; i < p->parameters; i++) {
        nh_suggest_offer(&suggest, p->parameter[i].name);
        if (strcmp(p->parameter[i].name, name) != 0)
            continue;
        if (!p->fixed[i])
            return i;
        nh_fail(report, NH_BAD_ARGUMENT,
                "the parameter '%s' decides the form of the equations (a number of coordinates, a "
                "bound, an index, an exponent or a condition), so nothing can be differentiated by "
                "it: linearise for each of its values with --set",
                name);
        return -1;
    }
    nh_fail(report, NH_BAD_ARGUMENT, "'%s' is not a parameter of %s%s", name, p->name,
            nh_suggest_end(&suggest).text);
    return -1;
}

/* ---- linearisation ---- */

static bool find_spectrum(nh_about *s)
{
    const nh_reduced *r = &s->reduced;
    bool *velocity = calloc((size_t)r->order + 1, sizeof *velocity);
    for (int i = 0; i < r->order && velocity; i++)
        velocity[i] = r->chosen[i] >= r->positions;
    const bool ok =
        velocity && nh_spectrum_of_motion(&s->spectrum, r->order, r->A, velocity, s->zeros);
    free(velocity);
    return ok;
}

nh_status nh_about_find(nh_about *s, int parameter, double value, nh_report *report)
{
    if (parameter >= 0)
        s->local.parameter[parameter] = value;
    nh_spectrum_free(&s->spectrum);
    nh_reduced_free(&s->reduced);
    nh_status status = find_start(s, report);
    if (status == NH_OK)
        status = nh_steady_find(&s->steady, s->point, report);
    if (status == NH_OK)
        status = nh_reduced_find(&s->reduced, &s->steady, !s->keep_symmetries, report);
    if (status == NH_OK && !find_spectrum(s))
        status =
            nh_fail(report, NH_NOT_CONVERGED,
                    "the eigenvalues could not be computed: the matrix is not finite, or LAPACK "
                    "did not converge");
    return status;
}

/* ---- the start along a parameter ---- */

typedef struct start_change {
    uint32_t n, parameter;
} start_change;

/* Start values may contain others, whose changes are the extra arguments. */
static nh_expr change_of(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    const start_change *c = self;
    if (kind == NH_P)
        return index == c->parameter ? NH_ONE : NH_ZERO;
    if (kind == NH_Q || kind == NH_V)
        return nh_variable(g, NH_X, (kind == NH_V) * c->n + index);
    return NH_ZERO;
}

/* Entries that the options fix do not change. */
static nh_status find_fixed(const nh_about *s, bool *fixed, nh_report *report)
{
    const nh_local *local = &s->local;
    const nh_selection given = {fixed, fixed + local->n};
    nh_status status = NH_OK;
    if (s->start.assignments)
        status = nh_problem_assigned(local->problem, s->start.assignments, given, report);
    for (int i = 0; i < local->n; i++) {
        fixed[i] |= s->start.q != NULL;
        fixed[local->n + i] |= s->start.v != NULL;
    }
    return status;
}

/* Moves entries that the model solves for so that the change stays on the constraints. */
static bool stay_on_constraints(nh_about *s, int parameter, const bool *fixed, double *direction)
{
    nh_local *local = &s->local;
    const nh_problem *p = local->problem;
    const int rows = local->m + local->positions, columns = local->u;
    bool any = false;
    double *a = calloc((size_t)rows * (size_t)(columns + 1) + (size_t)columns + 1, sizeof *a);
    double *jacobian = malloc((size_t)local->rows * (size_t)local->width * sizeof *jacobian);
    if (!a || !jacobian) {
        free(a);
        free(jacobian);
        return false;
    }
    double *b = a + rows * columns, *move = b + rows;
    nh_local_inputs(local, s->point);
    nh_local_jacobian(local, s->point, parameter, jacobian);
    for (int c = 0; c < columns; c++) {
        const bool position = c < local->n;
        if (position && c >= local->coordinates)
            continue;
        const bool solved = position ? p->solve.q[c] : p->solve.v[c - local->n];
        any |= solved && !fixed[c];
        for (int r = 0; r < rows; r++) {
            const double entry = jacobian[(size_t)(local->k + r) * (size_t)local->width + c];
            a[r * columns + c] = solved && !fixed[c] ? entry : 0;
            b[r] -= entry * direction[c];
        }
    }
    for (int r = 0; r < rows; r++)
        b[r] -= jacobian[(size_t)(local->k + r) * (size_t)local->width + local->u + local->open +
                         parameter];
    nh_svd svd = {0};
    const bool ok = !any || nh_svd_find(&svd, rows, columns, a);
    if (ok && any)
        nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-10), b, move);
    for (int c = 0; c < columns && ok && any; c++)
        direction[c] += move[c];
    nh_svd_free(&svd);
    free(a);
    free(jacobian);
    return ok;
}

/* Evaluates the changes until those that depend on others stand still. */
static bool settle(const nh_about *s, const nh_expr *change, const bool *fixed, double *direction)
{
    const nh_local *local = &s->local;
    const int n = local->n, columns = 2 * n;
    double *next = calloc((size_t)columns + 1, sizeof *next);
    bool ok = next != NULL, moved = true;
    for (int turn = 0; ok && moved && turn <= columns; turn++) {
        ok = nh_evaluate(local->g, change, (size_t)columns, s->start.t, s->point,
                         s->point + local->v, direction, next);
        moved = false;
        for (int i = 0; i < columns; i++) {
            next[i] = fixed[i] ? 0 : next[i];
            moved |= next[i] != direction[i];
            direction[i] = next[i];
        }
    }
    free(next);
    return ok;
}

nh_status nh_about_start_along(nh_about *s, int parameter, double *direction, nh_report *report)
{
    const nh_local *local = &s->local;
    const nh_problem *p = local->problem;
    const size_t n = (size_t)local->n;
    start_change c = {(uint32_t)n, (uint32_t)parameter};
    nh_expr *list = calloc(4 * n + 1, sizeof *list), *change = list ? list + 2 * n : NULL;
    bool *fixed = calloc(2 * n + 1, sizeof *fixed);
    memset(direction, 0, (size_t)local->width * sizeof *direction);
    nh_status status = list && fixed ? find_fixed(s, fixed, report) : nh_fail_memory(report);
    for (size_t i = 0; i < n && status == NH_OK; i++) {
        list[i] = (int)i < p->coordinates ? p->start_q[i] : NH_ZERO;
        list[n + i] = p->start_v[i];
    }
    if (status == NH_OK && !(nh_tangents(p->graph, list, 2 * n, change_of, &c, change) &&
                             settle(s, change, fixed, direction) &&
                             stay_on_constraints(s, parameter, fixed, direction)))
        status = nh_fail_memory(report);
    free(list);
    free(fixed);
    return status;
}

nh_status nh_about_along(nh_about *s, int parameter, double *change, nh_report *report)
{
    const size_t width = (size_t)s->local.width;
    double *start = malloc((2 * width + (size_t)s->generators.count + 1) * sizeof *start);
    if (!start)
        return nh_fail_memory(report);
    double *direction = start + width, *rates = direction + width;
    nh_status status = find_start(s, report);
    if (status == NH_OK)
        status = nh_about_start_along(s, parameter, start, report);
    if (status == NH_OK && !nh_steady_along(&s->steady, parameter, start, direction, rates))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_reduced_along(&s->reduced, direction, rates, change, report);
    free(start);
    return status;
}
