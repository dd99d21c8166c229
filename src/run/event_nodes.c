/* Nodes of a run with events: states with their accelerations, those between two of them as steps
 * of the method make them, and the values of the events there. */
#include "run/events.h"

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
    engine *e = &w->engine;
    const double *q = node + NODE_Q;
    e->call[NH_FN_ACCELERATION](e->self, NH_FN_ACCELERATION, node[NODE_T], q, q + n, NULL, w->slope,
                                w->inputs);
    memcpy(node + NODE_Q + 2 * n, w->slope, n * sizeof *node);
}

bool nh_crossings_between(nh_run *run, const double *from, const double *to, double x)
{
    nh_crossings *w = run->crossings;
    const double length = x * (to[NODE_T] - from[NODE_T]), t = from[NODE_T] + length;
    if (t == from[NODE_T]) {
        memcpy(w->at, from, w->node_size * sizeof *w->at);
        return true;
    }
    nh_block_of_node(run, from, w->block);
    nh_kernel_io io = nh_run_io(run, &run->careful, w->block, 1, 0);
    io.time = from[NODE_T];
    io.step = length;
    io.option = w->option;
    io.row = io.wrapped = io.node = NULL;
    if (run->careful.kernel->start(&io) != NH_KERNEL_OK ||
        run->careful.kernel->advance(&io, 1, 1) != NH_KERNEL_OK)
        return false;
    nh_node_of_block(w, w->block, t, w->at);
    w->at[NODE_TAKEN] = from[NODE_TAKEN] + 1;
    w->at[NODE_GIVEN_UP] = from[NODE_GIVEN_UP];
    if (w->needs_slope)
        nh_crossings_slope(w, w->at);
    return true;
}

void nh_crossings_values(nh_crossings *w, const double *node, double *value)
{
    const int n = w->n;
    const nh_shape *s = w->shape;
    const double *q = node + NODE_Q;
    if (w->angles > 0) { /* a model's own functions may count revolutions */
        memcpy(w->q, q, (size_t)n * sizeof *q);
        for (int a = 0; a < w->angles; a++)
            w->q[s->angle[a]] = nh_whole_angle(q[s->angle[a]], q[3 * n + a]);
    }
    w->engine.call[NH_FN_EVENTS](w->engine.self, NH_FN_EVENTS, node[NODE_T],
                                 w->angles > 0 ? w->q : q, q + n, q + 2 * n, value, w->inputs);
}
