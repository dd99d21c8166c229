/* The picture of a model without `draw` statements, made from its coordinates: two or three lengths
 * are the place of a point that leaves a trace, with a heading if there is an angle; angles alone
 * are pendulums, rotations boxes, and other coordinates beads beside each other. Sizes in pixels
 * and arrows suit motions of any extent. */
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

/* A point with its trace, and the direction of the first angle. */
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
        nh_drawn *arrow = add(s, NH_DRAW_VELOCITY, 0);
        if (!arrow)
            return;
        arrow->key[NH_KEY_AT] = vector(s, at);
        arrow->key[NH_KEY_VECTOR] = vector(s, heading);
        arrow->name = s->b->problem->coordinate_name[s->angle[0]];
    }
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
