/* How the motion continues where a contact opens or hits, or a grip slips or grips. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "run/contact_rows.h"
#include "system/start.h"

enum { STALLED_MOST = 200 };

/* ---- where a watched function falls through zero ---- */

bool nh_contacts_note(nh_run *run, int event)
{
    nh_contacts *c = run->contacts;
    const int watched = c ? event - nh_problem_watched(c->problem, 0) : -1;
    if (watched < 0 || watched >= NH_WATCHED * c->layout.items)
        return false;
    /* that a mode ends in which reactions are not determined concerns no item by itself */
    const int item = watched / NH_WATCHED, second = watched % NH_WATCHED == 1;
    const bool turns = c->problem->item[item].components == 2 && !second &&
                       nh_slips(nh_contacts_hold(c, run->crossings->inputs, item));
    if (turns && *nh_contact_number_of_all(c, (double *)run->crossings->inputs, NH_ALL_GUIDED))
        c->over = true; /* the time of the given directions, not the slip */
    else if (!second || !c->problem->item[item].contact)
        c->crossed[item] = !nh_contacts_mute(run, event);
    c->excluded[item] |= second;
    return true;
}

/* Where two components of slip have become very small, the motion is continued to their zero. */
static void finish_slip(nh_run *run, double *node)
{
    nh_contacts *c = run->contacts;
    nh_crossings *w = run->crossings;
    const int n = c->layout.n;
    double *q = node + NODE_Q, *v = q + n, *a = v + n, least = 0;
    nh_crossings_slope(w, node);
    for (int i = 0; i < c->layout.items; i++) {
        double square = 0, change = 0;
        if (!c->crossed[i] || c->problem->item[i].components < 2 || !nh_slips(c->before[i]))
            continue;
        for (int k = 0; k < 2; k++) {
            const nh_contact_row row = nh_contact_row_at(c, c->row_of[i] + k);
            square += row.value * row.value;
            change += row.value * (row.drift + nh_contact_dot(row.K, a, n));
        }
        const double time = change < 0 ? -square / change : 0;
        least = time < 1e-3 * run->step ? fmax(least, time) : least;
    }
    for (int i = 0; i < n; i++) {
        q[i] += i < run->system->coordinates ? least * (v[i] + least / 2 * a[i]) : 0;
        v[i] += least * a[i];
    }
    node[NODE_T] += least;
}

static bool tell_item(nh_event_walk *k, int item, int what, const double *before,
                      const double *after)
{
    const nh_contacts *c = k->run->contacts;
    return nh_event_walk_tell(k, nh_problem_told(c->problem, item) + what, before,
                              after + NODE_Q + c->layout.n);
}

/* Whether the last change is told of an item by this word. */
static bool is_told(const nh_contacts *c, int item, int what)
{
    const nh_hold was = c->before[item], is = c->hold[item];
    if (c->problem->item[item].contact)
        return what == NH_TOLD_HITS
                   ? c->hit[item]
                   : nh_holds(is) != nh_holds(was) && nh_holds(is) == (what == NH_TOLD_CLOSES);
    return what == NH_TOLD_GRIPS   ? nh_holds(is) && !nh_holds(was)
           : what == NH_TOLD_SLIPS ? nh_slips(is) && nh_holds(was)
                                   : nh_slips(is) && nh_slips(was) && is != was;
}

static void tell_changes(nh_event_walk *k, const double *before, const double *after)
{
    static const int order[2][NH_TOLD] = {{NH_TOLD_SLIPS, NH_TOLD_GRIPS, NH_TOLD_REVERSES},
                                          {NH_TOLD_HITS, NH_TOLD_CLOSES, NH_TOLD_OPENS}};
    const nh_contacts *c = k->run->contacts;
    for (int contacts = 1; contacts >= 0; contacts--) /* impacts and openings before grips */
        for (int i = 0; i < c->layout.items; i++)
            for (int n = 0; n < NH_TOLD && c->problem->item[i].contact == contacts; n++)
                if (is_told(c, i, order[contacts][n]))
                    tell_item(k, i, order[contacts][n], before, after);
}

/* Watched functions are positive from now on, though some begin at zero. */
void nh_contacts_set_sides(const nh_run *run, double *kept, const double *inputs)
{
    const nh_contacts *c = run->contacts;
    const bool guided = *nh_contact_number_of_all(c, (double *)inputs, NH_ALL_GUIDED);
    for (int i = 0; i < c->layout.items; i++) {
        const int first = nh_problem_watched(c->problem, i);
        const double *of = inputs + c->problem->first_of_items + NH_ITEM_NUMBERS * i;
        const double speed = nh_contact_speed(c, i);
        const bool below = c->problem->item[i].components == 2 && nh_slips(c->hold[i]) &&
                           speed * speed < of[NH_ITEM_EDGE] && !guided;
        for (int e = 0; e < NH_WATCHED; e++) {
            /* corners are passed in any direction */
            const bool corner = e == 1 && c->problem->item[i].contact,
                       stays = nh_holds(c->before[i]) && nh_holds(c->hold[i]);
            if (!corner || !stays)
                nh_crossings_of(kept, first + e)[OF_SIDE] = !corner;
            nh_crossings_of(kept, first + e)[OF_YOUNG] = !corner;
        }
        if (below) {
            nh_crossings_of(kept, first)[OF_SIDE] = -1;
            nh_crossings_of(kept, first)[OF_YOUNG] = 0;
        }
    }
}

/* The mode changed again and again without any time passing. */
static bool is_stalled(const nh_contacts *c, double *inputs, double t)
{
    double *since = nh_contact_number_of_all(c, inputs, NH_ALL_SINCE),
           *stalled = nh_contact_number_of_all(c, inputs, NH_ALL_STALLED);
    if (t - *since <= NH_CONTACT_NO_TIME * fabs(t))
        ++*stalled;
    else {
        *since = t;
        *stalled = 0;
    }
    return *stalled > STALLED_MOST;
}

static bool fails(nh_event_walk *k, double t)
{
    return nh_event_walk_fails(k, NH_FAILED_CONTACT, 0, t);
}

/* ---- impacts that accumulate ---- */

/* Impacts of one kind follow each other ever faster: the speeds with which a contact opens form a
 * geometric sequence with the ratio e, or that of a block that rocks from one corner to the other.
 * With ratio r the rest takes 2 u/(c (1 - r)), where -c is the acceleration in between; if contacts
 * take turns, (1 + sqrt(r)) times as long. When that is short, the contact closes at once. Impacts
 * at several contacts form no such sequence; there r = e is taken as soon as numbers do not resolve
 * how far the contact opens. */
static const double accumulated = 2e-7; /* of the speed after the first of them */
static const double unresolved = 1e3 * DBL_EPSILON;
enum { AGREEING = 3 };

static bool any_hit(const nh_contacts *c)
{
    bool any = false;
    for (int i = 0; i < c->layout.items; i++)
        any |= c->hit[i];
    return any;
}

/* How long the impacts of a contact go on; 0 if they are not about to end. */
static double time_left(nh_run *run, double *node, double *inputs, int item)
{
    nh_contacts *c = run->contacts;
    const int n = c->layout.n;
    const nh_contact_row row = nh_contact_row_at(c, c->row_of[item]);
    const double u = row.value;
    double *of = nh_contact_numbers_of(c, inputs, item);
    if (!any_hit(c) || nh_holds(c->hold[item]) || !(u > 0) ||
        !(c->hit[item] || nh_holds(c->before[item])))
        return 0;
    double ratio = of[NH_ITEM_LAST] > 0 ? u / of[NH_ITEM_LAST] : INFINITY;
    const bool agrees = ratio < 1 && fabs(ratio - of[NH_ITEM_RATIO]) <= 1e-3 * ratio;
    of[NH_ITEM_HITS] = agrees ? of[NH_ITEM_HITS] + 1 : 0;
    of[NH_ITEM_FIRST] = agrees ? of[NH_ITEM_FIRST] : u;
    of[NH_ITEM_RATIO] = ratio;
    of[NH_ITEM_LAST] = u;
    nh_crossings_slope(run->crossings, node);
    const double fall = -(row.drift + nh_contact_dot(row.K, node + NODE_Q + 2 * n, n));
    const bool known = of[NH_ITEM_HITS] >= AGREEING;
    const bool tiny =
        u * u / (2 * fall) < unresolved * nh_contact_terms(c, c->row_of[item], node + NODE_Q);
    if (!known)
        ratio = c->problem->item[item].restitution;
    if (!(fall > 0) || !(tiny || (known && u < accumulated * of[NH_ITEM_FIRST])) || ratio == 1)
        return 0;
    const double turns = !known || c->hit[item] ? 1 : 1 + sqrt(ratio);
    return turns * 2 * u / (fall * (1 - ratio));
}

/* Takes off the speed of a contact by an impulse, with the friction that belongs to it in slip, and
 * counts what that costs. */
static void stop_contact(const nh_contacts *c, int item, double *v, double *inputs)
{
    const int n = c->layout.n, normal = c->row_of[item], all = c->layout.rows;
    double response = c->response[normal * all + normal];
    const double u = nh_contact_row_at(c, normal).value;
    for (int pass = 0; pass < 2; pass++) { /* how much an impulse changes it, then the impulse */
        for (int i = 0; i < n && pass == 1; i++)
            v[i] -= nh_contact_row_at(c, normal).B[i] * u / response;
        if (pass == 1)
            nh_contact_numbers_of(c, inputs, item)[NH_ITEM_LOST] += u * u / (2 * response);
        for (int g = 0; g < c->layout.items; g++) {
            const double speed = nh_contact_speed(c, g);
            for (int k = 0; k < c->problem->item[g].components && nh_slips(c->hold[g]); k++) {
                const int row = c->row_of[g] + k;
                const double slip = nh_contact_row_at(c, row).value;
                const double by =
                    -nh_contact_limit(c, row, false)[1 + c->problem->item[item].reaction[0]] *
                    slip / (speed > 0 ? speed : 1);
                if (pass == 0)
                    response += by * c->response[normal * all + row];
                for (int i = 0; i < n && pass == 1; i++)
                    v[i] -= by * nh_contact_row_at(c, row).B[i] * u / response;
                if (pass == 1)
                    nh_contact_numbers_of(c, inputs, g)[NH_ITEM_LOST] += by * slip * u / response;
            }
        }
    }
}

/* No more than half the time until another contact hits. */
static double until_others_hit(const nh_contacts *c, const double *a, double time)
{
    for (int i = 0; i < c->layout.items; i++) {
        const nh_contact_row row = nh_contact_row_at(c, c->row_of[i]);
        const double u = row.value, fall = -(row.drift + nh_contact_dot(row.K, a, c->layout.n));
        const double gap = fmax(nh_contact_gap(c, i), 0), square = u * u + 2 * fall * gap;
        if (!c->problem->item[i].contact || nh_holds(c->hold[i]) || square < 0)
            continue;
        const double hits = u > 0 ? (u + sqrt(square)) / fall : 2 * gap / (sqrt(square) - u);
        if (hits > 0)
            time = fmin(time, hits / 2);
    }
    return time;
}

/* Closes a contact whose impacts end after a short time. */
static bool close_contact(nh_event_walk *k, int item, double time, double *node, double *inputs)
{
    nh_run *run = k->run;
    nh_contacts *c = run->contacts;
    const int n = c->layout.n, normal = c->row_of[item];
    double *q = node + NODE_Q, *v = q + n, *a = v + n, *before = run->crossings->at;
    double *was = c->matrix + 8 * (size_t)c->layout.rows * (size_t)c->layout.rows +
                  12 * (size_t)c->layout.rows,
           *lost = was + n;
    memcpy(was, v, (size_t)n * sizeof *v);
    for (int i = 0; i < c->layout.items; i++)
        lost[i] = nh_contact_numbers_of(c, inputs, i)[NH_ITEM_LOST];
    for (int i = 0; i < n; i++)
        v[i] -= nh_contact_row_at(c, normal).B[i] * nh_contact_row_at(c, normal).value /
                c->response[normal * c->layout.rows + normal];
    memcpy(c->before, c->hold, (size_t)c->layout.items * sizeof *c->hold);
    memset(c->crossed, 0, (size_t)c->layout.items * sizeof *c->crossed);
    memset(c->hit, 0, (size_t)c->layout.items * sizeof *c->hit);
    c->crossed[item] = true;
    if (nh_contacts_decide(run, node, inputs, false, &c->report) != NH_OK)
        return false;
    /* that was to know the mode; with its friction, other contacts may be hit */
    memcpy(v, was, (size_t)n * sizeof *v);
    for (int i = 0; i < c->layout.items; i++)
        nh_contact_numbers_of(c, inputs, i)[NH_ITEM_LOST] = lost[i];
    nh_contacts_evaluate(run, node, inputs);
    stop_contact(c, item, v, inputs);
    if (nh_contacts_decide(run, node, inputs, false, &c->report) != NH_OK)
        return false;
    nh_contacts_evaluate(run, node, inputs);
    nh_crossings_slope(run->crossings, node);
    time = any_hit(c) ? 0 : until_others_hit(c, a, time);
    nh_contacts_lose(run, node, time, inputs);
    for (int i = 0; i < n; i++) {
        q[i] += i < run->system->coordinates ? time * (v[i] + time / 2 * a[i]) : 0;
        v[i] += time * a[i];
    }
    node[NODE_T] += time;
    if (nh_project_positions(c->gear[c->present].system, NULL, false,
                             (nh_instant){node[NODE_T], inputs}, q, v, &c->report) != NH_OK ||
        nh_contacts_settle(run, node, inputs, &c->report) != NH_OK)
        return false;
    memcpy(before, node, run->crossings->node_size * sizeof *before);
    nh_contact_numbers_of(c, inputs, item)[NH_ITEM_LAST] = 0;
    *nh_contact_number_of_all(c, inputs, NH_ALL_ENERGY) = nh_contacts_energy(run, node, inputs);
    nh_contacts_evaluate(run, node, inputs);
    nh_contacts_set_sides(run, k->kept, inputs);
    tell_changes(k, before, node);
    return true;
}

static bool end_impacts(nh_event_walk *k, double *node, double *inputs)
{
    nh_contacts *c = k->run->contacts;
    const bool stalls =
        *nh_contact_number_of_all(c, inputs, NH_ALL_STALLED) > NH_IMPACTS_IN_NO_TIME;
    for (int i = 0; i < c->layout.items; i++) {
        if (!c->problem->item[i].contact)
            continue;
        /* it has opened, but numbers do not resolve how far */
        const bool in_vain = stalls && c->crossed[i] && !nh_holds(c->hold[i]);
        const double time = in_vain ? 0 : time_left(k->run, node, inputs, i);
        if (in_vain || time > 0)
            return close_contact(k, i, time, node, inputs) || fails(k, node[NODE_T]);
    }
    return true;
}

static double *inputs_of(const nh_event_walk *k)
{
    return k->g->block + k->run->state_size - (size_t)k->run->system->shape.inputs;
}

void nh_contacts_count_losses(nh_event_walk *k, const double *node)
{
    const nh_contacts *c = k->run->contacts;
    double *inputs = inputs_of(k);
    nh_contacts_show(k->run, -1, node[NODE_T], node + NODE_Q, node + NODE_Q + c->layout.n, inputs);
    for (int i = 0; i < c->layout.items; i++) {
        double *of = nh_contact_numbers_of(c, inputs, i);
        of[NH_ITEM_LOST] = of[NH_ITEM_SPENT];
    }
}

/* Where velocities, a floor or a belt have jumped, contacts and grips hold no longer if their speed
 * is not zero: contacts can only push, and the limit of a grip is no impulse. */
static void release(nh_contacts *c, const double *node)
{
    for (int i = 0; i < c->layout.items; i++) {
        const double speed = c->problem->item[i].contact ? nh_contact_row_at(c, c->row_of[i]).value
                                                         : nh_contact_speed(c, i);
        if (nh_holds(c->before[i]) &&
            fabs(speed) > 1e3 * NH_CONTACT_AT_REST * nh_contact_speed_size(c, i, node))
            c->before[i] = NH_HOLD_NONE;
    }
}

/* Whether the direction of a contact jumps where parts of its gap are chosen. */
static bool is_corner(nh_run *run, const double *node, const double *inputs, int item)
{
    static const double beside = 1e-6, jump = 1e-3;
    nh_contacts *c = run->contacts;
    const int n = c->layout.n, row = c->row_of[item];
    double *near = run->crossings->at, *K = c->observed, change = 0, size = 0;
    for (int side = -1; side <= 1; side += 2) {
        memcpy(near, node, run->crossings->node_size * sizeof *near);
        for (int i = 0; i < run->system->coordinates; i++)
            near[NODE_Q + i] += side * beside * run->step * node[NODE_Q + n + i];
        nh_contacts_evaluate(run, near, inputs);
        for (int i = 0; i < n; i++) {
            const double at = nh_contact_row_at(c, row).K[i];
            K[i] = side < 0 ? at : K[i];
            change = fmax(change, fabs(at - K[i]));
            size = fmax(size, fabs(at));
        }
    }
    return change > jump * size;
}

/* What held before; false at a corner, and where a limit has become negative. */
static bool take_before(nh_event_walk *k, const double *node, const double *inputs)
{
    nh_contacts *c = k->run->contacts;
    for (int i = 0; i < c->layout.items; i++)
        if (c->excluded[i] && c->problem->item[i].contact) {
            c->excluded[i] = false;
            if (!is_corner(k->run, node, inputs, i))
                continue;
            nh_fail(&c->report, NH_NOT_CONVERGED,
                    "t = %.10g: the closed contact '%s' passes a corner of its gap, where the "
                    "direction of its force jumps; use a gap that is smooth, or two contacts",
                    node[NODE_T], c->problem->item[i].name);
            return fails(k, node[NODE_T]);
        }
    for (int i = 0; i < c->layout.items; i++) {
        c->before[i] = c->was[i] =
            (nh_hold)nh_contact_numbers_of(c, (double *)inputs, i)[NH_ITEM_HOLD];
        if (c->excluded[i]) {
            nh_fail(&c->report, NH_NOT_CONVERGED,
                    "t = %.10g: the limit of '%s' becomes negative, because the reaction of a "
                    "constraint changes its sign there; use the reaction of a contact",
                    node[NODE_T], c->problem->item[i].name);
            return fails(k, node[NODE_T]);
        }
    }
    return true;
}

/* What `when roll slips: ..` changes. */
static bool act_on_changes(nh_event_walk *k, double *node)
{
    const nh_contacts *c = k->run->contacts;
    const int first = c->problem->model_events;
    bool any = false;
    for (int e = 0; e < NH_TOLD * c->layout.items; e++) {
        c->acting[e] = k->w->acts[first + e] && is_told(c, e / NH_TOLD, e % NH_TOLD);
        any |= c->acting[e];
    }
    if (!any)
        return true;
    nh_contacts_count_losses(k, node);
    for (int e = 0; e < NH_TOLD * c->layout.items; e++)
        if (c->acting[e] && !nh_event_walk_change(k, first + e, node))
            return nh_event_walk_fails(k, NH_FAILED_CHANGE, first + e, node[NODE_T]);
    return nh_contacts_change(k, node, NH_CAUSE_KICKED);
}

/* Slips go on in their directions, and the mode does. */
static void guide_slips(nh_event_walk *k, const double *node, double *inputs)
{
    nh_contacts *c = k->run->contacts;
    c->over = false;
    nh_contacts_guide(k->run, node, inputs);
    nh_contacts_set_sides(k->run, k->kept, inputs);
}

static bool any_crossed(const nh_contacts *c)
{
    bool any = false;
    for (int i = 0; i < c->layout.items; i++)
        any |= c->crossed[i] || c->excluded[i];
    return any;
}

/* False where a mode has ended of which reactions are not determined, and no other was found: what
 * holds more than once may begin to slip in directions that only its later motion tells. */
static bool has_other_mode(nh_contacts *c, double *inputs, double t)
{
    if (any_crossed(c) || *nh_contact_number_of_all(c, inputs, NH_ALL_STALLED) == 0 ||
        memcmp(c->hold, c->was, (size_t)c->layout.items * sizeof *c->hold) != 0)
        return true;
    nh_fail(
        &c->report, NH_NOT_CONVERGED,
        "t = %.10g: more holds than is needed, so that reactions are not determined, and how it "
        "begins to slip could not be decided; leave out grips or contacts that follow from "
        "others",
        t);
    return false;
}

bool nh_contacts_change(nh_event_walk *k, double *node, nh_contact_cause cause)
{
    nh_run *run = k->run;
    nh_contacts *c = run->contacts;
    double *inputs = inputs_of(k), *before = run->crossings->at;
    if (cause == NH_CAUSE_WATCHED && c->over && !any_crossed(c)) {
        guide_slips(k, node, inputs);
        return true;
    }
    if (!take_before(k, node, inputs))
        return false;
    nh_contacts_evaluate(run, node, inputs);
    if (cause == NH_CAUSE_WATCHED)
        finish_slip(run, node);
    else
        release(c, node);
    memcpy(before, node, run->crossings->node_size * sizeof *before);
    if (cause != NH_CAUSE_KICKED)
        nh_contacts_count_losses(k, node);
    if (is_stalled(c, inputs, node[NODE_T])) {
        nh_fail(&c->report, NH_NOT_CONVERGED,
                "t = %.10g: contacts and grips change again and again without time passing",
                node[NODE_T]);
        return fails(k, node[NODE_T]);
    }
    if (nh_contacts_decide(run, node, inputs, false, &c->report) != NH_OK)
        return fails(k, node[NODE_T]);
    if (cause == NH_CAUSE_WATCHED && !has_other_mode(c, inputs, node[NODE_T]))
        return fails(k, node[NODE_T]);
    nh_contacts_evaluate(run, node, inputs);
    nh_contacts_set_sides(run, k->kept, inputs);
    memcpy(c->before, c->was, (size_t)c->layout.items * sizeof *c->was);
    tell_changes(k, before, node);
    if (cause != NH_CAUSE_JUMP && !end_impacts(k, node, inputs)) /* a jump is at a given time */
        return false;
    memset(c->crossed, 0, (size_t)c->layout.items * sizeof *c->crossed);
    memset(c->excluded, 0, (size_t)c->layout.items * sizeof *c->excluded);
    if (c->guide)
        guide_slips(k, node, inputs);
    return act_on_changes(k, node);
}

/* A member between two steps of the run. */
static nh_event_walk walk_of(nh_run *run, group *g, nh_step_failure *f)
{
    nh_event_walk k = {.run = run,
                       .w = run->crossings,
                       .g = g,
                       .member = g->first_member,
                       .kept = nh_crossings_kept(run->crossings, g->first_member),
                       .index = run->steps,
                       .f = f};
    k.w->inputs = inputs_of(&k);
    return k;
}

static bool is_over(const nh_event_walk *k)
{
    return k->g->retired & 1 || k->kept[KEPT_ENDED] != 0;
}

void nh_contacts_meet_jump(nh_run *run, double t)
{
    nh_step_failure f;
    for (int i = 0; run->contacts && i < run->groups; i++) {
        nh_event_walk k = walk_of(run, run->group + i, &f);
        const double *from = nh_crossings_node(k.w, k.kept, 0),
                     *to = nh_crossings_node(k.w, k.kept, 1);
        if (is_over(&k) || k.kept[KEPT_NODES] != 2 || !nh_contacts_prepare(run, k.g, &f))
            continue;
        nh_contacts_pass(&k, from, to, fmin(1, (t - from[NODE_T]) / (to[NODE_T] - from[NODE_T])));
        k.kept[KEPT_NODES] = 1;
    }
}

static nh_status follow_jump(nh_run *run, group *g, double t, nh_report *report)
{
    nh_contacts *c = run->contacts;
    nh_crossings *w = run->crossings;
    nh_step_failure f = {0};
    nh_event_walk k = walk_of(run, g, &f);
    const size_t n = (size_t)c->layout.n;
    if (is_over(&k))
        return NH_OK;
    nh_status status = nh_contacts_engage(run, w->inputs, report);
    if (status != NH_OK)
        return status;
    nh_node_of_block(w, g->block, t, w->fresh);
    if (!nh_contacts_change(&k, w->fresh, NH_CAUSE_JUMP)) {
        run->failed_member = g->first_member;
        return nh_fail(report, c->report.status, "%s", c->report.text);
    }
    memcpy(g->block + n, w->fresh + NODE_Q + n, n * sizeof *g->block);
    memset(g->block + 3 * n, 0, n * sizeof *g->block); /* v_low */
    g->started = false;
    return NH_OK;
}

nh_status nh_contacts_follow_jump(nh_run *run, double t, nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 0; run->contacts && i < run->groups && status == NH_OK; i++)
        status = follow_jump(run, run->group + i, t, report);
    return status;
}
