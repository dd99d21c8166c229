/* Nodes of a run with events: states with their accelerations, the states between two nodes as
 * computed by steps of the method, and the values of the events there. */
#include "run/events.h"

#include <float.h>
#include <math.h>
#include <string.h>

void nh_node_of_block(const nh_crossings *w, const double *block, double t, double *node)
{
    const size_t n = (size_t)w->n;
    node[NODE_T] = t;
    memcpy(node + NODE_Q, block, 2 * n * sizeof *node);
    memset(node + NODE_Q + 2 * n, 0, n * sizeof *node);
    memcpy(node + NODE_Q + 3 * n, block + 4 * n, (size_t)w->angles * sizeof *node);
}

void nh_block_of_node(const nh_run *run, const double *node, double *block)
{
    const nh_shape *s = &run->system->shape;
    const size_t n = (size_t)s->n, angles = (size_t)s->angles, inputs = (size_t)s->inputs;
    memset(block, 0, (run->state_size - inputs) * sizeof *block);
    memmove(block + run->state_size - inputs, run->crossings->inputs, inputs * sizeof *block);
    memcpy(block, node + NODE_Q, 2 * n * sizeof *block);
    memcpy(block + 4 * n, node + NODE_Q + 3 * n, angles * sizeof *block);
}

void nh_crossings_slope(nh_crossings *w, double *node)
{
    const size_t n = (size_t)w->n;
    engine *e = w->engine;
    const double *q = node + NODE_Q;
    e->call[NH_FN_ACCELERATION](e->self, NH_FN_ACCELERATION, node[NODE_T], q, q + n, NULL, w->slope,
                                w->inputs);
    memcpy(node + NODE_Q + 2 * n, w->slope, n * sizeof *node);
}

/* A step from a node; in pieces, where its equations cannot be solved. */
static bool step_beside(nh_run *run, const double *from, double length)
{
    enum { PIECES = 16 };
    nh_crossings *w = run->crossings;
    bool done = false;
    for (int pieces = 1; pieces <= PIECES && !done; pieces *= 4) {
        nh_block_of_node(run, from, w->block);
        done = nh_leg_beside(run, true, w->option, w->block, from[NODE_T], length / pieces, pieces);
    }
    return done;
}

bool nh_crossings_between(nh_run *run, const double *from, const double *to, double x)
{
    nh_crossings *w = run->crossings;
    const double length = x * (to[NODE_T] - from[NODE_T]), t = from[NODE_T] + length;
    if (t == from[NODE_T]) {
        memcpy(w->at, from, w->node_size * sizeof *w->at);
        return true;
    }
    if (!step_beside(run, from, length))
        return false;
    nh_node_of_block(w, w->block, t, w->at);
    w->at[NODE_TAKEN] = from[NODE_TAKEN] + 1;
    w->at[NODE_GIVEN_UP] = from[NODE_GIVEN_UP];
    if (w->needs_slope)
        nh_crossings_slope(w, w->at);
    return true;
}

/* Calls the caller's function at a state, in the form that users see: with full revolutions and
 * body rates. */
static double ask(nh_crossings *w, int event, double t, const double *q, const double *v,
                  const double *revolutions)
{
    const nh_event_function *f = w->function + (event - w->model_events);
    const nh_shape *s = w->shape;
    double *shown_q = w->moved + 2 * w->n, *shown_v = shown_q + w->n, value = NAN;
    memcpy(shown_q, q, (size_t)w->n * sizeof *q);
    for (int a = 0; a < w->angles; a++)
        shown_q[s->angle[a]] = nh_whole_angle(q[s->angle[a]], revolutions[a]);
    nh_show_velocities(w->system, q, v, 1, shown_v);
    if (w->stopped || f->value(f->user, t, shown_q, shown_v, &value) != 0)
        w->stopped = true;
    return value;
}

/* Differences are taken over this fraction of the interval to both sides: more than half of the
 * digits remain. */
static const double beside = 1e-6;

double nh_crossings_rate(nh_crossings *w, const double *node, int event, double h)
{
    const double *q = node + NODE_Q, *v = q + w->n, *a = v + w->n, *revolutions = a + w->n;
    double *p = w->moved, *u = p + w->n, side[2];
    for (int k = 0; k < 2; k++) {
        const double by = (k ? beside : -beside) * h;
        for (int i = 0; i < w->n; i++) {
            p[i] = i < w->system->coordinates ? q[i] + by * (v[i] + by / 2 * a[i]) : q[i];
            u[i] = v[i] + by * a[i];
        }
        side[k] = ask(w, event, node[NODE_T] + by, p, u, revolutions);
    }
    return (side[1] - side[0]) / (2 * beside * h);
}

static void values_of_model(nh_crossings *w, const double *node, double *value)
{
    const int n = w->n;
    const nh_shape *s = w->shape;
    const double *q = node + NODE_Q;
    if (w->angles > 0) { /* a model's own functions may count revolutions */
        memcpy(w->q, q, (size_t)n * sizeof *q);
        for (int a = 0; a < w->angles; a++)
            w->q[s->angle[a]] = nh_whole_angle(q[s->angle[a]], q[3 * n + a]);
    }
    w->engine->call[NH_FN_EVENTS](w->engine->self, NH_FN_EVENTS, node[NODE_T],
                                  w->angles > 0 ? w->q : q, q + n, q + 2 * n, value, w->inputs);
}

bool nh_crossings_on_zero(const nh_crossings *w, int event, const double *node, double value)
{
    if (value == 0 || event >= w->model_events)
        return value == 0;
    nh_system *own = (nh_system *)w->system; /* other threads may be adding to the graph */
    const double *q = node + NODE_Q;
    double again, spread = 0;
    pthread_mutex_lock(&own->lock);
    const bool known =
        nh_evaluate_spread(own->mechanics->g, own->mechanics->event_value + event, 1, node[NODE_T],
                           q, q + w->n, w->inputs, 4 * DBL_EPSILON, &again, &spread);
    pthread_mutex_unlock(&own->lock);
    return known && fabs(value) <= spread;
}

void nh_crossings_values(nh_crossings *w, const double *node, double *value)
{
    const int of_model = w->model_events;
    const double *q = node + NODE_Q;
    if (w->events == of_model) {
        values_of_model(w, node, value);
        return;
    }
    if (of_model > 0) {
        values_of_model(w, node, w->of_model);
        memcpy(value, w->of_model, (size_t)of_model * sizeof *value);
        memcpy(value + w->events, w->of_model + of_model, (size_t)of_model * sizeof *value);
    }
    for (int e = of_model; e < w->events; e++)
        value[e] = ask(w, e, node[NODE_T], q, q + w->n, q + 3 * w->n);
}
