/* Vector equations with one redundant component, which is not always the same one.
 *
 * Two bodies on a hinge have a common axis, R a = S b: three equations, of which two suffice, since
 * vectors of equal length differ only at right angles to their direction. A ball that rolls in a
 * bowl has v + w x r = 0, whose part along the normal already follows from the bowl. Which
 * component can be left out changes with the motion: if the same one were always left out, the
 * others would become dependent when the axis, or the normal, has turned by a right angle. So
 * combinations are kept: u.g and v.g of the components g, with u and v perpendicular to the
 * direction d that is redundant.
 *     d is fixed to a body:  u and v are fixed to it too.
 *     d is the gradient of a condition, the normal of a wall:  u = e x d and v = d x u, with an
 *     axis e of space that d stays away from: one perpendicular to which it begins to turn.
 * For two components, u = (-d2, d1). */
#include "mechanics/turning.h"

#include <math.h>
#include <string.h>

static const double parallel = 1e-10; /* squared sine of an angle that counts as zero */

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool are_parallel(const double *a, const double *b)
{
    const double lengths = dot(a, a) * dot(b, b), along = dot(a, b);
    return lengths > 0 && lengths - along * along <= parallel * lengths;
}

bool nh_share_stays(const nh_dependence *d)
{
    for (int k = 1; k < d->places; k++)
        if (!are_parallel(d->share, d->share + 3 * k))
            return false;
    return true;
}

/* ---- directions ---- */

typedef struct directions {
    int count;
    nh_expr of[2][3];
} directions;

static nh_expr sum_of_products(nh_graph *g, const nh_expr *a, const nh_expr *b, int count)
{
    nh_expr term[3];
    for (int i = 0; i < count; i++)
        term[i] = nh_multiply(g, a[i], b[i]);
    return nh_sum(g, term, (size_t)count);
}

static void cross(nh_graph *g, const nh_expr *a, const nh_expr *b, nh_expr *out)
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = nh_subtract(g, nh_multiply(g, a[j], b[k]), nh_multiply(g, a[k], b[j]));
    }
}

/* The matrix of a rotation, as the expressions of a model contain it (model/rotation.c). */
static void matrix_of(nh_graph *g, int first, nh_expr *matrix)
{
    nh_expr p[4], square[4];
    for (int i = 0; i < 4; i++) {
        p[i] = nh_variable(g, NH_Q, (uint32_t)(first + i));
        square[i] = nh_multiply(g, p[i], p[i]);
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_expr term[4] = {square[0]};
        for (int c = 1; c < 4; c++)
            term[c] = c == 1 + i ? square[c] : nh_negate(g, square[c]);
        matrix[4 * i] = nh_sum(g, term, 4);
        const nh_expr outer = nh_multiply(g, p[1 + i], p[1 + j]),
                      inner = nh_multiply(g, p[0], p[1 + k]);
        matrix[3 * i + j] = nh_scale(g, 2, nh_subtract(g, outer, inner));
        matrix[3 * j + i] = nh_scale(g, 2, nh_add(g, outer, inner));
    }
    for (int i = 0; i < 9; i++)
        nh_make_hinge(g, matrix[i]);
}

/* Whether the share is a constant vector c in the body. */
static bool is_fixed_to(const nh_problem *p, const nh_dependence *d, const nh_expr *matrix,
                        double *c)
{
    for (int k = 0; k < d->places; k++) {
        const double *q = d->q + k * p->coordinates, *share = d->share + 3 * k;
        double R[9], here[3];
        if (!nh_evaluate(p->graph, matrix, 9, d->t[k], q, NULL, NULL, R))
            return false;
        for (int i = 0; i < 3; i++)
            here[i] = R[i] * share[0] + R[3 + i] * share[1] + R[6 + i] * share[2];
        if (k == 0)
            memcpy(c, here, sizeof here);
        else if (!are_parallel(c, here))
            return false;
    }
    return d->places > 0;
}

/* Two vectors perpendicular to c and to each other; coordinate axes if c is one. */
static void across(const double *c, double b[2][3])
{
    int most = 0;
    for (int i = 1; i < 3; i++)
        most = fabs(c[i]) > fabs(c[most]) ? i : most;
    const double length = sqrt(dot(c, c));
    double along[3];
    for (int i = 0; i < 3; i++)
        along[i] = fabs(c[i]) > 1e-9 * length ? c[i] / length : 0;
    for (int j = 0; j < 2; j++) {
        double *e = b[j], part = 0;
        memset(e, 0, 3 * sizeof *e);
        e[(most + 1 + j) % 3] = 1;
        for (int before = -1; before < j; before++) {
            const double *other = before < 0 ? along : b[before];
            part = dot(e, other) / dot(other, other);
            for (int i = 0; i < 3; i++)
                e[i] -= part * other[i];
        }
    }
}

static bool fixed_directions(nh_problem *p, const nh_dependence *d, directions *out)
{
    double c[3], b[2][3];
    for (int r = 0; r < p->rotations && d->components == 3; r++) {
        nh_expr matrix[9], factor[3];
        matrix_of(p->graph, p->rotation[r].first, matrix);
        if (nh_graph_failed(p->graph) || !is_fixed_to(p, d, matrix, c))
            continue;
        across(c, b);
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 3; i++) {
                for (int k = 0; k < 3; k++)
                    factor[k] = nh_number(p->graph, b[j][k]);
                out->of[j][i] = sum_of_products(p->graph, matrix + 3 * i, factor, 3);
            }
        out->count = 2;
        return true;
    }
    return false;
}

/* ---- the normal of a condition ---- */

/* Columns in which the rows of the components are numbers, as independent as possible; `inverse` is
 * the transposed inverse of this block. */
typedef struct block {
    uint32_t column[3];
    double inverse[3][3];
} block;

/* Adds a column to the block if it is independent of those before it: one step of Gauss-Jordan
 * elimination, which keeps `inverse` the inverse of the block. */
static bool take_column(block *b, int have, int size, uint32_t column, const double *entry)
{
    double reduced[3] = {0};
    int most = have;
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++)
            reduced[i] += b->inverse[i][k] * entry[k];
    for (int i = have + 1; i < size; i++)
        most = fabs(reduced[i]) > fabs(reduced[most]) ? i : most;
    double size_of = 0;
    for (int k = 0; k < size; k++)
        size_of = fmax(size_of, fabs(entry[k]));
    if (!(fabs(reduced[most]) > 1e-6 * size_of))
        return false;
    double row[3];
    memcpy(row, b->inverse[most], sizeof row);
    memcpy(b->inverse[most], b->inverse[have], sizeof row);
    const double pivot = reduced[most];
    reduced[most] = reduced[have];
    for (int k = 0; k < size; k++)
        b->inverse[have][k] = row[k] / pivot;
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size && i != have; k++)
            b->inverse[i][k] -= reduced[i] * b->inverse[have][k];
    b->column[have] = column;
    return true;
}

static bool find_block(nh_problem *p, const nh_dependence *d, const nh_partials *row, block *b)
{
    const int size = d->components;
    int have = 0;
    *b = (block){.inverse = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int j = 0; j < p->velocities && have < size; j++) {
        double entry[3] = {0};
        bool numbers = true;
        for (int i = 0; i < size; i++)
            numbers =
                numbers && nh_is_number(p->graph, nh_partial_of(row + i, (uint32_t)j), entry + i);
        have += numbers && take_column(b, have, size, (uint32_t)j, entry);
    }
    return have == size;
}

/* Whether an expression for the share has the right direction at all places. */
static bool agrees(const nh_problem *p, const nh_dependence *d, const nh_expr *share)
{
    for (int k = 0; k < d->places; k++) {
        double value[3] = {0};
        if (!nh_evaluate(p->graph, share, (size_t)d->components, d->t[k], d->q + k * p->coordinates,
                         NULL, NULL, value) ||
            !are_parallel(value, d->share + 3 * k))
            return false;
    }
    return true;
}

/* The share for which share . K = G in the block's columns, where G is the gradient of a condition
 * and K that of the components. */
static bool share_of_condition(nh_problem *p, const nh_dependence *d, const block *b,
                               nh_expr condition, nh_expr *share)
{
    nh_graph *g = p->graph;
    nh_partials normal;
    if (!nh_expr_gradient(g, condition, NH_V, &normal))
        return false;
    bool found = true;
    for (int i = 0; i < d->components; i++) {
        nh_expr term[3];
        for (int c = 0; c < d->components; c++)
            term[c] = nh_scale(g, b->inverse[c][i], nh_partial_of(&normal, b->column[c]));
        share[i] = nh_sum(g, term, (size_t)d->components);
        found = found && !nh_depends(g, share[i], NH_V);
    }
    nh_partials_free(&normal);
    return found && !nh_graph_failed(g) && agrees(p, d, share);
}

static bool find_share(nh_problem *p, const nh_dependence *d, nh_expr *share)
{
    nh_partials row[3] = {0};
    block b;
    bool ready = true, found = false;
    for (int i = 0; i < d->components; i++)
        ready =
            ready && nh_expr_gradient(p->graph, p->constraint[d->first + i].value, NH_V, row + i);
    if (ready && find_block(p, d, row, &b))
        for (int i = 0; i < p->constraints && !found; i++)
            found = p->constraint[i].on_positions &&
                    (i < d->first || i >= d->first + d->components) &&
                    share_of_condition(p, d, &b, p->constraint[i].value, share);
    for (int i = 0; i < d->components; i++)
        nh_partials_free(row + i);
    return found;
}

/* The coordinate axis closest to a vector. */
static int axis_along(const double *vector)
{
    int most = 2;
    for (int i = 1; i >= 0; i--)
        most = fabs(vector[i]) > fabs(vector[most]) ? i : most;
    return most;
}

/* The axis about which the share turns at the start. If it does not turn, the axis that it stays
 * farthest from at all places. */
static int far_axis(nh_problem *p, const nh_dependence *d, const nh_expr *share)
{
    nh_expr both[6];
    double at[6], turns[3], far[3] = {0};
    for (int i = 0; i < 3; i++) {
        both[i] = share[i];
        both[3 + i] = nh_total_derivative(p->graph, share[i]);
    }
    if (nh_evaluate(p->graph, both, 6, 0, d->start, d->start + p->coordinates, NULL, at)) {
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            turns[i] = at[j] * at[3 + k] - at[k] * at[3 + j];
        }
        if (dot(turns, turns) > parallel * dot(at, at) * dot(at + 3, at + 3))
            return axis_along(turns);
    }
    for (int k = 0; k < d->places; k++)
        for (int i = 0; i < 3; i++)
            far[i] = fmin(far[i], -fabs(d->share[3 * k + i]));
    for (int i = 0; i < 3; i++)
        far[i] += 1;
    return axis_along(far);
}

static bool normal_directions(nh_problem *p, const nh_dependence *d, directions *out)
{
    nh_expr share[3] = {NH_ZERO, NH_ZERO, NH_ZERO};
    if (!find_share(p, d, share))
        return false;
    out->count = d->components - 1;
    if (d->components == 2) {
        out->of[0][0] = nh_negate(p->graph, share[1]);
        out->of[0][1] = share[0];
        return true;
    }
    nh_expr axis[3] = {NH_ZERO, NH_ZERO, NH_ZERO};
    axis[far_axis(p, d, share)] = NH_ONE;
    cross(p->graph, axis, share, out->of[0]);
    cross(p->graph, share, out->of[0], out->of[1]);
    return true;
}

/* ---- rows ---- */

static void combine(nh_problem *p, const nh_dependence *d, const directions *along)
{
    nh_problem_constraint *of = p->constraint + d->first;
    nh_expr component[3], combined[2];
    for (int i = 0; i < d->components; i++)
        component[i] = of[i].on_positions ? of[i].position : of[i].value;
    for (int j = 0; j < along->count; j++)
        combined[j] = sum_of_products(p->graph, along->of[j], component, d->components);
    for (int j = 0; j < along->count; j++) {
        of[j].name = of[j].combined;
        of[j].vector = 0;
        of[j].position = of[j].on_positions ? combined[j] : of[j].position;
        of[j].value = of[j].on_positions ? nh_total_derivative(p->graph, combined[j]) : combined[j];
    }
}

bool nh_turn_rows(nh_problem *problem, const nh_dependence *d)
{
    directions along = {0};
    if (!fixed_directions(problem, d, &along) && !normal_directions(problem, d, &along))
        return false;
    combine(problem, d, &along);
    return true;
}
