/* Kinematic variables: coordinates whose rates are given in terms of velocities, such as
 * `g' = cross(g, w)`.
 *
 * Such a statement is the constraint s = g' - f = 0, linear in the velocities. By d'Alembert's
 * principle its reaction gives the velocities in f the force (df/dw)^T dL/dg, which is what an
 * advected vector contributes to the Euler-Poincare equations. The Lagrangian need not contain g':
 * it gets mu |s|^2/2, which vanishes together with its derivatives where s = 0, so that the mass
 * matrix is regular and the motion is the same. */
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/vector.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_linear(nh_builder *b, nh_expr f)
{
    nh_graph *g = b->problem->graph;
    nh_partials by_v;
    bool linear = true;
    if (!nh_expr_gradient(g, f, NH_V, &by_v))
        nh_build_memory(b);
    for (size_t i = 0; i < by_v.count; i++)
        linear &= !nh_depends(g, by_v.entry[i].value, NH_V);
    nh_partials_free(&by_v);
    return linear;
}

/* One equation: the velocity of coordinate `at` is f. */
static void drive(nh_builder *b, const nh_item *item, int64_t at, nh_expr f)
{
    nh_problem *p = b->problem;
    nh_given *given = &b->driven[at];
    if (given->place.line)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->place,
                                 "'%s' already has a value (line %d)", p->velocity_name[at],
                                 given->place.line);
    else if (!is_linear(b, f) && !b->x.status)
        b->x.status = nh_fail_at(b->report, &b->model->source, item->right->place,
                                 "'%s' must be linear in the velocities", p->velocity_name[at]);
    if (b->x.status)
        return;
    nh_expr rate = nh_variable(p->graph, NH_V, (uint32_t)at);
    b->drive[at] = f;
    given->place = item->place;
    nh_add_constraint(b, p->velocity_name[at], nh_subtract(p->graph, rate, f), item->place);
}

void nh_build_kinematics(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_family members = nh_expand_target(&b->x, item->left);
        bool whole = item->left->symbol->from && !item->left->child;
        nh_value given = nh_expand(&b->x, item->right);
        for (int64_t i = 0; i < members.count && !b->x.status; i++) {
            nh_value one = nh_member_value(&b->x, item->right, given, whole, i, members.count);
            nh_expr f = nh_value_expr(&b->x, one);
            if (!b->x.status)
                drive(b, item, members.first + i, f);
        }
    }
}

static nh_expr change_of_one(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    (void)g;
    return kind == NH_V && index == *(const uint32_t *)self ? NH_ONE : NH_ZERO;
}

/* The derivative of a momentum by one velocity. Of long machines in forward mode, which leaves out
 * the others, as many as the machine has. */
static bool find_mass(nh_builder *b, nh_expr momentum, uint32_t index, nh_expr *out)
{
    enum { MANY = 40 };
    nh_graph *g = b->problem->graph;
    nh_partials row;
    if (b->problem->velocities > MANY)
        return nh_tangents(g, &momentum, 1, change_of_one, &index, out);
    if (!nh_expr_gradient(g, momentum, NH_V, &row))
        return false;
    *out = nh_partial_of(&row, index);
    nh_partials_free(&row);
    return true;
}

double nh_mean_mass(nh_builder *b, const nh_partials *momenta, const double *q, const double *v,
                    int first, int count)
{
    nh_graph *g = b->problem->graph;
    double trace = 0, value = 0;
    for (int i = 0; i < count; i++) {
        uint32_t index = (uint32_t)(first + i);
        nh_expr second;
        if (!find_mass(b, nh_partial_of(momenta, index), index, &second))
            return 1;
        if (!nh_evaluate(g, &second, 1, 0, q, v, NULL, &value))
            nh_build_memory(b);
        trace += value;
    }
    double mean = trace / count;
    return isfinite(mean) && mean > 0 ? exp2(round(log2(mean))) : 1;
}

/* The velocities of driven coordinates start with the value of f, unless the model gives
 * another. */
static int start_driven(nh_builder *b)
{
    int driven = 0;
    for (int i = 0; i < b->problem->coordinates; i++) {
        driven += b->driven[i].place.line > 0;
        if (b->driven[i].place.line && !b->start_v[i].place.line)
            b->problem->start_v[i] = b->drive[i];
    }
    return driven;
}

void nh_add_kinematics(nh_builder *b)
{
    nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    size_t n = (size_t)p->coordinates, k = (size_t)p->velocities;
    if (b->x.status || start_driven(b) == 0)
        return;
    double *q = calloc(n + k + 1, sizeof *q);
    nh_partials momenta = {0};
    int culprit;
    b->built->start_nodes = nh_graph_size(g);
    nh_status status =
        q ? nh_start_state(b->built, NULL, 0, NULL, q, q + n, &culprit) : NH_NO_MEMORY;
    if (status == NH_NO_MEMORY || !nh_expr_gradient(g, p->lagrangian, NH_V, &momenta))
        nh_build_memory(b);
    double mu = b->x.status ? 1 : nh_mean_mass(b, &momenta, q, q + n, 0, (int)k);
    for (int i = 0; i < p->coordinates && !b->x.status; i++)
        if (b->driven[i].place.line) {
            nh_expr s = nh_subtract(g, nh_variable(g, NH_V, (uint32_t)i), b->drive[i]);
            p->lagrangian = nh_add(g, p->lagrangian, nh_scale(g, mu / 2, nh_multiply(g, s, s)));
        }
    nh_partials_free(&momenta);
    free(q);
}
