/* Determines the properties of a system from the structure of the expressions and, where structure
 * is not sufficient, from values at a few points near the start. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"

enum { DENSE_RANK_MAX = 4000000 }; /* entries of K for which a dense rank is worth its time */

static bool any_depends(const nh_graph *g, const nh_expr *e, int count, nh_input kind)
{
    for (int i = 0; i < count; i++)
        if (nh_depends(g, e[i], kind))
            return true;
    return false;
}

static void mass_facts(nh_mechanics *s)
{
    nh_facts *f = &s->facts;
    f->constant_mass = f->diagonal_mass = true;
    for (int i = 0; i < s->n; i++)
        for (size_t e = 0; e < s->mass.row[i].count; e++) {
            nh_partial entry = s->mass.row[i].entry[e];
            f->constant_mass = f->constant_mass && nh_is_number(s->g, entry.value, NULL);
            f->diagonal_mass = f->diagonal_mass && entry.index == (uint32_t)i;
        }
    f->separable = f->constant_mass && !any_depends(s->g, s->rate, s->n, NH_V) &&
                   !any_depends(s->g, s->p, s->n, NH_Q) && !any_depends(s->g, s->p, s->n, NH_TIME);
}

/* p = M(q) v */
static bool is_mechanical(nh_mechanics *s)
{
    nh_expr *zero = calloc((size_t)s->n + 1, sizeof *zero);
    if (!zero)
        nh_graph_fail(s->g);
    bool plain = zero != NULL;
    for (int i = 0; plain && i < s->n; i++) {
        plain = nh_substitute(s->g, s->p[i], NH_V, zero, (size_t)s->n) == NH_ZERO;
        for (size_t e = 0; plain && e < s->mass.row[i].count; e++)
            plain = !nh_depends(s->g, s->mass.row[i].entry[e].value, NH_V);
    }
    free(zero);
    return plain;
}

/* ---- constraints ---- */

static nh_expr at_rest(nh_mechanics *s, nh_expr e)
{
    nh_expr *zero = calloc((size_t)s->n + 1, sizeof *zero);
    if (!zero)
        nh_graph_fail(s->g);
    nh_expr result = zero ? nh_substitute(s->g, e, NH_V, zero, (size_t)s->n) : e;
    free(zero);
    return result;
}

static void constraint_kinds(nh_mechanics *s)
{
    s->facts.affine = s->facts.linear = true;
    for (int i = 0; i < s->m; i++) {
        bool affine = true;
        for (size_t e = 0; e < s->K.row[i].count; e++)
            affine = affine && !nh_depends(s->g, s->K.row[i].entry[e].value, NH_V);
        bool linear = affine && at_rest(s, s->k[i]) == NH_ZERO;
        s->kind[i] = linear ? NH_LINEAR : affine ? NH_AFFINE : NH_NONLINEAR;
        s->facts.affine = s->facts.affine && affine;
        s->facts.linear = s->facts.linear && linear;
    }
}

/* Whether a reaction moves a coordinate that a constraint depends on. */
static bool reaction_is_linear(const nh_mechanics *s)
{
    bool *moved = calloc((size_t)s->n + 1, sizeof *moved), linear = moved && s->facts.affine;
    if (!moved)
        nh_graph_fail(s->g);
    for (int j = 0; moved && j < s->m; j++)
        for (size_t e = 0; e < s->B.row[j].count; e++)
            moved[s->B.row[j].entry[e].index] = true;
    for (int i = 0; linear && i < s->m; i++)
        for (size_t e = 0; linear && e < s->kq.row[i].count; e++)
            linear = !moved[s->kq.row[i].entry[e].index];
    free(moved);
    return linear;
}

/* Reactions do no work when every k is homogeneous in v: K v = d k, so K v = 0 where k = 0. */
static bool reactions_do_no_work(nh_mechanics *s)
{
    nh_expr *v = malloc(((size_t)s->n + 1) * sizeof *v);
    if (!v)
        nh_graph_fail(s->g);
    bool idle = v != NULL;
    for (int i = 0; idle && i < s->n; i++)
        v[i] = nh_variable(s->g, NH_V, (uint32_t)i);
    for (int i = 0; idle && i < s->m; i++) {
        nh_expr power = nh_row_apply(s->g, s->K.row + i, v);
        idle = s->kind[i] == NH_LINEAR || power == s->k[i] || power == nh_scale(s->g, 2, s->k[i]);
    }
    free(v);
    return idle;
}

/* ---- values near the start ---- */

/* A cheap deterministic scatter of numbers in (-1, 1). */
static double scatter(int i, int round)
{
    double x = sin(12.9898 * (i + 1) + 78.233 * (round + 1)) * 43758.5453;
    return 2 * (x - floor(x)) - 1;
}

/* Values of expressions; memory that is missing makes the graph fail. */
static bool evaluate(nh_mechanics *s, const nh_expr_list *list, double t, const double *q,
                     const double *v, double *out)
{
    bool done = nh_evaluate(s->g, list->item, list->count, t, q, v, NULL, out);
    if (!done)
        nh_graph_fail(s->g);
    return done;
}

/* ---- reversibility: L and f even in v, every k even or odd ---- */

/* The expressions that decide it: L, the forces, the constraints. */
static bool list_deciding(const nh_mechanics *s, nh_expr_list *list)
{
    bool ok = nh_expr_list_push(list, s->problem->lagrangian);
    for (int i = 0; ok && i < s->n; i++)
        ok = s->problem->force[i] == NH_ZERO || nh_expr_list_push(list, s->problem->force[i]);
    for (int i = 0; ok && i < s->m; i++)
        ok = nh_expr_list_push(list, s->k[i]);
    return ok;
}

static bool are_equal(double a, double b)
{
    return fabs(a - b) <= 1e-10 * (1 + fabs(a) + fabs(b));
}

/* Judged by values at a few points: an expression that is even there is even. */
static nh_answer reversibility(nh_mechanics *s, const double *q, const double *v)
{
    nh_expr_list list = {0};
    if (!s->facts.autonomous)
        return NH_NO;
    size_t n = (size_t)s->n;
    nh_answer answer = list_deciding(s, &list) ? NH_YES : NH_UNKNOWN;
    size_t count = list.count, others = count - (size_t)s->m;
    double *x = calloc(3 * n + 2 * count + 1, sizeof *x);
    if (!x || answer == NH_UNKNOWN)
        nh_graph_fail(s->g);
    double *there = x + 3 * n, *back = there + count;
    for (int round = 0; x && answer == NH_YES && round < 3; round++) {
        for (size_t i = 0; i < n; i++) {
            x[i] = q[i] + 0.2 * scatter((int)i, 10 + round);
            x[n + i] = v[i] + 0.5 * scatter((int)i, 20 + round);
            x[2 * n + i] = -x[n + i];
        }
        if (!evaluate(s, &list, 0, x, x + n, there) || !evaluate(s, &list, 0, x, x + 2 * n, back))
            answer = NH_UNKNOWN;
        for (size_t i = 0; answer == NH_YES && i < count; i++)
            if (!isfinite(there[i]) || !isfinite(back[i]))
                answer = NH_UNKNOWN;
            else if (!are_equal(there[i], back[i]) &&
                     (i < others || !are_equal(there[i], -back[i])))
                answer = NH_NO;
    }
    free(x);
    nh_expr_list_free(&list);
    return x ? answer : NH_UNKNOWN;
}

/* False when the rank of K could not be found. */
static bool rank_at(nh_mechanics *s, const double *q, const double *v, int *rank, int *dependent)
{
    nh_expr_list K = {0};
    size_t entries = (size_t)s->m * (size_t)s->n;
    if (entries > DENSE_RANK_MAX)
        return false;
    double *value = malloc((entries + 1) * sizeof *value);
    bool ok = value != NULL;
    for (int i = 0; ok && i < s->m; i++)
        for (int j = 0; ok && j < s->n; j++)
            ok = nh_expr_list_push(&K, nh_matrix_at(&s->K, i, j));
    if (!ok)
        nh_graph_fail(s->g);
    ok = ok && evaluate(s, &K, 0, q, v, value);
    for (size_t i = 0; ok && i < entries; i++)
        ok = isfinite(value[i]);
    if (ok)
        *rank = nh_dense_rank(s->m, s->n, value, 1e-10, dependent);
    nh_expr_list_free(&K);
    free(value);
    return ok;
}

static nh_status check_rank(nh_mechanics *s, const double *q, const double *v, nh_report *report)
{
    int rank, dependent;
    s->facts.rank = rank_at(s, q, v, &rank, &dependent) ? rank : -1;
    if (s->facts.rank < 0 || s->facts.rank == s->m)
        return NH_OK;
    /* Perhaps only the start is special: look beside it. */
    double *near = malloc(2 * ((size_t)s->n + 1) * sizeof *near);
    if (!near)
        return nh_fail_memory(report);
    for (int i = 0; i < s->n; i++) {
        near[i] = q[i] + 0.1 * scatter(i, 1);
        near[s->n + i] = v[i] + 0.1 * scatter(i, 2);
    }
    bool still = rank_at(s, near, near + s->n, &rank, &dependent) && rank < s->m;
    free(near);
    if (still)
        return nh_fail(
            report, NH_BAD_MODEL,
            "%s: the constraints depend on each other: '%s' follows from those before it "
            "(rank %d of %d); leave it out",
            s->problem->file, s->problem->constraint[dependent].name, rank, s->m);
    return NH_OK;
}

/* Nothing may change after a full revolution of an angle. */
static nh_status check_angles(nh_mechanics *s, const double *q, const double *v, nh_report *report)
{
    const nh_problem *problem = s->problem;
    nh_expr_list watched = {0};
    bool ok = list_deciding(s, &watched);
    size_t count = watched.count, n = (size_t)s->n;
    double *x = malloc((2 * n + 2 * count + 2) * sizeof *x);
    nh_status status = ok && x ? NH_OK : nh_fail_memory(report);
    for (int a = 0; status == NH_OK && a < problem->coordinates; a++) {
        if (!problem->angle[a])
            continue;
        for (size_t i = 0; i < n; i++) {
            x[i] = q[i] + 0.3 * scatter((int)i, 3);
            x[n + i] = v[i] + 0.7 * scatter((int)i, 4);
        }
        double *before = x + 2 * n, *after = before + count;
        ok = evaluate(s, &watched, 0.2, x, x + n, before);
        x[a] += 2 * 3.141592653589793;
        ok = ok && evaluate(s, &watched, 0.2, x, x + n, after);
        if (!ok)
            status = nh_fail_memory(report);
        for (size_t i = 0; ok && status == NH_OK && i < count; i++)
            if (fabs(after[i] - before[i]) > 1e-8 * (1 + fabs(before[i])))
                status =
                    nh_fail(report, NH_BAD_MODEL,
                            "%s: '%s' is declared an angle, but %s changes when it grows by 2 pi; "
                            "declare it without 'angle'",
                            problem->file, problem->coordinate_name[a],
                            i == 0 ? "the Lagrangian" : "a force or constraint");
        if (a >= 64)
            break; /* a family's angles are alike; each costs a pass over the whole model */
    }
    nh_expr_list_free(&watched);
    free(x);
    return status;
}

/* ---- what is conserved ---- */

static bool add_conserved(nh_mechanics *s, size_t *count, const char *format, const char *name)
{
    char **bigger = realloc(s->conserved, (*count + 2) * sizeof *bigger);
    if (!bigger)
        return false;
    s->conserved = bigger;
    size_t length = strlen(format) + strlen(name) + 1;
    bigger[*count] = malloc(length);
    bigger[*count + 1] = NULL;
    if (!bigger[*count])
        return false;
    snprintf(bigger[(*count)++], length, format, name);
    return true;
}

/* A momentum is kept when no force and no reaction acts on it. */
static bool list_conserved(nh_mechanics *s)
{
    size_t count = 0;
    bool *reacts = calloc((size_t)s->n + 1, sizeof *reacts), ok = reacts != NULL;
    for (int i = 0; ok && i < s->m; i++)
        for (size_t e = 0; e < s->K.row[i].count; e++)
            reacts[s->K.row[i].entry[e].index] = true;
    if (ok && s->facts.keeps_energy)
        ok = add_conserved(s, &count, "%s", "energy");
    if (ok && s->facts.coupled)
        ok = add_conserved(s, &count, "%s", "driver energy") &&
             add_conserved(s, &count, "%s", "passenger energy");
    for (int i = 0; ok && i < s->n && count < 1000; i++)
        if (s->F[i] == NH_ZERO && !reacts[i])
            ok = add_conserved(s, &count, "momentum of %s", s->problem->velocity_name[i]);
    free(reacts);
    return ok;
}

nh_status nh_mechanics_find_facts(nh_mechanics *s, nh_report *report)
{
    nh_facts *f = &s->facts;
    nh_graph *g = s->g;
    mass_facts(s);
    constraint_kinds(s);
    f->mechanical = is_mechanical(s);
    f->definite_mass = s->definite;
    f->has_frame = s->problem->frames > 0;
    f->reaction_is_linear = reaction_is_linear(s);
    f->autonomous = !nh_depends(g, s->problem->lagrangian, NH_TIME) &&
                    !any_depends(g, s->problem->force, s->n, NH_TIME) &&
                    !any_depends(g, s->k, s->m, NH_TIME);
    f->conservative = true;
    for (int i = 0; i < s->n; i++)
        f->conservative = f->conservative && s->problem->force[i] == NH_ZERO;
    f->keeps_energy = f->autonomous && f->conservative && reactions_do_no_work(s);
    f->mass_entries = (int)nh_matrix_entries(&s->mass);
    f->constraint_entries = (int)nh_matrix_entries(&s->K);
    f->driver = -1;
    f->coupled = nh_find_coupling(s);
    s->regular = nh_find_regularity(s);

    double *start = calloc(2 * ((size_t)s->n + 1), sizeof *start);
    if (!start || nh_graph_failed(g)) {
        free(start);
        return nh_fail_memory(report);
    }
    nh_status status = nh_problem_start(s->problem, NULL, start, start + s->n, report);
    if (status == NH_OK)
        status = check_angles(s, start, start + s->n, report);
    if (status == NH_OK)
        status = check_rank(s, start, start + s->n, report);
    if (status == NH_OK)
        status = nh_check_frame(s, start, report);
    if (status == NH_OK) {
        f->reversible = reversibility(s, start, start + s->n);
        nh_find_integrability(s, start, start + s->n);
        if (!list_conserved(s) || nh_graph_failed(g))
            status = nh_fail_memory(report);
    }
    free(start);
    return status;
}
