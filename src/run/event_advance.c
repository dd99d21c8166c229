/* Advances a member of a run from node to node and looks for events in between, which end the
 * member or change its velocities; then it continues from there. */
#include "run/contacts.h"
#include "run/interrupt.h"
#include "run/journal.h"
#include "run/tangent_events.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Starts the method from the state of the block, for steps of this clock. */
static bool start_at(nh_event_walk *k, const nh_clock *clock, double t)
{
    return nh_leg_start_again(k->run, k->g, clock, t) ||
           nh_event_walk_fails(k, NH_FAILED_NOT_FINITE, 0, t);
}

/* From now on, conserved quantities are compared with the state after the event. */
static void watch_anew(nh_event_walk *k)
{
    nh_run_restart(k->run, k->member, k->index);
    k->changed = false;
}

static double grid(const nh_event_walk *k, int64_t index)
{
    return nh_clock_at(&k->leg->clock, index);
}

/* ---- rows for nh_run_trace ---- */

static void hand_row(const nh_event_walk *k, int64_t index, const double *row,
                     const double *wrapped)
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

static void hand_state(const nh_event_walk *k)
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
static void go_to_next(nh_event_walk *k)
{
    nh_crossings *w = k->w;
    double *value = w->value[0];
    w->value[0] = w->value[1];
    w->value[1] = value;
    memcpy(nh_crossings_node(w, k->kept, 0), nh_crossings_node(w, k->kept, 1),
           w->node_size * sizeof *w->at);
    k->kept[KEPT_SEEN] = -INFINITY;
}

/* The leg from time t to a later one within the current step, if that is long enough. */
static bool piece_of_step(const nh_event_walk *k, double t, double end, nh_leg *leg)
{
    const double length = end - t;
    *leg = (nh_leg){{t - (double)k->index * length, length}, k->index, k->index + 1, {0}};
    return length > 8 * DBL_EPSILON * fmax(fabs(t), k->leg->clock.step);
}

static bool rest_of_step(const nh_event_walk *k, double t, nh_leg *leg)
{
    return piece_of_step(k, t, grid(k, k->index + 1), leg);
}

/* Takes a step of another length between the two nodes, and looks for events in it. */
static bool take_piece(nh_event_walk *k, const nh_leg *piece, double end, int *event)
{
    nh_crossings *w = k->w;
    double *from = nh_crossings_node(w, k->kept, 0), *to = nh_crossings_node(w, k->kept, 1);
    *event = -1;
    if (!start_at(k, &piece->clock, from[NODE_T]))
        return false;
    memcpy(k->g->saved, k->g->block, k->run->state_size * sizeof(double));
    const bool done = nh_leg_take(k->run, &k->g, 1, piece, k->f);
    k->g->started = false;
    if (!done)
        return false;
    nh_node_of_block(w, k->g->block, end, to);
    nh_crossings_slope(w, from);
    nh_crossings_slope(w, to);
    nh_crossings_values(w, from, w->value[0]);
    nh_crossings_values(w, to, w->value[1]);
    return nh_event_walk_look(k, from, to, INFINITY, event);
}

/* More changes of the state than this are not told apart in a step of given length. */
enum { CHANGES_MAX = 10000 };

/* After an event has changed the state within a step. */
static bool may_change_again(nh_event_walk *k, int event, int changes, double t)
{
    if (changes > CHANGES_MAX)
        k->w->unresolved = 1 + event;
    return (changes <= CHANGES_MAX && !nh_run_is_interrupted(k->run)) ||
           nh_event_walk_fails(k, NH_KERNEL_NOT_CONVERGED, event, t);
}

/* From the present node to the next step of the run: after an event, or where a whole step would be
 * too long; there may be more events on the way. */
static bool finish_step(nh_event_walk *k)
{
    nh_run *run = k->run;
    double *from = nh_crossings_node(k->w, k->kept, 0), *to = nh_crossings_node(k->w, k->kept, 1);
    const double last = grid(k, k->index + 1);
    bool done = true, is_last = false;
    int changes = 0;
    while (done && !is_last && k->kept[KEPT_ENDED] == 0) {
        const double longest = nh_contacts_longest(run, from, k->leg->clock.step);
        nh_leg piece;
        int event;
        is_last = !(from[NODE_T] + longest < last) ||
                  !piece_of_step(k, from[NODE_T], from[NODE_T] + longest, &piece);
        const double end = is_last ? last : from[NODE_T] + longest;
        if (!piece_of_step(k, from[NODE_T], end, &piece)) {
            nh_tangent_settle(run, k->member, from, last);
            break;
        }
        done = take_piece(k, &piece, end, &event);
        if (done && event >= 0) {
            done = nh_event_walk_happen(k, event, from, to) &&
                   may_change_again(k, event, ++changes, from[NODE_T]);
            is_last = false;
        } else if (done) {
            nh_event_walk_take_sides(k, 1);
            done = nh_tangent_step(run, k->g, &piece, to, k->f);
            if (!is_last)
                go_to_next(k);
        }
    }
    return done;
}

/* To the next step of the run, and on from there. */
static bool end_step(nh_event_walk *k)
{
    if (!finish_step(k))
        return false;
    if (k->kept[KEPT_ENDED] != 0)
        return true;
    k->index++;
    hand_state(k);
    if (k->changed)
        watch_anew(k);
    return true;
}

/* Two steps at once, of which the second has an even number: in a mode in which nothing slips, and
 * which is far from its end in both, what is watched is evaluated at every other step. `row`: the
 * states after both. */
static bool pass_two(nh_event_walk *k, int64_t to, const double *row, const double *wrapped)
{
    nh_crossings *w = k->w;
    const size_t n = (size_t)w->n;
    double *from = nh_crossings_node(w, k->kept, 0), *next = nh_crossings_node(w, k->kept, 1);
    if (k->index % 2 != 0 || k->index + 2 > to || !nh_contacts_only_hold(k->run))
        return false;
    node_of_row(w, row + 1 + 2 * n, wrapped + n, next);
    nh_crossings_slope(w, next);
    nh_crossings_values(w, next, w->value[1]);
    if (!nh_crossings_are_far(k->run, k->kept, from, next))
        return false;
    go_to_next(k);
    for (int i = 0; i < 2; i++) {
        k->index++;
        hand_row(k, k->index, row + (size_t)i * (1 + 2 * n), wrapped + (size_t)i * n);
    }
    return true;
}

/* Takes steps from the current one on, until an event acts or there are no more steps. */
static bool advance_given(nh_event_walk *k, int64_t to)
{
    nh_run *run = k->run;
    nh_crossings *w = k->w;
    const size_t n = (size_t)w->n;
    double *from = nh_crossings_node(w, k->kept, 0), *next = nh_crossings_node(w, k->kept, 1);
    nh_node_of_block(w, k->g->block, grid(k, k->index), from);
    if (w->needs_slope)
        nh_crossings_slope(w, from);
    const bool turns = nh_contacts_turn(run); /* then every step is asked whether it is too long */
    if (turns && nh_contacts_longest(run, from, k->leg->clock.step) < k->leg->clock.step)
        return end_step(k);
    const nh_leg leg = {
        k->leg->clock, k->index, turns ? k->index + 1 : to, {w->rows, w->wrapped, k->index, 1}};
    if (!k->g->started && !start_at(k, &leg.clock, grid(k, k->index)))
        return false;
    nh_crossings_values(w, from, w->value[0]);
    memcpy(k->g->saved, k->g->block, run->state_size * sizeof(double));
    const bool done = nh_leg_take(run, &k->g, 1, &leg, k->f);
    int event = -1;
    for (int64_t j = 0; done && k->index < leg.to && event < 0; j++) {
        const double *row = w->rows + (size_t)j * (1 + 2 * n),
                     *wrapped = w->wrapped + (size_t)j * n;
        if (pass_two(k, leg.to, row, wrapped)) {
            j++;
            continue;
        }
        node_of_row(w, row, wrapped, next);
        if (w->needs_slope)
            nh_crossings_slope(w, next);
        nh_crossings_values(w, next, w->value[1]);
        if (!nh_event_walk_look(k, from, next, INFINITY, &event))
            return false;
        if (event >= 0)
            break;
        nh_event_walk_take_sides(k, 1);
        const nh_leg step = {leg.clock, k->index, k->index + 1, {0}};
        if (!nh_tangent_step(run, k->g, &step, next, k->f))
            return false;
        go_to_next(k);
        k->index++;
        hand_row(k, k->index, row, wrapped);
    }
    if (event < 0)
        return done;
    return nh_event_walk_happen(k, event, from, next) && end_step(k);
}

/* ---- steps that the method chooses ---- */

/* Searches the known intervals up to a time. *event >= 0: the event at which the state changed. */
static bool look_at_nodes(nh_event_walk *k, int64_t nodes, double until, int *event)
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
        if (!nh_event_walk_look(k, from, to, until, event))
            return false;
        if (*event >= 0)
            return nh_event_walk_happen(k, *event, from, to);
        if (to[NODE_T] > until) {
            k->kept[KEPT_SEEN] = until;
            return true;
        }
        nh_event_walk_take_sides(k, 1);
        go_to_next(k);
        k->kept[KEPT_NODES] = 1;
    }
    return true;
}

/* Takes the own steps of a leg, until an event acts (*happened) or there are no more steps. */
static bool follow_nodes(nh_event_walk *k, const nh_leg *leg, bool *happened)
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
static bool follow_to_step(nh_event_walk *k, bool *happened)
{
    const double *from = nh_crossings_node(k->w, k->kept, 0), t = from[NODE_T];
    nh_leg rest;
    *happened = false;
    if (!rest_of_step(k, t, &rest)) {
        nh_tangent_settle(k->run, k->member, from, grid(k, k->index + 1));
        return true;
    }
    return start_at(k, &rest.clock, t) && follow_nodes(k, &rest, happened) &&
           (*happened || nh_tangent_follow_own(k->run, k->g, &rest, k->f));
}

/* Finds the step of the run with the last event; one at the end of a step belongs to that step. */
static void find_step(nh_event_walk *k, int64_t to)
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
static bool begin_nodes(nh_event_walk *k)
{
    nh_crossings *w = k->w;
    double *from = nh_crossings_node(w, k->kept, 0), *to = nh_crossings_node(w, k->kept, 1);
    const double t = grid(k, k->index), *count = nh_event_walk_counts(k);
    if (k->kept[KEPT_NODES] == 2) { /* an own step that went beyond this state */
        nh_crossings_values(w, from, w->value[0]);
        nh_crossings_values(w, to, w->value[1]);
        if (!nh_crossings_find(k->run, k->kept, from, to, t))
            return nh_event_walk_fails(k, NH_KERNEL_NOT_CONVERGED, 0, t);
        nh_event_walk_take_sides(k, (t - from[NODE_T]) / (to[NODE_T] - from[NODE_T]));
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

static bool advance_own(nh_event_walk *k, int64_t to)
{
    const nh_leg leg = {k->leg->clock, k->index, to, k->leg->rows};
    bool happened = false;
    if ((k->kept[KEPT_STARTS] != 0 || !k->g->started) && !begin_nodes(k))
        return false;
    nh_journal_note(k->run, false, &leg, k->g->block);
    nh_tangent_begin_own(k->run, grid(k, k->index));
    bool done = follow_nodes(k, &leg, &happened);
    if (done && !happened)
        done = nh_tangent_follow_own(k->run, k->g, &leg, k->f);
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
    nh_event_walk k = {.run = run,
                       .w = w,
                       .g = g,
                       .leg = leg,
                       .member = g->first_member,
                       .kept = nh_crossings_kept(w, g->first_member),
                       .index = leg->from,
                       .f = f};
    w->inputs = g->block + run->state_size - (size_t)run->system->shape.inputs;
    bool done = nh_contacts_prepare(run, g, f);
    while (done && k.index < leg->to && k.kept[KEPT_ENDED] == 0 && !w->no_memory)
        done = w->own ? advance_own(&k, leg->to) : advance_given(&k, leg->to);
    if (k.changed) /* it ended there */
        watch_anew(&k);
    if (w->stopped) {
        w->stopped = false;
        return nh_event_walk_fails(&k, NH_KERNEL_STOPPED, 0, 0);
    }
    for (int i = 0; done && i < 2 * w->n; i++)
        if (!isfinite(g->block[i]))
            done = nh_event_walk_fails(&k, NH_FAILED_NOT_FINITE, 0, 0);
    return done;
}
