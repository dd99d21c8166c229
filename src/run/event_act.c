/* Acts on the events of an interval: reports them, ends the member, or changes its velocities. */
#include "run/contacts.h"
#include "run/journal.h"
#include "run/tangent_events.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "system/start.h"

/* Two events of one kind follow closely if the time between them is less than this fraction of a
 * step; that many of them in a row accumulate. So do events that come faster and faster, once the
 * time between them has shrunk to the given fraction of what it was: the steps of a method that
 * chooses its own become shorter with it. */
static const double soon = 1e-6;
enum { SOON_MAX = 3 };

bool nh_event_walk_fails(nh_event_walk *k, int status, int event, double t)
{
    if (k->run->interrupted)
        status = NH_FAILED_INTERRUPTED;
    else if (k->w->unresolved) {
        status = NH_FAILED_UNRESOLVED;
        event = k->w->unresolved - 1;
        k->w->unresolved = 0;
    } else if (k->w->grazed) {
        status = NH_FAILED_GRAZING;
        event = k->w->grazed - 1;
        t = k->w->grazed_at;
        k->w->grazed = 0;
    }
    *k->f = (nh_step_failure){status, k->index, k->member, event, t};
    return false;
}

double *nh_event_walk_counts(const nh_event_walk *k)
{
    return nh_choice_adapts(&k->run->choice) ? k->g->block + nh_run_counts_row(k->run) : NULL;
}

/* Copies the state of a node into the block. The counts of own steps are kept. */
static void put_state(nh_event_walk *k, const double *node)
{
    double *count = nh_event_walk_counts(k), taken = node[NODE_TAKEN],
           given_up = node[NODE_GIVEN_UP];
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

/* Reports an event to the user's function; true if the function wants the member to end. An event
 * that is met again when steps are repeated after a failure is reported only once. */
/* The numbers of the inputs, with what is shown of contacts and grips there. */
static const double *inputs_there(nh_event_walk *k, const double *node, const double *after)
{
    nh_crossings *w = k->w;
    const double *inputs = w->inputs;
    const nh_contacts *c = k->run->contacts;
    if (!inputs)
        return NULL;
    memcpy(w->told, inputs, (size_t)k->run->system->shape.inputs * sizeof *w->told);
    if (!c)
        return w->told;
    memcpy(w->at_told, w->at, w->node_size * sizeof *w->at);
    nh_contacts_show(k->run, k->counted ? -1 : k->member, node[NODE_T], node + NODE_Q, after,
                     w->told);
    for (int i = 0; i < c->layout.items && k->counted; i++) {
        double *of = nh_contact_numbers_of(c, w->told, i);
        of[NH_ITEM_SPENT] = of[NH_ITEM_LOST];
    }
    memcpy(w->at, w->at_told, w->node_size * sizeof *w->at);
    w->inputs = inputs;
    return w->told;
}

static bool tell(nh_event_walk *k, const nh_root *root, const double *node, const double *after)
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
                            .wrapped_q = node + NODE_Q,
                            .inputs = inputs_there(k, node, after)};
    nh_tangent_tell(k->run, event.t);
    if (w->hook(w->user, &event) != 0)
        reported[1] = number;
    nh_tangent_told(k->run);
    return number == reported[1];
}

/* Sets the velocities at a node to the values that `when` gives, projected onto the constraints. */
bool nh_event_walk_change(nh_event_walk *k, int event, double *node)
{
    nh_crossings *w = k->w;
    const nh_system *system = k->run->system; /* contacts and grips exert no impulses here */
    double *q = node + NODE_Q, *v = q + w->n;
    w->engine->call[NH_FN_CHANGES](w->engine->self, NH_FN_CHANGES, node[NODE_T], q, v, NULL,
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
static bool accumulates(nh_event_walk *k, const nh_root *root, double t, double length)
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
static void choose_side(nh_event_walk *k, const nh_root *root, double *node)
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
static bool is_pressed(nh_event_walk *k, const nh_root *root, const double *node)
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

static void end_member(nh_event_walk *k, int event)
{
    if (k->kept[KEPT_ENDED] != 0)
        return;
    k->kept[KEPT_ENDED] = 1 + event;
    k->kept[KEPT_END] = k->w->fresh[NODE_T];
    k->kept[KEPT_STEPS] = (double)k->index;
}

/* Reports the events of an interval up to a time, from w->root. Returns the first one at which the
 * state changes or the member ends, which is not yet reported; -1 if there is none. */
static int pass_events(nh_event_walk *k, const double *from, const double *to, double until)
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
            (nh_tangent_meet(k->run, k->member, root->event, from, to, w->at), true) &&
            tell(k, root, w->at, w->at + NODE_Q + w->n)) {
            memcpy(w->fresh, w->at, w->node_size * sizeof *w->at);
            end_member(k, root->event);
            return i;
        }
    }
    return -1;
}

void nh_event_walk_take_sides(nh_event_walk *k, double upto)
{
    nh_crossings *w = k->w;
    for (int i = 0; i < w->roots && w->root[i].x <= upto; i++)
        nh_crossings_of(k->kept, w->root[i].event)[OF_SIDE] = w->root[i].direction;
    if (upto >= 1)
        nh_contacts_pass(k, nh_crossings_node(w, k->kept, 0), nh_crossings_node(w, k->kept, 1), 1);
    const int watched = w->problem ? nh_problem_named_events(w->problem) : 0;
    for (int e = watched; e < w->model_events && upto >= 1; e++) { /* what has left zero */
        double *of = nh_crossings_of(k->kept, e);
        if (of[OF_YOUNG] != 0)
            of[OF_YOUNG] =
                nh_crossings_on_zero(w, e, nh_crossings_node(w, k->kept, 1), w->value[1][e]);
    }
}

bool nh_event_walk_tell(nh_event_walk *k, int event, const double *node, const double *after)
{
    const nh_root root = {.event = event, .direction = 1};
    const bool ends = tell(k, &root, node, after) || k->w->ends[event];
    if (ends)
        end_member(k, event);
    return ends;
}

/* One of the events at the time of w->fresh. */
static bool happen_one(nh_event_walk *k, const nh_root *root, double h)
{
    nh_crossings *w = k->w;
    const bool acts = w->acts[root->event];
    memcpy(w->at, w->fresh, w->node_size * sizeof *w->at);
    if (acts && accumulates(k, root, w->fresh[NODE_T], h))
        return nh_event_walk_fails(k, NH_FAILED_ACCUMULATION, root->event, w->fresh[NODE_T]);
    if (acts && !nh_event_walk_change(k, root->event, w->fresh))
        return nh_event_walk_fails(k, NH_FAILED_CHANGE, root->event, w->fresh[NODE_T]);
    if (acts && !nh_tangent_change(k->run, root->event, w->fresh))
        return nh_event_walk_fails(k, NH_FAILED_TANGENT, root->event, w->fresh[NODE_T]);
    if (tell(k, root, w->at, w->fresh + NODE_Q + w->n) || w->ends[root->event])
        end_member(k, root->event);
    if (acts)
        choose_side(k, root, w->fresh);
    k->changed = k->changed || acts;
    if (acts && k->kept[KEPT_ENDED] == 0 && is_pressed(k, root, w->fresh))
        return nh_event_walk_fails(k, NH_FAILED_ACCUMULATION, root->event, w->fresh[NODE_T]);
    return true;
}

/* Whether the velocities after another event at the same time still lead to this one. */
static bool is_still_reached(nh_event_walk *k, const nh_root *root, double *node)
{
    nh_crossings *w = k->w;
    if (w->needs_slope)
        nh_crossings_slope(w, node);
    nh_crossings_values(w, node, w->value[2]);
    return w->value[2][w->events + root->event] * root->direction >= 0;
}

/* After an event has acted, events on zero are decided again: they may be closed contacts that the
 * new velocities press together or open. */
static void reconsider_sides(nh_event_walk *k, const double *node)
{
    nh_crossings *w = k->w;
    nh_crossings_values(w, node, w->value[2]);
    for (int e = 0; e < w->model_events; e++) {
        double *of = nh_crossings_of(k->kept, e);
        if (w->acts[e] && !nh_crossings_is_watched(w, e) && of[OF_LAST] != node[NODE_T] &&
            nh_crossings_on_zero(w, e, node, w->value[2][e]))
            of[OF_SIDE] = 0;
    }
}

/* Whether an event at this time changes velocities of bodies that may be in contact. */
static bool is_kicked(const nh_event_walk *k, int first, double together)
{
    const nh_crossings *w = k->w;
    bool kicked = false;
    for (int i = first; k->run->contacts && i < w->roots && w->root[i].x <= together; i++)
        kicked |= w->acts[w->root[i].event] && !nh_crossings_is_watched(w, w->root[i].event);
    return kicked;
}

bool nh_event_walk_happen(nh_event_walk *k, int first, const double *from, const double *to)
{
    nh_crossings *w = k->w;
    const double h = to[NODE_T] - from[NODE_T], x = w->root[first].x;
    const double together = x + 4 * DBL_EPSILON * fmax(1, fabs(from[NODE_T]) / h);
    nh_journal_note_event(k->run);
    nh_event_walk_take_sides(k, together);
    if (k->kept[KEPT_ENDED] == 0) { /* otherwise it was reported already */
        if (!nh_crossings_between(k->run, from, to, x))
            return nh_event_walk_fails(k, NH_KERNEL_NOT_CONVERGED, 0, from[NODE_T]);
        memcpy(w->fresh, w->at, w->node_size * sizeof *w->at);
        if (!nh_tangent_meet(k->run, k->member, w->root[first].event, from, to, w->at))
            return nh_event_walk_fails(k, NH_FAILED_GRAZING, w->root[first].event, w->at[NODE_T]);
        bool changes = false;
        const bool kicks = is_kicked(k, first, together);
        if (kicks) {
            nh_contacts_pass(k, from, to, x);
            nh_contacts_count_losses(k, w->fresh);
            k->counted = true;
        }
        for (int i = first; i < w->roots && w->root[i].x <= together; i++) {
            const nh_root root = w->root[i];
            if (nh_contacts_note(k->run, root.event))
                changes = true;
            else if (i > first && w->acts[root.event] && !is_still_reached(k, &root, w->fresh))
                nh_crossings_of(k->kept, root.event)[OF_SIDE] = -root.direction;
            else if (is_event(w, &root) && !happen_one(k, &root, h))
                return false;
        }
        if (!kicks)
            nh_contacts_pass(k, from, to, x);
        k->counted = true;
        if ((changes || kicks) &&
            !nh_contacts_change(k, w->fresh, kicks ? NH_CAUSE_KICKED : NH_CAUSE_WATCHED))
            return false;
        k->changed |= changes;
    } else
        nh_contacts_pass(k, from, to, x);
    k->counted = false;
    put_state(k, w->fresh);
    nh_tangent_land(k->run, k->member);
    double *node = nh_crossings_node(w, k->kept, 0);
    memcpy(node, w->fresh, w->node_size * sizeof *node);
    nh_crossings_slope(w, node); /* the velocities have changed */
    if (k->kept[KEPT_ENDED] == 0)
        reconsider_sides(k, node);
    k->kept[KEPT_NODES] = 1;
    k->kept[KEPT_SEEN] = -INFINITY;
    return true;
}

bool nh_event_walk_look(nh_event_walk *k, double *from, double *to, double until, int *event)
{
    *event = -1;
    if (!nh_crossings_find(k->run, k->kept, from, to, until))
        return nh_event_walk_fails(k, NH_KERNEL_NOT_CONVERGED, 0, from[NODE_T]);
    if (k->w->roots > 0)
        *event = pass_events(k, from, to, until);
    return true;
}
