/* Chattering: a force such as -mu sign(v) pushes the motion back on both sides of the place where
 * it jumps, so that the motion stays there. It then has no solution in the usual sense, and a
 * method that chooses its own steps crosses the jump again and again with steps near the limit of
 * the arithmetic. This is seen in the ends of its steps: they are much shorter than those of the
 * run, and yet one condition of the model changes its sign again and again, close to zero; or its
 * rate at the ends of the steps would have brought it to zero long ago, but it stays as it is. */
#include "run/chatter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/events.h"

enum { NODES = 256, LONG = 1024 };                   /* own steps noted together, judged together */
static const double often = 0.003;                   /* changes of sign per step */
static const double shorter = 1e-3, shortest = 1e-4; /* steps, relative to those of the run */
static const double pressing = 50; /* what a rate adds up to, relative to the largest value */
static const double close = 1e-3, closest = 1e-5; /* to zero, relative to the largest value */

struct nh_chatter {
    engine engine; /* KINKS */
    int kinks;
    double *node;       /* [NODES] */
    double *value[2];   /* [kinks] at two ends of steps */
    double *largest[2]; /* [kinks] of the steps noted so far, and of the run */
    double *rate[2];    /* [kinks] of their sizes */
    double *pressed;    /* [kinks] by how much their sizes should have become smaller */
    double *state;      /* [2n] */
    int64_t *changes;   /* [kinks] of sign, in the steps noted so far */
    int64_t noted;
    double longest, last; /* of all own steps; and where the last of them ended */
    double begun;         /* the end of the first of them */
};

static void free_all(nh_run *run)
{
    nh_chatter *c = run->chatter;
    if (!c)
        return;
    nh_engine_free(&c->engine);
    free(c->node);
    free(c->changes);
    free(c);
}

static nh_status allocate(nh_run *run, nh_report *report)
{
    const nh_system *system = run->system;
    const size_t kinks = (size_t)nh_system_kinks(system);
    if (kinks == 0 || !nh_choice_adapts(&run->choice) || !run->choice.method->keeps_nodes ||
        run->group[0].lanes > 1)
        return NH_OK;
    nh_chatter *c = run->chatter = calloc(1, sizeof *c);
    if (!c)
        return nh_fail_memory(report);
    const size_t nodes = NODES * (size_t)NH_NODE_SIZE(system->shape.n, system->shape.angles);
    c->kinks = (int)kinks;
    c->changes = calloc(kinks, sizeof *c->changes);
    c->node = nh_aligned_doubles(nodes + 7 * kinks + 2 * (size_t)system->shape.n);
    if (!c->changes || !c->node)
        return nh_fail_memory(report);
    c->value[0] = c->node + nodes;
    c->value[1] = c->value[0] + kinks;
    c->largest[0] = c->value[1] + kinks;
    c->largest[1] = c->largest[0] + kinks;
    c->rate[0] = c->largest[1] + kinks;
    c->rate[1] = c->rate[0] + kinks;
    c->pressed = c->rate[1] + kinks;
    c->state = c->pressed + kinks;
    c->last = INFINITY;
    return nh_engine_call(&c->engine, system, nh_variant_here(), 1, NH_FN_BIT(KINKS), report);
}

/* The ends of own steps are looked at in every leg. */
static int64_t quiet(const nh_run *run)
{
    return run->chatter ? run->steps : INT64_MAX;
}

const nh_attachment nh_attachment_chatter = {
    .allocate = allocate, .free = free_all, .quiet = quiet};

double *nh_chatter_nodes(const nh_run *run, int64_t *most)
{
    *most = NODES;
    return run->chatter ? run->chatter->node : NULL;
}

/* Adds up the rates with which the sizes of the conditions become smaller, by the trapezoidal
 * rule; where the motion is smooth, that is by how much they do. */
static void press(nh_chatter *c, int n, const double *node, const double *now, const double *u)
{
    const double *q = node + NODE_Q, *v = q + n, *a = v + n;
    const double length = node[NODE_T] - c->last, dt = 1e-3 * length;
    double *before = c->rate[0], *rate = c->rate[1];
    for (int i = 0; i < n; i++) {
        c->state[i] = q[i] + dt * v[i];
        c->state[n + i] = v[i] + dt * a[i];
    }
    c->engine.call[NH_FN_KINKS](c->engine.self, NH_FN_KINKS, node[NODE_T] + dt, c->state,
                                c->state + n, NULL, rate, u);
    for (int i = 0; i < c->kinks; i++) {
        rate[i] = (fabs(rate[i]) - fabs(now[i])) / dt;
        c->pressed[i] -= c->noted > 0 ? (before[i] + rate[i]) / 2 * length : 0;
    }
    c->rate[1] = before;
    c->rate[0] = rate;
}

static void note(nh_chatter *c, const nh_shape *s, const double *node, double step, const double *u)
{
    const double *q = node + NODE_Q, *before = c->value[0];
    double *now = c->value[1];
    c->engine.call[NH_FN_KINKS](c->engine.self, NH_FN_KINKS, node[NODE_T], q, q + s->n, NULL, now,
                                u);
    for (int i = 0; i < c->kinks; i++) {
        c->changes[i] += c->noted > 0 && before[i] * now[i] < 0;
        c->largest[0][i] = fmax(c->largest[0][i], fabs(now[i]));
        c->largest[1][i] = fmax(c->largest[1][i], fabs(now[i]));
    }
    if (node[NODE_T] - c->last < shorter * step)
        press(c, s->n, node, now, u);
    c->value[1] = c->value[0];
    c->value[0] = now;
    c->begun = c->noted++ == 0 ? node[NODE_T] : c->begun;
    c->longest = fmax(c->longest, node[NODE_T] - c->last);
    c->last = node[NODE_T];
}

static void begin_again(nh_chatter *c)
{
    c->noted = 0;
    memset(c->changes, 0, (size_t)c->kinks * sizeof *c->changes);
    memset(c->largest[0], 0, (size_t)c->kinks * sizeof *c->largest[0]);
    memset(c->pressed, 0, (size_t)c->kinks * sizeof *c->pressed);
}

/* The condition that holds the motion, after LONG steps of this length on average; -1: none. */
static int holding(const nh_chatter *c, double length, double step)
{
    for (int k = 0; k < c->kinks; k++) {
        const bool crosses = (double)c->changes[k] > often * LONG;
        const double near = c->largest[0][k] / c->largest[1][k];
        const bool pressed = c->pressed[k] > pressing * c->largest[0][k];
        if ((length < shortest * step && (near < closest || pressed)) ||
            (length < shorter * step && crosses && (near < close || length < shorter * c->longest)))
            return k;
    }
    return -1;
}

bool nh_chatter_note(nh_run *run, const group *g, const double *node, int64_t count, double step,
                     nh_step_failure *f)
{
    nh_chatter *c = run->chatter;
    const nh_shape *s = &run->system->shape;
    const int64_t size = NH_NODE_SIZE(s->n, s->angles);
    for (int64_t i = 0; c && i < count; i++) {
        note(c, s, node + i * size, step, g->block + run->state_size - (size_t)s->inputs);
        if (c->noted < LONG)
            continue;
        const double t = node[i * size + NODE_T];
        const int kink = holding(c, (t - c->begun) / LONG, step);
        begin_again(c);
        if (kink >= 0) {
            *f = (nh_step_failure){NH_FAILED_CHATTER, 0, g->first_member, kink, t};
            return false;
        }
    }
    return true;
}
