/* Advances a member of a run from node to node, looks for events in between, and acts on them: the
 * member ends, or its velocities change and it continues from there. */
#include "run/events.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "system/start.h"

/* Two events of one kind follow closely if the time between them is less than this fraction of a
 * step; that many of them in a row accumulate. So do events that come faster and faster, once the
 * time between them has shrunk to the given fraction of what it was: the steps of a method that
 * chooses its own become shorter with it. */
static const double soon = 1e-6;
enum { SOON_MAX = 3 };

typedef struct walk { /* a member between two steps of the run */
    nh_run *run;
    nh_crossings *w;
    group *g;
    const nh_leg *leg; /* what the loop asks for */
    int member;
    double *kept;
    int64_t index; /* steps of the run completed so far */
    bool changed;  /* an event has changed its velocities since the last whole step */
    nh_step_failure *f;
} walk;

static bool fails(walk *k, int status, int event, double t)
{
    *k->f = (nh_step_failure){status, k->index, k->member, event, t};
    return false;
}

/* Where the method's memory counts its own steps; NULL: the method takes the steps of the run. */
static double *counts_of(const walk *k)
{
    return nh_choice_adapts(&k->run->choice) ? k->g->block + nh_run_counts_row(k->run) : NULL;
}

/* Copies the state of a node into the block. The counts of own steps are kept. */
static void put_state(walk *k, const double *node)
{
    double *count = counts_of(k), taken = node[NODE_TAKEN], given_up = node[NODE_GIVEN_UP];
    if (count && !k->w->own) {
        taken = count[0];
        given_up = count[1];
    }
    nh_block_of_node(k->run, node, k->g->block);
    k->g->started = false;
    if (count) {
        count[0] = taken;
        count[1] = given_up;
    }
}

/* Starts the method from the state of the block, for steps of this clock. */
static bool start_at(walk *k, const nh_clock *clock, double t)
{
    return nh_leg_start_again(k->run, k->g, clock, t) || fails(k, NH_FAILED_NOT_FINITE, 0, t);
}

/* ---- acting on events ---- */

/* Reports an event to the user's function; true if the function wants the member to end. An event
 * that is met again when steps are repeated after a failure is reported only once. */
static bool tell(walk *k, const nh_root *root, const double *node, const double *after)
{
    nh_crossings *w = k->w;
    const nh_system *system = k->run->system;
    const double number = k->kept[KEPT_NUMBER]++;
    double *of = nh_crossings_of(k->kept, root->event), *reported = w->reported + 2 * k->member;
    of[OF_COUNT]++;
    of[OF_LAST] = node[NODE_T];
    if (number < reported[0] || !w->hook)
        return number == reported[1];
    reported[0] = number + 1;
    const int nq = system->coordinates;
    double *q = w->outside, *v = q + w->n, *v_after = v + w->n;
    memcpy(q, node + NODE_Q, (size_t)nq * sizeof *q);
    for (int a = 0; a < w->angles; a++)
        q[w->shape->angle[a]] = nh_whole_angle(q[w->shape->angle[a]], node[NODE_Q + 3 * w->n + a]);
    nh_show_velocities(system, node + NODE_Q, node + NODE_Q + w->n, 1, v);
    nh_show_velocities(system, node + NODE_Q, after, 1, v_after);
    const nh_event event = {.event = root->event,
                            .name = nh_crossings_name(w, root->event),
                            .direction = root->direction,
                            .member = k->member,
                            .t = node[NODE_T],
                            .q = q,
                            .v = v,
                            .v_after = v_after,
                            .wrapped_q = node + NODE_Q};
    if (w->hook(w->user, &event) != 0)
        reported[1] = number;
    return number == reported[1];
}

/* Sets the velocities at a node to the values that `when` gives, projected onto the constraints. */
static bool change_velocities(walk *k, int event, double *node)
{
    nh_crossings *w = k->w;
    const nh_system *system = k->run->system;
    double *q = node + NODE_Q, *v = q + w->n;
    w->engine.call[NH_FN_CHANGES](w->engine.self, NH_FN_CHANGES, node[NODE_T], q, v, NULL,
                                  w->changed, w->inputs);
    for (int i = 0; i < w->problem->changes; i++)
        if (w->problem->change[i].event == event)
            v[w->problem->change[i].velocity] = w->changed[i];
    if (system->constraints > 0 &&
        nh_project(system, NULL, true, (nh_instant){node[NODE_T], w->inputs}, q, v, NULL) != NH_OK)
        return false;
    for (int i = 0; i < w->n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* Whether events of one kind have accumulated; `length` is that of the interval. */
static bool accumulates(walk *k, const nh_root *root, double t, double length)
{
    double *of = nh_crossings_of(k->kept, root->event);
    const double gap = t - of[OF_LAST];
    if (of[OF_COUNT] == 0)
        return false;
    const bool faster = of[OF_FASTER] > 0 && gap < of[OF_GAP];
    of[OF_SHORT] = gap < soon * length ? of[OF_SHORT] + 1 : 0;
    of[OF_FASTER] = faster ? of[OF_FASTER] + 1 : 1;
    of[OF_WIDE] = faster ? of[OF_WIDE] : gap;
    of[OF_GAP] = gap;
    return of[OF_SHORT] >= SOON_MAX || (of[OF_FASTER] > SOON_MAX && gap < soon * of[OF_WIDE]);
}

/* The side of the event's surface on which the member is after an event that acted: the one from
 * which it came, unless it passes through all the same. */
static void choose_side(walk *k, const nh_root *root, double *node)
{
    nh_crossings *w = k->w;
    if (w->needs_slope)
        nh_crossings_slope(w, node);
    nh_crossings_values(w, node, w->value[2]);
    const double rate = w->value[2][w->events + root->event];
    nh_crossings_of(k->kept, root->event)[OF_SIDE] =
        rate * root->direction > 0 ? root->direction : -root->direction;
}

/* Whether a member stays on the event's surface after the event has acted, and accelerates through
 * it: it would have to act again and again. */
static bool is_pressed(walk *k, const nh_root *root, const double *node)
{
    nh_crossings *w = k->w;
    if (w->value[2][w->events + root->event] != 0)
        return false;
    const double dt = 1e-3 * k->leg->clock.step, *q = node + NODE_Q, *v = q + w->n;
    double *later = w->at + NODE_Q;
    memcpy(w->at, node, w->node_size * sizeof *w->at);
    nh_crossings_slope(w, w->at);
    w->at[NODE_T] += dt;
    for (int i = 0; i < w->n; i++) {
        const double a = w->at[NODE_Q + 2 * w->n + i];
        later[i] = q[i] + (i < w->system->coordinates ? dt * (v[i] + dt / 2 * a) : 0);
        later[w->n + i] = v[i] + dt * a;
    }
    nh_crossings_values(w, w->at, w->value[2]);
    const double g = w->value[2][root->event];
    return g * root->direction > 0 && !nh_crossings_on_zero(w, root->event, w->at, g);
}

/* Whether a change of sign counts as an event, given its direction. */
static bool is_event(const nh_crossings *w, const nh_root *root)
{
    const int direction = nh_crossings_direction(w, root->event);
    return root->zero && (direction == 0 || direction == root->direction);
}

static void end_member(walk *k, int event)
{
    if (k->kept[KEPT_ENDED] != 0)
        return;
    k->kept[KEPT_ENDED] = 1 + event;
    k->kept[KEPT_END] = k->w->fresh[NODE_T];
    k->kept[KEPT_STEPS] = (double)k->index;
}

/* Reports the events of an interval up to a time, from w->root. Returns the first one at which the
 * state changes or the member ends, which is not yet reported; -1 if there is none. */
static int pass_events(walk *k, const double *from, const double *to, double until)
{
    nh_crossings *w = k->w;
    const double h = to[NODE_T] - from[NODE_T];
    for (int i = 0; i < w->roots; i++) {
        const nh_root *root = w->root + i;
        const double t = from[NODE_T] + root->x * h;
        if (t > until)
            break;
        if (t <= k->kept[KEPT_SEEN] || !is_event(w, root))
            continue;
        if (w->acts[root->event] || w->ends[root->event])
            return i;
        if (nh_crossings_between(k->run, from, to, root->x) &&
            tell(k, root, w->at, w->at + NODE_Q + w->n)) {
            memcpy(w->fresh, w->at, w->node_size * sizeof *w->at);
            end_member(k, root->event);
            return i;
        }
    }
    return -1;
}

/* Sets every side to that after the changes of sign up to a point of the interval. */
static void take_sides(walk *k, double upto)
{
    nh_crossings *w = k->w;
    for (int i = 0; i < w->roots && w->root[i].x <= upto; i++)
        nh_crossings_of(k->kept, w->root[i].event)[OF_SIDE] = w->root[i].direction;
}

/* One of the events at the time of w->fresh. */
static bool happen_one(walk *k, const nh_root *root, double h)
{
    nh_crossings *w = k->w;
    const bool acts = w->acts[root->event];
    memcpy(w->at, w->fresh, w->node_size * sizeof *w->at);
    if (acts && accumulates(k, root, w->fresh[NODE_T], h))
        return fails(k, NH_FAILED_ACCUMULATION, root->event, w->fresh[NODE_T]);
    if (acts && !change_velocities(k, root->event, w->fresh))
        return fails(k, NH_FAILED_CHANGE, root->event, w->fresh[NODE_T]);
    if (tell(k, root, w->at, w->fresh + NODE_Q + w->n) || w->ends[root->event])
        end_member(k, root->event);
    if (acts)
        choose_side(k, root, w->fresh);
    k->changed = k->changed || acts;
    if (acts && k->kept[KEPT_ENDED] == 0 && is_pressed(k, root, w->fresh))
        return fails(k, NH_FAILED_ACCUMULATION, root->event, w->fresh[NODE_T]);
    return true;
}

/* Whether the velocities after another event at the same time still lead to this one. */
static bool is_still_reached(walk *k, const nh_root *root, double *node)
{
    nh_crossings *w = k->w;
    if (w->needs_slope)
        nh_crossings_slope(w, node);
    nh_crossings_values(w, node, w->value[2]);
    return w->value[2][w->events + root->event] * root->direction >= 0;
}

/* After an event has acted, events on zero are decided again: they may be closed contacts that the
 * new velocities press together or open. */
static void reconsider_sides(walk *k, const double *node)
{
    nh_crossings *w = k->w;
    nh_crossings_values(w, node, w->value[2]);
    for (int e = 0; e < w->model_events; e++) {
        double *of = nh_crossings_of(k->kept, e);
        if (w->acts[e] && of[OF_LAST] != node[NODE_T] &&
            nh_crossings_on_zero(w, e, node, w->value[2][e]))
            of[OF_SIDE] = 0;
    }
}

/* Carries out root `first` and those at the same time, one after the other in the order of the
 * model: a later one meets the velocities that the earlier one leaves, and does not act if these
 * lead away from it. The block gets the state after them. */
static bool happen(walk *k, int first, const double *from, const double *to)
{
    nh_crossings *w = k->w;
    const double h = to[NODE_T] - from[NODE_T], x = w->root[first].x;
    const double together = x + 4 * DBL_EPSILON * fmax(1, fabs(from[NODE_T]) / h);
    take_sides(k, together);
    if (k->kept[KEPT_ENDED] == 0) { /* otherwise it was reported already */
        if (!nh_crossings_between(k->run, from, to, x))
            return fails(k, NH_KERNEL_NOT_CONVERGED, 0, from[NODE_T]);
        memcpy(w->fresh, w->at, w->node_size * sizeof *w->at);
        for (int i = first; i < w->roots && w->root[i].x <= together; i++) {
            const nh_root root = w->root[i];
            if (i > first && w->acts[root.event] && !is_still_reached(k, &root, w->fresh))
                nh_crossings_of(k->kept, root.event)[OF_SIDE] = -root.direction;
            else if (is_event(w, &root) && !happen_one(k, &root, h))
                return false;
        }
    }
    put_state(k, w->fresh);
    double *node = nh_crossings_node(w, k->kept, 0);
    memcpy(node, w->fresh, w->node_size * sizeof *node);
    nh_crossings_slope(w, node); /* the velocities have changed */
    if (k->kept[KEPT_ENDED] == 0)
        reconsider_sides(k, node);
    k->kept[KEPT_NODES] = 1;
    k->kept[KEPT_SEEN] = -INFINITY;
    return true;
}

/* From now on, conserved quantities are compared with the state after the event. */
static void watch_anew(walk *k)
{
    nh_run_restart(k->run, k->member, k->index);
    k->changed = false;
}

static bool look_through(walk *k, double *from, double *to, double until, int *event)
{
    *event = -1;
    if (!nh_crossings_find(k->run, k->kept, from, to))
        return fails(k, NH_KERNEL_NOT_CONVERGED, 0, from[NODE_T]);
    if (k->w->roots > 0)
        *event = pass_events(k, from, to, until);
    return true;
}

static double grid(const walk *k, int64_t index)
{
    return nh_clock_at(&k->leg->clock, index);
}

/* ---- rows for nh_run_trace ---- */

static void hand_row(const walk *k, int64_t index, const double *row, const double *wrapped)
{
    const nh_trace *trace = &k->leg->rows;
    const size_t n = (size_t)k->w->n;
    const int64_t since = index - trace->from;
    if (!trace->row || since <= 0 || since % trace->every != 0)
        return;
    const size_t place = (size_t)(since / trace->every - 1);
    memcpy(trace->row + place * (1 + 2 * n), row, (1 + 2 * n) * sizeof *row);
    if (trace->wrapped)
        memcpy(trace->wrapped + place * n, wrapped, n * sizeof *wrapped);
}

static void hand_state(const walk *k)
{
    nh_crossings *w = k->w;
    const size_t n = (size_t)w->n;
    double *row = w->rows;
    row[0] = grid(k, k->index);
    memcpy(row + 1, k->g->block, 2 * n * sizeof *row);
    for (int a = 0; a < w->angles; a++)
        row[1 + w->shape->angle[a]] =
            nh_whole_angle(row[1 + w->shape->angle[a]], k->g->block[4 * n + (size_t)a]);
    hand_row(k, k->index, row, k->g->block);
}

/* ---- steps of given length ---- */

static void node_of_row(const nh_crossings *w, const double *row, const double *wrapped,
                        double *node)
{
    const size_t n = (size_t)w->n;
    node[NODE_T] = row[0];
    node[NODE_TAKEN] = node[NODE_GIVEN_UP] = 0;
    memcpy(node + NODE_Q, wrapped, n * sizeof *node);
    memcpy(node + NODE_Q + n, row + 1 + n, n * sizeof *node);
    for (int a = 0; a < w->angles; a++) {
        const int i = w->shape->angle[a];
        node[NODE_Q + 3 * n + (size_t)a] = rint((row[1 + i] - wrapped[i]) / (2 * M_PI));
    }
}

/* The second node of an interval is the first of the next one. */
static void go_to_next(walk *k)
{
    nh_crossings *w = k->w;
    double *value = w->value[0];
    w->value[0] = w->value[1];
    w->value[1] = value;
    memcpy(nh_crossings_node(w, k->kept, 0), nh_crossings_node(w, k->kept, 1),
           w->node_size * sizeof *w->at);
    k->kept[KEPT_SEEN] = -INFINITY;
}

/* The leg from time t to the end of the current step, if that is long enough. */
static bool rest_of_step(const walk *k, double t, nh_leg *leg)
{
    const double length = grid(k, k->index + 1) - t;
    *leg = (nh_leg){{t - (double)k->index * length, length}, k->index, k->index + 1, {0}};
    return length > 8 * DBL_EPSILON * fmax(fabs(t), k->leg->clock.step);
}

/* A step of another length, from the state after an event to the next step of the run; there may be
 * more events in it. */
static bool finish_step(walk *k)
{
    nh_run *run = k->run;
    nh_crossings *w = k->w;
    double *from = nh_crossings_node(w, k->kept, 0), *to = nh_crossings_node(w, k->kept, 1);
    const double end = grid(k, k->index + 1);
    nh_leg rest;
    int event = 0;
    bool done = true;
    while (done && event >= 0 && k->kept[KEPT_ENDED] == 0) {
        event = -1;
        if (!rest_of_step(k, from[NODE_T], &rest))
            break;
        done = start_at(k, &rest.clock, from[NODE_T]);
        memcpy(k->g->saved, k->g->block, run->state_size * sizeof(double));
        done = done && nh_leg_take(run, &k->g, 1, &rest, k->f);
        k->g->started = false;
        if (!done)
            break;
        nh_node_of_block(w, k->g->block, end, to);
        nh_crossings_slope(w, from);
        nh_crossings_slope(w, to);
        nh_crossings_values(w, from, w->value[0]);
        nh_crossings_values(w, to, w->value[1]);
        done = look_through(k, from, to, INFINITY, &event);
        if (done && event >= 0)
            done = happen(k, event, from, to);
        else if (done)
            take_sides(k, 1);
    }
    return done;
}

/* Takes steps from the current one on, until an event acts or there are no more steps. */
static bool advance_given(walk *k, int64_t to)
{
    nh_run *run = k->run;
    nh_crossings *w = k->w;
    const size_t n = (size_t)w->n;
    double *from = nh_crossings_node(w, k->kept, 0), *next = nh_crossings_node(w, k->kept, 1);
    const nh_leg leg = {k->leg->clock, k->index, to, {w->rows, w->wrapped, k->index, 1}};
    if (!k->g->started && !start_at(k, &leg.clock, grid(k, k->index)))
        return false;
    nh_node_of_block(w, k->g->block, grid(k, k->index), from);
    if (w->needs_slope)
        nh_crossings_slope(w, from);
    nh_crossings_values(w, from, w->value[0]);
    memcpy(k->g->saved, k->g->block, run->state_size * sizeof(double));
    const bool done = nh_leg_take(run, &k->g, 1, &leg, k->f);
    int event = -1;
    for (int64_t j = 0; done && k->index < to && event < 0; j++) {
        const double *row = w->rows + (size_t)j * (1 + 2 * n),
                     *wrapped = w->wrapped + (size_t)j * n;
        node_of_row(w, row, wrapped, next);
        if (w->needs_slope)
            nh_crossings_slope(w, next);
        nh_crossings_values(w, next, w->value[1]);
        if (!look_through(k, from, next, INFINITY, &event))
            return false;
        if (event >= 0)
            break;
        take_sides(k, 1);
        go_to_next(k);
        k->index++;
        hand_row(k, k->index, row, wrapped);
    }
    if (event < 0)
        return done;
    if (!happen(k, event, from, next) || !finish_step(k))
        return false;
    if (k->kept[KEPT_ENDED] == 0) {
        k->index++;
        hand_state(k);
        watch_anew(k);
    }
    return true;
}

/* ---- steps that the method chooses ---- */

/* Searches the known intervals up to a time. *event >= 0: the event at which the state changed. */
static bool look_at_nodes(walk *k, int64_t nodes, double until, int *event)
{
    nh_crossings *w = k->w;
    double *from = nh_crossings_node(w, k->kept, 0), *to = nh_crossings_node(w, k->kept, 1);
    int64_t taken = 0;
    *event = -1;
    nh_crossings_values(w, from, w->value[0]);
    while (k->kept[KEPT_NODES] == 2 || taken < nodes) {
        if (k->kept[KEPT_NODES] == 1)
            memcpy(to, w->node + (size_t)taken++ * w->node_size, w->node_size * sizeof *to);
        k->kept[KEPT_NODES] = 2;
        nh_crossings_values(w, to, w->value[1]);
        if (!look_through(k, from, to, until, event))
            return false;
        if (*event >= 0)
            return happen(k, *event, from, to);
        if (to[NODE_T] > until) {
            k->kept[KEPT_SEEN] = until;
            return true;
        }
        take_sides(k, 1);
        go_to_next(k);
        k->kept[KEPT_NODES] = 1;
    }
    return true;
}

/* Takes the own steps of a leg, until an event acts (*happened) or there are no more steps. */
static bool follow_nodes(walk *k, const nh_leg *leg, bool *happened)
{
    nh_crossings *w = k->w;
    nh_own_steps own = {.node = w->node, .most = NH_EVENT_NODES, .full = true};
    int64_t index = leg->from;
    int event = -1;
    while (own.full && event < 0) {
        if (!nh_leg_follow(k->run, k->g, leg, &index, &own, k->f))
            return false;
        const double end = nh_clock_at(&leg->clock, leg->to);
        const double until = own.full ? w->node[(own.count - 1) * (int64_t)w->node_size] : end;
        if (!look_at_nodes(k, own.count, until, &event))
            return false;
    }
    *happened = event >= 0;
    return true;
}

/* From the state after an event to the next step of the run. */
static bool follow_to_step(walk *k, bool *happened)
{
    const double t = nh_crossings_node(k->w, k->kept, 0)[NODE_T];
    nh_leg rest;
    *happened = false;
    return !rest_of_step(k, t, &rest) ||
           (start_at(k, &rest.clock, t) && follow_nodes(k, &rest, happened));
}

/* Finds the step of the run with the last event; one at the end of a step belongs to that step. */
static void find_step(walk *k, int64_t to)
{
    const double t = nh_crossings_node(k->w, k->kept, 0)[NODE_T];
    const double steps = (t - k->leg->clock.time) / k->leg->clock.step;
    int64_t index = steps < (double)to ? (int64_t)fmax(steps, (double)k->index) : to - 1;
    while (index > k->index && grid(k, index) >= t)
        index--;
    while (index + 1 < to && grid(k, index + 1) < t)
        index++;
    k->index = index;
    if (k->kept[KEPT_ENDED] != 0)
        k->kept[KEPT_STEPS] = (double)index;
}

/* The method starts at the current state, also after new inputs: this is the first node. */
static bool begin_nodes(walk *k)
{
    nh_crossings *w = k->w;
    double *from = nh_crossings_node(w, k->kept, 0), *to = nh_crossings_node(w, k->kept, 1);
    const double t = grid(k, k->index), *count = counts_of(k);
    if (k->kept[KEPT_NODES] == 2) { /* an own step that went beyond this state */
        nh_crossings_values(w, from, w->value[0]);
        nh_crossings_values(w, to, w->value[1]);
        if (!nh_crossings_find(k->run, k->kept, from, to))
            return fails(k, NH_KERNEL_NOT_CONVERGED, 0, t);
        take_sides(k, (t - from[NODE_T]) / (to[NODE_T] - from[NODE_T]));
    }
    nh_node_of_block(w, k->g->block, t, from);
    nh_crossings_slope(w, from);
    from[NODE_TAKEN] = count[0];
    from[NODE_GIVEN_UP] = count[1];
    k->kept[KEPT_NODES] = 1;
    k->kept[KEPT_SEEN] = -INFINITY;
    k->kept[KEPT_STARTS] = 0;
    return k->g->started || start_at(k, &k->leg->clock, t);
}

static bool advance_own(walk *k, int64_t to)
{
    const nh_leg leg = {k->leg->clock, k->index, to, k->leg->rows};
    bool happened = false;
    if ((k->kept[KEPT_STARTS] != 0 || !k->g->started) && !begin_nodes(k))
        return false;
    bool done = follow_nodes(k, &leg, &happened);
    if (!happened)
        k->index = to;
    while (done && happened && k->kept[KEPT_ENDED] == 0) {
        find_step(k, to);
        done = follow_to_step(k, &happened);
        if (done && !happened) {
            k->index++;
            hand_state(k);
            watch_anew(k);
        }
    }
    if (done && k->kept[KEPT_ENDED] != 0)
        find_step(k, to);
    return done;
}

/* ---- a group ---- */

bool nh_crossings_walk(nh_run *run, group *g, const nh_leg *leg, nh_step_failure *f)
{
    nh_crossings *w = run->crossings;
    walk k = {.run = run,
              .w = w,
              .g = g,
              .leg = leg,
              .member = g->first_member,
              .kept = nh_crossings_kept(w, g->first_member),
              .index = leg->from,
              .f = f};
    w->inputs = g->block + run->state_size - (size_t)run->system->shape.inputs;
    bool done = true;
    while (done && k.index < leg->to && k.kept[KEPT_ENDED] == 0 && !w->no_memory)
        done = w->own ? advance_own(&k, leg->to) : advance_given(&k, leg->to);
    if (k.changed) /* it ended there */
        watch_anew(&k);
    if (w->stopped) {
        w->stopped = false;
        return fails(&k, NH_KERNEL_STOPPED, 0, 0);
    }
    for (int i = 0; done && i < 2 * w->n; i++)
        if (!isfinite(g->block[i]))
            done = fails(&k, NH_FAILED_NOT_FINITE, 0, 0);
    return done;
}
