/* Where more holds than is needed, reactions are not determined, and so no function of the state
 * says when the mode ends: it lasts as long as some reactions satisfy all conditions. That is asked
 * of the solver, in several states within every interval, and where it ends is found by bisection.
 */
#include <float.h>
#include <math.h>

#include "run/contact_rows.h"

static double *inputs_of(const nh_run *run)
{
    return (double *)run->crossings->inputs;
}

static bool is_redundant(const nh_run *run)
{
    return run->contacts &&
           *nh_contact_number_of_all(run->contacts, inputs_of(run), NH_ALL_REDUNDANT);
}

static nh_hold hold_of(const nh_run *run, int item)
{
    return (nh_hold)nh_contact_numbers_of(run->contacts, inputs_of(run), item)[NH_ITEM_HOLD];
}

bool nh_contacts_mute(const nh_run *run, int event)
{
    const int watched = run->contacts ? event - nh_problem_watched(run->contacts->problem, 0) : -1;
    return watched >= 0 && watched < NH_WATCHED * run->contacts->layout.items &&
           watched % NH_WATCHED == 0 && nh_holds(hold_of(run, watched / NH_WATCHED)) &&
           is_redundant(run);
}

static void describe(const nh_run *run, const nh_contacts *c, int item, nh_mode_item *out,
                     unsigned char *mode)
{
    const nh_problem_item *of = c->problem->item + item;
    const nh_hold hold = hold_of(run, item);
    *out = (nh_mode_item){.components = of->contact ? 0 : of->components, .allowed = NH_MODE_ANY};
    out->loaded = !of->contact && nh_contact_is_loaded(c, item);
    out->moves = nh_slips(hold);
    for (int k = 0; k < of->components && out->moves; k++)
        out->direction[k] = of->components == 1 ? (hold == NH_HOLD_FORWARD ? 1 : -1)
                            : nh_contact_speed(c, item) > 0
                                ? nh_contact_row_at(c, c->row_of[item] + k).value
                                : nh_contact_numbers_of(c, inputs_of(run), item)[NH_ITEM_ALONG + k];
    *mode = nh_contact_mode_of(of, hold);
}

/* Whether the present mode is possible in a state. */
static bool is_possible(nh_run *run, const double *node)
{
    nh_contacts *c = run->contacts;
    nh_contact_problem p;
    nh_contacts_evaluate(run, node, inputs_of(run));
    nh_contact_problem_begin(c, &p);
    for (int i = 0; i < c->layout.constraints; i++)
        p.other[p.apart++] = i;
    for (int i = 0; i < c->layout.items; i++)
        c->touches[i] = c->problem->item[i].contact && nh_holds(hold_of(run, i));
    for (int i = 0; i < c->layout.items; i++)
        if (c->problem->item[i].contact
                ? c->touches[i]
                : nh_contact_loading(c, i) >= 0 || nh_contact_other_load(c, i))
            nh_contact_problem_add(c, &p, i);
    nh_contact_problem_finish(c, &p);
    for (int i = 0; i < p.items; i++)
        describe(run, c, p.item[i], c->item + i, c->mode + i);
    const nh_mode_problem problem = {.items = p.items,
                                     .rows = p.rows,
                                     .item = c->item,
                                     .free = p.free,
                                     .response = p.response,
                                     .kinetic = {p.constant[0], p.load[0]},
                                     .held = {p.constant[1], p.load[1]},
                                     .tolerance = NH_REDUNDANT_PART};
    return nh_mode_is_possible(c->modes, &problem, c->mode);
}

/* Where in an interval the mode ends, from 0 to 1; 2: not in it. */
static double search(nh_run *run, const double *from, const double *to)
{
    enum { PLACES = 4 };
    double last = 0;
    for (int place = 1; place <= PLACES; place++) {
        double low = last, high = (double)place / PLACES;
        last = high;
        if (!nh_crossings_between(run, from, to, high))
            break;
        if (is_possible(run, run->crossings->at))
            continue;
        while (high - low > DBL_EPSILON * high) {
            const double middle = (low + high) / 2;
            if (!(middle > low && middle < high) || !nh_crossings_between(run, from, to, middle))
                break;
            *(is_possible(run, run->crossings->at) ? &low : &high) = middle;
        }
        return high;
    }
    return 2;
}

bool nh_contacts_find_end(nh_run *run, const double *from, const double *to, int *event, double *x)
{
    nh_contacts *c = run->contacts;
    if (!is_redundant(run))
        return false;
    /* the same interval is searched once for every state that is recorded in it */
    if (c->end.inputs != inputs_of(run) || c->end.from != from[NODE_T] || c->end.to != to[NODE_T]) {
        c->end.x = search(run, from, to);
        c->end.inputs = inputs_of(run);
        c->end.from = from[NODE_T];
        c->end.to = to[NODE_T];
    }
    *event = 0;
    while (c->end.x <= 1 && !nh_contacts_mute(run, *event)) /* of any item that holds */
        ++*event;
    *x = c->end.x;
    return c->end.x <= 1;
}
