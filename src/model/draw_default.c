/* The picture of a model without `draw` statements, made from its coordinates: two or three lengths
 * are the place of a point that leaves a trace, with a heading if there is an angle, or the axes of
 * the body if there is a rotation; angles alone are pendulums, rotations alone boxes, and other
 * coordinates beads beside each other. Sizes in pixels and arrows suit motions of any extent. */
#include "model/build.h"
#include "model/vector.h"

enum { BEADS_MOST = 200, DIMENSIONS = 3 };

static const nh_place nowhere = {0};

typedef struct sketch {
    nh_builder *b;
    nh_drawn **last;
    int *length, *angle, lengths, angles; /* numbers of coordinates */
} sketch;

static nh_drawn *add(sketch *s, nh_draw_shape shape, int points)
{
    nh_drawn *drawn = nh_build_take(s->b, 1, sizeof *drawn);
    if (!drawn)
        return NULL;
    *drawn = (nh_drawn){.shape = shape, .colour = -1, .points = points};
    drawn->point = nh_build_take(s->b, points, sizeof *drawn->point);
    *s->last = drawn;
    s->last = &drawn->next;
    return drawn->point ? drawn : NULL;
}

static nh_drawn_value vector(sketch *s, const nh_expr *e)
{
    const int count = s->b->problem->drawing->dimensions;
    nh_value *entry = nh_build_take(s->b, count, sizeof *entry);
    for (int i = 0; i < count && entry; i++)
        entry[i] = (nh_value){.symbolic = true, .expr = e[i]};
    return nh_build_drawn_vector(s->b, nowhere, "the point",
                                 (nh_value){.rows = count, .entry = entry}, 0);
}

static nh_drawn_value constant(sketch *s, double value)
{
    nh_drawn_value one = {1, nh_build_take(s->b, 1, sizeof *one.number)};
    if (!s->b->x.status)
        *one.number = (nh_drawn_number){-1, value};
    return one;
}

static nh_expr coordinate(const sketch *s, int number)
{
    return nh_variable(s->b->problem->graph, NH_Q, (uint32_t)number);
}

static void add_point(sketch *s, const nh_expr *at, double width)
{
    nh_drawn *point = add(s, NH_DRAW_POINT, 1);
    if (!point)
        return;
    point->point[0] = vector(s, at);
    point->key[NH_KEY_WIDTH] = constant(s, width);
}

static void add_direction(sketch *s, const nh_expr *at, const nh_expr *direction, const char *name)
{
    nh_drawn *arrow = add(s, NH_DRAW_VELOCITY, 0);
    if (!arrow)
        return;
    arrow->key[NH_KEY_AT] = vector(s, at);
    arrow->key[NH_KEY_VECTOR] = vector(s, direction);
    arrow->name = name;
}

/* An entry of the matrix of the unit quaternion (p, u): 1 - 2 (u_j^2 + u_k^2) on the diagonal, and
 * 2 (u_i u_k - p u_m) or, where (i, k, m) is odd, 2 (u_i u_k + p u_m). */
static nh_expr matrix_entry(nh_graph *g, const nh_expr *q, int i, int k)
{
    const nh_expr *u = q + 1;
    const int j = (i + 1) % 3, l = (i + 2) % 3;
    if (i == k)
        return nh_add(
            g, nh_number(g, 1),
            nh_multiply(g, nh_number(g, -2),
                        nh_add(g, nh_multiply(g, u[j], u[j]), nh_multiply(g, u[l], u[l]))));
    const nh_expr turn = nh_multiply(g, q[0], u[3 - i - k]);
    return nh_multiply(
        g, nh_number(g, 2),
        nh_add(g, nh_multiply(g, u[i], u[k]), nh_multiply(g, nh_number(g, k == j ? -1 : 1), turn)));
}

static void add_axes(sketch *s, const nh_expr *at, const nh_rotation *rotation)
{
    nh_graph *g = s->b->problem->graph;
    nh_expr q[4], axis[DIMENSIONS];
    for (int i = 0; i < 4; i++)
        q[i] = coordinate(s, rotation->first + i);
    for (int k = 0; k < 3 && !s->b->x.status; k++) {
        for (int i = 0; i < 3; i++)
            axis[i] = matrix_entry(g, q, i, k);
        add_direction(s, at, axis, rotation->name);
    }
}

/* A point with its trace, and the direction of the first angle or rotation. */
static void draw_place(sketch *s)
{
    nh_graph *g = s->b->problem->graph;
    nh_expr at[DIMENSIONS] = {NH_ZERO, NH_ZERO, NH_ZERO};
    for (int i = 0; i < s->lengths; i++)
        at[i] = coordinate(s, s->length[i]);
    nh_drawn *trace = add(s, NH_DRAW_TRACE, 1);
    if (trace)
        trace->point[0] = vector(s, at);
    if (s->angles && s->lengths == 2) {
        const nh_expr a = coordinate(s, s->angle[0]);
        const nh_expr heading[DIMENSIONS] = {nh_call(g, NH_COS, a), nh_call(g, NH_SIN, a), NH_ZERO};
        add_direction(s, at, heading, s->b->problem->coordinate_name[s->angle[0]]);
    }
    if (s->b->problem->rotations)
        add_axes(s, at, s->b->problem->rotation);
    add_point(s, at, 10);
}

/* Arms of length 1 that hang down where the angle is zero. */
static void draw_pendulums(sketch *s)
{
    nh_graph *g = s->b->problem->graph;
    for (int i = 0; i < s->angles && i < BEADS_MOST && !s->b->x.status; i++) {
        const nh_expr x = nh_number(g, 2.4 * i), a = coordinate(s, s->angle[i]);
        const nh_expr pivot[DIMENSIONS] = {x, NH_ZERO, NH_ZERO};
        const nh_expr end[DIMENSIONS] = {nh_add(g, x, nh_call(g, NH_SIN, a)),
                                         nh_multiply(g, nh_number(g, -1), nh_call(g, NH_COS, a)),
                                         NH_ZERO};
        nh_drawn *circle = add(s, NH_DRAW_CIRCLE, 0), *arm = add(s, NH_DRAW_LINE, 2);
        if (!circle || !arm)
            return;
        circle->key[NH_KEY_AT] = vector(s, pivot);
        circle->key[NH_KEY_RADIUS] = constant(s, 1);
        circle->key[NH_KEY_WIDTH] = constant(s, 0.5);
        arm->point[0] = vector(s, pivot);
        arm->point[1] = vector(s, end);
        add_point(s, end, 12);
    }
}

static void draw_beads(sketch *s)
{
    nh_graph *g = s->b->problem->graph;
    for (int i = 0; i < s->lengths && i < BEADS_MOST && !s->b->x.status; i++) {
        const nh_expr at[DIMENSIONS] = {nh_number(g, (double)i / s->lengths),
                                        coordinate(s, s->length[i]), NH_ZERO};
        nh_drawn *trace = add(s, NH_DRAW_TRACE, 1);
        if (trace)
            trace->point[0] = vector(s, at);
        add_point(s, at, 10);
    }
}

/* A box that turns about its middle. */
static void draw_rotations(sketch *s)
{
    const nh_problem *p = s->b->problem;
    for (int i = 0; i < p->rotations && !s->b->x.status; i++) {
        const nh_expr at[DIMENSIONS] = {nh_number(p->graph, 2.0 * i), NH_ZERO, NH_ZERO};
        const nh_expr size[DIMENSIONS] = {nh_number(p->graph, 1.2), nh_number(p->graph, 0.8),
                                          nh_number(p->graph, 0.4)};
        nh_drawn *box = add(s, NH_DRAW_BOX, 0);
        if (!box)
            return;
        box->key[NH_KEY_AT] = vector(s, at);
        box->key[NH_KEY_SIZE] = vector(s, size);
        nh_drawn_value turned = {4, nh_build_take(s->b, 4, sizeof *turned.number)};
        for (int k = 0; k < 4 && !s->b->x.status; k++)
            turned.number[k] = (nh_drawn_number){(int)coordinate(s, p->rotation[i].first + k), 0};
        box->key[NH_KEY_ATTITUDE] = turned;
    }
}

static void sort_coordinates(sketch *s)
{
    const nh_problem *p = s->b->problem;
    s->length = nh_build_take(s->b, p->coordinates, sizeof *s->length);
    s->angle = nh_build_take(s->b, p->coordinates, sizeof *s->angle);
    for (int i = 0; i < p->coordinates && !s->b->x.status; i++) {
        bool turned = false;
        for (int k = 0; k < p->rotations; k++)
            turned |= i >= p->rotation[k].first && i < p->rotation[k].first + 4;
        if (!turned && p->angle[i])
            s->angle[s->angles++] = i;
        else if (!turned)
            s->length[s->lengths++] = i;
    }
}

void nh_draw_by_default(nh_builder *b, nh_drawn **first)
{
    sketch s = {.b = b, .last = first};
    nh_drawing *d = b->problem->drawing;
    sort_coordinates(&s);
    if (b->x.status)
        return;
    d->dimensions = s.lengths == 3 || b->problem->rotations ? 3 : 2;
    if (s.lengths == 2 || s.lengths == 3)
        draw_place(&s);
    else if (s.lengths)
        draw_beads(&s);
    else
        draw_pendulums(&s);
    if (!s.lengths)
        draw_rotations(&s);
}
