/* Impacts of what touches and approaches. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "run/contact_rows.h"

static const double at_rest = NH_CONTACT_AT_REST;

/* ---- impacts ---- */

void nh_contacts_find_touching(nh_contacts *c, const double *node)
{
    for (int i = 0; i < c->layout.items; i++) {
        const double gap = nh_contact_gap(c, i),
                     size = nh_contact_terms(c, c->row_of[i], node + NODE_Q);
        c->touches[i] = c->problem->item[i].contact &&
                        (c->crossed[i] || nh_holds(c->before[i]) || fabs(gap) <= at_rest * size);
    }
}

static bool approaches(const nh_contacts *c, int item, const double *node)
{
    return c->touches[item] && !nh_holds(c->before[item]) &&
           nh_contact_row_at(c, c->row_of[item]).value <
               -at_rest * nh_contact_speed_size(c, item, node);
}

static void gather_impact(nh_contacts *c, nh_contact_problem *p)
{
    nh_contact_problem_begin(c, p);
    for (int i = 0; i < c->layout.constraints; i++)
        p->other[p->apart++] = i;
    for (int i = 0; i < c->layout.items; i++) {
        const nh_problem_item *item = c->problem->item + i;
        if (item->contact ? c->touches[i] : nh_contact_loading(c, i) >= 0)
            nh_contact_problem_add(c, p, i);
        else if (!item->contact && nh_holds(c->before[i]))
            for (int k = 0; k < item->components; k++)
                p->other[p->apart++] = c->row_of[i] + k;
    }
    nh_contact_problem_finish(c, p);
}

/* v += B P, with the impulses of what was eliminated. */
static void apply_impulses(const nh_contacts *c, const nh_contact_problem *p, const double *impulse,
                           double *v)
{
    const int n = c->layout.n, width = p->rows + 1;
    for (int i = 0; i < p->rows; i++)
        for (int k = 0; k < n; k++)
            v[k] += nh_contact_row_at(c, p->row[i]).B[k] * impulse[i];
    for (int e = 0; e < p->apart; e++) {
        double sum = 0;
        for (int i = 0; i < p->rows; i++)
            sum -= p->solved[e * width + i] * impulse[i];
        for (int k = 0; k < n; k++)
            v[k] += nh_contact_row_at(c, p->other[e]).B[k] * sum;
    }
}

static nh_status solve_impact(nh_run *run, double *node, double *inputs, nh_report *report)
{
    nh_contacts *c = run->contacts;
    const size_t rows = (size_t)c->layout.rows;
    nh_contact_problem p;
    gather_impact(c, &p);
    double *velocity = p.constant[1] + rows, *impulse = velocity + rows, *after = impulse + rows;
    double *restitution = after + rows, *v = node + NODE_Q + c->layout.n;
    double taken[64];
    int contact[64];
    if (p.items > 64)
        return nh_fail(report, NH_TOO_LARGE,
                       "t = %.10g: an impact of more than 64 contacts and "
                       "grips",
                       node[NODE_T]);
    double rest = 0;
    const bool ends = *nh_contact_number_of_all(c, inputs, NH_ALL_STALLED) > NH_IMPACTS_IN_NO_TIME;
    for (int i = 0; i < p.items; i++) {
        const int item = p.item[i];
        const nh_problem_item *of = c->problem->item + item;
        c->item[i] = (nh_mode_item){.components = of->contact ? 0 : of->components,
                                    .allowed = NH_MODE_ANY,
                                    .loaded = !of->contact && nh_contact_other_load(c, item)};
        restitution[i] = ends ? 0 : of->restitution;
        const int load = of->contact ? item : nh_contact_loading(c, item);
        contact[i] = nh_place_in(p.item, p.items, load);
        if (of->contact)
            rest = fmax(rest, at_rest * nh_contact_speed_size(c, item, node));
    }
    for (int i = 0; i < p.rows; i++)
        velocity[i] = nh_contact_row_at(c, p.row[i]).value;
    const nh_impact_problem problem = {.items = p.items,
                                       .rows = p.rows,
                                       .item = c->item,
                                       .velocity = velocity,
                                       .response = p.response,
                                       .kinetic = p.load[0],
                                       .held = p.load[1],
                                       .restitution = restitution,
                                       .contact = contact,
                                       .in_turn = c->problem->impacts_in_turn,
                                       .rest = rest};
    nh_impact_answer answer = {
        .impulse = impulse, .velocity = after, .mode = c->mode, .taken = taken};
    nh_report why;
    const nh_status status = nh_impact_solve(c->impacts, &problem, &answer, &why);
    if (status != NH_OK)
        return nh_fail(report, NH_NOT_CONVERGED, "t = %.10g: %s", node[NODE_T], why.text);
    if (answer.factor < 1)
        nh_remarks_add(&run->remarks, "restitution",
                       "at t = %.10g several contacts hit at once, and energy would have grown: "
                       "the coefficients of restitution were multiplied by %.4g there",
                       node[NODE_T], answer.factor);
    for (int i = 0; i < p.items; i++)
        nh_contact_numbers_of(c, inputs, p.item[i])[NH_ITEM_LOST] += taken[i];
    apply_impulses(c, &p, impulse, v);
    return NH_OK;
}

/* Impacts of what touches and approaches; c->hit marks the contacts. */
nh_status nh_contacts_hit(nh_run *run, double *node, double *inputs, nh_report *report)
{
    nh_contacts *c = run->contacts;
    bool any = false;
    for (int i = 0; i < c->layout.items; i++)
        any |= c->hit[i] = approaches(c, i, node);
    if (!any)
        return NH_OK;
    const nh_status status = solve_impact(run, node, inputs, report);
    if (status == NH_OK)
        nh_contacts_evaluate(run, node, inputs);
    return status;
}
