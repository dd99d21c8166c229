/* Whether the inertia is constant when velocities are measured in body axes.
 *
 * The mass matrix of a rotation's quaternion p always depends on p. In terms of xi = (x', w), with
 * p' = p (0, w/2), it often does not; then a fixed xi has the same momentum, in body axes, in every
 * state. This is tested in several states, with unit quaternions. */
#include "mechanics/mechanics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "mechanics/probe.h"

typedef struct search {
    nh_mechanics *s;
    nh_probe probe;
    double *xi; /* [n]: x', and half a body rate in the last three of four places */
    nh_bounded *value, *momentum; /* [n] dL/dv; in body axes, as found first */
} search;

static void multiply(const double p[4], const double u[3], double out[4])
{
    out[0] = -p[1] * u[0] - p[2] * u[1] - p[3] * u[2];
    out[1] = p[0] * u[0] + p[2] * u[2] - p[3] * u[1];
    out[2] = p[0] * u[1] + p[3] * u[0] - p[1] * u[2];
    out[3] = p[0] * u[2] + p[1] * u[1] - p[2] * u[0];
}

/* The state of a round with unit quaternions, and the velocity there that corresponds to xi. */
static void move(search *c, int round)
{
    nh_probe_move(&c->probe, round);
    double *q = c->probe.q, *v = c->probe.v;
    for (int i = 0; i < c->s->n; i++)
        v[i] = c->xi[i];
    for (int r = 0; r < c->s->problem->rotations; r++) {
        int at = c->s->problem->rotation[r].first;
        double length = 0;
        for (int i = 0; i < 4; i++)
            length = hypot(length, q[at + i]);
        for (int i = 0; i < 4; i++)
            q[at + i] = length > 0 ? q[at + i] / length : i == 0;
        multiply(q + at, c->xi + at + 1, v + at);
    }
}

/* Component i of the vector part of conj(p) P. */
static nh_bounded component(const double p[4], const nh_bounded P[4], int i)
{
    static const int place[3][4] = {{1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    static const double sign[3][4] = {{1, -1, -1, 1}, {1, 1, -1, -1}, {1, -1, 1, -1}};
    nh_bounded sum = {0, 0};
    for (int j = 0; j < 4; j++) {
        const nh_bounded *x = P + place[i][j];
        double factor = sign[i][j] * p[j];
        sum.value += factor * x->value;
        sum.error += fabs(factor) * (x->error + 4 * DBL_EPSILON * fabs(x->value));
    }
    return sum;
}

/* Transforms the momentum to body axes; false if it is not finite. */
static bool to_body(search *c)
{
    for (int r = 0; r < c->s->problem->rotations; r++) {
        int at = c->s->problem->rotation[r].first;
        nh_bounded turned[4] = {{0, 0}};
        for (int i = 0; i < 3; i++)
            turned[1 + i] = component(c->probe.q + at, c->value + at, i);
        for (int i = 0; i < 4; i++)
            c->value[at + i] = turned[i];
    }
    for (int i = 0; i < c->s->n; i++)
        if (nh_is_significant(c->value[i]) == NH_UNKNOWN)
            return false;
    return true;
}

static bool differs(const search *c)
{
    for (int i = 0; i < c->s->n; i++) {
        nh_bounded change = {c->value[i].value - c->momentum[i].value,
                             c->value[i].error + c->momentum[i].error};
        if (nh_is_significant(change) == NH_YES)
            return true;
    }
    return false;
}

static bool seek(search *c)
{
    nh_mechanics *s = c->s;
    bool constant = true;
    int seen = 0;
    nh_probe_move(&c->probe, 0);
    for (int i = 0; i < s->n; i++)
        c->xi[i] = c->probe.v[i];
    for (int round = 0; constant && round < nh_probe_rounds(s, NH_ROUNDS); round++) {
        move(c, round);
        nh_inputs point = nh_probe_point(&c->probe);
        point.input_error = DBL_EPSILON;
        if (!nh_evaluate_bounded(s->g, s->p, (size_t)s->n, &point, c->value)) {
            nh_graph_fail(s->g);
            return false;
        }
        if (!to_body(c))
            continue;
        constant = seen == 0 || !differs(c);
        for (int i = 0; seen == 0 && i < s->n; i++)
            c->momentum[i] = c->value[i];
        seen++;
    }
    return constant && seen > 1;
}

bool nh_has_constant_inertia(nh_mechanics *s)
{
    size_t n = (size_t)s->n;
    if (s->problem->rotations == 0 || !s->facts.mechanical)
        return s->facts.constant_mass;
    search c = {.s = s};
    bool constant = false;
    c.xi = calloc(n + 1, sizeof *c.xi);
    c.value = calloc(2 * n + 1, sizeof *c.value);
    if (c.xi && c.value && nh_probe_init(&c.probe, s, 0, s->start, s->start + n)) {
        c.momentum = c.value + n;
        constant = seek(&c);
        nh_probe_free(&c.probe);
    } else {
        nh_graph_fail(s->g);
    }
    free(c.xi);
    free(c.value);
    return constant;
}
