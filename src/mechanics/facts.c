/* Determines the properties of a system from the structure of the expressions and, where structure
 * is not sufficient, from values at a few points near the start. */
#include "mechanics/mechanics.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "mechanics/probe.h"
#include "mechanics/symmetries.h"

static bool any_depends(const nh_graph *g, const nh_expr *e, int count, nh_input kind)
{
    for (int i = 0; i < count; i++)
        if (nh_depends(g, e[i], kind))
            return true;
    return false;
}

/* A number, or an expression of named parameters alone, which do not change during a motion. */
static bool is_constant(const nh_graph *g, nh_expr e)
{
    static const nh_input varying[] = {NH_TIME, NH_Q, NH_V, NH_X, NH_U};
    bool constant = nh_is_number(g, e, NULL) || nh_depends(g, e, NH_P);
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++)
        constant = constant && !nh_depends(g, e, varying[i]);
    return constant;
}

static void mass_facts(nh_mechanics *s)
{
    nh_facts *f = &s->facts;
    f->constant_mass = s->mass_is_formed || s->tree_constant;
    f->diagonal_mass = s->mass_is_formed;
    for (int i = 0; i < s->n; i++)
        for (size_t e = 0; e < s->mass.row[i].count; e++) {
            nh_partial entry = s->mass.row[i].entry[e];
            f->constant_mass = f->constant_mass && is_constant(s->g, entry.value);
            f->diagonal_mass = f->diagonal_mass && entry.index == (uint32_t)i;
        }
    f->separable = f->constant_mass && !f->nonideal && !any_depends(s->g, s->rate, s->n, NH_V) &&
                   !any_depends(s->g, s->p, s->n, NH_Q) && !any_depends(s->g, s->p, s->n, NH_TIME);
}

/* p = M(q) v */
static bool is_mechanical(nh_mechanics *s)
{
    if (s->is_tree)
        return s->tree_homogeneous;
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

/* ---- energy ---- */

/* Zero on the graph, or as small as its round-off in every state tried. Where something has become
 * too small for a number, nothing is decided. */
static bool vanishes(nh_mechanics *s, nh_expr e)
{
    const double least = 1e-280; /* round-off of numbers; below it is that of the least of them */
    nh_probe probe;
    bool zero = true, seen = e == NH_ZERO;
    if (seen)
        return true;
    if (!nh_probe_init(&probe, s, 0, s->start, s->start + s->n)) {
        nh_graph_fail(s->g);
        return false;
    }
    for (int round = 0; zero && round < nh_probe_rounds(s, NH_ROUNDS); round++) {
        nh_bounded value;
        nh_probe_move(&probe, round);
        nh_inputs point = nh_probe_point(&probe);
        if (!nh_evaluate_bounded(s->g, &e, 1, &point, &value))
            nh_graph_fail(s->g);
        nh_answer significant = nh_graph_failed(s->g) ? NH_YES : nh_is_significant(value);
        zero = significant != NH_YES;
        seen = seen || (significant == NH_NO && (value.error == 0 || value.error > least));
    }
    nh_probe_free(&probe);
    return zero && seen;
}

/* Whether expressions cancel but for round-off. In a sum of them, what they have in common may have
 * been combined, and the last digits of numbers in the text remain as a small number of its own. */
static bool cancel(nh_mechanics *s, const nh_expr *e, int count)
{
    nh_probe probe;
    double *value = malloc(((size_t)count + 1) * sizeof *value);
    bool zero = value && nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    if (!zero) {
        nh_graph_fail(s->g);
        free(value);
        return false;
    }
    for (int round = 0; zero && round < nh_probe_rounds(s, NH_ROUNDS); round++) {
        double sum = 0, size = 0;
        nh_probe_move(&probe, round);
        const nh_inputs at = nh_probe_point(&probe);
        if (!nh_evaluate(s->g, e, (size_t)count, at.t, at.q, at.v, at.x, value))
            nh_graph_fail(s->g);
        for (int i = 0; i < count; i++) {
            sum += value[i];
            size += fabs(value[i]);
        }
        zero = fabs(sum) <= 16 * DBL_EPSILON * size; /* measured: 1 */
    }
    nh_probe_free(&probe);
    free(value);
    return zero;
}

/* power/k in a state where both are significant, rounded to the nearest twelfth; NaN: there is
 * none. */
static double degree_of_constraint(nh_mechanics *s, nh_expr power, nh_expr k)
{
    nh_probe probe;
    double degree = NAN;
    if (!nh_probe_init(&probe, s, 0, s->start, s->start + s->n)) {
        nh_graph_fail(s->g);
        return NAN;
    }
    for (int round = 0; isnan(degree) && round < NH_ROUNDS; round++) {
        nh_bounded value[2];
        nh_probe_move(&probe, round);
        nh_inputs point = nh_probe_point(&probe);
        if (!nh_evaluate_bounded(s->g, (nh_expr[]){power, k}, 2, &point, value))
            nh_graph_fail(s->g);
        else if (nh_is_significant(value[1]) == NH_YES && isfinite(value[0].value))
            degree = rint(12 * value[0].value / value[1].value) / 12;
    }
    nh_probe_free(&probe);
    return degree;
}

/* Reactions do no work if every k is homogeneous in v of degree d: K v = d k, so K v = 0 where
 * k = 0. */
static bool reactions_do_no_work(nh_mechanics *s, const nh_expr *v)
{
    bool idle = true;
    for (int i = 0; idle && i < s->m; i++) {
        if (s->kind[i] == NH_LINEAR)
            continue;
        nh_expr power = nh_row_apply(s->g, s->K.row + i, v);
        if (power == s->k[i] || power == nh_scale(s->g, 2, s->k[i]))
            continue;
        double degree = degree_of_constraint(s, power, s->k[i]);
        idle = isfinite(degree) &&
               vanishes(s, nh_subtract(s->g, power, nh_scale(s->g, degree, s->k[i])));
    }
    return idle;
}

/* Tests whether the energy is constant, in states on the constraints, with the accelerations there.
 * With too many velocities for that, only the expressions decide. */
static bool energy_stands_still(nh_mechanics *s)
{
    nh_motion motion;
    bool still = true;
    int tried = 0;
    if (s->n > NH_SYMMETRIES_MAX)
        return true;
    if (!nh_motion_init(&motion, s))
        nh_graph_fail(s->g);
    for (int i = 0; still && !nh_graph_failed(s->g) && i < 6; i++)
        if (nh_motion_at(&motion, i)) {
            still = fabs(motion.energy_rate) <= 1e-9 * motion.energy_size; /* measured: 1e-15 */
            tried++;
        }
    nh_motion_free(&motion);
    return still && tried > 0;
}

/* An input that is held jumps, and with it the velocities, if it is part of a constraint. */
static bool has_impulses(const nh_mechanics *s)
{
    bool held = false;
    for (int i = 0; i < s->problem->inputs; i++)
        held = held ||
               (s->problem->input[i].first >= 0 && s->problem->input[i].signal == NH_SIGNAL_HELD);
    return held && any_depends(s->g, s->k, s->m, NH_U);
}

/* E' = -dL/dt + f.v + lambda.K v */
static bool keeps_energy(nh_mechanics *s)
{
    nh_expr *v = malloc((2 * (size_t)s->n + 1) * sizeof *v), power = NH_ZERO;
    int forces = 0;
    if (!v || nh_depends(s->g, s->problem->lagrangian, NH_TIME) || has_impulses(s)) {
        if (!v)
            nh_graph_fail(s->g);
        free(v);
        return false;
    }
    for (int i = 0; i < s->n; i++) {
        v[i] = nh_variable(s->g, NH_V, (uint32_t)i);
        if (s->problem->force[i] != NH_ZERO) {
            v[s->n + forces] = nh_multiply(s->g, s->problem->force[i], v[i]);
            power = nh_add(s->g, power, v[s->n + forces++]);
        }
    }
    bool plain = s->facts.conservative && s->facts.autonomous && s->facts.linear;
    const bool powerless = vanishes(s, power) || (forces > 1 && cancel(s, v + s->n, forces));
    bool kept = powerless && reactions_do_no_work(s, v) && (plain || energy_stands_still(s));
    free(v);
    return kept;
}

/* Values of parameters that keep their names, other than the present ones, which may be special, as
 * a damping of zero is; those that follow from others do so. False without memory. */
static bool choose_parameters(nh_mechanics *s, double *value)
{
    const nh_problem *p = s->problem;
    bool ok = value != NULL;
    for (int i = 0; ok && i < p->parameters; i++) {
        const double own = p->parameter[i].value, other = 1 + 0.1 * nh_scatter(i, 0);
        if (nh_is_number(s->g, p->definition[i], NULL))
            value[i] = other * (own == 0 ? 0.1 : own);
        else
            ok = nh_evaluate(s->g, p->definition + i, 1, 0, NULL, NULL, NULL, value + i);
    }
    return ok;
}

/* Parameters that keep their names may vary: then it also has to be so with other values. */
static bool keeps_energy_always(nh_mechanics *s)
{
    bool kept = keeps_energy(s);
    if (!kept || !s->problem->definition)
        return kept;
    double *value = malloc(((size_t)s->problem->parameters + 1) * sizeof *value);
    const double *own = nh_graph_set_parameters(s->g, value);
    if (choose_parameters(s, value))
        kept = keeps_energy(s);
    else
        nh_graph_fail(s->g);
    nh_graph_set_parameters(s->g, own);
    free(value);
    return kept;
}

/* ---- reversibility: L and f even in v, every k even or odd ---- */

static bool push_friction(const nh_mechanics *s, nh_expr friction, nh_expr_list *list)
{
    nh_expr *one = malloc(((size_t)s->m + 1) * sizeof *one);
    for (int j = 0; one && j < s->m; j++)
        one[j] = NH_ONE;
    bool ok =
        one && nh_expr_list_push(list, nh_substitute(s->g, friction, NH_X, one, (size_t)s->m));
    free(one);
    return ok;
}

bool nh_list_deciding(const nh_mechanics *s, nh_expr_list *list)
{
    bool ok = nh_expr_list_push(list, s->problem->lagrangian);
    for (int i = 0; ok && i < s->n; i++)
        ok = s->problem->force[i] == NH_ZERO || nh_expr_list_push(list, s->problem->force[i]);
    for (int i = 0; ok && i < s->n; i++) /* with multipliers of 1 */
        ok = s->friction[i] == NH_ZERO || push_friction(s, s->friction[i], list);
    for (int i = 0; ok && i < s->m; i++)
        ok = nh_expr_list_push(list, s->k[i]);
    return ok;
}

/* f(v) + sign f(-v) as one expression, so that a small part is not hidden by a large even one. */
static nh_expr part_in_v(nh_mechanics *s, nh_expr e, const nh_expr *minus_v, double sign)
{
    nh_expr back = nh_substitute(s->g, e, NH_V, minus_v, (size_t)s->n);
    return nh_add(s->g, e, nh_scale(s->g, sign, back));
}

/* The odd parts of everything, followed by the even parts of the constraints. */
static bool list_parts(nh_mechanics *s, nh_expr_list *parts, size_t *all)
{
    nh_expr_list list = {0};
    nh_expr *minus_v = malloc(((size_t)s->n + 1) * sizeof *minus_v);
    bool ok = minus_v && nh_list_deciding(s, &list);
    *all = list.count;
    for (int i = 0; ok && i < s->n; i++)
        minus_v[i] = nh_negate(s->g, nh_variable(s->g, NH_V, (uint32_t)i));
    for (size_t i = 0; ok && i < list.count; i++)
        ok = nh_expr_list_push(parts, part_in_v(s, list.item[i], minus_v, -1));
    for (int i = 0; ok && i < s->m; i++)
        ok = nh_expr_list_push(parts, part_in_v(s, s->k[i], minus_v, 1));
    nh_expr_list_free(&list);
    free(minus_v);
    return ok;
}

/* NO if a part that should vanish does not in some state; exact where it is zero on the graph. */
static nh_answer reversibility(nh_mechanics *s)
{
    nh_expr_list parts = {0};
    nh_probe probe;
    size_t all = 0, m = (size_t)s->m;
    if (!s->facts.autonomous)
        return NH_NO;
    bool ready = nh_probe_init(&probe, s, 0, s->start, s->start + s->n);
    bool ok = list_parts(s, &parts, &all) && ready;
    nh_bounded *value = malloc((parts.count + 1) * sizeof *value);
    signed char *odd = calloc(parts.count + 1, 1); /* parts known not to vanish */
    bool seen = false;
    for (int round = 0; ok && value && odd && round < nh_probe_rounds(s, NH_ROUNDS); round++) {
        nh_probe_move(&probe, round);
        nh_inputs point = nh_probe_point(&probe);
        ok = nh_evaluate_bounded(s->g, parts.item, parts.count, &point, value);
        bool finite = true;
        for (size_t i = 0; ok && i < parts.count; i++) {
            nh_answer there = nh_is_significant(value[i]);
            odd[i] = odd[i] || there == NH_YES;
            finite = finite && there != NH_UNKNOWN;
        }
        seen = seen || finite;
    }
    nh_answer answer = seen ? NH_YES : NH_UNKNOWN;
    for (size_t i = 0; ok && odd && i < all; i++)
        if (odd[i] && (i < all - m || odd[i + m]))
            answer = NH_NO;
    if (!ok || !value || !odd)
        nh_graph_fail(s->g);
    if (ready)
        nh_probe_free(&probe);
    nh_expr_list_free(&parts);
    free(value);
    free(odd);
    return answer;
}

static nh_status check_rank(nh_mechanics *s, const double *q, const double *v, nh_report *report)
{
    nh_ranks ranks;
    if (nh_find_ranks(s, 0, q, v, NULL, false, &ranks) != NH_OK)
        return nh_fail_memory(report);
    s->facts.rank = ranks.constraints;
    if (s->facts.rank < 0 || s->facts.rank == s->m)
        return NH_OK;
    /* Perhaps only the start is special: try states near it. */
    nh_probe probe;
    if (!nh_probe_init(&probe, s, 0, q, v))
        return nh_fail_memory(report);
    bool still = true, seen = false;
    nh_status status = NH_OK;
    for (int round = 0; status == NH_OK && still && round < NH_NEAR; round++) {
        nh_ranks there;
        nh_probe_move(&probe, round);
        status = nh_find_ranks(s, probe.t, probe.q, probe.v, NULL, false, &there);
        if (status != NH_OK || there.constraints < 0)
            continue;
        still = there.constraints < s->m;
        ranks = there;
        seen = true;
    }
    still = still && seen;
    nh_probe_free(&probe);
    if (status != NH_OK)
        return nh_fail_memory(report);
    if (still)
        return nh_fail(
            report, NH_BAD_MODEL,
            "%s: the constraints depend on each other: '%s' follows from those before it "
            "(rank %d of %d); leave it out",
            s->problem->file, s->problem->constraint[ranks.dependent].name, ranks.constraints,
            s->m);
    return NH_OK;
}

/* ---- conserved quantities ---- */

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
    nh_print(bigger[(*count)++], length, format, name);
    return true;
}

/* A momentum is conserved if no force and no reaction acts on it. */
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
        if (s->F[i] == NH_ZERO && s->friction[i] == NH_ZERO && !reacts[i])
            ok = add_conserved(s, &count, "momentum of %s", s->problem->velocity_name[i]);
    free(reacts);
    return ok;
}

/* The requirements of leapfrog's invariant. Conditions on positions are excluded: they have
 * multipliers that the invariant does not carry from step to step. */
static bool is_quadratic(const nh_mechanics *s)
{
    const nh_facts *f = &s->facts;
    return f->separable && f->mechanical && f->autonomous && f->conservative && f->linear &&
           s->problem->coordinates == s->n && s->problem->positions == 0 &&
           nh_forces_are_linear(s, -1);
}

nh_status nh_mechanics_find_facts(nh_mechanics *s, nh_report *report)
{
    nh_facts *f = &s->facts;
    nh_graph *g = s->g;
    mass_facts(s);
    constraint_kinds(s);
    f->mechanical = is_mechanical(s);
    f->definite_mass = s->definite;
    /* the effect of an open input in a constraint on momenta is unknown */
    f->symmetries = s->n <= NH_SYMMETRIES_MAX && !any_depends(g, s->k, s->m, NH_U) && !f->nonideal;
    f->has_frame = s->problem->frames > 0;
    f->reaction_is_linear = reaction_is_linear(s);
    f->autonomous = !nh_depends(g, s->problem->lagrangian, NH_TIME) &&
                    !any_depends(g, s->problem->force, s->n, NH_TIME) &&
                    !any_depends(g, s->friction, s->n, NH_TIME) &&
                    !any_depends(g, s->k, s->m, NH_TIME);
    f->conservative = !f->nonideal;
    for (int i = 0; i < s->n; i++)
        f->conservative = f->conservative && s->problem->force[i] == NH_ZERO;
    f->mass_entries = s->mass_is_formed ? (int)nh_matrix_entries(&s->mass) : s->tree_entries;
    f->constraint_entries = (int)nh_matrix_entries(&s->K);
    f->driver = -1;
    f->coupled = nh_find_coupling(s);
    f->quadratic = f->coupled ? f->linear_passengers : is_quadratic(s);
    s->regular = nh_find_regularity(s);
    s->definite_everywhere = nh_is_definite_everywhere(s);

    double *start = s->start;
    if (nh_graph_failed(g))
        return nh_fail_memory(report);
    nh_status status = nh_problem_start(s->problem, NULL, 0, NULL, start, start + s->n, report);
    nh_graph_every_branch(g, true);
    if (status == NH_OK)
        status = nh_check_angles(s, report);
    nh_graph_every_branch(g, false);
    if (status == NH_OK)
        status = check_rank(s, start, start + s->n, report);
    if (status == NH_OK)
        status = nh_check_frame(s, start, report);
    nh_graph_every_branch(g, true);
    if (status == NH_OK) {
        f->constant_inertia = nh_has_constant_inertia(s);
        f->keeps_energy = !f->nonideal && keeps_energy_always(s);
        f->reversible = reversibility(s);
        nh_find_integrability(s);
        if (!list_conserved(s) || nh_graph_failed(g))
            status = nh_fail_memory(report);
    }
    nh_graph_every_branch(g, false);
    return status;
}
