/* Rotations: attitudes without singularities.
 *
 * `rotation R` is four coordinates p = (R.0, R.1, R.2, R.3), a unit quaternion with the scalar
 * first, with the condition (|p|^2 - 1)/2 = 0. R in an expression is the matrix from body to space,
 * a polynomial in p. Matrices known to be rotations carry their quaternion: that of R is p, that of
 * turn(axis, angle) is (cos(angle/2), sin(angle/2) axis), and products and transposes inherit
 * theirs. The angular velocity of such a matrix in body axes is
 *     2 (p0 u' - u p0' - u x u')        with u = (p1, p2, p3),
 * with + before the last term in space axes.
 *
 * The prime of an expression uses p' = p (0, w)/2, with w as above, so a radial velocity moves
 * nothing, and tangential and radial motions are not coupled in the mass matrix.
 *
 * The kinetic energy does not depend on the radial velocity, so 2 mu (p.p')^2 is added to the
 * Lagrangian, with mu of the size of the moments of inertia; motions on the sphere do not depend on
 * it. */
#include "model/build.h"
#include "model/arithmetic.h"
#include "model/vector.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const nh_value zero = {0}, one = {.number = 1}, minus_one = {.number = -1},
                      two = {.number = 2};

/* ---- arithmetic of single values ---- */

static nh_value times(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b)
{
    return nh_sum_of_products(x, ast, &a, &b, 1, 1);
}

static nh_value negated(nh_expander *x, const nh_ast *ast, nh_value a)
{
    return times(x, ast, minus_one, a);
}

/* a b + c d */
static nh_value two_products(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b, nh_value c,
                             nh_value d)
{
    const nh_value left[] = {a, c}, right[] = {b, d};
    return nh_sum_of_products(x, ast, left, right, 1, 2);
}

/* ---- quaternions ---- */

/* p o q, the quaternion of the product of their matrices. */
static void product(nh_expander *x, const nh_ast *ast, const nh_value *p, const nh_value *q,
                    nh_value *out)
{
    static const struct {
        int with, sign;
    } of[4][4] = {{{0, 1}, {1, -1}, {2, -1}, {3, -1}},
                  {{1, 1}, {0, 1}, {3, 1}, {2, -1}},
                  {{2, 1}, {3, -1}, {0, 1}, {1, 1}},
                  {{3, 1}, {2, 1}, {1, -1}, {0, 1}}};
    for (int i = 0; i < 4; i++) {
        nh_value left[4], right[4];
        for (int k = 0; k < 4; k++) {
            left[k] = of[i][k].sign < 0 ? negated(x, ast, p[k]) : p[k];
            right[k] = q[of[i][k].with];
        }
        out[i] = nh_sum_of_products(x, ast, left, right, 1, 4);
    }
}

static void give_quaternion(nh_expander *x, nh_value *matrix, const nh_value *p)
{
    matrix->quaternion = nh_vector(x, 4, 0, p).entry;
}

void nh_product_quaternion(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b, nh_value *out)
{
    nh_value p[4];
    if (!a.quaternion || !b.quaternion || x->status)
        return;
    product(x, ast, a.quaternion, b.quaternion, p);
    give_quaternion(x, out, p);
}

void nh_transpose_quaternion(nh_expander *x, const nh_ast *ast, nh_value a, nh_value *out)
{
    if (!a.quaternion || x->status)
        return;
    const nh_value *p = a.quaternion;
    const nh_value conjugate[] = {p[0], negated(x, ast, p[1]), negated(x, ast, p[2]),
                                  negated(x, ast, p[3])};
    give_quaternion(x, out, conjugate);
}

/* Makes the entries hinges: expressions are built from them without taking them apart. */
static void make_hinges(nh_expander *x, const nh_value *entry, int count)
{
    for (int i = 0; i < count && !x->status; i++)
        if (entry[i].symbolic)
            nh_make_hinge(x->graph, entry[i].expr);
}

/* The matrix of a quaternion, as a homogeneous polynomial, which is also defined off the sphere. */
static nh_value matrix_of(nh_expander *x, const nh_ast *ast, const nh_value *p)
{
    nh_value entry[9], square[4];
    for (int i = 0; i < 4; i++)
        square[i] = times(x, ast, p[i], p[i]);
    for (int i = 0; i < 3; i++) {
        nh_value sign[] = {one, minus_one, minus_one, minus_one};
        sign[1 + i] = one;
        entry[4 * i] = nh_sum_of_products(x, ast, sign, square, 1, 4);
        int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_value outer = times(x, ast, p[1 + i], p[1 + j]), inner = times(x, ast, p[0], p[1 + k]);
        entry[3 * i + j] = times(x, ast, two, two_products(x, ast, one, outer, minus_one, inner));
        entry[3 * j + i] = times(x, ast, two, two_products(x, ast, one, outer, one, inner));
    }
    make_hinges(x, entry, 9);
    nh_value matrix = nh_vector(x, 3, 3, entry);
    give_quaternion(x, &matrix, p);
    return x->status ? zero : matrix;
}

/* The axial vector of a^T b - b^T a. */
nh_value nh_turn_between(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b)
{
    nh_value turn[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_value left[6], right[6];
        for (int l = 0; l < 3; l++) {
            left[l] = a.entry[3 * l + k];
            right[l] = b.entry[3 * l + j];
            left[3 + l] = negated(x, ast, a.entry[3 * l + j]);
            right[3 + l] = b.entry[3 * l + k];
        }
        turn[i] = nh_sum_of_products(x, ast, left, right, 1, 6);
    }
    return nh_vector(x, 3, 0, turn);
}

/* ---- names of rotations ---- */

nh_value nh_rotation_value(nh_expander *x, const nh_ast *ast, int64_t first)
{
    nh_value p[4];
    for (int i = 0; i < 4 && !x->status; i++)
        p[i] = nh_as_value(x, ast, nh_variable(x->graph, NH_Q, (uint32_t)(first + i)));
    return x->status ? zero : matrix_of(x, ast, p);
}

nh_value nh_expand_rotation(nh_expander *x, const nh_ast *ast)
{
    if (!x->graph || !x->families_settled) {
        FAIL(x, ast->place, "'%s' is a rotation; expected numbers and parameters", ast->name);
        return zero;
    }
    bool family = ast->symbol->from != NULL;
    nh_family member = nh_expand_target(x, ast);
    nh_value matrix = nh_rotation_value(x, ast, member.first);
    return family ? matrix : nh_component(x, ast, matrix, ast->child);
}

/* ---- functions of rotations ---- */

/* The derivative of a component of a quaternion. Radial velocities do not contribute to angular
 * ones. */
static nh_value plain_rate(nh_expander *x, const nh_ast *ast, nh_value part)
{
    if (!part.symbolic)
        return zero;
    const nh_expr rate = nh_total_derivative(x->graph, part.expr);
    if (!nh_depends(x->graph, part.expr, NH_U))
        nh_note_rate(x->graph, part.expr, rate, true);
    return nh_as_value(x, ast, rate);
}

/* 2 (p0 u' - u p0' -+ u x u') */
static nh_value angular_velocity(nh_expander *x, const nh_ast *call, nh_value matrix, double sign)
{
    if (!matrix.quaternion) {
        FAIL(x, call->child->place, "%s takes a rotation, found %s", call->name,
             nh_value_shape(matrix).text);
        return zero;
    }
    const nh_value *p = matrix.quaternion;
    nh_value rate[4], entry[3];
    for (int i = 0; i < 4; i++)
        rate[i] = plain_rate(x, call->child, p[i]);
    for (int i = 0; i < 3 && !x->status; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_value side = nh_number_value(sign);
        const nh_value left[] = {p[0], negated(x, call, p[1 + i]), times(x, call, side, p[1 + j]),
                                 negated(x, call, times(x, call, side, p[1 + k]))};
        const nh_value right[] = {rate[1 + i], rate[0], rate[1 + k], rate[1 + j]};
        entry[i] = nh_sum_of_products(x, call, left, right, 1, 4);
    }
    if (!x->status && p[0].symbolic && nh_look(x->graph, p[0].expr).kind == NH_INPUT)
        make_hinges(x, entry, 3); /* without the factor, so that derivatives need not repeat it */
    for (int i = 0; i < 3 && !x->status; i++)
        entry[i] = times(x, call, two, entry[i]);
    return x->status ? zero : nh_vector(x, 3, 0, entry);
}

nh_value nh_body_rate(nh_expander *x, const nh_ast *call, const nh_value *matrix)
{
    return angular_velocity(x, call, *matrix, -1);
}

nh_value nh_space_rate(nh_expander *x, const nh_ast *call, const nh_value *matrix)
{
    return angular_velocity(x, call, *matrix, 1);
}

/* The axis, normalised to length 1. */
static nh_value unit_axis(nh_expander *x, const nh_ast *call, nh_value axis)
{
    if (axis.rows != 3 || axis.columns)
        FAIL(x, call->child->place, "turn takes an axis of length 3 and an angle, found %s",
             nh_value_shape(axis).text);
    if (x->status)
        return zero;
    nh_value length = nh_norm(x, call, &axis);
    if (!x->status && !length.symbolic && length.number == 0)
        FAIL(x, call->child->place, "the axis of this turn is zero");
    if (x->status)
        return zero;
    nh_value inverse = length.symbolic
                           ? nh_as_value(x, call, nh_divide(x->graph, NH_ONE, length.expr))
                           : nh_number_value(nh_over(x->labels, 1, length.number));
    return nh_scaled(x, call, inverse, axis);
}

/* cos(a) 1 + sin(a) [n]x + (1 - cos(a)) n n^T */
nh_value nh_turn(nh_expander *x, const nh_ast *call, const nh_value *argument)
{
    nh_value axis = unit_axis(x, call, argument[0]), angle = argument[1];
    if (!nh_is_single(angle))
        FAIL(x, call->child->next->place, "turn takes an axis of length 3 and an angle, found %s",
             nh_value_shape(angle).text);
    if (x->status)
        return zero;
    const nh_value *n = axis.entry;
    nh_value half = times(x, call, nh_number_value(0.5), angle);
    nh_value c = nh_function_of(x, call, NH_COS, angle, zero),
             s = nh_function_of(x, call, NH_SIN, angle, zero);
    nh_value rest = two_products(x, call, one, one, minus_one, c), entry[9], p[4];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_value outer = times(x, call, n[i], n[j]), along = times(x, call, n[i], n[i]);
        entry[4 * i] = two_products(x, call, one, c, rest, along);
        entry[3 * i + j] = two_products(x, call, rest, outer, negated(x, call, n[k]), s);
        entry[3 * j + i] = two_products(x, call, rest, outer, n[k], s);
        p[1 + i] = times(x, call, nh_function_of(x, call, NH_SIN, half, zero), n[i]);
    }
    p[0] = nh_function_of(x, call, NH_COS, half, zero);
    nh_value matrix = nh_vector(x, 3, 3, entry);
    give_quaternion(x, &matrix, p);
    return x->status ? zero : matrix;
}

/* Familiar angles: R = turn about z by yaw, then about the new y by pitch, then about the new x by
 * roll. */
static nh_value direction(nh_expander *x, const nh_ast *call, nh_value up, nh_value along)
{
    return nh_function_of(x, call, NH_ATAN2, up, along);
}

static bool check_matrix(nh_expander *x, const nh_ast *call, const nh_value *m)
{
    if (m->rows != 3 || m->columns != 3)
        FAIL(x, call->child->place, "%s takes a rotation, found %s", call->name,
             nh_value_shape(*m).text);
    return !x->status;
}

nh_value nh_yaw(nh_expander *x, const nh_ast *call, const nh_value *m)
{
    return check_matrix(x, call, m) ? direction(x, call, m->entry[3], m->entry[0]) : zero;
}

nh_value nh_roll(nh_expander *x, const nh_ast *call, const nh_value *m)
{
    return check_matrix(x, call, m) ? direction(x, call, m->entry[7], m->entry[8]) : zero;
}

nh_value nh_pitch(nh_expander *x, const nh_ast *call, const nh_value *m)
{
    if (!check_matrix(x, call, m))
        return zero;
    nh_value across = two_products(x, call, m->entry[7], m->entry[7], m->entry[8], m->entry[8]);
    nh_value length = nh_square_root(x, call, across);
    return direction(x, call, negated(x, call, m->entry[6]), length);
}

/* ---- start values ---- */

/* The quaternion of a rotation's start value: that of a product of turns, or four numbers. */
bool nh_start_quaternion(nh_expander *x, const nh_ast *ast, nh_value value, nh_value *p)
{
    const nh_value *from = value.rows == 4 && !value.columns ? value.entry : value.quaternion;
    if (!from)
        FAIL(x, ast->place,
             "expected a rotation such as turn((0, 0, 1), pi/2) or its quaternion, found %s",
             nh_value_shape(value).text);
    for (int i = 0; i < 4 && !x->status; i++)
        p[i] = from[i];
    return !x->status;
}

/* p' = p o (0, w)/2 for an angular velocity in body axes, (0, w) o p/2 in space axes. */
bool nh_start_rate(nh_expander *x, const nh_ast *ast, nh_value w, bool space, const nh_value *p,
                   nh_value *rate)
{
    if (w.rows != 3 || w.columns)
        FAIL(x, ast->place, "expected an angular velocity, which is a vector of length 3, found %s",
             nh_value_shape(w).text);
    if (x->status)
        return false;
    const nh_value pure[] = {zero, w.entry[0], w.entry[1], w.entry[2]};
    product(x, ast, space ? pure : p, space ? p : pure, rate);
    for (int i = 0; i < 4; i++)
        rate[i] = times(x, ast, nh_number_value(0.5), rate[i]);
    return !x->status;
}

/* ---- what a rotation adds to a model ---- */

/* a b - c d */
static nh_expr two_by_two(nh_graph *g, nh_expr a, nh_expr b, nh_expr c, nh_expr d)
{
    nh_expr second = nh_scale(g, -1, nh_multiply(g, c, d));
    return nh_add(g, nh_multiply(g, a, b), second);
}

/* p (0, w)/2, where w is the body rate of (p, p'). */
static void tangential_rate(nh_graph *g, uint32_t first, nh_expr *rate)
{
    nh_expr p[4], v[4], w[3], along = NH_ZERO;
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = nh_variable(g, NH_Q, first + i);
        v[i] = nh_variable(g, NH_V, first + i);
    }
    for (int i = 0; i < 3; i++) {
        nh_expr across = two_by_two(g, p[1 + (i + 1) % 3], v[1 + (i + 2) % 3], p[1 + (i + 2) % 3],
                                    v[1 + (i + 1) % 3]);
        across = nh_scale(g, -1, across);
        w[i] = nh_scale(g, 2, nh_add(g, two_by_two(g, p[0], v[1 + i], p[1 + i], v[0]), across));
        along = nh_add(g, along, nh_multiply(g, p[1 + i], w[i]));
    }
    rate[0] = nh_scale(g, -0.5, along);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_expr across = two_by_two(g, p[1 + j], w[k], p[1 + k], w[j]);
        rate[1 + i] = nh_scale(g, 0.5, nh_add(g, nh_multiply(g, p[0], w[i]), across));
    }
}

/* R' = R [w]: the rate of every row of R is its cross product with the body rate. */
static void matrix_rates(nh_builder *b, const nh_rotation *rotation, nh_known_rate *known)
{
    const nh_ast here = {.place = rotation->place};
    nh_expander *x = &b->x;
    nh_value R = nh_rotation_value(x, &here, rotation->first);
    nh_value w = x->status ? zero : nh_body_rate(x, &here, &R);
    for (int e = 0; e < 9 && !x->status; e++) {
        const nh_value *row = R.entry + e / 3 * 3;
        int j = (e + 1) % 3, k = (e + 2) % 3;
        nh_expr rate =
            two_by_two(x->graph, row[j].expr, w.entry[k].expr, row[k].expr, w.entry[j].expr);
        known[e] = (nh_known_rate){R.entry[e].expr, rate, true};
    }
}

void nh_build_rates(nh_builder *b)
{
    nh_problem *p = b->problem;
    if (p->rotations == 0 || b->x.status)
        return;
    nh_expr *rate = nh_build_take(b, p->coordinates, sizeof *rate);
    nh_known_rate *known = nh_build_take(b, 9 * p->rotations, sizeof *known);
    for (int i = 0; i < p->coordinates && !b->x.status; i++)
        rate[i] = nh_variable(p->graph, NH_V, (uint32_t)i);
    for (int r = 0; r < p->rotations && !b->x.status; r++) {
        tangential_rate(p->graph, (uint32_t)p->rotation[r].first, rate + p->rotation[r].first);
        matrix_rates(b, &p->rotation[r], known + 9 * r);
    }
    b->x.rates = (nh_rates){rate, known, 9 * (size_t)p->rotations};
}

static nh_expr square_of_sum(nh_graph *g, int first, nh_input with)
{
    nh_expr sum = NH_ZERO;
    for (int i = 0; i < 4; i++) {
        uint32_t index = (uint32_t)(first + i);
        nh_expr p = nh_variable(g, NH_Q, index), other = nh_variable(g, with, index);
        sum = nh_add(g, sum, nh_multiply(g, p, other));
    }
    return sum;
}

static void add_rotation(nh_builder *b, const nh_partials *momenta, const double *q,
                         const double *v, const nh_rotation *rotation)
{
    nh_problem *p = b->problem;
    nh_graph *g = p->graph;
    char name[NH_NAME_LONGEST + 48];
    /* the Hessian of L in p' is 4 E^T J E with trace 4 trace(J): 4/3 of its mean is the mean of
     * J */
    double mu = nh_mean_mass(b, momenta, q, v, rotation->first, 4);
    nh_expr radial = square_of_sum(g, rotation->first, NH_V);
    nh_make_hinge(g, radial);
    p->lagrangian = nh_add(g, p->lagrangian, nh_scale(g, 2 * mu, nh_multiply(g, radial, radial)));
    nh_expr length = square_of_sum(g, rotation->first, NH_Q);
    nh_expr condition = nh_scale(g, 0.5, nh_subtract(g, length, NH_ONE));
    snprintf(name, sizeof name, "|%s| = 1", rotation->name);
    nh_add_constraint(b, nh_build_copy(b, name), condition, rotation->place);
}

void nh_build_rotations(nh_builder *b)
{
    nh_problem *p = b->problem;
    size_t n = (size_t)p->coordinates, k = (size_t)p->velocities;
    if (p->rotations == 0 || b->x.status)
        return;
    double *q = calloc(n + k + 1, sizeof *q);
    nh_partials momenta = {0};
    int culprit;
    b->built->start_nodes = nh_graph_size(p->graph);
    nh_status status =
        q ? nh_start_state(b->built, NULL, 0, NULL, q, q + n, &culprit) : NH_NO_MEMORY;
    if (status == NH_NO_MEMORY || !nh_expr_gradient(p->graph, p->lagrangian, NH_V, &momenta))
        nh_build_memory(b);
    for (int i = 0; i < p->rotations && !b->x.status; i++)
        add_rotation(b, &momenta, q, q + n, &p->rotation[i]);
    nh_partials_free(&momenta);
    free(q);
}
