/* Solves for the mass matrix: M = L U and B = M^-1 K^T, as expressions.
 *
 * For a dense matrix of hundreds of coordinates that takes minutes and gigabytes, and only some
 * functions of the system need it. In that case it is deferred until one of them is requested, and
 * whether the matrix is definite is determined numerically. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

#include "base/status.h"

/* Above this number of terms the solution is deferred. Measured: dense matrices of 140 coordinates
 * have as many, and take 3 s and 280 MB. */
#define TERMS_AT_ONCE 1e8

static nh_status fail_singular(const nh_mechanics *s, int singular, nh_report *report)
{
    const nh_problem *problem = s->problem;
    for (int r = 0; r < problem->rotations; r++)
        if (singular >= problem->rotation[r].first && singular < problem->rotation[r].first + 4)
            return nh_fail(report, NH_BAD_MODEL,
                           "%s: the mass matrix is singular: the Lagrangian gives the rotation "
                           "'%s' no kinetic energy about some axis; expected a term such as "
                           "dot(body(%s), J*body(%s))/2",
                           problem->file, problem->rotation[r].name, problem->rotation[r].name,
                           problem->rotation[r].name);
    if (singular >= 0)
        return nh_fail(
            report, NH_BAD_MODEL,
            "%s: the mass matrix is singular: the Lagrangian gives '%s' no kinetic energy of "
            "its own; every coordinate needs a velocity term that can be solved for",
            problem->file, problem->velocity_name[singular]);
    if (singular != NH_TOO_MUCH_FILL)
        return nh_fail_memory(report);
    return nh_fail(report, NH_TOO_LARGE,
                   "%s: the mass matrix couples too many of the %d coordinates; at this size the "
                   "energy has to be a sum over points and bodies, each with a velocity that "
                   "follows from those of a few others, or use the coordinates of all bodies, with "
                   "the joints as conditions on positions",
                   problem->file, s->n);
}

/* Chooses pivots by size, for a mass matrix that is not definite. */
static nh_status factorise_indefinite(nh_mechanics *s, int singular, nh_report *report)
{
    nh_pivots pivots;
    int zero;
    nh_elimination_free(s->mass_factors);
    s->mass_factors = NULL;
    if (nh_choose_pivots(s, &s->mass, &pivots, &zero))
        s->mass_factors = nh_eliminate(s->g, &s->mass, &pivots, &zero);
    nh_pivots_free(&pivots);
    if (s->mass_factors && nh_is_definite(s, s->mass_factors, NULL, s->n, &singular) == NH_UNKNOWN)
        return nh_fail_memory(report);
    if (!s->mass_factors || singular >= 0)
        return fail_singular(s, singular >= 0 ? singular : zero, report);
    /* measured on matrices that are well conditioned: 1e-15 */
    if (!(nh_solution_defect(s, s->mass_factors, &s->mass) < 1e-9))
        return nh_fail(report, NH_BAD_MODEL,
                       "%s: the mass matrix is so close to singular that accelerations cannot be "
                       "computed; choose other coordinates or other units",
                       s->problem->file);
    return NH_OK;
}

static nh_status factorise_mass(nh_mechanics *s, nh_report *report)
{
    int singular, zero;
    s->mass_factors = nh_eliminate(s->g, &s->mass, NULL, &singular);
    if (!s->mass_factors && singular < 0)
        return fail_singular(s, singular, report);
    nh_answer definite =
        s->mass_factors ? nh_is_definite(s, s->mass_factors, &s->mass, s->n, &zero) : NH_NO;
    if (definite == NH_UNKNOWN)
        return nh_fail_memory(report);
    s->definite = definite == NH_YES;
    return s->definite ? NH_OK : factorise_indefinite(s, s->mass_factors ? zero : singular, report);
}

/* If the mass matrix varies, its factors are numbers that kernels store; counts them. */
static bool count_factors(nh_mechanics *s)
{
    nh_expr_list factors = {0};
    nh_elimination *frozen = nh_elimination_freeze(s->g, s->mass_factors, &factors);
    s->nf = (int)factors.count;
    nh_elimination_free(frozen);
    nh_expr_list_free(&factors);
    return frozen != NULL;
}

/* ---- deferred solution ---- */

static bool is_expensive(const nh_mechanics *s, nh_status *status, nh_report *report)
{
    nh_work work = {0};
    int *order = malloc(((size_t)s->n + 1) * sizeof *order);
    if (!order || !nh_elimination_order(&s->mass, order, TERMS_AT_ONCE, &work))
        *status = nh_fail_memory(report);
    free(order);
    return work.terms > TERMS_AT_ONCE;
}

/* Assumes that every row of B is full and that there are as many factors as possible, since the
 * actual numbers are not known yet. */
static bool leave_room(nh_mechanics *s)
{
    bool ok = true;
    s->nf = s->n * s->n;
    for (int j = 0; j < s->m; j++)
        for (int i = 0; ok && i < s->n; i++)
            ok = nh_row_append(s->B.row + j, (uint32_t)i, NH_ONE);
    return ok;
}

static nh_status wait_with_mass(nh_mechanics *s, nh_report *report)
{
    nh_answer definite = nh_is_definite_in_numbers(s, &s->mass);
    s->definite = definite == NH_YES;
    s->facts.mass_waits = s->reactions_wait = true;
    if (definite == NH_NO)
        return fail_singular(s, NH_TOO_MUCH_FILL, report);
    return s->definite && leave_room(s) ? NH_OK : nh_fail_memory(report);
}

static nh_status solve_tree(nh_mechanics *s, nh_report *report)
{
    s->definite = true;
    s->reactions_wait = s->m > 0;
    s->facts.mass_waits = s->m > 0;
    const bool ok = (s->m == 0 || leave_room(s)) && count_factors(s);
    return ok ? NH_OK : nh_fail_memory(report);
}

nh_status nh_solve_for_mass(nh_mechanics *s, nh_report *report)
{
    nh_status status = NH_OK;
    if (s->is_tree && nh_tree_solves(s))
        return solve_tree(s, report);
    if (s->is_tree) {
        nh_leave_tree(s);
        if (!nh_form_mass(s))
            return nh_fail_memory(report);
    }
    for (int i = 0; i < s->n; i++) /* found at once, however large the matrix is */
        if (s->mass.row[i].count == 0)
            return fail_singular(s, i, report);
    if (is_expensive(s, &status, report))
        return wait_with_mass(s, report);
    if (status == NH_OK)
        status = factorise_mass(s, report);
    if (status == NH_OK &&
        (!count_factors(s) || !nh_elimination_solve_rows(s->g, s->mass_factors, &s->K, &s->B)))
        status = nh_fail_memory(report);
    return status;
}

nh_expr nh_own_mass(const nh_mechanics *s, int i)
{
    return s->mass_is_formed || !s->is_tree ? nh_matrix_at(&s->mass, i, i)
                                            : nh_elimination_pivots(s->mass_factors)[i];
}

nh_status nh_mass_needed(nh_mechanics *s, nh_report *report)
{
    int singular;
    if (!s->mass_factors)
        s->mass_factors = nh_eliminate(s->g, &s->mass, NULL, &singular);
    return s->mass_factors ? NH_OK : fail_singular(s, singular, report);
}

nh_status nh_reactions_needed(nh_mechanics *s, nh_report *report)
{
    nh_status status = nh_mass_needed(s, report);
    if (status != NH_OK || !s->reactions_wait)
        return status;
    nh_expr *x = malloc(((size_t)s->n + 1) * sizeof *x);
    bool ok = x != NULL;
    for (int j = 0; ok && j < s->m; j++) {
        for (int i = 0; i < s->n; i++)
            x[i] = nh_matrix_at(&s->K, j, i);
        ok = nh_elimination_solve(s->g, s->mass_factors, x);
        for (int i = 0; ok && i < s->n; i++)
            s->B.row[j].entry[i].value = x[i];
    }
    free(x);
    s->reactions_wait = !ok;
    return ok ? NH_OK : nh_fail_memory(report);
}
