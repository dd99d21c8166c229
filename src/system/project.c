/* Projection of start states: the nearest ones that satisfy the constraints. Positions first, where
 * there are conditions on them, then velocities:
 *
 *     minimise (q - q0).M (q - q0)/2   subject to   g(t, q) = 0,      some q_i fixed, M at q0
 *     minimise (v - v0).M (v - v0)/2   subject to   k(t, q, v) = 0,   some v_i fixed
 *
 * The following is written in terms of v and k, and also holds for q and g.
 *
 * With M = L L^T the unknown is w = L^T v, whose components all have the same unit; the distance is
 * Euclidean in w, and a constraint has the normal L^-1 K^T. Normals are scaled to length 1, so
 * nothing here depends on units.
 *
 * `restore` reaches the constraints by Newton's method with the shortest step; for affine
 * constraints that is the answer. Otherwise `improve` moves along them by Newton's method for the
 * distance in the tangent space, whose Hessian 1 - sum lambda_a D^2 k_a comes from differences of
 * K, and returns to the constraints after each step. It ends where v - v0 is normal to the
 * constraints and the Hessian is positive, so that the distance has a minimum. Then a few other
 * places at the same distance are tried, in case another part of the constraints is nearer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "system/nearest.h"
#include "system/start.h"

enum { VELOCITIES_MOST = 5000, NAMES_LONGEST = 200 };

/* ---- the metric ---- */

/* Another metric if M does not give one: diagonal, with the units of M. */
static void use_sizes(int n, const double *M, int f, const int *free, double *L)
{
    for (int i = 0; i < f * f; i++)
        L[i] = 0;
    for (int i = 0; i < f; i++)
        L[i * f + i] = 1;
    for (int sweep = 0; sweep < 20; sweep++)
        for (int i = 0; i < f; i++) {
            double largest = 0, own = L[i * f + i];
            for (int j = 0; j < f; j++)
                largest = fmax(largest, fabs(M[free[i] * n + free[j]]) / (own * L[j * f + j]));
            if (largest > 0 && isfinite(largest))
                L[i * f + i] *= sqrt(largest);
        }
}

bool nh_projection_metric(int n, const double *M, int f, const int *free, double *L)
{
    for (int i = 0; i < f; i++)
        for (int j = 0; j < f; j++)
            L[i * f + j] = M[free[i] * n + free[j]];
    if (nh_dense_cholesky(f, L))
        return true;
    use_sizes(n, M, f, free, L);
    return false;
}

static nh_status find_metric(nh_nearest *p, const double *v, nh_report *report)
{
    size_t n = (size_t)p->n;
    double *M = malloc((nh_system_outputs(p->system, NH_FN_MATRICES) + 1) * sizeof *M);
    if (!M)
        return nh_fail_memory(report);
    nh_status status = nh_system_evaluate_at(p->system, NH_FN_MATRICES, p->at, p->q, v, M, report);
    for (size_t i = 0; status == NH_OK && i < n * n; i++)
        if (!isfinite(M[i]))
            status =
                nh_fail(report, NH_BAD_START, "the mass matrix is not finite at the start state");
    if (status == NH_OK)
        nh_projection_metric(p->n, M, p->f, p->free, p->L);
    for (size_t i = 0; i < n; i++)
        p->inertia[i] = fabs(M[i * n + i]) > 0 ? fabs(M[i * n + i]) : 1;
    free(M);
    return status;
}

/* ---- search ---- */

/* The constraint that the result violates most, or -1. */
static nh_status find_worst(const nh_nearest *p, int *worst, double *residual, nh_report *report)
{
    bool positions = p->level == NH_POSITIONS;
    return nh_find_worst(p->system, p->level, p->at, positions ? p->v : p->q,
                         positions ? p->rest : p->v, worst, residual, report);
}

/* Whether the result satisfies all constraints. */
static bool is_consistent(nh_nearest *p)
{
    int worst;
    double residual;
    p->status = find_worst(p, &worst, &residual, &p->report);
    return p->status == NH_OK && worst < 0;
}

/* Close to v0, the error of what `restore` finds is only the square of the distance. */
static bool attempt(nh_nearest *p, bool nonlinear)
{
    if (!nh_nearest_restore(p))
        return false;
    return !nonlinear || nh_nearest_distance(p) <= 1e-9 * nh_nearest_scale(p, p->v) ||
           nh_nearest_improve(p);
}

static double random_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* A place at the given distance from v0; if that is 0, the distance at which the residuals are
 * smallest relative to their terms. */
static void go_elsewhere(nh_nearest *p, double distance, uint64_t *state)
{
    double length = 0;
    for (int i = 0; i < p->f; i++) {
        p->step[i] = random_number(state);
        length += p->step[i] * p->step[i];
    }
    for (int i = 0; i < p->f; i++)
        p->step[i] /= sqrt(length);
    if (distance > 0) {
        nh_nearest_place(p, p->v0, distance);
        return;
    }
    double best = INFINITY, at = 1;
    for (double s = 1e-18; s < 1e19; s *= 2) {
        nh_nearest_place(p, p->v0, s);
        double off = nh_nearest_offence(p);
        if (off < best) {
            best = off;
            at = s;
        }
    }
    nh_nearest_place(p, p->v0, at);
}

/* Stores the nearest of the points found from v0 and from around it in p->v. */
static bool search(nh_nearest *p, bool thorough)
{
    bool nonlinear = p->level == NH_POSITIONS || !p->system->facts.affine,
         found = attempt(p, nonlinear) && (!thorough || is_consistent(p));
    double best = found ? nh_nearest_distance(p) : INFINITY, size = nh_nearest_scale(p, p->v0);
    uint64_t state = 1;
    if (!nonlinear || best <= 1e-9 * size || (found && !thorough))
        return found;
    memcpy(p->best, p->v, (size_t)p->n * sizeof *p->v);
    for (int i = 0; i < 16 && p->status == NH_OK; i++) {
        bool first = !found;
        go_elsewhere(p, found ? best : size > 0 ? ldexp(size, i / 2 - 4) : 0, &state);
        if (!attempt(p, true) || !is_consistent(p))
            continue;
        double distance = nh_nearest_distance(p);
        found = true;
        if (first || distance < best * (1 - 1e-9)) {
            best = distance;
            memcpy(p->best, p->v, (size_t)p->n * sizeof *p->v);
        }
    }
    memcpy(p->v, p->best, (size_t)p->n * sizeof *p->v);
    return found && p->status == NH_OK;
}

/* ---- failures ---- */

static void list_names(const nh_nearest *p, char *text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < p->f; i++) {
        const char *name = p->level == NH_POSITIONS
                               ? nh_system_coordinate_name(p->system, p->free[i])
                               : nh_inner_velocity_name(p->system, p->free[i]);
        if (used + strlen(name) + 8 > NAMES_LONGEST) {
            strcpy(text + used, ", ...");
            return;
        }
        if (used)
            used = (size_t)(stpcpy(text + used, ", ") - text);
        used = (size_t)(stpcpy(text + used, name) - text);
    }
}

/* The failure if only some unknowns may change. */
static nh_status tell_bound(nh_nearest *p, int row, const char *name, double residual,
                            nh_report *report)
{
    bool positions = p->level == NH_POSITIONS;
    const char *one = positions ? "coordinate" : "velocity",
               *many = positions ? "coordinates" : "velocities";
    char names[NAMES_LONGEST + 8];
    list_names(p, names);
    if (p->f == 0)
        return nh_fail(report, NH_BAD_START,
                       "the start state is off the constraints: %s has residual %.6g, and no %s "
                       "may change",
                       name, residual, one);
    if (nh_nearest_moves(p, row) == 0)
        return nh_fail(
            report, NH_BAD_START,
            "the start state is off the constraints: %s has residual %.6g, and none of the "
            "%s that may change (%s) changes it",
            name, residual, many, names);
    return nh_fail(report, NH_BAD_START,
                   "%d %s that may change (%s) cannot satisfy the %d constraint%s: %s still has "
                   "residual %.6g; let others change too",
                   p->f, p->f == 1 ? one : many, names, p->m, nh_plural(p->m), name, residual);
}

static nh_status tell_failure(nh_nearest *p, nh_report *report)
{
    int worst, first = p->system->constraints - p->m;
    double residual = NAN;
    nh_status status = find_worst(p, &worst, &residual, report);
    if (status != NH_OK)
        return status;
    worst = worst < first ? first : worst;
    const char *name = nh_system_constraint_name(p->system, worst);
    bool positions = p->level == NH_POSITIONS;
    if (p->f < (positions ? p->system->coordinates : p->n))
        tell_bound(p, worst - first, name, residual, report);
    else if (positions)
        nh_fail(report, NH_BAD_START,
                "no positions were found that satisfy the constraints: from the start values, %s "
                "still has residual %.6g%s; give other start values",
                name, residual,
                p->rank < p->m ? ", where the conditions on positions depend on each other" : "");
    else if (p->system->facts.affine)
        nh_fail(report, NH_BAD_START,
                "no velocities satisfy the constraints at these coordinates: %s still has residual "
                "%.6g; there it depends on other constraints (rank %d of %d) and contradicts them",
                name, residual, p->rank, p->m);
    else
        nh_fail(report, NH_BAD_START,
                "no velocities were found that satisfy the constraints at these coordinates: %s "
                "still has residual %.6g; give other start values",
                name, residual);
    if (report)
        report->residual = fabs(residual);
    return NH_BAD_START;
}

/* ---- entries ---- */

static nh_status check_given(const nh_system *system, const double *q, const double *v,
                             nh_report *report)
{
    for (int i = 0; i < system->coordinates; i++)
        if (!isfinite(q[i]))
            return nh_fail(report, NH_BAD_START, "the start value of %s is not a finite number",
                           nh_system_coordinate_name(system, i));
    for (int i = 0; i < system->velocities; i++)
        if (!isfinite(v[i]))
            return nh_fail(report, NH_BAD_START, "the start value of %s is not a finite number",
                           nh_inner_velocity_name(system, i));
    if (system->velocities > VELOCITIES_MOST)
        return nh_fail(report, NH_TOO_LARGE,
                       "projection of a start state handles up to %d velocities, not %d",
                       VELOCITIES_MOST, system->velocities);
    return NH_OK;
}

/* Call nh_nearest_end in either case. */
static nh_status begin(nh_nearest *p, const nh_system *system, nh_level level,
                       const bool *may_change, nh_instant at, const double *q, const double *v,
                       nh_report *report)
{
    *p = (nh_nearest){0};
    nh_status status = check_given(system, q, v, report);
    if (status != NH_OK)
        return status;
    if (!nh_nearest_begin(p, system, level, may_change, at, q, v))
        return nh_fail_memory(report);
    p->rest = v;
    return find_metric(p, v, report);
}

/* Stores the nearest point in p->v. */
static nh_status project(nh_nearest *p, bool thorough, nh_report *report)
{
    if (search(p, thorough))
        return NH_OK;
    return p->status != NH_OK ? nh_fail(report, p->status, "%s", p->report.text)
                              : tell_failure(p, report);
}

nh_status nh_project(const nh_system *system, const bool *may_change, bool thorough, nh_instant at,
                     const double *q, double *v, nh_report *report)
{
    if (system->constraints == 0)
        return NH_OK;
    nh_nearest p;
    nh_status status = begin(&p, system, NH_VELOCITIES, may_change, at, q, v, report);
    if (status == NH_OK)
        status = project(&p, thorough, report);
    if (status == NH_OK)
        memcpy(v, p.v, (size_t)p.n * sizeof *v);
    nh_nearest_end(&p);
    return status;
}

nh_status nh_project_positions(const nh_system *system, const bool *may_change, bool thorough,
                               nh_instant at, double *q, const double *v, nh_report *report)
{
    if (system->shape.positions == 0)
        return NH_OK;
    nh_nearest p;
    nh_status status = begin(&p, system, NH_POSITIONS, may_change, at, q, v, report);
    if (status == NH_OK)
        status = project(&p, thorough, report);
    if (status == NH_OK)
        memcpy(q, p.v, (size_t)system->coordinates * sizeof *q);
    nh_nearest_end(&p);
    return status;
}

nh_status nh_project_displacement(const nh_system *system, const bool *constraint, double t,
                                  const double *q, double *displacement, nh_report *report)
{
    nh_nearest p;
    nh_status status =
        begin(&p, system, NH_VELOCITIES, NULL, (nh_instant){t, NULL}, q, displacement, report);
    if (status == NH_OK && !nh_nearest_displace(&p, constraint))
        status = p.status != NH_OK ? p.status
                                   : nh_fail(report, NH_NOT_FINITE,
                                             "the constraints are not finite at these coordinates");
    if (status == NH_OK)
        memcpy(displacement, p.v, (size_t)p.n * sizeof *displacement);
    nh_nearest_end(&p);
    return status;
}

static bool none(const bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        if (chosen[i])
            return false;
    return true;
}

static void invert(bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        chosen[i] = !chosen[i];
}

/* What may change: as named; otherwise as the model says, or all positions or all velocities if it
 * names none of them. */
nh_status nh_projection_choose(const nh_system *system, const nh_projection *how, nh_selection may,
                               nh_report *report)
{
    int nq = system->coordinates, n = system->velocities;
    if (how->keep && how->solve)
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "a projection takes either velocities to keep or velocities to solve for, not both");
    if (how->solve)
        return nh_select(system, how->solve, "solve", may, report);
    nh_status status = NH_OK;
    if (how->keep)
        status = nh_select(system, how->keep, "keep", may, report);
    for (int i = 0; !how->keep && i < nq; i++)
        may.q[i] = nh_system_solves_position(system, i);
    for (int i = 0; !how->keep && i < n; i++)
        may.v[i] = nh_inner_solves(system, i);
    if (how->keep || none(may.q, nq))
        invert(may.q, nq);
    if (how->keep || none(may.v, n))
        invert(may.v, n);
    return status;
}

/* `moved`: the positions, if they may be moved, otherwise NULL. */
static nh_status project_by(const nh_system *system, const nh_projection *how, nh_instant at,
                            const double *q, double *moved, double *v, nh_report *report)
{
    nh_projection own;
    nh_status status = NH_OPTIONS_TAKE(&own, how, nh_projection, solve, report);
    bool *space = calloc((size_t)(system->coordinates + system->velocities) + 1, sizeof *space);
    nh_selection may = {space, space ? space + system->coordinates : NULL};
    if (status == NH_OK && !space)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_projection_choose(system, &own, may, report);
    if (status == NH_OK && moved)
        status = nh_project_positions(system, may.q, true, at, moved, v, report);
    if (status == NH_OK)
        status = nh_project(system, may.v, true, at, moved ? moved : q, v, report);
    free(space);
    return status;
}

nh_status nh_inner_project_by(const nh_system *system, const nh_projection *how, nh_instant at,
                              const double *q, double *v, nh_report *report)
{
    return project_by(system, how, at, q, NULL, v, report);
}

nh_status nh_inner_project_state(const nh_system *system, const nh_projection *how, nh_instant at,
                                 double *q, double *v, nh_report *report)
{
    return project_by(system, how, at, q, q, v, report);
}
