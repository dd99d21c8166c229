/* Forces that are not assigned to a single coordinate: friction from Rayleigh's function D,
 * -dD/dv_i, and forces with power F.u, where u is the velocity of a point or a rotation: F.du/dv_i.
 * They are added to those of the force statements. */
#include "model/arithmetic.h"
#include "model/build.h"
#include "model/vector.h"

#include "base/status.h"

#include <inttypes.h>

static void add_force(nh_builder *b, const nh_partials *by_v, nh_expr factor)
{
    nh_graph *g = b->problem->graph;
    for (size_t i = 0; i < by_v->count; i++) {
        nh_expr *sum = &b->added_force[by_v->entry[i].index];
        *sum = nh_add(g, *sum, nh_multiply(g, factor, by_v->entry[i].value));
    }
}

static void add_power(nh_builder *b, nh_expr velocity, nh_expr force)
{
    nh_partials by_v;
    if (!nh_expr_gradient(b->problem->graph, velocity, NH_V, &by_v)) {
        nh_build_memory(b);
        return;
    }
    add_force(b, &by_v, force);
    nh_partials_free(&by_v);
}

void nh_build_dissipation(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    nh_expr function = nh_expand_expr(&b->x, s->item->right);
    if (function != NH_ZERO && !b->x.status && !nh_depends(b->problem->graph, function, NH_V))
        b->x.status =
            nh_fail_at(b->report, &b->model->source, s->item->right->place,
                       "a dissipation function must depend on velocities; this one does not");
    if (!b->x.status)
        add_power(b, function, nh_number(b->problem->graph, -1));
}

void nh_build_force_on(nh_builder *b, const nh_ast *ast, nh_value velocity, nh_value force)
{
    if (!nh_same_shape(velocity, force) && !b->x.status)
        b->x.status = nh_fail_at(b->report, &b->model->source, ast->place,
                                 "expected %s, like the velocity, found %s",
                                 nh_value_shape(velocity).text, nh_value_shape(force).text);
    bool single = nh_is_single(velocity);
    for (int64_t i = 0; i < (single ? 1 : nh_value_entries(velocity)) && !b->x.status; i++) {
        nh_expr acting = nh_value_expr(&b->x, single ? force : force.entry[i]);
        add_power(b, nh_value_expr(&b->x, single ? velocity : velocity.entry[i]), acting);
    }
}

static void check_point(nh_builder *b, const nh_ast *ast, nh_value point)
{
    bool moving = false, single = nh_is_single(point);
    for (int64_t i = 0; i < (single ? 1 : nh_value_entries(point)) && !b->x.status; i++)
        moving |= nh_depends(b->problem->graph,
                             nh_value_expr(&b->x, single ? point : point.entry[i]), NH_V);
    if (point.columns && !b->x.status)
        b->x.status =
            nh_fail_at(b->report, &b->model->source, ast->place,
                       "expected a point, which is a vector, found %s", nh_value_shape(point).text);
    else if (moving)
        b->x.status = nh_fail_at(b->report, &b->model->source, ast->place,
                                 "this point depends on velocities; expected one that depends on "
                                 "time and positions only");
}

void nh_build_force_at(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_value point = nh_expand(&b->x, item->left), force = nh_expand(&b->x, item->right);
        check_point(b, item->left, point);
        if (!b->x.status)
            nh_build_force_on(b, item->right, nh_time_derivative(&b->x, item->left, point), force);
    }
}

void nh_add_forces(nh_builder *b)
{
    nh_problem *p = b->problem;
    for (int i = 0; i < p->velocities && !b->x.status; i++)
        p->force[i] = nh_add(p->graph, p->force[i], b->added_force[i]);
}
