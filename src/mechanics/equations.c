/* Derivation of the equations of motion; mechanics.h has the formulas. */
#include "mechanics/mechanics.h"

#include <stdlib.h>

#include "base/status.h"
#include "mechanics/symmetries.h"

static bool allocate(nh_mechanics *s)
{
    size_t n = (size_t)s->n + 1, m = (size_t)s->m + 1;
    s->p = calloc(n, sizeof *s->p);
    s->F = calloc(n, sizeof *s->F);
    s->rate = calloc(n, sizeof *s->rate);
    s->k = calloc(m, sizeof *s->k);
    s->drift = calloc(m, sizeof *s->drift);
    s->kind = calloc(m, sizeof *s->kind);
    s->constraint_integrable = calloc(m, sizeof *s->constraint_integrable);
    s->position = calloc(m, sizeof *s->position);
    return s->position && s->p && s->F && s->rate && s->k && s->drift && s->kind &&
           s->constraint_integrable && nh_matrix_init(&s->mass, s->n, s->n) &&
           nh_matrix_init(&s->K, s->m, s->n) && nh_matrix_init(&s->kq, s->m, s->n) &&
           nh_matrix_init(&s->B, s->m, s->n);
}

/* The inputs of one kind as a vector of expressions. */
static nh_expr *inputs(nh_graph *g, nh_input kind, int count)
{
    nh_expr *x = malloc(((size_t)count + 1) * sizeof *x);
    for (int i = 0; x && i < count; i++)
        x[i] = nh_variable(g, kind, (uint32_t)i);
    return x;
}

static nh_expr time_derivative(nh_graph *g, nh_expr e)
{
    nh_partials dt;
    if (!nh_expr_gradient(g, e, NH_TIME, &dt))
        return NH_ZERO;
    nh_expr d = nh_partial_of(&dt, 0);
    nh_partials_free(&dt);
    return d;
}

static bool scatter_gradient(nh_graph *g, nh_expr e, nh_input kind, nh_expr *out)
{
    nh_partials d;
    if (!nh_expr_gradient(g, e, kind, &d))
        return false;
    for (size_t i = 0; i < d.count; i++)
        out[d.entry[i].index] = d.entry[i].value;
    nh_partials_free(&d);
    return true;
}

/* p = dL/dv, F = dL/dq + f, and on a Lie algebra F_a gains c_ba^d w_b p_d. */
static bool derive_momenta_and_forces(nh_mechanics *s, nh_expr *others)
{
    nh_graph *g = s->g;
    const nh_problem *problem = s->problem;
    if (!scatter_gradient(g, problem->lagrangian, NH_V, s->p) ||
        !scatter_gradient(g, problem->lagrangian, NH_Q, s->F))
        return false;
    for (int i = 0; i < s->n; i++)
        others[i] = problem->force[i];
    for (int i = 0; i < problem->brackets; i++) {
        nh_bracket c = problem->bracket[i];
        nh_expr w = nh_variable(g, NH_V, (uint32_t)c.a);
        others[c.b] = nh_add(g, others[c.b], nh_scale(g, c.c, nh_multiply(g, w, s->p[c.result])));
    }
    for (int i = 0; i < s->n; i++)
        s->F[i] = nh_add(g, s->F[i], others[i]);
    return !nh_graph_failed(g);
}

/* (de/dq) v + de/dt from de/dq; with rotations directly from e, which is then shorter. */
static nh_expr moving_with(nh_mechanics *s, nh_expr e, const nh_partials *by_q, const nh_expr *v)
{
    if (s->problem->rotations > 0)
        return nh_total_derivative(s->g, e);
    nh_expr explicitly = time_derivative(s->g, e);
    return nh_add(s->g, nh_row_apply(s->g, by_q, v), explicitly);
}

/* Copies the entries above the diagonal below it: with rotations the expressions of equal entries
 * may differ. */
static bool mirror(nh_matrix *a)
{
    for (int i = 1; i < a->rows; i++) {
        nh_partials row = {0};
        for (int j = 0; j < a->rows; j++) {
            const nh_expr e = j < i ? nh_partial_of(a->row + j, (uint32_t)i)
                                    : nh_partial_of(a->row + i, (uint32_t)j);
            if (e != NH_ZERO && !nh_row_append(&row, (uint32_t)j, e)) {
                nh_partials_free(&row);
                return false;
            }
        }
        nh_partials_free(a->row + i);
        a->row[i] = row;
    }
    return true;
}

bool nh_form_mass(nh_mechanics *s)
{
    bool ok = true;
    for (int i = 0; ok && !s->mass_is_formed && i < s->n; i++)
        ok = nh_expr_gradient(s->g, s->p[i], NH_V, s->mass.row + i);
    ok = ok && (s->mass_is_formed || s->problem->rotations == 0 || mirror(&s->mass));
    s->mass_is_formed = ok;
    return ok && !nh_graph_failed(s->g);
}

static nh_expr change_in_time(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    (void)self;
    return kind == NH_TIME ? NH_ONE : kind == NH_Q ? nh_variable(g, NH_V, index) : NH_ZERO;
}

/* In forward mode the parts of a tree share what they have in common. */
static bool derive_rate_of_tree(nh_mechanics *s)
{
    if (!nh_tangents(s->g, s->p, (size_t)s->n, change_in_time, NULL, s->rate))
        return false;
    for (int i = 0; i < s->n; i++)
        s->rate[i] = nh_subtract(s->g, s->F[i], s->rate[i]);
    return !nh_graph_failed(s->g);
}

/* Whether the tree is kept, with rate; M is formed to compare the two, unless it is too large. */
static bool try_tree(nh_mechanics *s)
{
    if (s->is_tree && s->n <= NH_DENSE_LOOKS_MAX && !nh_form_mass(s))
        return false;
    if (s->is_tree && !nh_is_tree_shorter(s))
        nh_leave_tree(s);
    return !s->is_tree || derive_rate_of_tree(s);
}

/* M = dp/dv and rate = F - (dp/dq) v - dp/dt. */
static bool derive_mass_and_rate(nh_mechanics *s, const nh_expr *v)
{
    nh_graph *g = s->g;
    if (!try_tree(s))
        return false;
    for (int i = 0; i < s->n && !s->is_tree; i++) {
        nh_partials pq;
        if ((!s->mass_is_formed && !nh_expr_gradient(g, s->p[i], NH_V, s->mass.row + i)) ||
            !nh_expr_gradient(g, s->p[i], NH_Q, &pq))
            return false;
        nh_expr moved = moving_with(s, s->p[i], &pq, v);
        s->rate[i] = nh_subtract(g, s->F[i], moved);
        nh_partials_free(&pq);
    }
    if (s->is_tree || s->mass_is_formed)
        return !nh_graph_failed(g);
    s->mass_is_formed = true;
    return !nh_graph_failed(g) && (s->problem->rotations == 0 || mirror(&s->mass));
}

/* K = dk/dv, dk/dq and drift = (dk/dq) v + dk/dt. */
static bool derive_constraints(nh_mechanics *s, const nh_expr *v)
{
    nh_graph *g = s->g;
    for (int i = 0; i < s->m; i++) {
        s->k[i] = s->problem->constraint[i].value;
        if (!nh_expr_gradient(g, s->k[i], NH_V, s->K.row + i) ||
            !nh_expr_gradient(g, s->k[i], NH_Q, s->kq.row + i))
            return false;
        if (!s->is_tree)
            s->drift[i] = moving_with(s, s->k[i], s->kq.row + i, v);
    }
    for (int i = 0; i < s->positions; i++)
        s->position[i] = s->problem->constraint[s->m - s->positions + i].position;
    if (s->is_tree)
        return nh_tangents(g, s->k, (size_t)s->m, change_in_time, NULL, s->drift);
    return !nh_graph_failed(g) && nh_shorten_drift(s);
}

/* Energy v.p - L. */
static bool derive_energy(nh_mechanics *s, const nh_expr *v)
{
    nh_graph *g = s->g;
    nh_expr_list terms = {0};
    bool ok = nh_expr_list_push(&terms, nh_negate(g, s->problem->lagrangian));
    for (int i = 0; ok && i < s->n; i++)
        ok = nh_expr_list_push(&terms, nh_multiply(g, v[i], s->p[i]));
    s->energy = ok ? nh_sum(g, terms.item, terms.count) : NH_ZERO;
    nh_expr_list_free(&terms);
    return ok && !nh_graph_failed(g);
}

/* K M^-1 K^T is as definite as M. */
static nh_status choose_schur_pivots(nh_mechanics *s, nh_report *report)
{
    int zero, singular = 0;
    nh_matrix S = {0};
    if (s->definite || s->m == 0)
        return NH_OK;
    nh_elimination *lu = NULL;
    if (nh_schur_matrix(s, &S) && nh_choose_pivots(s, &S, &s->schur_pivots, &zero))
        lu = nh_eliminate(s->g, &S, &s->schur_pivots, &zero);
    if (lu && nh_is_definite(s, lu, NULL, s->m, &singular) != NH_UNKNOWN && singular < 0)
        zero = nh_solution_defect(s, lu, &S) < 1e-9 ? -1 : 0;
    else if (lu)
        zero = singular;
    nh_matrix_free(&S);
    nh_elimination_free(lu);
    if (nh_graph_failed(s->g) || (!lu && zero < 0))
        return nh_fail_memory(report);
    return zero < 0 ? NH_OK
                    : nh_fail(report, NH_BAD_MODEL,
                              "%s: the constraint force of '%s' cannot be determined: the mass "
                              "matrix is not definite, and K M^-1 K^T is singular",
                              s->problem->file, s->problem->constraint[zero].name);
}

/* The model's start state, at which values are examined; errors in it are reported later. */
static bool find_start(nh_mechanics *s)
{
    size_t n = (size_t)s->n;
    s->start = calloc(2 * n + 1, sizeof *s->start);
    if (!s->start)
        return false;
    nh_status status = nh_problem_start(s->problem, NULL, 0, NULL, s->start, s->start + n, NULL);
    for (size_t i = 0; status != NH_OK && i < 2 * n; i++)
        s->start[i] = 0;
    return status != NH_NO_MEMORY;
}

nh_status nh_mechanics_derive(nh_mechanics **out, nh_problem *problem, nh_report *report)
{
    *out = NULL;
    nh_mechanics *s = calloc(1, sizeof *s);
    if (!s) {
        nh_problem_free(problem);
        return nh_fail_memory(report);
    }
    s->problem = problem;
    s->g = problem->graph;
    /* what holds in a mode has been chosen so that it is independent */
    nh_status status =
        problem->is_mode ? NH_OK
                         : nh_leave_out_redundant(problem, s->left_out, sizeof s->left_out, report);
    if (status != NH_OK) {
        nh_mechanics_free(s);
        return status;
    }
    s->n = problem->velocities;
    s->m = problem->constraints;
    s->positions = problem->positions;
    nh_expr *v = inputs(s->g, NH_V, s->n), *others = calloc((size_t)s->n + 1, sizeof *others);
    if (!v || !others || !allocate(s) || !nh_split_friction(s) || !nh_look_for_tree(s) ||
        !derive_momenta_and_forces(s, others) || !derive_mass_and_rate(s, v) ||
        !(s->is_tree || nh_shorten_rate(s, others)) || !derive_constraints(s, v) || !find_start(s))
        status = nh_fail_memory(report);
    free(others);
    if (status == NH_OK)
        status = nh_solve_for_mass(s, report);
    if (status == NH_OK && (!nh_pad_reactions(s) || !derive_energy(s, v)))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = choose_schur_pivots(s, report);
    if (status == NH_OK)
        status = nh_mechanics_find_facts(s, report);
    if (status == NH_OK && (!nh_find_degrees(s) || !nh_measure_positions(s)))
        status = nh_fail_memory(report);
    free(v);
    if (status != NH_OK) {
        nh_mechanics_free(s);
        return status;
    }
    *out = s;
    return NH_OK;
}

void nh_mechanics_free(nh_mechanics *s)
{
    if (!s)
        return;
    nh_matrix_free(&s->mass);
    nh_matrix_free(&s->K);
    nh_matrix_free(&s->kq);
    nh_matrix_free(&s->B);
    nh_elimination_free(s->mass_factors);
    nh_elimination_free(s->motion_factors);
    nh_pivots_free(&s->schur_pivots);
    for (int i = 0; s->surface_text && i < s->surfaces; i++)
        free(s->surface_text[i]);
    free(s->surface_text);
    for (int i = 0; i < s->founds; i++)
        free(s->found[i].term);
    free(s->found);
    free(s->surface);
    free(s->start);
    for (char **c = s->conserved; c && *c; c++)
        free(*c);
    free(s->conserved);
    free(s->p);
    free(s->F);
    free(s->rate);
    free(s->friction);
    free(s->event_value);
    free(s->k);
    free(s->position);
    free(s->drift);
    free(s->kind);
    free(s->constraint_integrable);
    nh_problem_free(s->problem);
    free(s);
}
